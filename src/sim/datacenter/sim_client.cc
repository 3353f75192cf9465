#include "sim/datacenter/sim_client.h"

#include <optional>
#include <utility>
#include <vector>

#include "cluster/net/message_classes.h"
#include "cluster/node/node_election.h"
#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/runtime/scope.h"
#include "jobs/client/job_follower.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "lead/context_driver/context_codec.h"
#include "load/aggregate/totals.h"
#include "load/codec/totals_codec.h"
#include "load/plan/load.h"
#include "sim/datacenter/datacenter_place.h"

namespace bellwether::sim {
namespace {

class Nothing final : public scenario::Outside {
 public:
  std::optional<std::string> env(const std::string&) const override { return std::nullopt; }
  Result<std::string> read_file(const std::string&, uint64_t) const override {
    return fail(Errc::kNotFound, "simulated machines have no files");
  }
};

std::string steps_of(Prng& prng, bool measured) {
  std::string text = "    steps:\n";
  if (!measured) return text + "      note: {action: {set: {at: \"${now}\"}}}\n";
  const auto steps = prng.between(1, 3);
  for (int64_t i = 0; i < steps; ++i) {
    text += fmt::format("      s{}: {{http: {{get: \"http://127.0.0.1:1/\"}}, check: {{status: 200}}}}\n", i);
  }
  return text;
}

// Of dependent workflows: the workflow that each depends on, with a value of it, or none.
using Dependencies = std::vector<std::optional<int64_t>>;

std::string dependencies_of(const Dependencies& dependencies, int64_t number) {
  std::string text;
  if (const auto on = dependencies[static_cast<std::size_t>(number)]) {
    const std::string name = fmt::format("w{}", *on);
    text += fmt::format("    depends: {}\n    use: {{{}: [v]}}\n", name, name);
  }
  std::string provides;
  for (std::size_t i = 0; i < dependencies.size(); ++i) {
    if (dependencies[i] == number)
      provides += fmt::format("{}{}: {{v: x}}", provides.empty() ? "" : ", ", fmt::format("w{}", i));
  }
  return provides.empty() ? text : fmt::format("{}    provide: {{{}}}\n", text, provides);
}

std::string workflow(Prng& prng, const Dependencies& dependencies, int64_t number, int64_t most_vus) {
  std::string text = fmt::format("  w{}:\n{}", number, dependencies_of(dependencies, number));
  const std::string duration = fmt::format("{}s", prng.between(3, 25));
  const std::string graceful = fmt::format("{}s", prng.between(0, 3));
  switch (prng.below(8)) {
    case 0: return text + steps_of(prng, false);
    case 1:
    case 2:
    case 3:
      text +=
          fmt::format("    executor: constant-arrival-rate\n    rate: {}/s\n    vus: {{preallocated: 2, max: {}}}\n",
                      prng.between(1, 900), prng.between(2, most_vus + 20));
      if (prng.chance(0.5)) text += "    rebalance: true\n";
      break;
    case 4: {
      const bool each = prng.chance(0.5);
      const int64_t vus = prng.between(1, most_vus);
      const int64_t iterations = each ? prng.between(1, 60) : prng.between(vus, 60 * vus);
      return fmt::format(
          "{}    executor: {}-iterations\n    vus: {}\n    iterations: {}\n    max_duration: 10m\n    graceful_stop: "
          "{}\n{}",
          text, each ? "per-vu" : "shared", vus, iterations, graceful, steps_of(prng, true));
    }
    default: text += fmt::format("    vus: {}\n", prng.between(1, most_vus));
  }
  text += fmt::format("    duration: {}\n    graceful_stop: {}\n", duration, graceful);
  if (prng.chance(0.2)) text += fmt::format("    start_time: {}s\n", prng.between(1, 4));
  if (prng.chance(0.1)) text += fmt::format("    timeout: {}s\n", prng.between(2, 25));
  return text + steps_of(prng, true);
}

std::unique_ptr<JobStory> make_job(uint64_t number, std::string text) {
  scenario::Sources sources;
  sources.file_name = "job.yaml";
  sources.text = std::move(text);
  const Nothing nothing;
  sources.outside = &nothing;
  auto made = plan::bundle_scenario(sources);
  if (!made) check(false, scenario::format(made.error().front()).c_str());
  auto bytes = dispatch::encode_bundle(made->bundle);
  check(bytes.has_value(), "the bundle of a drawn scenario is small");
  auto job = std::make_unique<JobStory>();
  job->id = fmt::format("job-{}", number);
  job->number = number;
  job->bundle = std::move(*bytes);
  job->plan = std::make_unique<plan::Plan>(std::move(made->plan));
  job->spec = dispatch::spec_of(*job->plan);
  job->shape = aggregate::shape_of(*job->plan);
  return job;
}

}  // namespace

std::unique_ptr<JobStory> draw_steady_job(Prng& prng, int64_t most_vus) {
  return make_job(0,
                  fmt::format("name: steady\nworkflows:\n  w0:\n    executor: constant-arrival-rate\n    rate: 300/s\n"
                              "    vus: {{preallocated: 2, max: {}}}\n    duration: 30s\n{}",
                              prng.between(most_vus / 4, most_vus), steps_of(prng, true)));
}

std::unique_ptr<JobStory> draw_job(Prng& prng, uint64_t number, int64_t most_vus) {
  std::string text = fmt::format("name: job-{}\nworkflows:\n", number);
  const auto workflows = prng.chance(0.6) ? 1 : prng.between(2, 4);
  Dependencies dependencies(static_cast<std::size_t>(workflows));
  for (int64_t i = 1; i < workflows; ++i) {
    if (prng.chance(0.6)) dependencies[static_cast<std::size_t>(i)] = prng.between(0, i - 1);
  }
  for (int64_t i = 0; i < workflows; ++i) text += workflow(prng, dependencies, i, most_vus);
  if (prng.chance(0.2)) text += "teardown:\n  steps:\n    note: {action: {set: {at: \"${now}\"}}}\n";
  if (prng.chance(0.1)) {
    text += "thresholds:\n  http_req_failed: [{threshold: \"rate<0.05\", abortOnFail: true}]\n";
  }
  return make_job(number, std::move(text));
}

using runtime::task;

namespace {

constexpr Duration kMaxAsk = Duration::seconds(20);
constexpr Duration kWatchFor = Duration::seconds(5);
constexpr Duration kAgain = Duration::millis(500);

class SimClient {
 public:
  SimClient(runtime::Runtime& runtime, DatacenterPlace& place) : runtime_(runtime), place_(place) {
    node::JobClient::Settings settings;
    settings.managers = place.stage->managers;
    settings.name = place.name;
    auto made = node::JobClient::make(runtime, config_of_nodes(), keyring_of_nodes(), std::move(settings));
    check(made.has_value(), "a client needs nothing but names");
    client_ = std::move(*made);
  }

  task<void> run() {
    ++place_.starts;
    for (const auto& job : place_.stage->jobs) {
      if (!job->followed) scope_.spawn(see_through(this, job.get()));
    }
    co_await scope_.join();
    co_await client_->close();
  }

 private:
  void say(const JobStory& job, const std::string& text) { place_.say(fmt::format("job '{}': {}", job.id, text)); }

  static task<void> see_through(SimClient* self, JobStory* job) {
    co_await self->runtime_.sleep(job->submit_after);
    while (!job->acknowledged && job->refused.empty()) co_await self->submit(job);
    if (!job->acknowledged) co_return;
    if (job->cancel_after && !job->cancelled) self->scope_.spawn(cancel(self, job));
    while (!job->followed) co_await self->follow(job);
  }

  task<void> submit(JobStory* job) {
    dispatch::Submit message;
    message.job = job->id;
    message.by = place_.name;
    message.bundle = job->bundle;
    message.seed = (job->number << 48U) + 1;
    const auto taken = co_await client_->ask(message, runtime_.read_clock() + kMaxAsk, nullptr);
    if (taken) {
      job->acknowledged = true;
      say(*job, "is acknowledged by " + client_->answered_by());
      co_return;
    }
    say(*job, "is not accepted: " + taken.error().message);
    if (taken.error().code == Errc::kRefused) job->refused = taken.error().message;
    if (taken.error().code == Errc::kExists) {
      BW_PROBE("client: a job is submitted under another id");
      job->id += "-again";  // a client that is started again goes on with it
    }
    co_await runtime_.sleep(kAgain);
  }

  static task<void> cancel(SimClient* self, JobStory* job) {
    co_await self->runtime_.sleep(*job->cancel_after);
    while (!job->followed && !job->cancelled) {
      dispatch::Cancel message;
      message.job = job->id;
      message.by = self->place_.name;
      message.how = job->cancel_how;
      message.workflows = job->cancel_only;
      const auto answer = co_await self->client_->ask(message, self->runtime_.read_clock() + kMaxAsk, nullptr);
      if (answer) {
        self->say(*job, "is cancelled");
        job->cancelled = true;
        co_return;
      }
      self->say(*job, "is not cancelled: " + answer.error().message);
      co_await self->runtime_.sleep(kAgain);
    }
  }

  task<void> follow(JobStory* job) {
    node::JobFollower follower(*client_, *job->plan, job->id);
    while (!follower.final()) {
      const auto news = co_await follower.next(kWatchFor, runtime_.read_clock() + kMaxAsk, nullptr);
      if (!news) {
        say(*job, "cannot be followed: " + news.error().message);
        co_await runtime_.sleep(kAgain);
        co_return;
      }
      job->record = follower.record();
    }
    auto totals = ingest::encode_totals(follower.totals().save());
    check(totals.has_value(), "what was decoded can be encoded");
    job->totals = std::move(*totals);
    job->followed = true;
    say(*job, fmt::format("is {}, as '{}' says", to_string(follower.record().state), follower.owner()));
  }

  runtime::Runtime& runtime_;
  DatacenterPlace& place_;
  std::unique_ptr<node::JobClient> client_;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace

task<void> run_client_process(runtime::Runtime& runtime, void* context) {
  SimClient client(runtime, *static_cast<DatacenterPlace*>(context));
  co_await client.run();
}

using runtime::task;

namespace {

constexpr Duration kContextsEvery = Duration::seconds(1);
constexpr Duration kMaxContext = Duration::seconds(5);
constexpr Duration kContextLook = Duration::millis(20);
constexpr Duration kLongestJob = Duration::seconds(5);
constexpr Duration kLongAgo = Duration::hours(3);

class AbleMachine final : public cluster::ResourceSource {
 public:
  vote::Resources resources() const override { return {0.1, 0.1, 0.1, 1}; }
  cluster::MachineSize size() const override {
    return {.cores = 16, .memory = 64'000'000'000, .disk_free = 1'000'000'000'000, .network_bandwidth = 10'000'000'000};
  }
};

std::string context_of(const std::string& payload) { return "made of " + payload; }

// The leader's report on a request.
void hear(ContextStory& story, const cluster::ContextAnswer& answer, DatacenterStage& stage) {
  using State = cluster::OutcomeAnswer::State;
  if (const auto* refused = std::get_if<cluster::ContextRefused>(&answer)) {
    story.trouble = refused->why;
    return;
  }
  const auto* outcome = std::get_if<cluster::OutcomeAnswer>(&answer);
  const bool was_accepted = std::exchange(story.accepted, true);
  if (outcome == nullptr) return;
  story.trouble = std::string(to_string(outcome->state));
  if (outcome->state == State::kUnknown && was_accepted) {
    stage.violation = "an acknowledged request for a context is no longer known";
  }
  if (outcome->state == State::kFailed) stage.violation = "a request for a context has failed: " + outcome->reason;
  if (outcome->state != State::kCompleted) return;
  BW_PROBE("datacenter: a context is made");
  story.made = true;
  if (!outcome->result_gone && outcome->result != context_of(story.payload)) {
    stage.violation = fmt::format("the context of '{}' is '{}'", story.payload, outcome->result);
  }
}

}  // namespace

cluster::ContextChoice context_settings_of_nodes() {
  cluster::ContextChoice choice;
  choice.serves = true;
  context_lead::ContextSettings& settings = choice.settings;
  settings.require_context_capability = false;
  settings.requirements.min_successful_operations = 0;
  settings.generation_start_delay = Duration::millis(100);
  settings.generation_stop_timeout = Duration::seconds(3);
  settings.queue_drain_timeout = Duration::seconds(10);
  settings.coordination_backoff = Duration::millis(200);
  settings.context_health_check_interval = Duration::seconds(1);
  settings.cluster_health_threshold = 0.6;
  return choice;
}

std::unique_ptr<cluster::ResourceSource> able_machine() { return std::make_unique<AbleMachine>(); }

ContextMaker::ContextMaker(runtime::Runtime& runtime, DatacenterPlace& place) : runtime_(runtime), place_(place) {
  place_.maker = this;
}

ContextMaker::~ContextMaker() { place_.maker = nullptr; }

task<cluster::ContextJobEnd> ContextMaker::run(cluster::ContextJob job, runtime::Cancellation* stop,
                                               runtime::Cancellation* kill) {
  using End = context_lead::JobEnded::End;
  const bool makes_on = place_.stage->is("makes-on");
  ++running_;
  const Instant done = runtime_.now() + runtime_.prng().between(kContextLook, kLongestJob);
  bool ends = false;
  while (runtime_.now() < done && !ends) {
    co_await runtime_.sleep(kContextLook, makes_on ? nullptr : kill);
    ends = !makes_on && (stop->cancelled() || kill->cancelled() || runtime_.boot_now() >= term_end_);
  }
  --running_;
  if (ends) co_return cluster::ContextJobEnd{End::kCancelled, {}, {}};
  co_return cluster::ContextJobEnd{End::kDone, {}, context_of(job.request.payload)};
}

task<void> ask_for_contexts(const node::NodeTools& tools, DatacenterStage& stage, runtime::Cancellation* cancel) {
  bool due = true;
  while (due) {
    due = co_await tools.runtime.sleep(kContextsEvery, cancel);
    for (std::size_t i = 0; due && i < stage.contexts.size(); ++i) {
      ContextStory& story = stage.contexts[i];
      const auto leader = tools.members.find(tools.election.leader());
      if (story.made || !leader) continue;
      // Wall clocks are set by up to an hour, and a request from the future is refused.
      if (!story.submitted_at) story.submitted_at = WallTime{tools.runtime.wall_now().unix_ns - kLongAgo.ns()};
      const context_lead::RequestId id{1, i + 1};
      cluster::ContextQuestion question = cluster::AskOutcome{id};
      if (!story.accepted) question = context_lead::Request{id, 0, *story.submitted_at, story.payload};
      const auto bytes =
          co_await tools.port.links().request(*leader, cluster::message_type::kContext, wire::Priority::kNormal,
                                              message::encode(question), kMaxContext, cancel);
      if (!bytes) {
        story.trouble = bytes.error().message;
        continue;
      }
      const auto answer = message::decode<cluster::ContextAnswer>(*bytes);
      if (answer) hear(story, *answer, stage);
    }
  }
}

}  // namespace bellwether::sim
