#include "node/local/self_watch.h"

#include "base/check.h"
#include "base/units.h"

namespace bellwether::node {
namespace {

// Seconds that were held up are told all at once; the machine is not asked for each of them. What happened in a part
// of a second alone is judged by no rate.
constexpr Duration kShortest = Duration::millis(500);

SelfWatch::News news_of(const aggregate::Finding& finding) {
  const std::string text = aggregate::text_of(finding);
  if (!finding.over) {
    return {"generator_strained",
            "the generator is a bottleneck: " + text + "; what helps: " + std::string(remedy(finding.strain))};
  }
  return {"generator_relieved", "the generator is no bottleneck any more: for " +
                                    format_duration(finding.end - finding.begin) + " " + text + ", at worst"};
}

}  // namespace

SelfWatch::SelfWatch(uint32_t threads) : threads_(threads) { check(threads > 0, "a generator has threads"); }

std::vector<SelfWatch::News> SelfWatch::second(Duration now, const metrics::Window& window, Duration covered) {
  aggregate::LoadReading load{.covered = covered};
  for (const metrics::StepWindow& step : window.steps) {
    load.exhausted += step.errors[static_cast<std::size_t>(metrics::ErrorKind::kExhausted)];
  }
  if (covered < kShortest && load.exhausted == 0) return {};
  if (covered >= kShortest) {
    load.cpu_share = window.cpu.seconds_f() / (covered.seconds_f() * threads_);
    load.loop_lag_p99 = window.loop_lag.percentile(99);
  }
  std::optional<aggregate::MachineReading> machine;
  if (!read_at_ || now - *read_at_ >= kShortest) {
    machine = machine_.read();
    read_at_ = now;
  }
  std::vector<News> out;
  for (const aggregate::Finding& finding : watch_.second(now, load, machine ? &*machine : nullptr)) {
    out.push_back(news_of(finding));
  }
  return out;
}

}  // namespace bellwether::node
