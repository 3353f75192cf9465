#include "cli/ballot_words.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/wall_text.h"
#include "cli/cluster_words.h"
#include "cli/table.h"
#include "cli/vote_words.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;
using node::VotesAnswer;

constexpr std::size_t kFitness = 5;  // of the weights

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

Json message_json(const cluster::VoteMessageView& one) {
  Json out{{"at", format_wall(one.at)},
           {"direction", one.sent ? "sent" : "heard"},
           {"peer", one.sent && one.peer.empty() ? "all" : one.peer},
           {"accepted", one.refused.empty()},
           {"refused", one.refused}};
  // Whoever says it may say anything.
  Json said = Json::parse(one.json, nullptr, false);
  out["message"] = said.is_discarded() ? Json(nullptr) : std::move(said);
  return out;
}

void put_vote_status(const VotesAnswer& votes, Json& out) {
  out["heartbeat"] = nullptr;
  if (const auto& beat = votes.view.status.heartbeat) {
    out["heartbeat"] = {{"direction", beat->sent ? "sent" : "heard"},
                        {"age_ms", whole_ms(beat->age)},
                        {"term", beat->term},
                        {"round", beat->round},
                        {"sequence", beat->sequence}};
  }
  out["promises"] = Json::array();
  for (const auto& one : votes.view.status.promises) {
    out["promises"].push_back({{"by", one.by}, {"to", one.to}, {"ends_in_ms", whole_ms(one.ends_in)}});
  }
  out["followers"] = Json::array();
  for (const auto& one : votes.view.status.followers) {
    out["followers"].push_back({{"name", one.node}, {"answered", one.beats.answered}, {"missed", one.beats.missed}});
  }
  out["heartbeats_heard"] = votes.view.status.counts.beats_heard;
  out["heartbeats_lost"] = votes.view.status.counts.beats_lost;
  out["refused"] = Json::object();
  for (const auto& one : votes.refused) out["refused"][one.reason] = one.count;
  out["elections_last_hour"] = {{"all", votes.view.status.elections_last_hour},
                                {"without_winner", votes.view.status.failed_last_hour}};
  if (votes.messages.empty()) return;
  out["messages"] = Json::array();
  for (const auto& one : votes.messages) out["messages"].push_back(message_json(one));
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

Json keys_json(const cluster::VoteView::Keys& keys) {
  Json refused = Json::object();
  for (const auto& one : keys.refused) refused[one.from] = one.why;
  return {{"term", keys.term}, {"admin", keys.admin},   {"stage", keys.stage},
          {"held", keys.held}, {"needed", keys.needed}, {"refused", std::move(refused)}};
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
  Json nodes = Json::array();
  for (const auto& one : votes.view.nodes) {
    Json node = {{"name", one.name}, {"took_part", one.took_part}, {"stood", one.stood}};
    if (one.stood) {
      node["score"] = one.claim.score;
      node["capabilities"] = one.claim.capabilities;
      node["uptime"] = ms_text(one.claim.uptime);
      node["experience"] = ms_text(one.claim.experience);
      node["resources"] = {{"cpu_usage", one.claim.resources.cpu_used},
                           {"memory_usage", one.claim.resources.memory_used},
                           {"disk_usage", one.claim.resources.disk_used},
                           {"network_quality", one.claim.resources.network_quality}};
      node["parts"] = {{"uptime", one.parts.uptime},
                       {"capability", one.parts.capability},
                       {"resources", one.parts.resources},
                       {"network", one.parts.network},
                       {"experience", one.parts.experience}};
      if (one.claim.fitness) node["parts"]["context"] = *one.claim.fitness;
    }
    node["doubt"] = one.doubt;
    node["penalty"] = one.penalty;
    node["voted_for"] = one.voted_for;
    node["votes"] = one.votes;
    nodes.push_back(std::move(node));
  }
  Json out = {{"term", votes.view.term},
              {"over", votes.view.over},
              {"trigger", votes.view.trigger},
              {"winner", votes.view.winner},
              {"why", votes.view.why},
              {"rule", votes.view.rule},
              {"needed", votes.view.needed},
              {"answered_by", votes.answered_by},
              {"weights",
               {{"uptime", weight(votes, 0)},
                {"capability", weight(votes, 1)},
                {"resources", weight(votes, 2)},
                {"network", weight(votes, 3)},
                {"experience", weight(votes, 4)},
                {"context", weight(votes, kFitness)}}},
              {"nodes", std::move(nodes)}};
  put_vote_status(votes, out);
  Json unheard = Json::array();
  for (const auto& one : votes.view.unheard) unheard.push_back({{"name", one.name}, {"for_ms", whole_ms(one.span)}});
  out["state"] = votes.view.state;
  out["unheard"] = std::move(unheard);
  out["in_minority"] = votes.view.in_minority;
  out["key"] = votes.view.keys ? keys_json(*votes.view.keys) : Json();
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace bellwether::cli
