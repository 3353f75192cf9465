// Attempts at requests: begun, ended, stopped.
#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "election/context/duty_leader.h"

namespace bellwether::context_lead {

void DutyLeader::begin_jobs(Moment now, Effects& out) {
  for (auto& [id, job] : jobs_) {
    if (now.clock < job.fetch_at) continue;
    job.fetch_at = Instant::never();
    out.push_back(FetchPayload{id, job.fence, config_.settings.coordination_timeout});
  }
  while (can_work() && jobs_.size() < manager_->slots && queue_.room_to_finish(jobs_.size())) {
    const LiveRequest* next = queue_.next();
    if (next == nullptr) return;
    const RequestId id = next->id;
    const AttemptFence fence = queue_.start(id);
    changed_ = true;
    if (fence.attempt > kMostAttempts) {
      finish(id, fence, Outcome::kFailed, "given up: too many attempts without an end");
      continue;
    }
    jobs_[id] = Job{fence, false, now.clock, Instant::never()};
    then_.push_back(FetchPayload{id, fence, config_.settings.coordination_timeout});
  }
}

void DutyLeader::on_fetched(Moment now, const PayloadFetched& fetched, Effects& out) {
  const auto at = jobs_.find(fetched.id);
  if (at == jobs_.end() || at->second.fence != fetched.fence || at->second.runs) return;
  Job& job = at->second;
  switch (fetched.found) {
    case PayloadFetched::Found::kHere: {
      const LiveRequest* one = queue_.find(fetched.id);
      job.runs = true;
      job.since = now.clock;
      job.fetch_at = Instant::never();
      out.push_back(RunJob{{fetched.id, one->priority, one->submitted_at, fetched.payload}, job.fence});
      return;
    }
    case PayloadFetched::Found::kGone:
      complain(Severity::kCritical, "the payload of request " + to_string(fetched.id) + " is lost", out);
      finish(fetched.id, job.fence, Outcome::kFailed, "its payload is lost");
      jobs_.erase(at);
      return;
    case PayloadFetched::Found::kFailed:
      complain(Severity::kWarning,
               "the payload of request " + to_string(fetched.id) + " did not come: " + printable(fetched.why), out);
      job.fetch_at = now.clock + config_.settings.coordination_backoff;
      return;
  }
}

void DutyLeader::on_job_ended(Moment now, const JobEnded& ended, Effects& out) {
  const auto at = jobs_.find(ended.id);
  if (at == jobs_.end()) {
    const bool done = queue_.find_finished(ended.id) != nullptr;
    refuse_completion(ended, done ? "the request is finished" : "no attempt at the request runs here", out);
    return;
  }
  const Job job = at->second;
  if (job.fence != ended.fence || !job.runs) {
    refuse_completion(ended, to_string(job.fence) + " is the one that counts", out);
    return;
  }
  jobs_.erase(at);
  changed_ = true;
  if (ended.end == JobEnded::End::kCancelled) {
    queue_.requeue(ended.id, ended.fence, false);
    return;
  }
  const Duration took = now.clock - job.since;
  ++counted_.jobs_ended;
  counted_.job_time += took;
  counted_.longest_job = std::max(counted_.longest_job, took);
  if (ended.end == JobEnded::End::kDone) {
    finish(ended.id, ended.fence, Outcome::kCompleted, {});
  } else if (queue_.find(ended.id)->failures + 1 < kTries) {
    queue_.requeue(ended.id, ended.fence, true);
  } else {
    finish(ended.id, ended.fence, Outcome::kFailed, printable(ended.reason));
  }
}

void DutyLeader::finish(RequestId id, AttemptFence fence, Outcome outcome, std::string reason) {
  if (!queue_.finish(id, fence, outcome, std::move(reason))) return;
  changed_ = true;
  then_.push_back(TellOutcome{*queue_.find_finished(id)});
}

void DutyLeader::refuse_completion(const JobEnded& ended, std::string why, Effects& out) {
  // A job that was cancelled and says so is in order.
  if (ended.end == JobEnded::End::kCancelled) return;
  ++counted_.completions_refused;
  out.push_back(CompletionRefused{ended.id, ended.fence, std::move(why)});
}

void DutyLeader::stop_jobs(bool kill, Effects& out) {
  for (const auto& [id, job] : jobs_) {
    if (job.runs) out.push_back(CancelJob{id, job.fence, kill});
  }
}

void DutyLeader::go_through_stopping(Moment now, Stopping& stopping, Effects& out) {
  if (now.clock >= stopping.until) {
    const bool kill = std::exchange(stopping.cancelled, true);
    stop_jobs(kill, out);
    for (auto at = jobs_.begin(); at != jobs_.end();) {
      if (kill || !at->second.runs) {
        queue_.requeue(at->first, at->second.fence, false);
        changed_ = true;
        at = jobs_.erase(at);
      } else {
        ++at;
      }
    }
    stopping.until = kill ? Instant::never() : now.clock + config_.settings.generation_stop_timeout;
  }
  if (!jobs_.empty() || changed_ || writing_ || (stopping.hands_over && !pending_.empty())) return;
  const std::string why = stopping.why;
  if (std::exchange(generating_, false)) out.push_back(GenerationStopped{config_.self, why});
  if (stopping.hands_over) {
    phase_ = HandingOver{};
    hand_over(now, out);
  } else {
    phase_ = Idle{why};
  }
}

}  // namespace bellwether::context_lead
