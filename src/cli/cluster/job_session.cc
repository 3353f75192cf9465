#include "cli/cluster/job_session.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "cli/cluster/cluster_format.h"
#include "cli/verb.h"
#include "core/base/check.h"
#include "core/base/encoding.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"
#include "jobs/client/client_following.h"

namespace bellwether::cli {
namespace {

using client::detail::Inside;
using runtime::task;

constexpr int kExitAway = 1;
constexpr int kCoresUnknown = 1;  // of a run that has not ended

int complain(std::string_view verb, const std::string& text, int code = kExitUsage) {
  return refuse(verb, printable(text), code);
}

// The output about a job for the person who watches it, on the client's thread.
class Watcher final : public client::Listener {
 public:
  // `windows`: the receiver of live windows; nullptr: none. It outlives the watcher.
  explicit Watcher(Ui ui, std::FILE* windows = nullptr) : screen_(ui), windows_(windows) {}
  // Before the job is followed: records its events too. Outlives the following.
  void record(results::Recorder& recorder, std::string cluster) {
    recorder_ = &recorder;
    cluster_ = {std::move(cluster), ""};
    recorder.cluster(cluster_);
  }
  client::detail::TotalsListener totals_listener() {
    return {callback_to<&Watcher::on_totals>(*this), callback_to<&Watcher::on_second>(*this),
            callback_to<&Watcher::on_whole>(*this)};
  }
  // For further lines, and for the code that draws it.
  RunScreen& screen() { return screen_; }
  // Sets `ended` on this runtime's thread after the last event. Both outlive the job's following.
  void tell_the_end(runtime::EpollRuntime& runtime, runtime::Event& ended) {
    runtime_ = &runtime;
    ended_ = &ended;
  }

 private:
  void on_totals(const aggregate::Totals& totals) {
    at_ = totals.elapsed();
    screen_.second_over(totals);
  }

  void on_second(const metrics::Window& second, Duration covered, bool amends) {
    if (recorder_ == nullptr) return;
    if (amends) {
      recorder_->amend(second);
    } else {
      recorder_->second(second, covered);
    }
  }
  void on_whole(const aggregate::Totals& totals) {
    if (recorder_ != nullptr) recorder_->whole(totals);
  }

  void on_status(const client::Status& status) override {
    note_workers(status);
    if (status.state != state_ || status.queue_position != position_ || status.why != why_) {
      why_ = status.why;
      state_ = status.state;
      position_ = status.queue_position;
      std::string text = "job " + std::string(to_string(status.state));
      if (position_ > 0) text += fmt::format(", {}. in the queue", position_);
      if (!status.why.empty()) text += ": " + status.why;
      screen_.tell(at_, text);
      if (status.state == client::JobState::kRunning) tell_workers(status);
    }
    if (!status.manager.empty() && status.manager != manager_) {
      const bool goes_on = !manager_.empty() && !has_ended(status.state);
      if (goes_on) screen_.tell(at_, fmt::format("manager '{}' continues the job", status.manager));
      manager_ = status.manager;
    }
    screen_.place(placement_of(status));
    screen_.set_state(status.stopping ? "stopping" : to_string(status.state));
  }

  void on_event(const client::Event& event) override {
    screen_.tell(Duration::nanos(event.at.count()), fmt::format("{}: {}", event.kind, event.detail));
  }

  bool wants_live() const override { return windows_ != nullptr; }
  void on_live(const client::LiveNews& news) override {
    std::fputs(json_lines_of(news).c_str(), windows_);
    std::fflush(windows_);
  }

  void on_contact(bool answers, const client::Error& why) override {
    screen_.set_state(answers ? to_string(state_) : "no quorum");
    if (answers) {
      screen_.say("the managers answer again");
      return;
    }
    const std::string who =
        why.code == client::Code::kUnavailable ? "no manager has the job at the moment" : "no manager answers";
    screen_.say(fmt::format("{}: {}; the workers continue until their isolation_limit", who, printable(why.message)));
  }

  void on_not_cancelled(const client::Error& why) override {
    screen_.say("the job could not be stopped: " + printable(why.message));
  }

  void on_result(const client::Result& /*result*/) override { end(); }
  void on_given_up(const client::Error& /*why*/) override { end(); }

  void note_workers(const client::Status& status) {
    if (recorder_ == nullptr) return;
    std::set<std::string> names;
    for (const client::AssignmentStatus& assignment : status.assignments) names.insert(assignment.worker);
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    if (std::exchange(cluster_.workers, text) != text) recorder_->cluster(cluster_);
  }

  void tell_workers(const client::Status& status) {
    for (const std::string& line : placement_of(status)) screen_.tell(at_, line);
  }

  static std::vector<std::string> placement_of(const client::Status& status) {
    std::vector<std::string> lines;
    for (std::size_t w = 0; w < status.workflows.size(); ++w) {
      const std::string who = workers_of(status, w);
      if (!who.empty()) lines.push_back(printable(fmt::format("'{}' on {}", status.workflows[w].name, who)));
    }
    return lines;
  }

  void end() {
    const bool posted = runtime_->post([](void* event) { static_cast<runtime::Event*>(event)->set(); }, ended_);
    check(posted, "nobody else posts to it");
  }

  RunScreen screen_;
  std::FILE* windows_;
  results::Recorder* recorder_ = nullptr;
  results::Cluster cluster_;
  runtime::EpollRuntime* runtime_ = nullptr;
  runtime::Event* ended_ = nullptr;
  Duration at_;
  client::JobState state_ = client::JobState::kSubmitted;
  uint32_t position_ = 0;
  std::string why_;
  std::string manager_;
};

// The parts of the watching of one job, on the main thread.
class Watching final : public console::Controls {
 public:
  Watching(const FollowOptions& options, RunScreen& screen) : options_(options), screen_(screen) {}

  bool can_pause() const override { return false; }
  bool paused() const override { return false; }
  void pause() override {}
  void resume() override {}
  const char* stop_question() const override {
    if (leaves()) return "Stop watching? The job continues.";
    return asked_ == 0 ? "Stop the job? Running iterations may finish." : "End the job at once?";
  }

  void stop(const std::string& why) override {
    const std::string before = screen_.ui() == Ui::kFull ? "" : "\n";
    if (leaves()) {
      left_ = true;
      ended.set();
      return;
    }
    ++asked_;
    screen_.say(before + (asked_ == 1 ? "Stopping: running iterations may finish. Stop again to end at once."
                                      : "Ending at once. Stop again to leave the job."));
    client::Cancellation cancellation;
    cancellation.why = why;
    cancellation.graceful = asked_ == 1;
    job->ask_to_cancel(cancellation);
  }
  bool left() const { return left_; }

  runtime::Event ended;
  client::Job* job = nullptr;

 private:
  bool leaves() const { return !options_.cancel_on_signal || asked_ >= 2; }

  const FollowOptions& options_;
  RunScreen& screen_;
  int asked_ = 0;
  bool left_ = false;
};

task<void> watch_to_the_end(Attendance* attendance, Watching* watching, RunScreen* screen) {
  runtime::Scope scope;
  attendance->begin(scope, screen->board(), *watching);
  co_await watching->ended.wait();
  scope.cancel();
  co_await scope.join();
}

// How a job that is followed is kept.
struct Keeping {
  std::string cluster;
  results::Recorder::Entry entry = results::Recorder::Entry::kNew;
};

// Follows a job whose listener is `watcher`.
int see_through(client::Job given, Watcher& watcher, const Keeping& keeping, const FollowOptions& options) {
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) return complain(options.verb, runtime.error().message);
  auto attendance = Attendance::open(**runtime, options.ui);
  if (!attendance) return complain(options.verb, attendance.error().message);
  Watching watching(options, watcher.screen());
  watcher.tell_the_end(**runtime, watching.ended);
  std::optional<results::Recorder> recorder;
  if (!options.store.empty()) {
    recorder.emplace(options.store, given.id(), Inside::plan(given), (*runtime)->wall_now(), kCoresUnknown,
                     keeping.entry);
    watcher.record(*recorder, keeping.cluster);
  }
  client::Job job = std::move(given);  // ends before the objects that its listener uses
  watching.job = &job;
  Inside::follow(job);
  (*runtime)->run(watch_to_the_end(attendance->get(), &watching, &watcher.screen()));
  const std::string option = options.cluster.empty() ? "" : " --cluster " + shell_word(options.cluster);
  const std::string named = printable(job.id() + option);
  if (watching.left()) {
    std::fprintf(stderr, "\nStopped watching; the job continues: bellwether job watch %s\n", named.c_str());
    return kExitAway;
  }
  const auto result = job.wait();
  if (result) {
    const int exit_code = deliver(Inside::report(job), options.outs, options.verb);
    if (recorder) keep(*recorder, Inside::report(job));
    if (!result->confirmed) {
      std::fprintf(stderr, "The result is unconfirmed. When most managers run again: bellwether job results %s\n",
                   named.c_str());
    }
    return exit_code;
  }
  return complain(options.verb, fmt::format("{}; job '{}' is not watched any more", result.error().message, job.id()),
                  kExitAway);
}

}  // namespace

tl::expected<std::unique_ptr<client::Client>, int> open_client(const ClusterOptions& options, std::string_view verb) {
  const auto asked = cluster_to_ask(options.cluster);
  if (!asked) return tl::unexpected(complain(verb, asked.error().message, exit_code_of_unasked(asked.error())));
  client::Options how;
  if (!options.node.empty()) how.managers = {options.node};
  how.settings_file = asked->settings;
  how.by = options.by;
  if (options.quorum_wait) how.quorum_wait = std::chrono::milliseconds(*options.quorum_wait / Duration::millis(1));
  auto client = client::Client::connect(how);
  if (client) return std::move(*client);
  for (const client::Diagnostic& one : client.error().diagnostics) std::fprintf(stderr, "%s\n", one.text.c_str());
  if (client.error().diagnostics.empty()) complain(verb, client.error().message);
  return tl::unexpected(kExitUsage);
}

int watch_job(client::Client& client, const std::string& job, const FollowOptions& options) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> windows(nullptr, &std::fclose);
  if (!options.windows_file.empty()) {
    windows.reset(std::fopen(options.windows_file.c_str(), "we"));
    if (!windows) {
      return complain(options.verb, fmt::format("--windows '{}': {}; name a file that can be written",
                                                options.windows_file, std::strerror(errno)));
    }
  }
  Watcher watcher(options.ui, windows.get());
  auto attached = Inside::attach(client, job, &watcher, watcher.totals_listener());
  if (attached) {
    watcher.screen().begin("job " + attached->id());
    const Keeping keeping{Inside::cluster(client), results::Recorder::Entry::kUnfinished};
    return see_through(std::move(*attached), watcher, keeping, options);
  }
  return complain(options.verb, attached.error().message, kExitAway);
}

void complete(const client::Client& client, const client::Job& job, const std::string& store) {
  if (store.empty()) return;
  const report::RunReport& report = Inside::report(job);
  results::Recorder recorder(store, job.id(), Inside::plan(job), report.started_at, kCoresUnknown,
                             results::Recorder::Entry::kUnfinished);
  std::string workers;
  for (const report::Worker& one : report.workers) workers += (workers.empty() ? "" : " ") + one.name;
  recorder.cluster({Inside::cluster(client), workers});
  recorder.whole(*report.totals);
  keep(recorder, report);
}

int run_on_cluster(const plan::Bundled& bundled, const ClusterOptions& cluster, uint64_t seed,
                   const FollowOptions& options) {
  if (auto can = can_deliver(options.outs); !can) return complain(options.verb, can.error().message);
  const auto opened = open_client(cluster, options.verb);
  if (!opened) return opened.error();
  client::Client& client = **opened;
  Watcher watcher(options.ui);
  auto told = std::chrono::steady_clock::now();
  const auto on_upload = [&](const std::string& path, uint64_t have, uint64_t size) {
    const auto now = std::chrono::steady_clock::now();
    if (options.ui == Ui::kNone || now - told < std::chrono::seconds(1)) return;
    told = now;
    std::fprintf(stderr, "uploading data file '%s': %d %%\n", printable(path).c_str(),
                 static_cast<int>(static_cast<double>(have) / static_cast<double>(size) * 100));
  };
  auto job = Inside::submit(client, bundled, {.id = {}, .seed = seed}, &watcher, watcher.totals_listener(), on_upload);
  if (!job) return complain(options.verb, job.error().message, kExitAway);
  if (options.ui != Ui::kNone)
    std::fprintf(stderr, "job %s, submitted to %s\n", job->id().c_str(), client.answered_by().c_str());
  watcher.screen().begin(bundled.plan, "job " + job->id());
  return see_through(std::move(*job), watcher, {Inside::cluster(client)}, options);
}

}  // namespace bellwether::cli
