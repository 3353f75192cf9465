// Carries messages about registers between nodes, and within this one. The router knows who may send at all; here
// only the configured replicas answer, and all must know the same set of replicas. Messages about registers may be
// lost: the sender of an important one repeats it. Those about blobs are requests. One thread, that of its runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/net/message_router.h"
#include "cluster/net/peer_links.h"
#include "cluster/register/codec.h"
#include "core/runtime/scope.h"

namespace bellwether::jobs {
class RegisterReplica;
class QuorumJobStore;
}  // namespace bellwether::jobs

namespace bellwether::blobs {
class BlobReplica;
}  // namespace bellwether::blobs

namespace bellwether::registers {

class Lines final : public cluster::Service {
 public:
  // `replicas`: the names of all replicas, the same on every node while jobs exist. REQUIRES 1 to quorum::kMaxMembers
  // of them, whose ids differ. All must outlive it.
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

  // About a register; it may be lost.
  void send(MemberId to, decltype(Message::body) body);
  // About a blob. Errors are those of PeerLinks::request(); kUnreachable when the replica's address is unknown;
  // kProtocol. A replica that is this node is asked without the network, and without a time limit.
  runtime::task<Result<blobs::Answer>> ask(std::string replica, blobs::Question question, Duration timeout,
                                           runtime::Cancellation* cancel);
  // Waits until the requests of others about blobs have been answered. Before it ends.
  runtime::task<void> close();

  const std::string& self() const { return self_; }
  MemberId self_id() const { return self_id_; }
  const std::vector<std::string>& replicas() const { return replicas_; }  // sorted
  std::string replica_names(const char* between) const;
  std::vector<MemberId> replica_ids() const;
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
  void deliver(MemberId from, const decltype(Message::body)& body);
  static runtime::task<void> serve_one(Lines* self, uint64_t number, blobs::Question question, std::size_t bytes);

  cluster::PeerLinks& links_;
  cluster::MessageRouter& router_;
  cluster::Addresses addresses_;
  std::string self_;
  MemberId self_id_;
  std::vector<std::string> replicas_;
  uint64_t fingerprint_ = 0;
  std::map<MemberId, std::string> names_;   // of replicas
  std::map<MemberId, std::string> askers_;  // of other nodes that have asked
  jobs::RegisterReplica* replica_ = nullptr;
  jobs::QuorumJobStore* owners_ = nullptr;
  blobs::BlobReplica* blob_replica_ = nullptr;
  std::map<uint64_t, Served> served_;  // whose connection is still there
  std::size_t serving_ = 0;
  std::size_t serving_bytes_ = 0;
  uint64_t number_ = 0;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::registers
