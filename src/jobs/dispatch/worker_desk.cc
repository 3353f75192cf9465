#include "jobs/dispatch/worker_desk.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"

namespace bellwether::dispatch {

using namespace desk_effect;  // NOLINT(google-build-using-namespace): the words of this kernel

namespace {

bool makes_sense(const ShareOrder& order) {
  return is_good(order.parts) && order.cores > 0 && order.workflow < kMostWorkflows && order.share.value() > 0 &&
         order.isolation_limit > Duration::zero() && order.execution_limit > Duration::zero() &&
         order.kill_grace >= Duration::zero();
}

// The other fields may differ when an owner repeats an offer.
bool is_same_work(const ShareOrder& a, const ShareOrder& b) {
  return a.workflow == b.workflow && a.parts == b.parts && a.bundle == b.bundle && a.seed == b.seed;
}

}  // namespace

WorkerDesk::WorkerDesk(WorkerDeskConfig config)
    : config_(config), cores_(config.cores), shelf_(config.bundle_bytes_most) {
  check(config.cores > 0 && config.jobs_most > config.shares_most, "a worker can remember more jobs than it runs");
}

std::string WorkerDesk::named(ShareId share, const std::string& job) {
  return fmt::format("share {} of job '{}'", share.value(), job);
}

void WorkerDesk::step(Instant now, const DeskEvent& event, DeskEffects& out) {
  now_ = now;
  std::visit([&](const auto& one) { on(one, out); }, event);
  if (std::exchange(changed_, false)) out.push_back(desk_effect::Report{});
  if (draining_ && !told_idle_ && unfinished() == 0) {
    told_idle_ = true;
    out.push_back(Idle{});
  }
}

void WorkerDesk::on(const desk_event::Asked& event, DeskEffects& out) {
  Answered answer = std::visit([&](const auto& letter) { return ask(letter, event, out); }, event.letter);
  if (answer) out.push_back(Answer{event.ticket, std::move(*answer)});
}

template <class Other>
WorkerDesk::Answered WorkerDesk::ask(const Other&, const desk_event::Asked&, DeskEffects&) {
  return refusal(Refusal::Kind::kInvalid, "such letters are not for a worker");
}

// --- senders ---------------------------------------------------------------------------------------------------------

WorkerDesk::Job* WorkerDesk::listen(const std::string& id, JobFence fence, const std::string& from, Refusal& stale,
                                    DeskEffects& out) {
  const auto found = jobs_.find(id);
  if (found != jobs_.end() && !election::in_order(fence, found->second.fence)) {
    BW_PROBE("worker: an owner that is none any more is refused");
    stale = refusal(Refusal::Kind::kStale, fmt::format("job '{}' has another owner, '{}'", id, found->second.owner));
    stale.owner = found->second.owner;
    stale.fence = found->second.fence;
    return nullptr;
  }
  Job& job = job_at(id);
  job.heard = now_;
  const bool later = fence > job.fence;
  job.fence = fence;
  if (later || job.owner != from) follow(id, job, from, out);
  return &job;
}

WorkerDesk::Job& WorkerDesk::job_at(const std::string& id) {
  if (!jobs_.contains(id) && jobs_.size() >= config_.jobs_most) {
    BW_PROBE("worker: the oldest job is forgotten to remember another one");
    auto oldest = jobs_.end();
    for (auto at = jobs_.begin(); at != jobs_.end(); ++at) {
      if (!at->second.shares.empty()) continue;
      if (oldest == jobs_.end() || at->second.touched < oldest->second.touched) oldest = at;
    }
    check(oldest != jobs_.end(), "there are more jobs than shares");
    jobs_.erase(oldest);
  }
  if (jobs_.empty()) sweep_at_ = now_ + kSweepEvery;
  Job& job = jobs_[id];
  job.touched = now_;
  return job;
}

WorkerDesk::Share* WorkerDesk::share_of(Job& job, const std::string& id, ShareId share, Response& answer) {
  const auto found = job.shares.find(share);
  if (found != job.shares.end() && !found->second.gone) return &found->second;
  answer = refusal(Refusal::Kind::kUnknown, named(share, id) + " is not here");
  return nullptr;
}

void WorkerDesk::follow(const std::string& id, Job& job, const std::string& owner, DeskEffects& out) {
  job.owner = owner;
  if (!job.shares.empty()) out.push_back(Follow{id});
}

// --- offers ----------------------------------------------------------------------------------------------------------

WorkerDesk::Answered WorkerDesk::ask(const Offer& letter, const desk_event::Asked& asked, DeskEffects& out) {
  const ShareOrder& order = letter.order;
  if (!makes_sense(order)) {
    return refusal(Refusal::Kind::kInvalid,
                   fmt::format("the offer of {} makes no sense", named(order.share, order.job)));
  }
  Refusal stale;
  Job* const job = listen(order.job, order.fence, asked.from, stale, out);
  if (job == nullptr) return stale;
  const auto here = job->shares.find(order.share);
  if (here != job->shares.end() && !here->second.gone) return known(*job, here->second, order, asked.ticket);
  if (job->retired && order.fence <= job->retired_by) {
    return refusal(Refusal::Kind::kStale, fmt::format("job '{}' is over", order.job));
  }
  const DispatchAttempt attempt = attempt_of(order.fence, order.share);
  const auto workflow = job->workflows.find(order.workflow);
  // A later owner may repeat the offer of an assignment that never began. One that began has a stream with its number.
  const bool in_order = workflow == job->workflows.end() ||
                        (election::in_order(attempt, workflow->second.highest) && order.share > workflow->second.begun);
  if (!in_order) {
    BW_PROBE("worker: an attempt that is not in order is refused");
    if (attempt == workflow->second.highest && workflow->second.refused) return *workflow->second.refused;
    return refusal(Refusal::Kind::kStale, fmt::format("a later share of that workflow than {} was taken: {}",
                                                      named(order.share, order.job), workflow->second.highest.attempt));
  }
  if (here != job->shares.end()) {
    return refusal(Refusal::Kind::kBusy, named(order.share, order.job) + " is being ended here");
  }
  return admit(*job, order, asked.ticket, out);
}

// The same offer again, perhaps under a later fence, from a new owner.
WorkerDesk::Answered WorkerDesk::known(Job& job, Share& share, const ShareOrder& order, uint64_t ticket) {
  if (!is_same_work(share.order, order)) {
    return refusal(Refusal::Kind::kInvalid, named(order.share, order.job) + " was offered as something else before");
  }
  Workflow& workflow = job.workflows[order.workflow];
  workflow.highest = std::max(workflow.highest, attempt_of(order.fence, order.share));
  if (!share.has_begun) {
    share.order.base_second = order.base_second;
    share.begin_by = now_ + share.order.isolation_limit;
  }
  if (share.phase == SharePhase::kPreparing) {
    if (share.waiting.size() >= kMostWaiting) {
      return refusal(Refusal::Kind::kBusy, fmt::format("many ask for {} already", named(order.share, order.job)));
    }
    share.waiting.push_back(ticket);
    return std::nullopt;
  }
  if (share.phase == SharePhase::kEnded && !share.has_begun) {
    return refusal(Refusal::Kind::kBroken,
                   fmt::format("{} ended before it began: {}", named(order.share, order.job), share.end.detail));
  }
  return Noted{};
}

WorkerDesk::Answered WorkerDesk::admit(Job& job, const ShareOrder& order, uint64_t ticket, DeskEffects& out) {
  if (order.context_version < job.context_version) {
    return refusal(Refusal::Kind::kStale, named(order.share, order.job) + " belongs to a layer that has ended");
  }
  if (draining_) return refusal(Refusal::Kind::kBusy, "this worker is to end, and takes nothing new");
  if (!takes_work_) return refusal(Refusal::Kind::kBusy, "this worker takes no work: " + unwilling_why_);
  if (!make_room(out)) {
    return refusal(
        Refusal::Kind::kBusy,
        fmt::format("this worker keeps {} shares already, until their jobs are retired", config_.shares_most));
  }
  auto cores = cores_.take(order.cores, order.parts.count, order.squeeze);
  if (!cores) {
    return refusal(Refusal::Kind::kBusy, fmt::format("{} of {} cores are free, and {} are asked for", cores_.free(),
                                                     cores_.count(), order.cores));
  }
  BundleShelf::Bytes bundle = shelf_.find(order.bundle);
  if (bundle == nullptr) {
    cores_.give_back(*cores);
    return refusal(Refusal::Kind::kUnknown, fmt::format("the bundle {} is not here", order.bundle));
  }
  job.retired = false;
  job.context_version = order.context_version;
  Workflow& workflow = job.workflows[order.workflow];
  workflow.highest = attempt_of(order.fence, order.share);
  workflow.refused.reset();
  Share& share = job.shares[order.share];
  share.order = order;
  share.waiting.push_back(ticket);
  share.core_of_part = std::move(*cores);
  share.bundle = bundle;
  share.begin_by = now_ + order.isolation_limit;
  changed_ = true;
  out.push_back(Start{{order.job, order.share}, order, share.core_of_part, std::move(bundle)});
  return std::nullopt;
}

// An ended assignment makes room if its data is durable or no owner has asked for long.
bool WorkerDesk::make_room(DeskEffects& out) {
  std::size_t shares = 0;
  Job* job_of = nullptr;
  ShareKey oldest;
  const Share* found = nullptr;
  for (auto& [id, job] : jobs_) {
    shares += job.shares.size();
    for (const auto& [number, share] : job.shares) {
      const bool ended = share.phase == SharePhase::kEnded && !share.gone;
      if (!ended || (!share.delivered && now_ - share.ended < config_.remember)) continue;
      const bool better = found == nullptr || share.delivered > found->delivered ||
                          (share.delivered == found->delivered && share.ended < found->ended);
      if (!better) continue;
      job_of = &job;
      oldest = {id, number};
      found = &share;
    }
  }
  if (shares < config_.shares_most) return true;
  if (found == nullptr) return false;
  BW_PROBE("worker: a share that has ended makes room");
  if (!found->delivered) {
    out.push_back(Note{true, fmt::format("what {} measured is forgotten, because nobody has asked for it for long",
                                         named(oldest.share, oldest.job))});
  }
  job_of->shares.erase(oldest.share);
  out.push_back(Forget{oldest});
  return true;
}

// --- other messages --------------------------------------------------------------------------------------------------

WorkerDesk::Answered WorkerDesk::ask(const BundleLetter& letter, const desk_event::Asked& asked, DeskEffects&) {
  const auto job = jobs_.find(letter.job);
  if (job != jobs_.end() && job->second.owner == asked.from) job->second.heard = now_;
  const Status kept = shelf_.put(letter.hash, letter.bytes);
  if (kept) return Noted{};
  const bool for_now = kept.error().code == Errc::kExhausted;
  return refusal(for_now ? Refusal::Kind::kBusy : Refusal::Kind::kInvalid, kept.error().message);
}

WorkerDesk::Answered WorkerDesk::ask(const ScaleLetter& letter, const desk_event::Asked& asked, DeskEffects& out) {
  Refusal stale;
  Job* const job = listen(letter.job, letter.fence, asked.from, stale, out);
  if (job == nullptr) return stale;
  Response answer;
  Share* const share = share_of(*job, letter.job, letter.share, answer);
  if (share == nullptr) return answer;
  if (share->phase != SharePhase::kEnded) out.push_back(desk_effect::Scale{{letter.job, letter.share}, letter.vus});
  return Noted{};
}

WorkerDesk::Answered WorkerDesk::ask(const StopLetter& letter, const desk_event::Asked& asked, DeskEffects& out) {
  Refusal stale;
  Job* const job = listen(letter.job, letter.fence, asked.from, stale, out);
  if (job == nullptr) return stale;
  Response answer;
  Share* const share = share_of(*job, letter.job, letter.share, answer);
  if (share == nullptr) return answer;
  const ShareKey key{letter.job, letter.share};
  if (share->phase == SharePhase::kPreparing || share->phase == SharePhase::kReady) {
    drop(key, *share, Refusal::Kind::kStale, "was told to stop: " + letter.why, out);
  } else {
    stop(key, *share, letter.how, ShareOutcome::kStopped, letter.why, out);
  }
  return Noted{};
}

WorkerDesk::Answered WorkerDesk::ask(const AdoptLetter& letter, const desk_event::Asked& asked, DeskEffects& out) {
  Refusal stale;
  Job* const job = listen(letter.job, letter.fence, asked.from, stale, out);
  if (job == nullptr) return stale;
  Adopted adopted;
  for (auto& [number, share] : job->shares) {
    if (share.gone) continue;
    ShareSight& sight = adopted.shares.emplace_back();
    sight.share = number;
    sight.phase = share.phase;
    sight.measured = share.measured;
    sight.until = share.until;
    sight.end = share.end;
    if (share.has_begun) sight.from = share.from;
    if (share.phase == SharePhase::kRunning) sight.clock = now_ - share.origin;
    const auto stream = std::find_if(letter.streams.begin(), letter.streams.end(),
                                     [id = number](const AdoptLetter::Stream& one) { return one.share == id; });
    if (share.has_begun) {
      out.push_back(Resume{{letter.job, number}, stream == letter.streams.end() ? 0 : stream->applied});
    }
    if (share.phase != SharePhase::kEnded) continue;
    share.delivered = false;
    out.push_back(TellEnd{{letter.job, number}, share.end});
  }
  return adopted;
}

WorkerDesk::Answered WorkerDesk::ask(const RetireLetter& letter, const desk_event::Asked& asked, DeskEffects& out) {
  Refusal stale;
  Job* const job = listen(letter.job, letter.fence, asked.from, stale, out);
  if (job == nullptr) return stale;
  job->retired = true;
  job->retired_by = letter.fence;
  for (auto at = job->shares.begin(); at != job->shares.end();) {
    Share& share = at->second;
    const ShareKey key{letter.job, at->first};
    if (share.phase == SharePhase::kEnded && !share.gone) {
      out.push_back(Forget{key});
      at = job->shares.erase(at);
      changed_ = true;
      continue;
    }
    if (!share.gone) drop(key, share, Refusal::Kind::kStale, "belongs to a job that is over", out);
    ++at;
  }
  return Noted{};
}

// How prepared assignments begin, and how a running one gives its parts to others.

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
    answer = refusal(Refusal::Kind::kUnknown,
                     fmt::format("{} ended before it began: {}", named(number, id), share->end.detail));
    return nullptr;
  }
  return share;
}

void WorkerDesk::begin(Job& job, const desk_effect::Begin& begin, Share& share, DeskEffects& out) {
  share.phase = SharePhase::kRunning;
  share.has_begun = true;
  share.order.base_second = begin.base;  // the order may be older than this number
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
    return refusal(Refusal::Kind::kInvalid, fmt::format("{} cannot begin at second {} of the run",
                                                        named(letter.share, letter.job), letter.from));
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
    return refusal(Refusal::Kind::kInvalid, fmt::format("{} cannot take over at second {} of the run",
                                                        named(letter.share, letter.job), letter.from));
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
    return refusal(Refusal::Kind::kInvalid, fmt::format("{} cannot hand over at second {} of the run",
                                                        named(letter.share, letter.job), letter.until));
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
