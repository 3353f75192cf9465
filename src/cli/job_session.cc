#include "cli/job_session.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/run_screen.h"
#include "dispatch/codec/bundle_codec.h"
#include "node/cluster/secrets.h"
#include "runtime/scope.h"
#include "runtime/signals.h"
#include "store/environment.h"

namespace bellwether::cli {
namespace {

using runtime::task;

constexpr Duration kSubmitMost = Duration::seconds(20);
constexpr Duration kWatchWait = Duration::seconds(10);
constexpr Duration kCancelMost = Duration::seconds(10);
// Without a word of any manager for so long, a client stops watching; the job goes on.
constexpr Duration kSilenceMost = Duration::minutes(5);
constexpr int kExitAway = 1;

int complain(std::string_view verb, const std::string& text) {
  std::fprintf(stderr, "bellwether %.*s: %s\n", static_cast<int>(verb.size()), verb.data(), text.c_str());
  return kExitUsage;
}

std::string user_name(const ClusterOptions& options) {
  if (!options.by.empty()) return options.by;
  const char* user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread
  return user == nullptr || *user == '\0' ? "somebody" : user;
}

std::string hex_id(Prng& prng, const char* prefix) {
  char text[40];
  std::snprintf(text, sizeof text, "%s%016llx", prefix, static_cast<unsigned long long>(prng.next()));
  return text;
}

std::optional<std::vector<HostPort>> places_of(const std::string& text, std::string_view verb) {
  std::vector<HostPort> out;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const auto place = parse_host_port(text.substr(from, comma - from), cluster::kDefaultPort);
    if (!place) {
      complain(verb, "--managers '" + text + "': " + place.error().message + "; write HOST:PORT,HOST:PORT");
      return std::nullopt;
    }
    out.push_back(*place);
    from = comma + 1;
  }
  return out;
}

// What of a job is told to the person who watches it: its moves and its events, once each.
class Teller {
 public:
  explicit Teller(RunScreen& screen) : screen_(screen) {}

  void tell(const node::JobFollower& job, const plan::Plan& plan) {
    const dispatch::JobSheet& sheet = job.sheet();
    const Duration at = job.totals().elapsed();
    if (sheet.state != state_ || job.position() != position_) {
      state_ = sheet.state;
      position_ = job.position();
      std::string text = "job " + std::string(to_string(sheet.state));
      if (position_ > 0) text += ", " + std::to_string(position_) + ". in the queue";
      if (!sheet.why.empty()) text += ": " + sheet.why;
      screen_.tell(at, text);
      if (sheet.state == dispatch::JobState::kRunning) tell_workers(sheet, plan, at);
    }
    if (!job.owner().empty() && job.owner() != owner_) {
      const bool goes_on = !owner_.empty() && !dispatch::is_final(sheet.state);
      if (goes_on) screen_.tell(at, "manager '" + job.owner() + "' goes on with the job");
      owner_ = job.owner();
    }
    for (; events_ < sheet.events.size(); ++events_) {
      screen_.tell(sheet.events[events_].at, sheet.events[events_].kind + ": " + sheet.events[events_].detail);
    }
    const bool stopping = sheet.stop.has_value();
    screen_.set_state(stopping ? "stopping" : to_string(sheet.state));
  }

 private:
  void tell_workers(const dispatch::JobSheet& sheet, const plan::Plan& plan, Duration at) {
    for (std::size_t w = 0; w < sheet.workflows.size(); ++w) {
      std::string who;
      for (const dispatch::ShareSheet& share : sheet.shares) {
        if (share.workflow != w || !dispatch::is_live(share)) continue;
        who += (who.empty() ? "" : ", ") + share.worker + " (" + std::to_string(share.parts.count) + ")";
      }
      if (!who.empty()) screen_.tell(at, "'" + plan.workflows[w].name + "' on " + who);
    }
  }

  RunScreen& screen_;
  dispatch::JobState state_ = dispatch::JobState::kSubmitted;
  uint32_t position_ = 0;
  std::string owner_;
  std::size_t events_ = 0;
};

// What the watching of one job consists of.
struct Watching {
  JobSession& session;
  const plan::Plan& plan;
  std::string job;
  const FollowOptions& options;
  RunScreen& screen;
  Teller teller;
  node::JobFollower follower;
  runtime::Signals& signals;
  runtime::Scope scope;
  bool given_up = false;
  Error trouble;
};

task<void> send_cancel(Watching* watching, dispatch::StopHow how, std::string why) {
  dispatch::Cancel letter;
  letter.job = watching->job;
  letter.by = watching->session.by;
  letter.why = std::move(why);
  letter.how = how;
  runtime::Runtime& runtime = *watching->session.runtime;
  const auto answer = co_await watching->session.client->ask(letter, runtime.read_clock() + kCancelMost,
                                                             watching->scope.cancellation());
  if (!answer)
    std::fprintf(stderr, "the job could not be told to stop: %s\n", printable(answer.error().message).c_str());
}

task<void> obey_signals(Watching* watching) {
  for (int count = 1;; ++count) {
    const int signal = co_await watching->signals.next(watching->scope.cancellation());
    if (signal == 0) co_return;
    if (!watching->options.cancel_on_signal || count > 2) {
      std::fprintf(stderr, "\nNot watched any more; the job goes on: bellwether job watch %s\n", watching->job.c_str());
      watching->given_up = true;
      watching->scope.cancel();
      co_return;
    }
    const std::string why = signal == SIGINT ? "SIGINT (Ctrl-C)" : "SIGTERM";
    std::fprintf(stderr, count == 1 ? "\nStopping: iterations that run may finish. Once more ends at once.\n"
                                    : "\nEnding at once. Once more: leaves it alone.\n");
    const auto how = count == 1 ? dispatch::StopHow::kGraceful : dispatch::StopHow::kAtOnce;
    watching->scope.spawn(send_cancel(watching, how, why));
  }
}

task<void> follow(Watching* watching) {
  runtime::Runtime& runtime = *watching->session.runtime;
  watching->scope.spawn(obey_signals(watching));
  bool away = false;
  Instant heard = runtime.read_clock();
  while (!watching->follower.final() && !watching->given_up) {
    const Instant deadline = runtime.read_clock() + kWatchWait * 2;
    const auto news = co_await watching->follower.next(kWatchWait, deadline, watching->scope.cancellation());
    if (watching->given_up) break;
    if (!news) {
      const bool final = news.error().code == Errc::kRefused && runtime.read_clock() - heard < kWatchWait;
      if (final || runtime.read_clock() - heard > kSilenceMost) {
        watching->trouble = news.error();
        break;
      }
      if (!std::exchange(away, true)) {
        const bool asked = news.error().code == Errc::kExhausted;
        std::fprintf(stderr, "%s (%s); the workers go on\n",
                     asked ? "no manager has the job at the moment" : "no manager answers",
                     printable(news.error().message).c_str());
      }
      continue;
    }
    heard = runtime.read_clock();
    if (std::exchange(away, false)) std::fprintf(stderr, "the managers answer again\n");
    watching->teller.tell(watching->follower, watching->plan);
    watching->screen.second_over(watching->follower.totals());
  }
  watching->scope.cancel();
  co_await watching->scope.join();
}

}  // namespace

void add_cluster_options(CLI::App* command, ClusterOptions& options) {
  command
      ->add_option("-m,--managers", options.managers,
                   "Managers of the cluster; any of them will do (usual: the seeds of the settings)")
      ->type_name("HOST:PORT,...");
  command
      ->add_option("--cluster-config", options.settings.file,
                   "The cluster's name, secret and certificates (`bellwether cluster up` writes one)")
      ->type_name("FILE");
  command->add_option("--by", options.by, "Who asks, for the audit log (usual: $USER)");
}

std::optional<JobSession> open_job_session(const ClusterOptions& options, std::string_view verb) {
  auto read = read_node_settings(options.settings, {"role=worker", "name=client", "voters=", "data=", "cores=0"});
  if (!read.config) return std::nullopt;
  JobSession session;
  node::JobClient::Settings settings;
  if (options.managers.empty()) {
    settings.managers = read.config->seeds;
  } else {
    const auto places = places_of(options.managers, verb);
    if (!places) return std::nullopt;
    settings.managers = *places;
  }
  auto keyring = node::read_secrets(*read.config, &store::own_environment);
  if (!keyring) {
    complain(verb, keyring.error().message);
    return std::nullopt;
  }
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) {
    complain(verb, runtime.error().message);
    return std::nullopt;
  }
  session.runtime = std::move(*runtime);
  session.by = user_name(options);
  settings.name = hex_id(session.runtime->prng(), "client-");
  auto client = node::JobClient::make(*session.runtime, *read.config, std::move(*keyring), std::move(settings));
  if (!client) {
    complain(verb, client.error().message);
    return std::nullopt;
  }
  session.client = std::move(*client);
  return session;
}

Result<dispatch::Response> JobSession::ask(const dispatch::Letter& letter, Duration patience) {
  return runtime->run(client->ask(letter, runtime->read_clock() + patience, nullptr));
}

void JobSession::close() {
  runtime->run([](node::JobClient* ended) -> task<int> {
    co_await ended->close();
    co_return 0;
  }(client.get()));
}

std::optional<std::string> submit_job(JobSession& session, const plan::Bundled& bundled, uint64_t seed,
                                      const std::string& id, std::string_view verb) {
  auto bytes = dispatch::encode_bundle(bundled.bundle);
  if (!bytes) {
    complain(verb, bytes.error().message);
    return std::nullopt;
  }
  dispatch::Submit letter;
  letter.job = id.empty() ? hex_id(session.runtime->prng(), "") : id;
  letter.by = session.by;
  letter.bundle = std::move(*bytes);
  letter.seed = seed != 0 ? seed : session.runtime->prng().next();
  const auto answer = session.ask(letter, kSubmitMost);
  if (!answer) {
    const bool perhaps = answer.error().code == Errc::kExhausted || answer.error().code == Errc::kTimeout ||
                         answer.error().code == Errc::kReset;
    complain(verb, (perhaps ? "job " + letter.job + " was not confirmed, and may be taken all the same (`job status`): "
                            : "the job was not taken: ") +
                       printable(answer.error().message));
    return std::nullopt;
  }
  return letter.job;
}

int follow_job(JobSession& session, const plan::Plan& plan, const std::string& job, const FollowOptions& options) {
  auto signals = runtime::Signals::collect(*session.runtime, {SIGINT, SIGTERM});
  if (!signals) return complain(options.verb, signals.error().message);
  RunScreen screen(options.progress, plan);
  Watching watching{session,
                    plan,
                    job,
                    options,
                    screen,
                    Teller(screen),
                    node::JobFollower(*session.client, plan, job),
                    **signals,
                    runtime::Scope(),
                    false,
                    {}};
  session.runtime->run(follow(&watching));
  if (watching.given_up) return kExitAway;
  if (!watching.follower.final()) {
    complain(options.verb, printable(watching.trouble.message) + "; job '" + job + "' is not watched any more");
    return kExitAway;
  }
  const report::RunReport report =
      report::conclude(watching.follower.totals(), node::course_of(watching.follower.sheet()));
  return deliver(report, options.json_files, options.verb);
}

int run_on_cluster(const plan::Bundled& bundled, const ClusterOptions& cluster, uint64_t seed, FollowOptions options) {
  if (auto can = can_deliver(options.json_files); !can) return complain(options.verb, can.error().message);
  auto session = open_job_session(cluster, options.verb);
  if (!session) return kExitUsage;
  const auto job = submit_job(*session, bundled, seed, {}, options.verb);
  int exit_code = kExitAway;
  if (job) {
    if (options.progress)
      std::fprintf(stderr, "job %s, given to %s\n", job->c_str(), session->client->answered_by().c_str());
    exit_code = follow_job(*session, bundled.plan, *job, options);
  }
  session->close();
  return exit_code;
}

}  // namespace bellwether::cli
