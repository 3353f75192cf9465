// The part of a node that leads contexts: how it is put together, what it knows of others, and its figures.
#include <algorithm>
#include <utility>

#include "cluster/context/command_manager.h"
#include "node/cluster/context_fitness.h"
#include "node/cluster/manager_role.h"
#include "node/cluster/node_impl.h"

namespace bellwether::node {

namespace {

constexpr double kWorstHealthScore = 8;

}  // namespace

Status ClusterNode::make_context(ManagerRole& role) {
  const cluster::ContextChoice& choice = config_.context;
  if (!choice.serves || election_ == nullptr) return {};
  if (resources_ == nullptr) resources_ = std::make_unique<cluster::ResourceMeter>(runtime_, config_.data);
  cluster::ContextDriverSettings settings;
  settings.self = config_.name;
  settings.members = config_.keepers;
  settings.duties = choice.settings;
  const cluster::ContextDriver::Parts parts{.runtime = runtime_,
                                            .links = *links_,
                                            .switchboard = parts_->switchboard,
                                            .addresses = *this,
                                            .store = role.store(),
                                            .copies = role.copies(),
                                            .leadership = *election_,
                                            .surroundings = *this,
                                            .listener = *this,
                                            .seal = parts_->vote_seal ? &*parts_->vote_seal : nullptr};
  auto made = cluster::ContextDriver::make(parts, std::move(settings), runtime_.prng().next());
  if (!made) return tl::unexpected(made.error());
  context_ = std::move(*made);
  if (choice.manager.empty()) {
    on_note(true, "without 'context.manager' this node makes no contexts: requests wait for a leader that has one");
    return {};
  }
  cluster::CommandManagerSettings command;
  command.command = choice.manager;
  command.node = config_.name;
  command.slots = choice.jobs;
  command.timeout = choice.job_timeout;
  command.grace = choice.job_grace;
  return context_->register_manager(std::make_unique<cluster::CommandManager>(runtime_, std::move(command)));
}

void ClusterNode::on_context_says(const std::string& event, const std::string& text, bool warning) {
  Journal::Fields fields;
  if (warning) fields.emplace_back("level", "warning");
  say(event, text, std::move(fields));
}

std::map<std::string, double> ClusterNode::node_healths() const {
  const auto share = [](int score) { return 1 - std::clamp(score / kWorstHealthScore, 0.0, 1.0); };
  std::map<std::string, double> out;
  for (const std::string& name : config_.keepers) {
    if (name == config_.name) {
      out[name] = share(health_score());
    } else if (membership_->state_of(name) == membership::MemberState::kAlive) {
      const auto said = states_.find(name);
      out[name] = said == states_.end() ? 1 : share(said->second.health_score);
    }
  }
  return out;
}

std::optional<cluster::ContextFitness> ClusterNode::fitness(const cluster::ContextWork& work) const {
  ContextFigures figures = machine_figures(resources_->size(), resources_->resources());
  figures.capabilities = config_.vote.capabilities;
  figures.uptime = runtime_.now() - started_;
  figures.work = work;
  return fitness_of(figures, config_.context.settings);
}

std::optional<double> ClusterNode::context_fitness() const {
  if (context_ == nullptr) return std::nullopt;
  const auto all = fitness(context_->work());
  return all ? std::optional(all->score) : std::nullopt;
}

std::vector<Figure> ClusterNode::context_figures() const {
  const context_lead::DutyMetrics metrics = context_->metrics();
  const auto one = [](std::string_view name, std::string_view type, std::string_view help, double value) {
    return Figure{name, type, help, {}, value};
  };
  std::vector<Figure> out{
      one("bellwether_context_leader", "gauge", "Whether this node leads contexts.", context_->leads() ? 1 : 0),
      one("bellwether_context_failovers_total", "counter", "Changes of who leads contexts that this node took part in.",
          static_cast<double>(context_->failovers())),
      one("bellwether_context_failover_seconds_total", "counter", "How long these took, together.",
          context_->failover_time().seconds_f()),
      one("bellwether_context_transfers_total", "counter", "Transfers to a named node that were begun here.",
          static_cast<double>(metrics.transfers)),
      one("bellwether_context_transfers_failed_total", "counter", "… and came to nothing.",
          static_cast<double>(metrics.transfers_failed)),
      one("bellwether_context_pauses_total", "counter", "Pauses for the health of the cluster.",
          static_cast<double>(metrics.pauses)),
      one("bellwether_context_jobs_total", "counter", "Attempts that ended here and counted.",
          static_cast<double>(metrics.jobs_ended)),
      one("bellwether_context_job_seconds_total", "counter", "How long these took, together.",
          metrics.job_time.seconds_f()),
      one("bellwether_context_job_seconds_max", "gauge", "The longest of these.", metrics.longest_job.seconds_f()),
      one("bellwether_context_completions_refused_total", "counter", "Ends of attempts that did not count.",
          static_cast<double>(metrics.completions_refused))};
  // Who does not lead knows nothing of the requests.
  if (!context_->leads()) return out;
  out.push_back(one("bellwether_context_queue_length", "gauge", "Requests that wait for their turn.",
                    static_cast<double>(metrics.queue_length)));
  out.push_back(
      one("bellwether_context_active", "gauge", "Requests at which a job runs.", static_cast<double>(metrics.active)));
  out.push_back(one("bellwether_context_completed", "gauge", "Requests that were completed, by all leaders.",
                    static_cast<double>(metrics.completed)));
  out.push_back(one("bellwether_context_failed", "gauge", "Requests that have failed, by all leaders.",
                    static_cast<double>(metrics.failed)));
  out.push_back(one("bellwether_context_oldest_waiting_seconds", "gauge", "Since when the oldest of those waits.",
                    metrics.oldest_waiting.seconds_f()));
  return out;
}

}  // namespace bellwether::node
