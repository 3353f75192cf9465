#include "election/vote/vote_elector.h"
#include "sim/all_worlds.h"
#include "sim/group/elected_group.h"

namespace bellwether::sim {
namespace {

using vote::NodeId;

constexpr auto kVoteMistakes = joined(
    kGroupMistakes, std::to_array<Mistake>({
                        {"plurality", "a plurality of the votes is enough"},
                        {"signature-unchecked", "signatures are not checked, so a node can vote as another one"},
                        {"member-votes-twice", "a member gives its vote to each candidate"},
                        {"promise-length-assumed", "an admin assumes that a voter's promise is as long as its own"},
                    }));

constexpr std::size_t kLargest = 100;
constexpr double kLargeShare = 0.0005;  // of the worlds

struct VoteWorth {
  vote::Claim claim;  // as it is measured now, without times
  vote::VoteTiming timing;
};
struct VoteMember : ElectedMember<NodeId, vote::VoteElector, vote::Event, vote::Record>, VoteWorth {
  Instant started;
  Duration boast;                      // how much more uptime it claims than it has
  std::optional<vote::Message> spoke;  // last; for impostors
};

struct VoteWorld;
struct VoteKernel {
  using World = VoteWorld;
  using Member = VoteMember;
  using Copied = VoteWorth;
  using Event = vote::Event;
  using Received = vote::Received;
  using Persist = vote::Persist;
  using Persisted = vote::Persisted;
  using Message = vote::Message;
  using Record = vote::Record;
  static constexpr const auto& kMistakes = kVoteMistakes;
  static Event tick() { return vote::Tick{}; }
};

struct VoteSetting : GroupSetting {
  vote::VoteTiming timing = vote::VoteTiming::lan();  // of a calm one
};

struct VoteWorld final : ElectedGroup<VoteKernel> {
  explicit VoteWorld(const RunSettings& settings, const VoteSetting& setting = {})
      : ElectedGroup(settings, setting), timing_(setting.timing), needs_keys_(!calm_ && chance(0.2)) {
    if (!calm_) {
      timing_ = chance(0.7) ? vote::VoteTiming::lan() : vote::VoteTiming::standard();
      timing_.drift = worst_drift_;
      if (is("no-margin-for-drift")) timing_.stop_grace = Duration::zero();
    }
    const vote::VoteTiming shortest = timing_;
    const bool unequal = !calm_ && chance(0.25);  // settings that are being changed, node by node
    if (unequal) timing_.heartbeat_timeout = shortest.heartbeat_timeout * 3, timing_.set_windows();
    const std::size_t count = setting.members != 0  ? setting.members
                              : chance(kLargeShare) ? 10 + prng().below(kLargest - 9)
                                                    : 3 + prng().below(chance(0.3) ? 7 : 3);
    set_up({.lease = timing_.heartbeat_timeout,
            .promise = timing_.promise(),
            .step = timing_.gather,
            .sync = timing_.gather / 4,
            .beat = timing_.heartbeat() / 5,
            .longest_act = timing_.longest_act(),
            .settles = timing_.discovery * 2,
            .wide = timing_.heartbeat_timeout > Duration::seconds(2)},
           count, 0);
    for (VoteMember& m : members_) {
      m.claim.capabilities = {"admin_election"};
      m.timing = unequal && chance(0.5) ? shortest : timing_;
      if (!calm_ && m.index > 1 && chance(0.2)) m.claim.capabilities = {"semantic_analysis"};  // it does not stand
      m.claim.resources = {calm_ ? 0.5 : prng().unit(), 0.5, 0.5, 0.9};
    }
  }

  // --- nodes
  void start(VoteMember& m) {
    if (m.up || m.gone) return;
    begin_life(m);
    m.started = m.clock.local(now());
    vote::VoteConfig config;
    config.self = m.id;
    config.members = declared_;
    config.timing = m.timing;
    config.reconstructs_keys = needs_keys_;
    if (is("plurality")) config.rule = vote::QuorumRule::kPlurality;
    if (is("no-margin-for-drift")) config.timing.drift = 0;
    if (is("live-majority")) {
      std::erase_if(config.members, [&](NodeId id) { return id != m.id && !has_link(m, id); });
    }
    vote::Start begin;
    if (!m.disk.empty()) {
      begin = {vote::Start::Found::kRecord, m.disk.newest()};
    } else if (m.lost) {
      begin.found = is("lost-record-is-new") ? vote::Start::Found::kNew : vote::Start::Found::kUnreadable;
    }
    if (is("vote-forgotten")) begin.record.term = std::min(begin.record.term, begin.record.promised);
    if (is("term-forgotten")) begin.record.term = begin.record.promised = election::Term();
    // With these, a node that is quiet after its start must not cover the forgotten data.
    const bool not_quiet = is("promise-forgotten") || is("vote-forgotten") || is("vote-before-durable") ||
                           is("disk-error-ignored") || is("older-disk-unnoticed") || is("term-forgotten");
    if (not_quiet) begin.record.longest_promise = Duration::zero();
    // No voter compares the number of its start.
    if (is("older-disk-unnoticed") || is("lost-record-is-new")) begin.record.start = m.life;
    m.elector = std::make_unique<vote::VoteElector>(std::move(config), prng().next());
    measure(m);
    step(m, begin);
    keep_measuring(m);
  }
  void measure(VoteMember& m) {
    vote::Claim claim = m.claim;
    claim.uptime = m.clock.local(now()) - m.started + m.boast;
    claim.experience = claim.uptime;
    deliver(m, vote::Measured{std::move(claim)});
  }
  void keep_measuring(VoteMember& m) {
    after(times_.lease, [this, &m, life = m.life] {
      if (!m.up || m.life != life) return;
      measure(m);
      keep_measuring(m);
    });
  }
  void step(VoteMember& m, const vote::Event& event) {
    ++events_;
    const vote::Record before = m.elector->record();
    vote::Effects effects;
    m.elector->step(m.clock.local(now()), event, effects);
    const vote::Record& record = m.elector->record();
    const bool started = std::holds_alternative<vote::Start>(event);
    if (!started && (record.term < before.term || record.promised < before.promised) && !record.lost) {
      fail("I7: a term goes back");
    }
    carry_out(m, effects);
    set_wake(m, m.elector->wake());
  }
  bool takes_part(const VoteMember& m) const { return !m.elector->follows_only(); }
  election::Term term_of(const VoteMember& m) const { return m.elector->admin_term(); }

  // --- effects
  using ElectedGroup::on;
  void on(VoteMember& from, const vote::Send& sending) { tell(from, sending.message, sending.to); }
  void on(VoteMember& from, const vote::Broadcast& sending) { tell(from, sending.message, vote::kNobody); }
  // kNobody: to all.
  void tell(VoteMember& from, const vote::Message& message, NodeId to) {
    from.spoke = message;
    const auto* vote = std::get_if<vote::Vote>(&message.body);
    if (vote != nullptr) voted(from, vote->term, vote->candidate);
    const auto* started = std::get_if<vote::ElectionStarted>(&message.body);
    if (started != nullptr && started->permission) expect_no_acts(from);
    for (VoteMember& other : members_) {
      if (&other == &from || (to != vote::kNobody && other.id != to)) continue;
      if (vote != nullptr && is("signature-unchecked")) forge_vote(from, other, *vote);
      vote::Message sent = message;
      if (vote != nullptr && is("member-votes-twice") && from.index == 0) sent.body = vote::Vote{vote->term, other.id};
      auto* answer = std::get_if<vote::HeartbeatAnswer>(&sent.body);
      if (answer != nullptr && is("promise-length-assumed")) answer->promise = other.timing.heartbeat_timeout;
      send(from, other, sent);
    }
  }
  // A forger reports to `to` that all others have voted for it.
  void forge_vote(const VoteMember& from, VoteMember& to, const vote::Vote& vote) {
    for (const VoteMember& other : members_) {
      if (&other == &from || &other == &to || !other.spoke || !chance(0.2)) continue;
      vote::Message forged = *other.spoke;
      forged.sequence += 20;
      forged.body = vote::Vote{vote.term, to.id};
      after(draw(network_->quickest(), network_->slowest()),
            [this, &to, forged] { deliver(to, vote::Received{forged}); });
    }
  }
  void on(VoteMember& m, const vote::Elected& elected) {
    const election::Term term(elected.epoch.value());
    checker_.elected(m.id.value(), term, {values(declared_)});
    work_->elected(m, term, elected.ends, m.elector->stopped_by());
  }
  // The key of the admin is put together, sooner or later or never.
  void on(VoteMember& m, const vote::Reconstruct& keys) {
    if (!keys_are_there_ && chance(0.3)) return;
    const bool ok = keys_are_there_ || chance(0.5);
    after(draw(network_->quickest(), keys_are_there_ ? network_->slowest() * 2 : times_.lease),
          [this, &m, term = keys.term, ok, life = m.life] {
            if (m.life == life) deliver(m, vote::KeysReady{term, ok, ok ? "" : "too few key shares"});
          });
  }
  void on(VoteMember& m, const vote::AdminChanged& changed) {
    if (!tracing()) return;
    say(m,
        fmt::format("sees admin {} in term {}: {}", changed.new_admin.value(), changed.term.value(), changed.evidence));
  }
  void on(VoteMember& m, const vote::ElectionComplete& over) {
    if (!tracing()) return;
    say(m, fmt::format("election of term {} won by {}: {}", over.term.value(), over.winner.value(), over.why));
  }
  void on(VoteMember& m, const vote::StateChanged& state) {
    if (tracing()) say(m, fmt::format("{}: {}", to_string(state.to), state.why));
  }
  void on(VoteMember& m, const vote::Refused& refused) {
    if (tracing()) say(m, fmt::format("refuses messages of {}: {}", refused.from.value(), refused.why));
  }
  void on(VoteMember& m, const vote::Denied& denied) {
    if (tracing()) say(m, "denies: " + denied.why);
  }
  void on(VoteMember&, const vote::Conduct&) {}
  void on(VoteMember&, const vote::Left&) {}

  void work_has_stopped(GroupMember& member) { deliver(members_[member.index], vote::WorkStopped{}); }

  // --- faults
  // Fewer than half are lost, and one of the remaining nodes may stand.
  bool may_be_lost(const VoteMember& m) const {
    const bool one_stands = std::any_of(members_.begin(), members_.end(), [&m](const VoteMember& one) {
      return one.id != m.id && !one.lost && !one.gone && vote::may_stand(one.claim.capabilities);
    });
    return one_stands && ElectedGroup::may_be_lost(m);
  }
  // The others have heard of its last start. An older record of the same start would be as good as the newest: it is
  // the same life that goes on.
  bool is_found_out(const VoteMember& m, const vote::Record& older) const {
    return older.start + 1 < m.disk.newest().start;
  }
  // Ends one of them, and starts the other one anew: it may be silent. Its disk may have become the older one.
  void end_twin(VoteMember& m, VoteMember& twin) {
    crash(m, false);
    m.gone = true;
    crash(twin, false);
    start(twin);
  }
  bool call_election(VoteMember* m) {
    if (m == nullptr || !m->up) return false;
    deliver(*m, vote::CallElection{chance(0.5)});
    return true;
  }
  bool ask_to_hand_over(VoteMember* m) {
    if (m == nullptr || !m->up) return false;
    deliver(*m, vote::Transfer{chance(0.5) ? any().id : vote::kNobody, "asked to"});
    return true;
  }
  bool leave(VoteMember& m) {
    if (!m.up) return false;
    deliver(m, vote::Leave{"asked to"});
    after(draw(times_.lease, times_.lease * 4), [this, &m] {
      crash(m, false);
      restart_later(m);
    });
    return true;
  }
  bool boast(VoteMember& m, Duration by) {
    m.boast = by;
    if (m.up) measure(m);
    return true;
  }
  bool change_worth(VoteMember& m) {
    m.claim.resources = {prng().unit(), prng().unit(), prng().unit(), prng().unit()};
    if (chance(0.3)) m.claim.capabilities = {"admin_election", "key_reconstruction", "project_manager"};
    if (m.up) measure(m);
    return true;
  }
  bool hear_of_peer(VoteMember& m) {
    if (!m.up) return false;
    deliver(m, vote::PeerMeasured{declared_[prng().below(declared_.size())], prng().unit()});
    return true;
  }
  void made_whole(VoteMember& m) {
    keys_are_there_ = true;
    m.claim.resources = {0.5, 0.5, 0.5, 0.9};
    boast(m, Duration::zero());
    for (const NodeId other : declared_) deliver(m, vote::PeerMeasured{other, 0.9});
  }

  // --- phases
  void begin() override {
    keys_are_there_ = !needs_keys_ || chance(0.5);
    ElectedGroup::begin();
  }
  // Rounds that split because voters do not believe the same candidates, while candidates that do not know it wait;
  // keys under reconstruction, and clocks that run slow.
  Duration slack() const {
    const Duration round = timing_.election + timing_.discovery_backoff * 2;
    return Duration::from_seconds_f((round * 5 + times_.lease * 2).seconds_f() / (1 - worst_drift_));
  }
  // A node that has just started is quiet for a promise, an heir may let others wait, and discovery takes its time.
  Duration recovers_within() const {
    return times_.promise * 4 + timing_.discovery * 4 + timing_.transfer * 2 + slack() * 3;
  }
  // Earlier requests may still come.
  Duration calms_within() const { return times_.lease * 6 + timing_.transfer * 2 + timing_.discovery * 2; }
  Duration hands_over_within() const { return times_.lease * 4 + timing_.transfer + slack(); }
  Duration crash_budget() const {
    return vote::budget_of(timing_, {network_->usually_slowest() * 2, timing_.gather / 4}).crash_worst.total;
  }
  vote::Event wish_to_hand_over() const { return vote::Transfer{vote::kNobody, "asked to"}; }
  bool has_heir(const VoteMember& chief) const {
    return std::any_of(members_.begin(), members_.end(),
                       [&](const VoteMember& m) { return &m != &chief && m.up && m.elector->stands(); });
  }
  bool enough_beside(const VoteMember& chief) const {
    const auto voters = std::count_if(members_.begin(), members_.end(), [&](const VoteMember& m) {
      return &m != &chief && m.up && !m.elector->follows_only();
    });
    const bool stands = std::any_of(members_.begin(), members_.end(), [&](const VoteMember& m) {
      return &m != &chief && m.up && !m.elector->follows_only() && m.elector->stands();
    });
    return stands && static_cast<std::size_t>(voters) >= vote::majority_of(declared_.size());
  }
  std::string state_of(const VoteMember& m) const {
    const vote::VoteElector& elector = *m.elector;
    std::string text = "is " + std::string(to_string(elector.state()));
    if (elector.follows_only()) text += ", follows only";
    if (!elector.stands()) text += ", is no candidate";
    text += fmt::format(", voted in term {} for {}, promised to term {}, knows admin {} of term {}",
                        elector.record().term.value(), elector.record().vote.value(), elector.record().promised.value(),
                        elector.admin().value(), elector.admin_term().value());
    if (const vote::Ballot* ballot = elector.ballot(); ballot != nullptr) {
      text += fmt::format("; election of term {}{}", elector.ballot_term().value(),
                          elector.ballot_over() ? ", over:" : ":");
      for (const auto& [id, candidate] : ballot->announcements()) {
        text += fmt::format(" {}{}", id.value(), candidate ? "" : " is no candidate,");
        if (!candidate) continue;
        text += fmt::format(" has {}{}", ballot->votes_for(id), candidate->doubt.empty() ? "," : " (doubted),");
      }
    }
    return text;
  }

  // --- measurements
  void start_all() {
    for (VoteMember& m : members_) start(m);
  }
  uint32_t live_with_noise(Duration time) {
    start_all();
    expect_leader_that_stays();
    const uint32_t terms = checker_.terms();
    for (const Instant end = now() + time; now() < end && holds();) {
      // Measurements go up and down, by as much as a busy machine's do within half a minute.
      for (VoteMember& m : members_) {
        m.claim.resources = {0.5 + 0.4 * (prng().unit() - 0.5), 0.5, 0.5, 0.9 + 0.1 * (prng().unit() - 0.5)};
        measure(m);
      }
      run_for(times_.lease);
    }
    check(holds(), "in a healthy group everything holds");
    return checker_.terms() - terms;
  }

  vote::VoteTiming timing_;
  bool needs_keys_;
  bool keys_are_there_ = true;
};

constexpr auto kVoteFaults =
    joined(kGroupFaults<VoteWorld>,
           std::to_array<Fault<VoteWorld>>({
               {3, "a node is asked for an election", [](VoteWorld& w) { return w.call_election(&w.any()); }},
               {3, "the admin is asked for an election", [](VoteWorld& w) { return w.call_election(w.leader()); }},
               {3, "a node is asked to hand over", [](VoteWorld& w) { return w.ask_to_hand_over(&w.any()); }},
               {3, "the admin is asked to hand over", [](VoteWorld& w) { return w.ask_to_hand_over(w.leader()); }},
               {3, "a node leaves", [](VoteWorld& w) { return w.leave(w.any()); }},
               {4, "a node claims a wrong uptime",
                [](VoteWorld& w) { return w.boast(w.any(), w.draw(Duration::minutes(1), Duration::hours(48))); }},
               {4, "a node claims its true uptime", [](VoteWorld& w) { return w.boast(w.any(), Duration::zero()); }},
               {4, "the resources of a machine change", [](VoteWorld& w) { return w.change_worth(w.any()); }},
               {4, "a node measures the quality of a link", [](VoteWorld& w) { return w.hear_of_peer(w.any()); }},
           }));

}  // namespace

WorldRow vote_world() {
  return world_row<VoteWorld, kVoteMistakes, kVoteFaults>("vote", "a group that elects its admin by scores");
}

Takeover measure_vote_takeover(uint64_t seed, std::size_t nodes, const vote::VoteTiming& timing) {
  VoteWorld world({.seed = seed}, {{nodes, true}, timing});
  world.start_all();
  // Out of the window in which an admin is not challenged.
  return world.take_over(timing.heartbeat_timeout * 2, timing.leader_min_term);
}

uint32_t changes_under_noise(uint64_t seed, Duration time) {
  return VoteWorld({.seed = seed}, {{5, true}, vote::VoteTiming::standard()}).live_with_noise(time);
}

}  // namespace bellwether::sim
