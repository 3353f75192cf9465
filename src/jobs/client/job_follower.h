// The requests of a client to the managers (JobClient), and a job's record and totals as a client follows them
// (JobFollower). One thread, that of the client's runtime.
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

// A manager that did not answer the last request to it.
struct SilentManager {
  std::string place;  // HOST:PORT
  std::string why;    // of the first such request
  Instant since;
};
// The silent managers and the remedy, as text. `all`: the number of managers in the settings. Empty: none is silent.
std::string text_of(std::span<const SilentManager> silent, std::size_t all, Instant now);

// Asks the managers of a cluster about jobs. Any manager answers, or names the one that can. If a manager is out of
// reach, the client asks the next, until the deadline. It begins with a manager that is not silent, if there is one.
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

  // Returns the first answer that is no temporary Refusal. kNotOwner, kNotLeader, kUnavailable and kBusy are temporary:
  // it retries them until the deadline, and `retry_until` is the latest begin of a retry. Errors:
  //   kNotFound, kExists, kRefused  a final Refusal: kUnknown, kConflict, any other
  //   kExhausted                    the deadline passed, and the last answer was temporary; names the silent managers
  //   those of the network          no manager could be reached
  runtime::task<Result<dispatch::Response>> ask(dispatch::JobMessage message, Instant deadline,
                                                runtime::Cancellation* cancel, Instant retry_until = Instant::never());
  // The name of the manager that answered last; empty: none has.
  const std::string& answered_by() const { return answered_by_; }
  // Await it before destruction.
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
  std::size_t next_ = 0;                              // the manager that the next request begins with
  std::string answered_by_;
  cluster::PeerLinks links_;
};

// The record of a job, and its totals: made of the same seconds in the same order as the owner's. A follower that is
// far behind gets the owner's totals instead.
class JobFollower {
 public:
  // Called within next(), when the totals have changed, and before record() does.
  struct Observer {
    // One more second, or with `amends` an addition to an earlier one. `covered`: the measured time.
    Callback<void(const metrics::Window& second, Duration covered, bool amends)> on_second;
    // The totals were replaced as a whole.
    Callback<void()> on_whole;
  };

  // `client` and `plan` must outlive it.
  JobFollower(JobClient& client, const plan::Plan& plan, std::string job, std::optional<Observer> observer = {})
      : client_(client), plan_(plan), job_(std::move(job)), observer_(observer), totals_(plan) {}

  // Waits for news for at most `wait`. True: something has changed. Errors and `retry_until` as of JobClient::ask().
  runtime::task<Result<bool>> next(Duration wait, Instant deadline, runtime::Cancellation* cancel,
                                   Instant retry_until = Instant::never());

  // Asks what is known of the job without a quorum, and takes it over if it is no less than the news so far, or final
  // after all. Errors of JobClient::ask(), and kProtocol.
  runtime::task<Status> fetch_unconfirmed(Instant deadline, runtime::Cancellation* cancel);

  // Changed live counters count as news too, at most once in `every` (at least dispatch::kMinLive).
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
// The same for a job whose end the client does not know. `why`: the reason, in words. Totals and record are the last
// known ones; the record may be empty.
report::Course unconfirmed_course(const dispatch::JobRecord& record, const aggregate::Totals& totals, std::string why);

}  // namespace bellwether::node
