// What a manager knows of its cluster, from the node that it runs in, and how it talks to the other nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/net/peer_links.h"
#include "cluster/net/switchboard.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::node {

class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // Where a node is reached now; nothing when nobody knows.
  virtual std::optional<cluster::PeerAddress> find(const std::string& name) const = 0;
  virtual std::string self() const = 0;
  // Of the cluster, as far as is known; empty: nobody.
  virtual std::string leader_name() const = 0;
  virtual bool leads() const = 0;
  // Those that are alive, this one with them, by name.
  virtual std::vector<std::string> manager_names() const = 0;
  // Known to be dead or to have left; one that was never heard of is not.
  virtual bool is_gone(const std::string& name) const = 0;
  // A manager or a worker of the cluster, this one with them.
  struct Neighbour {
    std::string name;
    std::string datacenter;
    bool manager = false;
    bool there = false;  // neither dead nor gone in good order
    bool stuck = false;  // a manager that says so of itself
  };
  virtual std::vector<Neighbour> neighbours() const = 0;
  // Others doubt that it lives.
  virtual bool is_suspect(const std::string& name) const = 0;
};

// The datacenters of the cluster: one for each that a member stands in, by name. Any manager of the cluster serves any
// of its workers, so a datacenter is judged (cluster/health/datacenter.h) by all managers and by its own workers.
// `leader`: empty when nobody leads.
std::vector<dispatch::DatacenterLine> datacenters_of(const std::vector<Surroundings::Neighbour>& neighbours,
                                                     const std::string& leader,
                                                     const std::vector<dispatch::WorkerLine>& workers);

// One try of a letter to another node. Errors are those of PeerLinks::request(), and kProtocol for an answer that is
// none.
runtime::task<Result<dispatch::Response>> ask(cluster::PeerLinks& links, cluster::PeerAddress to,
                                              dispatch::Letter letter, Duration timeout, runtime::Cancellation* cancel);

// What an answer says that is not the one that was hoped for, in words.
std::string words_of(const Result<dispatch::Response>& answer);

void respond(cluster::Switchboard& switchboard, link::Connection& connection, wire::RequestId id,
             const dispatch::Response& response);

}  // namespace bellwether::node
