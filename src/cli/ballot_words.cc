#include "cli/ballot_words.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/units.h"
#include "base/wall_text.h"
#include "cli/table.h"
#include "cli/vote_words.h"
#include "proto/admin.pb.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;
using wire::AdminAnswer;

std::string span(uint64_t ms) { return format_duration(Duration::millis(static_cast<int64_t>(ms))); }

constexpr int kFitness = 5;  // of the weights

double weight(const AdminAnswer::Votes& votes, int at) { return at < votes.weights_size() ? votes.weights(at) : 0; }

std::string headline(const AdminAnswer::Votes& votes) {
  if (votes.term() == 0) {
    return "no election since " + printable(votes.answered_by()) +
           " was started: `bellwether cluster leader` says whom it follows\n";
  }
  std::string text = "the election of term " + std::to_string(votes.term()) + " (" + printable(votes.trigger()) +
                     "), as " + printable(votes.answered_by()) + " has heard it: ";
  if (!votes.over()) return text + "under way\n";
  text += votes.winner().empty() ? "nobody has won" : printable(votes.winner()) + " has won";
  return text + (votes.why().empty() ? "" : ", " + printable(votes.why())) + "\n";
}

// Why it was that one: the last word of people who ask.
std::string reason(const AdminAnswer::Votes& votes) {
  const AdminAnswer::Candidate* winner = nullptr;
  const AdminAnswer::Candidate* second = nullptr;
  for (const auto& one : votes.nodes()) {
    if (one.name() == votes.winner()) {
      winner = &one;
    } else if (one.stood() && one.doubt().empty() && second == nullptr) {
      second = &one;
    }
  }
  if (winner == nullptr || !winner->stood()) return {};
  std::string text = printable(winner->name()) + " had " + std::to_string(winner->votes()) + " of " +
                     std::to_string(votes.nodes_size()) + " votes, and needed " + std::to_string(votes.needed()) + "; ";
  if (second == nullptr) return text + "nobody else stood\n";
  text += "its score was " + figure(winner->score()) + ", and the next one's, " + printable(second->name()) + "'s, " +
          figure(second->score());
  return text + (winner->score() == second->score() ? ": equal, so that the lower id counts\n" : "\n");
}

Json message_json(const AdminAnswer::VoteMessage& one) {
  Json out{{"at", format_wall(WallTime{static_cast<int64_t>(one.at_ms()) * 1'000'000})},
           {"direction", one.sent() ? "sent" : "heard"},
           {"peer", one.sent() && one.peer().empty() ? "all" : one.peer()},
           {"accepted", one.refused().empty()},
           {"refused", one.refused()}};
  // Whoever says it may say anything.
  Json said = Json::parse(one.json(), nullptr, false);
  out["message"] = said.is_discarded() ? Json(nullptr) : std::move(said);
  return out;
}

void put_vote_status(const AdminAnswer::Votes& votes, Json& out) {
  out["heartbeat"] = nullptr;
  if (votes.has_heartbeat()) {
    const auto& beat = votes.heartbeat();
    out["heartbeat"] = {{"direction", beat.sent() ? "sent" : "heard"},
                        {"age_ms", beat.age_ms()},
                        {"term", beat.term()},
                        {"round", beat.round()},
                        {"sequence", beat.sequence()}};
  }
  out["promises"] = Json::array();
  for (const auto& one : votes.promises()) {
    out["promises"].push_back({{"by", one.by()}, {"to", one.to()}, {"ends_in_ms", one.ends_in_ms()}});
  }
  out["followers"] = Json::array();
  for (const auto& one : votes.followers()) {
    out["followers"].push_back({{"name", one.name()}, {"answered", one.answered()}, {"missed", one.missed()}});
  }
  out["heartbeats_heard"] = votes.beats_heard();
  out["heartbeats_lost"] = votes.beats_lost();
  out["refused"] = Json::object();
  for (const auto& one : votes.refused()) out["refused"][one.reason()] = one.count();
  out["elections_last_hour"] = {{"all", votes.elections_last_hour()}, {"without_winner", votes.failed_last_hour()}};
  if (votes.messages_size() == 0) return;
  out["messages"] = Json::array();
  for (const auto& one : votes.messages()) out["messages"].push_back(message_json(one));
}

std::string keys_text(const AdminAnswer::AdminKeys& keys) {
  std::string text = "the key of the admin, term " + std::to_string(keys.term()) + ": " + printable(keys.admin());
  if (keys.stage() == "ready") {
    text += " has it, of ";
  } else {
    text += keys.stage() == "failed" ? " CANNOT HAVE IT: it has " : " collects key shares: it has ";
  }
  text += std::to_string(keys.held()) + " of " + std::to_string(keys.needed()) + " key shares\n";
  for (const auto& one : keys.refused()) {
    text += "  that of " + printable(one.from()) + " was refused: " + printable(one.why()) + "\n";
  }
  return text;
}

Json keys_json(const AdminAnswer::AdminKeys& keys) {
  Json refused = Json::object();
  for (const auto& one : keys.refused()) refused[one.from()] = one.why();
  return {{"term", keys.term()}, {"admin", keys.admin()},   {"stage", keys.stage()},
          {"held", keys.held()}, {"needed", keys.needed()}, {"refused", std::move(refused)}};
}

// What may be so whether there was an election or not.
std::string standing_text(const AdminAnswer::Votes& votes) {
  std::string text;
  if (!votes.state().empty() && votes.state() != "idle") {
    text += printable(votes.answered_by()) + " is " + printable(votes.state()) + "\n";
  }
  for (const auto& one : votes.unheard()) {
    text += printable(votes.answered_by()) + " has not heard " + printable(one.name()) + " for " + span(one.for_ms()) +
            "\n";
  }
  if (votes.in_minority()) {
    text += printable(votes.answered_by()) + " HEARS NO MAJORITY: its part of the network cannot elect an admin\n";
  }
  if (votes.has_keys()) text += keys_text(votes.keys());
  return text;
}

}  // namespace

std::string ballot_text(const AdminAnswer& answer) {
  const AdminAnswer::Votes& votes = answer.votes();
  std::string text = headline(votes);
  if (votes.rule() != "majority") {
    text += "UNSAFE: the rule is " + printable(votes.rule()) +
            ", so that each side of a parted network may have an admin\n";
  }
  text += standing_text(votes);
  if (votes.term() == 0) return text + vote_status_text(answer) + vote_messages_text(answer);
  Table table(
      {"NODE", "SCORE", "UPTIME", "CAPABILITY", "RESOURCES", "NETWORK", "EXPERIENCE", "CONTEXT", "VOTES", "VOTED FOR"});
  for (const auto& one : votes.nodes()) {
    if (!one.stood()) {
      const char* score = one.took_part() ? "does not stand" : "not heard";
      table.add({one.name(), score, "", "", "", "", "", "", std::to_string(one.votes()), one.voted_for()});
      continue;
    }
    const double rest = one.has_fitness() ? 1 - weight(votes, kFitness) : 1;
    const auto counts = [&](double part, int of) { return figure(part * weight(votes, of) * rest); };
    table.add({one.name(), figure(one.score()), counts(one.uptime_part(), 0), counts(one.capability_part(), 1),
               counts(one.resources_part(), 2), counts(one.network_part(), 3), counts(one.experience_part(), 4),
               one.has_fitness() ? figure(one.fitness() * weight(votes, kFitness)) : "", std::to_string(one.votes()),
               one.voted_for()});
  }
  text += table.text() + reason(votes);
  for (const auto& one : votes.nodes()) {
    if (!one.doubt().empty())
      text += printable(one.name()) + " was not voted for here: " + printable(one.doubt()) + "\n";
    if (one.penalty() > 0)
      text += printable(one.name()) + " counts for " + figure(one.penalty()) + " less here, for its reputation\n";
  }
  return text + vote_status_text(answer) + vote_messages_text(answer);
}

std::string ballot_json(const AdminAnswer& answer) {
  const AdminAnswer::Votes& votes = answer.votes();
  Json nodes = Json::array();
  for (const auto& one : votes.nodes()) {
    Json node = {{"name", one.name()}, {"took_part", one.took_part()}, {"stood", one.stood()}};
    if (one.stood()) {
      node["score"] = one.score();
      node["capabilities"] = Json::array();
      for (const std::string& capability : one.capabilities()) node["capabilities"].push_back(capability);
      node["uptime"] = span(one.uptime_ms());
      node["experience"] = span(one.experience_ms());
      node["resources"] = {{"cpu_usage", one.cpu_used()},
                           {"memory_usage", one.memory_used()},
                           {"disk_usage", one.disk_used()},
                           {"network_quality", one.network_quality()}};
      node["parts"] = {{"uptime", one.uptime_part()},
                       {"capability", one.capability_part()},
                       {"resources", one.resources_part()},
                       {"network", one.network_part()},
                       {"experience", one.experience_part()}};
      if (one.has_fitness()) node["parts"]["context"] = one.fitness();
    }
    node["doubt"] = one.doubt();
    node["penalty"] = one.penalty();
    node["voted_for"] = one.voted_for();
    node["votes"] = one.votes();
    nodes.push_back(std::move(node));
  }
  Json out = {{"term", votes.term()},
              {"over", votes.over()},
              {"trigger", votes.trigger()},
              {"winner", votes.winner()},
              {"why", votes.why()},
              {"rule", votes.rule()},
              {"needed", votes.needed()},
              {"answered_by", votes.answered_by()},
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
  for (const auto& one : votes.unheard()) unheard.push_back({{"name", one.name()}, {"for_ms", one.for_ms()}});
  out["state"] = votes.state();
  out["unheard"] = std::move(unheard);
  out["in_minority"] = votes.in_minority();
  out["key"] = votes.has_keys() ? keys_json(votes.keys()) : Json();
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace bellwether::cli
