#include "election/quorum/quorum_elector.h"
#include "sim/all_worlds.h"
#include "sim/group/elected_group.h"

namespace bellwether::sim {
namespace {

using quorum::MemberId;

constexpr auto kQuorumMistakes =
    joined(kGroupMistakes, std::to_array<Mistake>({{"suspicion-ends-promise", "silence counts as a proof of death"}}));

struct QuorumState {
  uint64_t state = 0;  // how new the other durable state of a member is
};
struct QuorumMember : ElectedMember<MemberId, quorum::QuorumElector, quorum::Event, quorum::Record>, QuorumState {};

struct QuorumWorld;
struct QuorumKernel {
  using World = QuorumWorld;
  using Member = QuorumMember;
  using Copied = QuorumState;
  using Event = quorum::Event;
  using Received = quorum::Received;
  using Persist = quorum::Persist;
  using Persisted = quorum::Persisted;
  using Message = quorum::Message;
  using Record = quorum::Record;
  static constexpr const auto& kMistakes = kQuorumMistakes;
  static Event tick() { return quorum::Tick{}; }
};

struct QuorumWorld final : ElectedGroup<QuorumKernel> {
  explicit QuorumWorld(const RunSettings& settings, GroupSetting setting = {}) : ElectedGroup(settings, setting) {
    if (!calm_) {
      timing_ = chance(0.7) ? quorum::QuorumTiming::lan() : quorum::QuorumTiming::wan();
      timing_.drift = worst_drift_;
      if (is("no-margin-for-drift")) timing_.stop_grace = Duration::zero();
      if (chance(0.3)) timing_.flap.changes = 2;
    }
    const std::size_t count = setting.members != 0 ? setting.members : 3 + prng().below(chance(0.3) ? 7 : 3);
    set_up({.lease = timing_.lease,
            .promise = timing_.promise(timing_.lease),
            .step = timing_.step,
            .sync = timing_.step / 2,
            .beat = timing_.heartbeat,
            .longest_act = timing_.longest_act(),
            .settles = timing_.lease,
            .wide = timing_.heartbeat > Duration::millis(100)},
           count, calm_ ? 0 : 1);
  }

  // --- members
  void start(QuorumMember& m) {
    if (m.up || m.gone) return;
    begin_life(m);
    quorum::QuorumConfig config;
    config.self = m.id;
    config.timing = timing_;
    if (is("no-margin-for-drift")) config.timing.drift = 0;
    if (!m.spare) config.bootstrap = declared_;
    if (!calm_) config.priority = static_cast<uint8_t>(m.index % 3 == 2 ? 1 : 0);
    m.elector = std::make_unique<quorum::QuorumElector>(std::move(config), prng().next());
    quorum::Start begin;
    if (!m.disk.empty()) {
      begin.found = quorum::Start::Found::kRecord;
      begin.record = m.disk.newest();
    } else if (m.lost && !is("lost-record-is-new")) {
      begin.found = quorum::Start::Found::kUnreadable;
    }
    if (is("vote-forgotten")) begin.record.vote = quorum::kNobody;
    if (is("term-forgotten")) begin.record.term = begin.record.members.stamp.term = quorum::Term();
    if (is("live-majority") && begin.found == quorum::Start::Found::kRecord) {
      std::erase_if(begin.record.members.voters, [&](MemberId id) { return !has_link(m, id); });
    }
    step(m, begin);
    const bool not_quiet = is("promise-forgotten") || is("vote-forgotten") || is("vote-before-durable") ||
                           is("disk-error-ignored") || is("older-disk-unnoticed") || is("lost-record-is-new");
    if (not_quiet) m.clock.base_local += times_.promise * 2;
    step(m, quorum::StateWritten{m.state});
    // A follower asks its leader for the state.
    sync_later(m, draw(timing_.lease, timing_.lease * 4));
  }
  void sync_later(QuorumMember& m, Duration span) {
    after(span, [this, &m, life = m.life] {
      if (!m.up || m.life != life || m.elector->active()) return;
      const MemberId leader = m.elector->leader();
      if (leader != quorum::kNobody && leader != m.id) {
        const bool done = chance(0.8);
        deliver(m, done ? Event(quorum::Synced{}) : Event(quorum::SyncFailed{"the leader did not answer"}));
      }
      sync_later(m, timing_.lease * 2);
    });
  }
  void step(QuorumMember& m, const quorum::Event& event) {
    ++events_;
    const quorum::Term before = m.elector->term();
    const MemberId leader_before = m.elector->leader();
    const bool led_before = m.elector->role() == quorum::Role::kLeader;
    quorum::Effects effects;
    m.elector->step(m.clock.local(now()), event, effects);
    if (!led_before) expect_terms_respected(*m.elector, event, before, leader_before);
    if (m.elector->term() < before) fail("I7: a term goes back");
    carry_out(m, effects);
    set_wake(m, m.elector->wake());
  }
  void expect_terms_respected(const quorum::QuorumElector& elector, const quorum::Event& event, quorum::Term before,
                              MemberId leader_before) {
    const auto* received = std::get_if<quorum::Received>(&event);
    if (received == nullptr || received->message.term >= before) return;
    // The member that grants a pre-vote may know an earlier term than the asking one. A process that has taken over an
    // id is a fact of any term.
    if (std::holds_alternative<quorum::PreVoteAnswer>(received->message.body)) return;
    if (std::holds_alternative<quorum::Superseded>(received->message.body)) return;
    if (elector.term() != before || elector.leader() != leader_before) {
      fail("I7: a message of an earlier term changes something");
    }
  }
  bool takes_part(const QuorumMember& m) const { return m.elector->takes_part(); }
  quorum::Term term_of(const QuorumMember& m) const { return m.elector->term(); }

  // --- effects
  using ElectedGroup::on;
  void on(QuorumMember& from, const quorum::Send& sending) {
    quorum::Message message = sending.message;
    if (auto* answer = std::get_if<quorum::GreetingAnswer>(&message.body);
        answer != nullptr && (is("lost-record-is-new") || is("older-disk-unnoticed"))) {
      answer->newest_record = 0;
    }
    const auto* answer = std::get_if<quorum::VoteAnswer>(&message.body);
    if (answer != nullptr && answer->refusal == quorum::Refusal::kNone) voted(from, message.term, sending.to);
    if (std::holds_alternative<quorum::Vote>(message.body)) {
      checker_.voted(from.id.value(), from.index, message.term, from.id.value());
    }
    if (std::holds_alternative<quorum::StandNow>(message.body) ||
        std::holds_alternative<quorum::Resigned>(message.body)) {
      expect_no_acts(from);
    }
    for (const QuorumMember& to : members_) {
      if (to.id == sending.to && &to != &from) send(from, to, message);
    }
  }
  void on(QuorumMember& m, const quorum::Elected& elected) {
    const quorum::Term term(elected.epoch.value());
    const quorum::Configuration& members = m.elector->members();
    std::vector<std::vector<uint64_t>> electorates{values(members.voters)};
    if (members.joint()) electorates.push_back(values(members.next));
    checker_.elected(m.id.value(), term, electorates);
    work_->elected(m, term, elected.ends, m.elector->stopped_by());
    if (m.elector->active()) return;
    // It has the state once it has asked all members that may have some of it.
    after(draw(network_->slowest(), timing_.lease), [this, &m, life = m.life] {
      if (m.life == life) deliver(m, quorum::Synced{});
    });
  }
  void on(QuorumMember& m, const quorum::LeaderChanged& changed) {
    if (!tracing()) return;
    say(m,
        fmt::format("sees leader {} in term {}: {}", changed.leader.value(), changed.term.value(), changed.evidence));
  }
  void on(QuorumMember& m, const quorum::MembersChanged& changed) {
    say(m, fmt::format("has {} members from now on", changed.members.voters.size()));
  }
  void on(QuorumMember& m, const quorum::ChangeRefused& refused) { say(m, "changes no members: " + refused.why); }
  void on(QuorumMember&, const quorum::Left&) {}

  void work_has_stopped(GroupMember& member) { deliver(members_[member.index], quorum::WorkStopped{}); }
  void has_acted(GroupMember& member) {
    QuorumMember& m = members_[member.index];
    if (prng().below(8) == 0) deliver(m, quorum::StateWritten{++m.state});
  }

  // --- faults
  bool is_found_out(const QuorumMember& m, const quorum::Record& older) const {
    return std::any_of(members_.begin(), members_.end(), [&](const QuorumMember& other) {
      return &other != &m && !other.spare && other.up && other.elector->record_seen_of(m.id) > older.version;
    });
  }
  // Ends the process that receives no messages.
  void end_twin(QuorumMember& m, QuorumMember& twin) {
    QuorumMember& other = twin.elector->takes_part() ? m : twin;
    crash(other, false);
    other.gone = true;
  }
  bool be_unwell(QuorumMember& m) {
    if (!m.up) return false;
    const quorum::LocalHealth health{.score = static_cast<uint8_t>(prng().below(9)),
                                     .load = static_cast<quorum::Load>(prng().below(5)),
                                     .ready = chance(0.7),
                                     .disk = chance(0.9)};
    for (int check = 0; check < 3; ++check) deliver(m, health);
    after(timing_.lease * 4, [this, &m] { deliver(m, quorum::LocalHealth{}); });
    return true;
  }
  bool ask_to_step_down(QuorumMember* m, bool forced) {
    if (m == nullptr || !m->up) return false;
    deliver(*m, quorum::StepDown{"asked to", chance(0.5) ? any().id : quorum::kNobody, false, forced});
    return true;
  }
  bool suspect(QuorumMember& m) {
    if (!m.up) return false;
    const MemberId suspect = m.elector->leader();
    deliver(m, quorum::LeaderSuspected{suspect});
    if (is("suspicion-ends-promise")) deliver(m, quorum::LeaderDead{suspect, m.elector->promised_life()});
    // Only lives that are over are declared dead.
    const MemberId promised = m.elector->promised_to();
    const uint64_t life = m.elector->promised_life();
    const bool over = std::none_of(members_.begin(), members_.end(), [&](const QuorumMember& other) {
      return other.id == promised && other.elector && other.elector->life() == life && (other.up || other.working);
    });
    if (over) deliver(m, quorum::LeaderDead{promised, life});
    return true;
  }
  // The spare member comes in, or goes out again.
  bool change_members() {
    QuorumMember* chief = leader();
    QuorumMember& spare = members_[declared_.size()];
    if (chief == nullptr || chief == &spare) return false;
    const bool member = chief->elector->members().has(spare.id);
    if (member && (spare.lost || chief->elector->members().voters.size() <= 3)) return false;
    if (!spare.up && !member) {
      if (spare.life > 0) return false;
      start(spare);
    }
    const auto kind = member ? quorum::MemberChange::Kind::kRemove : quorum::MemberChange::Kind::kAdd;
    deliver(*chief, quorum::ChangeMembers{{kind, spare.id}});
    return true;
  }
  void made_whole(QuorumMember& m) { deliver(m, quorum::LocalHealth{}); }

  // --- phases
  void begin() override {
    if (chance(0.2)) {
      for (QuorumMember& m : members_) {
        m.disk.set_slow(timing_.step * 4);
        m.disk.set_failing(0.2);
      }
    }
    ElectedGroup::begin();
  }
  // A round or two that fail because two stand at once, the cool-down, and clocks that run slow.
  Duration slack() const {
    const auto members = static_cast<int64_t>(members_.size());
    const Duration rounds = (timing_.vote_timeout + timing_.step * members * 2) * 3;
    const Duration order = timing_.step * members;  // of members with a lower priority
    return Duration::from_seconds_f((rounds + order + timing_.lease * 2).seconds_f() / (1 - worst_drift_));
  }
  // A member that has just started is quiet for a lease, a leader that has lost its quorum yields for another, and
  // stale terms are got over in a round each.
  Duration recovers_within() const { return times_.promise * 8 + slack() * 3; }
  Duration calms_within() const { return timing_.lease * 6; }
  Duration hands_over_within() const { return timing_.lease * 4 + slack(); }
  Duration crash_budget() const {
    return quorum::budget_of(timing_, {declared_.size() + 1, network_->usually_slowest() * 2, timing_.step})
        .crash_worst.total;
  }
  quorum::Event wish_to_hand_over() const { return quorum::StepDown{"asked to", quorum::kNobody, false, true}; }
  bool enough_beside(const QuorumMember& chief) const {
    const quorum::Configuration& voters = chief.elector->members();
    const auto left = std::count_if(members_.begin(), members_.end(), [&](const QuorumMember& m) {
      return &m != &chief && m.up && m.elector->takes_part() && voters.has(m.id);
    });
    return static_cast<std::size_t>(left) >= quorum::majority_of(voters.voters.size());
  }
  std::string state_of(const QuorumMember& m) const {
    const quorum::QuorumElector& elector = *m.elector;
    const quorum::Configuration& voters = elector.members();
    std::string text = std::string("is a ") + to_string(elector.role());
    if (elector.active()) text += ", active";
    if (!elector.takes_part()) text += ", takes no part";
    text += fmt::format(", in term {}, voted for {}; voters of term {}/{}:", elector.term().value(),
                        elector.record().vote.value(), voters.stamp.term.value(), voters.stamp.number);
    for (const MemberId id : voters.voters) text += fmt::format(" {}", id.value());
    if (voters.joint()) text += ", to be:";
    for (const MemberId id : voters.next) text += fmt::format(" {}", id.value());
    return text;
  }

  // --- measurements
  void start_all() {
    for (QuorumMember& m : members_) {
      start(m);
      deliver(m, quorum::Synced{});
    }
  }
  QuorumCalm stress(Duration time) {
    start_all();
    expect_leader_that_stays();
    QuorumCalm calm;
    const QuorumMember* chief = leader();
    const uint32_t terms = checker_.terms();
    std::vector<QuorumMember*> others;
    for (QuorumMember& m : members_) {
      if (&m != chief && others.size() < (members_.size() - 1) / 2) others.push_back(&m);
    }
    for (const Instant end = now() + time; now() < end && holds();) {
      for (QuorumMember* m : others) {
        // Like a machine without processor time: it stands still, reads the backlog, and suspects others.
        const Duration still = draw(Duration::millis(16), Duration::seconds(16));
        after(draw(Duration::zero(), Duration::seconds(4)), [this, m, still, &calm] {
          if (m->paused) return;
          ++calm.stalls;
          pause(*m, false);
          after(still, [this, m, &calm] {
            resume(*m);
            deliver(*m, quorum::LocalHealth{.score = static_cast<uint8_t>(prng().below(9))});
            for (QuorumMember& other : members_) {
              if (!chance(0.5)) continue;
              ++calm.suspicions;
              deliver(other, quorum::LeaderSuspected{other.elector->leader()});
            }
          });
        });
      }
      run_for(Duration::seconds(20));
    }
    check(holds(), "in a healthy group everything holds");
    calm.changes = checker_.terms() - terms;
    return calm;
  }

  quorum::QuorumTiming timing_ = quorum::QuorumTiming::lan();
};

constexpr auto kQuorumFaults = joined(
    kGroupFaults<QuorumWorld>,
    std::to_array<Fault<QuorumWorld>>({
        {8, "the members change", [](QuorumWorld& w) { return w.change_members(); }},
        {3, "a member is asked to step down",
         [](QuorumWorld& w) { return w.ask_to_step_down(&w.any(), w.chance(0.5)); }},
        {3, "the leader is asked to step down", [](QuorumWorld& w) { return w.ask_to_step_down(w.leader(), true); }},
        {3, "a member is unhealthy", [](QuorumWorld& w) { return w.be_unwell(w.any()); }},
        {7, "a member suspects its leader", [](QuorumWorld& w) { return w.suspect(w.any()); }},
    }));

}  // namespace

WorldRow quorum_world() {
  return world_row<QuorumWorld, kQuorumMistakes, kQuorumFaults>("quorum", "a group that elects its leader");
}

Takeover measure_takeover(uint64_t seed, std::size_t members) {
  QuorumWorld world({.seed = seed}, {members, true});
  world.start_all();
  return world.take_over(quorum::QuorumTiming::lan().heartbeat * 10, Duration::zero());
}

QuorumCalm live_under_stress(uint64_t seed, Duration time) {
  return QuorumWorld({.seed = seed}, {5, true}).stress(time);
}

}  // namespace bellwether::sim
