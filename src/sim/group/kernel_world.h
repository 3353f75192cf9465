// A world of a few members that run a kernel each: they start, die, pause and go on, have separate clocks, and guard
// work.
//
// `Kernel` names the types: Member (a GroupMember with `id` and `missed`, and perhaps a `disk`), Event, and tick(),
// which makes the event for "the time of wake() has come"; and World, which derives from this and has
//   step(Member&, const Event&)   hands the event to the kernel, and carries its effects out
//   leads(const Member&)          it is in office, by its own clock
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/units.h"
#include "sim/group/group_work.h"
#include "sim/harness/faulty_world.h"
#include "sim/timeline.h"

namespace bellwether::sim {

// The disk of one simulated member, as far as elections see it: a record that is written whole, again and again.
// Confirmed data survives a crash; other data may.
template <class Record>
class RecordDisk {
 public:
  RecordDisk() = default;
  // A copy of another one, except for its pending writes.
  explicit RecordDisk(std::vector<Record> kept) : kept_(std::move(kept)) {}

  bool empty() const { return kept_.empty(); }
  const Record& newest() const { return kept_.back(); }
  const std::vector<Record>& kept() const { return kept_; }  // oldest first

  // Executes writes in order, each in `usually` plus the disk's delay; those that wait are written together, so that a
  // mended disk has no backlog. Then it calls done(record, ok), once; not after a crash. Not ok: the record may be
  // there all the same. The disk must stay where it is.
  template <class Done>
  void write(Timeline& timeline, const Record& record, Duration usually, Done done) {
    const uint64_t number = ++number_;
    under_way_.push_back({record, number});
    const Instant begins = std::clamp(free_, timeline.now(), timeline.now() + slow_ + kMaxQueued);
    free_ = begins + usually + timeline.prng().between(Duration::zero(), slow_);
    wait(timeline, free_ - timeline.now(), number, std::move(done));
  }
  // The first part of the pending writes may have arrived.
  void crash(Prng& prng) {
    while (!under_way_.empty() && prng.chance(0.5)) {
      kept_.push_back(under_way_.front().record);
      under_way_.pop_front();
    }
    under_way_.clear();
    ++crashes_;
  }
  void lose() { kept_.clear(); }
  // As it was when only the first `count` records had been written.
  void roll_back(std::size_t count) { kept_.resize(count); }

  void set_asleep(bool asleep) { asleep_ = asleep; }  // with its machine: nothing is confirmed
  void set_slow(Duration at_most) { slow_ = at_most; }
  void set_failing(double ratio) { failing_ = ratio; }
  void mend() { slow_ = Duration::zero(), failing_ = 0; }

 private:
  static constexpr Duration kLooksAgain = Duration::millis(50);
  static constexpr Duration kMaxQueued = Duration::millis(50);  // at a disk that is not slow

  struct Write {
    Record record;
    uint64_t number;
  };

  template <class Done>
  void wait(Timeline& timeline, Duration span, uint64_t number, Done done) {
    timeline.after(span, [this, &timeline, number, done = std::move(done), crashes = crashes_] {
      if (crashes == crashes_) finish(timeline, number, done);
    });
  }
  template <class Done>
  void finish(Timeline& timeline, uint64_t number, const Done& done) {
    if (asleep_) return wait(timeline, kLooksAgain, number, done);
    const uint64_t crashes = crashes_;
    while (crashes == crashes_ && !under_way_.empty() && under_way_.front().number <= number) {
      const Record record = std::move(under_way_.front().record);
      under_way_.pop_front();
      const bool ok = failing_ == 0 || !timeline.prng().chance(failing_);
      if (ok || timeline.prng().chance(0.3)) kept_.push_back(record);
      done(record, ok);
    }
  }

  std::vector<Record> kept_;
  std::deque<Write> under_way_;
  uint64_t number_ = 0;
  uint64_t crashes_ = 0;
  Instant free_;
  Duration slow_;
  double failing_ = 0;
  bool asleep_ = false;
};

template <class Kernel>
class KernelWorld : public FaultyWorld {
 public:
  using Member = typename Kernel::Member;
  using Event = typename Kernel::Event;

  // `stream`: of several worlds with the same seeds.
  explicit KernelWorld(const RunSettings& settings, uint64_t stream = 0)
      : FaultyWorld(settings), timeline_(settings.seed ^ (stream << 56)) {}

  typename Kernel::World& self() { return static_cast<typename Kernel::World&>(*this); }
  const typename Kernel::World& self() const { return static_cast<const typename Kernel::World&>(*this); }
  // Of guarded work. World has work_has_stopped() for its end and has_acted() for each act.
  GroupWork::Host work_host() {
    using World = typename Kernel::World;
    return {.say = callback_to<&KernelWorld::say_of>(*this),
            .work_has_stopped = callback_to<&World::work_has_stopped>(self()),
            .has_acted = callback_to<&World::has_acted>(self())};
  }
  void has_acted(GroupMember&) {}

  void deliver(Member& m, const Event& event) {
    if (!m.up) return;
    if (!m.paused) return self().step(m, event);
    if (m.missed.size() < kMaxMissed) m.missed.push_back(event);
  }
  // The effects of a step.
  template <class Effects>
  void carry_out(Member& m, const Effects& effects) {
    const auto carry = [&](const auto& one) {
      expect_evidence(one);
      self().on(m, one);
    };
    for (const auto& effect : effects) std::visit(carry, effect);
  }
  // `wake`: by its own clock.
  void set_wake(Member& m, Instant wake) {
    const uint64_t number = ++m.wake_number;
    if (wake == Instant::never()) return;
    after(std::max(m.clock.world_at(wake), now()) - now(), [this, &m, number] {
      if (m.up && !m.paused && number == m.wake_number) self().step(m, Kernel::tick());
    });
  }
  // Its process has begun; `life` counts them.
  void begin_life(Member& m) {
    m.up = true;
    m.paused = m.suspended = false;
    ++m.life;
    say(m, "starts");
  }
  // False: it did not run. The caller handles the work.
  bool end_life(Member& m, bool machine) {
    if (!m.up) return false;
    say(m, machine ? "machine crashes" : "process is killed");
    m.up = m.paused = m.suspended = false;
    ++m.wake_number;
    m.missed.clear();
    if constexpr (requires { m.disk; }) {
      m.disk.crash(prng());
      m.disk.set_asleep(false);
    }
    if (machine) {
      m.clock.base_world = now();
      m.clock.base_local = Instant::from_ns(prng().between(0, Duration::minutes(1).ns()));
    }
    return true;
  }
  void pause(Member& m, bool machine) {
    if (!m.up || m.paused) return;
    say(m, machine ? "machine sleeps" : "process is paused");
    m.paused = true;
    m.suspended = machine;
    if constexpr (requires { m.disk; }) m.disk.set_asleep(machine);
  }
  void resume(Member& m) {
    if (!m.paused) return;
    say(m, "goes on");
    m.paused = false;
    const bool slept = std::exchange(m.suspended, false);
    if constexpr (requires { m.disk; }) m.disk.set_asleep(false);
    if (slept && work_) work_->woken(m);
    const std::vector<Event> missed = std::exchange(m.missed, {});
    for (const Event& event : missed) {
      if (m.up) self().step(m, event);
    }
    if (m.up) self().step(m, Kernel::tick());
  }
  // For `span`, and with the machine when `machine` is true.
  bool pause_for(Member& m, bool machine, Duration span) {
    if (!m.up || m.paused) return false;
    pause(m, machine);
    if (machine && clock_stops_in_suspend_) {
      m.clock.base_local = m.clock.local(now());
      m.clock.base_world = now() + span;
    }
    after(span, [this, &m] { resume(m); });
    return true;
  }
  bool let_clock_drift(Member& m) {
    m.clock.set_rate(now(), drawn_rate());
    return true;
  }
  double drawn_rate() { return 1 + (prng().unit() * 2 - 1) * worst_drift_ * 0.99; }

  Member& any() { return members_[prng().below(members_.size())]; }
  Member* leader() {
    const auto found = std::find_if(members_.begin(), members_.end(),
                                    [this](const Member& m) { return m.up && !m.paused && self().leads(m); });
    return found == members_.end() ? nullptr : &*found;
  }

  // I17: the log must give its reader the reason.
  template <class Effect>
  void expect_evidence(const Effect& effect) {
    const auto must_say = [this](const std::string& text) {
      if (text.empty()) fail("I17: a decision without evidence");
    };
    if constexpr (requires { effect.why.message; }) {
      must_say(effect.why.message);
    } else if constexpr (requires { effect.why; }) {
      must_say(effect.why);
    }
    if constexpr (requires { effect.cause; }) must_say(effect.cause);
    if constexpr (requires { effect.evidence; }) must_say(effect.evidence);
  }

  // --- time
  Instant now() const final { return timeline_.now(); }
  Prng& prng() final { return timeline_.prng(); }
  uint64_t fingerprint() const final { return timeline_.fingerprint(); }
  template <class Action>
  void after(Duration span, Action action) {
    timeline_.after(span, std::move(action));
  }
  bool run_for(Duration span) final { return run_until(now() + span); }
  bool run_until(Instant end) {
    while (timeline_.next() <= end && holds()) {
      timeline_.advance(timeline_.next());
      timeline_.run_one();
    }
    if (holds()) timeline_.advance(end);
    return holds();
  }
  // Until `come()`, which is called after each event; false when it has not by then, or a rule was broken.
  template <class Come>
  bool run_until(Instant end, Come come) {
    while (now() < end && !come()) {
      if (!run_until(std::min(end, timeline_.next()))) return false;
    }
    return come();
  }

  using FaultyWorld::say;
  void say(const GroupMember& member, const std::string& text) { say_of(member, text); }
  void say_of(const GroupMember& member, const std::string& text) {
    if (!tracing()) return;
    say("m" + std::to_string(members_[member.index].id.value()) + "." + std::to_string(member.life) + "  " + text);
  }

  Timeline timeline_;
  double worst_drift_ = 0.01;    // of any clock from true time
  std::vector<Member> members_;  // never more than are reserved at the beginning: others point into it
  std::optional<GroupWork> work_;
  bool clock_stops_in_suspend_ = false;  // a mistake

 private:
  // Bounds the contents of a socket while its process stands still.
  static constexpr std::size_t kMaxMissed = 512;
};

}  // namespace bellwether::sim
