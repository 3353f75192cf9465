// Contenders that run already, as a drill reaches them: by the process ids of this machine, or by commands of the
// operator. The drill watches their key in place of their acts.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "core/base/encoding.h"
#include "core/runtime/epoll/processes.h"
#include "core/runtime/runtime.h"
#include "election/store/lease_store.h"
#include "lead/drill/act_log.h"
#include "lead/drill/drill.h"

namespace bellwether::lead {

// The last output of a program: mostly the reason of its failure. Pure.

// ": " and the last line of an output that has one, fit for a terminal; empty when it says nothing.
inline std::string last_lines(std::string_view output) {
  const std::string_view text = output.substr(0, output.find_last_not_of(" \t\r\n") + 1);
  if (text.empty()) return {};
  const auto end = text.rfind('\n');
  return ": " + printable(text.substr(end == std::string_view::npos ? 0 : end + 1));
}

// Processes known by their ids. The system may reuse an id; the drill must not signal the new process.
class KnownProcesses {
 public:
  // kNotFound: `pid` has ended, or may now be another process than when it was first seen.
  Status same(int64_t pid, const runtime::ProcessSight& seen);
  void killed(int64_t pid) { killed_.insert(pid); }

 private:
  std::map<int64_t, uint64_t> begun_;  // when each began, where the system reports it
  std::set<int64_t> killed_;
};

class Attached final : public DrillTargets {
 public:
  // Both must outlive it.
  Attached(runtime::Runtime& runtime, const DrillOptions& options) : runtime_(runtime), options_(options) {}

  runtime::task<Status> start() override;
  runtime::task<Status> break_one(std::string holder, uint64_t epoch) override;
  runtime::task<Status> repair() override;
  runtime::task<void> stop() override;
  std::string act_file() const override { return options_.acts; }

 private:
  Result<int64_t> process_of(const std::string& holder);
  runtime::task<Status> command(std::string text);

  runtime::Runtime& runtime_;
  const DrillOptions& options_;
  KnownProcesses known_;
  std::string holder_;  // that was broken last
  uint64_t epoch_ = 0;
  int64_t pid_ = 0;  // 0: not known
  bool paused_ = false;
};

// The process id in a name of the form HOST:PID, when HOST is this machine; 0 when it says none.
int64_t pid_in_name(const std::string& holder, const std::string& this_host);

// Observes a key, and notes each change of its state as an act of its holder.
class KeyWatch {
 public:
  static runtime::task<Result<std::unique_ptr<KeyWatch>>> open(runtime::Runtime& runtime, std::string url,
                                                               std::string key);
  // Talks to the store for at most `timeout`. Without an answer it notes nothing.
  runtime::task<void> look(ActLog& log, Duration timeout);
  // Somebody held the key at the last look.
  bool held() const { return held_; }

 private:
  explicit KeyWatch(runtime::Runtime& runtime) : runtime_(runtime) {}
  runtime::Runtime& runtime_;
  std::unique_ptr<store::LeaseStore> store_;
  std::unique_ptr<store::StoreKey> key_;
  election::Version version_;
  bool held_ = false;
};

}  // namespace bellwether::lead
