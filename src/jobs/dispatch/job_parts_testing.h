// The parts of the small cluster in tests of the job kernel.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/dispatch/job_kernel.h"

namespace bellwether::dispatch {

// When an owner takes over.
inline const Instant kAdopted = Instant::from_ns(20'000'000'000);

// Of one workflow, which runs.
inline JobRecord running_record(uint32_t parts, std::vector<AssignmentRecord> assignments) {
  JobRecord record;
  record.id = "job";
  record.state = JobState::kRunning;
  record.started = WallTime{1'000'000'000};
  record.workflows.resize(1);
  record.workflows[0] = {.state = WorkflowState::kRunning, .why = {}, .parts = parts, .base_second = 0, .begun = true};
  record.last_assignment = static_cast<uint32_t>(assignments.size());
  record.assignments = std::move(assignments);
  return record;
}
inline AssignmentRecord assignment_of(uint32_t id, PartRange parts, AssignmentState state, bool streams = true) {
  AssignmentRecord assignment;
  assignment.id = AssignmentId(id);
  assignment.worker = "w" + std::to_string(id);
  assignment.life = 1;
  assignment.parts = parts;
  assignment.state = state;
  assignment.streams = streams;
  return assignment;
}

inline WorkflowSpec load_spec(std::string name, Duration length, std::vector<uint16_t> depends = {}) {
  WorkflowSpec spec;
  spec.name = std::move(name);
  spec.vus = 1000;
  spec.length = length;
  spec.depends = std::move(depends);
  spec.graceful_stop = Duration::seconds(5);
  return spec;
}

struct TestAssignment {
  uint16_t workflow = 0;
  PartRange parts;
  uint32_t cores = 0;
  AssignmentPhase phase = AssignmentPhase::kReady;
  Instant clock;
  Instant began;
  uint64_t from = 0;
  uint64_t told = 0;                 // numbers in the ingest
  uint64_t until = 0;                // it hands over then
  Instant go_by = Instant::never();  // a follower ends then, unless the order to go comes first
  std::optional<AssignmentEnd> end;
  std::optional<uint64_t> iterations = std::nullopt;  // that it may begin
  std::optional<uint32_t> vus = std::nullopt;         // of its workflow, as last ordered
  plan::RowPoint rows = {};                           // with which it began

  // Iterations of an assignment after this time: each part begins some a second, and they end at once.
  static constexpr uint64_t kPace = 10;
  uint64_t iterated(Duration ran) const {
    const auto per_s = static_cast<double>(kPace * parts.count);
    return std::min(iterations.value_or(0), static_cast<uint64_t>(std::max(ran.seconds_f(), 0.0) * per_s + 1e-6));
  }
  Instant all_begun() const {
    return began +
           Duration::from_seconds_f(static_cast<double>(*iterations) / static_cast<double>(kPace * parts.count));
  }
};
struct TestWorker {
  uint64_t life = 1;
  uint32_t cores = 1;
  bool alive = true;
  bool refuses = false;
  bool busy = false;  // has no cores, even if it reports some
  bool breaks = false;
  bool leaves = false;
  bool silent = false;   // cut off from all others
  Instant permit;        // until then it may run
  uint64_t reports = 0;  // that were answered
  bool healthy = true;   // else it prefers no work
  bool sought = false;   // a job waits for its cores
  bool held = false;     // gets no work while an assignment of it is stuck
  std::map<AssignmentId, TestAssignment> assignments;
  uint32_t used() const {
    uint32_t sum = 0;
    for (const auto& [id, one] : assignments) sum += one.phase == AssignmentPhase::kEnded ? 0 : one.cores;
    return sum;
  }
};
// Seconds of a part that are in the ingest.
struct TestPart {
  uint64_t seconds = 0;
  uint64_t twice = 0;
  std::map<uint64_t, int> by_second;
};

// The ingest of the job's owner.
struct TestIngest {
  void count(const TestAssignment& assignment, uint64_t second) {
    for (uint32_t i = 0; i < assignment.parts.count; ++i)
      ++seconds[{assignment.workflow, assignment.parts.first + i}][second];
  }
  // Every part of a workflow.
  std::vector<TestPart> measured(uint16_t workflow, uint32_t parts) const {
    std::vector<TestPart> out(parts);
    for (uint32_t part = 0; part < parts; ++part) {
      const auto found = seconds.find({workflow, part});
      if (found == seconds.end()) continue;
      out[part].by_second = found->second;
      for (const auto& [second, times] : found->second) {
        ++out[part].seconds;
        if (times > 1) ++out[part].twice;
      }
    }
    return out;
  }

  std::map<std::pair<uint16_t, uint32_t>, std::map<uint64_t, int>> seconds;  // of parts: how often each
  std::map<AssignmentId, uint64_t> told;                                     // numbers of each assignment
  std::map<AssignmentId, plan::Iterated> iterated;
};

inline uint64_t measured_of(const TestAssignment& assignment, Instant now) {
  if (assignment.end) return assignment.end->last_number;
  const Duration ran = now - std::max(assignment.began, assignment.clock);
  return ran < Duration::zero() ? 0 : static_cast<uint64_t>(ran.ns() / 1'000'000'000);
}

inline std::vector<AssignmentSight> sights_of(const TestWorker& worker, Instant now) {
  std::vector<AssignmentSight> sights;
  for (const auto& [id, one] : worker.assignments) {
    AssignmentSight& sight = sights.emplace_back();
    sight.assignment = id;
    sight.phase = one.phase;
    if (one.phase != AssignmentPhase::kReady) {
      sight.clock = now - one.clock;
      sight.from = one.from;
      sight.measured = measured_of(one, now);
      sight.until = one.until;
    }
    if (one.end) sight.end = *one.end;
  }
  return sights;
}

// The reports of the workers.
inline std::vector<WorkerSight> pool_of(Instant now, const std::map<std::string, TestWorker>& workers) {
  std::vector<WorkerSight> pool;
  for (const auto& [name, worker] : workers) {
    if (!worker.alive) continue;
    const uint32_t used = std::min(worker.used(), worker.cores);
    pool.push_back(WorkerSight{name, worker.life, worker.cores, worker.cores - used, !worker.leaves && !worker.held,
                               worker.healthy, worker.leaves, worker.sought, worker.held, true, now});
  }
  return pool;
}

inline OfferAnswer answer_of(const TestWorker& worker, const AssignmentRecord& assignment) {
  if (worker.refuses) return OfferAnswer::kNotNow;
  if (worker.busy || (!assignment.squeeze && worker.used() + assignment.cores > worker.cores))
    return OfferAnswer::kBusy;
  return worker.breaks ? OfferAnswer::kBroken : OfferAnswer::kReady;
}

// The values that an assignment provides: "NAME of part N" each; for a list, one for each part.
inline std::vector<plan::Provided> provided_by(const WorkflowSpec& spec, const TestAssignment& assignment,
                                               Duration ran) {
  std::vector<plan::Provided> out;
  for (uint16_t i = 0; i < spec.provides.size(); ++i) {
    const bool listed = std::find(spec.lists.begin(), spec.lists.end(), i) != spec.lists.end();
    for (uint32_t part = assignment.parts.first; part < assignment.parts.first + (listed ? assignment.parts.count : 1);
         ++part) {
      out.push_back({i, part + 1, ran, spec.provides[i] + " of part " + std::to_string(part), false, listed});
    }
  }
  return out;
}

// As in the worker's kernel: whether it takes over, or hands over, at that second.
inline bool take_over(TestAssignment& assignment, Instant now, Instant clock, Instant at, uint64_t from, bool go) {
  if (go && now < assignment.go_by) assignment.go_by = Instant::never();
  if (assignment.phase == AssignmentPhase::kReady && now < at) {
    assignment.phase = AssignmentPhase::kRunning;
    assignment.clock = clock;
    assignment.began = at;
    assignment.from = from;
    if (!go) assignment.go_by = at;
  }
  return assignment.phase == AssignmentPhase::kRunning;
}
inline bool hand_over(TestAssignment& assignment, Instant now, Instant at, uint64_t until) {
  const bool in_time = now + Duration::millis(100) <= at;
  if (assignment.until == 0 && assignment.phase == AssignmentPhase::kRunning && in_time) assignment.until = until;
  return assignment.until == until;
}

// Whether it has begun, and runs parts of the other one, too.
inline bool overlaps(const TestAssignment& one, const AssignmentRecord& other) {
  return one.phase == AssignmentPhase::kRunning && one.workflow == other.workflow &&
         one.parts.first < other.parts.first + other.parts.count &&
         other.parts.first < one.parts.first + one.parts.count;
}

// The number of assignments that run a part.
inline int runs_of(const std::map<std::string, TestWorker>& workers, Instant now, uint16_t workflow, uint32_t part) {
  int runs = 0;
  for (const auto& [name, worker] : workers) {
    for (const auto& [id, one] : worker.assignments) {
      const bool has = one.workflow == workflow && part >= one.parts.first && part < one.parts.first + one.parts.count;
      runs += has && worker.alive && one.phase == AssignmentPhase::kRunning && one.began <= now ? 1 : 0;
    }
  }
  return runs;
}

// The fate of a message to a worker.
enum class Fate : uint8_t { kArrives, kIsLost, kAnswerIsLost };

inline std::vector<std::string> kinds(const JobRecord& record) {
  std::vector<std::string> out;
  for (const JobEvent& event : record.events) out.push_back(event.kind);
  return out;
}

}  // namespace bellwether::dispatch
