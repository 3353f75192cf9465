#include "sim/sim_runtime.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "sim/disk.h"
#include "sim/node.h"
#include "sim/sockets.h"

namespace bellwether::sim {
namespace {

using runtime::IpAddress;
using runtime::RunQueue;
using runtime::task;

constexpr std::size_t kMailbox = 1024;
// As in the real runtime, a turn has an end. No time passes in a turn; some does before the next turn of a busy
// process.
constexpr std::size_t kResumesPerTurn = 4096;
constexpr Duration kBusyTurn = Duration::micros(50);
constexpr Duration kMinNameDelay = Duration::micros(200);
constexpr Duration kMaxNameDelay = Duration::millis(30);
constexpr Duration kMinStart = Duration::micros(300);
constexpr Duration kMaxStart = Duration::millis(5);
constexpr Duration kNameTimeout = Duration::seconds(5);

}  // namespace

Source::~Source() {
  if (marked_) runtime_.forget(*this);
}

void Source::mark() {
  if (marked_) return;
  marked_ = true;
  runtime_.mark(*this);
}

SimRuntime::SimRuntime(Node& node, Timeline& timeline)
    : Runtime(timeline.prng().next(), node.clock().monotonic(timeline.now()), /*real_clock=*/false),
      node_(node),
      timeline_(timeline) {}

SimRuntime::~SimRuntime() { check(marked_.empty(), "sockets and files end with their process"); }

void SimRuntime::mark(Source& source) {
  marked_.push_back(&source);
  node_.request_turn(timeline_.now());
}

void SimRuntime::begin_turn() {
  now_ = node_.clock().monotonic(timeline_.now());
  check(RunQueue::local().empty(), "each process leaves the queue empty for the next");
  left_.move_to(RunQueue::local());
}

void SimRuntime::turn() {
  RunQueue& queue = RunQueue::local();
  in_turn_.swap(marked_);
  for (Source* source : in_turn_) {
    source->marked_ = false;
    source->on_ready();
  }
  in_turn_.clear();
  for (const auto& [call, context] : std::exchange(posts_, {})) call(context);
  timers().advance(now_);
  boot_timers().advance(boot_now());
  timeline_.record(queue.drain(kResumesPerTurn));
  queue.move_to(left_);
}

Instant SimRuntime::next_turn() {
  if (!marked_.empty() || !posts_.empty()) return timeline_.now();
  const Instant next_timer = std::min(node_.clock().world_at(timers().next_deadline()),
                                      node_.clock().world_at_boot(boot_timers().next_deadline()));
  return left_.empty() ? next_timer : std::min(next_timer, timeline_.now() + kBusyTurn);
}

Instant SimRuntime::boot_now() { return node_.clock().boot(timeline_.now()); }

WallTime SimRuntime::wall_now() { return node_.clock().wall(timeline_.now()); }

task<Result<std::unique_ptr<runtime::Child>>> SimRuntime::spawn(runtime::SpawnOptions options) {
  co_await sleep(timeline_.prng().between(kMinStart, kMaxStart));
  co_return node_.programs().start(*this, options);
}

task<Result<runtime::Readiness>> SimRuntime::wait_descriptor(int, bool, bool, Instant, Cancellation*) {
  co_return fail(Errc::kUnsupported, "a simulated process has no descriptors");
}

runtime::ProcessIdentity SimRuntime::self() { return node_.processes().self(); }

runtime::ProcessSight SimRuntime::look_at_process(int64_t pid) { return node_.processes().look_at(pid); }

bool SimRuntime::post(void (*call)(void* context), void* context) {
  if (posts_.size() >= kMailbox) return false;
  posts_.emplace_back(call, context);
  node_.request_turn(timeline_.now());
  return true;
}

task<Result<std::unique_ptr<runtime::Stream>>> SimRuntime::connect(Endpoint to, runtime::ConnectOptions options,
                                                                   Cancellation* cancel) {
  return connect_tcp(*this, to, options, cancel);
}

Result<std::unique_ptr<runtime::Listener>> SimRuntime::listen(Endpoint at, runtime::ListenOptions options) {
  return listen_tcp(*this, at, options);
}

Result<std::unique_ptr<runtime::UdpSocket>> SimRuntime::bind_udp(Endpoint at) { return sim::bind_udp(*this, at); }

task<Result<std::vector<IpAddress>>> SimRuntime::resolve(std::string name, Cancellation* cancel) {
  if (auto literal = IpAddress::parse(name)) co_return std::vector{*literal};
  auto asked = ask_name_server(name, cancel);
  BW_CO_RETURN_IF_ERROR(co_await std::move(asked));
  co_return node_.network().look_up(name);
}

task<Result<std::vector<runtime::ServicePlace>>> SimRuntime::resolve_service(std::string name, Cancellation* cancel) {
  auto asked = ask_name_server(name, cancel);
  BW_CO_RETURN_IF_ERROR(co_await std::move(asked));
  co_return node_.network().look_up_service(name);
}

// The time that a question takes, or why no answer comes.
task<Status> SimRuntime::ask_name_server(std::string name, Cancellation* cancel) {
  const bool cut_off = node_.network().is_isolated(node_);
  if (cut_off) BW_PROBE("sim: nobody answers when a name is asked for");
  const Duration delay = cut_off ? kNameTimeout : timeline_.prng().between(kMinNameDelay, kMaxNameDelay);
  const bool answered = co_await sleep(delay, cancel);
  if (!answered) co_return fail(Errc::kCancelled, "resolving '{}' was cancelled", name);
  if (cut_off) co_return fail(Errc::kDns, "the name '{}' could not be resolved: no answer", name);
  co_return Status{};
}

task<Result<std::unique_ptr<runtime::File>>> SimRuntime::open(std::string path, runtime::OpenOptions options) {
  co_await sleep(node_.disk().draw_latency());
  BW_CO_TRY(auto inode, node_.disk().open(path, options));
  co_return std::unique_ptr<runtime::File>(std::make_unique<DiskFile>(*this, node_.disk(), inode, options.write));
}

task<Status> SimRuntime::rename(std::string from, std::string to) {
  co_await sleep(node_.disk().draw_latency());
  co_return node_.disk().rename(from, to);
}

task<Status> SimRuntime::remove(std::string path) {
  co_await sleep(node_.disk().draw_latency());
  co_return node_.disk().remove(path);
}

task<Status> SimRuntime::sync_directory(std::string path) {
  const uint64_t upto = node_.disk().last_change();
  co_await sleep(node_.disk().draw_sync_latency());
  co_return node_.disk().sync_directory(path, upto);
}

task<Status> SimRuntime::make_directory(std::string path, uint32_t) {
  co_await sleep(node_.disk().draw_sync_latency());
  co_return node_.disk().make_directory(path);
}

task<Result<std::vector<std::string>>> SimRuntime::list_directory(std::string path) {
  co_await sleep(node_.disk().draw_latency());
  co_return node_.disk().list_directory(path);
}

task<Result<std::string>> SimRuntime::network_file_system(std::string) {
  co_await sleep(node_.disk().draw_latency());
  co_return node_.disk().settings().network_kind;
}

}  // namespace bellwether::sim
