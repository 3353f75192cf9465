#include "cli/job_session.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/job_words.h"
#include "cli/run_screen.h"
#include "node/client/client_inside.h"
#include "runtime/event.h"
#include "runtime/scope.h"
#include "runtime/signals.h"

namespace bellwether::cli {
namespace {

using client::detail::Inside;
using runtime::task;

constexpr int kExitAway = 1;

int complain(std::string_view verb, const std::string& text) {
  std::fprintf(stderr, "bellwether %.*s: %s\n", static_cast<int>(verb.size()), verb.data(), printable(text).c_str());
  return kExitUsage;
}

// What of a job is told to the person who watches it, on the client's thread.
class Watcher final : public client::Listener, public client::detail::TotalsListener {
 public:
  // `windows`: where live windows go; nullptr: nowhere. It outlives the watcher.
  explicit Watcher(bool progress, std::FILE* windows = nullptr) : screen_(progress), windows_(windows) {}
  // `ended` is set on this runtime's thread when there is nothing more to come. Both outlive the job's following.
  void tell_the_end(runtime::EpollRuntime& runtime, runtime::Event& ended) {
    runtime_ = &runtime;
    ended_ = &ended;
  }

 private:
  void on_totals(const aggregate::Totals& totals) override {
    at_ = totals.elapsed();
    screen_.second_over(totals);
  }

  void on_status(const client::Status& status) override {
    if (status.state != state_ || status.queue_position != position_ || status.why != why_) {
      why_ = status.why;
      state_ = status.state;
      position_ = status.queue_position;
      std::string text = "job " + std::string(to_string(status.state));
      if (position_ > 0) text += ", " + std::to_string(position_) + ". in the queue";
      if (!status.why.empty()) text += ": " + status.why;
      screen_.tell(at_, text);
      if (status.state == client::JobState::kRunning) tell_workers(status);
    }
    if (!status.manager.empty() && status.manager != manager_) {
      const bool goes_on = !manager_.empty() && !has_ended(status.state);
      if (goes_on) screen_.tell(at_, "manager '" + status.manager + "' goes on with the job");
      manager_ = status.manager;
    }
    screen_.set_state(status.stopping ? "stopping" : to_string(status.state));
  }

  void on_event(const client::Event& event) override {
    screen_.tell(Duration::nanos(event.at.count()), event.kind + ": " + event.detail);
  }

  bool wants_live() const override { return windows_ != nullptr; }
  void on_live(const client::LiveNews& news) override {
    std::fputs(json_lines_of(news).c_str(), windows_);
    std::fflush(windows_);
  }

  void on_contact(bool answers, const client::Error& why) override {
    if (answers) {
      std::fputs("the managers answer again\n", stderr);
      return;
    }
    const bool asked = why.code == client::Code::kUnavailable;
    std::fprintf(stderr, "%s (%s); the workers go on\n",
                 asked ? "no manager has the job at the moment" : "no manager answers", printable(why.message).c_str());
  }

  void on_not_cancelled(const client::Error& why) override {
    std::fprintf(stderr, "the job could not be told to stop: %s\n", printable(why.message).c_str());
  }

  void on_result(const client::Result& /*result*/) override { end(); }
  void on_given_up(const client::Error& /*why*/) override { end(); }

  void tell_workers(const client::Status& status) {
    for (std::size_t w = 0; w < status.workflows.size(); ++w) {
      const std::string who = workers_of(status, w);
      if (!who.empty()) screen_.tell(at_, "'" + status.workflows[w].name + "' on " + who);
    }
  }

  void end() {
    const bool posted = runtime_->post([](void* event) { static_cast<runtime::Event*>(event)->set(); }, ended_);
    check(posted, "nobody else posts to it");
  }

  RunScreen screen_;
  std::FILE* windows_;
  runtime::EpollRuntime* runtime_ = nullptr;
  runtime::Event* ended_ = nullptr;
  Duration at_;
  client::JobState state_ = client::JobState::kSubmitted;
  uint32_t position_ = 0;
  std::string why_;
  std::string manager_;
};

// What the watching of one job consists of, on the main thread.
struct Watching {
  const FollowOptions& options;
  runtime::Signals& signals;
  runtime::Event ended;
  bool left = false;
  client::Job* job = nullptr;
};

task<void> obey_signals(Watching* watching, runtime::Cancellation* cancel) {
  for (int count = 1;; ++count) {
    const int signal = co_await watching->signals.next(cancel);
    if (signal == 0) co_return;
    if (!watching->options.cancel_on_signal || count > 2) {
      std::fprintf(stderr, "\nNot watched any more; the job goes on: bellwether job watch %s\n",
                   watching->job->id().c_str());
      watching->left = true;
      watching->ended.set();
      co_return;
    }
    std::fprintf(stderr, count == 1 ? "\nStopping: iterations that run may finish. Once more ends at once.\n"
                                    : "\nEnding at once. Once more: leaves it alone.\n");
    client::Cancellation cancellation;
    cancellation.why = signal == SIGINT ? "SIGINT (Ctrl-C)" : "SIGTERM";
    cancellation.graceful = count == 1;
    watching->job->ask_to_cancel(cancellation);
  }
}

task<void> watch_to_the_end(Watching* watching) {
  runtime::Scope scope;
  scope.spawn(obey_signals(watching, scope.cancellation()));
  co_await watching->ended.wait();
  scope.cancel();
  co_await scope.join();
}

// Follows a job whose listener is `watcher`.
int see_through(client::Job given, Watcher& watcher, const FollowOptions& options) {
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) return complain(options.verb, runtime.error().message);
  auto signals = runtime::Signals::collect(**runtime, {SIGINT, SIGTERM});
  if (!signals) return complain(options.verb, signals.error().message);
  Watching watching{options, **signals, {}, false, nullptr};
  watcher.tell_the_end(**runtime, watching.ended);
  client::Job job = std::move(given);  // ends before what its listener uses
  watching.job = &job;
  Inside::follow(job);
  (*runtime)->run(watch_to_the_end(&watching));
  if (watching.left) return kExitAway;
  const auto result = job.wait();
  if (result) return deliver(Inside::report(job), options.outs, options.verb);
  complain(options.verb, result.error().message + "; job '" + job.id() + "' is not watched any more");
  return kExitAway;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    out.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return out;
}

}  // namespace

void add_cluster_options(CLI::App* command, ClusterOptions& options) {
  command
      ->add_option("-m,--managers", options.managers,
                   "Managers of the cluster; any of them will do (usual: the seeds of the settings)")
      ->type_name("HOST:PORT,...");
  command
      ->add_option("--cluster-config", options.file,
                   "The cluster's name, secret and certificates (`bellwether cluster up` writes one)")
      ->type_name("FILE");
  command->add_option("--by", options.by, "Who asks, for the audit log (usual: $USER)");
}

std::unique_ptr<client::Client> open_client(const ClusterOptions& options, std::string_view verb) {
  client::Options how;
  if (!options.managers.empty()) how.managers = parts_of(options.managers);
  how.settings_file = options.file;
  how.by = options.by;
  auto client = client::Client::connect(how);
  if (client) return std::move(*client);
  for (const client::Diagnostic& one : client.error().diagnostics) std::fprintf(stderr, "%s\n", one.text.c_str());
  if (client.error().diagnostics.empty()) complain(verb, client.error().message);
  return nullptr;
}

int watch_job(client::Client& client, const std::string& job, const FollowOptions& options) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> windows(nullptr, &std::fclose);
  if (!options.windows_file.empty()) {
    windows.reset(std::fopen(options.windows_file.c_str(), "we"));
    if (!windows) {
      return complain(options.verb, "--windows '" + options.windows_file + "': " + std::strerror(errno) +
                                        "; name a file that can be written");
    }
  }
  Watcher watcher(options.progress, windows.get());
  auto attached = Inside::attach(client, job, &watcher, &watcher);
  if (attached) return see_through(std::move(*attached), watcher, options);
  complain(options.verb, attached.error().message);
  return kExitAway;
}

int run_on_cluster(const plan::Bundled& bundled, const ClusterOptions& cluster, uint64_t seed,
                   const FollowOptions& options) {
  if (auto can = can_deliver(options.outs); !can) return complain(options.verb, can.error().message);
  const auto client = open_client(cluster, options.verb);
  if (!client) return kExitUsage;
  Watcher watcher(options.progress);
  auto job = Inside::submit(*client, bundled, {.id = {}, .seed = seed}, &watcher, &watcher);
  if (!job) {
    complain(options.verb, job.error().message);
    return kExitAway;
  }
  if (options.progress) std::fprintf(stderr, "job %s, given to %s\n", job->id().c_str(), client->answered_by().c_str());
  return see_through(std::move(*job), watcher, options);
}

}  // namespace bellwether::cli
