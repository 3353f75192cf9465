// The reports of a node that elects by scores to people: counted and kept beside the kernel's steps.
#include <algorithm>

#include "cluster/vote/vote_driver.h"
#include "core/base/overloaded.h"

namespace bellwether::cluster {
namespace {

// The share of members whose vote was heard.
double participation_in(const vote::Ballot& ballot, const std::vector<vote::NodeId>& members) {
  const auto voted = std::count_if(members.begin(), members.end(), [&](auto node) { return ballot.has_voted(node); });
  return static_cast<double>(voted) / static_cast<double>(members.size());
}

}  // namespace

void VoteDriver::observe(Instant now, const vote::Event& event, const vote::Effects& effects) {
  const WallTime at = runtime_.wall_now();
  if (const auto* received = std::get_if<vote::Received>(&event)) {
    const auto& refused = kernel_.refusals();
    const auto changed = std::mismatch(refused.begin(), refused.end(), refused_.begin()).first;
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
    std::visit(Overloaded{[&](const vote::Send& one) { watch_.sent(now, at, one.message, one.to); },
                          [&](const vote::Broadcast& all) { watch_.sent(now, at, all.message, vote::kNobody); },
                          [&](const vote::ElectionComplete& complete) {
                            // It may have begun in this very step, or been followed by the next one.
                            const bool is_last = complete.term == kernel_.ballot_term();
                            if (is_last) begin();
                            const auto participation =
                                is_last && kernel_.ballot() != nullptr
                                    ? std::optional(participation_in(*kernel_.ballot(), kernel_.config().members))
                                    : std::nullopt;
                            watch_.election_ended(now, complete.term, complete.winner != vote::kNobody, participation);
                          },
                          [](const auto&) {}},  // nothing that is counted
               effect);
  }
  begin();
  refused_ = kernel_.refusals();
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

Leadership::View VoteDriver::view() const {
  View view{.decided_by = "vote", .role = std::string(to_string(kernel_.state()))};
  view.term = kernel_.admin_term().value();
  view.active = !kernel_.follows_only();
  view.follows_only = kernel_.follows_only();
  if (!kernel_.stands()) {
    const std::string trouble = vetting_.own_trouble(runtime_.wall_now());
    view.stands_back = !stands_          ? "its work does not permit it"
                       : trouble.empty() ? "it has no capability that permits a candidacy"
                                         : trouble;
  }
  for (const std::string& name : settings_.members) view.voters.push_back({.name = name});
  return view;
}

std::optional<VoteView> VoteDriver::last_vote() const {
  VoteView view;
  view.rule = to_string(settings_.rule);
  view.needed = settings_.rule == vote::QuorumRule::kMajority ? vote::majority_of(settings_.members.size()) : 1;
  view.weights = settings_.weights;
  view.status = status();
  view.state = to_string(kernel_.state());
  if (keys_) view.keys = keys_->view();
  if (hearing_) {
    for (const auto& [name, span] : hearing_->unheard(runtime_.boot_now())) view.unheard.push_back({name, span});
    view.in_minority = hearing_->in_minority(runtime_.boot_now());
  }
  const vote::Ballot* ballot = kernel_.ballot();
  if (ballot == nullptr) return view;
  view.term = kernel_.ballot_term().value();
  view.over = kernel_.ballot_over();
  view.trigger = to_string(kernel_.ballot_trigger());
  if (ended_ && ended_->term == kernel_.ballot_term()) {
    view.winner = name_of(ended_->winner);
    view.why = named(ended_->why);
  }
  for (const auto& [id, name] : names_) {
    VoteView::Node node;
    node.name = name;
    const auto announced = ballot->announcements().find(id);
    node.took_part = announced != ballot->announcements().end();
    if (node.took_part && announced->second) {
      node.stood = true;
      node.claim = announced->second->claim;
      node.parts = vote::parts_of(node.claim);
      node.doubt = announced->second->doubt;
      node.penalty = announced->second->penalty;
    }
    node.voted_for = name_of(ballot->vote_of(id));
    node.votes = ballot->votes_for(id);
    view.nodes.push_back(std::move(node));
  }
  std::sort(view.nodes.begin(), view.nodes.end(), [](const VoteView::Node& a, const VoteView::Node& b) {
    return std::pair(-a.claim.score, a.name) < std::pair(-b.claim.score, b.name);
  });
  return view;
}

}  // namespace bellwether::cluster
