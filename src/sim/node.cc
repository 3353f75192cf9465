#include "sim/node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/probe.h"

namespace bellwether::sim {
namespace {

constexpr int64_t kWorldBegins = 1'760'000'000'000'000'000;  // some day of 2025, in nanoseconds since 1970
constexpr Duration kWallsApart = Duration::minutes(5);
constexpr Duration kLongestUp = Duration::hours(24 * 100);
constexpr Duration kLongestAsleep = Duration::hours(100);

// What a machine's clocks say when it is switched on: they have been running for a while, and differ between machines.
Clock::Start draw_start(Prng& prng, WallTime wall) {
  return {Instant::from_ns(prng.between(Duration::seconds(1), kLongestUp).ns()),
          prng.between(Duration::zero(), kLongestAsleep), wall};
}

WallTime draw_wall(Timeline& timeline) {
  return {kWorldBegins + timeline.now().ns() + timeline.prng().between(-kWallsApart, kWallsApart).ns()};
}

}  // namespace

Node::Node(Timeline& timeline, Network& network, uint32_t index, std::string name, runtime::IpAddress address)
    : timeline_(timeline),
      network_(network),
      index_(index),
      name_(std::move(name)),
      address_(address),
      clock_(timeline.now(), draw_start(timeline.prng(), draw_wall(timeline)), 0),
      disk_(timeline),
      processes_(name_) {
  network_.add_address(*this, address);
}

Node::~Node() { lose_power(); }

void Node::power_on() {
  const WallTime wall = clock_.wall(timeline_.now());
  clock_ = Clock(timeline_.now(), draw_start(timeline_.prng(), wall), clock_.drift_ppm());
  sockets_ = std::make_unique<Sockets>(*this, timeline_);
  processes_.power_on("boot-" + name_ + "-" + std::to_string(++boots_));
}

void Node::start(Main main, void* context) {
  check(!is_running(), "a node has one process");
  check(!in_turn_, "a process does not start others");
  if (!has_power()) power_on();
  main_ = main;
  context_ = context;
  ++process_number_;
  processes_.begin_own(clock_.boot(timeline_.now()));
  next_turn_ = Instant::never();
  runtime_ = std::make_unique<SimRuntime>(*this, timeline_);
  request_turn(timeline_.now());
}

void Node::restart() {
  check(main_ != nullptr, "what ran before can run again");
  start(main_, context_);
}

void Node::end_process() {
  process_ = {};
  runtime_.reset();
  processes_.end_own();
  paused_ = false;
}

void Node::kill() {
  check(!in_turn_, "a process does not kill itself");
  end_process();
}

void Node::lose_power() {
  check(!in_turn_, "a process does not cut its own power");
  if (!has_power()) return;
  sockets_->go_dark();
  end_process();
  sockets_.reset();
  disk_.lose_power();
}

void Node::pause() { paused_ = is_running(); }

void Node::resume() {
  if (!std::exchange(paused_, false)) return;
  if (next_turn_ <= timeline_.now()) BW_PROBE("sim: a process comes late to its turn because it was paused");
  next_turn_ = Instant::never();
  request_turn(timeline_.now());
}

void Node::set_drift(int64_t ppm) {
  clock_.set_drift(timeline_.now(), ppm);
  if (is_running()) request_turn(runtime_->next_turn());
}

void Node::step_boot(Duration by) {
  clock_.step_boot(by);
  if (is_running()) request_turn(runtime_->next_turn());
}

// A turn may be asked for again at an earlier time; the events of the later requests then find that they are not the
// ones that next_turn_ means.
void Node::request_turn(Instant world) {
  world = std::max(world, timeline_.now());
  if (world >= next_turn_) return;
  next_turn_ = world;
  timeline_.after(world - timeline_.now(), [this, world, number = process_number_] {
    if (is_running() && !paused_ && number == process_number_ && world == next_turn_) turn();
  });
}

void Node::turn() {
  next_turn_ = Instant::never();
  in_turn_ = true;
  timeline_.record(index_);
  runtime_->begin_turn();
  if (!process_.valid()) process_ = main_(*runtime_, context_);
  runtime_->turn();
  in_turn_ = false;
  if (process_.done()) {
    ++ended_;
    end_process();
  } else {
    request_turn(runtime_->next_turn());
  }
}

}  // namespace bellwether::sim
