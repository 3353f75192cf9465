// The candidates of a drill: processes of this program that run one loop of a policy sheet, each with a way to its
// store that can be cut.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/processes.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "election/store/lease_store.h"
#include "lead/drill/drill.h"

namespace bellwether::lead {

// The acts of the candidates of a drill: one line for each act, all in one file, in the order of the acts (the kernel
// appends them one after the other). So the order of the lines, and no clock, shows whether two acted at once: an act
// under an older epoch behind one under a newer epoch came from a former holder.
//
// A line: HOLDER EPOCH NANOSECONDS. The time is that of the boot clock, for measuring.

// All acts of one holder under one epoch.
struct Reign {
  std::string holder;
  uint64_t epoch = 0;
  Instant first;
  Instant last;
  uint64_t acts = 0;
};

class ActLog {
 public:
  // Further bytes of the file; lines may come in pieces.
  void feed(std::string_view bytes);
  // One act, or another sign that this holder is active.
  void note(std::string_view holder, uint64_t epoch, Instant when);

  // In the order in which they began.
  const std::vector<Reign>& reigns() const { return reigns_; }
  const Reign* last() const { return reigns_.empty() ? nullptr : &reigns_.back(); }
  uint64_t acts() const { return acts_; }
  // Acts that came after an act under a newer epoch, or under an epoch that another holder had.
  uint64_t overlaps() const { return overlaps_; }

 private:
  void take(std::string_view line);

  std::string rest_;
  std::vector<Reign> reigns_;
  uint64_t acts_ = 0;
  uint64_t overlaps_ = 0;
};

// The whole life of an acting process: appends a line to the file every few milliseconds, for `span`. The holder and
// the epoch are those of BELLWETHER_HOLDER and BELLWETHER_EPOCH. Returns its exit code.
int act_for(const std::string& file, Duration span);

// A forwarder of TCP connections that can be cut, between a candidate of a drill and the store. One thread.
class Forwarder {
 public:
  // Listens on a free port of this machine. `target` may be a name. `runtime` must outlive it.
  static runtime::task<Result<std::unique_ptr<Forwarder>>> start(runtime::Runtime& runtime, std::string host,
                                                                 uint16_t port);
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;
  ~Forwarder();

  uint16_t port() const { return listener_->local().port; }
  // From now on no data passes, and neither end gets a notice.
  void cut() { cut_ = true; }
  // Lets all data pass again. Connections that lost data are broken, as after a long partition.
  void mend();
  runtime::task<void> stop();

 private:
  struct Pair;
  Forwarder(runtime::Runtime& runtime, runtime::Endpoint target, std::unique_ptr<runtime::Listener> listener);
  runtime::task<void> accept();
  runtime::task<void> carry(std::unique_ptr<runtime::Stream> client);
  runtime::task<void> pump(Pair& pair, runtime::Stream& from, runtime::Stream& to);

  runtime::Runtime& runtime_;
  runtime::Endpoint target_;
  std::unique_ptr<runtime::Listener> listener_;
  bool cut_ = false;
  std::list<Pair*> pairs_;
  runtime::Scope scope_;
};

class Candidates final : public DrillTargets {
 public:
  // `folder`: for the files of the drill; the acts are in act_file(). Both must outlive it.
  Candidates(runtime::Runtime& runtime, const DrillOptions& options, std::string folder)
      : runtime_(runtime), options_(options), folder_(std::move(folder)) {}

  runtime::task<Status> start() override;
  runtime::task<Status> break_one(std::string holder, uint64_t epoch) override;
  runtime::task<Status> repair() override;
  runtime::task<void> stop() override;
  std::string act_file() const override { return folder_ + "/acts"; }

 private:
  struct One {
    std::string holder;
    std::string store;  // URL
    std::unique_ptr<Forwarder> way;
    std::unique_ptr<runtime::Child> process;
    bool broken = false;
  };
  runtime::task<Status> open_way(One& one);
  runtime::task<Status> launch(One& one);
  std::string tick_command() const;

  runtime::Runtime& runtime_;
  const DrillOptions& options_;
  std::string folder_;
  std::vector<One> all_;
  std::size_t launched_ = 0;
};

// The URL with its only host replaced by a port of this machine; kUnsupported where it has none or several.
Result<std::string> redirected(const std::string& url, uint16_t port);

// Candidates that run already, as a drill reaches them: by the process ids of this machine, or by commands of the
// operator. The drill watches their key in place of their acts.

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
  // Talks to the store for at most `timeout`. Without an answer it notes nothing, and says why.
  runtime::task<Status> look(ActLog& log, Duration timeout);
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
