// A voter's own knowledge of the others, beside their messages: the operator's attestation, the state in membership,
// and who is heard.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/signature/keys.h"
#include "election/vote/vote_events.h"

namespace bellwether::cluster {

struct VettingSettings {
  std::optional<signature::PublicKey> operator_key;  // nothing: every node's claims about its abilities are accepted
  std::string cluster;                               // CLUSTER/ENVIRONMENT, as attestations name it
  std::string attestation;                           // this node's own; empty: it has none
};

// What is known of a candidate before this voter believes it. The outcome goes to the kernel with each candidacy.
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

// The other voters that a node hears, independent of the current admin. Before any election shows a partition, it shows
// which voters the nodes of a part that is cut off do not hear. It also judges which admins went silent: a node that
// hears only a few is itself cut off, which shows later than the silence of an admin.
class HearingWatch {
 public:
  // `others`: names. A voter that is silent for longer than `limit` is not heard.
  HearingWatch(const std::vector<std::string>& others, Duration limit, Instant now);

  void heard(const std::string& name, Instant now);
  // It was the admin, and sends no heartbeats any more.
  void admin_lost(const std::string& name, Instant now) { losses_[name] = now; }
  // The lost admins whose silence is now certain to be their own, each once.
  std::vector<std::string> judge(Instant now);
  // The changes since the last look, in words; a warning when fewer are heard.
  struct Change {
    bool fewer = false;
    std::string text;
  };
  std::vector<Change> look(Instant now);

  // The voters that are not heard, and for how long, by name.
  std::vector<std::pair<std::string, Duration>> unheard(Instant now) const;
  // With itself it hears fewer than half of all voters and one more.
  bool in_minority(Instant now) const;

 private:
  struct Voter {
    Instant last;
    bool lost = false;  // and reported
  };
  std::map<std::string, Voter> voters_;
  std::map<std::string, Instant> losses_;  // since when; not judged yet
  Duration limit_;
};

}  // namespace bellwether::cluster
