#include "sim/datacenter/sim_target.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/base/units.h"
#include "sim/datacenter/datacenter_stage.h"

namespace bellwether::sim {
namespace {

using dispatch::AssignmentRecord;

bool has(const dispatch::PartRange& parts, uint32_t part) {
  return part >= parts.first && part < parts.first + parts.count;
}

// Arrivals are planned of workflows with a duration whose iterations nobody counts.
bool has_arrivals(const dispatch::WorkflowSpec& spec) { return spec.length > Duration::zero() && !spec.counted; }

// Whether the second continues the first at the moment that both have confirmed, each by its own view of the workflow's
// clock. The record is the client's, which may be behind.
enum class HandsOver : uint8_t { kNo, kPerhaps, kYes };
HandsOver hands_over(const dispatch::JobRecord& record, uint32_t first, uint32_t second) {
  const auto find = [&](uint32_t id) {
    return std::find_if(record.assignments.begin(), record.assignments.end(),
                        [id](const AssignmentRecord& one) { return one.id.value() == id; });
  };
  const auto from = find(first);
  const auto to = find(second);
  if (to == record.assignments.end()) return HandsOver::kPerhaps;
  if (from == record.assignments.end()) return HandsOver::kNo;
  // One that replaces a dead follower begins at that moment, too.
  const bool follows = to->follows.value() == first;
  if (follows && from->handed_over) return HandsOver::kYes;
  return follows || from->handed_over ? HandsOver::kPerhaps : HandsOver::kNo;
}

std::string overlap_of(const JobStory& job, uint32_t first, uint32_t second) {
  const AssignmentStory& a = job.assignments.at(first);
  const AssignmentStory& b = job.assignments.at(second);
  const HandsOver continues = hands_over(job.record, first, second);
  const bool by_clock = continues == HandsOver::kYes;
  for (const Sent& x : a.sent) {
    for (const Sent& y : b.sent) {
      const bool same_time = x.from < y.to && y.from < x.to;
      const bool same_plan = x.due_from < y.due_to && y.due_from < x.due_to;
      if (!same_time && !by_clock) continue;
      if (!same_plan && continues != HandsOver::kNo) continue;
      const Duration begin = by_clock ? std::max(x.due_from, y.due_from) : std::max(x.from, y.from) - Instant();
      const Duration end = by_clock ? std::min(x.due_to, y.due_to) : std::min(x.to, y.to) - Instant();
      return fmt::format(
          "ST-10: assignments {} ('{}') and {} ('{}') of job '{}' send for the same part, for {} from {}{}", first,
          a.worker, second, b.worker, job.id, format_duration(end - begin), format_duration(begin),
          by_clock ? " of the workflow's clock" : "");
    }
  }
  return {};
}

// The moments of the plan whose load a part has sent, in their order; some more than once.
std::vector<Span> sent_of(const JobStory& job, uint16_t workflow, uint32_t part) {
  std::vector<Span> spans;
  for (const auto& [id, assignment] : job.assignments) {
    if (assignment.workflow != workflow || !has(assignment.parts, part)) continue;
    for (const Sent& one : assignment.sent) spans.emplace_back(one.due_from, one.due_to);
  }
  std::sort(spans.begin(), spans.end());
  return spans;
}

uint32_t parts_of_workflow(const JobStory& job, uint16_t workflow) {
  uint32_t parts = 0;
  for (const auto& [id, assignment] : job.assignments) {
    if (assignment.workflow == workflow && assignment.begun) parts = std::max(parts, assignment.parts.of);
  }
  return parts;
}

uint64_t iterations_begun(const JobStory& job, uint16_t workflow) {
  uint64_t begun = 0;
  for (const auto& [id, assignment] : job.assignments) {
    if (assignment.workflow == workflow) begun += assignment.iterations;
  }
  return begun;
}

// The iterations of a workflow that the report gives up: "worker 'w1' was lost with 5 iterations that …", and "7
// iterations that no …". Nothing if it has merged losses.
std::optional<uint64_t> iterations_lost(const JobStory& job, uint16_t workflow) {
  if (job.record.losses.size() >= dispatch::kMaxLosses) return std::nullopt;
  uint64_t lost = 0;
  for (const plan::Loss& loss : job.record.losses) {
    const std::string_view cause = loss.cause;
    if (!cause.ends_with(fmt::format(", workflow '{}'", job.spec[workflow].name))) continue;
    const std::size_t end = cause.find(" iteration");
    if (end == std::string_view::npos) continue;
    std::size_t at = end;
    while (at > 0 && (std::isdigit(static_cast<unsigned char>(cause[at - 1])) != 0 || cause[at - 1] == ',')) --at;
    uint64_t number = 0;
    for (; at < end; ++at) {
      if (cause[at] != ',') number = number * 10 + static_cast<uint64_t>(cause[at] - '0');
    }
    lost += number;
  }
  return lost;
}

// Calls act(workflow, record, spec) for each workflow whose planned arrivals must have come, or be reported as lost.
template <class Act>
void each_complete(const JobStory& job, const Act& act) {
  if (job.record.stop) return;
  for (uint16_t w = 0; w < job.record.workflows.size(); ++w) {
    const dispatch::WorkflowRecord& one = job.record.workflows[w];
    if (has_arrivals(job.spec[w]) && one.state == dispatch::WorkflowState::kCompleted) act(w, one, job.spec[w]);
  }
}

}  // namespace

void send(std::vector<Sent>& all, const Sent& one) {
  if (all.empty() || all.back().to != one.from || all.back().due_to != one.due_from) return all.push_back(one);
  all.back().to = one.to;
  all.back().due_to = one.due_to;
}

std::string excess_of(const JobStory& job, bool with_arrivals) {
  for (auto a = job.assignments.begin(); a != job.assignments.end(); ++a) {
    for (auto b = std::next(a); b != job.assignments.end(); ++b) {
      const dispatch::PartRange& first = a->second.parts;
      const dispatch::PartRange& second = b->second.parts;
      if (a->second.workflow != b->second.workflow) continue;
      if (first.of == second.of &&
          (first.first >= second.first + second.count || second.first >= first.first + first.count))
        continue;
      if (std::string wrong = overlap_of(job, a->first, b->first); !wrong.empty()) return wrong;
    }
  }
  for (uint16_t w = 0; w < job.spec.size(); ++w) {
    const uint64_t begun = iterations_begun(job, w);
    if (!job.spec[w].counted || begun <= job.spec[w].counted->planned(0, 1)) continue;
    return fmt::format("ST-10: {} iterations of workflow {} of job '{}' have begun, and {} are planned", begun, w,
                       job.id, job.spec[w].counted->planned(0, 1));
  }
  for (uint16_t w = 0; with_arrivals && w < job.spec.size(); ++w) {
    if (!has_arrivals(job.spec[w])) continue;
    for (uint32_t part = 0; part < parts_of_workflow(job, w); ++part) {
      Duration twice;
      missing_of(sent_of(job, w, part), job.spec[w].length, &twice);
      if (twice <= kClocksApart) continue;
      return fmt::format("ST-10: the target gets {} of the arrivals of part {} of workflow {} of job '{}' twice",
                         format_duration(twice), part, w, job.id);
    }
  }
  return {};
}

std::string shortfall_of(const JobStory& job) {
  std::string wrong;
  each_complete(job, [&](uint16_t w, const dispatch::WorkflowRecord& one, const dispatch::WorkflowSpec& spec) {
    SpansOfParts missing;
    for (uint32_t part = 0; part < one.parts; ++part) missing.push_back(missing_of(sent_of(job, w, part), spec.length));
    const std::string what = unreported(job, w, missing);
    if (wrong.empty() && !what.empty()) wrong = "ST-10: the target lacks " + what;
  });
  for (uint16_t w = 0; w < job.spec.size() && wrong.empty() && !job.record.stop; ++w) {
    if (!job.spec[w].counted || job.record.workflows[w].state != dispatch::WorkflowState::kCompleted) continue;
    const uint64_t planned = job.spec[w].counted->planned(0, 1);
    const uint64_t begun = iterations_begun(job, w);
    const std::optional<uint64_t> lost = iterations_lost(job, w);
    if (!lost || begun + *lost >= planned) continue;
    wrong = fmt::format(
        "ST-10: {} of {} iterations of workflow {} of job '{}' have begun, but the report says that {} are lost", begun,
        planned, w, job.id, *lost);
  }
  return wrong;
}

Duration most_missing(const JobStory& job) {
  Duration most;
  each_complete(job, [&](uint16_t w, const dispatch::WorkflowRecord& one, const dispatch::WorkflowSpec& spec) {
    for (uint32_t part = 0; part < one.parts; ++part) {
      Duration missing;
      for (const auto& [from, to] : missing_of(sent_of(job, w, part), spec.length)) missing += to - from;
      most = std::max(most, missing);
    }
  });
  return most;
}

// --- the report of losses --------------------------------------------------------------------------------------------

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
