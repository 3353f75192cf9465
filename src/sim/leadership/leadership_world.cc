#include "election/elector.h"
#include "sim/all_worlds.h"
#include "sim/group/kernel_world.h"
#include "sim/leadership/store_model.h"

namespace bellwether::sim {
namespace {

using election::EvidenceKind;
using election::WriteRequest;

struct Candidate : GroupMember {
  StrongId<struct CandidateTag, uint64_t> id;
  std::optional<election::Elector> elector;
  std::vector<election::Event> missed;  // that came while it was paused
  election::Epoch kept_floor;           // on its disk
  Duration wall_ahead;                  // of its clock: as people see it

  // Identifies the question in flight: the answer to an older one is thrown away.
  uint64_t question = 0;
  bool asking = false;

  // Between it and the store.
  bool cut_off = false;
  bool late = false;  // answers take nearly as long as the longest wait
  bool deaf = false;  // requests arrive, answers do not

  std::string name() const { return fmt::format("m{}", id.value()); }
};

struct LeadershipWorld;
struct LeadershipKernel {
  using World = LeadershipWorld;
  using Member = Candidate;
  using Event = election::Event;
  static Event tick() { return election::Tick{}; }
};

struct LeadershipWorld : KernelWorld<LeadershipKernel> {
  LeadershipWorld(const RunSettings& settings, Mechanism mechanism)
      : KernelWorld(settings, static_cast<uint64_t>(mechanism)),
        mechanism_(mechanism),
        store_(mechanism, settings.mistake) {
    if (chance(0.3)) worst_drift_ = 0.1;
    draw_timing();
    members_.resize(2 + prng().below(3));
    cross_region_ = chance(0.2);
    backing_off_ = chance(0.1);
    damping_flaps_ = chance(0.1);
    slowest_ = timing_.store_timeout / 4;
    clock_stops_in_suspend_ = is("clock-stops-in-suspend");
    work_.emplace(*this, timeline_, checker_, work_host(),
                  WorkMistakes{.counts_from_answer = is("counts-from-answer"),
                               .keeps_leading_unrenewed = is("keeps-leading-unrenewed"),
                               .outlives_term = is("work-outlives-term"),
                               .caches_leadership = is("caches-leadership"),
                               .permits_while_acting = is("releases-before-work-stops"),
                               .forgets_fence = is("resource-forgets-fence")},
                  WorkHabits{.lease = timing_.lease,
                             .longest_act = timing_.renew_deadline + timing_.stop_grace,
                             .checks_term = chance(0.5),
                             .stubborn = chance(0.3)});
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Candidate& c = members_[i];
      c.index = static_cast<uint32_t>(i);
      c.id = decltype(c.id)(i + 1);
      c.clock.base_local = Instant::from_ns(prng().between(0, Duration::hours(1).ns()));
      c.clock.rate = drawn_rate();
      work_->add(c);
    }
  }
  bool is(MistakeIn<kLeadershipMistakes> mistake) const { return makes(mistake.number); }

  void draw_timing() {
    static constexpr int kSeconds[] = {1, 3, 15};
    timing_ = election::LeaseTiming::of(Duration::seconds(kSeconds[prng().below(3)]));
    timing_.drift = worst_drift_;
    const double usable = timing_.lease.seconds_f() * (1 - worst_drift_);
    timing_.stop_grace = Duration::from_seconds_f(usable) - timing_.renew_deadline - timing_.margin;
    if (is("no-margin-for-drift")) {
      timing_.drift = 0;
      timing_.margin = Duration::zero();
      timing_.stop_grace = timing_.lease - timing_.renew_deadline;
    }
    if (is("deadline-is-the-lease")) timing_.renew_deadline = timing_.lease;
    if (is("counts-from-answer")) timing_.store_timeout = timing_.renew_deadline - timing_.renew_every;
  }

  // --- candidates
  void start(Candidate& c) {
    if (c.up || c.working) return;
    begin_life(c);
    c.asking = false;
    election::ElectorConfig config;
    config.key = "key";
    config.claim.holder = c.name();
    if (cross_region_) {
      config.claim.region = c.index % 2 == 0 ? "east" : "west";
      config.claim.cross_region_wait = timing_.lease / 2;
    }
    config.timing = timing_;
    config.traits = store_.traits();
    if (backing_off_) config.backoff = election::BackoffSettings{};
    if (damping_flaps_) config.flap = election::FlapSettings{};
    if (!is("renews-while-work-hangs")) config.evidence.require(EvidenceKind::kWork, timing_.lease);
    config.fail_open = is("fail-open-is-leadership");
    config.claim.trust_empty = is("epoch-in-memory");
    config.floor = c.kept_floor;
    c.elector.emplace(std::move(config), prng().next());
    step(c, election::Start{});
  }
  bool crash(Candidate& c, bool machine) {
    if (!c.up) return false;
    const election::LeaseRecord record = c.elector->seen().record;
    const bool pid_in_use = chance(0.5);
    end_life(c, machine);
    if (c.working && !machine) {
      // The guardian ends the work of a dead elector; the life of both holds the key.
      const Instant last = std::max(c.clock.world_at(c.stop_by), now());
      after(draw(Duration::zero(), last - now()), [this, &c, work = c.work_number, record, pid_in_use] {
        work_->stopped(c, work);
        if (!record.token.empty()) store_.process_died(record.token, pid_in_use);
      });
      return true;
    }
    GroupWork::killed(c);
    if (!record.token.empty() && record.holder == c.name()) store_.process_died(record.token, pid_in_use);
    return true;
  }
  void step(Candidate& c, const election::Event& event) {
    ++events_;
    election::Effects effects;
    c.elector->step(c.clock.local(now()), event, effects);
    carry_out(c, effects);
    set_wake(c, c.elector->wake());
  }
  bool leads(const Candidate& c) const {
    return c.working && !c.hung && c.elector->state() == election::Elector::State::kLeading;
  }

  // --- questions to the store
  void on(Candidate& c, const election::Look& look) { ask(c, look); }
  void on(Candidate& c, const election::Act& act) { ask(c, act); }
  template <class Question>
  void ask(Candidate& c, const Question& question) {
    using Answer = std::conditional_t<std::is_same_v<Question, election::Look>, election::Looked, election::Acted>;
    const uint64_t number = ++c.question;
    c.asking = true;
    const Instant give_up = c.clock.world_at(c.clock.local(now()) + timing_.store_timeout);
    after(give_up - now(), [this, &c, life = c.life, number] {
      answer(c, life, number, Answer{bellwether::fail(Errc::kTimeout, "no answer in time")});
    });
    if (c.cut_off || chance(loss_)) return;
    for (int copies = chance(loss_ / 2) ? 2 : 1; copies > 0; --copies) {
      after(draw(Duration::micros(50), slowest_),
            [this, &c, life = c.life, number, question, token = c.elector->token()] {
              at_store(c, life, number, question, token);
            });
    }
  }
  template <class Question>
  void at_store(Candidate& c, uint32_t life, uint64_t number, const Question& question, const std::string& token) {
    if (!store_up_) return;
    // A lock of the host is worked by the process itself: nothing of it arrives after its death.
    if (mechanism_ == Mechanism::kHostLock && (!c.up || life != c.life)) return;
    election::Event event = carried_out(c, life, question, token);
    if (c.cut_off || c.deaf || chance(loss_)) return;
    const Duration longest = std::max(slowest_, timing_.store_timeout - timing_.store_timeout / 8);
    const Duration way = c.late ? draw(timing_.store_timeout / 2, longest) : draw(Duration::micros(50), slowest_);
    after(way, [this, &c, life, number, event = std::move(event)] { answer(c, life, number, event); });
  }
  WallTime wall_clock(const Candidate& c) const { return WallTime{(c.clock.local(now()) + c.wall_ahead).ns()}; }
  // To the store each life of a candidate is another client.
  static uint32_t client_of(const Candidate& c, uint32_t life) { return c.index * 1000 + life; }
  election::Event carried_out(Candidate& c, uint32_t life, const election::Act& act, const std::string&) {
    WriteRequest request = act.request;
    request.record.renewed_at = wall_clock(c);
    election::WriteOutcome outcome = store_.act(client_of(c, life), request, now());
    const bool released = outcome.applied && request.kind == WriteRequest::Kind::kRelease && life == c.life;
    if (released && work_->may_act(c)) fail(fmt::format("I12: {} gave the key back while its work ran", c.name()));
    return election::Acted{std::move(outcome)};
  }
  election::Event carried_out(Candidate& c, uint32_t life, const election::Look&, const std::string& token) {
    election::Observation seen = store_.look(client_of(c, life), token, now());
    if (is("trusts-wall-clock") && seen.record.held() &&
        wall_clock(c).unix_ns - seen.record.renewed_at.unix_ns > seen.record.lease.ns()) {
      seen.sight = election::HolderSight::kDead;
    }
    return election::Looked{std::move(seen)};
  }
  void answer(Candidate& c, uint32_t life, uint64_t number, const election::Event& event) {
    if (!c.up || life != c.life || number != c.question || !c.asking) return;
    c.asking = false;
    deliver(c, event);
  }

  // --- terms and work
  void on(Candidate& c, const election::Elected& elected) {
    const election::Term term(elected.epoch.value());
    checker_.elected(c.id.value(), term, {});
    work_->elected(c, term, elected.ends, elected.ends + c.elector->stop_grace());
  }
  void on(Candidate& c, const election::Renewed& renewed) {
    work_->renewed(c, renewed.ends, renewed.ends + c.elector->stop_grace());
  }
  void on(Candidate& c, const election::Drain& drain) {
    say(c, "drains: " + drain.cause);
    work_->drain(c, timing_.lease * 2);
  }
  void on(Candidate& c, election::TermEnded ended) {
    if (is("new-lease-counts-at-once")) {
      c.stop_by = ended.stop_by = std::min(c.term_ends, c.clock.local(now())) + c.elector->config().timing.stop_grace;
    }
    work_->term_ended(c, ended);
    if (is("starts-before-stopped") && ended.work_runs) {
      after(Duration::micros(1), [this, &c] { deliver(c, election::WorkStopped{}); });
    }
  }
  void on(Candidate&, const election::LeaderChanged&) {}
  void on(Candidate& c, const election::FloorRaised& raised) {
    if (!is("epoch-in-memory")) c.kept_floor = raised.floor;
  }
  void on(Candidate& c, const election::FailOpen& open) {
    if (open.open && is("fail-open-is-leadership")) {
      fail(fmt::format("I11: {} leads without a confirmation of the store", c.name()));
    }
  }
  void on(Candidate& c, const election::Note& note) { say(c, note.text); }
  void on(Candidate&, const election::Stopped&) {}
  void work_has_stopped(GroupMember& member) { deliver(members_[member.index], election::WorkStopped{}); }
  void has_acted(GroupMember& member) { deliver(members_[member.index], election::GoodEvidence{EvidenceKind::kWork}); }

  // --- faults
  Duration a_while() { return draw(timing_.lease / 4, timing_.lease * 3); }
  bool crash_one(Candidate& c) {
    if (!crash(c, chance(0.5))) return false;
    // With its disk, or without: then it knows no epoch any more.
    if (chance(0.3)) c.kept_floor = election::Epoch();
    after(draw(Duration::zero(), timing_.lease * 2), [this, &c] { start(c); });
    return true;
  }
  bool hang(Candidate& c) {
    if (!c.working || c.hung) return false;
    say(c, "work hangs");
    c.hung = true;
    return true;
  }
  bool ask_to_resign(Candidate& c) {
    if (!c.up) return false;
    deliver(c, election::Resign{.cause = "asked to", .heir = chance(0.5) ? any().name() : ""});
    return true;
  }
  bool show_change(Candidate& c) {
    if (!c.up) return false;
    deliver(c, election::StoreChanged{});
    return true;
  }
  bool cut_off(Candidate& c, Duration span) {
    say(c, "is cut off");
    c.cut_off = true;
    after(span, [&c] { c.cut_off = false; });
    return true;
  }
  bool be_late(Candidate& c) {
    say(c, "hears the store late");
    c.late = true;
    after(a_while(), [this, &c] {
      c.late = false;
      if (chance(0.5)) cut_off(c, timing_.lease * 2);  // it often ends in not hearing it at all
    });
    return true;
  }
  bool deafen(Candidate& c) {
    say(c, "does not hear the store");
    c.deaf = true;
    after(a_while(), [&c] { c.deaf = false; });
    return true;
  }
  bool spoil_network() {
    loss_ = prng().unit() * 0.5;
    slowest_ = draw(timing_.store_timeout / 4, timing_.lease);
    after(a_while(), [this] {
      loss_ = 0;
      slowest_ = timing_.store_timeout / 4;
    });
    return true;
  }
  // Like a lease that follows the store: shorter while the store is quick, and back again when it becomes slow, which
  // often ends in a store that does not answer. Never longer than the lease in the budgets of this world.
  bool change_lease(Candidate& c) {
    if (!c.up || timing_.lease < Duration::seconds(2)) return false;
    set_lease(c, 0.5 + prng().unit() / 2);
    after(draw(timing_.lease, timing_.lease * 3), [this, &c] {
      set_lease(c, 1);
      if (chance(0.5)) cut_off(c, timing_.lease * 2);
    });
    return true;
  }
  void set_lease(Candidate& c, double ratio) {
    election::LeaseTiming timing = timing_;
    for (Duration* span : {&timing.lease, &timing.renew_every, &timing.renew_deadline, &timing.stop_grace,
                           &timing.margin, &timing.retry}) {
      *span = Duration::from_seconds_f(span->seconds_f() * ratio);
    }
    say(c, fmt::format("has a lease of {} from now on", format_duration(timing.lease)));
    deliver(c, election::Retime{timing});
  }
  bool set_wall_clock(Candidate& c) {
    c.wall_ahead += draw(timing_.lease, timing_.lease * 4);
    return true;
  }
  bool break_store() {
    store_up_ = false;
    if (chance(0.5)) store_.crash(prng(), now());
    after(draw(timing_.lease / 4, timing_.lease * 2), [this] { store_up_ = true; });
    return true;
  }
  void make_whole() override {
    store_up_ = true;
    loss_ = 0;
    slowest_ = timing_.store_timeout / 4;
    for (Candidate& c : members_) {
      c.cut_off = c.deaf = c.late = false;
      resume(c);
      start(c);
    }
  }

  // --- phases
  Pace pace() const override {
    return {.least_faults = 4,
            .most_faults = 24,
            .before = timing_.lease,
            .gap = timing_.lease * 2,
            .after = timing_.lease,
            .rest = timing_.lease * 4};
  }
  void begin() override {
    for (Candidate& c : members_) {
      after(draw(Duration::zero(), timing_.lease), [this, &c] { start(c); });
    }
  }
  // From the end of the last holder's process, with the candidate's own waits (regions, back-off).
  Duration takeover_budget() const {
    Duration budget = (timing_.retry + timing_.store_timeout) * 2;
    if (mechanism_ != Mechanism::kHostLock) budget += timing_.takeable_after(timing_.lease);
    if (cross_region_) budget += timing_.lease / 2;
    if (backing_off_) budget += Duration::seconds(30);
    if (damping_flaps_) budget += election::FlapSettings{}.cooldown;           // I16: it delays, and never for ever
    return Duration::from_seconds_f(budget.seconds_f() / (1 - worst_drift_));  // as the slowest clock shows it
  }
  void expect_recovery() override {
    // The worst: work winds up for two leases, the lease of a holder that is gone runs out, candidates that have just
    // given the key up stay back for one, and a store that forgot is not believed for another.
    const Duration at_most = takeover_budget() + timing_.lease * 8 + Duration::seconds(1);
    if (!somebody_leads_within(at_most)) {
      return fail("I13: all faults are repaired, but no candidate leads after " + format_duration(at_most));
    }
    // Messages from before the repair may still end this term; after that none does.
    if (!run_for(timing_.lease * 3)) return;
    const uint32_t terms = checker_.terms();
    if (!run_for(timing_.lease * 4)) return;
    if (leader() == nullptr) return fail("I13: all faults are repaired, but no candidate leads");
    if (checker_.terms() != terms) return fail("I13: the leader changed although nothing was broken");
    crash(*leader(), true);
    if (!somebody_leads_within(takeover_budget())) {
      fail("I13: no takeover within the budget of " + format_duration(takeover_budget()));
    }
  }
  bool somebody_leads_within(Duration at_most) {
    return run_until(now() + at_most, [this] { return leader() != nullptr; });
  }
  std::vector<Run::Count> counts() const override {
    return {{"terms", checker_.terms()}, {"late acts refused", work_->refused_acts()}};
  }

  Mechanism mechanism_;
  StoreModel store_;
  election::LeaseTiming timing_;
  GroupChecker checker_{*this};
  bool cross_region_ = false;
  bool damping_flaps_ = false;
  bool backing_off_ = false;

  // How the world is at the moment.
  bool store_up_ = true;
  double loss_ = 0;
  Duration slowest_;  // of one message
};

constexpr auto kLeadershipFaults = std::to_array<Fault<LeadershipWorld>>({
    {6, "a candidate crashes", [](LeadershipWorld& w) { return w.crash_one(w.any()); }},
    {6, "a candidate, or its machine, is paused",
     [](LeadershipWorld& w) { return w.pause_for(w.any(), w.chance(0.3), w.a_while()); }},
    {3, "the work hangs", [](LeadershipWorld& w) { return w.hang(w.any()); }},
    {3, "a candidate is told to resign", [](LeadershipWorld& w) { return w.ask_to_resign(w.any()); }},
    {2, "the store shows a change", [](LeadershipWorld& w) { return w.show_change(w.any()); }},
    {2, "the times of a lease change", [](LeadershipWorld& w) { return w.change_lease(w.any()); }},
    {3, "a wall clock is set", [](LeadershipWorld& w) { return w.set_wall_clock(w.any()); }},
    {2, "a user deletes the record by hand", [](LeadershipWorld& w) { return w.store_.record_deleted(); }},
    {6, "the store is down", [](LeadershipWorld& w) { return w.break_store(); }},
    {8, "a candidate is cut off from the store", [](LeadershipWorld& w) { return w.cut_off(w.any(), w.a_while()); }},
    {4, "a candidate receives answers of the store late", [](LeadershipWorld& w) { return w.be_late(w.any()); }},
    {4, "a candidate receives no answers of the store", [](LeadershipWorld& w) { return w.deafen(w.any()); }},
    {8, "the network is slow and loses messages", [](LeadershipWorld& w) { return w.spoil_network(); }},
    {8, "a clock runs at another rate", [](LeadershipWorld& w) { return w.let_clock_drift(w.any()); }},
});

template <Mechanism kMechanism>
struct LeadershipWorldOf final : LeadershipWorld {
  explicit LeadershipWorldOf(const RunSettings& settings) : LeadershipWorld(settings, kMechanism) {}
};
template <Mechanism kMechanism>
constexpr WorldRow row_of(std::string_view name) {
  return world_row<LeadershipWorldOf<kMechanism>, kLeadershipMistakes, kLeadershipFaults>(
      name, "one key, several candidates");
}

}  // namespace

std::span<const WorldRow> leadership_worlds() {
  static constexpr std::array kRows{
      row_of<Mechanism::kHostLock>("leadership-flock"), row_of<Mechanism::kLeaseFile>("leadership-file"),
      row_of<Mechanism::kRedis>("leadership-redis"),    row_of<Mechanism::kEtcd>("leadership-etcd"),
      row_of<Mechanism::kKubernetes>("leadership-k8s"), row_of<Mechanism::kPostgres>("leadership-postgres"),
  };
  return kRows;
}

}  // namespace bellwether::sim
