// How the shares that a worker has prepared begin, and how one that runs gives its parts to others.

#include <algorithm>

#include "base/probe.h"
#include "dispatch/worker_desk.h"

namespace bellwether::dispatch {

using namespace desk_effect;  // NOLINT(google-build-using-namespace): the words of this kernel

namespace {

constexpr Duration kLongestClock = Duration::hours(24 * 365);

}  // namespace

WorkerDesk::Share* WorkerDesk::to_begin(Job& job, const std::string& id, ShareId number, Response& answer) {
  Share* const share = share_of(job, id, number, answer);
  if (share == nullptr) return nullptr;
  answer = Noted{};
  if (share->has_begun) return nullptr;
  if (share->phase == SharePhase::kPreparing) {
    answer = refusal(Refusal::Kind::kBusy, named(number, id) + " is still being prepared");
    return nullptr;
  }
  if (share->phase == SharePhase::kEnded) {
    answer = refusal(Refusal::Kind::kUnknown, named(number, id) + " ended before it began: " + share->end.detail);
    return nullptr;
  }
  return share;
}

void WorkerDesk::begin(Job& job, const desk_effect::Begin& begin, Share& share, DeskEffects& out) {
  share.phase = SharePhase::kRunning;
  share.has_begun = true;
  share.order.base_second = begin.base;  // the order may have come before anybody knew it
  share.origin = begin.origin;
  share.begun = std::max(now_, begin.origin + begin.at.value_or(Duration::zero()));
  set_time(share, share.begun + share.order.execution_limit, kAskBefore);
  share.from = begin.from;
  Workflow& workflow = job.workflows[share.order.workflow];
  workflow.begun = std::max(workflow.begun, begin.share.share);
  changed_ = true;
  out.push_back(begin);
}

WorkerDesk::Answered WorkerDesk::ask(const BeginLetter& letter, const desk_event::Asked& asked, DeskEffects& out) {
  Refusal stale;
  Job* const job = listen(letter.job, letter.fence, asked.from, stale, out);
  if (job == nullptr) return stale;
  Response answer;
  Share* const share = to_begin(*job, letter.job, letter.share, answer);
  if (share == nullptr) return answer;
  const bool before = letter.resumes && letter.from < share->order.base_second;
  if (before || letter.from >= kMostSeconds || letter.clock > kLongestClock || letter.clock < -kLongestClock) {
    return refusal(Refusal::Kind::kInvalid, named(letter.share, letter.job) + " cannot begin at second " +
                                                std::to_string(letter.from) + " of the run");
  }
  const uint64_t base = letter.resumes ? share->order.base_second : letter.from;
  begin(*job, {{letter.job, letter.share}, now_ - letter.clock, letter.resumes, base, letter.from, {}}, *share, out);
  return Noted{};
}

WorkerDesk::Answered WorkerDesk::ask(const TakeOverLetter& letter, const desk_event::Asked& asked, DeskEffects& out) {
  Refusal stale;
  Job* const job = listen(letter.job, letter.fence, asked.from, stale, out);
  if (job == nullptr) return stale;
  Response answer;
  Share* const share = to_begin(*job, letter.job, letter.share, answer);
  if (share == nullptr) return answer;
  const uint64_t base = share->order.base_second;
  if (letter.from <= base || letter.from >= kMostSeconds || letter.clock > kLongestClock ||
      letter.clock < Duration::zero()) {
    return refusal(Refusal::Kind::kInvalid, named(letter.share, letter.job) + " cannot take over at second " +
                                                std::to_string(letter.from) + " of the run");
  }
  const Duration at = Duration::seconds(static_cast<int64_t>(letter.from - base));
  if (letter.clock >= at) {
    BW_PROBE("worker: a share is told too late to take over");
    return refusal(Refusal::Kind::kStale, named(letter.share, letter.job) + " was told too late to take over");
  }
  begin(*job, {{letter.job, letter.share}, now_ - letter.clock, true, base, letter.from, at}, *share, out);
  return Noted{};
}

WorkerDesk::Answered WorkerDesk::ask(const HandOverLetter& letter, const desk_event::Asked& asked, DeskEffects& out) {
  Refusal stale;
  Job* const job = listen(letter.job, letter.fence, asked.from, stale, out);
  if (job == nullptr) return stale;
  Response answer;
  Share* const found = share_of(*job, letter.job, letter.share, answer);
  if (found == nullptr) return answer;
  Share& share = *found;
  if (share.until != 0 && share.until == letter.until) return Noted{};
  const uint64_t base = share.order.base_second;
  if (share.until != 0 || share.phase != SharePhase::kRunning || share.stopping || letter.until <= base ||
      letter.until >= kMostSeconds) {
    return refusal(Refusal::Kind::kInvalid, named(letter.share, letter.job) + " cannot hand over at second " +
                                                std::to_string(letter.until) + " of the run");
  }
  const Duration at = Duration::seconds(static_cast<int64_t>(letter.until - base));
  if (share.origin + at < now_ + kHandOverLeast) {
    BW_PROBE("worker: a share is told too late to hand over");
    return refusal(Refusal::Kind::kStale, named(letter.share, letter.job) + " was told too late to hand over");
  }
  share.until = letter.until;
  changed_ = true;
  out.push_back(HandOver{{letter.job, letter.share}, at, letter.until});
  return Noted{};
}

}  // namespace bellwether::dispatch
