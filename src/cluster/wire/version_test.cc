#include <gmock/gmock.h>

#include "cluster/wire/hello.h"

namespace bellwether::wire {
namespace {

using testing::ElementsAre;

TEST(Capabilities, come_with_their_minor) {
  EXPECT_THAT(Capabilities::of({1, 0}).names(), ElementsAre("cancellation"));
  EXPECT_THAT(Capabilities::of({1, 1}).names(), ElementsAre("cancellation", "batched_stats"));
  EXPECT_THAT(Capabilities::of({1, 2}).names(),
              ElementsAre("cancellation", "batched_stats", "client_reconnection", "fence_tokens"));
  EXPECT_EQ(brought_by(Capability::kFenceTokens), (ProtocolVersion{1, 2}));
}

TEST(Capabilities, unknown_names_do_not_matter) {
  const std::vector<std::string> names = {"telepathy", "batched_stats"};
  EXPECT_THAT(Capabilities::named(names).names(), ElementsAre("batched_stats"));
}

TEST(Common, the_lower_minor_decides) {
  const auto shared = common({1, 2}, Capabilities::of({1, 2}), {1, 1}, Capabilities::of({1, 1}));
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->version, (ProtocolVersion{1, 1}));
  EXPECT_TRUE(shared->capabilities.has(Capability::kBatchedStats));
  EXPECT_FALSE(shared->capabilities.has(Capability::kFenceTokens));
}

TEST(Common, what_only_one_announces_is_not_used) {
  const std::vector<std::string> few = {"cancellation"};
  const auto shared = common({1, 2}, Capabilities::of({1, 2}), {1, 2}, Capabilities::named(few));
  ASSERT_TRUE(shared);
  EXPECT_THAT(shared->capabilities.names(), ElementsAre("cancellation"));
}

TEST(Common, a_capability_announced_below_its_minor_is_not_used) {
  const auto shared = common({1, 2}, Capabilities::of({1, 2}), {1, 0}, Capabilities::of({1, 2}));
  ASSERT_TRUE(shared);
  EXPECT_THAT(shared->capabilities.names(), ElementsAre("cancellation"));
}

TEST(Common, different_majors_do_not_talk) {
  EXPECT_FALSE(common({1, 2}, Capabilities::of({1, 2}), {2, 0}, Capabilities::of({1, 2})));
}

}  // namespace
}  // namespace bellwether::wire
