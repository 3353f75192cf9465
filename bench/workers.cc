// Many workers of a cluster in one process, for measuring what its managers need: the product's membership, links and
// WorkerService on real sockets, each on a loopback address of its own. Only their assignments are made up: nobody
// sends requests, and the seconds of all assignments are the same few windows of statistics over and over.
//   workers COUNT SECRET_FILE PORT SEED,SEED,...
// SEED is the address of a manager, IPv4:PORT; workers listen on 127.1.0.0/16 at PORT. Ends with SIGTERM or SIGINT.

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <vector>

#include "cluster/net/joining.h"
#include "cluster/net/membership_driver.h"
#include "cluster/wire/link/server.h"
#include "core/base/check.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/event.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/worker/worker_service.h"
#include "load/aggregate/totals.h"
#include "load/codec/window_codec.h"
#include "load/plan/load.h"

namespace {

using namespace bellwether;  // NOLINT(google-build-using-namespace)
using runtime::task;

constexpr Duration kSecond = Duration::seconds(1);
constexpr Duration kFlush = Duration::millis(50);
constexpr Duration kBetweenStarts = Duration::millis(30);
// So many go by the profile `wan`. More share one loop, so the times that make their messages are as much longer.
constexpr std::size_t kByWan = 500;
constexpr char kPrefix = 'w';          // of the names of workers; no manager has it
constexpr uint64_t kRequests = 1'000;  // of each step of an assignment, a second
constexpr std::size_t kVariants = 8;

// What there is to know of a plan, and windows of its shape. Shared by all workers.
struct Work {
  Work(std::string_view bytes, Prng& prng) {
    auto bundle = dispatch::decode_bundle(bytes);
    auto made = bundle ? plan::plan_of(*bundle) : Result<plan::Plan>(tl::unexpected(bundle.error()));
    check(made.has_value(), "managers give out bundles that can be planned");
    plan = std::make_unique<plan::Plan>(std::move(*made));
    for (std::string& window : windows) window = ingest::encode_window(draw(prng));
  }

  Duration length(uint16_t workflow) const {
    const auto* constant = std::get_if<plan::ConstantVus>(&plan->workflows[workflow].executor);
    check(constant != nullptr, "scenarios of this bench have a duration");
    return constant->duration;
  }

  // Latencies of each step around a middle of its own, as of a service that answers in some milliseconds: 200 different
  // ones in a second.
  metrics::Window draw(Prng& prng) const {
    metrics::Window window(aggregate::shape_of(*plan));
    for (std::size_t s = 0; s < window.steps.size(); ++s) {
      metrics::StepWindow& step = window.steps[s];
      const int64_t middle = 1'000'000 * static_cast<int64_t>(s + 2);
      for (uint64_t n = 0; n < kRequests; ++n) {
        const Duration took = Duration::nanos(middle + prng.between(0, 199) * middle / 200);
        ++step.count;
        step.status.add(200, 1);
        step.bytes_sent += 200;
        step.bytes_received += 2'000;
        step.service.record(took);
        step.response.answered.record(took + Duration::micros(prng.between(1, 20)));
        step.phases[static_cast<std::size_t>(metrics::Phase::kWait)].record(took - Duration::micros(30));
        step.phases[static_cast<std::size_t>(metrics::Phase::kReceive)].record(Duration::micros(prng.between(5, 30)));
      }
    }
    for (metrics::WorkflowWindow& workflow : window.workflows) {
      workflow.iterations = kRequests;
      workflow.vus_active = workflow.vus_allocated = 10;
      for (uint64_t n = 0; n < kRequests; ++n)
        workflow.iteration.record(Duration::micros(prng.between(90'000, 99'000)));
    }
    window.cpu = Duration::millis(400);
    window.covered = kSecond;
    return window;
  }

  std::unique_ptr<plan::Plan> plan;
  std::array<std::string, kVariants> windows;
};

class MadeUpAssignment final : public node::AssignmentProcess {
 public:
  MadeUpAssignment(runtime::Runtime& runtime, const Work& work, const node::ChildOrder& order, Listener listener)
      : runtime_(runtime),
        work_(work),
        listener_(listener),
        length_(work.length(order.workflow)),
        first_(order.first),
        tell_end_(&MadeUpAssignment::ended, this) {
    scope_.spawn(prepare());
    life_ = live();
  }

  // There is no load that a late worker could go on with.
  void permit(Instant) override {}
  void begin(Instant start, Duration resume_at, plan::RowPoint) override {
    start_ = start;
    second_ = static_cast<uint64_t>(resume_at / kSecond);
    scope_.spawn(measure());
    scope_.spawn(count());
  }
  void stop(bool) override { end(node::AssignmentEnd::How::kStopped); }
  // Nobody comes or goes here.
  void applied(uint64_t) override {}
  void scale(uint32_t) override {}
  void hand_over(Duration) override { end(node::AssignmentEnd::How::kCompleted); }
  void save() override {}
  void kill() override { end(node::AssignmentEnd::How::kKilled); }
  int64_t pid() const override { return 1; }

 private:
  static void ended(void* context) {
    auto* self = static_cast<MadeUpAssignment*>(context);
    self->listener_.on_ended({self->how_, {}, self->runtime_.now() - self->start_});
  }
  void end(node::AssignmentEnd::How how) {
    if (over_.is_set()) return;
    how_ = how;
    over_.set();
  }

  task<void> live() {
    co_await over_.wait();
    scope_.cancel();
    co_await scope_.join();
    runtime_.timers().arm(tell_end_, runtime_.now());
  }

  task<void> prepare() {
    const bool waited = co_await runtime_.sleep(Duration::millis(5), scope_.cancellation());
    if (waited) listener_.on_prepared({});
  }
  task<void> measure() {
    while (true) {
      const Instant border = start_ + kSecond * static_cast<int64_t>(second_ + 1);
      const bool due = co_await runtime_.sleep_until(border, scope_.cancellation());
      if (!due) co_return;
      const std::string& window = work_.windows[(second_ + first_) % kVariants];
      listener_.on_second(second_++, window, kSecond);
      if (kSecond * static_cast<int64_t>(second_) >= length_) co_return end(node::AssignmentEnd::How::kCompleted);
    }
  }
  // As a child does: while something changes, at its own beat.
  task<void> count() {
    Instant next =
        start_ + Duration::nanos(static_cast<int64_t>(runtime_.prng().below(static_cast<uint64_t>(kFlush.ns()))));
    node::ChildCounters counters;
    while (true) {
      const bool due = co_await runtime_.sleep_until(next, scope_.cancellation());
      if (!due) co_return;
      next = std::max(next + kFlush, runtime_.now());
      counters.tally.requests += kRequests / 20 * work_.plan->steps.size();
      counters.tally.iterations += kRequests / 20;
      counters.tally.vus_active = 10;
      listener_.on_counters(counters);
    }
  }

  runtime::Runtime& runtime_;
  const Work& work_;
  Listener listener_;
  Duration length_;
  uint32_t first_;
  Instant start_;
  uint64_t second_ = 0;
  node::AssignmentEnd::How how_ = node::AssignmentEnd::How::kCompleted;
  runtime::Timer tell_end_;
  runtime::Event over_;
  runtime::Scope scope_;
  task<void> life_;
};

class MadeUpAssignments final : public node::AssignmentFactory {
 public:
  explicit MadeUpAssignments(runtime::Runtime& runtime) : runtime_(runtime) {}
  std::unique_ptr<node::AssignmentProcess> start(node::ChildOrder order,
                                                 node::AssignmentProcess::Listener listener) override {
    auto& work = works_[order.bundle];
    if (work == nullptr) work = std::make_unique<Work>(order.bundle, runtime_.prng());
    return std::make_unique<MadeUpAssignment>(runtime_, *work, order, listener);
  }

 private:
  runtime::Runtime& runtime_;
  std::map<std::string, std::unique_ptr<Work>> works_;  // by bundle
};

// What all of them share.
struct Crowd {
  runtime::EpollRuntime& runtime;
  const wire::Keyring& keyring;
  std::vector<runtime::Endpoint> seeds;
  MadeUpAssignments assignments;
  std::size_t slowness = 1;
  std::size_t joined = 0;
};

membership::Figures figures_for(const Crowd& crowd) {
  membership::Figures out = membership::wan();
  for (Duration* time : {&out.probe_interval, &out.timeout_min, &out.timeout_max, &out.verdict_after,
                         &out.suspicion_unit, &out.gossip_interval, &out.sync_settle, &out.sync_interval}) {
    *time = *time * static_cast<int64_t>(crowd.slowness);
  }
  return out;
}

class Worker final {
 public:
  Worker(Crowd& crowd, std::size_t number, uint16_t port) : crowd_(crowd), name_(kPrefix + std::to_string(number)) {
    runtime::Runtime& runtime = crowd.runtime;
    const runtime::IpAddress address = runtime::IpAddress::v4(0x7f010001 + static_cast<uint32_t>(number));
    dialling_.handshake.self.identity = {"bench", "default", "default", name_, wire::Role::kWorker};
    dialling_.handshake.self.software = "bellwether bench";
    link::DatagramSettings datagrams;
    datagrams.self = dialling_.handshake.self.identity;
    auto bound = link::Datagrams::bind(runtime, {address, port}, std::move(datagrams), crowd.keyring, refusals_);
    check(bound.has_value(), "the port is free");
    datagrams_ = std::move(*bound);
    dialling_.handshake.self.session = datagrams_->session();
    link::ServerSettings serving;
    serving.handshake = dialling_.handshake;
    auto server = link::Server::listen(runtime, {address, port}, std::move(serving), crowd.keyring, router_, refusals_);
    check(server.has_value(), "the port is free");
    server_ = std::move(*server);
    router_.report_to(callback_to<&Worker::on_open>(*this));
    links_ = std::make_unique<cluster::PeerLinks>(
        runtime, dialling_, crowd.keyring, router_, refusals_,
        cluster::PeerLinks::Listener{callback_to<&Worker::on_refused>(*this), callback_to<&Worker::on_trouble>(*this)});
    membership::MembershipConfig config;
    config.name = name_;
    config.figures = figures_for(crowd);
    config.life = static_cast<uint32_t>(runtime.wall_now().unix_ns / kSecond.ns());
    config.profile.endpoint = cluster::from_runtime({address, port});
    config.profile.role = static_cast<uint8_t>(wire::Role::kWorker);
    membership_ =
        std::make_unique<cluster::MembershipDriver>(runtime, *datagrams_, *links_, router_, std::move(config),
                                                    runtime.prng().next(), callback_to<&Worker::on_news>(*this));
    node::WorkerSettings settings;
    settings.cpus = {0};
    service_ = std::make_unique<node::WorkerService>(runtime, *links_, router_, callback_to<&Worker::managers>(*this),
                                                     callback_to<&cluster::MembershipDriver::find>(*membership_),
                                                     crowd.assignments, std::move(settings),
                                                     callback_to<&Worker::on_note>(*this));
  }

  task<void> run() {
    runtime::Scope scope;
    scope_ = &scope;
    scope.spawn(server_->serve(scope.cancellation()));
    scope.spawn(membership_->run(crowd_.seeds, false, scope.cancellation()));
    scope.spawn(service_->run(scope.cancellation()));
    scope.spawn(feel(scope.cancellation()));
    co_await scope.join();
    co_await links_->close(Duration::millis(1));
  }
  void end() {
    if (scope_ != nullptr) scope_->cancel();
  }

  // Looked for only when something has changed: each of hundreds asks for them twenty times a second.
  std::vector<cluster::PeerAddress> managers() const {
    if (!managers_) managers_ = look_for_managers();
    return *managers_;
  }

 private:
  std::vector<cluster::PeerAddress> look_for_managers() const {
    std::vector<cluster::PeerAddress> out;
    const membership::MemberTable& table = membership_->kernel().table();
    for (membership::NodeIndex i = 0; i < table.slots(); ++i) {
      if (!table.has(i) || static_cast<wire::Role>(table.profile(i).role) != wire::Role::kManager) continue;
      const membership::MemberState state = table.at(i).state;
      if (state == membership::MemberState::kDead || state == membership::MemberState::kLeft) continue;
      out.push_back({table.name(i), cluster::to_runtime(table.profile(i).endpoint)});
    }
    return out;
  }

  task<void> feel(runtime::Cancellation* cancel) {
    while (true) {
      service_->sample({}, 0);
      const bool due = co_await crowd_.runtime.sleep(kSecond, cancel);
      if (!due) co_return;
    }
  }

  void on_note(bool warning, const std::string& text) {
    if (warning) std::fprintf(stderr, "%s: %s\n", name_.c_str(), text.c_str());
  }
  void on_news(const cluster::MembershipNews& news) {
    check(!std::holds_alternative<membership::Refused>(news), "names of this bench are its own");
    const auto* event = std::get_if<membership::MemberEvent>(&news);
    if (event != nullptr && event->name.front() != kPrefix) managers_.reset();
    if (std::holds_alternative<membership::JoinedGroup>(news)) ++crowd_.joined;
  }
  void on_refused(const cluster::PeerAddress&) {}
  void on_trouble(const cluster::PeerAddress& peer, const Error& why) {
    std::fprintf(stderr, "%s: %s: %s\n", name_.c_str(), peer.name.c_str(), why.message.c_str());
  }
  void on_open(link::Connection& connection) { datagrams_->introduce(connection.peer()); }

  Crowd& crowd_;
  std::string name_;
  link::RefusalWatch refusals_;
  cluster::MessageRouter router_{cluster::MessageClasses(&message::message_of<dispatch::JobMessage>())};
  link::DialSettings dialling_;
  std::unique_ptr<link::Datagrams> datagrams_;
  std::unique_ptr<link::Server> server_;
  std::unique_ptr<cluster::PeerLinks> links_;
  std::unique_ptr<cluster::MembershipDriver> membership_;
  std::unique_ptr<node::WorkerService> service_;
  mutable std::optional<std::vector<cluster::PeerAddress>> managers_;
  runtime::Scope* scope_ = nullptr;
};

task<int> live(Crowd* crowd, std::size_t count, uint16_t port) {
  auto signals = runtime::Signals::collect(crowd->runtime, {SIGINT, SIGTERM});
  check(signals.has_value(), "signals can be read");
  runtime::Scope scope;
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::size_t i = 1; i <= count; ++i) {
    workers.push_back(std::make_unique<Worker>(*crowd, i, port));
    scope.spawn(workers.back()->run());
    co_await crowd->runtime.sleep(kBetweenStarts * static_cast<int64_t>(crowd->slowness));
  }
  while (crowd->joined < count) co_await crowd->runtime.sleep(Duration::millis(20));
  std::printf("all have joined\n");
  std::fflush(stdout);
  const int signal = co_await (*signals)->next(nullptr);
  for (const std::unique_ptr<Worker>& one : workers) one->end();
  co_await scope.join();
  co_return signal == 0 ? 1 : 0;
}

int usage() {
  std::fprintf(stderr, "usage: workers COUNT SECRET_FILE PORT SEED,SEED,...\n");
  return 100;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return usage();
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  std::string text;
  std::ifstream(argv[2]) >> text;
  auto secret = wire::Secret::take(std::move(text));
  auto made = runtime::EpollRuntime::create({});
  if (!secret || !made) return usage();
  const wire::Keyring keyring(std::move(*secret));
  const std::size_t count = std::strtoul(argv[1], nullptr, 10);
  Crowd crowd{**made, keyring, {}, MadeUpAssignments(**made), std::max<std::size_t>(1, count / kByWan)};
  std::string seeds = argv[4];
  for (std::size_t from = 0; from < seeds.size();) {
    const std::size_t comma = std::min(seeds.find(',', from), seeds.size());
    const auto place = parse_host_port(seeds.substr(from, comma - from), 0);
    if (!place) return usage();
    const auto address = runtime::IpAddress::parse(place->host);
    if (!address) return usage();
    crowd.seeds.push_back({*address, place->port});
    from = comma + 1;
  }
  return (*made)->run(live(&crowd, count, static_cast<uint16_t>(std::strtoul(argv[3], nullptr, 10))));
}
