// Load tests on a cluster from C++: submits a scenario, reports each second, waits for the result, finds a job again
// after a restart, stops it, and lists the cluster.
//
//   bellwether::client::Options options;
//   options.managers = {"10.0.0.1", "10.0.0.2"};
//   options.cluster = "flock";
//   options.secret_file = "/etc/bellwether/secret";
//   auto client = bellwether::client::Client::connect(options);
//   if (!client) die(client.error().message);
//   bellwether::client::Scenario scenario;
//   scenario.file = "shop.yaml";
//   auto job = (*client)->submit(scenario, {}, &listener);
//   if (!job) die(job.error().message);
//   auto result = job->wait();
//   if (result) std::puts(result->verdict.c_str());
//
// Threads. A client owns one thread. That thread talks to the managers and calls the listeners: one call at a time over
// all jobs of the client, in the order of the events. A callback must be short: during a callback the rest of the
// client stands still. The managers keep what the client misses meanwhile, and the client catches up. Any thread may
// call any function. In a callback, functions that wait for an answer return kInCallback; each function says what a
// callback may do. The client catches and counts what a callback throws.
//
// Errors are values (Outcome). Only an Outcome throws, when its caller asks for what it does not hold. Strings and
// lists are copies that the caller owns.
//
// A manager that dies or changes is no error: the client asks the next one, and follows the same jobs from the same
// second.
//
// Cost: usually one connection to one manager, and for each followed job one question that waits at the manager. A
// followed second costs a few kilobytes on the wire and a walk over the histograms of its steps. The client holds the
// totals of a run in memory, some hundreds of kilobytes for each step. An idle client costs a thread that sleeps.
//
// Needs only the standard library; link the library bw_node_client.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bellwether/client_types.h"

namespace bellwether::client {

// --- listening -------------------------------------------------------------------------------------------------------

// Called on the client's thread (see above). A followed job reports each event once. After a change of managers it
// repeats no second, except as a Window::kWhole.
class Listener {
 public:
  virtual ~Listener() = default;
  // Something of it has changed: state, place in the queue, manager, workers, an event, a loss.
  virtual void on_status(const Status& /*status*/) {}
  virtual void on_event(const Event& /*event*/) {}
  // A loss that has grown is reported again, with the same begin.
  virtual void on_loss(const Loss& /*loss*/) {}
  virtual void on_window(const Window& /*window*/) {}
  // Whether on_live() is wanted, asked once. It costs up to twenty questions a second.
  virtual bool wants_live() const { return false; }
  // For screens: closed windows of a tenth of a second, shortly after they close; at most 20 calls a second, and 5 at
  // once. One call covers all changes since the previous call. Never after the calls that end a job.
  virtual void on_live(const LiveNews& /*news*/) {}
  // As soon as it has ended and all of it is counted; each workflow once.
  virtual void on_workflow(const WorkflowResult& /*result*/) {}
  // False: no manager answers, or none has the job, for ten seconds, and again each minute; the error names the silent
  // managers. True: one does again.
  virtual void on_contact(bool /*answers*/, const Error& /*why*/) {}
  // The request of Job::ask_to_cancel() was not recorded.
  virtual void on_not_cancelled(const Error& /*why*/) {}
  // One of these two is the last call of a job, unless its Job was released before.
  virtual void on_result(const Result& /*result*/) {}
  virtual void on_given_up(const Error& /*why*/) {}
};

// --- doing -----------------------------------------------------------------------------------------------------------

namespace detail {
class Engine;
class Following;
struct Inside;
}  // namespace detail

// A job of the cluster, as one client follows it. Letting go of it leaves the job alone.
class Job {
 public:
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  // After it no callback runs; in a callback of this client: none except the current one.
  ~Job();

  const std::string& id() const;
  // How it stands, asked now.
  Outcome<Status> status();
  // All that was measured up to now, with each step and the past seconds; asked now. It may be some megabytes.
  Outcome<History> history();
  // Waits for its end.
  Outcome<Result> wait();
  Outcome<Result> wait_for(std::chrono::milliseconds most);
  // Of a job that has ended; kUnavailable while it has not.
  Outcome<Result> result();
  // When this is well, it is recorded by a quorum that the job is to end.
  Outcome<Done> cancel(const Cancellation& cancellation);
  // Gives `vus` virtual users to a workflow with the executor externally-controlled; with no name, to the only such
  // one. On success a quorum has recorded it.
  Outcome<Done> scale(const std::string& workflow, uint32_t vus);
  // The same as cancel() without waiting, for callbacks too. If no manager records it, the client calls
  // Listener::on_not_cancelled().
  void ask_to_cancel(const Cancellation& cancellation);
  uint64_t failed_callbacks() const;  // how many have thrown; for callbacks too

 private:
  friend class Client;
  friend struct detail::Inside;
  Job(std::shared_ptr<detail::Engine> engine, std::shared_ptr<detail::Following> following);
  std::shared_ptr<detail::Engine> engine_;
  std::shared_ptr<detail::Following> following_;
};

class Client {
 public:
  // Contacts no manager yet: kInvalid for unusable options.
  static Outcome<std::unique_ptr<Client>> connect(const Options& options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  // Other calls of this object have returned before. Calls that wait on a Job return kClosed, now and later. After it
  // no callback runs; in a callback: none except the current one.
  ~Client();

  // Gives a scenario to the cluster; on success a quorum has it. A listener must outlive the Job, or its following; it
  // may be called before this returns. Without one, the client follows the job only once a caller waits for it.
  Outcome<Job> submit(const Scenario& scenario, const Submission& submission = {}, Listener* listener = nullptr);
  // Back to a job that was submitted before, by whomever.
  Outcome<Job> attach(const std::string& job, Listener* listener = nullptr);

  Outcome<Status> status(const std::string& job);
  Outcome<Done> cancel(const std::string& job, const Cancellation& cancellation);
  Outcome<Done> scale(const std::string& job, const std::string& workflow, uint32_t vus);
  Outcome<JobList> jobs();
  Outcome<std::vector<Worker>> workers();
  // As the manager that answers sees them. Any manager serves any worker of its cluster: a datacenter is judged by all
  // managers and by its own workers.
  Outcome<std::vector<Datacenter>> datacenters();
  // The manager that answered last, HOST:PORT; empty: none has. For callbacks too.
  std::string answered_by() const;

 private:
  friend struct detail::Inside;
  explicit Client(std::shared_ptr<detail::Engine> engine);
  std::shared_ptr<detail::Engine> engine_;
};

}  // namespace bellwether::client
