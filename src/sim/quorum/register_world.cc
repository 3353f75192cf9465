#include "sim/quorum/register_world.h"

#include <algorithm>
#include <utility>

#include "base/probe.h"
#include "base/units.h"
#include "sim/quorum/register_run.h"

namespace bellwether::sim {

using dispatch::MemberId;
using dispatch::Place;

std::string_view to_string(RegisterMistake mistake) {
  switch (mistake) {
    case RegisterMistake::kNone: return "none";
    case RegisterMistake::kPromiseForgotten: return "promise-forgotten";
    case RegisterMistake::kAnswerBeforeDurable: return "answer-before-durable";
    case RegisterMistake::kDiskErrorIgnored: return "disk-error-ignored";
    case RegisterMistake::kLiveMajority: return "live-majority";
    case RegisterMistake::kNoMarginForDrift: return "no-margin-for-drift";
    case RegisterMistake::kLeaseForgotten: return "lease-forgotten";
    case RegisterMistake::kReadsUnconfirmed: return "reads-unconfirmed";
    case RegisterMistake::kNewestNotLearnt: return "newest-not-learnt";
  }
  return "?";
}

RegisterWorld::RegisterWorld(uint64_t seed, RegisterMistake mistake, bool trace)
    : mistake_(mistake),
      tracing_(trace),
      timeline_(seed),
      worst_drift_(timeline_.prng().chance(0.3) ? 0.1 : 0.01),
      lease_(Duration::seconds(timeline_.prng().chance(0.5) ? 3 : 30)),
      nodes_(3 + 2 * prng().below(prng().chance(0.3) ? 4 : 2)),
      cut_(nodes_.size() * nodes_.size()) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& n = nodes_[i];
    n.index = static_cast<uint32_t>(i);
    n.id = MemberId(i + 1);
    n.clock.base_local = Instant::from_ns(prng().between(0, Duration::hours(1).ns()));
    n.clock.rate = 1 + (prng().unit() * 2 - 1) * worst_drift_ * 0.99;
  }
}

void RegisterWorld::say(const Node& n, const std::string& text) {
  if (!tracing_) return;
  trace_ += format_duration(now() - Instant()) + "  n" + std::to_string(n.id.value()) + "." + std::to_string(n.life) +
            "  " + text + "\n";
}

RegisterWorld::Node* RegisterWorld::of(MemberId id) {
  return id.value() == 0 || id.value() > nodes_.size() ? nullptr : &nodes_[id.value() - 1];
}

// --- nodes -----------------------------------------------------------------------------------------------------------

void RegisterWorld::start(Node& n) {
  if (n.up) return;
  n.up = true;
  n.paused = false;
  ++n.life;
  say(n, "starts");
  const double drift = is(RegisterMistake::kNoMarginForDrift) ? 0 : worst_drift_;
  if (is(RegisterMistake::kPromiseForgotten)) n.disk.clear();
  n.acceptor.emplace(dispatch::JobAcceptorConfig{.drift = drift});
  to_acceptor(n, dispatch::AcceptorStart{true, n.disk});
  if (is(RegisterMistake::kLeaseForgotten)) n.clock.base_local += lease_ * 2;
  dispatch::JobOwnerConfig config;
  config.key = "job";
  config.self = n.id;
  for (const Node& peer : nodes_) {
    if (!is(RegisterMistake::kLiveMajority) || &peer == &n ||
        (peer.up && cut_[n.index * nodes_.size() + peer.index] == 0)) {
      config.peers.push_back(peer.id);
    }
  }
  config.lease = lease_;
  config.renew_every = lease_ / 3;
  config.retry = lease_ / 30;
  config.drift = drift;
  n.owner.emplace(std::move(config), prng().next());
  n.take_floor = checker_.floor();
  to_owner(n, dispatch::TakeJob{});
  use(n, n.life);
}

void RegisterWorld::crash(Node& n) {
  if (!n.up) return;
  say(n, "crashes");
  n.up = n.paused = false;
  ++n.wake_number;
  n.missed.clear();
  n.operations.clear();
}

void RegisterWorld::to_owner(Node& n, const dispatch::OwnerEvent& event) {
  if (!n.up) return;
  if (n.paused) {
    if (n.missed.size() < 256) n.missed.push_back({event, std::nullopt});
    return;
  }
  ++run_.events;
  dispatch::OwnerEffects effects;
  n.owner->step(n.clock.local(now()), event, effects);
  for (const dispatch::OwnerEffect& effect : effects) carry_out(n, effect);
  const uint64_t number = ++n.wake_number;
  const Instant wake = n.owner->wake();
  if (wake == Instant::never()) return;
  timeline_.after(std::max(n.clock.world_at(wake), now()) - now(), [this, &n, number] {
    if (n.up && number == n.wake_number) to_owner(n, dispatch::JobTick{});
  });
}

void RegisterWorld::to_acceptor(Node& n, const dispatch::AcceptorEvent& event) {
  if (!n.up) return;
  if (n.paused) {
    if (n.missed.size() < 256) n.missed.push_back({std::nullopt, event});
    return;
  }
  ++run_.events;
  dispatch::AcceptorEffects effects;
  n.acceptor->step(n.clock.local(now()), event, effects);
  for (const dispatch::AcceptorEffect& effect : effects) carry_out(n, effect);
}

void RegisterWorld::carry_out(Node& n, const dispatch::OwnerEffect& effect) {
  if (const auto* sending = std::get_if<dispatch::SendAsk>(&effect)) {
    ask(n, *sending);
  } else if (const auto* got = std::get_if<dispatch::JobTaken>(&effect)) {
    taken(n, *got);
  } else if (std::holds_alternative<dispatch::JobRenewed>(effect)) {
    expect_sole_owner(n);
  } else if (const auto* written = std::get_if<dispatch::JobWritten>(&effect)) {
    const auto operation = n.operations.find(written->ticket);
    if (operation != n.operations.end()) finished(n, written->ticket, written->place, operation->second.value);
  } else if (const auto* read = std::get_if<dispatch::JobRead>(&effect)) {
    finished(n, read->ticket, read->place, read->value);
  } else if (const auto* failed = std::get_if<dispatch::JobFailed>(&effect)) {
    n.operations.erase(failed->ticket);
  } else if (const auto* lost = std::get_if<dispatch::JobLost>(&effect)) {
    say(n, "loses fence " + std::to_string(lost->fence.value()) + ": " + lost->why);
    if (lost->why.empty()) checker_.fail("I17: a decision without evidence", now());
    n.take_floor = checker_.floor();
  }
}

void RegisterWorld::taken(Node& n, const dispatch::JobTaken& taken) {
  say(n, "owns the job, fence " + std::to_string(taken.fence.value()) + ", value '" + taken.value + "'");
  ++run_.owners;
  timeline_.record(taken.fence.value() * 64 + n.index);
  checker_.taken(n.index, taken.fence, now());
  checker_.done("a take-over", false, n.take_floor, taken.place, taken.value, now());
  n.known_place = taken.place;
  n.known_value = taken.value;
  expect_sole_owner(n);
}

void RegisterWorld::finished(Node& n, uint64_t ticket, Place place, const std::string& value) {
  const auto operation = n.operations.find(ticket);
  if (operation == n.operations.end()) return;
  const bool write = operation->second.write;
  ++(write ? run_.writes : run_.reads);
  checker_.done(write ? "a write" : "a read", write, operation->second.floor, place, value, now());
  n.known_place = place;
  n.known_value = value;
  n.operations.erase(operation);
}

void RegisterWorld::expect_sole_owner(const Node& n) {
  for (const Node& other : nodes_) {
    if (&other == &n || !other.up || !other.owner->owns(other.clock.local(now()))) continue;
    checker_.fail("I2: nodes " + std::to_string(n.id.value()) + " and " + std::to_string(other.id.value()) +
                      " hold the job at once",
                  now());
  }
}

// What whoever owns the job does with it.
void RegisterWorld::use(Node& n, uint32_t life) {
  if (!n.up || n.life != life) return;
  if (!n.paused && n.owner->owns(n.clock.local(now()))) {
    const uint64_t ticket = ++ticket_;
    if (prng().chance(0.5)) {
      const std::string value = "w" + std::to_string(ticket);
      n.operations[ticket] = {true, value, checker_.floor()};
      to_owner(n, dispatch::WriteJob{ticket, value});
    } else {
      n.operations[ticket] = {false, {}, checker_.floor()};
      to_owner(n, dispatch::ReadJob{ticket});
    }
    if (prng().below(64) == 0) {
      to_owner(n, dispatch::GiveJobBack{});
      n.take_floor = checker_.floor();
      to_owner(n, dispatch::TakeJob{});
    }
  }
  if (is(RegisterMistake::kReadsUnconfirmed) && n.known_place != Place()) {
    n.operations[++ticket_] = {false, {}, checker_.floor()};
    finished(n, ticket_, n.known_place, n.known_value);
  }
  timeline_.after(draw(Duration::millis(1), lease_ / 6), [this, &n, life] { use(n, life); });
}

}  // namespace bellwether::sim
