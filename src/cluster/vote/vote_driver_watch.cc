// What people are told of a node that elects by scores: counted and kept beside the kernel's steps.
#include <algorithm>

#include "cluster/vote/vote_driver.h"

namespace bellwether::cluster {
namespace {

// Whose vote was heard, as a share of all.
double participation_in(const vote::Ballot& ballot, const std::vector<vote::NodeId>& members) {
  const auto voted = std::count_if(members.begin(), members.end(), [&](auto node) { return ballot.has_voted(node); });
  return static_cast<double>(voted) / static_cast<double>(members.size());
}

}  // namespace

void VoteDriver::watch(Instant now, const vote::Event& event,
                       const std::array<uint64_t, vote::kRefusals>& refused_before, const vote::Effects& effects) {
  const WallTime at = runtime_.wall_now();
  if (const auto* received = std::get_if<vote::Received>(&event)) {
    const auto& refused = kernel_.refusals();
    const auto changed = std::mismatch(refused.begin(), refused.end(), refused_before.begin()).first;
    const bool listened_to = changed == refused.end();
    watch_.heard(at, received->message,
                 listened_to ? std::nullopt : std::optional(static_cast<vote::Refusal>(changed - refused.begin())));
    if (listened_to && kernel_.admin() == received->message.from) watch_.heard_admin(now, received->message);
  }
  const auto begin = [&] {
    if (kernel_.ballot_term() == watched_) return;
    watched_ = kernel_.ballot_term();
    watch_.election_began(now, watched_, kernel_.ballot_trigger());
  };
  for (const vote::Effect& effect : effects) {
    if (const auto* message = std::get_if<vote::Send>(&effect)) {
      watch_.sent(now, at, message->message, message->to);
    } else if (const auto* all = std::get_if<vote::Broadcast>(&effect)) {
      watch_.sent(now, at, all->message, vote::kNobody);
    } else if (const auto* complete = std::get_if<vote::ElectionComplete>(&effect)) {
      // It may have begun in this very step, or been followed by the next one.
      const bool is_last = complete->term == kernel_.ballot_term();
      if (is_last) begin();
      const auto participation = is_last && kernel_.ballot() != nullptr
                                     ? std::optional(participation_in(*kernel_.ballot(), kernel_.config().members))
                                     : std::nullopt;
      watch_.election_ended(now, complete->term, complete->winner != vote::kNobody, participation);
    }
  }
  begin();
}

VoteStatus VoteDriver::status() const {
  const Instant now = runtime_.boot_now();
  VoteStatus status = watch_.status(now);
  status.counts.refusals = kernel_.refusals();
  const std::map<vote::NodeId, Instant> given = kernel_.promises();
  for (const auto& [node, until] : given) status.promises.push_back({name_of(node), settings_.self, until - now});
  std::ranges::sort(status.promises, {}, &VoteStatus::Promise::by);
  if (given.empty() && kernel_.promised_to() != vote::kNobody) {
    status.promises.push_back({settings_.self, name_of(kernel_.promised_to()), kernel_.promised_until() - now});
  }
  return status;
}

}  // namespace bellwether::cluster
