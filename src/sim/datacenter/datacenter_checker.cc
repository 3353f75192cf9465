#include "sim/datacenter/datacenter_checker.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "jobs/ingest/run_ingest.h"
#include "load/codec/totals_codec.h"
#include "sim/datacenter/sim_target.h"

namespace bellwether::sim {
namespace {

using dispatch::AssignmentRecord;
using dispatch::AssignmentState;

std::string of_assignment(uint32_t assignment, const JobStory& job) {
  return fmt::format("assignment {} of job '{}'", assignment, job.id);
}

const AssignmentRecord* find(const dispatch::JobRecord& record, uint32_t assignment) {
  const auto at = std::find_if(record.assignments.begin(), record.assignments.end(),
                               [assignment](const AssignmentRecord& one) { return one.id.value() == assignment; });
  return at == record.assignments.end() ? nullptr : &*at;
}

bool overlap(const dispatch::PartRange& a, const dispatch::PartRange& b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

// The sums in it, as bytes.
std::string sums_of(const metrics::Window& window, const ingest::Shape& shape) {
  metrics::Window sums(shape);
  sums.merge(window);
  sums.second = 0;
  sums.covered = Duration::zero();
  for (metrics::WorkflowWindow& workflow : sums.workflows) workflow.vus_active = workflow.vus_allocated = 0;
  return ingest::encode_window(sums);
}

// The numbers of an assignment's reports in its stream (jobs/dispatch/messages.h), and the seconds of the run.
struct Numbered {
  uint64_t number = 0;
  uint64_t second = 0;
  const ToldSecond* told = nullptr;
};
std::vector<Numbered> numbers_of(const AssignmentStory& assignment, const AssignmentRecord& record,
                                 uint64_t base_second) {
  const uint64_t base = assignment.resumed ? base_second : record.from;
  std::vector<Numbered> out;
  uint64_t last = 0;
  for (const ToldSecond& one : assignment.told) {
    uint64_t number = last + 1;
    if (base + one.second >= record.from) number = std::max(number, base + one.second - record.from + 1);
    out.push_back({number, record.from + number - 1, &one});
    last = number;
  }
  return out;
}

std::string describe(const AssignmentStory& assignment, const AssignmentRecord& record, uint64_t base) {
  const uint64_t first = assignment.told.empty() ? 0 : assignment.told.front().second;
  const uint64_t last = assignment.told.empty() ? 0 : assignment.told.back().second;
  return fmt::format(
      "{} at second {} of the run with a clock that began at second {}, and reported seconds {} to {} of that clock; "
      "its end was at number {}",
      assignment.resumed ? "it continued" : "it started", record.from, base, first, last,
      record.end ? record.end->last_number : 0);
}

class JobJudge {
 public:
  JobJudge(const JobStory& job, CountedSeconds& seconds) : job_(job), seconds_(seconds) {}

  std::string judge(const std::string& ingest) {
    if (!dispatch::is_final(job_.record.state))
      return fmt::format("job '{}' has ended in a state that is not final", job_.id);
    const auto copy = message::decode<ingest::IngestSnapshot>(ingest);
    if (!copy) return fmt::format("the statistics of job '{}' cannot be read", job_.id);
    if (ingest.empty()) {
      // It never began.
      const bool streams = std::any_of(job_.record.assignments.begin(), job_.record.assignments.end(),
                                       [](const AssignmentRecord& assignment) { return assignment.streams; });
      return streams ? fmt::format("no manager has the statistics of job '{}'", job_.id) : std::string();
    }
    if (!copy->open.empty())
      return fmt::format("the statistics of job '{}' have seconds that do not count yet", job_.id);
    if (copy->totals != job_.totals)
      return fmt::format("the client of job '{}' has other totals than the managers", job_.id);
    std::string wrong = count(*copy);
    if (wrong.empty()) wrong = compare(copy->totals);
    if (wrong.empty()) wrong = look_for_gaps();
    if (wrong.empty()) wrong = look_at_iterations();
    if (wrong.empty()) wrong = look_at_values();
    return wrong;
  }

 private:
  using Place = std::tuple<uint16_t, uint32_t, uint64_t>;  // workflow, part, second of the run

  std::string count(const ingest::IngestSnapshot& copy) {
    for (const auto& [id, assignment] : job_.assignments) {
      const auto stream = std::find_if(copy.streams.begin(), copy.streams.end(),
                                       [id = id](const auto& one) { return one.id.value() == id; });
      const AssignmentRecord* const record = find(job_.record, id);
      const bool known = record != nullptr && record->streams && stream != copy.streams.end();
      if (!known) {
        seconds_.lost += assignment.told.size();
        if (record != nullptr && record->state == AssignmentState::kEnded && !assignment.told.empty()) {
          return of_assignment(id, job_) + " has ended, but is not in the statistics";
        }
        continue;
      }
      const uint64_t base = job_.record.workflows[assignment.workflow].base_second;
      const std::vector<Numbered> numbers = numbers_of(assignment, *record, base);
      for (const Numbered& one : numbers) {
        if (one.number > stream->applied) {
          ++seconds_.lost;
          continue;
        }
        ++seconds_.counted;
        take(assignment, one, &one == &numbers.front() && assignment.resumed);
      }
      const uint64_t last = numbers.empty() ? 0 : numbers.back().number;
      if (stream->applied > last) return of_assignment(id, job_) + " counts with more than it has reported";
      if (record->state == AssignmentState::kEnded && stream->applied < last) {
        return fmt::format("{} has ended, but of its {} seconds only {} count: {}", of_assignment(id, job_), last,
                           stream->applied, describe(assignment, *record, base));
      }
    }
    for (const auto& stream : copy.streams) {
      if (stream.applied > 0 && !job_.assignments.contains(stream.id.value())) {
        return of_assignment(stream.id.value(), job_) + " counts, but never ran";
      }
    }
    return twice_;
  }

  // Where an assignment goes on in the middle of a second, two assignments report that second.
  void take(const AssignmentStory& assignment, const Numbered& one, bool may_be_double) {
    const auto window = ingest::decode_window(one.told->window, job_.shape);
    if (!sum_) sum_.emplace(job_.shape);
    sum_->merge(*window);
    iterations_[assignment.workflow] += window->workflows[assignment.workflow].iterations;
    if (job_.spec[assignment.workflow].length == Duration::zero()) return;
    // By the clock of the job's owner, which may number the seconds anew.
    const auto from = Duration::seconds(static_cast<int64_t>(one.second)) -
                      Duration::seconds(static_cast<int64_t>(job_.record.workflows[assignment.workflow].base_second));
    const Duration skipped =
        std::max(Duration(), assignment.begins_at - Duration::seconds(static_cast<int64_t>(one.told->second)));
    for (uint32_t part = assignment.parts.first; part < assignment.parts.first + assignment.parts.count; ++part) {
      const Place place(assignment.workflow, part, one.second);
      if (skipped < window->covered) {
        counts_[{assignment.workflow, part}].emplace_back(from + skipped, from + window->covered);
      }
      if (!may_be_double && !full_.insert(place).second) {
        twice_ = fmt::format("second {} of part {} of workflow {} of job '{}' counts twice", one.second, part,
                             assignment.workflow, job_.id);
      }
    }
  }

  std::string compare(const std::string& bytes) const {
    auto state = ingest::decode_totals(bytes, *job_.plan);
    if (!state) return fmt::format("the totals of job '{}' cannot be read: {}", job_.id, state.error().message);
    const metrics::Window nothing(job_.shape);
    const std::string told = sums_of(sum_ ? *sum_ : nothing, job_.shape);
    if (sums_of(state->sum, job_.shape) == told) return {};
    return fmt::format("the totals of job '{}' are not the sum of the seconds that count", job_.id);
  }

  // Planned load of a part that does not count is a reported loss of that part.
  std::string look_for_gaps() {
    if (job_.record.stop) return {};
    for (uint16_t w = 0; w < job_.spec.size(); ++w) {
      const dispatch::WorkflowRecord& one = job_.record.workflows[w];
      if (one.state != dispatch::WorkflowState::kCompleted || job_.spec[w].length == Duration::zero()) continue;
      if (job_.spec[w].counted) continue;
      SpansOfParts missing;
      for (uint32_t part = 0; part < one.parts; ++part) {
        std::vector<Span>& counts = counts_[{w, part}];
        std::sort(counts.begin(), counts.end());
        missing.push_back(missing_of(counts, job_.spec[w].length));
      }
      if (const std::string what = unreported(job_, w, missing); !what.empty()) return "the figures lack " + what;
    }
    return {};
  }

  // No iteration counts twice, and an iteration that no assignment has begun is a reported loss.
  std::string look_at_iterations() const {
    for (uint16_t w = 0; w < job_.spec.size(); ++w) {
      const dispatch::WorkflowRecord& one = job_.record.workflows[w];
      if (!job_.spec[w].counted || one.parts == 0) continue;
      const uint64_t planned = job_.spec[w].counted->planned(0, 1);
      const auto counted = iterations_.find(w);
      const uint64_t done = counted == iterations_.end() ? 0 : counted->second;
      const std::string whose = fmt::format(" iterations of workflow {} of job '{}' count, of {}", w, job_.id, planned);
      if (done > planned) return std::to_string(done) + whose;
      const bool completed = one.state == dispatch::WorkflowState::kCompleted && !job_.record.stop;
      if (completed && done < planned && job_.record.losses.empty()) {
        return fmt::format("only {}{}, but no loss records the rest", done, whose);
      }
    }
    return {};
  }

  // All assignments of a workflow begin with the same values, which a workflow provided; a missing one is reported.
  std::string look_at_values() const {
    const auto& events = job_.record.events;
    const bool told = job_.record.events_dropped > 0 || std::any_of(events.begin(), events.end(), [](const auto& one) {
                        return one.kind == "value_missing";
                      });
    std::map<uint16_t, const AssignmentStory*> first;
    for (const auto& [id, assignment] : job_.assignments) {
      const auto& uses = job_.spec[assignment.workflow].uses;
      if (!assignment.begun || uses.empty()) continue;
      const auto [at, is_first] = first.try_emplace(assignment.workflow, &assignment);
      if (!is_first && at->second->given != assignment.given)
        return of_assignment(id, job_) + " has other values than another assignment";
      if (assignment.given.size() < uses.size() && !told)
        return of_assignment(id, job_) + " lacks values, but no event reports it";
      for (const plan::Given& one : assignment.given) {
        const uint16_t from = uses.at(one.use).from;
        const bool known = std::any_of(job_.assignments.begin(), job_.assignments.end(), [&](const auto& maker) {
          const auto& made = maker.second.provided;
          return maker.second.workflow == from && std::find(made.begin(), made.end(), one.text) != made.end();
        });
        if (!known)
          return fmt::format("{} has a value that no workflow provided: {}", of_assignment(id, job_), one.text);
      }
    }
    return {};
  }

  const JobStory& job_;
  CountedSeconds& seconds_;
  std::optional<metrics::Window> sum_;
  std::set<Place> full_;
  std::map<std::pair<uint16_t, uint32_t>, std::vector<Span>> counts_;  // by workflow and part
  std::map<uint16_t, uint64_t> iterations_;                            // that count, by workflow
  std::string twice_;
};

}  // namespace

std::string fault_of(const dispatch::JobRecord& record) {
  for (std::size_t i = 0; i < record.assignments.size(); ++i) {
    for (std::size_t k = i + 1; k < record.assignments.size(); ++k) {
      const AssignmentRecord& a = record.assignments[i];
      const AssignmentRecord& b = record.assignments[k];
      if (!is_live(a) || !is_live(b) || a.workflow != b.workflow || !overlap(a.parts, b.parts)) continue;
      // One hands over to the other, or is going to.
      if (a.handed_over || (b.follows == a.id && !b.streams)) continue;
      return fmt::format("assignments {} and {} of job '{}' have parts in common", a.id.value(), b.id.value(),
                         record.id);
    }
  }
  return {};
}

std::string fault_of(const JobStory& job, const std::string& ingest, CountedSeconds& seconds) {
  std::string wrong = JobJudge(job, seconds).judge(ingest);
  return wrong.empty() ? shortfall_of(job) : wrong;
}

std::string loss_of(const JobStory& job) {
  const auto& events = job.record.events;
  // A long absence of managers is enough for that.
  const bool unsynced =
      std::any_of(events.begin(), events.end(), [](const auto& one) { return one.kind == "layer_sync_failed"; });
  // What is cut short has losses, and so has what depends on it.
  const auto& all = job.record.workflows;
  const bool cut = std::any_of(all.begin(), all.end(), [](const dispatch::WorkflowRecord& one) {
    return one.state == dispatch::WorkflowState::kCancelled || one.state == dispatch::WorkflowState::kTimedOut;
  });
  // An owner that dies between the end of one assignment and the order to go on leaves the next one's load missing.
  const auto& ran = job.record.assignments;
  const bool left = std::any_of(ran.begin(), ran.end(), [](const AssignmentRecord& one) {
    return one.follows != dispatch::AssignmentId() && one.state == dispatch::AssignmentState::kGone;
  });
  if (!job.record.losses.empty() && !unsynced && !cut && !left) {
    return fmt::format("job '{}' has a loss although nothing could be lost: {}", job.id,
                       job.record.losses.front().cause);
  }
  const bool stopped = job.record.stop.has_value() || unsynced || cut;
  if (!stopped && job.record.state != dispatch::JobState::kCompleted) {
    return fmt::format("job '{}' is {} although no worker broke: {}", job.id, to_string(job.record.state),
                       job.record.why);
  }
  for (const dispatch::WorkflowRecord& one : job.record.workflows) {
    if (one.retries > 0 && !left)
      return fmt::format("an assignment of job '{}' was reassigned although no worker broke", job.id);
  }
  return {};
}

}  // namespace bellwether::sim
