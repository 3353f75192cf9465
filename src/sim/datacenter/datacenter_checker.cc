#include "sim/datacenter/datacenter_checker.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "jobs/account/run_account.h"
#include "load/codec/totals_codec.h"

namespace bellwether::sim {
namespace {

using dispatch::ShareSheet;
using dispatch::ShareState;

constexpr int64_t kSecondNs = 1'000'000'000;

std::string of_share(uint32_t share, const JobStory& job) { return fmt::format("share {} of job '{}'", share, job.id); }

const ShareSheet* find(const dispatch::JobSheet& sheet, uint32_t share) {
  const auto at = std::find_if(sheet.shares.begin(), sheet.shares.end(),
                               [share](const ShareSheet& one) { return one.id.value() == share; });
  return at == sheet.shares.end() ? nullptr : &*at;
}

bool overlap(const dispatch::PartRange& a, const dispatch::PartRange& b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

// The sums in it, as bytes.
std::string sums_of(const metrics::Window& window, const account::Shape& shape) {
  metrics::Window sums(shape);
  sums.merge(window);
  sums.second = 0;
  sums.covered = Duration::zero();
  for (metrics::WorkflowWindow& workflow : sums.workflows) workflow.vus_active = workflow.vus_allocated = 0;
  return account::encode_window(sums);
}

// The numbers of an assignment's reports in its stream (jobs/dispatch/letters.h), and the seconds of the run.
struct Numbered {
  uint64_t number = 0;
  uint64_t second = 0;
  const ToldSecond* told = nullptr;
};
std::vector<Numbered> numbers_of(const ShareStory& share, const ShareSheet& sheet, uint64_t base_second) {
  const uint64_t base = share.resumed ? base_second : sheet.from;
  std::vector<Numbered> out;
  uint64_t last = 0;
  for (const ToldSecond& one : share.told) {
    uint64_t number = last + 1;
    if (base + one.second >= sheet.from) number = std::max(number, base + one.second - sheet.from + 1);
    out.push_back({number, sheet.from + number - 1, &one});
    last = number;
  }
  return out;
}

std::string describe(const ShareStory& share, const ShareSheet& sheet, uint64_t base) {
  const uint64_t first = share.told.empty() ? 0 : share.told.front().second;
  const uint64_t last = share.told.empty() ? 0 : share.told.back().second;
  return fmt::format(
      "{} at second {} of the run with a clock that began at second {}, and told seconds {} to {} of that clock; its "
      "end was at number {}",
      share.resumed ? "it goes on" : "it began", sheet.from, base, first, last, sheet.end ? sheet.end->last_number : 0);
}

class JobJudge {
 public:
  JobJudge(const JobStory& job, CountedSeconds& seconds) : job_(job), seconds_(seconds) {}

  std::string judge(const std::string& account) {
    if (!dispatch::is_final(job_.sheet.state)) return fmt::format("job '{}' has an end that is none", job_.id);
    const auto copy = message::decode<account::AccountCopy>(account);
    if (!copy) return fmt::format("the account of job '{}' cannot be read", job_.id);
    if (account.empty()) {
      // It never began.
      const bool streams = std::any_of(job_.sheet.shares.begin(), job_.sheet.shares.end(),
                                       [](const ShareSheet& share) { return share.streams; });
      return streams ? fmt::format("nobody has kept the account of job '{}'", job_.id) : std::string();
    }
    if (!copy->open.empty()) return fmt::format("the account of job '{}' has seconds that do not count yet", job_.id);
    if (copy->totals != job_.totals)
      return fmt::format("the client of job '{}' has other totals than its account", job_.id);
    std::string wrong = count(*copy);
    if (wrong.empty()) wrong = compare(copy->totals);
    if (wrong.empty()) wrong = look_for_gaps();
    if (wrong.empty()) wrong = look_at_iterations();
    if (wrong.empty()) wrong = look_at_values();
    return wrong;
  }

 private:
  using Place = std::tuple<uint16_t, uint32_t, uint64_t>;  // workflow, part, second of the run

  std::string count(const account::AccountCopy& copy) {
    for (const auto& [id, share] : job_.shares) {
      const auto stream = std::find_if(copy.streams.begin(), copy.streams.end(),
                                       [id = id](const auto& one) { return one.id.value() == id; });
      const ShareSheet* const sheet = find(job_.sheet, id);
      const bool known = sheet != nullptr && sheet->streams && stream != copy.streams.end();
      if (!known) {
        seconds_.lost += share.told.size();
        if (sheet != nullptr && sheet->state == ShareState::kEnded && !share.told.empty()) {
          return of_share(id, job_) + " has ended, and is not in the account";
        }
        continue;
      }
      const uint64_t base = job_.sheet.workflows[share.workflow].base_second;
      const std::vector<Numbered> numbers = numbers_of(share, *sheet, base);
      for (const Numbered& one : numbers) {
        if (one.number > stream->applied) {
          ++seconds_.lost;
          continue;
        }
        ++seconds_.counted;
        take(share, one, &one == &numbers.front() && share.resumed);
      }
      const uint64_t last = numbers.empty() ? 0 : numbers.back().number;
      if (stream->applied > last) return of_share(id, job_) + " counts with more than it has told";
      if (sheet->state == ShareState::kEnded && stream->applied < last) {
        return fmt::format("{} has ended, and of its {} seconds only {} count: {}", of_share(id, job_), last,
                           stream->applied, describe(share, *sheet, base));
      }
    }
    for (const auto& stream : copy.streams) {
      if (stream.applied > 0 && !job_.shares.contains(stream.id.value())) {
        return of_share(stream.id.value(), job_) + " counts, and never ran";
      }
    }
    return twice_;
  }

  // Where an assignment goes on in the middle of a second, two assignments report that second.
  void take(const ShareStory& share, const Numbered& one, bool may_be_double) {
    const auto window = account::decode_window(one.told->window, job_.shape);
    if (!sum_) sum_.emplace(job_.shape);
    sum_->merge(*window);
    iterations_[share.workflow] += window->workflows[share.workflow].iterations;
    if (job_.spec[share.workflow].length == Duration::zero()) return;
    for (uint32_t part = share.parts.first; part < share.parts.first + share.parts.count; ++part) {
      const Place place(share.workflow, part, one.second);
      if (may_be_double) {
        covered_.insert(place);
      } else if (!full_.insert(place).second) {
        twice_ = fmt::format("second {} of part {} of workflow {} of job '{}' counts twice", one.second, part,
                             share.workflow, job_.id);
      }
    }
  }

  std::string compare(const std::string& bytes) const {
    auto state = account::decode_totals(bytes, *job_.plan);
    if (!state) return fmt::format("the totals of job '{}' cannot be read: {}", job_.id, state.error().message);
    const metrics::Window nothing(job_.shape);
    const std::string told = sums_of(sum_ ? *sum_ : nothing, job_.shape);
    if (sums_of(state->sum, job_.shape) == told) return {};
    return fmt::format("the totals of job '{}' are not the sum of the seconds that count", job_.id);
  }

  bool is_in_losses(uint64_t second) const {
    const Duration from = Duration::seconds(static_cast<int64_t>(second));
    return std::any_of(job_.sheet.losses.begin(), job_.sheet.losses.end(), [&](const plan::Loss& loss) {
      return loss.share > 0 && loss.from < from + Duration::seconds(1) && loss.to > from;
    });
  }

  // Planned load that does not count is a reported loss.
  std::string look_for_gaps() const {
    if (job_.sheet.stop) return {};
    for (uint16_t w = 0; w < job_.spec.size(); ++w) {
      const dispatch::WorkflowSheet& one = job_.sheet.workflows[w];
      if (one.state != dispatch::WorkflowState::kCompleted || job_.spec[w].length == Duration::zero()) continue;
      if (job_.spec[w].counted) continue;
      const auto seconds = static_cast<uint64_t>((job_.spec[w].length.ns() + kSecondNs - 1) / kSecondNs);
      for (uint32_t part = 0; part < one.parts; ++part) {
        for (uint64_t second = one.base_second; second < one.base_second + seconds; ++second) {
          const Place place(w, part, second);
          if (full_.contains(place) || covered_.contains(place) || is_in_losses(second)) continue;
          return fmt::format("second {} of part {} of workflow {} of job '{}' is missing, and no loss tells of it",
                             second, part, w, job_.id);
        }
      }
    }
    return {};
  }

  // No iteration counts twice, and an iteration that no assignment has begun is a reported loss.
  std::string look_at_iterations() const {
    for (uint16_t w = 0; w < job_.spec.size(); ++w) {
      const dispatch::WorkflowSheet& one = job_.sheet.workflows[w];
      if (!job_.spec[w].counted || one.parts == 0) continue;
      const uint64_t planned = job_.spec[w].counted->planned(0, 1);
      const auto counted = iterations_.find(w);
      const uint64_t done = counted == iterations_.end() ? 0 : counted->second;
      const std::string whose = fmt::format(" iterations of workflow {} of job '{}' count, of {}", w, job_.id, planned);
      if (done > planned) return std::to_string(done) + whose;
      const bool completed = one.state == dispatch::WorkflowState::kCompleted && !job_.sheet.stop;
      if (completed && done < planned && job_.sheet.losses.empty()) {
        return fmt::format("only {}{}, and no loss tells of it", done, whose);
      }
    }
    return {};
  }

  // All assignments of a workflow begin with the same values, which a workflow provided; a missing one is reported.
  std::string look_at_values() const {
    const auto& events = job_.sheet.events;
    const bool told = job_.sheet.events_dropped > 0 || std::any_of(events.begin(), events.end(), [](const auto& one) {
                        return one.kind == "value_missing";
                      });
    std::map<uint16_t, const ShareStory*> first;
    for (const auto& [id, share] : job_.shares) {
      const auto& uses = job_.spec[share.workflow].uses;
      if (!share.begun || uses.empty()) continue;
      const auto [at, is_first] = first.try_emplace(share.workflow, &share);
      if (!is_first && at->second->given != share.given)
        return of_share(id, job_) + " has other values than another one";
      if (share.given.size() < uses.size() && !told)
        return of_share(id, job_) + " lacks values, and nobody tells of it";
      for (const plan::Given& one : share.given) {
        const uint16_t from = uses.at(one.use).from;
        const bool known = std::any_of(job_.shares.begin(), job_.shares.end(), [&](const auto& maker) {
          const auto& made = maker.second.provided;
          return maker.second.workflow == from && std::find(made.begin(), made.end(), one.text) != made.end();
        });
        if (!known) return fmt::format("{} has a value that nobody provided: {}", of_share(id, job_), one.text);
      }
    }
    return {};
  }

  const JobStory& job_;
  CountedSeconds& seconds_;
  std::optional<metrics::Window> sum_;
  std::set<Place> full_;
  std::set<Place> covered_;                  // in part
  std::map<uint16_t, uint64_t> iterations_;  // that count, by workflow
  std::string twice_;
};

}  // namespace

std::string fault_of(const dispatch::JobSheet& sheet) {
  for (std::size_t i = 0; i < sheet.shares.size(); ++i) {
    for (std::size_t k = i + 1; k < sheet.shares.size(); ++k) {
      const ShareSheet& a = sheet.shares[i];
      const ShareSheet& b = sheet.shares[k];
      if (!is_live(a) || !is_live(b) || a.workflow != b.workflow || !overlap(a.parts, b.parts)) continue;
      // One hands over to the other, or is going to.
      if (a.handed_over || (b.follows == a.id && !b.streams)) continue;
      return fmt::format("shares {} and {} of job '{}' have parts in common", a.id.value(), b.id.value(), sheet.id);
    }
  }
  return {};
}

std::string fault_of(const JobStory& job, const std::string& account, CountedSeconds& seconds) {
  return JobJudge(job, seconds).judge(account);
}

std::string loss_of(const JobStory& job) {
  const auto& events = job.sheet.events;
  // A long absence of managers is enough for that.
  const bool unsynced =
      std::any_of(events.begin(), events.end(), [](const auto& one) { return one.kind == "layer_sync_failed"; });
  if (!job.sheet.losses.empty() && !unsynced) {
    return fmt::format("job '{}' has a loss although nothing could be lost: {}", job.id,
                       job.sheet.losses.front().cause);
  }
  const bool stopped = job.sheet.stop.has_value() || unsynced;
  if (!stopped && job.sheet.state != dispatch::JobState::kCompleted) {
    return fmt::format("job '{}' is {} although no worker broke: {}", job.id, to_string(job.sheet.state),
                       job.sheet.why);
  }
  for (const dispatch::WorkflowSheet& one : job.sheet.workflows) {
    if (one.retries > 0)
      return fmt::format("a share of job '{}' was given to somebody else although no worker broke", job.id);
  }
  return {};
}

}  // namespace bellwether::sim
