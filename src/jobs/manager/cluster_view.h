// A manager's view of its cluster, provided by its node, and its requests to other nodes. One thread, that of the
// node's runtime.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/net/message_router.h"
#include "cluster/net/peer_links.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::node {

class ClusterView {
 public:
  virtual ~ClusterView() = default;
  // The present address of a node; nothing if unknown.
  virtual std::optional<cluster::PeerAddress> find(const std::string& name) const = 0;
  virtual std::string self() const = 0;
  // The leader of the cluster, as far as is known; empty: none.
  virtual std::string leader_name() const = 0;
  virtual bool leads() const = 0;
  // This node is one of the managers that keep jobs; they change.
  virtual bool keeps_jobs() const = 0;
  // The managers that keep jobs, live or not.
  virtual std::vector<std::string> keepers() const = 0;
  // The live ones, including this one, by name.
  virtual std::vector<std::string> manager_names() const = 0;
  // Known to be dead or to have left; false for a node that never reported.
  virtual bool is_gone(const std::string& name) const = 0;
  // A manager or a worker of the cluster, including this node.
  struct Neighbour {
    std::string name;
    std::string datacenter;
    bool manager = false;
    bool there = false;  // neither dead nor left in order
    bool stuck = false;  // a manager that reports so itself
  };
  virtual std::vector<Neighbour> neighbours() const = 0;
  // Other nodes doubt that it lives.
  virtual bool is_suspect(const std::string& name) const = 0;
};

// The datacenters of the cluster, one for each location of a member, by name. Any manager of the cluster serves any of
// its workers, so all managers and the datacenter's own workers determine its state (cluster/health/datacenter.h).
// `leader`: empty without a leader.
std::vector<dispatch::DatacenterLine> datacenters_of(const std::vector<ClusterView::Neighbour>& neighbours,
                                                     const std::string& leader,
                                                     const std::vector<dispatch::WorkerLine>& workers);

// One attempt at a request to another node. Errors: those of PeerLinks::request(), and kProtocol for an invalid answer.
runtime::task<Result<dispatch::Response>> ask(
    cluster::PeerLinks& links, cluster::PeerAddress to, dispatch::JobMessage message, Duration timeout,
    runtime::Cancellation* cancel, cluster::PeerLinks::WhenBusy when_busy = cluster::PeerLinks::WhenBusy::kWait);

// The content of an answer other than the expected one, in words.
std::string words_of(const Result<dispatch::Response>& answer);

void respond(cluster::MessageRouter& router, link::Connection& connection, wire::RequestId id,
             const dispatch::Response& response);

}  // namespace bellwether::node
