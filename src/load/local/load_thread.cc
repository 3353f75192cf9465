#include <condition_variable>
#include <mutex>
#include <sys/resource.h>

#include "core/base/check.h"
#include "core/runtime/scope.h"
#include "load/aggregate/totals.h"
#include "load/local/load_group.h"

namespace bellwether::node {
namespace {

Duration thread_cpu() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto micros = [](const timeval& t) { return Duration::micros(t.tv_sec * 1'000'000 + t.tv_usec); };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

}  // namespace

// Where the thread waits until all are prepared.
struct LoadThread::Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Status> prepared;
  bool open = false;
  bool cancelled = false;
};

// Written by the control thread, and read by the load thread.
struct LoadThread::Orders {
  explicit Orders(std::size_t workflows) : vus(workflows) {
    for (std::atomic<int64_t>& one : vus) one.store(kNotTold);
  }
  static constexpr int64_t kNotTold = -1;
  std::atomic<bool> paused{false};
  std::vector<std::atomic<int64_t>> vus;
};

// Written by the load thread, some times a second, and read by others.
struct LoadThread::SharedTally {
  std::atomic<uint64_t> requests{0};
  std::atomic<uint64_t> failed{0};
  std::atomic<uint64_t> iterations{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<int64_t> vus_active{0};
  std::atomic<uint64_t> turned{0};
  std::atomic<uint64_t> could_begin{0};
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> due{0};
  std::atomic<uint64_t> served{0};
};

LoadThread::LoadThread(const plan::Plan& plan, Options options, runtime::EpollRuntime& control, LoadGroup& group)
    : plan_(plan),
      options_(options),
      control_(control),
      group_(group),
      tally_(std::make_unique<SharedTally>()),
      gate_(std::make_unique<Gate>()),
      orders_(std::make_unique<Orders>(plan.workflows.size())) {}

LoadThread::~LoadThread() {
  {
    const std::lock_guard lock(gate_->mutex);
    gate_->cancelled = !gate_->open;
  }
  gate_->changed.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status LoadThread::prepare() {
  thread_ = std::thread([this] { main(); });
  std::unique_lock lock(gate_->mutex);
  gate_->changed.wait(lock, [this] { return gate_->prepared.has_value(); });
  return *gate_->prepared;
}

void LoadThread::start(Instant start, vuser::Resume resume) {
  {
    const std::lock_guard lock(gate_->mutex);
    start_ = start;
    resume_ = resume;
    gate_->open = true;
  }
  gate_->changed.notify_all();
}

void LoadThread::main() {
  runtime::set_up_thread(fmt::format("load-{}", options_.assignment.part), options_.cpu);
  Status prepared;
  auto runtime = runtime::EpollRuntime::create({.seed = options_.seed});
  if (runtime) {
    runtime_ = std::move(*runtime);
    for (std::size_t i = 0; i < kWindows; ++i) {
      windows_.push_back(std::make_unique<metrics::Window>(aggregate::shape_of(plan_)));
      windows_.back()->make_room();
      if (i > 0) empty_.push(windows_.back().get());
    }
    engine_ = std::make_unique<vuser::Engine>(*runtime_, plan_, options_.assignment, *this, windows_.front().get(),
                                              options_.programs, options_.instruments, options_.permit, options_.spare);
    prepared = engine_->prepare();
    if (prepared) prepared = runtime_->run(engine_->obtain_tokens());
  } else {
    prepared = tl::unexpected(runtime.error());
  }
  {
    std::unique_lock lock(gate_->mutex);
    gate_->prepared = prepared;
    gate_->changed.notify_all();
    gate_->changed.wait(lock, [this] { return gate_->open || gate_->cancelled; });
    if (gate_->cancelled || !prepared) {
      lock.unlock();
      engine_.reset();
      runtime_.reset();
      return;
    }
  }
  runtime_->observe_turns([](void* engine, Duration busy) { static_cast<vuser::Engine*>(engine)->note_turn(busy); },
                          engine_.get());
  runtime_->run(drive());
  runtime_->read_clock();
  ended_ = engine_->ended();
  post_to_control([](void* self) {
    auto* thread = static_cast<LoadThread*>(self);
    thread->group_.thread_ended(*thread);
  });
}

runtime::task<void> LoadThread::drive() {
  runtime::Scope scope;
  obey();
  if (options_.tally_every > Duration::zero()) scope.spawn(tell_tally(scope.cancellation()));
  // An engine that goes on for another one repeats none of its draws.
  if (resume_.at > Duration::zero())
    runtime_->prng() = Prng(runtime_->prng().next() ^ static_cast<uint64_t>(resume_.at.ns()));
  co_await engine_->run(start_, resume_);
  scope.cancel();
  co_await scope.join();
  publish_tally();
}

runtime::task<void> LoadThread::tell_tally(runtime::Cancellation* cancel) {
  while (true) {
    const bool time_came = co_await runtime_->sleep(options_.tally_every, cancel);
    if (!time_came) co_return;
    publish_tally();
  }
}

void LoadThread::publish_tally() {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const vuser::Tally now = engine_->tally();
  tally_->requests.store(now.requests, kRelaxed);
  tally_->failed.store(now.failed, kRelaxed);
  tally_->iterations.store(now.iterations, kRelaxed);
  tally_->dropped.store(now.dropped, kRelaxed);
  tally_->vus_active.store(now.vus_active, kRelaxed);
  const vuser::Headway seen = engine_->look();
  tally_->turned.store(seen.turned, kRelaxed);
  tally_->could_begin.store(seen.could_begin, kRelaxed);
  tally_->begun.store(seen.begun, kRelaxed);
  tally_->due.store(seen.due, kRelaxed);
  tally_->served.store(seen.served, kRelaxed);
}

vuser::Tally LoadThread::tally() const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  return {.requests = tally_->requests.load(kRelaxed),
          .failed = tally_->failed.load(kRelaxed),
          .iterations = tally_->iterations.load(kRelaxed),
          .dropped = tally_->dropped.load(kRelaxed),
          .vus_active = tally_->vus_active.load(kRelaxed)};
}

vuser::Headway LoadThread::headway() const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  return {.turned = tally_->turned.load(kRelaxed),
          .could_begin = tally_->could_begin.load(kRelaxed),
          .begun = tally_->begun.load(kRelaxed),
          .due = tally_->due.load(kRelaxed),
          .served = tally_->served.load(kRelaxed)};
}

void LoadThread::post_to_control(void (*call)(void*)) { runtime::post_patiently(control_, call, this); }

metrics::Window* LoadThread::exchange(metrics::Window* full, bool last) {
  metrics::Window* next = empty_.pop();
  if (next == nullptr && !last) return nullptr;
  if (next == nullptr) {
    next = windows_.emplace_back(std::make_unique<metrics::Window>(aggregate::shape_of(plan_))).get();
  }
  const Duration used = thread_cpu();
  full->cpu = used - cpu_counted_;
  if (last) last_second_.store(full->second, std::memory_order_relaxed);
  cpu_counted_ = used;
  check(full_.push(full), "there are no more windows than places");
  post_to_control([](void* self) {
    auto* thread = static_cast<LoadThread*>(self);
    thread->group_.window_ready(*thread);
  });
  return next;
}

void LoadThread::abort_run(std::string_view step) {
  if (!aborted_by_.empty()) return;
  aborted_by_ = std::string(step);
  post_to_control([](void* self) {
    auto* thread = static_cast<LoadThread*>(self);
    thread->group_.aborted_by(thread->aborted_by_);
  });
}

void LoadThread::note(std::string_view step, std::string_view text) {
  // Rare enough to be carried one by one.
  struct Note {
    LoadThread* thread;
    std::string text;
  };
  auto* note = new Note{this, fmt::format("{}: {}", step, text)};
  const auto tell = [](void* one) {
    const std::unique_ptr<Note> owned(static_cast<Note*>(one));
    owned->thread->group_.noted(owned->text);
  };
  if (!control_.post(tell, note)) delete note;
}

void LoadThread::timed_out(uint16_t workflow) {
  struct Word {
    LoadThread* thread;
    uint16_t workflow;
  };
  auto* word = new Word{this, workflow};
  const auto tell = [](void* one) {
    const std::unique_ptr<Word> owned(static_cast<Word*>(one));
    owned->thread->group_.timed_out(owned->workflow);
  };
  runtime::post_patiently(control_, tell, word);
}

void LoadThread::release(metrics::Window* window) {
  window->clear();
  check(empty_.push(window), "there are no more windows than places");
}

void LoadThread::stop() {
  runtime_->post([](void* engine) { static_cast<vuser::Engine*>(engine)->stop(); }, engine_.get());
}

void LoadThread::hand_over(Duration at) {
  hand_over_ns_.store(at.ns());
  runtime_->post(
      [](void* self) {
        auto* thread = static_cast<LoadThread*>(self);
        thread->engine_->hand_over(Duration::nanos(thread->hand_over_ns_.load()));
      },
      this);
}

void LoadThread::applied(uint64_t seconds) {
  applied_.store(seconds);
  runtime_->post(
      [](void* self) {
        auto* thread = static_cast<LoadThread*>(self);
        thread->engine_->applied(thread->applied_.load());
      },
      this);
}

void LoadThread::pause() {
  orders_->paused.store(true);
  send_orders();
}

void LoadThread::resume() {
  orders_->paused.store(false);
  send_orders();
}

void LoadThread::scale(uint16_t workflow, uint32_t vus) {
  orders_->vus[workflow].store(vus);
  send_orders();
}

void LoadThread::send_orders() {
  runtime_->post([](void* self) { static_cast<LoadThread*>(self)->obey(); }, this);
}

void LoadThread::obey() {
  const bool paused = orders_->paused.load();
  if (paused != engine_->paused()) paused ? engine_->pause() : engine_->resume();
  for (std::size_t i = 0; i < orders_->vus.size(); ++i) {
    const int64_t vus = orders_->vus[i].exchange(Orders::kNotTold);
    if (vus != Orders::kNotTold) engine_->scale(static_cast<uint16_t>(i), static_cast<uint32_t>(vus));
  }
}

void LoadThread::kill() {
  runtime_->post([](void* engine) { static_cast<vuser::Engine*>(engine)->kill(); }, engine_.get());
}

}  // namespace bellwether::node
