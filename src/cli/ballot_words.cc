#include "cli/ballot_words.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/cluster_words.h"
#include "cli/table.h"
#include "cli/vote_words.h"
#include "message/to_json.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;
using node::VotesAnswer;

constexpr std::array kParts{"uptime", "capability", "resources", "network", "experience", "context"};  // of the weights
constexpr std::size_t kFitness = 5;

double weight(const VotesAnswer& votes, std::size_t at) { return at < votes.weights.size() ? votes.weights[at] : 0; }

std::string headline(const VotesAnswer& votes) {
  if (votes.view.term == 0) {
    return "no election since " + printable(votes.answered_by) +
           " was started: `bellwether cluster leader` says whom it follows\n";
  }
  std::string text = "the election of term " + std::to_string(votes.view.term) + " (" + printable(votes.view.trigger) +
                     "), as " + printable(votes.answered_by) + " has heard it: ";
  if (!votes.view.over) return text + "under way\n";
  text += votes.view.winner.empty() ? "nobody has won" : printable(votes.view.winner) + " has won";
  return text + (votes.view.why.empty() ? "" : ", " + printable(votes.view.why)) + "\n";
}

// Why it was that one: the last word of people who ask.
std::string reason(const VotesAnswer& votes) {
  const cluster::VoteView::Node* winner = nullptr;
  const cluster::VoteView::Node* second = nullptr;
  for (const auto& one : votes.view.nodes) {
    if (one.name == votes.view.winner) {
      winner = &one;
    } else if (one.stood && one.doubt.empty() && second == nullptr) {
      second = &one;
    }
  }
  if (winner == nullptr || !winner->stood) return {};
  std::string text = printable(winner->name) + " had " + std::to_string(winner->votes) + " of " +
                     std::to_string(votes.view.nodes.size()) + " votes, and needed " +
                     std::to_string(votes.view.needed) + "; ";
  if (second == nullptr) return text + "nobody else stood\n";
  text += "its score was " + figure(winner->claim.score) + ", and the next one's, " + printable(second->name) + "'s, " +
          figure(second->claim.score);
  return text + (winner->claim.score == second->claim.score ? ": equal, so that the lower id counts\n" : "\n");
}

std::string keys_text(const cluster::VoteView::Keys& keys) {
  std::string text = "the key of the admin, term " + std::to_string(keys.term) + ": " + printable(keys.admin);
  if (keys.stage == "ready") {
    text += " has it, of ";
  } else {
    text += keys.stage == "failed" ? " CANNOT HAVE IT: it has " : " collects key shares: it has ";
  }
  text += std::to_string(keys.held) + " of " + std::to_string(keys.needed) + " key shares\n";
  for (const auto& one : keys.refused) {
    text += "  that of " + printable(one.from) + " was refused: " + printable(one.why) + "\n";
  }
  return text;
}

// What may be so whether there was an election or not.
std::string standing_text(const VotesAnswer& votes) {
  std::string text;
  if (!votes.view.state.empty() && votes.view.state != "idle") {
    text += printable(votes.answered_by) + " is " + printable(votes.view.state) + "\n";
  }
  for (const auto& one : votes.view.unheard) {
    text += printable(votes.answered_by) + " has not heard " + printable(one.name) + " for " + ms_text(one.span) + "\n";
  }
  if (votes.view.in_minority) {
    text += printable(votes.answered_by) + " HEARS NO MAJORITY: its part of the network cannot elect an admin\n";
  }
  if (votes.view.keys) text += keys_text(*votes.view.keys);
  return text;
}

}  // namespace

std::string ballot_text(const VotesAnswer& votes) {
  std::string text = headline(votes);
  if (votes.view.rule != "majority") {
    text += "UNSAFE: the rule is " + printable(votes.view.rule) +
            ", so that each side of a parted network may have an admin\n";
  }
  text += standing_text(votes);
  if (votes.view.term == 0) return text + vote_status_text(votes) + vote_messages_text(votes);
  Table table(
      {"NODE", "SCORE", "UPTIME", "CAPABILITY", "RESOURCES", "NETWORK", "EXPERIENCE", "CONTEXT", "VOTES", "VOTED FOR"});
  for (const auto& one : votes.view.nodes) {
    if (!one.stood) {
      const char* score = one.took_part ? "does not stand" : "not heard";
      table.add({one.name, score, "", "", "", "", "", "", std::to_string(one.votes), one.voted_for});
      continue;
    }
    const double rest = one.claim.fitness ? 1 - weight(votes, kFitness) : 1;
    const auto counts = [&](double part, std::size_t of) { return figure(part * weight(votes, of) * rest); };
    table.add({one.name, figure(one.claim.score), counts(one.parts.uptime, 0), counts(one.parts.capability, 1),
               counts(one.parts.resources, 2), counts(one.parts.network, 3), counts(one.parts.experience, 4),
               one.claim.fitness ? figure(*one.claim.fitness * weight(votes, kFitness)) : "", std::to_string(one.votes),
               one.voted_for});
  }
  text += table.text() + reason(votes);
  for (const auto& one : votes.view.nodes) {
    if (!one.doubt.empty()) text += printable(one.name) + " was not voted for here: " + printable(one.doubt) + "\n";
    if (one.penalty > 0)
      text += printable(one.name) + " counts for " + figure(one.penalty) + " less here, for its reputation\n";
  }
  return text + vote_status_text(votes) + vote_messages_text(votes);
}

std::string ballot_json(const VotesAnswer& votes) {
  Json out = Json::parse(message::to_json(node::AdminAnswer(votes))).front();
  Json weights;
  for (std::size_t i = 0; i < kParts.size(); ++i) weights[kParts[i]] = weight(votes, i);
  out["weights"] = std::move(weights);
  for (Json& one : out["messages"]) {
    // Whoever says it may say anything.
    Json said = Json::parse(one["message"].get_ref<const std::string&>(), nullptr, false);
    one["message"] = said.is_discarded() ? Json() : std::move(said);
  }
  return out.dump(2) + "\n";
}

}  // namespace bellwether::cli
