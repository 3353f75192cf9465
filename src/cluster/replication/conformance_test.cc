// The behaviours of every store of jobs: here of a quorum of peers with real disks; against a real etcd in
// tests/integration/jobs_etcd_test.py.
#include <algorithm>

#include "cluster/replication/conformance_testing.h"
#include "core/base/prng.h"

namespace bellwether::jobs {

using testing::HasSubstr;

JobConformanceSettings& job_conformance_settings() {
  static JobConformanceSettings settings;
  return settings;
}

namespace {

TEST_F(JobConformance, a_job_is_taken_written_read_and_given_back) {
  begin(kLong);
  Owner one(node(0), key("job"));
  EXPECT_FALSE(one.held());
  const auto taken = one.take();
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_GT(taken->fence, JobFence());
  EXPECT_EQ(taken->value, std::nullopt);
  EXPECT_TRUE(one.held());
  EXPECT_LE(one.held_until(), one.boot_now() + kLong);
  EXPECT_EQ(value_of(one.read()), "(nothing)");
  const std::string bytes("half\0done\xff\n", 11);
  ASSERT_TRUE(one.write(bytes));
  EXPECT_EQ(value_of(one.read()), bytes);
  ASSERT_TRUE(one.write(""));
  EXPECT_EQ(value_of(one.read()), "");
  ASSERT_TRUE(one.give_back());
  EXPECT_FALSE(one.held());
  EXPECT_EQ(one.losses(), 0u);
  const auto late = one.write("too late");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().error.code, Errc::kRefused);
  EXPECT_FALSE(late.error().perhaps);
  EXPECT_EQ(one.read().error().code, Errc::kRefused);
}

TEST_F(JobConformance, the_next_owner_has_a_higher_fence_and_what_was_written_last) {
  begin(kLong);
  Owner one(node(0), key("job"));
  Owner two(node(1), key("job"));
  JobFence before;
  for (int round = 0; round < 3; ++round) {
    for (Owner* owner : {&one, &two}) {
      const auto taken = owner->take();
      ASSERT_TRUE(taken) << taken.error().message;
      EXPECT_GT(taken->fence, before);
      EXPECT_EQ(taken->value.value_or("0"), std::to_string(before.value()));
      before = taken->fence;
      ASSERT_TRUE(owner->write(std::to_string(before.value())));
      ASSERT_TRUE(owner->give_back());
    }
  }
}

// Random walks, held against what a register is: one owner, a fence that grows, and what was written last.
TEST_F(JobConformance, whatever_two_nodes_do_it_holds_what_was_written_last) {
  begin(kLong);
  for (uint64_t walk = 1; walk <= 8; ++walk) {
    Prng prng(walk);
    const std::string name = key("walk" + std::to_string(walk));
    std::array<std::unique_ptr<Owner>, 2> nodes{std::make_unique<Owner>(node(0), name),
                                                std::make_unique<Owner>(node(1), name)};
    const Owner* holds = nullptr;
    JobFence fence;
    std::optional<std::string> value;
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE("walk " + std::to_string(walk) + ", step " + std::to_string(step));
      const std::size_t who = prng.below(2);
      Owner& one = *nodes[who];
      switch (prng.below(8)) {
        case 0: {  // another handle, as of a process that ended well and began again
          if (holds == &one) holds = nullptr;
          nodes[who].reset();
          nodes[who] = std::make_unique<Owner>(node(who), name);
          break;
        }
        case 1:
          ASSERT_TRUE(one.give_back());
          if (holds == &one) holds = nullptr;
          break;
        case 2: {
          const auto read = one.read();
          ASSERT_EQ(read.has_value(), holds == &one);
          if (read) ASSERT_EQ(*read, value);
          break;
        }
        case 3:
        case 4: {
          const std::string bytes(prng.below(3) == 0 ? kMaxStateBytes : prng.below(100), static_cast<char>(step));
          const auto written = one.write(bytes);
          ASSERT_EQ(written.has_value(), holds == &one);
          if (written) value = bytes;
          break;
        }
        default: {
          const auto taken = one.take(holds == nullptr ? Owner::kPatience : Duration::millis(20));
          ASSERT_EQ(taken.has_value(), holds == nullptr) << (taken ? "" : taken.error().message);
          if (!taken) break;
          ASSERT_GT(taken->fence, fence);
          ASSERT_EQ(taken->value, value);
          fence = taken->fence;
          holds = &one;
        }
      }
    }
  }
}

TEST_F(JobConformance, who_waits_for_a_job_gets_it_as_soon_as_it_is_given_back) {
  begin(Duration::minutes(5));  // no look that was due anyway comes in time
  Owner one(node(0), key("job"));
  Owner two(node(1), key("job"));
  ASSERT_TRUE(one.take());
  Error refused;
  // Replicas that stand still answer no take in time, and the next one has more time.
  for (Duration within = Duration::millis(500); within < kLong; within = within * 4) {
    refused = two.take(within).error();
    if (refused.message.find("holds it") != std::string::npos) break;
  }
  EXPECT_EQ(refused.code, Errc::kTimeout);
  EXPECT_THAT(refused.message, HasSubstr("'m1' holds it"));
  auto taking = two.begin_take();
  EXPECT_EQ(two.take().error().code, Errc::kExists) << "it is being taken";
  ASSERT_TRUE(one.give_back());
  const auto taken = taking.get();
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(two.take().error().code, Errc::kExists) << "it is held";
  // By the end of a handle as well.
  taking = one.begin_take();
  two.end();
  EXPECT_TRUE(taking.get());
}

// However they race.
TEST_F(JobConformance, no_two_owners_have_one_fence_or_the_job_at_once) {
  begin(kLong);
  struct Term {
    JobFence fence;
    Instant from;
    Instant until;
  };
  std::mutex mutex;
  std::vector<Term> terms;
  const auto race = [&](std::size_t which) {
    Owner owner(node(which), key("job"));
    for (int i = 0; i < 10; ++i) {
      const auto taken = owner.take(kLong * 4);  // a release that is lost holds it for a lease
      ASSERT_TRUE(taken) << taken.error().message;
      const Instant from = owner.boot_now();
      EXPECT_TRUE(owner.write("mine"));
      const Instant until = owner.boot_now();
      EXPECT_TRUE(owner.give_back());
      const std::lock_guard lock(mutex);
      terms.push_back({taken->fence, from, until});
    }
  };
  std::thread other([&] { race(1); });
  race(0);
  other.join();
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.from < b.from; });
  ASSERT_EQ(terms.size(), 20u);
  for (std::size_t i = 1; i < terms.size(); ++i) {
    EXPECT_GT(terms[i].fence, terms[i - 1].fence);
    EXPECT_GE(terms[i].from, terms[i - 1].until);
  }
}

TEST_F(JobConformance, what_is_too_large_is_refused_and_what_is_just_not_is_kept) {
  begin(kLong);
  Owner one(node(0), key("job"));
  ASSERT_TRUE(one.take());
  ASSERT_TRUE(one.write("small"));
  const auto large = one.write(std::string(kMaxStateBytes + 1, 'x'));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().error.code, Errc::kTooLarge);
  EXPECT_FALSE(large.error().perhaps);
  EXPECT_EQ(value_of(one.read()), "small");
  const std::string most(kMaxStateBytes, '\xff');
  ASSERT_TRUE(one.write(most));
  EXPECT_TRUE(value_of(one.read()) == most);
}

TEST_F(JobConformance, writes_and_reads_take_effect_in_the_order_of_their_calls) {
  begin(kLong);
  Owner one(node(0), key("job"));
  ASSERT_TRUE(one.take());
  std::vector<std::future<Written>> writes;
  for (int i = 0; i < 20; ++i) writes.push_back(one.begin_write(std::to_string(i)));
  EXPECT_EQ(value_of(one.read()), "19");
  for (auto& write : writes) EXPECT_TRUE(write.get());
}

TEST_F(JobConformance, a_wait_can_be_cancelled) {
  begin(kLong);
  Owner one(node(0), key("job"));
  Owner two(node(1), key("job"));
  ASSERT_TRUE(one.take());
  runtime::Cancellation cancel;
  auto taking = two.begin_take(kLong, &cancel);
  node(1).act([&] { cancel.cancel(); });
  const auto cancelled = taking.get();
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, Errc::kCancelled);
  ASSERT_TRUE(one.give_back());
  EXPECT_FALSE(two.held());
  EXPECT_TRUE(two.take());
}

TEST_F(JobConformance, a_retired_job_is_nobodys) {
  begin(kLong);
  Owner one(node(0), key("job"));
  Owner two(node(1), key("job"));
  ASSERT_TRUE(one.take());
  ASSERT_TRUE(one.write("done"));
  auto waiting = two.begin_take();
  const auto retired = one.retire();
  ASSERT_TRUE(retired) << retired.error().error.message;
  EXPECT_FALSE(one.held());
  EXPECT_EQ(one.losses(), 0u);
  EXPECT_EQ(waiting.get().error().code, Errc::kNotFound);
  EXPECT_EQ(one.take().error().code, Errc::kNotFound);
}

TEST_F(JobConformance, keys_are_bytes_within_limits_and_a_node_has_one_handle_of_each) {
  begin(kLong);
  const std::string odd = key(std::string("a\0/ö\n", 6));
  Owner one(node(0), odd);
  ASSERT_TRUE(one.take());
  ASSERT_TRUE(one.write("odd"));
  EXPECT_EQ(value_of(one.read()), "odd");
  Owner other(node(1), key("a"));
  EXPECT_TRUE(other.take()) << "another job";
  class Nobody final : public JobHandle::Listener {
    void on_lost(const LostJob&) override {}
  } nobody;
  node(0).act([&] {
    const auto code = [&](const std::string& name) {
      const auto opened = node(0).store->open(name, nobody);
      return opened ? Errc::kOk : opened.error().code;
    };
    EXPECT_EQ(code(odd), Errc::kExists);
    EXPECT_EQ(code(""), Errc::kInvalid);
    EXPECT_EQ(code(std::string(kMaxKeyBytes + 1, 'k')), Errc::kInvalid);
    EXPECT_EQ(code(std::string(kMaxKeyBytes, 'k')), Errc::kOk);
  });
}

TEST_F(JobConformance, a_store_that_closes_ends_all_calls_and_gives_back_what_is_held) {
  begin(Duration::minutes(5));
  Owner one(node(0), key("held"));
  Owner waits(node(0), key("wanted"));
  Owner holds(node(1), key("wanted"));
  ASSERT_TRUE(one.take());
  ASSERT_TRUE(holds.take());
  auto waiting = waits.begin_take();
  node(0).run([this] { return closed(node(0).store); });
  EXPECT_EQ(waiting.get().error().code, Errc::kClosed);
  EXPECT_FALSE(one.held());
  EXPECT_EQ(one.losses(), 0u);
  EXPECT_EQ(one.write("too late").error().error.code, Errc::kClosed);
  EXPECT_EQ(one.take().error().code, Errc::kClosed);
  Owner two(node(1), key("held"));
  EXPECT_TRUE(two.take());
}

TEST_F(JobConformance, a_thousand_jobs_have_one_owner) {
  begin(kLong);
  constexpr int kJobs = 1000;
  class Nobody final : public JobHandle::Listener {
   public:
    std::atomic<int> losses{0};
    void on_lost(const LostJob&) override { ++losses; }
  } nobody;
  std::vector<std::unique_ptr<JobHandle>> handles;
  std::vector<std::future<std::string>> done;
  const auto live = [](Node* on, JobHandle* job, int number) -> runtime::task<std::string> {
    const auto soon = [on] { return on->runtime().read_clock() + Duration::seconds(50); };
    const auto taken = co_await job->take(soon(), nullptr);
    if (!taken) co_return taken.error().message;
    std::string value = std::to_string(number);
    const auto written = co_await job->write(std::move(value), soon(), nullptr);
    if (!written) co_return written.error().error.message;
    const auto read = co_await job->read(soon(), nullptr);
    if (!read) co_return read.error().message;
    co_return **read;
  };
  node(0).act([&] {
    for (int i = 0; i < kJobs; ++i) handles.push_back(*node(0).store->open(key("job" + std::to_string(i)), nobody));
  });
  for (int i = 0; i < kJobs; ++i) {
    done.push_back(node(0).begin([&, i] { return live(&node(0), handles[static_cast<std::size_t>(i)].get(), i); }));
    if (i % 100 == 99) done.back().wait();
  }
  for (int i = 0; i < kJobs; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)].get(), std::to_string(i));
  Owner two(node(1), key("job7"));
  EXPECT_EQ(two.take(Duration::seconds(1)).error().code, Errc::kTimeout);
  node(0).act([&] { handles.clear(); });
  const auto taken = two.take();
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->value, "7");
  EXPECT_EQ(nobody.losses, 0);
}

TEST(OpenJobStore, says_what_is_wrong) {
  Node node;
  const auto error = [&](const std::string& url, JobSettings settings = {}) {
    auto opened = node.run([&] { return open_etcd_job_store(node.runtime(), url, "flock/test", "m1", settings, 1); });
    return opened ? Error{Errc::kOk, {}} : opened.error();
  };
  EXPECT_EQ(error("redis://h").code, Errc::kUnsupported);
  EXPECT_THAT(error("redis://h").message, HasSubstr("only etcd can"));
  EXPECT_EQ(error("etcd:").code, Errc::kInvalid);
  EXPECT_THAT(error("etcd://h?colour=red").message, HasSubstr("colour"));
  EXPECT_THAT(error("etcd://h", {.lease = Duration::seconds(1)}).message, HasSubstr("between 2 s and 5 min"));
  EXPECT_THAT(error("etcd://h", {.drift = 0.5}).message, HasSubstr("drift"));
}

}  // namespace
}  // namespace bellwether::jobs
