#include "lead/roles/context_fitness.h"

#include <algorithm>

namespace bellwether::node {
namespace {

uint64_t share_of(uint64_t all, double used) {
  return static_cast<uint64_t>(static_cast<double>(all) * (1 - std::clamp(used, 0.0, 1.0)));
}

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
  claim.available_cpu = std::min(figures.available_cpu, kMostCores);
  claim.available_memory = std::min(figures.available_memory, kMostBytes);
  claim.available_storage = std::min(figures.available_storage, kMostBytes);
  claim.network_bandwidth = std::min(figures.network_bandwidth.value_or(0), kMostBitsPerSecond);
  claim.successful_operations = std::min(figures.work.done, kMostOperations);
  claim.failed_operations = std::min(figures.work.failed, kMostOperations);
  Requirements required = settings.requirements_in_force();
  required.min_uptime_share = 0;
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

}  // namespace bellwether::node
