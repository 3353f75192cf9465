// The run of one simulated group: see quorum_world.h for what it is. Split by what happens: members and their effects
// (quorum_run.cc), the wire and the disks (quorum_wire.cc), the office (quorum_office.cc), what goes wrong
// (quorum_faults.cc), and the phases (quorum_world.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/group/group_world.h"
#include "sim/quorum/quorum_member.h"
#include "sim/quorum/quorum_world.h"

namespace bellwether::sim {

struct QuorumKernel {
  using Member = QuorumMember;
  using Event = quorum::Event;
  using Tick = quorum::Tick;
  using Received = quorum::Received;
  using Message = quorum::Message;
};

class QuorumWorld final : private GroupWorld<QuorumKernel> {
 public:
  struct Setting {
    std::size_t members = 0;  // 0: drawn
    bool calm = false;        // LAN, alike and healthy, and nothing is drawn to differ
  };
  QuorumWorld(uint64_t seed, QuorumMistake mistake, bool trace, Setting setting);
  QuorumRun live();
  QuorumTakeover take_over();
  QuorumCalm stress(Duration time);

 private:
  // --- members: quorum_run.cc
  void start(QuorumMember& m);
  void step(QuorumMember& m, const quorum::Event& event) override;
  void expect_terms_respected(const QuorumMember& m, const quorum::Event& event, quorum::Term before,
                              quorum::MemberId leader_before, bool led_before);
  void carry_out(QuorumMember& m, const quorum::Effect& effect);
  void expect_evidence(const quorum::Effect& effect);
  void sync_state(QuorumMember& m);

  // --- wire and disks: quorum_wire.cc
  void send(QuorumMember& from, const quorum::Send& sending);
  void persist(QuorumMember& m, const quorum::Record& record);

  // --- office: quorum_office.cc
  void elected(QuorumMember& m, const quorum::Elected& elected);
  void work_has_stopped(GroupMember& member) override;
  void has_acted(GroupMember& member) override;

  // --- faults: quorum_faults.cc
  void something_goes_wrong();
  void break_member(QuorumMember& m);
  void undermine();
  void kill_voter(QuorumMember& m);
  void lose_record(QuorumMember& m, double chance);
  void restart_later(QuorumMember& m);
  void break_disk(QuorumMember& m);
  void bother(QuorumMember& m);
  void clone(QuorumMember& m);
  void change_members();
  void roll_back(QuorumMember& m);
  bool may_lose_another() const;
  bool whole() const;
  void make_whole();

  // --- phases: quorum_world.cc
  Duration slack() const;
  void expect_leader_that_stays();
  void expect_hand_over(QuorumRun& run);
  void expect_takeover(QuorumRun& run);
  bool run_until_other_leads(quorum::Term after, Instant end);

  bool is(QuorumMistake mistake) const { return mistake_ == mistake; }
  void tell_states();

  QuorumMistake mistake_;
  bool calm_;
  double worst_drift_;
  quorum::QuorumTiming timing_;
  std::vector<quorum::MemberId> declared_;
  uint64_t events_ = 0;
  Instant hold_until_;  // nothing else breaks meanwhile
  bool kills_voters_ = false;
  int clones_ = 0;
};

}  // namespace bellwether::sim
