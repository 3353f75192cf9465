// The wire and the disks of a simulated register, what goes wrong with them, and the phases of its run.
#include <algorithm>
#include <utility>

#include "base/probe.h"
#include "base/units.h"
#include "sim/quorum/register_run.h"

namespace bellwether::sim {

using dispatch::Answer;
using dispatch::Ask;
using dispatch::JobRecord;

void RegisterWorld::carry_out(Node& n, const dispatch::AcceptorEffect& effect) {
  if (const auto* answer = std::get_if<dispatch::Reply>(&effect)) {
    reply(n, *answer);
  } else if (const auto* record = std::get_if<dispatch::KeepJob>(&effect)) {
    keep(n, *record);
  } else if (const auto* freed = std::get_if<dispatch::TellFreed>(&effect)) {
    Node& to = *of(freed->to);
    if (cut_[n.index * nodes_.size() + to.index] > 0 || prng().chance(loss_)) return;
    timeline_.after(draw(Duration::micros(50), slowest_), [this, &to] { to_owner(to, dispatch::JobFreed{}); });
  }
}

void RegisterWorld::ask(Node& from, const dispatch::SendAsk& sending) {
  Node& to = *of(sending.to);
  if (const auto* accept = std::get_if<dispatch::Accept>(&sending.ask.body)) {
    checker_.attempted(accept->place, accept->value, now());
  }
  if (cut_[from.index * nodes_.size() + to.index] > 0 || prng().chance(loss_)) return;
  for (int copies = prng().chance(twice_) ? 2 : 1; copies > 0; --copies) {
    timeline_.after(draw(Duration::micros(50), slowest_),
                    [this, &to, asked = dispatch::Asked{from.id, sending.ask}] { to_acceptor(to, asked); });
  }
}

void RegisterWorld::reply(Node& from, const dispatch::Reply& reply) {
  Node& to = *of(reply.to);
  if (cut_[from.index * nodes_.size() + to.index] > 0 || prng().chance(loss_)) return;
  Answer answer = reply.answer;
  if (is(RegisterMistake::kNewestNotLearnt)) {
    answer.accepted = {};
    answer.value.clear();
  }
  timeline_.after(draw(Duration::micros(50), slowest_),
                  [this, &to, got = dispatch::JobAnswered{from.id, std::move(answer)}] { to_owner(to, got); });
}

void RegisterWorld::keep(Node& n, const dispatch::KeepJob& wanted) {
  n.disk_free_world = std::max(n.disk_free_world, now()) + draw(Duration::micros(100), Duration::millis(5)) +
                      draw(Duration::zero(), n.sync_slow);
  if (is(RegisterMistake::kAnswerBeforeDurable)) {
    timeline_.after(Duration::micros(1), [this, &n, life = n.life, number = wanted.number] {
      if (n.life == life) to_acceptor(n, dispatch::JobKept{number, true});
    });
  }
  timeline_.after(n.disk_free_world - now(), [this, &n, life = n.life, wanted] {
    if (!n.up || n.life != life) return;
    const bool fails = n.sync_fails > 0 && prng().chance(n.sync_fails);
    if (!fails || prng().chance(0.3)) n.disk = {wanted.record};
    if (fails) BW_PROBE("register world: a disk fails");
    const bool ok = !fails || is(RegisterMistake::kDiskErrorIgnored);
    to_acceptor(n, dispatch::JobKept{wanted.number, ok});
  });
}

// --- faults ----------------------------------------------------------------------------------------------------------

void RegisterWorld::cut(uint32_t from, uint32_t to, Duration span) {
  const std::size_t way = from * nodes_.size() + to;
  ++cut_[way];
  timeline_.after(span, [this, way] { --cut_[way]; });
}

void RegisterWorld::something_goes_wrong() {
  Node& n = nodes_[prng().below(nodes_.size())];
  const Duration span = draw(lease_ / 8, lease_ * 2);
  const auto count = static_cast<uint32_t>(nodes_.size());
  switch (prng().below(8)) {
    case 0:
    case 1:
      crash(n);
      timeline_.after(draw(Duration::millis(1), lease_), [this, &n] { start(n); });
      break;
    case 2:
      // The power fails.
      BW_PROBE("register world: everybody crashes");
      for (Node& one : nodes_) {
        crash(one);
        timeline_.after(draw(Duration::millis(1), lease_), [this, &one] { start(one); });
      }
      break;
    case 3:
      if (!n.up || n.paused) break;
      BW_PROBE("register world: a node is paused");
      n.paused = true;
      timeline_.after(span, [this, &n] {
        if (!std::exchange(n.paused, false)) return;
        std::vector<Node::Missed> missed = std::move(n.missed);
        n.missed.clear();
        for (const Node::Missed& one : missed) {
          if (one.owner) to_owner(n, *one.owner);
          if (one.acceptor) to_acceptor(n, *one.acceptor);
        }
        to_owner(n, dispatch::JobTick{});
      });
      break;
    case 4: {
      BW_PROBE("register world: nodes are apart");
      const uint64_t side = prng().next();
      const bool one_way = prng().chance(0.3);
      for (uint32_t a = 0; a < count; ++a) {
        for (uint32_t b = 0; b < count; ++b) {
          const bool apart = ((side >> a) & 1) != ((side >> b) & 1);
          if (apart && (!one_way || ((side >> a) & 1) == 0)) cut(a, b, span);
        }
      }
      break;
    }
    case 5:
      BW_PROBE("register world: the network is slow and loses messages");
      loss_ = prng().unit() * 0.5;
      twice_ = prng().unit() * 0.3;
      slowest_ = draw(Duration::millis(2), lease_ / 2);
      timeline_.after(span, [this] {
        loss_ = twice_ = 0;
        slowest_ = Duration::millis(2);
      });
      break;
    case 6:
      if (prng().chance(0.5)) {
        n.sync_fails = prng().unit();
      } else {
        n.sync_slow = lease_;
      }
      timeline_.after(span, [&n] {
        n.sync_fails = 0;
        n.sync_slow = Duration::zero();
      });
      break;
    default: n.clock.set_rate(now(), 1 + (prng().unit() * 2 - 1) * worst_drift_ * 0.99); break;
  }
}

// --- phases ----------------------------------------------------------------------------------------------------------

bool RegisterWorld::run_until(Instant end) {
  while (timeline_.next() <= end && checker_.violation().empty()) {
    timeline_.advance(timeline_.next());
    timeline_.run_one();
  }
  if (checker_.violation().empty()) timeline_.advance(end);
  return checker_.violation().empty();
}

void RegisterWorld::expect_owner() {
  const Duration at_most = lease_ * 5;
  const Instant end = now() + at_most;
  const auto somebody = [this] {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [this](const Node& n) { return n.up && n.owner->owns(n.clock.local(now())); });
  };
  while (!somebody() && now() < end) {
    if (!run_until(now() + lease_ / 30)) return;
  }
  if (!somebody()) {
    return checker_.fail("I13: nothing is broken any more, and nobody owns the job after " + format_duration(at_most),
                         now());
  }
  const uint32_t writes = run_.writes;
  if (run_until(now() + lease_ * 3) && run_.writes == writes) {
    checker_.fail("I13: nothing is broken any more, and nothing is written", now());
  }
}

RegisterRun RegisterWorld::live() {
  for (Node& n : nodes_) {
    timeline_.after(draw(Duration::zero(), lease_ / 4), [this, &n] { start(n); });
  }
  const auto faults = static_cast<int>(prng().between(4, 32));
  Duration after = lease_ / 2;
  for (int i = 0; i < faults; ++i) {
    after += draw(Duration::zero(), lease_);
    timeline_.after(after, [this] { something_goes_wrong(); });
  }
  if (run_until(now() + after + lease_ * 3)) {
    std::fill(cut_.begin(), cut_.end(), 0);
    for (Node& n : nodes_) start(n);
    expect_owner();
  }
  run_.violation = checker_.violation();
  run_.fingerprint = timeline_.fingerprint();
  run_.trace = std::move(trace_);
  return run_;
}

RegisterRun live_register(uint64_t seed, RegisterMistake mistake, bool trace) {
  return RegisterWorld(seed, mistake, trace).live();
}

}  // namespace bellwether::sim
