#include "jobs/dispatch/job_parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/units.h"
#include "load/plan/schedule.h"

namespace bellwether::dispatch {

namespace {

// Whether a share holds, or held, this part of the workflow.
bool has_part(const ShareSheet& share, uint16_t workflow, uint32_t part) {
  return share.workflow == workflow && part >= share.parts.first && part - share.parts.first < share.parts.count;
}

}  // namespace

const ShareSheet* JobParts::find(ShareId share) const {
  const auto at = std::find_if(sheet_.shares.begin(), sheet_.shares.end(),
                               [share](const ShareSheet& one) { return one.id == share; });
  return at == sheet_.shares.end() ? nullptr : &*at;
}

bool JobParts::has_live(uint16_t workflow) const {
  return std::any_of(sheet_.shares.begin(), sheet_.shares.end(),
                     [&](const ShareSheet& share) { return share.workflow == workflow && is_live(share); });
}

uint32_t JobParts::parts_on(const std::string& worker) const {
  uint32_t sum = 0;
  for (const ShareSheet& share : sheet_.shares) {
    if (is_live(share) && share.worker == worker) sum += share.parts.count;
  }
  return sum;
}

std::vector<ShareId> JobParts::followers_of(ShareId from) const {
  std::vector<ShareId> found;
  for (const ShareSheet& share : sheet_.shares) {
    if (share.follows == from && is_live(share) && !share.streams) found.push_back(share.id);
  }
  return found;
}

std::vector<uint32_t> JobParts::gaps(uint16_t workflow) const {
  std::vector<bool> covered(sheet_.workflows[workflow].parts, false);
  for (const ShareSheet& share : sheet_.shares) {
    if (share.workflow != workflow || share.handed_over) continue;
    // What had begun with all of its iterations leaves nothing to anybody.
    const bool leaves_nothing = spec_[workflow].counted && share.streams && share.left == 0;
    if (share.state == ShareState::kGone && !leaves_nothing) continue;
    for (uint32_t i = 0; i < share.parts.count && share.parts.first + i < covered.size(); ++i) {
      covered[share.parts.first + i] = true;
    }
  }
  std::vector<uint32_t> left;
  for (uint32_t part = 0; part < covered.size(); ++part) {
    if (!covered[part]) left.push_back(part);
  }
  return left;
}

uint32_t JobParts::deaths(uint16_t workflow, uint32_t part) const {
  return static_cast<uint32_t>(std::count_if(sheet_.shares.begin(), sheet_.shares.end(), [&](const ShareSheet& share) {
    return has_part(share, workflow, part) && share.state == ShareState::kGone && share.streams && !share.end;
  }));
}

uint64_t JobParts::iterations_of(uint16_t workflow, uint32_t part) const {
  if (!spec_[workflow].counted) return 0;
  const ShareSheet* last = nullptr;
  for (const ShareSheet& share : sheet_.shares) {
    if (has_part(share, workflow, part) && share.state == ShareState::kGone && share.streams) last = &share;
  }
  return last == nullptr ? spec_[workflow].counted->planned(part, sheet_.workflows[workflow].parts)
                         : plan::dealt_to(last->left, part - last->parts.first, last->parts.count);
}

// --- what was not measured
// ---------------------------------------------------------------------------------------------

std::string JobParts::how_lost(const ShareSheet& share) {
  const bool left = share.end && share.end->outcome == ShareOutcome::kLeft;
  return "worker '" + share.worker + (left ? "' left" : "' was lost");
}

void JobParts::add_loss(uint16_t workflow, const std::string& how, uint32_t parts, Duration from, Duration to) {
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

void JobParts::write_losses(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until) {
  if (spec_[workflow].counted) return;
  const bool once = spec_[workflow].length == Duration::zero();
  const Duration begin = Duration::seconds(static_cast<int64_t>(sheet_.workflows[workflow].base_second));
  std::map<Duration, std::pair<uint32_t, std::string>> lost;  // since when: how many parts, of whom
  for (const uint32_t part : parts) {
    const ShareSheet* last = nullptr;
    for (const ShareSheet& share : sheet_.shares) {
      const bool given_up = share.state == ShareState::kGone || share.handed_over;
      const bool held = has_part(share, workflow, part) && given_up && share.streams;
      if (held && (last == nullptr || share.lost_from >= last->lost_from)) last = &share;
    }
    if (last == nullptr && once) continue;
    auto& [count, who] = lost[last == nullptr ? begin : last->lost_from];
    ++count;
    who = last == nullptr ? "nobody had begun with it" : how_lost(*last);
  }
  for (const auto& [since, what] : lost) add_loss(workflow, what.second, what.first, since, std::max(since, until));
}

void JobParts::lose_gaps(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until) {
  write_losses(workflow, parts, until);
  if (!spec_[workflow].counted) return;
  uint64_t left = 0;
  for (const uint32_t part : parts) left += iterations_of(workflow, part);
  Duration since = until;
  for (const ShareSheet& share : sheet_.shares) {
    if (share.workflow == workflow && share.left > 0) since = std::min(since, share.lost_from);
  }
  add_loss(workflow, format_count(left, "iteration") + " that nobody was left for", static_cast<uint32_t>(parts.size()),
           since, until);
}

uint32_t JobParts::succeeded(const ShareSheet& share) const {
  uint32_t count = 0;
  for (const uint32_t part : parts_of(share.parts)) {
    count += std::any_of(sheet_.shares.begin(), sheet_.shares.end(), [&](const ShareSheet& other) {
      return has_part(other, share.workflow, part) && other.id.value() > share.id.value() && other.streams;
    });
  }
  return count;
}

}  // namespace bellwether::dispatch
