#include "sim/datacenter/loss_report.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/base/units.h"
#include "sim/datacenter/datacenter_stage.h"

namespace bellwether::sim {
namespace {

using dispatch::AssignmentRecord;

constexpr Duration kSampleEvery = Duration::millis(100);
constexpr std::size_t kNoPart = ~std::size_t{0};

// A loss of one part. The report names the worker that had it, or nobody.
struct LossOfPart {
  const plan::Loss* loss;
  std::size_t part = kNoPart;  // that it is taken for
};

std::vector<LossOfPart> losses_of(const JobStory& job, uint16_t workflow) {
  const std::string whose = fmt::format(", workflow '{}'", job.spec[workflow].name);
  std::vector<LossOfPart> all;
  for (const plan::Loss& loss : job.record.losses) {
    if (!std::string_view(loss.cause).ends_with(whose)) continue;
    const auto parts = std::lround(loss.ratio * job.record.workflows[workflow].parts);
    for (long i = 0; i < parts; ++i) all.push_back({&loss});
  }
  return all;
}

bool names_its_worker(const JobStory& job, const plan::Loss& loss, uint16_t workflow, uint32_t part) {
  constexpr std::string_view kWorker = "worker '";
  std::string_view who = loss.cause;
  if (!who.starts_with(kWorker)) return true;
  who.remove_prefix(kWorker.size());
  who = who.substr(0, who.find('\''));
  return std::any_of(job.record.assignments.begin(), job.record.assignments.end(), [&](const AssignmentRecord& one) {
    return one.streams && one.workflow == workflow && one.worker == who && part >= one.parts.first &&
           part < one.parts.first + one.parts.count && Duration::seconds(static_cast<int64_t>(one.from)) <= loss.to;
  });
}

// Takes a loss for each part (Kuhn's augmenting paths): `may_be(loss, part)`.
class Match {
 public:
  Match(std::vector<LossOfPart>& losses, const std::vector<uint32_t>& parts) : losses_(losses), parts_(parts) {}

  template <class MayBe>
  bool take(std::size_t part, const MayBe& may_be) {
    tried_.assign(losses_.size(), false);
    return augment(part, may_be);
  }

 private:
  template <class MayBe>
  bool augment(std::size_t part, const MayBe& may_be) {
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      if (tried_[i] || !may_be(*losses_[i].loss, parts_[part])) continue;
      tried_[i] = true;
      if (losses_[i].part != kNoPart && !augment(losses_[i].part, may_be)) continue;
      losses_[i].part = part;
      return true;
    }
    return false;
  }

  std::vector<LossOfPart>& losses_;
  const std::vector<uint32_t>& parts_;
  std::vector<bool> tried_;
};

}  // namespace

std::vector<Span> missing_of(const std::vector<Span>& spans, Duration length, Duration* twice) {
  std::vector<Span> missing;
  Duration reached;
  Duration doubled;
  for (const auto& [from, to] : spans) {
    if (from > reached && reached < length) missing.emplace_back(reached, std::min(from, length));
    if (from < reached) doubled += std::min(reached, to) - from;
    reached = std::max(reached, to);
  }
  if (reached < length) missing.emplace_back(reached, length);
  if (twice != nullptr) *twice = doubled;
  return missing;
}

std::string unreported(const JobStory& job, uint16_t workflow, const SpansOfParts& missing) {
  // One entry of a full list stands for several.
  if (job.record.losses.size() >= dispatch::kMaxLosses) return {};
  std::vector<LossOfPart> losses = losses_of(job, workflow);
  const Duration base = Duration::seconds(static_cast<int64_t>(job.record.workflows[workflow].base_second));
  for (Duration at; at < job.spec[workflow].length; at += kSampleEvery) {
    std::vector<uint32_t> parts;
    for (uint32_t part = 0; part < missing.size(); ++part) {
      if (std::any_of(missing[part].begin(), missing[part].end(), [at](const Span& one) {
            return one.first <= at && at < one.second && one.second - one.first > kClocksApart;
          }))
        parts.push_back(part);
    }
    if (parts.empty()) continue;
    for (LossOfPart& one : losses) one.part = kNoPart;
    Match match(losses, parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool found = match.take(i, [&](const plan::Loss& loss, uint32_t part) {
        return loss.from <= base + at + kClocksApart && base + at <= loss.to + kClocksApart &&
               names_its_worker(job, loss, workflow, part);
      });
      if (found) continue;
      return fmt::format("part {} of workflow {} of job '{}' at {} of the run ({} parts in all), but no loss names it",
                         parts[i], workflow, job.id, format_duration(base + at), parts.size());
    }
  }
  return {};
}

Duration reported_lost(const JobStory& job) {
  std::vector<Span> spans;
  Duration last;
  for (const plan::Loss& loss : job.record.losses) {
    spans.emplace_back(loss.from, loss.to);
    last = std::max(last, loss.to);
  }
  std::sort(spans.begin(), spans.end());
  Duration rest;
  for (const auto& [from, to] : missing_of(spans, last)) rest += to - from;
  return last - rest;
}

}  // namespace bellwether::sim
