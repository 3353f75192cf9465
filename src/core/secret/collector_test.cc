#include <gmock/gmock.h>

#include "core/secret/secret_testing.h"
#include "core/secret/sharing.h"

namespace bellwether::secret {
namespace {

using State = Collector::State;
using Taken = Collector::Taken;
using testing::ElementsAre;
using testing::HasSubstr;

struct CollectorTest : testing::Test {
  KeyShare share(std::size_t index) const { return copy_of(five.shares[index - 1]); }
  KeyShare changed(std::size_t index) const {
    KeyShare out = share(index);
    out.value.bytes()[0] ^= std::byte{1};
    return out;
  }

  Splitting five = split_text("key", {3, 5});
  Collector collector{five.commitment};
};

TEST_F(CollectorTest, the_secret_is_there_with_the_threshold_and_not_before) {
  EXPECT_EQ(collector.needed(), 3u);
  EXPECT_EQ(collector.take(10, share(4)), Taken::kNew);
  EXPECT_EQ(collector.take(11, share(1)), Taken::kNew);
  EXPECT_EQ(collector.state(), State::kCollecting);
  EXPECT_EQ(text_of(collector.give()), "error: the secret is not complete yet: 2 of 3 key shares of secret 7");
  EXPECT_EQ(collector.take(12, share(2)), Taken::kNew);
  EXPECT_EQ(collector.state(), State::kReady);
  EXPECT_EQ(text_of(collector.give()), "key");
}

TEST_F(CollectorTest, it_tells_how_many_it_has_and_which_are_missing) {
  EXPECT_THAT(collector.missing(), ElementsAre(1, 2, 3, 4, 5));
  collector.take(10, share(4));
  EXPECT_EQ(collector.needed(), 2u);
  EXPECT_THAT(collector.missing(), ElementsAre(1, 2, 3, 5));
  EXPECT_EQ(collector.text(), "1 of 3 key shares of secret 7");
  collector.take(10, share(1));
  collector.take(10, share(2));
  EXPECT_EQ(collector.needed(), 0u);
  EXPECT_THAT(collector.missing(), ElementsAre()) << "no more of them is needed";
}

TEST_F(CollectorTest, the_secret_is_given_once_and_no_key_share_stays) {
  for (const std::size_t index : {1, 2, 3}) collector.take(index, share(index));
  EXPECT_EQ(collector.held(), 3u);
  EXPECT_TRUE(collector.give());
  EXPECT_EQ(collector.state(), State::kGiven);
  EXPECT_EQ(collector.held(), 0u);
  const auto again = collector.give();
  EXPECT_EQ(again.error().code, Errc::kClosed);
  EXPECT_EQ(again.error().message, "secret 7 was restored from 3 key shares, which are wiped");
  EXPECT_EQ(collector.take(4, share(4)), Taken::kNotNeeded);
  EXPECT_EQ(collector.take(1, share(1)), Taken::kNotNeeded);
  EXPECT_EQ(collector.held(), 0u);
  EXPECT_EQ(collector.needed(), 0u);
}

TEST_F(CollectorTest, doubles_and_what_is_not_needed_are_not_counted) {
  EXPECT_EQ(collector.take(1, share(1)), Taken::kNew);
  EXPECT_EQ(collector.take(1, share(1)), Taken::kDouble);
  EXPECT_EQ(collector.take(9, share(1)), Taken::kDouble) << "whoever sends it";
  EXPECT_EQ(collector.held(), 1u);
  collector.take(2, share(2));
  collector.take(3, share(3));
  EXPECT_EQ(collector.take(4, share(4)), Taken::kNotNeeded);
  EXPECT_EQ(collector.take(3, share(3)), Taken::kDouble);
  EXPECT_EQ(collector.held(), 3u);
}

TEST_F(CollectorTest, a_wrong_one_is_refused_with_its_sender_and_spoils_nothing) {
  collector.take(1, share(1));
  const auto refused = collector.take(9, changed(2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "of node 9: key share 2 does not match its commitment: it was changed");
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_EQ(collector.held(), 1u);
  EXPECT_EQ(
      collector.text(),
      "1 of 3 key shares of secret 7; refused: of node 9: key share 2 does not match its commitment: it was changed");
  collector.take(2, share(2));
  collector.take(3, share(3));
  EXPECT_EQ(text_of(collector.give()), "key");
}

TEST_F(CollectorTest, those_of_another_secret_or_splitting_are_refused) {
  Splitting older = split_text("key", {3, 5}, 2);
  EXPECT_EQ(collector.take(9, std::move(older.shares[0])).error().code, Errc::kRefused);
  Splitting other = split_text("key", {3, 5}, 1, SecretId(8));
  EXPECT_EQ(collector.take(8, std::move(other.shares[0])).error().code, Errc::kRefused);
  EXPECT_EQ(collector.held(), 0u);
  EXPECT_THAT(collector.text(),
              HasSubstr("; refused: of node 8: key share 1 belongs to secret 8, not to secret 7; of node 9: "));
}

TEST_F(CollectorTest, wrong_ones_are_refused_also_when_there_are_enough) {
  for (const std::size_t index : {1, 2, 3}) collector.take(index, share(index));
  EXPECT_FALSE(collector.take(4, changed(4)));
  EXPECT_TRUE(collector.give());
  EXPECT_FALSE(collector.take(5, changed(5)));
  EXPECT_THAT(collector.refused(), testing::SizeIs(2));
}

TEST_F(CollectorTest, of_many_who_send_wrong_ones_only_some_are_listed) {
  for (uint64_t from = 1; from <= Collector::kMaxRefused + 3; ++from) EXPECT_FALSE(collector.take(from, changed(1)));
  EXPECT_FALSE(collector.take(1, changed(2)));
  EXPECT_EQ(collector.refused().size(), Collector::kMaxRefused);
  EXPECT_THAT(collector.refused().at(1), HasSubstr("key share 2 ")) << "the last reason of each";
  EXPECT_THAT(collector.text(), testing::EndsWith("; and 3 more"));
}

TEST_F(CollectorTest, a_commitment_that_contradicts_itself_is_found_out_and_ends_it) {
  Digest wrong = five.commitment.digest_of_secret();
  wrong[31] ^= std::byte{1};
  Collector other(Commitment::make(five.commitment.head(), wrong, five.commitment.digests_of_shares()).value());
  for (const std::size_t index : {1, 2, 3}) EXPECT_EQ(other.take(index, share(index)), Taken::kNew);
  EXPECT_EQ(other.give().error().code, Errc::kInvalid);
  EXPECT_EQ(other.state(), State::kSpoiled);
  EXPECT_EQ(other.held(), 0u);
  EXPECT_EQ(other.text(), "secret 7 cannot be restored: its commitment contradicts itself");
  EXPECT_EQ(other.give().error().code, Errc::kClosed);
  EXPECT_EQ(other.take(4, share(4)), Taken::kNotNeeded);
}

}  // namespace
}  // namespace bellwether::secret
