// Job records with any valid content, drawn from a seed.
#pragma once

#include <algorithm>
#include <string>

#include "core/base/prng.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::dispatch {

class AnyRecord {
 public:
  // With a mark, no text for people is empty, and each begins with it.
  explicit AnyRecord(uint64_t seed, std::string_view mark = {}) : prng_(seed), mark_(mark) {}

  JobRecord record();
  Prng& prng() { return prng_; }

 private:
  bool flip() { return prng_.chance(0.5); }
  std::size_t few() { return prng_.below(4); }
  // Small and large numbers alike, including zero.
  uint64_t number(uint64_t most) { return std::min(most, prng_.next() >> prng_.below(64)); }
  uint32_t small(uint32_t most) { return static_cast<uint32_t>(number(most)); }
  uint64_t second() { return number(kMaxSeconds); }
  Duration span() { return Duration::nanos(static_cast<int64_t>(number(static_cast<uint64_t>(kLongestSpan.ns())))); }
  WallTime moment() { return {static_cast<int64_t>(number(static_cast<uint64_t>(kLatestTime.unix_ns)))}; }
  template <class Enum>
  Enum any(std::size_t values) {
    return static_cast<Enum>(prng_.below(values));
  }
  std::string word(std::string_view letters, std::size_t least, std::size_t most) {
    std::string out(static_cast<std::size_t>(prng_.between(static_cast<int64_t>(least), static_cast<int64_t>(most))),
                    0);
    for (char& c : out) c = letters[prng_.below(letters.size())];
    return out;
  }
  std::string id() { return word("abcXYZ019-_", 1, kMaxIdBytes); }
  std::string name() { return word("wW1.-_ ", 1, kMaxIdBytes); }
  std::string text() {
    const bool empty = flip();
    const std::string rest = word("The end: no 'way' \xfe\xff", 1, kMaxTextBytes - 10);
    return empty && mark_.empty() ? std::string() : mark_ + rest;
  }
  // Increasing, so that all differ.
  AssignmentId next_assignment() { return last_ = AssignmentId(last_.value() + 1 + small(1'000)); }
  PartRange parts() {
    PartRange out;
    out.of = small(kMaxParts - 1) + 1;
    out.count = small(out.of - 1) + 1;
    out.first = small(out.of - out.count);
    return out;
  }
  AssignmentEnd end() { return {any<AssignmentOutcome>(kAssignmentOutcomes), text(), second(), span()}; }
  plan::Finding finding() {
    const Duration begin = Duration::millis(static_cast<int64_t>(small(99'999)));
    return {any<plan::Saturation>(plan::kSaturations), begin,
            begin + Duration::millis(static_cast<int64_t>(small(99'999))), prng_.unit(), true};
  }
  AssignmentRecord assignment_record(std::size_t workflows);

  Prng prng_;
  std::string mark_;
  AssignmentId last_;
};

// Bytes with unfit texts, as from a writer that does not make them fit.
inline std::string with_wild_texts(std::string bytes, std::string_view fit_mark, std::string_view wild_mark) {
  for (std::size_t at = 0; (at = bytes.find(fit_mark, at)) != std::string::npos;) {
    bytes.replace(at, fit_mark.size(), wild_mark);
  }
  return bytes;
}

// A new part breaks the build here; draw it below, too.
inline void count_parts(const JobRecord& record, const WorkflowRecord& workflow, const AssignmentRecord& assignment) {
  [[maybe_unused]] const auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
                                a20, a21, a22, a23, a24] = record;
  [[maybe_unused]] const auto& [b1, b2, b3, b4, b5, b6, b7, b8, b9] = workflow;
  [[maybe_unused]] const auto& [c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19,
                                c20, c21] = assignment;
}

inline AssignmentRecord AnyRecord::assignment_record(std::size_t workflows) {
  AssignmentRecord out;
  out.id = next_assignment();
  out.workflow = static_cast<uint16_t>(prng_.below(workflows));
  out.worker = flip() ? "w1" : name();
  out.life = flip() ? 1 : prng_.next();
  out.parts = parts();
  out.cores = small(kMaxParts);
  out.squeeze = flip();
  out.state = any<AssignmentState>(kAssignmentStates);
  out.from = second();
  out.streams = out.state == AssignmentState::kRunning || flip();
  out.lost_from = span();
  if (out.state == AssignmentState::kEnded || flip()) out.end = end();
  if (out.id.value() > 1 && flip()) out.follows = AssignmentId(small(out.id.value() - 2) + 1);
  if (flip()) out.until = std::max<uint64_t>(second(), 1);
  out.handed_over = out.until > 0 && out.streams && flip();
  out.extensions = small(UINT32_MAX);
  out.extended = span();
  out.iterations = prng_.next() >> prng_.below(64);
  out.left = number(out.iterations);
  out.unfenced = flip();
  out.rows = {prng_.next() >> prng_.below(64), span()};
  return out;
}

inline JobRecord AnyRecord::record() {
  JobRecord out;
  out.id = id();
  out.name = text();
  out.by = text();
  out.bundle = id();
  out.seed = prng_.next();
  out.submitted = moment();
  out.revision = prng_.next();
  out.state = any<JobState>(kJobStates);
  out.why = text();
  out.started = moment();
  out.elapsed = span();
  if (flip())
    out.stop = JobStop{any<JobStop::Cause>(kStopCauses), any<StopHow>(kStopHows), text(), text(), prng_.next(), flip()};
  for (std::size_t i = few(); i > 0; --i) {
    out.workflows.push_back({any<WorkflowState>(kWorkflowStates), text(), small(kMaxParts), small(UINT32_MAX), second(),
                             flip(), small(UINT32_MAX), flip(), flip()});
  }
  last_ = AssignmentId();
  for (std::size_t i = out.workflows.empty() ? 0 : few(); i > 0; --i) {
    out.assignments.push_back(assignment_record(out.workflows.size()));
  }
  out.last_assignment = last_.value() + small(9);
  out.context_version = prng_.next();
  for (std::size_t i = few(); i > 0; --i) {
    const Duration from = span();
    out.losses.push_back({from, std::max(from, span()), flip() ? 0 : prng_.unit(), text()});
  }
  for (std::size_t i = few(); i > 0; --i) out.events.push_back({span(), text(), text()});
  out.events_dropped = small(UINT32_MAX);
  out.ended = moment();
  for (std::size_t i = few(); i > 0; --i) {
    out.findings.push_back(finding());
    out.findings.back().worker = text();
  }
  for (std::size_t i = small(kMaxWitnesses); i > 0; --i)
    out.witnesses.push_back({flip() ? "w1" : name(), prng_.next() | 1});
  for (std::size_t i = small(kMaxWitnesses); i > 0; --i) out.witnesses_before.push_back({name(), prng_.next() | 1});
  out.witnesses_since = small(1'000'000);
  return out;
}

}  // namespace bellwether::dispatch
