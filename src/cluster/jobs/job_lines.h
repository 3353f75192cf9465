// Carries what is said about registers of jobs between nodes, and within this one, and lets nobody in who has no say:
// only managers and gates ask, only the configured peers answer, and all of them must have been told of the same peers.
// One thread, that of its runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/jobs/job_codec.h"
#include "cluster/peer_names.h"
#include "cluster/switchboard.h"

namespace bellwether::jobs {

using dispatch::MemberId;

class JobLines final : private cluster::Service {
 public:
  // Who keeps registers on this node.
  class Keeper {
   public:
    virtual ~Keeper() = default;
    virtual void on_ask(MemberId from, const dispatch::Ask& ask) = 0;
    virtual void on_gone(const Gone& gone) = 0;
  };
  // Those who own jobs on this node.
  class Owners {
   public:
    virtual ~Owners() = default;
    virtual void on_answer(MemberId from, const dispatch::Answer& answer) = 0;
    virtual void on_freed(const Freed& freed) = 0;
    virtual void on_unable(MemberId from, const Unable& unable) = 0;
  };

  // `peers`: the names of all that keep registers, the same on every node for as long as there are jobs. REQUIRES 1 to
  // quorum::kMostMembers of them, whose ids differ. All must outlive it.
  JobLines(cluster::PeerLinks& links, cluster::Switchboard& switchboard, const cluster::Addresses& addresses,
           std::string self, std::vector<std::string> peers);
  ~JobLines() override;
  JobLines(const JobLines&) = delete;
  JobLines& operator=(const JobLines&) = delete;

  // nullptr: nobody (any more); what is for them is lost.
  void serve(Keeper* keeper) { keeper_ = keeper; }
  void serve(Owners* owners) { owners_ = owners; }

  // May be lost: whoever says what matters says it again.
  void send(MemberId to, decltype(Message::body) body);

  MemberId self() const { return self_id_; }
  const std::vector<std::string>& peers() const { return peers_; }
  std::vector<MemberId> peer_ids() const;
  // Empty for one that was never heard of.
  std::string name_of(MemberId member) const;
  // Messages that were no messages, or from somebody without a say.
  uint64_t refused() const { return refused_; }

 private:
  static constexpr std::size_t kMostAskers = 4096;

  void on_message(link::Connection& connection, const wire::Inbound& inbound) override;
  void deliver(MemberId from, const decltype(Message::body)& body);
  bool is_peer(MemberId member) const;

  cluster::PeerLinks& links_;
  cluster::Switchboard& switchboard_;
  const cluster::Addresses& addresses_;
  std::string self_;
  MemberId self_id_;
  std::vector<std::string> peers_;
  uint64_t fingerprint_ = 0;
  std::map<MemberId, std::string> names_;   // of peers
  std::map<MemberId, std::string> askers_;  // of others who have asked
  Keeper* keeper_ = nullptr;
  Owners* owners_ = nullptr;
  uint64_t refused_ = 0;
};

}  // namespace bellwether::jobs
