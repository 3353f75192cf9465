#include "cluster/vote/vote_watch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <variant>

#include "core/base/enum_names.h"

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
  static constexpr EnumNames<Unheard> kNames("not_signed", "unreadable", "impostor");
  return kNames[unheard];
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

void VoteWatch::election_began(Instant now, vote::Term term, vote::Trigger trigger) {
  election_ = Election{term, trigger, now};
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

}  // namespace bellwether::cluster
