// What was not measured, because whoever was to run it was lost: written down while the run goes on.

#include <algorithm>
#include <utility>

#include "base/probe.h"
#include "dispatch/job.h"

namespace bellwether::dispatch {
namespace {

Duration seconds_of(uint64_t count) { return Duration::seconds(static_cast<int64_t>(count)); }

}  // namespace

std::string Job::how_lost(const ShareSheet& share) {
  const bool left = share.end && share.end->outcome == ShareOutcome::kLeft;
  return "worker '" + share.worker + (left ? "' left" : "' was lost");
}

// A workflow that ends before its time, while the run goes on, is missing from then on.
void Job::lose_rest(Instant now, uint16_t workflow, const std::string& how) {
  const WorkflowSheet& one = sheet_.workflows[workflow];
  if (!one.begun || one.parts == 0 || is_past(now, workflow) || spec_[workflow].length == Duration::zero()) return;
  add_loss(workflow, how, one.parts, elapsed(now), clock_of(workflow) + spec_[workflow].length - *zero_);
}

// What nobody measured of these parts from when their last share was lost until now; from the workflow's begin where no
// share of theirs is known to have begun. What runs once begins whenever somebody runs it.
void Job::write_losses(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until) {
  const bool once = spec_[workflow].length == Duration::zero();
  const Duration begin = Duration::seconds(static_cast<int64_t>(sheet_.workflows[workflow].base_second));
  std::map<Duration, std::pair<uint32_t, std::string>> lost;  // since when: how many parts, of whom
  for (const uint32_t part : parts) {
    const ShareSheet* last = nullptr;
    for (const ShareSheet& share : sheet_.shares) {
      const bool given_up = share.state == ShareState::kGone || share.handed_over;
      const bool holds = share.workflow == workflow && given_up && share.streams && part >= share.parts.first &&
                         part < share.parts.first + share.parts.count;
      if (holds && (last == nullptr || share.lost_from >= last->lost_from)) last = &share;
    }
    if (last == nullptr && once) continue;
    auto& [count, who] = lost[last == nullptr ? begin : last->lost_from];
    ++count;
    who = last == nullptr ? "nobody had begun with it" : how_lost(*last);
  }
  for (const auto& [since, what] : lost) add_loss(workflow, what.second, what.first, since, std::max(since, until));
}

void Job::add_loss(uint16_t workflow, const std::string& how, uint32_t parts, Duration from, Duration to) {
  changed_ = true;
  plan::Loss loss{from, to, static_cast<double>(parts) / std::max(sheet_.workflows[workflow].parts, 1U),
                  how + ", workflow '" + spec_[workflow].name + "'"};
  if (sheet_.losses.size() < kMostLosses) {
    sheet_.losses.push_back(std::move(loss));
    return;
  }
  plan::Loss& last = sheet_.losses.back();
  last = {std::min(last.from, loss.from), std::max(last.to, loss.to), std::max(last.share, loss.share),
          "several losses, more than are listed one by one"};
}

// The account is a copy, and may be older than the sheet. What it lacks of shares that have ended, their workers still
// have: they are asked, as those that run are. What it lacks of those that are gone is lost with them.
void Job::follow_account(Instant now) {
  for (ShareSheet& share : sheet_.shares) {
    const uint64_t counted = applied_[share.id];
    if (!share.streams || has_all_of(share)) continue;
    const Duration until = seconds_of(share.from + counted);
    if (share.state == ShareState::kEnded) {
      BW_PROBE("dispatch: a share has ended whose last seconds_of the account lacks");
      set(now, share, ShareState::kStopping);
    } else if (share.state == ShareState::kGone && until < share.lost_from) {
      BW_PROBE("dispatch: a share is gone whose last seconds_of the account lacks");
      // Of parts that nobody has gone on with, the loss is not written yet.
      const uint32_t written = is_final(sheet_.workflows[share.workflow].state) ? share.parts.count : succeeded(share);
      if (written > 0) add_loss(share.workflow, how_lost(share), written, until, share.lost_from);
      share.lost_from = until;
    }
  }
}

// How many of its parts another share has gone on with.
uint32_t Job::succeeded(const ShareSheet& share) const {
  uint32_t count = 0;
  for (const uint32_t part : parts_of(share.parts)) {
    count += std::any_of(sheet_.shares.begin(), sheet_.shares.end(), [&](const ShareSheet& other) {
      return other.workflow == share.workflow && other.id.value() > share.id.value() && other.streams &&
             part >= other.parts.first && part < other.parts.first + other.parts.count;
    });
  }
  return count;
}

}  // namespace bellwether::dispatch
