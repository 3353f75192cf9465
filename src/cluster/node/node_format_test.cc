#include "cluster/node/node_format.h"

#include <gtest/gtest.h>

#include "core/message/message_testing.h"

namespace bellwether::node {
namespace {

using namespace std::literals;

TEST(NodeWords, what_a_node_says_of_itself_travels_within_its_limits) {
  message::expect_sound<PeerMeta>();
  message::expect_sound<PeerState>();
}

TEST(NodeWords, the_bytes_are_those_of_older_versions) {
  const PeerMeta meta{"dc1", "eu", "bellwether 0.1", 0, "etcd"};
  EXPECT_EQ(write_meta(meta),
            "\x0a\x03"
            "dc1\x12\x02"
            "eu\x1a\x0e"
            "bellwether 0.1\x20\x00\x2a\x04"
            "etcd"s);
  const PeerState state{true, 300, "m3", false, true, 3, 4, 90, 80, true};
  EXPECT_EQ(write_state(state), "\x08\x01\x10\xac\x02\x20\x03\x28\x04\x30\x5a\x38\x50\x40\x01\x48\x01\x52\x02m3");
}

TEST(NodeWords, what_is_shown_to_people_is_as_it_should_be_or_left_out) {
  const PeerMeta wild{"dc 1", "..", "\x1b[2J", 77, "a/b"};
  EXPECT_EQ(write_meta(wild), write_meta({"", "..", "", 77, ""}));
  EXPECT_EQ(read_meta("\x0a\x04"
                      "dc 1"
                      "\x20\x4d"),
            (PeerMeta{"", "", "", 8, ""}));
  EXPECT_EQ(read_meta("no message"), PeerMeta());
  EXPECT_EQ(read_state("\x20\xff\x01")->health_score, 8);
  EXPECT_EQ(read_state("no message"), std::nullopt);
}

}  // namespace
}  // namespace bellwether::node
