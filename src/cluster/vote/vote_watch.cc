#include "cluster/vote/vote_watch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <variant>

#include "cluster/vote/vote_driver.h"
#include "core/base/enum_names.h"
#include "core/base/overloaded.h"

namespace bellwether::cluster {
namespace {

constexpr Duration kHour = Duration::hours(1);

// The term and the number of a heartbeat: the message of a winner is its first.
std::optional<std::pair<vote::Term, uint64_t>> beat_in(const vote::Message& message) {
  if (const auto* beat = std::get_if<vote::Heartbeat>(&message.body)) return std::pair(beat->term, beat->round);
  if (const auto* winner = std::get_if<vote::Winner>(&message.body)) return std::pair(winner->term, winner->round);
  return std::nullopt;
}

using namespace vote;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject
using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, std::variant_size_v<Body>> kKinds{
    "discovery_request", "discovery_response", "election_started", "candidacy", "vote", "winner",
    "heartbeat",         "heartbeat_answer"};

struct WordWriter {
  Json& to;
  const std::map<NodeId, std::string>& names;

  std::string named(NodeId node) const {
    if (node == kNobody) return {};
    const auto known = names.find(node);
    return known == names.end() ? std::to_string(node.value()) : known->second;
  }
  void claim(const Claim& from) const {
    to["capabilities"] = from.capabilities;
    to["uptime_s"] = from.uptime.seconds_f();
    to["experience_s"] = from.experience.seconds_f();
    to["resources"] = {{"cpu_usage", from.resources.cpu_used},
                       {"memory_usage", from.resources.memory_used},
                       {"disk_usage", from.resources.disk_used},
                       {"network_quality", from.resources.network_quality}};
    if (from.fitness) to["fitness"] = *from.fitness;
    to["score"] = from.score;
  }

  void operator()(const DiscoveryRequest&) const {}
  void operator()(const DiscoveryResponse& from) const {
    to["admin"] = named(from.admin);
    to["admin_term"] = from.admin_term.value();
  }
  void operator()(const ElectionStarted& from) const {
    to["trigger"] = to_string(from.trigger);
    if (from.permission) {
      to["permission"] = {{"term", from.permission->term.value()}, {"heir", named(from.permission->heir)}};
    }
  }
  void operator()(const Candidacy& from) const {
    to["stands"] = from.stands;
    if (from.stands) claim(from.claim);
  }
  void operator()(const Vote& from) const { to["candidate"] = named(from.candidate); }
  void operator()(const Winner& from) const {
    to["round"] = from.round;
    to["voters"] = Json::array();
    for (const NodeId one : from.voters) to["voters"].push_back(named(one));
  }
  void operator()(const Heartbeat& from) const { to["round"] = from.round; }
  void operator()(const HeartbeatAnswer& from) const {
    to["round"] = from.round;
    to["stands"] = from.stands;
    if (from.stands) to["score"] = from.score;
    to["promise_ms"] = from.promise.ns() / 1'000'000;
  }
};

}  // namespace

void ElectionLengths::add(Duration span) {
  const double seconds = span.seconds_f();
  const auto at = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  if (at != kBounds.end()) ++at_most[static_cast<std::size_t>(at - kBounds.begin())];
  ++count;
  sum += seconds;
}

std::string_view to_string(Unheard unheard) {
  return EnumNames<Unheard>("not_signed", "unreadable", "impostor")[unheard];
}

VoteWatch::VoteWatch(std::map<vote::NodeId, std::string> names, vote::NodeId self) : names_(std::move(names)) {
  for (const auto& [node, name] : names_) {
    if (node != self) beats_[node];
  }
}

std::string VoteWatch::name_of(vote::NodeId node) const {
  const auto found = names_.find(node);
  return found == names_.end() ? std::string() : found->second;
}

void VoteWatch::election_ended(Instant now, vote::Term term, bool elected, std::optional<double> participation) {
  if (!election_ || election_->term != term) return;
  VoteCounts::Elections& counts = counts_.elections[static_cast<std::size_t>(election_->trigger)];
  ++(elected ? counts.elected : counts.nobody);
  counts_.lengths.add(now - election_->began);
  if (participation) counts_.participation = *participation;
  election_.reset();
  ended_.emplace_back(now, elected);
  if (ended_.size() > kElections) ended_.pop_front();
}

void VoteWatch::sent(Instant now, WallTime at, const vote::Message& message, vote::NodeId to) {
  ++counts_.sent[kind_of(message.body)];
  keep({.at = at, .sent = true, .peer = {}, .message = message, .to = to, .refused = {}});
  const auto beat = beat_in(message);
  // A repetition to single nodes is no new heartbeat.
  if (beat && to == vote::kNobody) sent_beat(now, message, beat->first, beat->second);
}

void VoteWatch::sent_beat(Instant now, const vote::Message& message, vote::Term term, uint64_t round) {
  const bool same_term = beat_ && beat_->sent && beat_->term == term;
  for (auto& [node, beats] : beats_) {
    if (!same_term) {
      beats.answered_round = 0;
      continue;
    }
    const bool missed = beats.answered_round < beat_->round;
    ++(missed ? beats.counts.missed : beats.counts.answered);
    beats.missed = beats.missed << 1 | (missed ? 1 : 0);
    beats.counts.lately = std::min<uint64_t>(beats.counts.lately + 1, 64);
    beats.counts.missed_lately = static_cast<uint64_t>(std::popcount(beats.missed));
  }
  ++counts_.beats_sent;
  beat_ = Beat{true, now, term, round, message.sequence, message.from};
}

void VoteWatch::heard(WallTime at, const vote::Message& message, std::optional<vote::Refusal> refusal) {
  ++counts_.heard[kind_of(message.body)];
  keep({.at = at,
        .sent = false,
        .peer = {},
        .message = message,
        .to = {},
        .refused = refusal ? to_string(*refusal) : std::string_view()});
  const auto* answer = std::get_if<vote::HeartbeatAnswer>(&message.body);
  if (answer == nullptr || refusal || !beat_ || !beat_->sent || answer->term != beat_->term) return;
  const auto at_node = beats_.find(message.from);
  if (at_node == beats_.end() || answer->round > beat_->round) return;
  at_node->second.answered_round = std::max(at_node->second.answered_round, answer->round);
}

bool VoteWatch::unheard(WallTime at, const std::string& from, Unheard why) {
  const bool first = counts_.unheard[static_cast<std::size_t>(why)]++ == 0;
  const auto is_it = [&](const auto& one) { return name_of(one.first) == from; };
  if (why == Unheard::kUnsigned && std::any_of(beats_.begin(), beats_.end(), is_it)) ++counts_.unsigned_of[from];
  keep({.at = at, .sent = false, .peer = from, .message = std::nullopt, .to = {}, .refused = to_string(why)});
  return first;
}

void VoteWatch::heard_admin(Instant now, const vote::Message& message) {
  const auto beat = beat_in(message);
  if (!beat) return;
  const bool follows = beat_ && !beat_->sent && beat_->admin == message.from && beat_->term == beat->first;
  // A repeated one, or one that was overtaken, is no new one.
  if (follows && beat->second <= beat_->round) return;
  if (follows) counts_.beats_lost += beat->second - beat_->round - 1;
  ++counts_.beats_heard;
  beat_ = Beat{false, now, beat->first, beat->second, message.sequence, message.from};
}

void VoteWatch::keep(Kept kept) {
  kept_.push_back(std::move(kept));
  if (kept_.size() > kMessages) kept_.pop_front();
}

VoteStatus VoteWatch::status(Instant now) const {
  VoteStatus status;
  status.counts = counts_;
  if (beat_) {
    status.heartbeat =
        VoteStatus::Heartbeat{beat_->sent, now - beat_->at, beat_->term.value(), beat_->round, beat_->sequence};
  }
  for (const auto& [node, beats] : beats_) status.followers.push_back({name_of(node), beats.counts});
  std::ranges::sort(status.followers, {}, &VoteStatus::Follower::node);
  for (const auto& [at, elected] : ended_) {
    if (now - at > kHour) continue;
    ++status.elections_last_hour;
    status.failed_last_hour += elected ? 0 : 1;
  }
  return status;
}

std::vector<VoteMessageView> VoteWatch::messages() const {
  std::vector<VoteMessageView> out;
  for (const Kept& one : kept_) {
    VoteMessageView view{.at = one.at, .sent = one.sent, .peer = one.peer, .kind = {}, .refused = {}, .json = {}};
    view.refused = one.refused;
    if (one.message) {
      const vote::NodeId other = one.sent ? one.to : one.message->from;
      view.peer = other == vote::kNobody ? std::string() : name_of(other);
      view.kind = kind_of(one.message->body);
      view.term = term_of(*one.message).value();
      view.sequence = one.message->sequence;
      view.json = json_of(*one.message, names_);
    }
    out.push_back(std::move(view));
  }
  return out;
}

std::string_view kind_of(const Body& body) { return kKinds[body.index()]; }

Term term_of(const Message& message) {
  return std::visit(
      [&message](const auto& body) {
        if constexpr (requires { body.term; }) {
          return body.term;
        } else {
          return message.term;
        }
      },
      message.body);
}

std::string json_of(const Message& message, const std::map<NodeId, std::string>& names) {
  Json out;
  const WordWriter writer{out, names};
  out["type"] = kind_of(message.body);
  out["from"] = writer.named(message.from);
  out["start"] = message.start;
  out["sequence"] = message.sequence;
  out["term"] = term_of(message).value();
  std::visit(writer, message.body);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The reports of a node that elects by scores to people: counted and kept beside the kernel's steps.

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
