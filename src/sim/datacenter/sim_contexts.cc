#include "sim/datacenter/sim_contexts.h"

#include <utility>

#include "cluster/net/message_classes.h"
#include "cluster/node/node_election.h"
#include "core/base/probe.h"
#include "lead/context_driver/context_codec.h"

namespace bellwether::sim {

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
