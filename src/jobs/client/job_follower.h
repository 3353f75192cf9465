// Follows a job from a client: its record, and its totals, made of the same seconds in the same order as the owner's. A
// follower that is far behind gets the owner's totals. One thread, that of the client's runtime.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/net/node_config.h"
#include "cluster/net/peer_links.h"
#include "cluster/wire/keyring.h"
#include "core/base/callback.h"
#include "core/base/host_port.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/dispatch/messages.h"
#include "load/aggregate/totals.h"
#include "load/codec/totals_codec.h"
#include "load/report/run_report.h"

namespace bellwether::node {

// Asks the managers of a cluster about jobs: any of them answers. It goes on to the next manager if one is out of reach
// or refers to another, until the deadline. One thread, that of its runtime.

// A manager that did not answer the last request to it.
struct SilentManager {
  std::string place;  // HOST:PORT
  std::string why;    // of the first such request
  Instant since;
};
// Who they are, of `all` managers that the settings name, and what to do; empty: nobody is silent.
std::string text_of(std::span<const SilentManager> silent, std::size_t all, Instant now);

class JobClient final {
 public:
  struct Settings {
    std::vector<HostPort> managers;  // at least one
    std::string name;                // of this client among those of the cluster
    wire::Role role = wire::Role::kClient;
  };
  // Cluster, environment and certificates are those of the configuration. Sends nothing.
  static Result<std::unique_ptr<JobClient>> make(runtime::Runtime& runtime, const cluster::NodeConfig& config,
                                                 wire::Keyring keyring, Settings settings);

  // Returns an answer that is no temporary Refusal. It retries kNotOwner, kNotLeader, kUnavailable and kBusy until the
  // deadline, and then returns kExhausted. If no manager could be reached, it returns an error of the network,
  // never kNotFound, kExists or kRefused: these are Refusals that time does not change (kUnknown, kConflict, any
  // other). An error of time names the silent managers. `retry_until`: no attempt after a pause begins later.
  runtime::task<Result<dispatch::Response>> ask(dispatch::JobMessage message, Instant deadline,
                                                runtime::Cancellation* cancel, Instant retry_until = Instant::never());
  // The manager of the last answer; empty: none.
  const std::string& answered_by() const { return answered_by_; }
  // Before it is destroyed.
  runtime::task<void> close();

 private:
  JobClient(runtime::Runtime& runtime, link::DialSettings dialling, wire::Keyring keyring, Settings settings);

  runtime::Runtime& runtime_;
  Settings settings_;
  wire::Keyring keyring_;
  link::DialSettings dialling_;
  cluster::MessageRouter router_{cluster::MessageClasses(&message::message_of<dispatch::JobMessage>())};
  void unheard(std::size_t manager, const std::string& why);
  // `last`, with the silent managers.
  Error given_up(Error last, bool refused) const;

  link::RefusalWatch refusals_;
  std::vector<std::optional<SilentManager>> silent_;  // beside the managers of the settings
  std::size_t next_ = 0;                              // of the managers
  std::string answered_by_;
  cluster::PeerLinks links_;
};

class JobFollower {
 public:
  // Called within next(), before the record is the new one, after the totals have changed.
  struct Observer {
    // A further second, or (`amends`) an amendment of a former one.
    Callback<void(const metrics::Window& second, Duration covered, bool amends)> on_second;
    // New totals: they replace everything before.
    Callback<void()> on_whole;
  };

  // All must outlive it. `observer`: nothing if none.
  JobFollower(JobClient& client, const plan::Plan& plan, std::string job, std::optional<Observer> observer = {})
      : client_(client), plan_(plan), job_(std::move(job)), observer_(observer), totals_(plan) {}

  // Waits for news for at most `wait`. True: it has some. `retry_until`: as for JobClient::ask().
  runtime::task<Result<bool>> next(Duration wait, Instant deadline, runtime::Cancellation* cancel,
                                   Instant retry_until = Instant::never());

  // From now on changed counters are news too, this long apart (dispatch::kMinLive at least).
  void ask_for_live(Duration every) { live_every_ = every; }
  // The last counters of the assignments, and their time of receipt. For screens only.
  const dispatch::LiveSum& live() const { return live_; }

  const dispatch::JobRecord& record() const { return record_; }
  const aggregate::Totals& totals() const { return totals_; }
  uint32_t position() const { return position_; }  // in the queue; 0: it does not wait
  const std::string& owner() const { return owner_; }
  bool final() const { return final_; }

 private:
  Status take(const dispatch::Watched& watched);
  Status add(const dispatch::Watched& watched);

  JobClient& client_;
  const plan::Plan& plan_;
  std::string job_;
  std::optional<Observer> observer_;
  dispatch::JobRecord record_;
  aggregate::Totals totals_;
  std::string owner_;
  uint32_t position_ = 0;
  uint64_t life_ = 0;
  uint64_t seconds_ = 0;
  Duration live_every_;
  dispatch::LiveSum live_;
  bool final_ = false;
};

// The time that a workflow has run by its own clock, according to its assignments.
Duration ran_of(const dispatch::JobRecord& record, std::size_t workflow);
// The events of a job. Where some were left out, one of the kind "events_left_out" says how many.
std::vector<dispatch::JobEvent> events_of(const dispatch::JobRecord& record);
// The course of a job, for its report.
report::Course course_of(const dispatch::JobRecord& record);
// The course of a job whose end its client does not know, for these reasons. The totals and the record are the last
// known ones; the record may be empty.
report::Course unconfirmed_course(const dispatch::JobRecord& record, const aggregate::Totals& totals, std::string why);

}  // namespace bellwether::node
