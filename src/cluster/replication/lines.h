// Carries messages about registers and blobs between nodes, and within this one. It has the newest set of replicas that
// this node knows (decision 054). The router decides who may send at all. A replica answers only nodes with the same
// set; nodes with different sets exchange them first.
//
// Messages about registers may be lost, so the sender of an important one repeats it. Messages about blobs, and those
// between replicas, are requests with an answer or an error. One thread, that of its runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/net/message_router.h"
#include "cluster/net/peer_links.h"
#include "cluster/register/codec.h"
#include "cluster/register/owner.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"

namespace bellwether::jobs {
class RegisterReplica;
class QuorumJobStore;
}  // namespace bellwether::jobs

namespace bellwether::blobs {
class BlobReplica;
}  // namespace bellwether::blobs

namespace bellwether::registers {

// "a, b"; while a change is under way "a, b, then b, c".
std::string names_of(const ReplicaSet& set, const char* between);
// The number of the first step of the change that led to this set; 0: the set of the settings.
inline uint64_t first_step_of(const ReplicaSet& set) { return set.number - (set.joint() || set.number == 0 ? 0 : 1); }

class Lines final : public cluster::Service {
 public:
  // `self`: the name of this node. `replicas`: the names of all replicas in the settings, which are set number 0.
  // REQUIRES 1 to kMaxReplicas names with different ids. `links` and `router` must outlive this object.
  Lines(cluster::PeerLinks& links, cluster::MessageRouter& router, cluster::Addresses addresses, std::string self,
        std::vector<std::string> replicas);
  ~Lines() override;
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // The replica of registers, the owner of registers, and the replica of blobs on this node. nullptr: none, or none any
  // more; then messages about registers are lost. A replica of blobs finishes the requests that it has: await close()
  // before it is destroyed.
  void serve(jobs::RegisterReplica* replica) { replica_ = replica; }
  void serve(jobs::QuorumJobStore* owners) { owners_ = owners; }
  void serve(blobs::BlobReplica* replica) { blob_replica_ = replica; }

  // How many of the two replicas this node will have, 0 to 2. Until all of them serve, unable() gives a reason.
  void expect(int replicas) { expected_ = replicas; }

  // Sends a message about a register. It may be lost.
  void send(MemberId to, decltype(Message::body) body);
  // Asks a replica about a blob, under the set `number`. Errors: kOtherSet if this node has another set; those of
  // PeerLinks::request(); kUnreachable if the replica's address is unknown; kProtocol. This node itself is asked
  // without the network, and without a time limit.
  runtime::task<Result<blobs::Answer>> ask(std::string replica, uint64_t number, blobs::Question question,
                                           Duration timeout, runtime::Cancellation* cancel);
  // Asks another replica, which first learns the set of this node. Errors as above; kRefused: it stores nothing.
  runtime::task<Result<Response>> ask(std::string replica, decltype(Request::body) body, Duration timeout,
                                      runtime::Cancellation* cancel);
  // Waits until the requests of other nodes about blobs are answered. Call it before destruction.
  runtime::task<void> close();

  const std::string& self() const { return self_; }
  MemberId self_id() const { return self_id_; }

  const ReplicaSet& set() const { return set_; }
  // Whether this node is in the set.
  bool keeps() const { return set_.has(self_); }
  ReplicaIds replica_ids() const;
  // Another node has this set. A newer set replaces that of this node once the replicas here have it on their disks.
  void hear(const ReplicaSet& set);
  // Set number 0 as the disk of this node has it. It takes precedence over the settings.
  void restore(const ReplicaSet& set) {
    if (set_.number == 0 && set.number == 0 && set != set_) adopt(set);
  }
  // Signalled when a newer set has replaced that of this node, or could not.
  runtime::Condition& set_changed() { return set_changed_; }
  // The reason why the replicas of this node cannot say yet what they have; empty: they can.
  std::string unable() const;
  // The first step (see first_step_of()) of the newest change after which the replicas of this node have read all
  // records from the others.
  uint64_t read() const;
  // Empty for an unknown member.
  std::string name_of(MemberId member) const;

 private:
  static constexpr std::size_t kMaxAskers = 4096;
  static constexpr std::size_t kMaxServed = 256;                         // at a time
  static constexpr std::size_t kMaxServedBytes = std::size_t{64} << 20;  // of their requests

  struct Served {
    link::Connection* connection = nullptr;
    wire::RequestId id = 0;
  };

  void on_message(link::Connection& connection, const wire::Inbound& inbound) override;
  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_closed(link::Connection& connection) override;
  void answer_replica(link::Connection& connection, const wire::Inbound& request);
  void deliver(MemberId from, const decltype(Message::body)& body);
  void adopt(const ReplicaSet& set);
  bool same_set(uint64_t number, uint64_t names) const { return number == set_.number && names == fingerprint_; }
  static runtime::task<void> take_over(Lines* self);
  static runtime::task<void> serve_one(Lines* self, uint64_t number, blobs::Question question, std::size_t bytes);

  cluster::PeerLinks& links_;
  cluster::MessageRouter& router_;
  cluster::Addresses addresses_;
  std::string self_;
  MemberId self_id_;
  ReplicaSet set_;
  ReplicaSet heard_;  // the newest, which is taken over
  bool taking_over_ = false;
  runtime::Condition set_changed_;
  uint64_t fingerprint_ = 0;
  std::map<MemberId, std::string> names_;   // of replicas
  std::map<MemberId, std::string> askers_;  // of other nodes that have sent something
  jobs::RegisterReplica* replica_ = nullptr;
  jobs::QuorumJobStore* owners_ = nullptr;
  blobs::BlobReplica* blob_replica_ = nullptr;
  int expected_ = 1;
  std::map<uint64_t, Served> served_;  // whose connection is still there
  std::size_t serving_ = 0;
  std::size_t serving_bytes_ = 0;
  uint64_t number_ = 0;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::registers
