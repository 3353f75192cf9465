// The state that a node publishes through membership, and small translations between the rooms that a node composes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/membership/membership_events.h"
#include "core/journal/journal.h"
#include "core/message/message.h"
#include "core/runtime/runtime.h"
#include "election/quorum/quorum_events.h"
#include "election/quorum/quorum_timing.h"

namespace bellwether::node {

struct PeerMeta {
  std::string datacenter;
  std::string region;
  std::string software;
  std::optional<unsigned> priority;  // to lead; nothing: it does not say
  std::string decided_by;            // its source of leadership: "quorum", "etcd" …; empty: it does not say
  bool operator==(const PeerMeta&) const = default;
};
// It changes seldom, and goes to the whole group.
std::string write_meta(const PeerMeta& meta);
PeerMeta read_meta(std::string_view bytes);  // empty when the bytes are something else

struct PeerState {
  bool leads = false;
  uint64_t term = 0;
  std::string leader;  // of this term, as far as the node knows; empty: none
  bool ready = false;
  bool electable = false;
  int health_score = 0;      // 0 good to 8 bad
  uint32_t degradation = 0;  // 0 normal to 4 critical
  uint32_t cpu_percent = 0;  // of what it may use
  uint32_t memory_percent = 0;
  bool stuck = false;  // a manager that dispatches nothing although it could
  bool operator==(const PeerState&) const = default;
};
// It rides on every acknowledgement.
std::string write_state(const PeerState& state);
std::optional<PeerState> read_state(std::string_view bytes);

}  // namespace bellwether::node

namespace bellwether::message {
extern template const Message& message_of<node::PeerMeta>();
extern template const Message& message_of<node::PeerState>();
}  // namespace bellwether::message

namespace bellwether::node {

// The election's view of this node.
quorum::LocalHealth health_of(membership::Degradation level, int score, bool ready);
// The source of leadership, for others to compare: "quorum", or the kind of store, with TLS or without.
std::string kind_of_decision(const std::string& leadership);
// "lan", "wan", "local".
quorum::QuorumTiming timing_named(std::string_view profile);

// The journal of a node: lines, each with its name.
class NodeLog {
 public:
  // `runtime` and `journal` must outlive it.
  NodeLog(runtime::Runtime& runtime, Journal& journal, std::string name)
      : runtime_(runtime), journal_(journal), name_(std::move(name)) {}

  // A transition, `event` in one word.
  void say(std::string_view event, const std::string& text, Journal::Fields more = {}) {
    more.insert(more.begin(), {"node", name_});
    journal_.transition(runtime_.wall_now(), event, text, more);
  }
  void note(bool warning, const std::string& text) {
    if (warning) {
      journal_.warn(runtime_.wall_now(), text);
    } else {
      journal_.detail(runtime_.wall_now(), text);
    }
  }
  void error(const std::string& text) { journal_.error(runtime_.wall_now(), text); }

 private:
  runtime::Runtime& runtime_;
  Journal& journal_;
  std::string name_;
};

}  // namespace bellwether::node
