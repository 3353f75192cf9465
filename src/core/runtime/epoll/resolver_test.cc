#include "core/runtime/epoll/resolver.h"

#include <gmock/gmock.h>

#include "core/runtime/dns_testing.h"
#include "core/runtime/stream_testing.h"

namespace bellwether::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Addresses = Result<std::vector<IpAddress>>;

class ResolverTest : public testing::Test {
 protected:
  ResolverTest() {
    EpollRuntime::Options options;
    options.name_servers = {server_.endpoint()};
    runtime_ = test_runtime(options);
  }
  Addresses resolve(const std::string& name, Cancellation* cancel = nullptr) {
    return runtime_->run(runtime_->resolve(name, cancel));
  }
  Result<std::vector<ServicePlace>> resolve_service(const std::string& name, Cancellation* cancel = nullptr) {
    return runtime_->run(runtime_->resolve_service(name, cancel));
  }
  const IpAddress one_ = IpAddress::v4(0x01020304);
  const IpAddress two_ = IpAddress::v4(0x01020305);
  const IpAddress six_ = *IpAddress::parse("2001:db8::1");
  TestNameServer server_{
      {{"one.test", {one_}}, {"all.test", {six_, one_, two_}}, {"six.test", {six_}}, {"none.test", {}}},
      60,
      {{"_http._tcp.test", {{2, 1, "c.test", 83}, {1, 1, "b.test", 82}, {1, 9, "a.test", 81}}},
       {"_none._tcp.test", {{0, 0, ".", 0}}}}};
  std::unique_ptr<EpollRuntime> runtime_;
};

TEST_F(ResolverTest, addresses_need_no_question) {
  EXPECT_THAT(*resolve("1.2.3.4"), ElementsAre(one_));
  EXPECT_THAT(*resolve("2001:db8::1"), ElementsAre(six_));
  EXPECT_EQ(server_.asked(), 0);
}

TEST_F(ResolverTest, the_hosts_file_is_looked_at_first) {
  const auto local = resolve("localhost");
  ASSERT_TRUE(local);
  EXPECT_EQ(local->front(), IpAddress::loopback());
  EXPECT_EQ(server_.asked(), 0);
}

TEST_F(ResolverTest, a_name_has_all_its_addresses_ipv4_first) {
  const auto all = resolve("all.test");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT(*all, testing::UnorderedElementsAre(one_, two_, six_));
  EXPECT_EQ(all->back(), six_);
  EXPECT_THAT(*resolve("six.test"), ElementsAre(six_));
}

TEST_F(ResolverTest, an_answer_is_kept) {
  EXPECT_TRUE(resolve("one.test"));
  EXPECT_TRUE(resolve("one.test"));
  EXPECT_EQ(server_.asked(), 1);
}

TEST_F(ResolverTest, those_who_ask_at_once_share_a_question) {
  auto first = runtime_->resolve("one.test", nullptr);
  auto second = runtime_->resolve("one.test", nullptr);
  EXPECT_FALSE(first.done());
  EXPECT_THAT(*runtime_->run(std::move(second)), ElementsAre(one_));
  EXPECT_THAT(*runtime_->run(std::move(first)), ElementsAre(one_));
  EXPECT_EQ(server_.asked(), 1);
}

TEST_F(ResolverTest, a_name_that_does_not_exist_is_told_and_not_asked_for_again_at_once) {
  const auto absent = resolve("absent.test");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::kDns);
  EXPECT_THAT(absent.error().message, HasSubstr("'absent.test'"));
  const int asked = server_.asked();
  EXPECT_EQ(resolve("absent.test").error().code, Errc::kDns);
  EXPECT_EQ(server_.asked(), asked);
  EXPECT_THAT(absent.error().message, HasSubstr("the name does not exist; check its spelling"));
  EXPECT_EQ(resolve("none.test").error().code, Errc::kDns);
  EXPECT_THAT(resolve("none.test").error().message, HasSubstr("has no entry of the kind that is needed"));
  EXPECT_THAT(resolve(std::string(64, 'x') + ".test").error().message, HasSubstr("it cannot be a name"));
}

TEST_F(ResolverTest, names_that_can_be_none_are_refused) {
  for (const std::string& name :
       {std::string(), std::string("a..b"), std::string(64, 'x') + ".test", std::string(300, 'x')}) {
    const auto outcome = resolve(name);
    ASSERT_FALSE(outcome) << name;
    EXPECT_EQ(outcome.error().code, Errc::kDns) << name;
  }
}

TEST_F(ResolverTest, one_who_waits_can_be_cancelled_without_the_others) {
  Cancellation cancel;
  auto first = runtime_->resolve("one.test", &cancel);
  auto second = runtime_->resolve("one.test", nullptr);
  cancel.cancel();
  EXPECT_EQ(runtime_->run(std::move(first)).error().code, Errc::kCancelled);
  EXPECT_TRUE(runtime_->run(std::move(second)));
  EXPECT_EQ(resolve("silent.test", &cancel).error().code, Errc::kCancelled);
}

TEST_F(ResolverTest, one_who_waits_can_disappear) {
  { const auto dropped = runtime_->resolve("silent.test", nullptr); }
  EXPECT_TRUE(resolve("one.test"));
}

TEST_F(ResolverTest, more_names_than_are_kept_are_resolved_all_the_same) {
  for (std::size_t i = 0; i < Resolver::kMaxNames + 50; ++i) resolve("n" + std::to_string(i) + "..");
  EXPECT_TRUE(resolve("one.test"));
}

TEST_F(ResolverTest, a_service_has_its_places_by_priority_and_weight_and_they_are_kept) {
  const auto places = resolve_service("_http._tcp.test");
  ASSERT_TRUE(places) << places.error().message;
  EXPECT_THAT(*places, ElementsAre(ServicePlace{1, 9, "a.test", 81}, ServicePlace{1, 1, "b.test", 82},
                                   ServicePlace{2, 1, "c.test", 83}));
  EXPECT_EQ(*resolve_service("_http._tcp.test"), *places);
  EXPECT_EQ(server_.asked(), 1);
}

TEST_F(ResolverTest, a_service_that_is_offered_nowhere_is_told) {
  for (const char* name : {"_none._tcp.test", "_absent._tcp.test", "one.test", ""}) {
    const auto places = resolve_service(name);
    ASSERT_FALSE(places) << name;
    EXPECT_EQ(places.error().code, Errc::kDns) << name;
    EXPECT_THAT(places.error().message, HasSubstr("'" + std::string(name) + "'"));
  }
  EXPECT_TRUE(resolve("one.test")) << "the addresses of a name are another question than its services";
}

TEST_F(ResolverTest, one_who_waits_for_a_service_can_be_cancelled) {
  Cancellation cancel;
  auto open = runtime_->resolve_service("silent.test", &cancel);
  cancel.cancel();
  EXPECT_EQ(runtime_->run(std::move(open)).error().code, Errc::kCancelled);
}

TEST_F(ResolverTest, the_runtime_may_end_while_a_question_is_open) {
  auto open = runtime_->resolve("silent.test", nullptr);
  open = {};
  runtime_.reset();
}

}  // namespace
}  // namespace bellwether::runtime
