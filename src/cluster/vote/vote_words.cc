#include "cluster/vote/vote_words.h"

#include <array>
#include <nlohmann/json.hpp>
#include <variant>

namespace bellwether::cluster {
namespace {

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
