#include "cli/cluster_words.h"

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/units.h"
#include "cli/ballot_words.h"
#include "cli/table.h"
#include "message/to_json.h"
#include "wire/keyring.h"

namespace bellwether::cli {
namespace {

using node::AdminAnswer;
using Json = nlohmann::ordered_json;

std::string answer_text(const node::MembersAnswer& members) {
  Table table({"NAME", "STATE", "FOR", "ROLE", "DATACENTER", "ADDRESS", "INCARNATION", ""});
  for (const auto& one : members.members) {
    table.add({one.name, one.state, ms_text(one.since), one.role, one.datacenter, one.address,
               std::to_string(one.incarnation),
               std::string(one.leads ? "leads" : "") + (one.self ? (one.leads ? ", answers" : "answers") : "")});
  }
  return table.text();
}

std::string answer_text(const node::LeaderView& leader) {
  if (leader.name.empty()) return "nobody leads, as " + leader.answered_by + " sees it: " + leader.evidence + "\n";
  std::string text = leader.name + " leads, term " + std::to_string(leader.term) + ", for " + ms_text(leader.since) +
                     " as " + leader.answered_by + " sees it: " + leader.evidence + "\n";
  if (whole_ms(leader.valid_for.value_or(Duration())) > 0)
    text += "its lease runs " + ms_text(*leader.valid_for) + " more, and is renewed\n";
  return text;
}

// Of a cluster that leaves it to a store who leads.
std::string store_text(const node::QuorumView& quorum) {
  std::string text = printable(quorum.decided_by) +
                     " decides who leads: nobody votes, and no majority is needed. Gates and managers may lead.\n";
  if (!quorum.role.empty())
    text += "this node is " + printable(quorum.role) + ", epoch " + std::to_string(quorum.term) + "\n";
  return text;
}

std::string votes_text(const node::QuorumView& quorum) {
  Table table({"VOTER", "ALIVE", ""});
  for (const auto& one : quorum.voters) {
    std::string more = one.leads ? "leads" : "";
    for (const auto& [is, word] : {std::pair{one.self, "answers"}, {one.joining, "joins"}, {one.leaving, "leaves"}}) {
      if (is) more += (more.empty() ? "" : ", ") + std::string(word);
    }
    table.add({one.name.empty() ? "(unknown name)" : one.name, one.alive ? "yes" : "no", more});
  }
  std::string text = table.text();
  text += std::to_string(quorum.alive) + " of " + std::to_string(quorum.voters.size()) + " voters alive, " +
          std::to_string(quorum.needed) + " needed: " + (quorum.has_quorum ? "there is a quorum" : "NO QUORUM") + "\n";
  if (quorum.changing) text += "the voters are changing: majorities of the old and of the new ones are needed\n";
  if (!quorum.jobs_unable.empty()) {
    text += "this node takes no part in keeping jobs: " + printable(quorum.jobs_unable) + "\n";
  } else if (quorum.jobs > 0) {
    text += "this node keeps the registers of " + std::to_string(quorum.jobs) + " jobs\n";
  }
  if (!quorum.state.empty()) text += "this manager is " + printable(quorum.state) + "\n";
  if (!quorum.submissions.empty()) text += "this node takes no new jobs: " + printable(quorum.submissions) + "\n";
  if (quorum.follows_only) text += "this node has lost its record of votes: it follows, and does not vote\n";
  return text;
}

bool votes(const node::QuorumView& quorum) {
  const std::string& by = quorum.decided_by;
  return by.empty() || by == "quorum" || by == "vote";
}

std::string answer_text(const node::QuorumView& quorum) {
  if (votes(quorum)) return votes_text(quorum);
  std::string text = store_text(quorum);
  if (!quorum.obstacle.empty()) text += "this node cannot take part: " + printable(quorum.obstacle) + "\n";
  if (!quorum.stands_back.empty()) text += "this node does not stand: " + printable(quorum.stands_back) + "\n";
  return text;
}

std::string answer_text(const node::SecretsAnswer& secrets) {
  std::string out;
  for (const uint32_t id : secrets.ids) out += wire::key_name(id) + (out.empty() ? "  in use\n" : "  also opens\n");
  return out;
}

std::string answer_text(const std::string& done) { return printable(done) + "\n"; }
std::string answer_text(const node::VotesAnswer& votes) { return ballot_text(votes); }

}  // namespace

int64_t whole_ms(Duration span) { return span.ns() / 1'000'000; }
std::string ms_text(Duration span) { return format_duration(Duration::millis(whole_ms(span))); }

std::string text_of(const AdminAnswer& answer) {
  return std::visit([](const auto& one) { return answer_text(one); }, answer);
}

std::string json_of(const AdminAnswer& answer) {
  if (const auto* votes = std::get_if<node::VotesAnswer>(&answer)) return ballot_json(*votes);
  Json out = Json::parse(message::to_json(answer));
  if (const auto* secrets = std::get_if<node::SecretsAnswer>(&answer)) {
    out = {{"keys", Json::array()}};
    for (const uint32_t id : secrets->ids) out["keys"].push_back(wire::key_name(id));
  } else if (!std::holds_alternative<std::string>(answer)) {
    out = Json(out.front());
  }
  return out.dump(2) + "\n";
}

}  // namespace bellwether::cli
