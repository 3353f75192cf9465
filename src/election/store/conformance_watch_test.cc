// The behaviours of a store that reports changes, while its server answers.
#include "election/store/conformance_watch_testing.h"

namespace bellwether::store {

using election::LeaseRecord;
using election::Observation;

TEST_F(Watching, whatever_somebody_else_does_to_the_key_is_told) {
  const auto mine = open(*ours_, name("told"));
  const auto other = open(*theirs_, name("told"));
  look(*mine);
  Waiter waiter(*this, *mine);
  SKIP_IF_POLLED(waiter);
  for (int round = 0; round < 2; ++round) expect_changes_are_told(waiter, *other);
}

TEST_F(Watching, a_change_between_two_waits_is_told_by_the_next_one) {
  const auto mine = open(*ours_, name("between"));
  const auto other = open(*theirs_, name("between"));
  look(*mine);
  Waiter waiter(*this, *mine);
  SKIP_IF_POLLED(waiter);
  const auto taken = take(*other, "alice");
  ASSERT_TRUE(waiter.hears());
  // A further change happens before the next look.
  ASSERT_TRUE(act(*other, Kind::kRelease, taken.after.version, release_of(taken.after.record)).applied);
  EXPECT_TRUE(waiter.hears());
}

TEST_F(Watching, who_is_told_of_every_change_is_not_told_without_end) {
  const auto mine = open(*ours_, name("quiet"));
  look(*mine);
  Waiter waiter(*this, *mine);
  SKIP_IF_POLLED(waiter);
  ASSERT_TRUE(take(*mine, "alice").applied);
  // Also one's own acts may be told, but looking at them makes nothing new.
  int told = 0;
  for (; told < 10 && waiter.hears(Duration::millis(400)); ++told) look(*mine);
  EXPECT_LT(told, 10);
}

TEST_F(Watching, keys_whose_names_begin_alike_are_told_apart_or_at_least_all_told) {
  const auto mine = open(*ours_, name("alike"));
  const auto below = open(*theirs_, name("alike/below"));
  const auto other = open(*theirs_, name("alike"));
  look(*mine);
  Waiter waiter(*this, *mine);
  SKIP_IF_POLLED(waiter);
  ASSERT_TRUE(take(*below, "alice").applied);
  waiter.settle();
  ASSERT_TRUE(take(*other, "alice").applied);
  EXPECT_TRUE(waiter.hears());
  EXPECT_EQ(look(*mine).record.holder, "alice");
}

TEST_F(Watching, the_next_in_a_queue_is_told_when_the_store_ends_the_lease_before_it) {
  if (!queue()) return;
  const auto mine = open(*ours_, name("expiry"));
  const auto other = open(*theirs_, name("expiry"));
  const Observation before = look(*other);
  LeaseRecord brief = claim("alice", before);
  brief.lease = Duration::seconds(10);  // bob joins the queue before it ends
  ASSERT_TRUE(act(*other, Kind::kTake, before.version, brief).applied);
  ASSERT_FALSE(take(*mine, "bob").applied);
  Waiter waiter(*this, *mine);
  SKIP_IF_POLLED(waiter);
  // No candidate renews. Without a report this would take until the next look, which does not come here.
  if (look(*mine).record.holder != "bob") EXPECT_TRUE(waiter.hears());
  EXPECT_EQ(look(*mine).record.holder, "bob");
}

}  // namespace bellwether::store
