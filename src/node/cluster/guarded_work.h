// What a process does only while its node leads: the node hands it what the election says, and goes only when nothing
// of it runs any more.
#pragma once

#include <string>

#include "cluster/leadership.h"

namespace bellwether::node {

// The rules for calls are those of cluster::Leadership::Listener.
class GuardedWork {
 public:
  virtual ~GuardedWork() = default;
  // Once, before all others. `election` lives as long as the node; nothing: this node does not vote.
  virtual void on_taking_part(cluster::Leadership* election) = 0;
  virtual void on_elected(const election::TermOfOffice& term) = 0;
  virtual void on_renewed(Instant ends, Duration took) = 0;
  virtual void on_drain(const std::string& cause) = 0;
  virtual void on_term_ended(const election::TermEnded& ended) = 0;
  virtual void on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) = 0;
  virtual bool runs() const = 0;
};

}  // namespace bellwether::node
