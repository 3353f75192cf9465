// The run of one simulated group: see quorum_world.h for what it is. Split by what happens: members and their effects
// (quorum_run.cc), the wire and the disks (quorum_wire.cc), the work (quorum_work.cc), what goes wrong
// (quorum_faults.cc), and the phases (quorum_world.cc).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "election/fence_guard.h"
#include "sim/quorum/quorum_checker.h"
#include "sim/quorum/quorum_member.h"
#include "sim/quorum/quorum_world.h"
#include "sim/timeline.h"

namespace bellwether::sim {

class QuorumWorld {
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
  static constexpr std::size_t kReplays = 64;

  // --- members: quorum_run.cc
  void start(QuorumMember& m);
  void crash(QuorumMember& m, bool machine);
  void pause(QuorumMember& m, bool machine);
  void resume(QuorumMember& m);
  void deliver(QuorumMember& m, const quorum::Event& event);
  void step(QuorumMember& m, const quorum::Event& event);
  void expect_terms_respected(const QuorumMember& m, const quorum::Event& event, quorum::Term before,
                              quorum::MemberId leader_before, bool led_before);
  void carry_out(QuorumMember& m, const quorum::Effect& effect);
  void expect_evidence(const quorum::Effect& effect);
  void set_wake(QuorumMember& m);
  void sync_state(QuorumMember& m);

  // --- wire and disks: quorum_wire.cc
  void send(QuorumMember& from, const quorum::Send& sending);
  void travel(const quorum::Message& message, uint32_t from, uint32_t to, Duration way);
  void arrive(const quorum::Message& message, uint32_t to);
  void replay();
  void persist(QuorumMember& m, const quorum::Record& record);
  void synced(QuorumMember& m, uint32_t life, uint64_t number);

  // --- work: quorum_work.cc
  void elected(QuorumMember& m, const quorum::Elected& elected);
  void expect_nobody_beside(const QuorumMember& m);
  void guardian(QuorumMember& m, uint64_t work);
  void work_ended(QuorumMember& m, uint64_t work);
  void stop_work_within(QuorumMember& m, Duration at_most);
  void term_ended(QuorumMember& m, const quorum::TermEnded& ended);
  void drain(QuorumMember& m);
  void work_acts(QuorumMember& m, uint64_t work);
  void arrives(quorum::Term term);

  // --- faults: quorum_faults.cc
  void something_goes_wrong();
  void break_member(QuorumMember& m);
  void undermine();
  void kill_voter(QuorumMember& m);
  void lose_record(QuorumMember& m, double chance);
  void restart_later(QuorumMember& m);
  void break_network();
  void cut(uint32_t from, uint32_t to, Duration span);
  void partition(Duration span);
  void break_disk(QuorumMember& m);
  void bother(QuorumMember& m);
  void clone(QuorumMember& m);
  void change_members();
  void roll_back(QuorumMember& m);
  bool may_lose_another() const;
  bool whole() const;
  void make_whole();

  // --- phases: quorum_world.cc
  bool run_until(Instant end);
  QuorumMember* leader();
  Duration slack() const;
  void expect_leader_that_stays();
  void expect_hand_over(QuorumRun& run);
  void expect_takeover(QuorumRun& run);
  bool run_until_other_leads(quorum::Term after, Instant end);

  bool is(QuorumMistake mistake) const { return mistake_ == mistake; }
  void say(const QuorumMember& m, const std::string& text);
  void tell_states();
  Duration draw(Duration low, Duration high) { return timeline_.prng().between(low, high); }
  Prng& prng() { return timeline_.prng(); }
  Instant now() const { return timeline_.now(); }
  Duration sync_time(const QuorumMember& m);
  std::size_t ways() const { return members_.capacity(); }
  int& way(uint32_t from, uint32_t to) { return cut_[from * ways() + to]; }

  QuorumMistake mistake_;
  bool tracing_;
  bool calm_;
  std::string trace_;

  Timeline timeline_;
  double worst_drift_;
  quorum::QuorumTiming timing_;
  std::vector<QuorumMember> members_;
  std::vector<quorum::MemberId> declared_;
  QuorumChecker checker_;
  election::BasicFenceGuard<quorum::Term> resource_;
  uint64_t events_ = 0;
  uint32_t refused_acts_ = 0;
  Instant last_end_world_;  // of a term
  Instant last_elected_world_;
  Instant hold_until_;  // nothing else breaks meanwhile
  bool kills_voters_ = false;
  int flapping_ = 0;
  int clones_ = 0;

  // How the world is at the moment.
  double loss_ = 0;
  double twice_ = 0;
  Duration quickest_;
  Duration slowest_;
  Duration usually_slowest_;
  std::vector<int> cut_;  // by (from, to): how many faults hold this way shut
  struct Old {
    quorum::Message message;
    uint32_t from;
    uint32_t to;
  };
  std::vector<Old> old_;  // to be replayed
};

}  // namespace bellwether::sim
