#include <gtest/gtest.h>

#include "election/elector_testing.h"

namespace bellwether::election {
namespace {

// A store with a queue, as its first candidate finds it.
Observation queue(std::string holder, bool joined) {
  Observation seen;
  seen.present = true;
  seen.version = "7";
  seen.record.holder = std::move(holder);
  seen.record.token = "theirs";
  seen.record.epoch = Epoch(7);
  seen.record.lease = Duration::seconds(15);
  seen.place = {.joined = joined, .ahead = joined ? 1u : 0u};
  return seen;
}

TEST(ElectorInAQueue, a_candidate_that_is_not_fit_leaves_the_queue_and_does_not_come_back_before_it_is) {
  ElectorConfig c = config("a");
  c.traits = {.claim = ClaimKind::kQueue, .chooses_epoch = true};
  Register reg;
  Bench a(reg, std::move(c));
  a.step(Start{});
  Effects out = a.step(Looked{queue("b", false)});
  EXPECT_EQ(std::get<Act>(out.back()).request.kind, WriteRequest::Kind::kTake);
  a.step(Acted{WriteOutcome{false, queue("b", true)}});
  a.step(BadEvidence{EvidenceKind::kSelf, "overloaded"});
  EXPECT_EQ(a.elector.wake(), a.now) << "others may wait behind it";
  a.step(Tick{});
  out = a.step(Looked{queue("b", true)});
  ASSERT_FALSE(out.empty());
  ASSERT_TRUE(std::holds_alternative<Act>(out.back()));
  EXPECT_EQ(std::get<Act>(out.back()).request.kind, WriteRequest::Kind::kRelease);
  a.step(Acted{WriteOutcome{true, queue("b", false)}});
  const auto next_look = [&](const Observation& seen) {
    a.now = a.elector.wake();
    a.step(Tick{});
    return a.step(Looked{seen});
  };
  EXPECT_TRUE(next_look(queue("b", false)).empty()) << "not fit yet";
  a.step(GoodEvidence{EvidenceKind::kSelf});
  out = next_look(queue("b", false));
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(std::get<Act>(out.back()).request.kind, WriteRequest::Kind::kTake);
}

TEST(ElectorInAQueue, a_holder_counts_as_one_for_its_lease_since_the_store_showed_it) {
  ElectorConfig c = config("a");
  c.traits = {.claim = ClaimKind::kQueue, .chooses_epoch = true};
  c.campaign = false;
  Register reg;
  Bench a(reg, std::move(c));
  a.step(Start{});
  a.step(Looked{queue("b", false)});
  for (int i = 0; i < 20; ++i) {
    a.now = a.elector.wake();
    a.step(Tick{});
    a.step(Looked{queue("b", false)});
  }
  EXPECT_EQ(a.elector.holder_until(), a.now + Duration::millis(15'150)) << "its renewals are not seen";
}

}  // namespace
}  // namespace bellwether::election
