// The run of one simulated group: see vote_world.h for what it is. Split by what happens: nodes and their effects
// (vote_run.cc), what they say and write down (vote_wire.cc), the office (vote_office.cc), what goes wrong
// (vote_faults.cc), and the phases (vote_world.cc).
#pragma once

#include <string>
#include <vector>

#include "sim/group/group_world.h"
#include "sim/vote/vote_member.h"
#include "sim/vote/vote_world.h"

namespace bellwether::sim {

struct VoteKernel {
  using Member = VoteMember;
  using Event = vote::Event;
  using Tick = vote::Tick;
  using Received = vote::Received;
  using Message = vote::Message;
};

class VoteWorld final : private GroupWorld<VoteKernel> {
 public:
  struct Setting {
    std::size_t nodes = 0;                              // 0: drawn
    bool calm = false;                                  // alike and healthy, and nothing is drawn to differ
    vote::VoteTiming timing = vote::VoteTiming::lan();  // of a calm one
  };
  VoteWorld(uint64_t seed, VoteMistake mistake, bool trace, Setting setting);
  VoteRun live();
  VoteTakeover take_over();
  uint32_t live_with_noise(Duration time);

 private:
  // --- nodes: vote_run.cc
  void start(VoteMember& m);
  void measure(VoteMember& m);
  void keep_measuring(VoteMember& m);
  void step(VoteMember& m, const vote::Event& event) override;
  void carry_out(VoteMember& m, const vote::Effect& effect);
  void expect_evidence(const vote::Effect& effect);
  void find_keys(VoteMember& m, election::Term term);
  void tell_states();

  // --- wire and disks: vote_wire.cc
  void tell(VoteMember& from, const vote::Message& message, vote::NodeId to);
  void tell_one(VoteMember& from, VoteMember& to, vote::Message message);
  void forge_vote(const VoteMember& from, VoteMember& to, const vote::Vote& vote);
  void persist(VoteMember& m, const vote::Record& record);

  // --- office: vote_office.cc
  void elected(VoteMember& m, const vote::Elected& elected);
  void work_has_stopped(GroupMember& member) override;

  // --- faults: vote_faults.cc
  void something_goes_wrong();
  void break_node(VoteMember& m);
  void cut_off(const VoteMember& m);
  void undermine();
  void kill_voter(VoteMember& m);
  void lose_record(VoteMember& m, double chance);
  void restart_later(VoteMember& m);
  void break_disk(VoteMember& m);
  void bother(VoteMember& m);
  void change_worth(VoteMember& m);
  void clone(VoteMember& m);
  void roll_back(VoteMember& m);
  bool may_be_lost(const VoteMember& m) const;
  bool whole() const;
  void make_whole();

  // --- phases: vote_world.cc
  Duration slack() const;
  void expect_admin_that_stays();
  void expect_hand_over();
  void expect_takeover();
  bool other_leads(election::Term after);
  bool enough_beside(const VoteMember& chief) const;

  bool is(VoteMistake mistake) const { return mistake_ == mistake; }
  // Of which a quiet start is no part.
  bool is_hidden_by_quiet() const;
  Duration lease() const { return timing_.heartbeat_timeout; }

  VoteMistake mistake_;
  bool calm_;
  double worst_drift_;
  vote::VoteTiming timing_;
  bool needs_keys_;
  std::vector<vote::NodeId> declared_;
  uint64_t events_ = 0;
  Instant hold_until_;  // nothing else breaks meanwhile
  bool kills_voters_ = false;
  bool keys_are_there_ = true;
  int clones_ = 0;
  Duration crash_took_;
  Duration hand_over_took_;
};

}  // namespace bellwether::sim
