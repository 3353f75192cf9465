// Both kinds of files under the simulator: for a crash between any two steps, and any error of the disk, an epoch is
// given out once, and the remaining files are readable.
#include <gtest/gtest.h>
#include <set>

#include "core/base/cases_testing.h"
#include "core/base/probe.h"
#include "election/lease_record.h"
#include "election/store/file/lease_file_store.h"
#include "election/store/host/host_store.h"
#include "sim/sim_testing.h"

namespace bellwether::store {
namespace {

using election::LeaseRecord;
using election::Observation;
using election::WriteRequest;
using runtime::Runtime;
using runtime::task;
using Kind = WriteRequest::Kind;

enum class Which { kHost, kNipLe, kLeaseFile };
constexpr Which kAll[] = {Which::kHost, Which::kNipLe, Which::kLeaseFile};

// What candidates did, over all their lives.
struct History {
  Which which = Which::kHost;
  int candidates = 1;
  bool careful = true;  // takes only what is free or proven dead
  std::vector<uint64_t> won;
  uint64_t renewed = 0;
  uint64_t released = 0;
  std::set<std::string> errors;
  bool first_look_failed = false;
};

task<std::unique_ptr<LeaseStore>> open(Runtime& runtime, Which which) {
  if (which == Which::kLeaseFile) {
    LeaseFileOptions options;
    options.path = "/state/lease.json";
    auto store = co_await open_lease_file_store(runtime, options);
    co_return std::move(*store);
  }
  HostStoreOptions options;
  options.folder = "/state";
  options.rules.nip_le = which == Which::kNipLe;
  auto store = co_await open_host_store(runtime, options);
  co_return std::move(*store);
}

LeaseRecord candidate_record(Runtime& runtime, const Observation& seen) {
  LeaseRecord record;
  record.token = election::make_token(runtime.prng());
  record.holder = "candidate " + record.token.substr(0, 4);
  record.lease = Duration::seconds(10);
  record.epoch = std::max(election::next_epoch(seen.record.epoch, {}), seen.floor);
  return record;
}

// Returns the version to go on from, or nothing when that is unknown.
task<std::optional<election::Version>> act(Runtime& runtime, History& history, StoreKey& key, WriteRequest request) {
  const Kind kind = request.kind;
  const uint64_t epoch = request.record.epoch.value();
  auto outcome = co_await key.act(std::move(request), runtime.now() + Duration::seconds(5), nullptr);
  if (!outcome) history.errors.insert(std::string(to_string(outcome.error().code)));
  if (!outcome || !outcome->applied) co_return std::nullopt;
  if (kind == Kind::kTake) history.won.push_back(epoch);
  if (kind == Kind::kRenew) ++history.renewed;
  if (kind == Kind::kRelease) ++history.released;
  co_return outcome->after.version;
}

WriteRequest request_of(Kind kind, const election::Version& expected, const LeaseRecord& record) {
  WriteRequest request;
  request.kind = kind;
  request.expected = expected;
  request.record = record;
  return request;
}

// Takes the key, renews it, and gives it back or leaves it as it is.
task<void> hold_once(Runtime& runtime, History& history, StoreKey& key, const Observation& seen) {
  LeaseRecord record = candidate_record(runtime, seen);
  auto version = co_await act(runtime, history, key, request_of(Kind::kTake, seen.version, record));
  for (int i = 0; version && i < 2; ++i) {
    ++record.renewal;
    version = co_await act(runtime, history, key, request_of(Kind::kRenew, *version, record));
  }
  if (!version || runtime.prng().chance(0.3)) co_return;
  record.holder.clear();
  record.token.clear();
  record.cause = "released";
  version = co_await act(runtime, history, key, request_of(Kind::kRelease, *version, record));
}

task<void> stand(Runtime& runtime, History& history, LeaseStore& store) {
  const auto key = store.open("default");
  for (int i = 0; i < 20; ++i) {
    const auto seen = co_await (*key)->look(runtime.now() + Duration::seconds(5), nullptr);
    if (!seen) history.errors.insert(seen.error().message);
    const bool free = seen && (!seen->record.held() || seen->sight == election::HolderSight::kDead);
    if (seen && (free || !history.careful)) co_await hold_once(runtime, history, **key, *seen);
    co_await runtime.sleep(Duration::micros(static_cast<int64_t>(runtime.prng().below(2000))));
  }
}

task<void> run_candidates(Runtime& runtime, void* context) {
  auto& history = *static_cast<History*>(context);
  const auto store = co_await open(runtime, history.which);
  std::vector<task<void>> all;
  for (int i = 0; i < history.candidates; ++i) all.push_back(stand(runtime, history, *store));
  for (task<void>& one : all) co_await one;
}

void expect_each_epoch_once(const History& history) {
  for (std::size_t i = 1; i < history.won.size(); ++i) {
    ASSERT_GT(history.won[i], history.won[i - 1]) << "an epoch was given out again, or went back";
  }
}

TEST(DiskCrash, a_crash_between_any_two_steps_gives_out_no_epoch_twice) {
  const Duration step = Duration::micros(400);
  for (const Which which : kAll) {
    for (const bool power : {false, true}) {
      std::size_t most_won = 0;
      for (int i = 0; i < 120; ++i) {
        SCOPED_TRACE(testing::Message() << "store " << int(which) << ", power " << power << ", crash " << i);
        sim::World world(static_cast<uint64_t>(i) + 1);
        sim::Node& node = world.add_node("node");
        History history{.which = which};
        node.start(&run_candidates, &history);
        for (int life = 0; life < 3; ++life) {
          world.run_for(step * (i + 1));
          if (power) {
            node.lose_power();
          } else {
            node.kill();
          }
          node.restart();
        }
        world.run_for(Duration::seconds(10));
        ASSERT_EQ(history.errors, std::set<std::string>());
        expect_each_epoch_once(history);
        most_won = std::max(most_won, history.won.size());
      }
      EXPECT_GT(most_won, 5u) << "the crashes left nobody time to win";
    }
  }
}

TEST(DiskCrash, a_disk_that_fails_gives_out_no_epoch_twice) {
  for (const Which which : kAll) {
    History all;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(testing::Message() << "store " << int(which) << ", seed " << seed);
      sim::World world(seed);
      sim::Node& node = world.add_node("node");
      sim::DiskSettings& disk = node.disk().settings();
      History history{.which = which, .candidates = 3};
      disk.open_error = disk.read_error = disk.write_error = disk.sync_error = 0.02;
      node.start(&run_candidates, &history);
      for (int life = 0; life < 5; ++life) {
        world.run_for(Duration::millis(static_cast<int64_t>(world.prng().below(200))));
        node.lose_power();
        node.restart();
      }
      world.run_for(Duration::seconds(10));
      expect_each_epoch_once(history);
      all.renewed += history.renewed;
      all.released += history.released;
      all.errors.insert(history.errors.begin(), history.errors.end());
    }
    EXPECT_GT(all.renewed, 20u);
    EXPECT_GT(all.released, 10u);
    EXPECT_TRUE(all.errors.contains("io")) << "the disk never failed";
  }
}

TEST(DiskCrash, a_full_disk_is_an_error_and_holds_what_it_had) {
  for (const Which which : kAll) {
    sim::World world(1);
    sim::Node& node = world.add_node("node");
    History history{.which = which};
    node.start(&run_candidates, &history);
    world.run_for(Duration::seconds(10));
    const std::size_t before = history.won.size();
    EXPECT_GT(before, 0u);
    node.disk().settings().capacity = 100;
    node.restart();
    world.run_for(Duration::seconds(10));
    EXPECT_EQ(history.won.size(), before);
    EXPECT_EQ(history.errors, std::set<std::string>{"no_space"});
    node.disk().settings().capacity = UINT64_MAX;
    node.restart();
    world.run_for(Duration::seconds(10));
    EXPECT_GT(history.won.size(), before);
    expect_each_epoch_once(history);
  }
}

TEST(DiskCrash, a_disk_that_hangs_costs_no_call_more_than_its_deadline_and_no_epoch) {
  for (const Which which : kAll) {
    sim::World world(7);
    sim::Node& node = world.add_node("node");
    History history{.which = which, .candidates = 2};
    node.start(&run_candidates, &history);
    for (int i = 0; i < 20; ++i) {
      world.run_for(Duration::millis(30));
      node.disk().settings().sync_min = node.disk().settings().sync_max = Duration::seconds(12);
      world.run_for(Duration::seconds(15));
      node.disk().settings().sync_min = node.disk().settings().sync_max = Duration::millis(1);
      if (!node.is_running()) node.restart();
    }
    world.run_for(Duration::seconds(60));
    EXPECT_TRUE(history.errors.contains("timeout"));
    EXPECT_GT(history.won.size(), 0u);
    expect_each_epoch_once(history);
  }
}

task<void> make_its_folder(Runtime& runtime, void* context) {
  auto& answers = *static_cast<std::vector<Status>*>(context);
  const auto store = co_await open(runtime, Which::kHost);
  auto key = std::move(*store->open("default"));
  const Status answer = co_await key->prepare();
  answers.push_back(answer);
  co_await runtime.sleep(Duration::hours(2));
}

TEST(DiskCrash, a_disk_that_hangs_ends_the_making_of_a_folder) {
  sim::World world(1);
  sim::Node& node = world.add_node("node");
  node.disk().settings().sync_min = node.disk().settings().sync_max = Duration::hours(1);
  std::vector<Status> answers;
  node.start(&make_its_folder, &answers);
  world.run_for(Duration::hours(24));
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error().code, Errc::kTimeout);
}

struct Race {
  History history;
  uint64_t planned = cases(70);
  uint64_t rounds = 0;
  int winners = 0;
  bool exactly_one = true;
};

task<void> race_once(Runtime& runtime, StoreKey& key, Observation seen, int& winners) {
  const LeaseRecord record = candidate_record(runtime, seen);
  auto outcome =
      co_await key.act(request_of(Kind::kTake, seen.version, record), runtime.now() + Duration::seconds(60), nullptr);
  check(outcome.has_value());
  if (outcome->applied) ++winners;
}

task<void> race(Runtime& runtime, void* context) {
  auto& result = *static_cast<Race*>(context);
  const auto store = co_await open(runtime, result.history.which);
  std::vector<std::unique_ptr<StoreKey>> keys;
  for (int i = 0; i < 64; ++i) keys.push_back(std::move(*store->open("default")));
  for (; result.rounds < result.planned; ++result.rounds) {
    const auto seen = co_await keys[0]->look(runtime.now() + Duration::seconds(5), nullptr);
    check(seen.has_value());
    int winners = 0;
    std::vector<task<void>> all;
    for (const auto& key : keys) all.push_back(race_once(runtime, *key, *seen, winners));
    for (task<void>& one : all) co_await one;
    if (winners != 1) result.exactly_one = false;
  }
}

TEST(DiskCrash, of_64_who_see_the_same_stale_claim_exactly_one_takes_it_in_each_round) {
  for (const Which which : kAll) {
    sim::World world(11);
    sim::Node& node = world.add_node("node");
    Race result;
    result.history.which = which;
    node.start(&race, &result);
    world.run_for(Duration::hours(2));
    EXPECT_EQ(result.rounds, result.planned);
    EXPECT_TRUE(result.exactly_one);
  }
}

}  // namespace
}  // namespace bellwether::store
