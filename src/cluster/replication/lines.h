// Carries messages about registers between nodes, and within this one. The switchboard knows who may send at all; here
// only the configured replicas answer, and all must know the same set of replicas. Messages about registers may be
// lost: the sender of an important one repeats it. Those about blobs are requests. One thread, that of its runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/net/peer_links.h"
#include "cluster/net/switchboard.h"
#include "cluster/register/codec.h"
#include "core/runtime/scope.h"

namespace bellwether::jobs {
class JobKeeper;
class QuorumJobStore;
}  // namespace bellwether::jobs

namespace bellwether::copies {
class CopyKeeper;
}  // namespace bellwether::copies

namespace bellwether::registers {

class Lines final : private cluster::Service {
 public:
  // `keepers`: the names of all replicas, the same on every node while jobs exist. REQUIRES 1 to quorum::kMostMembers
  // of them, whose ids differ. All must outlive it.
  Lines(cluster::PeerLinks& links, cluster::Switchboard& switchboard, cluster::Addresses addresses, std::string self,
        std::vector<std::string> keepers);
  ~Lines() override;
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // The replica, the owner of registers, and the keeper of blobs on this node. nullptr: none (any more). Messages about
  // registers are lost then; a voter that keeps blobs goes on with the requests that it has, and the caller must wait
  // for its end.
  void serve(jobs::JobKeeper* keeper) { keeper_ = keeper; }
  void serve(jobs::QuorumJobStore* owners) { owners_ = owners; }
  void serve(copies::CopyKeeper* keeper) { copy_keeper_ = keeper; }

  // About a register; it may be lost.
  void send(MemberId to, decltype(Message::body) body);
  // About a blob. Errors are those of PeerLinks::request(); kUnreachable when the keeper's address is unknown;
  // kProtocol. A keeper that is this node is asked without the network, and without a time limit.
  runtime::task<Result<copies::Answer>> ask(std::string keeper, copies::Question question, Duration timeout,
                                            runtime::Cancellation* cancel);
  // Waits until the requests of others about blobs have been answered. Before it ends.
  runtime::task<void> close();

  const std::string& self() const { return self_; }
  MemberId self_id() const { return self_id_; }
  const std::vector<std::string>& keepers() const { return keepers_; }  // sorted
  std::string keeper_names(const char* between) const;
  std::vector<MemberId> keeper_ids() const;
  // Empty for one that was never heard of.
  std::string name_of(MemberId member) const;

 private:
  static constexpr std::size_t kMostAskers = 4096;
  static constexpr std::size_t kMostServed = 256;                         // at a time
  static constexpr std::size_t kMostServedBytes = std::size_t{64} << 20;  // of their requests

  struct Served {
    link::Connection* connection = nullptr;
    wire::RequestId id = 0;
  };

  void on_message(link::Connection& connection, const wire::Inbound& inbound) override;
  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_closed(link::Connection& connection) override;
  void deliver(MemberId from, const decltype(Message::body)& body);
  static runtime::task<void> serve_one(Lines* self, uint64_t number, copies::Question question, std::size_t bytes);

  cluster::PeerLinks& links_;
  cluster::Switchboard& switchboard_;
  cluster::Addresses addresses_;
  std::string self_;
  MemberId self_id_;
  std::vector<std::string> keepers_;
  uint64_t fingerprint_ = 0;
  std::map<MemberId, std::string> names_;   // of keepers
  std::map<MemberId, std::string> askers_;  // of other nodes that have asked
  jobs::JobKeeper* keeper_ = nullptr;
  jobs::QuorumJobStore* owners_ = nullptr;
  copies::CopyKeeper* copy_keeper_ = nullptr;
  std::map<uint64_t, Served> served_;  // whose connection is still there
  std::size_t serving_ = 0;
  std::size_t serving_bytes_ = 0;
  uint64_t number_ = 0;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::registers
