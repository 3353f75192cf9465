#include "cluster/vote/vetting.h"

#include <algorithm>

#include "core/signature/attestation.h"

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

}  // namespace bellwether::cluster
