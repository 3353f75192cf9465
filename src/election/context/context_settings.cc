#include "election/context/context_settings.h"

#include <string>
#include <utility>

#include "core/base/units.h"

namespace bellwether::context_lead {
namespace {

using S = ContextSettings;

constexpr double kShortest = Duration::millis(1).seconds_f();
constexpr double kDay = Duration::hours(24).seconds_f();

constexpr ContextSetting kSettings[] = {
    {"enable_context_leadership", &S::enable_context_leadership},
    {"context_leadership_weight", &S::context_leadership_weight},
    {"require_context_capability", &S::require_context_capability},
    {"auto_start_generation", &S::auto_start_generation},
    {"generation_start_delay", &S::generation_start_delay, 0, kDay},
    {"generation_stop_timeout", &S::generation_stop_timeout, kShortest, kDay},
    {"context_failover_timeout", &S::context_failover_timeout, kShortest, kDay},
    {"state_transfer_timeout", &S::state_transfer_timeout, kShortest, kDay},
    {"validation_timeout", &S::validation_timeout, kShortest, kDay},
    {"require_state_validation", &S::require_state_validation},
    {"context_health_check_interval", &S::context_health_check_interval, kShortest, kDay},
    {"cluster_health_threshold", &S::cluster_health_threshold},
    {"leader_health_threshold", &S::leader_health_threshold},
    {"max_queue_transfer_size", &S::max_queue_transfer_size, 1, kMaxRequests},
    {"queue_drain_timeout", &S::queue_drain_timeout, kShortest, kDay},
    {"preserve_completed_jobs", &S::preserve_completed_jobs},
    {"coordination_timeout", &S::coordination_timeout, kShortest, kDay},
    {"max_coordination_retries", &S::max_coordination_retries, 0, 100},
    {"coordination_backoff", &S::coordination_backoff, kShortest, kDay},
};

Bounded bounded(const ContextSetting& setting, bool) { return {setting.name}; }
Bounded bounded(const ContextSetting& setting, Duration value) {
  return {setting.name, value.seconds_f(), setting.least, setting.most, "s"};
}
Bounded bounded(const ContextSetting& setting, double value) {
  return {setting.name, value, setting.least, setting.most};
}
Bounded bounded(const ContextSetting& setting, uint64_t value) { return bounded(setting, double(value)); }

// Refused unless `needed` fits into the time of a failover. `sum` shows how it comes about.
Status fits(const S& settings, std::string what, Duration needed, std::string sum = "") {
  if (needed <= settings.context_failover_timeout) return {};
  if (!sum.empty()) sum = fmt::format(" ({})", sum);
  return fail(Errc::kInvalid,
              "{} takes up to {}{}, which is longer than context_failover_timeout ({}): lengthen the timeout or "
              "shorten its parts",
              what, format_duration(needed), sum, format_duration(settings.context_failover_timeout));
}

// The steps of a take-over together, as far as they are used.
Status takeover_fits(const S& settings) {
  Duration needed = settings.state_transfer_timeout;
  std::string what = "state_transfer_timeout";
  std::string sum = format_duration(settings.state_transfer_timeout);
  const auto add = [&](bool applies, const char* name, Duration time) {
    if (!applies) return;
    needed += time;
    what += std::string(" + ") + name;
    sum += " + " + format_duration(time);
  };
  add(settings.require_state_validation, "validation_timeout", settings.validation_timeout);
  add(settings.auto_start_generation, "generation_start_delay", settings.generation_start_delay);
  return fits(settings, std::move(what), needed, std::move(sum));
}

Status coordination_fits(const S& settings) {
  const auto retries = static_cast<int64_t>(settings.max_coordination_retries);
  const Duration needed = settings.coordination_timeout * (retries + 1) + settings.coordination_backoff * retries;
  return fits(settings, "a failed coordination", needed,
              fmt::format("{} attempts x {} + {} x {} between them", retries + 1,
                          format_duration(settings.coordination_timeout), retries,
                          format_duration(settings.coordination_backoff)));
}

}  // namespace

std::span<const ContextSetting> context_settings() { return kSettings; }

Status ContextSettings::validate() const {
  for (const ContextSetting& one : kSettings) {
    const Bounded figure[] = {std::visit([&](auto member) { return bounded(one, this->*member); }, one.member)};
    BW_RETURN_IF_ERROR(within_bounds(figure));
  }
  BW_RETURN_IF_ERROR(weights.validate());
  BW_RETURN_IF_ERROR(fits(*this, "generation_stop_timeout", generation_stop_timeout));
  BW_RETURN_IF_ERROR(fits(*this, "queue_drain_timeout", queue_drain_timeout));
  BW_RETURN_IF_ERROR(takeover_fits(*this));
  BW_RETURN_IF_ERROR(coordination_fits(*this));
  return fits(*this, "state_transfer_timeout + the takeover by the target", state_transfer_timeout + kTakeOverTimeout,
              fmt::format("{} + {}", format_duration(state_transfer_timeout), format_duration(kTakeOverTimeout)));
}

Requirements ContextSettings::requirements_in_force() const {
  Requirements in_force = requirements;
  if (!require_context_capability) in_force.required.clear();
  return in_force;
}

}  // namespace bellwether::context_lead
