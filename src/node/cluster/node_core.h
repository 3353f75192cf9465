// What the parts of a node tell it as a whole, and what they ask of it. Calls come one after the other, on the thread
// of its runtime, and must not wait.
#pragma once

#include <string>

#include "membership/membership_events.h"
#include "node/cluster/node_words.h"
#include "runtime/address.h"

namespace bellwether::node {

class NodeCore {
 public:
  virtual ~NodeCore() = default;
  virtual void on_member(const membership::MemberEvent& event) = 0;
  // What another node says of itself.
  virtual void on_peer_state(const std::string& name, const PeerState& state) = 0;
  virtual void on_joined() = 0;
  // It is no member any more, as the others know.
  virtual void on_left() = 0;
  // Another process bears its name.
  virtual void on_name_taken(const runtime::Endpoint& holder) = 0;
  virtual void on_degraded() = 0;
  // Whether it leads, and whom it follows, is what others are told.
  virtual void on_standing_changed() = 0;

  // Why it is not ready for work; empty: it is.
  virtual std::string not_ready() const = 0;
  // Leaves in good order, and ends.
  virtual void go(const std::string& cause) = 0;
  // Takes nothing new, and goes when what it has is done. False: it has nothing that could be drained.
  virtual bool drain(const std::string& cause) = 0;
};

}  // namespace bellwether::node
