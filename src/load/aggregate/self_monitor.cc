#include "load/aggregate/self_monitor.h"

#include <algorithm>

namespace bellwether::aggregate {
namespace {

// The part of a counter's growth in another's; empty when they did not grow, or began anew.
std::optional<double> part_of(uint64_t part_before, uint64_t part, uint64_t whole_before, uint64_t whole) {
  if (part < part_before || whole <= whole_before) return std::nullopt;
  return std::min(1.0, static_cast<double>(part - part_before) / static_cast<double>(whole - whole_before));
}

}  // namespace

void SelfMonitor::begin(Signal& signal, Saturation saturation, Duration now, Changes& out) {
  const auto last = std::find_if(findings_.rbegin(), findings_.rend(),
                                 [saturation](const Finding& finding) { return finding.saturation == saturation; });
  if (findings_.size() < kMaxFindings) {
    signal.open = findings_.size();
    signal.told = true;
    findings_.push_back({saturation, signal.begin, now, signal.worst, false});
    out.push_back(findings_.back());
  } else if (last != findings_.rend()) {
    signal.open = static_cast<std::size_t>(findings_.rend() - last) - 1;
    signal.told = false;
    last->over = false;
    last->end = now;
    last->worst = std::max(last->worst, signal.worst);
  }
}

void SelfMonitor::judge(Saturation saturation, Duration from, Duration now, double value, bool is_bad, int begins,
                        Changes& out) {
  Signal& signal = signals_[static_cast<std::size_t>(saturation)];
  if (!is_bad) {
    signal.bad = 0;
    if (++signal.good < kSaturationEnds || !signal.open) return;
    Finding& finding = findings_[*signal.open];
    signal.open.reset();
    finding.over = true;
    if (signal.told) out.push_back(finding);
    return;
  }
  signal.good = 0;
  if (++signal.bad == 1) {
    signal.begin = std::max(from, Duration::zero());
    signal.worst = value;
  }
  signal.worst = std::max(signal.worst, value);
  if (!signal.open) {
    if (signal.bad >= begins) begin(signal, saturation, now, out);
    return;
  }
  Finding& finding = findings_[*signal.open];
  finding.end = now;
  finding.worst = std::max(finding.worst, value);
}

void SelfMonitor::judge_machine(Duration now, const MachineReading& machine, Changes& out) {
  if (machine.descriptor_ratio) {
    const double ratio = *machine.descriptor_ratio;
    judge(Saturation::kDescriptors, read_at_, now, ratio, ratio >= kSaturationDescriptors, kSaturationBegins, out);
  }
  if (machine.memory_ratio) {
    const double ratio = *machine.memory_ratio;
    judge(Saturation::kMemory, read_at_, now, ratio, ratio >= kSaturationMemory, kSaturationBegins, out);
  }
  if (machine.quota && before_.quota) {
    const auto& [periods, throttled] = *before_.quota;
    if (const auto ratio = part_of(throttled, machine.quota->throttled, periods, machine.quota->periods)) {
      judge(Saturation::kThrottled, read_at_, now, *ratio, *ratio >= kSaturationThrottled, kSaturationBegins, out);
    }
  }
  if (machine.processors && before_.processors) {
    const MachineReading::Processors& was = *before_.processors;
    const MachineReading::Processors& is = *machine.processors;
    const auto of_wanted = part_of(was.stolen, is.stolen, was.wanted, is.wanted);
    const auto of_all = part_of(was.stolen, is.stolen, was.all, is.all);
    if (of_all) {
      const double ratio = of_wanted.value_or(0);
      const bool is_bad = ratio >= kSaturationStolen && *of_all >= kSaturationStolenOfAll;
      judge(Saturation::kStolen, read_at_, now, ratio, is_bad, kSaturationBegins, out);
    }
  }
  before_ = machine;
  read_at_ = now;
}

SelfMonitor::Changes SelfMonitor::second(Duration now, const LoadReading& load, const MachineReading* machine) {
  Changes out;
  const Duration from = now - load.covered;
  const bool stood_still = load.loop_lag_most >= kSaturationStandstill;
  const Duration lag = stood_still ? load.loop_lag_most : load.loop_lag_p99;
  judge(Saturation::kCpu, from, now, std::min(load.cpu_ratio, 1.0), load.cpu_ratio >= kSaturationCpu, kSaturationBegins,
        out);
  judge(Saturation::kLoopLag, std::min(from, now - lag), now, lag.seconds_f(), lag > kSaturationLag,
        stood_still ? 1 : kSaturationBegins, out);
  judge(Saturation::kExhausted, from, now, static_cast<double>(load.exhausted), load.exhausted > 0, 1, out);
  if (machine != nullptr) judge_machine(now, *machine, out);
  return out;
}

void SelfMonitor::end(Duration now) {
  for (Signal& signal : signals_) {
    if (signal.open) {
      findings_[*signal.open].end = std::min(findings_[*signal.open].end, now);
      findings_[*signal.open].over = true;
    }
    signal = {};
  }
}

}  // namespace bellwether::aggregate
