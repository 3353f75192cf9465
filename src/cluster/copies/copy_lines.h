// Carries what is asked about copies between nodes, and within this one, and lets nobody in who has no say: only
// managers and gates ask, only voters are asked, and all of them must have been told of the same voters. One thread,
// that of its runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/copies/copy.h"
#include "cluster/peer_names.h"
#include "cluster/switchboard.h"
#include "runtime/scope.h"

namespace bellwether::copies {

class CopyLines final : private cluster::Service {
 public:
  // Who keeps copies on this node.
  class Keeper {
   public:
    virtual ~Keeper() = default;
    virtual runtime::task<Answer> answer(Question question) = 0;
  };

  // `voters`: the names of all that keep copies, the same on every node for as long as there are jobs. REQUIRES 1 to
  // quorum::kMostMembers of them. All must outlive it.
  CopyLines(runtime::Runtime& runtime, cluster::PeerLinks& links, cluster::Switchboard& switchboard,
            const cluster::Addresses& addresses, std::string self, std::vector<std::string> voters);
  ~CopyLines() override;
  CopyLines(const CopyLines&) = delete;
  CopyLines& operator=(const CopyLines&) = delete;

  // nullptr: nobody (any more). It goes on with what it was asked before, and must wait for its end.
  void serve(Keeper* keeper) { keeper_ = keeper; }

  // Errors are those of PeerLinks::request(); kUnreachable when nobody knows where the voter is; kProtocol. A voter
  // that is this node is asked without the network, and without a time limit.
  runtime::task<Result<Answer>> ask(std::string voter, Question question, Duration timeout,
                                    runtime::Cancellation* cancel);
  // Waits until what others have asked has been answered. Before it ends.
  runtime::task<void> close();

  const std::string& self() const { return self_; }
  const std::vector<std::string>& voters() const { return voters_; }  // sorted
  // Questions that were none, or of somebody without a say.
  uint64_t refused() const { return refused_; }

 private:
  static constexpr std::size_t kMostServed = 256;                         // at a time
  static constexpr std::size_t kMostServedBytes = std::size_t{64} << 20;  // of what they were sent

  struct Served {
    link::Connection* connection = nullptr;
    wire::RequestId id = 0;
  };

  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_closed(link::Connection& connection) override;
  static runtime::task<void> serve_one(CopyLines* self, uint64_t number, Question question, std::size_t bytes);

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  cluster::Switchboard& switchboard_;
  const cluster::Addresses& addresses_;
  std::string self_;
  std::vector<std::string> voters_;
  uint64_t fingerprint_ = 0;
  Keeper* keeper_ = nullptr;
  std::map<uint64_t, Served> served_;  // whose connection is still there
  std::size_t serving_ = 0;
  std::size_t serving_bytes_ = 0;
  uint64_t number_ = 0;
  uint64_t refused_ = 0;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::copies
