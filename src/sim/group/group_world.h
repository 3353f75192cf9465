// A world of one small group: members that are started, killed and paused, and what they say to each other, the same
// whatever elector they have. Who derives from it says what an elector is told and what becomes of its effects.
//
// `Kernel` names the types: Member (a GroupMember with `id`, `elector`, `disk` and `missed`), Event, Tick, Received and
// Message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/probe.h"
#include "base/units.h"
#include "sim/group/group_checker.h"
#include "sim/group/group_network.h"
#include "sim/group/group_work.h"
#include "sim/timeline.h"

namespace bellwether::sim {

template <class Kernel>
class GroupWorld : protected GroupWork::Host {
 protected:
  using Member = typename Kernel::Member;
  using Event = typename Kernel::Event;
  using Message = typename Kernel::Message;

  GroupWorld(uint64_t seed, bool trace) : tracing_(trace), timeline_(seed) {}

  // --- what a world does with its members
  // Hands the event to the elector, and carries its effects out.
  virtual void step(Member& m, const Event& event) = 0;

  void deliver(Member& m, const Event& event) {
    if (!m.up) return;
    if (m.paused) {
      // What a socket holds while its process stands still is bounded.
      if (m.missed.size() < 512 && !std::holds_alternative<typename Kernel::Tick>(event)) m.missed.push_back(event);
    } else {
      step(m, event);
    }
  }
  // `wake`: by its own clock.
  void set_wake(Member& m, Instant wake) {
    const uint64_t number = ++m.wake_number;
    if (wake == Instant::never()) return;
    const Instant at = std::max(m.clock.world_at(wake), now());
    timeline_.after(at - now(), [this, &m, number] {
      if (m.up && number == m.wake_number) deliver(m, typename Kernel::Tick{});
    });
  }
  void crash(Member& m, bool machine) {
    if (!m.up) return;
    say(m, machine ? "machine crashes" : "process is killed");
    m.up = m.paused = m.suspended = false;
    ++m.wake_number;
    m.missed.clear();
    m.disk.crash(prng());
    m.disk.set_asleep(false);
    GroupWork::killed(m);
    if (machine) {
      m.clock.base_world = now();
      m.clock.base_local = Instant::from_ns(prng().between(0, Duration::minutes(1).ns()));
    }
  }
  void pause(Member& m, bool machine) {
    if (!m.up || m.paused) return;
    BW_PROBE("group world: a member is paused");
    say(m, machine ? "machine sleeps" : "process is paused");
    m.paused = true;
    m.suspended = machine;
    m.disk.set_asleep(machine);
  }
  void resume(Member& m) {
    if (!m.paused) return;
    say(m, "goes on");
    m.paused = false;
    const bool slept = std::exchange(m.suspended, false);
    m.disk.set_asleep(false);
    if (slept) work_->woken(m);
    std::vector<Event> missed = std::move(m.missed);
    m.missed.clear();
    for (const Event& event : missed) {
      if (m.up) step(m, event);
    }
    if (m.up) step(m, typename Kernel::Tick{});
  }
  Member* leader() {
    const auto found = std::find_if(members_.begin(), members_.end(),
                                    [this](const Member& m) { return m.up && !m.paused && leads(m); });
    return found == members_.end() ? nullptr : &*found;
  }
  bool leads(const GroupMember& member) const final {
    const Member& m = members_[member.index];
    return m.elector && m.elector->leads(m.clock.local(now()));
  }

  // --- messages
  // Sends it, if it is not lost at once, and keeps some to be said again.
  void send(const Member& from, const Member& to, const Message& message) {
    const bool on_its_way = network_->send(from.index, to.index, [this, message, there = to.index] {
      deliver(members_[there], typename Kernel::Received{message});
    });
    if (!on_its_way || !keeps_old_ || prng().below(16) != 0) return;
    Old old{message, from.index, to.index};
    if (old_.size() < kReplays) {
      old_.push_back(std::move(old));
    } else {
      old_[prng().below(kReplays)] = std::move(old);
    }
  }
  // Somebody who has recorded messages says them again.
  void replay() {
    if (old_.empty()) return;
    BW_PROBE("group world: old messages are replayed");
    for (int i = 0; i < 8; ++i) {
      const Old& old = old_[prng().below(old_.size())];
      network_->travel(
          old.from, old.to, draw(network_->quickest(), network_->slowest()),
          [this, message = old.message, to = old.to] { deliver(members_[to], typename Kernel::Received{message}); });
    }
  }

  // --- time
  // False when a rule was broken.
  bool run_until(Instant end) {
    while (timeline_.next() <= end && checker_.violation().empty()) {
      timeline_.advance(timeline_.next());
      timeline_.run_one();
    }
    if (checker_.violation().empty()) timeline_.advance(end);
    return checker_.violation().empty();
  }
  // Until `holds()`, which is asked after each event; false when it does not by then.
  template <class Holds>
  bool run_until(Instant end, Holds holds) {
    while (now() < end && !holds()) {
      if (!run_until(std::min(end, timeline_.next()))) return false;
    }
    return holds();
  }

  void say(const GroupMember& member, const std::string& text) final {
    if (!tracing_) return;
    trace_ += format_duration(now() - Instant()) + "  m" + std::to_string(members_[member.index].id.value()) + "." +
              std::to_string(member.life) + "  " + text + "\n";
  }
  Duration draw(Duration low, Duration high) { return timeline_.prng().between(low, high); }
  Prng& prng() { return timeline_.prng(); }
  Instant now() const { return timeline_.now(); }

  bool tracing_;
  std::string trace_;
  Timeline timeline_;
  std::vector<Member> members_;  // never more than are reserved at the beginning: others point into it
  GroupChecker checker_;
  std::optional<GroupNetwork> network_;
  std::optional<GroupWork> work_;
  bool keeps_old_ = true;

 private:
  static constexpr std::size_t kReplays = 64;

  struct Old {
    Message message;
    uint32_t from;
    uint32_t to;
  };
  std::vector<Old> old_;  // to be replayed
};

}  // namespace bellwether::sim
