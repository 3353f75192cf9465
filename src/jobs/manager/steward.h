// The coordinator of one job on its owner: drives the kernel (jobs/dispatch/job_desk.h) with the register of the job,
// its account, the workers of its assignments and the clients that watch it.
//
//   steward.cc          its life: taken, written, copied, concluded, lost
//   steward_workers.cc  messages to workers, and their reports and measurements
//
// One thread, that of its runtime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "cluster/net/peer_links.h"
#include "cluster/replication/copies.h"
#include "cluster/replication/job_store.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"
#include "jobs/account/run_account.h"
#include "jobs/dispatch/job_desk.h"
#include "jobs/dispatch/letters.h"
#include "jobs/manager/surroundings.h"
#include "jobs/manager/watchers.h"

namespace bellwether::node {

inline constexpr const char* kBundleCopy = "bundle";
inline constexpr const char* kAccountCopy = "account";
inline constexpr const char* kContextCopy = "context";
inline constexpr const char* kRecordCopy = "record";  // blob of a record that exceeds its register
// The first word of a refusal of a new job that no quorum has confirmed.
inline constexpr std::string_view kQuorumUnavailable = "QuorumUnavailable";
inline constexpr std::string_view kQuorumTimeout = "QuorumTimeout";
inline constexpr std::string_view kQuorumCircuitOpen = "QuorumCircuitOpen";

struct StewardSettings {
  dispatch::JobRules rules;
  Duration copy_every = Duration::seconds(2);    // of the account, while it changes
  Duration watch_pause = Duration::millis(50);   // between two answers to one watcher
  Duration submit_limit = Duration::seconds(5);  // for the quorum's answer on a new job; a client waits a little longer
  std::size_t watchers_most = 256;
  // Of reports that are in no copy yet: beyond a part of it workers are asked to report less often.
  std::size_t unsafe_bytes_most = std::size_t{32} << 20;
};

class ManagerService;

class Steward final : private jobs::JobHandle::Listener {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    cluster::PeerLinks& links;
    cluster::Switchboard& switchboard;
    Surroundings& surroundings;
    jobs::JobStore& store;
    copies::Copies& copies;
    ManagerService& owner;  // must not destroy it from within a call
  };

  // All parts must outlive it.
  Steward(Parts parts, StewardSettings settings, std::string id);
  ~Steward() override;
  Steward(const Steward&) = delete;
  Steward& operator=(const Steward&) = delete;

  // A new job: takes its register, keeps its inputs, and begins. Returns the answer for the client. Unless ready()
  // then, this object is of no use: the job does not exist, or existed before.
  runtime::task<dispatch::Response> found(dispatch::Submit letter);
  // Takes over another owner's job from its register and its copies. Error: not available, or it has ended.
  runtime::task<Status> take_over(Instant deadline);

  // Gives up all waits; close() must follow.
  void abandon();
  // Ends all its coroutines, and releases the register. Before its destruction.
  runtime::task<void> close();

  const std::string& id() const { return id_; }
  bool owned() const { return owned_; }
  bool over() const { return job_ != nullptr && job_->over(); }
  const dispatch::JobSheet& sheet() const { return job_->sheet(); }
  bool ready() const { return job_ != nullptr; }
  Instant over_since() const { return over_since_; }
  // Cores of workers that its assignments use.
  void add_cores(std::map<std::string, uint32_t>& asked) const;
  bool wants_cores() const;
  // The number of dispatched assignments; and the assignments that have a place on a worker and are not dispatched.
  uint64_t dispatched() const { return dispatched_.size(); }
  std::vector<dispatch::ShareId> undispatched() const;

  void pool(const std::vector<dispatch::WorkerSight>& workers);
  void worker_gone(const std::string& worker, const std::string& why);
  // This assignment makes no progress: another worker gets it.
  void evict(const std::string& worker, dispatch::ShareId share, const std::string& why);
  void reported(const std::string& worker, const dispatch::WorkerReport& report);
  // The worker of an assignment; nullptr: the job has no such assignment. The caller passes a worker's messages
  // (window(), end(), more_time()) only if it is this worker.
  const std::string* holder(dispatch::ShareId share) const;
  dispatch::Response window(const std::string& worker, const dispatch::WindowLetter& letter);
  dispatch::Response end(const dispatch::EndLetter& letter);
  dispatch::Response more_time(const std::string& worker, const dispatch::ExtendLetter& letter);
  // Part of a LiveLetter of that number, collected then (on this clock). Dropped unless the worker has that assignment,
  // and runs it.
  void live(const std::string& worker, Instant collected, uint64_t number, const dispatch::LiveLetter::Share& told);
  runtime::task<dispatch::Response> cancel(dispatch::Cancel letter);
  runtime::task<dispatch::Response> scale(dispatch::Scale letter);
  // Watch or WatchLive: answers at once, or when it has news. REQUIRES ready().
  template <class Question>
  void watch(link::Connection& connection, wire::RequestId id, const Question& question) {
    watchers_->watch(connection, id, question);
    poke();
  }
  void forget(const link::Connection& connection) {
    if (watchers_ != nullptr) watchers_->forget(connection);
  }
  // As in Watchers.
  void set_position(uint32_t position, const std::string& why) {
    if (watchers_ != nullptr) watchers_->set_position(position, why);
  }
  dispatch::JobSheet shown_sheet() const { return watchers_->shown_sheet(); }
  const std::string& bundle() const { return bundle_; }
  // Its reports that wait: for the rest of their second, or to be copied.
  std::size_t waiting_bytes() const;
  resilience::Backpressure pressure() const;

 private:
  void on_lost(const jobs::LostJob& lost) override;

  // --- steward.cc
  Status make_plan(std::string bundle);
  dispatch::JobRules rules() const;
  void start();
  dispatch::Refusal no_quorum(const std::string& what, const Error& error) const;
  // Calls the kernel, call(now, effects), and executes the effects.
  template <class Call>
  auto step(Call call) {
    const Instant at = now();
    job_->set_wall(at, parts_.runtime.wall_now());
    dispatch::JobEffects out;
    if constexpr (std::is_void_v<decltype(call(at, out))>) {
      call(at, out);
      after(out);
    } else {
      auto result = call(at, out);
      after(out);
      return result;
    }
  }
  void after(const dispatch::JobEffects& effects);
  void poke();
  void carry_out(const dispatch::JobEffect& effect);
  Instant next_deadline() const;
  static runtime::task<void> keep_time(Steward* self);
  static runtime::task<void> write_on(Steward* self);
  runtime::task<Status> write_record(const dispatch::JobSheet& sheet, Instant deadline);
  static runtime::task<void> copy_on(Steward* self);
  runtime::task<Status> copy_account(Instant deadline);
  void settle(Instant now);
  static runtime::task<void> conclude(Steward* self);
  static runtime::task<void> keep_context(Steward* self);
  runtime::task<Result<plan::Values>> read_context(Instant deadline);
  static runtime::task<void> let_go(Steward* self);
  Instant now() { return parts_.runtime.read_clock(); }
  void say(const std::string& event, const std::string& text, bool warning = false);

  // --- steward_workers.cc
  static runtime::task<void> offer(Steward* self, dispatch::ShareId share);
  static runtime::task<void> begin(Steward* self, dispatch::job_effect::Begin begin);
  static runtime::task<void> take_over(Steward* self, dispatch::job_effect::TakeOver taking);
  static runtime::task<void> hand_over(Steward* self, dispatch::ShareId share);
  static runtime::task<void> stop(Steward* self, dispatch::job_effect::Stop stop);
  static runtime::task<void> scale(Steward* self, dispatch::ShareId share);
  runtime::task<bool> is_recorded();
  static runtime::task<void> adopt(Steward* self, std::string worker);
  static runtime::task<void> retire(Steward* self, std::string worker);
  void retire_all();
  runtime::task<Result<dispatch::Response>> tell(std::string worker, dispatch::Letter letter, Duration timeout);
  // Sends the result of make() (nothing: it is obsolete) until take(answer) says that it is done.
  struct Said {
    std::string worker;
    dispatch::Letter letter;
  };
  template <class Make, class Take>
  runtime::task<void> insist(Make make, Take take);
  void open_stream(const dispatch::ShareSheet& share);
  void say_pressure();

  Parts parts_;
  StewardSettings settings_;
  std::string id_;
  std::string bundle_;
  std::unique_ptr<plan::Plan> plan_;
  std::unique_ptr<jobs::JobHandle> handle_;
  std::unique_ptr<dispatch::JobDesk> job_;
  std::unique_ptr<account::RunAccount> account_;
  uint64_t account_life_ = 0;
  bool owned_ = false;
  bool closing_ = false;
  bool writing_ = false;
  bool keeping_context_ = false;
  uint64_t written_ = 0;      // revision of the record that a quorum has
  uint64_t copies_put_ = 0;   // of the account
  uint64_t records_put_ = 0;  // that are blobs
  bool copying_ = false;
  runtime::Condition kept_;  // written_, copying_ or owned_ has changed
  Instant next_copy_;
  std::unique_ptr<Watchers> watchers_;
  std::map<dispatch::ShareId, uint32_t> missed_;  // reports in a row without it, or with it as ready only
  std::set<dispatch::ShareId> beginning_;
  std::set<dispatch::ShareId> scaling_;
  std::set<dispatch::ShareId> dispatched_;  // offers that went out
  bool excess_told_ = false;
  resilience::Backpressure told_pressure_ = resilience::Backpressure::kNone;
  Instant over_since_;
  runtime::Cancellation* nap_ = nullptr;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::node
