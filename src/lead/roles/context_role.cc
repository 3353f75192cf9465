#include "lead/roles/context_role.h"

#include <algorithm>
#include <utility>

#include "cluster/node/cluster_node.h"
#include "cluster/node/node_election.h"

namespace bellwether::node {
namespace {

uint64_t share_of(uint64_t all, double used) {
  return static_cast<uint64_t>(static_cast<double>(all) * (1 - std::clamp(used, 0.0, 1.0)));
}

using runtime::task;

constexpr double kWorstHealthScore = 8;
constexpr Duration kMaxWindUp = Duration::seconds(5);

}  // namespace

ContextFigures machine_figures(const cluster::MachineSize& size, const vote::Resources& resources) {
  ContextFigures out;
  out.resources = resources;
  out.available_cpu = size.cores * (1 - std::clamp(resources.cpu_used, 0.0, 1.0));
  out.available_memory = share_of(size.memory, resources.memory_used);
  out.available_storage = size.disk_free;
  out.network_bandwidth = size.network_bandwidth;
  return out;
}

cluster::ContextFitness fitness_of(const ContextFigures& figures, const context_lead::ContextSettings& settings) {
  using namespace context_lead;  // NOLINT(google-build-using-namespace): the words of the kernel are this one's subject
  ContextClaim claim;
  claim.base.capabilities = figures.capabilities;
  claim.base.uptime = claim.base.experience = std::min(figures.uptime, vote::kLongestExperience);
  claim.base.resources = figures.resources;
  claim.available_cpu = std::min(figures.available_cpu, kMaxCores);
  claim.available_memory = std::min(figures.available_memory, kMaxBytes);
  claim.available_storage = std::min(figures.available_storage, kMaxBytes);
  claim.network_bandwidth = std::min(figures.network_bandwidth.value_or(0), kMaxBitsPerSecond);
  claim.successful_operations = std::min(figures.work.done, kMaxOperations);
  claim.failed_operations = std::min(figures.work.failed, kMaxOperations);
  Requirements required = settings.requirements_in_force();
  required.min_uptime_ratio = 0;
  if (!figures.network_bandwidth) required.min_network_bandwidth = 0;
  if (claim.operations() == 0) {
    required.min_generation_quality = required.min_reliability = 0;
  } else {
    claim.generation_quality = claim.accuracy = claim.reliability =
        static_cast<double>(claim.successful_operations) / static_cast<double>(claim.operations());
    claim.average_response_time =
        std::min(figures.work.time / static_cast<int64_t>(claim.operations()), kLongestResponseTime);
    claim.processing_speed = response_time_score(claim.average_response_time);
  }
  const auto score = score_of(claim, settings.weights, required);
  if (!score) return {0, {score.error().message}, {}};
  return {score->score(), score->disqualified, score->lacks_preferred};
}

// --- its life --------------------------------------------------------------------------------------------------------

task<Status> ContextRole::prepare(const NodeTools& tools) {
  const cluster::NodeConfig& config = tools.options.config;
  tools_.emplace(tools);
  started_ = tools.runtime.now();
  cluster::Leadership* leadership = tools.election.leadership();
  if (leadership == nullptr) co_return Status();
  cluster::ContextDriverSettings settings;
  settings.self = config.name;
  settings.members = config.replicas;
  settings.duties = config.context.settings;
  const std::optional<cluster::VoteSeal>& seal = tools.supplies.vote_seal;
  const cluster::ContextDriver::Parts parts{.runtime = tools.runtime,
                                            .links = tools.port.links(),
                                            .router = tools.port.router(),
                                            .addresses = callback_to<&NodeMembers::find>(tools.members),
                                            .store = *stores_->registers,
                                            .blobs = *stores_->blobs,
                                            .leadership = *leadership,
                                            .node_healths = callback_to<&ContextRole::node_healths>(*this),
                                            .fitness = callback_to<&ContextRole::fitness>(*this),
                                            .says = callback_to<&ContextRole::on_context_says>(*this),
                                            .seal = seal ? &*seal : nullptr};
  BW_CO_TRY(driver_, cluster::ContextDriver::make(parts, std::move(settings), tools.runtime.prng().next()));
  if (maker_ != nullptr) co_return driver_->register_manager(std::move(maker_));
  tools.log.note(
      true, "without 'context.manager' this node does not generate contexts: requests wait for a leader that has one");
  co_return Status();
}

task<void> ContextRole::run(runtime::Cancellation* cancel) {
  if (driver_ != nullptr) co_await driver_->run(cancel);
}

task<void> ContextRole::wind_up(Instant deadline, runtime::Cancellation*) {
  if (driver_ == nullptr) co_return;
  co_await driver_->wind_up(std::min(deadline, tools_->runtime.read_clock() + kMaxWindUp));
}

// --- events of the election ------------------------------------------------------------------------------------------

void ContextRole::on_renewed(Instant ends, Duration) {
  if (driver_ != nullptr) driver_->on_renewed(ends);
}

void ContextRole::on_leader_changed(const std::string& leader, election::Term term, const std::string&) {
  if (driver_ != nullptr) driver_->on_leader_changed(leader, term);
}

// --- its knowledge of its cluster ------------------------------------------------------------------------------------

std::map<std::string, double> ContextRole::node_healths() const {
  const auto share = [](int score) { return 1 - std::clamp(score / kWorstHealthScore, 0.0, 1.0); };
  const NodeMembers& members = tools_->members;
  const cluster::NodeConfig& config = tools_->options.config;
  std::map<std::string, double> out;
  for (const std::string& name : config.replicas) {
    if (name == config.name) {
      out[name] = share(members.kernel().health_score());
    } else if (members.state_of(name) == membership::MemberState::kAlive) {
      const PeerState* said = members.said_by(name);
      out[name] = said == nullptr ? 1 : share(said->health_score);
    }
  }
  return out;
}

std::optional<cluster::ContextFitness> ContextRole::fitness(const cluster::ContextWork& work) const {
  const cluster::NodeConfig& config = tools_->options.config;
  const cluster::ResourceSource& resources = *tools_->supplies.resources;
  ContextFigures figures = machine_figures(resources.size(), resources.resources());
  figures.capabilities = config.vote.capabilities;
  figures.uptime = tools_->runtime.now() - started_;
  figures.work = work;
  return fitness_of(figures, config.context.settings);
}

std::optional<double> ContextRole::context_fitness() const {
  if (driver_ == nullptr) return std::nullopt;
  const auto all = fitness(driver_->work());
  return all ? std::optional(all->score) : std::nullopt;
}

// --- reports ---------------------------------------------------------------------------------------------------------

void ContextRole::on_context_says(const std::string& event, const std::string& text, bool warning) {
  Journal::Fields fields;
  if (warning) fields.emplace_back("level", "warning");
  tools_->log.say(event, text, std::move(fields));
}

std::vector<Figure> ContextRole::figures() const {
  if (driver_ == nullptr) return {};
  const context_lead::DutyStatus metrics = driver_->status();
  const auto one = [](std::string_view name, std::string_view type, std::string_view help, double value) {
    return Figure{name, type, help, {}, value};
  };
  std::vector<Figure> out{
      one("bellwether_context_leader", "gauge", "1 while this node leads contexts.", driver_->leads() ? 1 : 0),
      one("bellwether_context_failovers_total", "counter",
          "Changes of the context leader in which this node took part.", static_cast<double>(driver_->failovers())),
      one("bellwether_context_failover_seconds_total", "counter", "Total seconds of these changes.",
          driver_->failover_time().seconds_f()),
      one("bellwether_context_transfers_total", "counter", "Transfers to a named node that this node started.",
          static_cast<double>(metrics.transfers)),
      one("bellwether_context_transfers_failed_total", "counter",
          "Transfers to a named node that this node started and that failed.",
          static_cast<double>(metrics.transfers_failed)),
      one("bellwether_context_pauses_total", "counter",
          "Pauses of the generation because of the health of the cluster.", static_cast<double>(metrics.pauses)),
      one("bellwether_context_jobs_total", "counter", "Attempts that ended on this node and counted.",
          static_cast<double>(metrics.jobs_ended)),
      one("bellwether_context_job_seconds_total", "counter", "Total seconds of these attempts.",
          metrics.job_time.seconds_f()),
      one("bellwether_context_job_seconds_max", "gauge", "Seconds of the longest attempt that counted.",
          metrics.longest_job.seconds_f()),
      one("bellwether_context_completions_refused_total", "counter", "Attempts whose end did not count.",
          static_cast<double>(metrics.completions_refused))};
  // A node that does not lead has no requests.
  if (!driver_->leads()) return out;
  out.push_back(
      one("bellwether_context_queue_length", "gauge", "Requests in the queue.", static_cast<double>(metrics.queued)));
  out.push_back(
      one("bellwether_context_active", "gauge", "Requests with a running job.", static_cast<double>(metrics.active)));
  out.push_back(one("bellwether_context_completed", "gauge", "Requests that all leaders have completed.",
                    static_cast<double>(metrics.completed)));
  out.push_back(one("bellwether_context_failed", "gauge", "Requests that failed under all leaders.",
                    static_cast<double>(metrics.failed)));
  out.push_back(one("bellwether_context_oldest_waiting_seconds", "gauge",
                    "Seconds that the oldest queued request has waited.", metrics.oldest_waiting.seconds_f()));
  return out;
}

}  // namespace bellwether::node
