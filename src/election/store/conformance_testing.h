// The inputs of the conformance tests for every store: the store under test, two connections to it, and control over
// its server. The same tests run against memory in the unit tests and against real servers in the integration tests.
#pragma once

#include <gmock/gmock.h>
#include <memory>
#include <string>
#include <utility>

#include "core/runtime/epoll/epoll_runtime.h"
#include "election/lease_record.h"
#include "election/store/lease_store.h"

namespace bellwether::store {

struct ConformanceSettings {
  std::string url = "memory:conformance";
  // Asks the runner of the server to do something to it ("pause", "restart"), and waits until it is done. False: the
  // runner cannot do that. Null: no runner.
  bool (*control)(const std::string& command) = nullptr;
};
ConformanceSettings& conformance_settings();

// A call that takes longer has failed.
inline constexpr Duration kPatience = Duration::minutes(1);

class StoreConformance : public testing::Test {
 protected:
  using Kind = election::WriteRequest::Kind;

  StoreConformance() {
    runtime_ = std::move(*runtime::EpollRuntime::create({}));
    run_ = election::make_token(runtime_->prng()).substr(0, 8);
    ours_ = open_store_of(*runtime_);
    theirs_ = open_store_of(*runtime_);
  }

  static std::unique_ptr<LeaseStore> open_store_of(runtime::EpollRuntime& runtime) {
    auto store = runtime.run(open_store(runtime, conformance_settings().url));
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }

  // A name that no other test and no earlier run has used.
  std::string name(const std::string& what) const { return "bw-test-" + run_ + "-" + what; }
  static std::unique_ptr<StoreKey> open(LeaseStore& store, const std::string& key) {
    auto opened = store.open(key);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  bool queue() const { return ours_->traits().claim == election::ClaimKind::kQueue; }

  Instant soon(Duration span = kPatience) { return runtime_->read_clock() + span; }

  Result<election::Observation> try_look(StoreKey& key, Duration within = kPatience) {
    return runtime_->run(key.look(soon(within), nullptr));
  }
  election::Observation look(StoreKey& key) {
    auto seen = try_look(key);
    EXPECT_TRUE(seen) << seen.error().message;
    return seen ? *seen : election::Observation();
  }

  static election::WriteRequest request(Kind kind, const election::Version& expected,
                                        const election::LeaseRecord& record) {
    election::WriteRequest made;
    made.kind = kind;
    made.expected = expected;
    made.record = record;
    return made;
  }
  Result<election::WriteOutcome> try_act(StoreKey& key, Kind kind, const election::Version& expected,
                                         const election::LeaseRecord& record, Duration within = kPatience) {
    return runtime_->run(key.act(request(kind, expected, record), soon(within), nullptr));
  }
  election::WriteOutcome act(StoreKey& key, Kind kind, const election::Version& expected,
                             const election::LeaseRecord& record) {
    auto outcome = try_act(key, kind, expected, record);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : election::WriteOutcome();
  }

  // A record as a candidate writes it that takes the key after this.
  election::LeaseRecord claim(const std::string& holder, const election::Observation& seen) {
    election::LeaseRecord record;
    record.holder = holder;
    record.token = election::make_token(runtime_->prng());
    record.lease = Duration::minutes(1);  // longer than any pause of a busy machine
    record.region = "north";
    record.cause = "elected";
    if (!ours_->traits().chooses_epoch) {
      record.epoch = std::max(election::next_epoch(seen.record.epoch, election::Epoch()), seen.floor);
    }
    return record;
  }
  election::WriteOutcome take(StoreKey& key, const std::string& holder) {
    const election::Observation seen = look(key);
    return act(key, Kind::kTake, seen.version, claim(holder, seen));
  }
  static election::LeaseRecord renewal_of(election::LeaseRecord record) {
    ++record.renewal;
    return record;
  }
  static election::LeaseRecord release_of(election::LeaseRecord record, const std::string& heir = "",
                                          const std::string& cause = "released") {
    record.holder.clear();
    record.token.clear();
    ++record.renewal;
    record.heir = heir;
    record.cause = cause;
    return record;
  }
  static bool control(const std::string& command) {
    return conformance_settings().control != nullptr && conformance_settings().control(command);
  }

  std::unique_ptr<runtime::EpollRuntime> runtime_;
  std::string run_;
  std::unique_ptr<LeaseStore> ours_;
  std::unique_ptr<LeaseStore> theirs_;
};

// The records without the times, which the store itself puts in.
inline election::LeaseRecord timeless(election::LeaseRecord record) {
  record.acquired_at = {};
  record.renewed_at = {};
  return record;
}

}  // namespace bellwether::store
