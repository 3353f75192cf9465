// One node of a cluster that leads contexts when it leads the cluster, at work: the kernel
// (election/context/duty_leader.h) with a register and blobs on a majority, connections, a context manager and the boot
// clock. It executes the kernel's effects in order, and answers clients. One thread, that of its runtime.
//
//   context_driver.cc    its life, the election, and the kernel's effects
//   context_answers.cc   questions and messages of other processes
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/net/leadership.h"
#include "cluster/net/peer_links.h"
#include "cluster/vote/vote_codec.h"
#include "core/base/callback.h"
#include "core/runtime/kernel_driver.h"
#include "core/runtime/scope.h"
#include "election/context/duty_leader.h"
#include "lead/context_driver/context_jobs.h"

namespace bellwether::cluster {

struct ContextDriverSettings {
  std::string self;
  std::vector<std::string> members;  // all names, this one's too
  context_lead::ContextSettings duties;
  Duration keep_results = Duration::minutes(10);  // after the end was reported, unless too many newer ones exist
};

class ContextDriver final : private Service {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    PeerLinks& links;
    MessageRouter& router;
    Addresses addresses;
    jobs::JobStore& store;
    blobs::Blobs& blobs;
    Leadership& leadership;
    // The health of each node of the cluster, 0 to 1; absent nodes are missing.
    Callback<std::map<std::string, double>()> node_healths;
    // Nothing when it is not measured.
    Callback<std::optional<ContextFitness>(const ContextWork& work)> fitness;
    // Called one after the other, from within the loop; must not call the driver. `event`: the subject, in one word.
    Callback<void(const std::string& event, const std::string& text, bool warning)> says;
    // Signs the messages between nodes; nullptr: the connection alone identifies the sender.
    const VoteSeal* seal = nullptr;
  };

  // All parts must outlive it, and the store must outlive its open handles. `seed` must differ between nodes and
  // starts. REQUIRES settings that validate, and names with different ids. Errors are those of JobStore::open().
  static Result<std::unique_ptr<ContextDriver>> make(const Parts& parts, ContextDriverSettings settings, uint64_t seed);
  ~ContextDriver() override;
  ContextDriver(const ContextDriver&) = delete;
  ContextDriver& operator=(const ContextDriver&) = delete;

  // kExists: a manager is registered. kInvalid: its name or slots.
  Status register_manager(std::unique_ptr<ContextManager> manager);

  // Does its duties until cancelled. When it returns, no job runs.
  runtime::task<void> run(runtime::Cancellation* cancel);
  // Stops running jobs, kills those that still run at `deadline` (monotonic clock), ends its term, and never leads
  // again.
  runtime::task<void> wind_up(Instant deadline);

  // The events of the election, as for its listener (cluster/net/leadership.h). work_stopped() of the leadership
  // follows each drain and each end of a term that wants it, when no job runs.
  void on_elected(const election::TermOfOffice& term);
  void on_renewed(Instant ends) { jobs_.set_term_end(ends); }
  void on_drain(const std::string& cause);
  void on_term_ended(const election::TermEnded& ended);
  void on_leader_changed(const std::string& leader, election::Term term);

  ContextView view() const;
  context_lead::DutyStatus status() const { return kernel_.leader.status(parts_.runtime.wall_now()); }
  bool leads() const { return kernel_.leader.is_leader(); }
  const ContextWork& work() const { return jobs_.work(); }
  uint64_t failovers() const { return failovers_; }
  Duration failover_time() const { return failover_time_; }
  // Refused messages: malformed, or from a process that may not send them.
  uint64_t refused() const { return refused_; }

 private:
  // The kernel, which wants the wall clock beside the other one.
  struct Kernel {
    runtime::Runtime& runtime;
    context_lead::DutyLeader leader;
    void step(Instant now, const context_lead::Event& event, context_lead::Effects& out) {
      leader.step({now, runtime.wall_now()}, event, out);
    }
    Instant wake() const { return leader.wake(); }
  };
  using Loop = runtime::KernelDriver<ContextDriver, Kernel, context_lead::Event, context_lead::Effects>;
  friend Loop;
  friend class ContextRegister;
  struct Hands;
  // A client that waits for an answer.
  struct Caller {
    link::Connection* connection;
    wire::RequestId id;
    std::string done;  // the answer on success
    std::string said;  // the text for people; empty: none
  };

  ContextDriver(const Parts& parts, ContextDriverSettings settings, uint64_t seed);

  // --- context_driver.cc
  template <class Effect>
  void carry_out(Effect& effect);
  void settled();
  void tell(context_lead::Event event);
  template <class Told>
  static runtime::task<void> tell_later(ContextDriver* self, runtime::task<Told> told);
  static runtime::task<void> run_job(ContextDriver* self, context_lead::RunJob wish);
  static runtime::task<void> drop_copies(ContextDriver* self, context_lead::RequestId id);
  static runtime::task<void> look_after_told(ContextDriver* self, runtime::Cancellation* cancel);
  void say(const char* event, const std::string& text, bool warning = false);
  void note_step(std::string text);
  std::string name_of(vote::NodeId node) const;
  std::optional<vote::NodeId> member(const std::string& name) const;
  std::string named(const std::string& text) const { return with_names(text, "node ", names_); }
  void broadcast(const ContextMessage& message);
  void send(const std::string& to, const ContextMessage& message);

  // --- context_answers.cc
  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  void on_closed(link::Connection& connection) override;
  void hear(vote::NodeId from, const std::string& sender, ContextMessage& message);
  Result<ContextMessage> read_message(const wire::Inbound& inbound, const std::string& sender) const;
  uint64_t ticket_of(Caller caller);
  void answer(const Caller& caller, const ContextAnswer& answer);
  void answer_ticket(uint64_t ticket, const Status& status);
  ContextRefused refusal(const Error& error) const;
  void on_outcome_question(const Caller& caller, context_lead::RequestId id);
  static runtime::task<void> answer_with_result(ContextDriver* self, uint64_t ticket, context_lead::RequestId id,
                                                OutcomeAnswer answer);

  Parts parts_;
  ContextDriverSettings settings_;
  Kernel kernel_;
  Loop loop_;
  std::map<vote::NodeId, std::string> names_;
  ContextRegister register_;
  ContextJobs jobs_;

  election::TermOfOffice term_;  // of this node; its end says when it is over
  uint64_t epoch_ = 0;           // of that, or of the last one
  bool owes_stop_ = false;       // the election waits for work_stopped()
  bool left_ = false;            // leads no more, even if elected

  std::map<uint64_t, Caller> callers_;
  uint64_t last_ticket_ = 0;

  std::vector<ContextView::Step> steps_;
  std::optional<ContextView::Failover> failover_;
  uint64_t failovers_ = 0;
  Duration failover_time_;  // of all these, together
  uint64_t refused_ = 0;
  runtime::Scope* scope_ = nullptr;
};

}  // namespace bellwether::cluster
