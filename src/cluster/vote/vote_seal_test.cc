#include <gmock/gmock.h>

#include "cluster/vote/vote_codec.h"
#include "cluster/vote/vote_keys_testing.h"

namespace bellwether::cluster {
namespace {

using testing::HasSubstr;

VoteSeal seal_of(unsigned char number, const std::string& group = "flock") { return test_seal(number, group, "ab"); }

TEST(VoteSeal, what_a_node_has_signed_is_read_by_the_others) {
  const auto read = seal_of(2).open(seal_of(1).seal("I stand"), "a");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, "I stand");
}

TEST(VoteSeal, nobody_speaks_in_the_name_of_another) {
  const auto read = seal_of(1).open(seal_of(2).seal("I stand"), "a");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kRefused);
  EXPECT_THAT(read.error().message, HasSubstr("names 'a' as its sender is not signed with that node's key"));
}

TEST(VoteSeal, a_message_of_another_group_is_none_of_this) {
  EXPECT_FALSE(seal_of(2).open(seal_of(1, "another flock").seal("I stand"), "a"));
}

TEST(VoteSeal, a_sender_whose_key_nobody_knows_is_not_listened_to) {
  const auto read = seal_of(1).open(seal_of(3).seal("I stand"), "c");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("this node has no key of 'c'"));
}

TEST(VoteSeal, what_was_changed_or_is_not_signed_is_refused) {
  const std::string good = seal_of(1).seal("I stand");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    const auto read = seal_of(2).open(bad, "a");
    EXPECT_FALSE(read) << i;
  }
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(seal_of(2).open(good.substr(0, size), "a"));
  EXPECT_EQ(seal_of(2).open(std::string(20'000, 'x'), "a").error().code, Errc::kProtocol);
}

}  // namespace
}  // namespace bellwether::cluster
