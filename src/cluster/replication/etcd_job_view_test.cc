// The view of all registers in etcd, against a real one: tests/integration/jobs_etcd_test.py.
#include "cluster/register/small.h"
#include "cluster/replication/conformance_testing.h"
#include "cluster/replication/etcd_job_store.h"

namespace bellwether::jobs {
namespace {

class EtcdJobViewTest : public JobConformance {
 protected:
  void SetUp() override {
    if (job_conformance_settings().url.empty()) GTEST_SKIP() << "this needs an etcd";
    begin(kLong);
    auto opened = node(0).run(
        [this] { return open_etcd_job_view(node(0).runtime(), job_conformance_settings().url, "flock/test", deaf_); });
    check(opened.has_value(), "the URL of the tests is good");
    view_ = std::move(*opened);
  }
  void TearDown() override {
    if (view_ != nullptr) node(0).act([this] { view_.reset(); });
  }
  Status look() {
    return node(0).run([this] { return view_->look(nullptr); });
  }
  // The visible state of the register; "(none)" without one.
  std::string seen(const std::string& job) {
    std::string out = "(none)";
    node(0).act([&] {
      const registers::RegisterRecord* const record = view_->find(job);
      if (record == nullptr) return;
      const auto content = registers::parse_content(record->value);
      out = !content ? "(unreadable)" : content->retired ? "(retired)" : content->value.value_or("(nothing)");
    });
    return out;
  }
  bool leased(const std::string& job) {
    bool out = false;
    node(0).act([&] { out = view_->is_leased(job); });
    return out;
  }

  static constexpr auto deaf_ = [](bool, const std::string&) {};
  std::unique_ptr<EtcdJobView> view_;
};

TEST_F(EtcdJobViewTest, it_follows_a_job_from_its_begin_to_its_end) {
  EXPECT_FALSE(view_->has_read());
  ASSERT_TRUE(look());
  EXPECT_TRUE(view_->has_read());
  EXPECT_EQ(seen(key("job")), "(none)");
  Owner owner(node(1), key("job"));
  const auto taken = owner.take();
  ASSERT_TRUE(taken);
  ASSERT_TRUE(look());
  EXPECT_EQ(seen(key("job")), "(nothing)");
  EXPECT_TRUE(leased(key("job")));
  ASSERT_TRUE(owner.write("one"));
  ASSERT_TRUE(owner.write("two"));
  ASSERT_TRUE(look());
  EXPECT_EQ(seen(key("job")), "two");
  node(0).act([&] { EXPECT_EQ(view_->find(key("job"))->accepted.fence, taken->fence); });
  ASSERT_TRUE(owner.give_back());
  ASSERT_TRUE(look());
  EXPECT_FALSE(leased(key("job")));
  EXPECT_EQ(seen(key("job")), "two");
  ASSERT_TRUE(owner.take());
  ASSERT_TRUE(owner.retire());
  ASSERT_TRUE(look());
  EXPECT_EQ(seen(key("job")), "(retired)");
}

TEST_F(EtcdJobViewTest, more_registers_than_one_answer_holds_are_all_seen) {
  std::vector<std::unique_ptr<Owner>> owners;
  for (std::size_t i = 0; i < EtcdJobView::kAtOnce * 2 + 3; ++i) {
    owners.push_back(std::make_unique<Owner>(node(1), key("many-" + std::to_string(i))));
    ASSERT_TRUE(owners.back()->take());
    ASSERT_TRUE(owners.back()->write(std::to_string(i)));
  }
  ASSERT_TRUE(look());
  for (std::size_t i = 0; i < owners.size(); ++i) {
    EXPECT_EQ(seen(key("many-" + std::to_string(i))), std::to_string(i));
    EXPECT_TRUE(leased(key("many-" + std::to_string(i))));
  }
}

TEST_F(EtcdJobViewTest, what_was_removed_is_gone_at_the_next_look_at_names) {
  Owner owner(node(1), key("job"));
  ASSERT_TRUE(owner.take());
  ASSERT_TRUE(look());
  EXPECT_EQ(seen(key("job")), "(nothing)");
  auto often = node(0).run([this] {
    return open_etcd_job_view(node(0).runtime(), job_conformance_settings().url, "flock/test", deaf_, Duration::zero());
  });
  ASSERT_TRUE(often);
  TearDown();
  view_ = std::move(*often);
  ASSERT_TRUE(look());
  EXPECT_EQ(seen(key("job")), "(nothing)");
  OBEY("forget-states");
  ASSERT_TRUE(look());
  EXPECT_EQ(seen(key("job")), "(none)");
}

TEST_F(EtcdJobViewTest, an_etcd_that_begins_anew_is_looked_at_from_its_beginning) {
  Owner before(node(1), key("before"));
  ASSERT_TRUE(before.take());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(before.write(std::to_string(i)));
  ASSERT_TRUE(look());
  OBEY("lose-all");
  Owner after(node(1), key("after"));
  ASSERT_TRUE(after.take());
  const Status first = look();
  ASSERT_FALSE(first);
  EXPECT_THAT(first.error().message, testing::HasSubstr("reset or replaced"));
  ASSERT_TRUE(look());
  EXPECT_EQ(seen(key("after")), "(nothing)");
  EXPECT_EQ(seen(key("before")), "(none)");
}

TEST_F(EtcdJobViewTest, without_etcd_the_last_sight_stays) {
  Owner owner(node(1), key("job"));
  ASSERT_TRUE(owner.take());
  ASSERT_TRUE(look());
  OBEY("majority-down");
  EXPECT_FALSE(look());
  EXPECT_EQ(seen(key("job")), "(nothing)");
  EXPECT_TRUE(leased(key("job")));
  OBEY("all-up");
}

}  // namespace
}  // namespace bellwether::jobs
