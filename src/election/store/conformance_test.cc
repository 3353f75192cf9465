// The behaviours of a store whose server answers.
#include <algorithm>

#include "election/store/conformance_testing.h"

namespace bellwether::store {

using election::Epoch;
using election::LeaseRecord;
using election::Observation;
using election::WriteOutcome;
using runtime::task;

ConformanceSettings& conformance_settings() {
  static ConformanceSettings settings;
  return settings;
}

TEST_F(StoreConformance, a_key_that_nobody_used_has_no_holder) {
  const auto key = open(*ours_, name("unused"));
  const Observation seen = look(*key);
  EXPECT_FALSE(seen.record.held());
  EXPECT_EQ(seen.record.token, "");
  EXPECT_FALSE(seen.foreign);
}

TEST_F(StoreConformance, what_was_taken_is_shown_to_everybody_as_it_was_written) {
  const auto a = open(*ours_, name("taken"));
  const auto b = open(*theirs_, name("taken"));
  const Observation before = look(*a);
  LeaseRecord record = claim("alice", before);
  record.cause = "took over from \"bob\", who said:\n\"no\"";
  record.region = "nörth";
  const WriteOutcome taken = act(*a, Kind::kTake, before.version, record);
  ASSERT_TRUE(taken.applied);
  if (queue()) record.epoch = taken.after.record.epoch;
  EXPECT_EQ(timeless(taken.after.record), record);
  EXPECT_GT(taken.after.record.epoch, before.record.epoch);
  EXPECT_GE(taken.after.record.epoch, before.floor);
  EXPECT_GT(taken.after.record.acquired_at, WallTime());
  EXPECT_NE(taken.after.version, before.version);

  const Observation seen = look(*b);
  EXPECT_TRUE(seen.present);
  EXPECT_FALSE(seen.foreign);
  EXPECT_EQ(seen.record, taken.after.record);
  EXPECT_EQ(seen.version, taken.after.version);
}

TEST_F(StoreConformance, a_take_that_expects_what_was_there_before_is_refused_and_shows_what_is_in_the_way) {
  const auto a = open(*ours_, name("late"));
  const auto b = open(*theirs_, name("late"));
  const Observation before = look(*b);
  const WriteOutcome first = take(*a, "alice");
  ASSERT_TRUE(first.applied);
  const WriteOutcome second = act(*b, Kind::kTake, before.version, claim("bob", before));
  EXPECT_FALSE(second.applied);
  EXPECT_EQ(second.after.record, first.after.record);
  EXPECT_EQ(second.after.place.joined, queue());
  EXPECT_EQ(second.after.place.ahead, queue() ? 1u : 0u);
  EXPECT_EQ(look(*a).record, first.after.record);
}

TEST_F(StoreConformance, a_renewal_is_seen_by_others_and_one_that_comes_late_is_refused) {
  const auto a = open(*ours_, name("renewed"));
  const auto b = open(*theirs_, name("renewed"));
  const WriteOutcome taken = take(*a, "alice");
  ASSERT_TRUE(taken.applied);
  const WriteOutcome renewed = act(*a, Kind::kRenew, taken.after.version, renewal_of(taken.after.record));
  ASSERT_TRUE(renewed.applied);
  EXPECT_EQ(renewed.after.record.token, taken.after.record.token);
  EXPECT_EQ(renewed.after.record.epoch, taken.after.record.epoch);
  EXPECT_EQ(renewed.after.record.acquired_at, taken.after.record.acquired_at);
  if (queue()) return;  // there the server counts the lease, and the record stays as it was
  EXPECT_EQ(renewed.after.record.renewal, taken.after.record.renewal + 1);
  EXPECT_NE(renewed.after.version, taken.after.version);
  EXPECT_EQ(look(*b).version, renewed.after.version);
  const WriteOutcome late = act(*a, Kind::kRenew, taken.after.version, renewal_of(taken.after.record));
  EXPECT_FALSE(late.applied);
  EXPECT_EQ(late.after.record, renewed.after.record);
}

TEST_F(StoreConformance, a_renewal_may_lengthen_the_lease_by_any_amount_and_shows_what_is_kept) {
  const auto a = open(*ours_, name("lengthened"));
  WriteOutcome kept = take(*a, "alice");
  ASSERT_TRUE(kept.applied);
  // Steps within one whole second and beyond it, since some servers count in seconds.
  for (const int more_ms : {100, 300, 700, 1100, 1200}) {
    LeaseRecord longer = renewal_of(kept.after.record);
    longer.lease = kept.after.record.lease + Duration::millis(more_ms);
    const WriteOutcome renewed = act(*a, Kind::kRenew, kept.after.version, longer);
    ASSERT_TRUE(renewed.applied) << more_ms;
    EXPECT_GE(renewed.after.record.lease, longer.lease) << "others wait for what is kept, and the holder counts on it";
    kept = renewed;
  }
}

TEST_F(StoreConformance, whoever_does_not_hold_a_key_cannot_renew_it) {
  const auto a = open(*ours_, name("robbed"));
  const auto b = open(*theirs_, name("robbed"));
  const WriteOutcome first = take(*a, "alice");
  ASSERT_TRUE(first.applied);
  ASSERT_TRUE(act(*a, Kind::kRelease, first.after.version, release_of(first.after.record)).applied);
  const WriteOutcome second = take(*b, "bob");
  ASSERT_TRUE(second.applied);
  const WriteOutcome late = act(*a, Kind::kRenew, first.after.version, renewal_of(first.after.record));
  EXPECT_FALSE(late.applied);
  EXPECT_EQ(late.after.record, second.after.record);
}

TEST_F(StoreConformance, a_release_leaves_the_epoch_and_the_next_term_has_a_greater_one) {
  const auto a = open(*ours_, name("released"));
  const auto b = open(*theirs_, name("released"));
  Epoch last;
  for (int round = 0; round < 5; ++round) {
    StoreKey& key = round % 2 == 0 ? *a : *b;
    const WriteOutcome taken = take(key, "alice");
    ASSERT_TRUE(taken.applied);
    ASSERT_GT(taken.after.record.epoch, last);
    last = taken.after.record.epoch;
    const WriteOutcome released = act(key, Kind::kRelease, taken.after.version, release_of(taken.after.record));
    ASSERT_TRUE(released.applied);
    EXPECT_FALSE(released.after.record.held());
    EXPECT_EQ(released.after.record.token, "");
    const Observation seen = look(*b);
    EXPECT_FALSE(seen.record.held());
    EXPECT_FALSE(seen.may_have_lost_data);
    if (seen.present || !queue()) EXPECT_GE(seen.record.epoch, last);
    if (!seen.present) EXPECT_GT(seen.floor, last);
  }
}

TEST_F(StoreConformance, a_release_that_comes_late_takes_nothing_from_the_next_holder) {
  const auto a = open(*ours_, name("late-release"));
  const auto b = open(*theirs_, name("late-release"));
  const WriteOutcome first = take(*a, "alice");
  ASSERT_TRUE(act(*a, Kind::kRelease, first.after.version, release_of(first.after.record)).applied);
  const WriteOutcome second = take(*b, "bob");
  ASSERT_TRUE(second.applied);
  const WriteOutcome late = act(*a, Kind::kRelease, first.after.version, release_of(first.after.record));
  EXPECT_FALSE(late.applied);
  EXPECT_EQ(look(*a).record, second.after.record);
}

TEST_F(StoreConformance, a_release_names_its_cause_and_the_heir) {
  const auto a = open(*ours_, name("heir"));
  const auto b = open(*theirs_, name("heir"));
  const WriteOutcome taken = take(*a, "alice");
  const LeaseRecord left = release_of(taken.after.record, "carol", "transferred to carol by ops");
  ASSERT_TRUE(act(*a, Kind::kRelease, taken.after.version, left).applied);
  const Observation seen = look(*b);
  EXPECT_FALSE(seen.record.held());
  EXPECT_EQ(seen.record.heir, "carol");
  EXPECT_EQ(seen.record.cause, "transferred to carol by ops");
  const WriteOutcome inherited = act(*b, Kind::kTake, seen.version, claim("carol", seen));
  ASSERT_TRUE(inherited.applied);
  EXPECT_GT(inherited.after.record.epoch, taken.after.record.epoch);
  EXPECT_EQ(inherited.after.record.heir, "");
}

TEST_F(StoreConformance, an_amendment_changes_the_record_and_not_the_term) {
  const auto a = open(*ours_, name("amended"));
  const auto b = open(*theirs_, name("amended"));
  const WriteOutcome taken = take(*a, "alice");
  const Observation seen = look(*b);
  LeaseRecord wish = seen.record;
  wish.heir = "bob";
  wish.cause = "transferred to bob by ops";
  const WriteOutcome amended = act(*b, Kind::kAmend, seen.version, wish);
  ASSERT_TRUE(amended.applied);
  EXPECT_EQ(amended.after.record.holder, "alice");
  EXPECT_EQ(amended.after.record.token, taken.after.record.token);
  EXPECT_EQ(amended.after.record.epoch, taken.after.record.epoch);
  EXPECT_EQ(amended.after.record.heir, "bob");
  const WriteOutcome renewed = act(*a, Kind::kRenew, taken.after.version, renewal_of(taken.after.record));
  EXPECT_FALSE(renewed.applied) << "the holder must see the wish before it renews";
  EXPECT_EQ(renewed.after.record.heir, "bob");
  EXPECT_TRUE(act(*a, Kind::kRenew, renewed.after.version, renewal_of(renewed.after.record)).applied);
}

TEST_F(StoreConformance, a_steal_ends_the_term_and_leaves_the_key_to_the_thief) {
  const auto a = open(*ours_, name("stolen"));
  const auto b = open(*theirs_, name("stolen"));
  const WriteOutcome taken = take(*a, "alice");
  const Observation seen = look(*b);
  LeaseRecord stolen = release_of(seen.record, "bob", "stolen by ops");
  stolen.epoch = election::next_epoch(seen.record.epoch, Epoch());
  const WriteOutcome done = act(*b, Kind::kAmend, seen.version, stolen);
  ASSERT_TRUE(done.applied);
  const WriteOutcome renewed = act(*a, Kind::kRenew, taken.after.version, renewal_of(taken.after.record));
  EXPECT_FALSE(renewed.applied);
  EXPECT_FALSE(renewed.after.record.held());
  EXPECT_GT(renewed.after.record.epoch, taken.after.record.epoch);
  EXPECT_EQ(renewed.after.record.heir, "bob");
}

TEST_F(StoreConformance, any_bytes_are_a_key) {
  const std::vector<std::string> tails{std::string("a\0b", 3),
                                       "line\nbreak",
                                       "tab\t and  spaces ",
                                       "grüße/日本",
                                       "{tag}",
                                       "}odd{braces}{",
                                       "*?[a-z]\\",
                                       "-leading",
                                       "a/b//c/",
                                       "quote\"'`$(x);",
                                       "\xff\xfe\x80",
                                       "%00%2f",
                                       "{}",
                                       "a:b:bellwetherx",
                                       std::string(1000, 'k')};
  for (const std::string& tail : tails) {
    SCOPED_TRACE(testing::PrintToString(tail));
    const auto a = open(*ours_, name(tail));
    const auto b = open(*theirs_, name(tail));
    const WriteOutcome taken = take(*a, "holder of " + run_);
    ASSERT_TRUE(taken.applied);
    EXPECT_EQ(look(*b).record, taken.after.record);
  }
  const auto leading = open(*ours_, "-" + name("begins with a dash"));
  EXPECT_TRUE(take(*leading, "alice").applied);
}

TEST_F(StoreConformance, an_empty_key_is_refused) {
  const auto opened = ours_->open("");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kInvalid);
  EXPECT_NE(opened.error().message, "");
}

TEST_F(StoreConformance, keys_do_not_touch_each_other) {
  const std::vector<std::string> names{name("x"), name("x/y"),           name("{x}"),
                                       name("x"), name("x:bellwetherx"), name("X")};
  std::vector<std::unique_ptr<StoreKey>> keys;
  for (std::size_t i = 0; i < names.size(); ++i) {
    keys.push_back(open(*ours_, names[i]));
    if (i != 3) EXPECT_TRUE(take(*keys[i], "holder " + std::to_string(i)).applied) << names[i];
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(look(*keys[i]).record.holder, "holder " + std::to_string(i == 3 ? 0 : i)) << names[i];
  }
}

TEST_F(StoreConformance, keys_are_listed_by_prefix_in_order_and_at_most_so_many) {
  std::vector<std::string> names;
  for (const std::string tail : {"b", "a", "c/d", "a*", "e\nf", "{g}", "h"}) names.push_back(name("list-" + tail));
  for (const std::string& key : names) ASSERT_TRUE(take(*open(*ours_, key), "holder of " + key).applied);
  ASSERT_TRUE(take(*open(*ours_, name("lisT-other")), "alice").applied);
  std::sort(names.begin(), names.end());

  const auto all = runtime_->run(theirs_->list(name("list-"), 100, soon(), nullptr));
  ASSERT_TRUE(all) << all.error().message;
  std::vector<std::string> found;
  for (const ListedKey& one : *all) {
    found.push_back(one.key);
    EXPECT_EQ(one.seen.record.holder, "holder of " + one.key);
  }
  EXPECT_EQ(found, names);
  const auto some = runtime_->run(theirs_->list(name("list-"), 3, soon(), nullptr));
  ASSERT_TRUE(some) << some.error().message;
  ASSERT_EQ(some->size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*some)[i].key, names[i]);
  const auto starred = runtime_->run(theirs_->list(name("list-a*"), 100, soon(), nullptr));
  ASSERT_TRUE(starred) << starred.error().message;
  EXPECT_EQ(starred->size(), 1u) << "a prefix is no pattern";
}

TEST_F(StoreConformance, of_two_who_act_on_one_version_exactly_one_succeeds) {
  const auto a = open(*ours_, name("race"));
  const auto b = open(*theirs_, name("race"));
  Observation seen = look(*a);
  for (int round = 0; round < 200; ++round) {
    const LeaseRecord of_a = claim("alice", seen);
    const LeaseRecord of_b = claim("bob", seen);
    const bool a_first = round % 2 == 0;
    auto first = (a_first ? a : b)->act(request(Kind::kTake, seen.version, a_first ? of_a : of_b), soon(), nullptr);
    auto second = (a_first ? b : a)->act(request(Kind::kTake, seen.version, a_first ? of_b : of_a), soon(), nullptr);
    const auto one = runtime_->run(std::move(first));
    const auto two = runtime_->run(std::move(second));
    ASSERT_TRUE(one && two);
    ASSERT_NE(one->applied, two->applied) << "round " << round;
    const WriteOutcome& won = one->applied ? *one : *two;
    const bool a_won = won.after.record.token == of_a.token;
    ASSERT_TRUE(a_won || won.after.record.token == of_b.token);
    if (queue()) {  // the waiting candidate leaves first, so that none moves up
      StoreKey& loser = a_won ? *b : *a;
      ASSERT_TRUE(act(loser, Kind::kRelease, won.after.version, release_of(won.after.record)).applied);
    }
    StoreKey& winner = a_won ? *a : *b;
    const WriteOutcome left = act(winner, Kind::kRelease, won.after.version, release_of(won.after.record));
    ASSERT_TRUE(left.applied);
    ASSERT_FALSE(left.after.record.held());
    seen = left.after;
  }
}

TEST_F(StoreConformance, a_call_can_be_cancelled_and_the_store_stays_usable) {
  const auto key = open(*ours_, name("cancelled"));
  runtime::Cancellation cancel;
  cancel.cancel();
  const auto seen = runtime_->run(key->look(soon(), &cancel));
  if (!seen) EXPECT_EQ(seen.error().code, Errc::kCancelled);
  EXPECT_TRUE(take(*key, "alice").applied);
}

TEST_F(StoreConformance, whoever_waits_for_a_change_is_woken_by_it_or_told_to_poll) {
  const auto a = open(*ours_, name("watched"));
  const auto b = open(*theirs_, name("watched"));
  look(*b);
  task<bool> waiting = b->changed(nullptr);
  // The server's preparation of the wait comes first, and may count as a change.
  const auto pause = [](runtime::Runtime& runtime) -> task<int> {
    co_await runtime.sleep(Duration::millis(10));
    co_return 0;
  };
  for (int i = 0; i < 30; ++i) {
    runtime_->run(pause(*runtime_));
    if (!waiting.done()) continue;
    if (!runtime_->run(std::move(waiting))) GTEST_SKIP() << "this store must be polled";
    waiting = b->changed(nullptr);
  }
  EXPECT_TRUE(take(*a, "alice").applied);
  EXPECT_TRUE(runtime_->run(std::move(waiting)));
}

TEST_F(StoreConformance, whoever_waits_for_a_change_can_give_up) {
  const auto key = open(*ours_, name("unwatched"));
  runtime::Cancellation cancel;
  task<bool> waiting = key->changed(&cancel);
  for (int i = 0; i < 30; ++i) {
    look(*key);
    if (!waiting.done()) continue;
    if (!runtime_->run(std::move(waiting))) GTEST_SKIP() << "this store must be polled";
    waiting = key->changed(&cancel);
  }
  cancel.cancel();
  EXPECT_FALSE(runtime_->run(std::move(waiting)));
  EXPECT_TRUE(take(*key, "alice").applied);
}

TEST_F(StoreConformance, its_description_shows_no_credentials) {
  EXPECT_NE(ours_->describe(), "");
  EXPECT_EQ(ours_->describe().find("password"), std::string::npos) << ours_->describe();
}

}  // namespace bellwether::store
