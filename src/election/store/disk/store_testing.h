// A store on a real folder that is gone after the test, and requests to it.
#pragma once

#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/runtime/stream_testing.h"
#include "core/runtime/temporary_testing.h"
#include "election/lease_record.h"
#include "election/store/lease_store.h"

namespace bellwether::store {

// All of a file; empty when it is not there.
inline std::string file_text(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string all(1 << 17, '\0');
  const ssize_t size = ::read(fd, all.data(), all.size());
  ::close(fd);
  all.resize(static_cast<std::size_t>(size));
  return all;
}
inline bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// One user of a store: what a candidate asks of it, step by step.
class StoreUser {
 public:
  using Kind = election::WriteRequest::Kind;

  explicit StoreUser(const std::string& url, std::string key = "default") : runtime_(runtime::test_runtime()) {
    auto store = runtime_->run(open_store(*runtime_, url));
    check(store.has_value(), "the test names a store");
    store_ = std::move(*store);
    key_ = std::move(*store_->open(std::move(key)));
  }

  runtime::EpollRuntime& runtime() { return *runtime_; }
  LeaseStore& store() { return *store_; }
  StoreKey& key() { return *key_; }
  Instant within(Duration span) { return runtime_->read_clock() + span; }

  Result<election::Observation> look(Duration patience = Duration::minutes(1)) {
    return runtime_->run(key_->look(within(patience), nullptr));
  }
  Result<election::WriteOutcome> act(Kind kind, const election::Version& expected, const election::LeaseRecord& record,
                                     Duration patience = Duration::minutes(1)) {
    election::WriteRequest request;
    request.kind = kind;
    request.expected = expected;
    request.record = record;
    return runtime_->run(key_->act(std::move(request), within(patience), nullptr));
  }
  static election::LeaseRecord claim(const std::string& holder, const election::Observation& seen) {
    election::LeaseRecord record;
    record.holder = holder;
    record.token = "token of " + holder;
    record.lease = Duration::seconds(10);
    record.cause = "elected";
    record.epoch = std::max(election::next_epoch(seen.record.epoch, {}), seen.floor);
    return record;
  }
  Result<election::WriteOutcome> take(const std::string& holder, Duration patience = Duration::minutes(1)) {
    BW_TRY(const auto seen, look(patience));
    return act(Kind::kTake, seen.version, claim(holder, seen), patience);
  }
  Result<election::WriteOutcome> renew(const election::Observation& last) {
    election::LeaseRecord record = last.record;
    ++record.renewal;
    return act(Kind::kRenew, last.version, record);
  }
  Result<election::WriteOutcome> release(const election::Observation& last, const std::string& heir = "") {
    election::LeaseRecord record = last.record;
    record.holder.clear();
    record.token.clear();
    record.heir = heir;
    record.cause = "released";
    return act(Kind::kRelease, last.version, record);
  }

 private:
  std::unique_ptr<runtime::EpollRuntime> runtime_;
  std::unique_ptr<LeaseStore> store_;
  std::unique_ptr<StoreKey> key_;
};

}  // namespace bellwether::store
