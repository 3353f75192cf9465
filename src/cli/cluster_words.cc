#include "cli/cluster_words.h"

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/units.h"
#include "cli/ballot_words.h"
#include "cli/table.h"
#include "proto/admin.pb.h"
#include "wire/keyring.h"

namespace bellwether::cli {
namespace {

using wire::AdminAnswer;
using Json = nlohmann::ordered_json;

std::string ms_text(uint64_t ms) { return format_duration(Duration::millis(static_cast<int64_t>(ms))); }

std::string members_text(const AdminAnswer::Members& members) {
  Table table({"NAME", "STATE", "FOR", "ROLE", "DATACENTER", "ADDRESS", "INCARNATION", ""});
  for (const auto& one : members.members()) {
    table.add({one.name(), one.state(), ms_text(one.since_ms()), one.role(), one.datacenter(), one.address(),
               std::to_string(one.incarnation()),
               std::string(one.leads() ? "leads" : "") + (one.self() ? (one.leads() ? ", answers" : "answers") : "")});
  }
  return table.text();
}

std::string leader_text(const AdminAnswer::Leader& leader) {
  if (leader.name().empty())
    return "nobody leads, as " + leader.answered_by() + " sees it: " + leader.evidence() + "\n";
  std::string text = leader.name() + " leads, term " + std::to_string(leader.term()) + ", for " +
                     ms_text(leader.since_ms()) + " as " + leader.answered_by() + " sees it: " + leader.evidence() +
                     "\n";
  if (leader.valid_for_ms() > 0) {
    text += "its lease runs " + ms_text(static_cast<uint64_t>(leader.valid_for_ms())) + " more, and is renewed\n";
  }
  return text;
}

// Of a cluster that leaves it to a store who leads.
std::string store_text(const AdminAnswer::Quorum& quorum) {
  std::string text = printable(quorum.decided_by()) +
                     " decides who leads: nobody votes, and no majority is needed. Gates and managers may lead.\n";
  if (!quorum.role().empty())
    text += "this node is " + printable(quorum.role()) + ", epoch " + std::to_string(quorum.term()) + "\n";
  return text;
}

std::string votes_text(const AdminAnswer::Quorum& quorum) {
  Table table({"VOTER", "ALIVE", ""});
  for (const auto& one : quorum.voters()) {
    std::string more = one.leads() ? "leads" : "";
    for (const auto& [is, word] :
         {std::pair{one.self(), "answers"}, {one.joining(), "joins"}, {one.leaving(), "leaves"}}) {
      if (is) more += (more.empty() ? "" : ", ") + std::string(word);
    }
    table.add({one.name().empty() ? "(unknown name)" : one.name(), one.alive() ? "yes" : "no", more});
  }
  std::string text = table.text();
  text += std::to_string(quorum.alive()) + " of " + std::to_string(quorum.voters_size()) + " voters alive, " +
          std::to_string(quorum.needed()) + " needed: " + (quorum.has_quorum() ? "there is a quorum" : "NO QUORUM") +
          "\n";
  if (quorum.changing()) text += "the voters are changing: majorities of the old and of the new ones are needed\n";
  if (!quorum.jobs_unable().empty()) {
    text += "this node takes no part in keeping jobs: " + printable(quorum.jobs_unable()) + "\n";
  } else if (quorum.jobs() > 0) {
    text += "this node keeps the registers of " + std::to_string(quorum.jobs()) + " jobs\n";
  }
  if (!quorum.state().empty()) text += "this manager is " + printable(quorum.state()) + "\n";
  if (!quorum.submissions().empty()) text += "this node takes no new jobs: " + printable(quorum.submissions()) + "\n";
  if (quorum.follows_only()) text += "this node has lost its record of votes: it follows, and does not vote\n";
  return text;
}

bool votes(const AdminAnswer::Quorum& quorum) {
  const std::string& by = quorum.decided_by();
  return by.empty() || by == "quorum" || by == "vote";
}

std::string quorum_text(const AdminAnswer::Quorum& quorum) {
  if (votes(quorum)) return votes_text(quorum);
  std::string text = store_text(quorum);
  if (!quorum.obstacle().empty()) text += "this node cannot take part: " + printable(quorum.obstacle()) + "\n";
  if (!quorum.stands_back().empty()) text += "this node does not stand: " + printable(quorum.stands_back()) + "\n";
  return text;
}

Json members_json(const AdminAnswer::Members& members) {
  Json list = Json::array();
  for (const auto& one : members.members()) {
    list.push_back({{"name", one.name()},
                    {"state", one.state()},
                    {"since_ms", one.since_ms()},
                    {"role", one.role()},
                    {"datacenter", one.datacenter()},
                    {"address", one.address()},
                    {"incarnation", one.incarnation()},
                    {"software", one.software()},
                    {"leads", one.leads()},
                    {"self", one.self()}});
  }
  return {
      {"members", std::move(list)}, {"degradation", members.degradation()}, {"health_score", members.health_score()}};
}

Json leader_json(const AdminAnswer::Leader& leader) {
  return {{"name", leader.name()},         {"term", leader.term()},
          {"since_ms", leader.since_ms()}, {"valid_for_ms", leader.valid_for_ms()},
          {"evidence", leader.evidence()}, {"answered_by", leader.answered_by()}};
}

Json quorum_json(const AdminAnswer::Quorum& quorum) {
  Json voters = Json::array();
  for (const auto& one : quorum.voters()) {
    voters.push_back({{"name", one.name()},
                      {"alive", one.alive()},
                      {"leads", one.leads()},
                      {"self", one.self()},
                      {"joining", one.joining()},
                      {"leaving", one.leaving()}});
  }
  return {{"voters", std::move(voters)},
          {"needed", quorum.needed()},
          {"alive", quorum.alive()},
          {"role", quorum.role()},
          {"term", quorum.term()},
          {"active", quorum.active()},
          {"follows_only", quorum.follows_only()},
          {"has_quorum", quorum.has_quorum()},
          {"changing", quorum.changing()},
          {"jobs", quorum.jobs()},
          {"jobs_unable", quorum.jobs_unable()},
          {"decided_by", quorum.decided_by().empty() ? "quorum" : quorum.decided_by()},
          {"obstacle", quorum.obstacle()},
          {"stands_back", quorum.stands_back()},
          {"submissions", quorum.submissions()},
          {"state", quorum.state()}};
}

}  // namespace

std::string text_of(const AdminAnswer& answer) {
  std::string text;
  if (answer.has_members()) text += members_text(answer.members());
  if (answer.has_leader()) text += leader_text(answer.leader());
  if (answer.has_quorum()) text += quorum_text(answer.quorum());
  if (answer.has_votes()) text += ballot_text(answer);
  if (answer.has_keys()) {
    for (int i = 0; i < answer.keys().ids_size(); ++i) {
      text += wire::key_name(answer.keys().ids(i)) + (i == 0 ? "  in use\n" : "  also opens\n");
    }
  }
  if (!answer.done().empty()) text += printable(answer.done()) + "\n";
  return text;
}

std::string json_of(const AdminAnswer& answer) {
  Json out = Json::object();
  if (answer.has_members()) out = members_json(answer.members());
  if (answer.has_leader()) out = leader_json(answer.leader());
  if (answer.has_quorum()) out = quorum_json(answer.quorum());
  if (answer.has_votes()) return ballot_json(answer);
  if (answer.has_keys()) {
    Json ids = Json::array();
    for (const uint32_t id : answer.keys().ids()) ids.push_back(wire::key_name(id));
    out["keys"] = std::move(ids);
  }
  if (!answer.done().empty()) out["done"] = answer.done();
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace bellwether::cli
