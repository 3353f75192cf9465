#include "cluster/vote/hearing_watch.h"

#include <algorithm>

#include "core/base/units.h"
#include "election/vote/ballot.h"

namespace bellwether::cluster {

HearingWatch::HearingWatch(const std::vector<std::string>& others, Duration limit, Instant now) : limit_(limit) {
  for (const std::string& name : others) voters_[name].last = now;
}

void HearingWatch::heard(const std::string& name, Instant now) {
  if (const auto at = voters_.find(name); at != voters_.end()) at->second.last = std::max(at->second.last, now);
}

std::vector<std::pair<std::string, Duration>> HearingWatch::unheard(Instant now) const {
  std::vector<std::pair<std::string, Duration>> out;
  for (const auto& [name, voter] : voters_) {
    if (now - voter.last > limit_) out.emplace_back(name, now - voter.last);
  }
  return out;
}

bool HearingWatch::in_minority(Instant now) const {
  const std::size_t all = voters_.size() + 1;
  return all - unheard(now).size() < vote::majority_of(all);
}

std::vector<HearingWatch::Change> HearingWatch::look(Instant now) {
  std::vector<Change> out;
  std::string lost;
  for (auto& [name, voter] : voters_) {
    const bool is_lost = now - voter.last > limit_;
    if (is_lost && !voter.lost) {
      lost += fmt::format("{}{}' for {}", lost.empty() ? "'" : ", '", name, format_duration(now - voter.last));
    } else if (!is_lost && voter.lost) {
      out.push_back({false, fmt::format("hears '{}' again", name)});
    }
    voter.lost = is_lost;
  }
  if (lost.empty()) return out;
  const std::size_t all = voters_.size() + 1;
  const std::string heard = fmt::format("{} of {} voters", all - unheard(now).size(), all);
  out.push_back({true, fmt::format("has not heard {}: including itself, it hears {}{}", lost, heard,
                                   in_minority(now) ? ", a minority, which cannot elect an admin" : "")});
  return out;
}

}  // namespace bellwether::cluster
