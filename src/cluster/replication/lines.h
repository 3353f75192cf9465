// Carries messages about registers between nodes, and within this one, and has the newest set of replicas that this
// node knows (decision 054). The router knows who may send at all; here a replica answers nodes that know the same set.
// Nodes with other sets exchange these first. Messages about registers may be lost: the sender of an important one
// repeats it. Those about blobs, and those between replicas, are requests. One thread, that of its runtime.
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
// The first step of the change that led to it; 0: none did.
inline uint64_t first_step_of(const ReplicaSet& set) { return set.number - (set.joint() || set.number == 0 ? 0 : 1); }

class Lines final : public cluster::Service {
 public:
  // `replicas`: the names of all replicas as the settings have them, the set with the number 0. REQUIRES 1 to
  // kMaxReplicas of them, whose ids differ. All must outlive it.
  Lines(cluster::PeerLinks& links, cluster::MessageRouter& router, cluster::Addresses addresses, std::string self,
        std::vector<std::string> replicas);
  ~Lines() override;
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // The replica, the owner of registers, and the replica of blobs on this node. nullptr: none (any more). Messages
  // about registers are lost then; a voter that keeps blobs goes on with the requests that it has, and the caller must
  // wait for its end.
  void serve(jobs::RegisterReplica* replica) { replica_ = replica; }
  void serve(jobs::QuorumJobStore* owners) { owners_ = owners; }
  void serve(blobs::BlobReplica* replica) { blob_replica_ = replica; }

  // This node is to have so many of these two replicas; it says nothing of what it has before they serve.
  void expect(int replicas) { expected_ = replicas; }

  // About a register; it may be lost.
  void send(MemberId to, decltype(Message::body) body);
  // About a blob, for a round under the set with this number; kOtherSet when it is not the set of this node. Errors are
  // those of PeerLinks::request(); kUnreachable when the replica's address is unknown; kProtocol. A replica that is
  // this node is asked without the network, and without a time limit.
  runtime::task<Result<blobs::Answer>> ask(std::string replica, uint64_t number, blobs::Question question,
                                           Duration timeout, runtime::Cancellation* cancel);
  // Another replica; it first hears of this node's set. Errors as above; kRefused: it stores nothing.
  runtime::task<Result<Response>> ask(std::string replica, decltype(Request::body) body, Duration timeout,
                                      runtime::Cancellation* cancel);
  // Waits until the requests of others about blobs have been answered. Before it ends.
  runtime::task<void> close();

  const std::string& self() const { return self_; }
  MemberId self_id() const { return self_id_; }

  const ReplicaSet& set() const { return set_; }
  // This node is one of them.
  bool keeps() const { return set_.has(self_); }
  ReplicaIds replica_ids() const;
  // Some node knows this set. A newer one is taken over once the replicas of this node have it on their disks.
  void hear(const ReplicaSet& set);
  // The set with the number 0 that the disk of this node has: it counts, not that of the settings.
  void restore(const ReplicaSet& set);
  // When another set was taken over, or could not be.
  runtime::Condition& set_changed() { return set_changed_; }
  // Empty while the replicas of this node can say what they have, else why not.
  std::string unable() const;
  // The newest first step of a change whose records they have read from the others.
  uint64_t read() const;
  // Empty for one that was never heard of.
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
