#include "cli/cluster/cluster_format.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/view.h"
#include "cluster/wire/keyring.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/message/message.h"

namespace bellwether::cli {

namespace {

// Texts for people show whole milliseconds only.
int64_t whole_ms(Duration span) { return span.ns() / 1'000'000; }
std::string ms_text(Duration span) { return format_duration(Duration::millis(whole_ms(span))); }

// The part of `bellwether cluster votes` beside the last ballot: heartbeats, promises, messages.
std::string vote_status_text(const node::VotesAnswer& votes) {
  std::string text;
  const std::string who = printable(votes.answered_by);
  if (const auto& beat = votes.view.status.heartbeat) {
    text += fmt::format("{}{} the last heartbeat {} ago: number {} of term {}, sequence {}\n", who,
                        beat->sent ? " has sent" : " has heard", ms_text(beat->age), beat->round, beat->term,
                        beat->sequence);
  }
  for (const auto& one : votes.view.status.promises) {
    const bool over = whole_ms(one.ends_in) <= 0;
    text += fmt::format("{} has promised {} to answer nobody else{}", printable(one.by), printable(one.to),
                        over ? fmt::format(", until {} ago\n", ms_text(-one.ends_in))
                             : fmt::format(" for {} more\n", ms_text(one.ends_in)));
  }
  return text;
}

// Nothing when no messages were asked for.
std::string vote_messages_text(const node::VotesAnswer& votes) {
  if (votes.messages.empty()) return {};
  Table table({"AT", "", "PEER", "TYPE", "TERM", "SEQUENCE", "OUTCOME"});
  for (const auto& one : votes.messages) {
    const bool read = !one.kind.empty();
    table.add({format_wall(one.at), one.sent ? "to" : "from", one.sent && one.peer.empty() ? "all" : one.peer,
               read ? one.kind : "?", read ? std::to_string(one.term) : "", read ? std::to_string(one.sequence) : "",
               one.refused.empty() ? (one.sent ? "sent" : "accepted") : "refused: " + one.refused});
  }
  return table.text();
}

using Json = nlohmann::ordered_json;
using node::VotesAnswer;

constexpr std::array kParts{"uptime", "capability", "resources", "network", "experience", "context"};  // of the weights
constexpr std::size_t kFitness = 5;

double weight(const VotesAnswer& votes, std::size_t at) { return at < votes.weights.size() ? votes.weights[at] : 0; }

std::string headline(const VotesAnswer& votes) {
  if (votes.view.term == 0) {
    return fmt::format("no election since {} was started: `bellwether cluster leader` says whom it follows\n",
                       printable(votes.answered_by));
  }
  std::string text = fmt::format("the election of term {} ({}), as {} has heard it: ", votes.view.term,
                                 printable(votes.view.trigger), printable(votes.answered_by));
  if (!votes.view.over) return text + "under way\n";
  text += votes.view.winner.empty() ? "nobody has won" : printable(votes.view.winner) + " has won";
  return fmt::format("{}{}\n", text, votes.view.why.empty() ? "" : ", " + printable(votes.view.why));
}

// The reason for the winner, as the last line of an answer to people.
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
  std::string text = fmt::format("{} had {} of {} votes, and needed {}; ", printable(winner->name), winner->votes,
                                 votes.view.nodes.size(), votes.view.needed);
  if (second == nullptr) return text + "nobody else stood\n";
  text += fmt::format("its score was {}, and the next one's, {}'s, {}", figure(winner->claim.score),
                      printable(second->name), figure(second->claim.score));
  return text + (winner->claim.score == second->claim.score ? ": equal, so that the lower id counts\n" : "\n");
}

std::string keys_text(const cluster::VoteView::Keys& keys) {
  std::string text = fmt::format("the key of the admin, term {}: {}", keys.term, printable(keys.admin));
  if (keys.stage == "ready") {
    text += " has it, of ";
  } else {
    text += keys.stage == "failed" ? " CANNOT HAVE IT: it has " : " collects key shares: it has ";
  }
  text += fmt::format("{} of {} key shares\n", keys.held, keys.needed);
  for (const auto& one : keys.refused) {
    text += fmt::format("  that of {} was refused: {}\n", printable(one.from), printable(one.why));
  }
  return text;
}

// The part that is independent of an election.
std::string reputation_text(const VotesAnswer& votes) {
  std::string text;
  if (!votes.view.state.empty() && votes.view.state != "idle") {
    text += fmt::format("{} is {}\n", printable(votes.answered_by), printable(votes.view.state));
  }
  for (const auto& one : votes.view.unheard) {
    text += fmt::format("{} has not heard {} for {}\n", printable(votes.answered_by), printable(one.name),
                        ms_text(one.span));
  }
  if (votes.view.in_minority) {
    text += printable(votes.answered_by) + " HEARS NO MAJORITY: its part of the network cannot elect an admin\n";
  }
  if (votes.view.keys) text += keys_text(*votes.view.keys);
  return text;
}

using node::AdminAnswer;

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
  if (leader.name.empty()) return fmt::format("nobody leads, as {} sees it: {}\n", leader.answered_by, leader.evidence);
  std::string text = fmt::format("{} leads, term {}, for {} as {} sees it: {}\n", leader.name, leader.term,
                                 ms_text(leader.since), leader.answered_by, leader.evidence);
  if (whole_ms(leader.valid_for.value_or(Duration())) > 0)
    text += fmt::format("its lease runs {} more, and is renewed\n", ms_text(*leader.valid_for));
  return text;
}

// Of a cluster whose leader a store decides.
std::string store_text(const node::QuorumView& quorum) {
  std::string text = printable(quorum.decided_by) +
                     " decides who leads: nobody votes, and no majority is needed. Gates and managers may lead.\n";
  if (!quorum.role.empty()) text += fmt::format("this node is {}, epoch {}\n", printable(quorum.role), quorum.term);
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
  text += fmt::format("{} of {} voters alive, {} needed: {}\n", quorum.alive, quorum.voters.size(), quorum.needed,
                      quorum.has_quorum ? "there is a quorum" : "NO QUORUM");
  if (quorum.changing) text += "the voters are changing: majorities of the old and of the new ones are needed\n";
  if (!quorum.jobs_unable.empty()) {
    text += fmt::format("this node takes no part in keeping jobs: {}\n", printable(quorum.jobs_unable));
  } else if (quorum.jobs > 0) {
    text += fmt::format("this node keeps the registers of {}\n", format_count(quorum.jobs, "job"));
  }
  if (!quorum.state.empty()) text += fmt::format("this manager is {}\n", printable(quorum.state));
  if (!quorum.submissions.empty())
    text += fmt::format("this node takes no new jobs: {}\n", printable(quorum.submissions));
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
  if (!quorum.obstacle.empty()) text += fmt::format("this node cannot take part: {}\n", printable(quorum.obstacle));
  if (!quorum.stands_back.empty()) text += fmt::format("this node does not stand: {}\n", printable(quorum.stands_back));
  return text;
}

std::string answer_text(const node::ManagersView& view) {
  Table table({"MANAGER", "ALIVE", "VOTES", "KEEPS JOBS", "HAS READ", ""});
  for (const auto& one : view.managers) {
    std::string more;
    for (const auto& [is, word] : {std::pair{one.leads, "leads"},
                                   {one.self, "answers"},
                                   {one.joining, "joins"},
                                   {one.leaving, "leaves"},
                                   {!one.manager && one.alive, "no manager"}}) {
      if (is) more += (more.empty() ? "" : ", ") + std::string(word);
    }
    const auto yes = [](bool is) { return std::string(is ? "yes" : "no"); };
    table.add({one.name, yes(one.alive), yes(one.votes), yes(one.keeps), one.keeps ? yes(one.read) : "", more});
  }
  std::string text = table.text();
  if (view.changing) text += "a change is under way\n";
  return view.doing.empty() ? text : text + printable(view.doing) + "\n";
}

std::string answer_text(const node::SecretsAnswer& secrets) {
  std::string out;
  for (const uint32_t id : secrets.ids) out += wire::key_name(id) + (out.empty() ? "  in use\n" : "  also opens\n");
  return out;
}

std::string answer_text(const std::string& done) { return printable(done) + "\n"; }

std::string answer_text(const VotesAnswer& votes) {
  std::string text = headline(votes);
  if (votes.view.rule != "majority") {
    text += fmt::format("UNSAFE: the rule is {}, so that each side of a parted network may have an admin\n",
                        printable(votes.view.rule));
  }
  text += reputation_text(votes);
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
    if (!one.doubt.empty())
      text += fmt::format("{} was not voted for here: {}\n", printable(one.name), printable(one.doubt));
    if (one.penalty > 0)
      text += fmt::format("{} counts for {} less here, for its reputation\n", printable(one.name), figure(one.penalty));
  }
  return text + vote_status_text(votes) + vote_messages_text(votes);
}

std::string ballot_json(const VotesAnswer& votes) {
  Json out = Json::parse(message::to_json(node::AdminAnswer(votes))).front();
  Json weights;
  for (std::size_t i = 0; i < kParts.size(); ++i) weights[kParts[i]] = weight(votes, i);
  out["weights"] = std::move(weights);
  for (Json& one : out["messages"]) {
    // A node may send any text here.
    Json said = Json::parse(one["message"].get_ref<const std::string&>(), nullptr, false);
    one["message"] = said.is_discarded() ? Json() : std::move(said);
  }
  return out.dump(2) + "\n";
}

using cluster::ContextView;
using cluster::OutcomeAnswer;

std::string of_all(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& one : texts) out += (out.empty() ? "" : "; ") + printable(one);
  return out;
}

std::vector<const ContextView*> all_of(const ContextView& view, const std::vector<ContextView>& others) {
  std::vector<const ContextView*> out{&view};
  for (const ContextView& one : others) {
    if (one.answered_by != view.answered_by) out.push_back(&one);
  }
  std::ranges::sort(out, [](const auto* a, const auto* b) { return a->answered_by < b->answered_by; });
  return out;
}

const ContextView::Node* health_of(const ContextView& view, const std::string& name) {
  const auto found = std::ranges::find_if(view.nodes, [&](const auto& one) { return one.name == name; });
  return found == view.nodes.end() ? nullptr : &*found;
}

Json described(const cluster::ContextAnswer& answer) { return Json::parse(message::to_json(answer)).front(); }

}  // namespace

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

std::string failover_text(const ContextView::Failover& failover) {
  const std::string from = failover.from.empty() ? "nobody" : printable(failover.from);
  std::string text =
      failover.ok
          ? fmt::format("{} leads after {}, {}\n", printable(failover.to), from, format_duration(failover.took))
          : fmt::format("the transfer to {} came to nothing: {}\n", printable(failover.to), printable(failover.why));
  if (failover.steps.empty()) return text;
  const int64_t begin = failover.steps.front().at.unix_ns;
  for (const auto& one : failover.steps) {
    const Duration after = Duration::nanos(std::max<int64_t>(one.at.unix_ns - begin, 0));
    text += fmt::format("  + {}  {}\n", format_duration(after), printable(one.text));
  }
  return text;
}

std::string context_text(const ContextView& view, const std::vector<ContextView>& others) {
  std::string text = view.leader.empty()
                         ? "nobody is known to lead contexts\n"
                         : fmt::format("{} leads contexts, epoch {}\n", printable(view.leader), view.epoch);
  const bool leads = view.leader == view.answered_by;
  if (leads) {
    text += fmt::format("since {}, the leader's term number {}; {}{}\n", format_duration(view.leads_for), view.terms,
                        printable(view.duty), view.why.empty() ? "" : ": " + printable(view.why));
    text += fmt::format("manager: {}\n", view.manager.empty() ? "none is registered" : printable(view.manager));
    text += fmt::format("requests: {} queued, {} active, {} completed, {} failed{}\n", view.queued, view.active,
                        view.completed, view.failed,
                        view.queued == 0 ? "" : "; the oldest has waited " + format_duration(view.oldest_waiting));
    text += fmt::format("health of the cluster: {}\n", view.checked ? figure(view.health) : "not looked at yet");
    for (const auto& one : view.jobs) {
      text +=
          fmt::format("  {} attempt {}, runs for {}\n", to_string(one.id), one.attempt, format_duration(one.runs_for));
    }
  }
  Table table({"NODE", "HEALTH", "SCORE", "MANAGER", "NOT FIT BECAUSE"});
  for (const ContextView* one : all_of(view, others)) {
    const auto* health = health_of(view, one->answered_by);
    table.add({one->answered_by, health == nullptr ? "" : figure(health->health),
               one->fitness ? figure(one->fitness->score) : "", one->manager,
               one->fitness ? of_all(one->fitness->disqualified) : ""});
  }
  text += table.text();
  if (view.failover) text += "last failover: " + failover_text(*view.failover);
  return text;
}

std::string context_json(const ContextView& view, const std::vector<ContextView>& others) {
  Json nodes = Json::array();
  for (const ContextView* one : all_of(view, others)) {
    Json node = {{"name", one->answered_by}, {"manager", one->manager}};
    if (const auto* health = health_of(view, one->answered_by)) node["health"] = health->health;
    if (one->fitness) node.update(described(*one)["fitness"]);
    nodes.push_back(std::move(node));
  }
  Json out = described(view);
  if (!view.checked) out["health"] = nullptr;
  out["nodes"] = std::move(nodes);
  return out.dump(2) + "\n";
}

std::string outcome_text(const std::string& id, const OutcomeAnswer& outcome) {
  std::string text = fmt::format("{} is {}", id, to_string(outcome.state));
  if (outcome.state == OutcomeAnswer::State::kUnknown) {
    return text + ": it was never submitted, or has ended before the last 200\n";
  }
  text += fmt::format(", attempt {}", outcome.attempts);
  if (!outcome.reason.empty()) text += ": " + printable(outcome.reason);
  return text + (outcome.result_gone ? "; its result is not kept any more\n" : "\n");
}

std::string outcome_json(const std::string& id, const OutcomeAnswer& outcome) {
  Json out = {{"id", id}};
  out.update(described(outcome));
  return out.dump(2) + "\n";
}

}  // namespace bellwether::cli
