// Shares that run for longer than they may. The owner is asked for more time before theirs is over. When it gives no
// more, the process is told, and has some seconds in which all that it has measured is told; then the scenario says
// what follows.

#include <algorithm>

#include "base/probe.h"
#include "dispatch/worker_desk.h"

namespace bellwether::dispatch {

using namespace desk_effect;  // NOLINT(google-build-using-namespace): the words of this kernel

void WorkerDesk::set_time(Share& share, Instant ends, Duration ask_before) {
  share.time_ends = ends;
  share.ask_at = ends - std::min(ask_before, share.order.execution_limit / 2);
}

Instant WorkerDesk::next_of_time(const Share& share) {
  switch (share.overtime) {
    case Share::Overtime::kNone: return std::min(share.ask_at, share.time_ends);
    case Share::Overtime::kGrace: return share.time_ends + kGrace;
    case Share::Overtime::kOver: break;
  }
  return Instant::never();
}

std::string WorkerDesk::time_used(const Share& share) {
  return "it ran for " + seconds_text(share.time_ends - share.begun) + ", as long as it may";
}

void WorkerDesk::watch_time(const ShareKey& key, Share& share, DeskEffects& out) {
  if (share.overtime == Share::Overtime::kNone && now_ < share.time_ends) {
    out.push_back(AskForTime{key, share.time_ends - now_});
    share.ask_at = now_ + kAskAgain;
    return;
  }
  const std::string whose = "share " + std::to_string(key.share.value()) + " of job '" + key.job + "'";
  if (share.overtime == Share::Overtime::kNone) {
    share.overtime = Share::Overtime::kGrace;
    out.push_back(Warn{key});
    out.push_back(Note{true, whose + " has " + seconds_text(kGrace) + " to end: " + time_used(share)});
    return;
  }
  share.overtime = Share::Overtime::kOver;
  switch (share.order.on_overtime) {
    case plan::OnOvertime::kKill:
      stop(key, share, StopHow::kAtOnce, ShareOutcome::kOvertime, time_used(share), out);
      break;
    case plan::OnOvertime::kPause:
      BW_PROBE("worker: a share is paused");
      out.push_back(Stop{key, StopHow::kGraceful});
      out.push_back(Note{true, whose + " starts nothing new: " + time_used(share)});
      break;
    case plan::OnOvertime::kNotify: break;
  }
}

void WorkerDesk::on(const desk_event::TimeGiven& event, DeskEffects& out) {
  Share* const share = find(event.share);
  if (share == nullptr || share->gone || share->phase != SharePhase::kRunning) return;
  if (share->stopping || share->killed) return;
  if (share->overtime != Share::Overtime::kNone) return;  // it came too late
  const MoreTime& answer = event.answer;
  if (answer.granted > Duration::zero()) {
    // Half of what was granted is left when more is asked for, at the latest.
    set_time(*share, share->time_ends + answer.granted, std::min(kAskBefore, answer.granted / 2));
    if (answer.warning) out.push_back(Warn{event.share});
  } else if (answer.over) {
    share->time_ends = std::min(share->time_ends, now_);
  }
}

}  // namespace bellwether::dispatch
