#include "cluster/vote/vetting.h"

#include <algorithm>

#include "core/base/units.h"
#include "core/signature/attestation.h"
#include "election/vote/ballot.h"

namespace bellwether::cluster {

Vetting::Attested Vetting::attested(const std::string& text, const std::string& name, WallTime now) const {
  if (text.empty()) return {{}, "the operator has attested no capability of it"};
  const auto opened = signature::open_attestation(text, *settings_.operator_key);
  if (!opened) return {{}, "its attestation is invalid: " + opened.error().message};
  if (const auto why = why_not(*opened, settings_.cluster, name, now)) return {{}, *why};
  return {opened->capabilities, {}};
}

std::vector<std::string> Vetting::claimable(const std::vector<std::string>& capabilities, WallTime now) const {
  if (!settings_.operator_key) return capabilities;
  const Attested own = attested(settings_.attestation, self_, now);
  std::vector<std::string> out;
  for (const std::string& one : capabilities) {
    if (std::ranges::find(own.capabilities, one) != own.capabilities.end()) out.push_back(one);
  }
  return out;
}

std::string Vetting::own_trouble(WallTime now) const {
  return settings_.operator_key ? attested(settings_.attestation, self_, now).why : std::string();
}

vote::PeerVetted Vetting::vet(vote::NodeId node, const std::string& name, const vote::Claim& claim, bool is_there,
                              WallTime now) const {
  vote::PeerVetted out{.node = node};
  if (!is_there) out.absent = "membership does not report it as alive, so no vote could reach it";
  if (!settings_.operator_key) return out;
  Attested theirs = attested(claim.attestation, name, now);
  out.capabilities = std::move(theirs.capabilities);
  out.capabilities_why =
      theirs.why.empty() ? "the operator has not attested that capability of it" : std::move(theirs.why);
  return out;
}

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

std::vector<std::string> HearingWatch::judge(Instant now) {
  if (in_minority(now)) losses_.clear();
  std::vector<std::string> judged;
  for (const auto& [name, since] : losses_) {
    if (now - since > limit_) judged.push_back(name);
  }
  for (const std::string& name : judged) losses_.erase(name);
  return judged;
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
