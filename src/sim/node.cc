#include "sim/node.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/runtime/processes.h"

namespace bellwether::sim {
namespace {

using runtime::Cancellation;
using runtime::ChildEnd;
using runtime::task;

class SimChild final : public runtime::Child {
 public:
  SimChild(runtime::Runtime& runtime, ProgramScript script, int64_t pid, const runtime::SpawnOptions& options)
      : runtime_(runtime),
        script_(std::move(script)),
        pid_(pid),
        own_group_(options.group != runtime::SpawnOptions::Group::kOurs),
        capture_(options.capture),
        ends_at_(runtime.now() + script_.runs_for) {}

  int64_t pid() const override { return pid_; }

  task<Result<ChildEnd>> wait(Instant deadline, Cancellation* cancel) override {
    if (runtime_.now() < ends_at_) {
      const Waiting waiting(*this, cancel);
      co_await runtime_.sleep_until(std::min(deadline, ends_at_), waiting.cancellation());
    }
    if (runtime_.now() >= ends_at_) co_return finish();
    if (cancel != nullptr && cancel->cancelled())
      co_return fail(Errc::kCancelled, "waiting for a program was cancelled");
    co_return fail(Errc::kTimeout, "a program still runs");
  }

  Status signal(int number) override {
    if (script_.signals != nullptr) script_.signals->push_back(number);
    const bool ends = number == SIGKILL || (number != 0 && !script_.ignores_terminate);
    if (!ends || runtime_.now() >= ends_at_) return {};
    ends_at_ = runtime_.now();
    script_.end = {0, number};
    script_.output.clear();
    if (waiting_ != nullptr) waiting_->cancel();
    return {};
  }

  Status signal_group(int number) override {
    if (own_group_) return signal(number);
    return fail(Errc::kInvalid, "signalling the group of a program: it has none of its own");
  }

  const std::string& output() const override { return output_; }
  bool output_was_cut() const override { return cut_; }
  void let_go() override {}

 private:
  // Lets a signal wake the waiter.
  class Waiting {
   public:
    Waiting(SimChild& child, Cancellation* parent) : child_(child), woken_(parent) {
      check(child_.waiting_ == nullptr, "one waiter a child");
      child_.waiting_ = &woken_;
    }
    ~Waiting() { child_.waiting_ = nullptr; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    Cancellation* cancellation() const { return &woken_; }

   private:
    SimChild& child_;
    mutable Cancellation woken_;
  };

  ChildEnd finish() {
    output_ = script_.output.substr(0, capture_);
    cut_ = capture_ > 0 && script_.output.size() > capture_;
    return script_.end;
  }

  runtime::Runtime& runtime_;
  ProgramScript script_;
  int64_t pid_;
  bool own_group_;
  std::size_t capture_;
  Instant ends_at_;
  std::string output_;
  bool cut_ = false;
  Cancellation* waiting_ = nullptr;
};

constexpr int64_t kFirstPid = 1000;
constexpr int64_t kTicksPerSecond = 100;

constexpr __int128 kMillion = 1'000'000;

constexpr int64_t kWorldBegins = 1'760'000'000'000'000'000;  // some day of 2025, in nanoseconds since 1970
constexpr Duration kWallsApart = Duration::minutes(5);
constexpr Duration kLongestUp = Duration::hours(24 * 100);
constexpr Duration kLongestAsleep = Duration::hours(100);

// The clocks of a machine at power-on: they have been running for a while, and differ between machines.
Clock::Start draw_start(Prng& prng, WallTime wall) {
  return {Instant::from_ns(prng.between(Duration::seconds(1), kLongestUp).ns()),
          prng.between(Duration::zero(), kLongestAsleep), wall};
}

WallTime draw_wall(Timeline& timeline) {
  return {kWorldBegins + timeline.now().ns() + timeline.prng().between(-kWallsApart, kWallsApart).ns()};
}

}  // namespace

Result<std::unique_ptr<runtime::Child>> Programs::start(runtime::Runtime& runtime,
                                                        const runtime::SpawnOptions& options) {
  if (options.argv.empty()) return fail(Errc::kInvalid, "running a program: it has no name");
  if (script_ == nullptr) return fail(Errc::kNotFound, options.argv[0] + ": no such file");
  ProgramScript script = script_(context_, options);
  if (script.refusal) return tl::unexpected(*script.refusal);
  return std::unique_ptr<runtime::Child>(std::make_unique<SimChild>(runtime, std::move(script), next_pid_++, options));
}

void Processes::power_on(std::string boot_id) {
  others_.clear();
  own_runs_ = false;
  next_pid_ = kFirstPid;
  self_.boot_id = std::move(boot_id);
  if (self_.pid_namespace.empty()) self_.pid_namespace = "pid:[4026531836]";
}

void Processes::begin_own(Instant boot) {
  self_.pid = next_pid_++;
  // 0 means that nothing is known.
  self_.start_time = static_cast<uint64_t>(boot.ns() / (Duration::seconds(1).ns() / kTicksPerSecond)) + 1;
  own_runs_ = true;
}

runtime::ProcessSight Processes::look_at(int64_t pid) const {
  if (const auto other = others_.find(pid); other != others_.end()) return other->second;
  if (own_runs_ && pid == self_.pid) return {runtime::ProcessSight::State::kAlive, self_.start_time};
  return {runtime::ProcessSight::State::kDead, {}};
}

Clock::Clock(Instant world, Start start, int64_t drift_ppm)
    : world_base_(world),
      local_base_(start.monotonic),
      drift_ppm_(drift_ppm),
      boot_ahead_(start.boot_ahead),
      wall_ahead_(start.wall.unix_ns - start.monotonic.ns()) {
  check(drift_ppm > -kMillion, "clocks never stand still");
}

Instant Clock::monotonic(Instant world) const {
  const __int128 elapsed = (world - world_base_).ns();
  return local_base_ + Duration::nanos(static_cast<int64_t>(elapsed * (kMillion + drift_ppm_) / kMillion));
}

Instant Clock::world_at(Instant local) const {
  if (local == Instant::never()) return Instant::never();
  if (local <= local_base_) return world_base_;
  const __int128 rate = kMillion + drift_ppm_;
  const __int128 elapsed = (static_cast<__int128>((local - local_base_).ns()) * kMillion + rate - 1) / rate;
  if (elapsed >= Duration::max().ns()) return Instant::never();
  return world_base_ + Duration::nanos(static_cast<int64_t>(elapsed));
}

void Clock::set_drift(Instant world, int64_t ppm) {
  check(ppm > -kMillion, "clocks never stand still");
  local_base_ = monotonic(world);
  world_base_ = world;
  drift_ppm_ = ppm;
}

void Clock::step_boot(Duration by) {
  check(by >= Duration::zero(), "the boot clock never goes back");
  boot_ahead_ += by;
}

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
  processes_.power_on(fmt::format("boot-{}-{}", name_, ++boots_));
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

// A turn may be requested again at an earlier time; the events of the later requests then find that next_turn_ does not
// mean them.
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
