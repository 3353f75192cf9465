// What one voter knows of a candidate before it believes it: the operator's attestation, and its state in membership.
// The outcome goes to the kernel with each candidacy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/signature/keys.h"
#include "election/vote/vote_events.h"

namespace bellwether::cluster {

struct VettingSettings {
  std::optional<signature::PublicKey> operator_key;  // nothing: every node's claims about its abilities are accepted
  std::string cluster;                               // CLUSTER/ENVIRONMENT, as attestations name it
  std::string attestation;                           // this node's own; empty: it has none
};

class Vetting {
 public:
  Vetting(VettingSettings settings, std::string self) : settings_(std::move(settings)), self_(std::move(self)) {}

  // Those of this node's capabilities that others will believe.
  std::vector<std::string> claimable(const std::vector<std::string>& capabilities, WallTime now) const;
  // Why it may claim none; empty: it may.
  std::string own_trouble(WallTime now) const;
  const std::string& own_attestation() const { return settings_.attestation; }

  // `is_there`: membership holds it alive or suspected.
  vote::PeerVetted vet(vote::NodeId node, const std::string& name, const vote::Claim& claim, bool is_there,
                       WallTime now) const;

 private:
  struct Attested {
    std::vector<std::string> capabilities;
    std::string why;  // there are none
  };
  Attested attested(const std::string& text, const std::string& name, WallTime now) const;

  VettingSettings settings_;
  std::string self_;
};

}  // namespace bellwether::cluster
