#include "lead/api/session.h"

#include <utility>

#include "core/base/check.h"
#include "core/base/overloaded.h"
#include "core/runtime/boot_timers.h"
#include "core/runtime/epoll/boot_clock.h"
#include "core/runtime/thread.h"
#include "election/store/lease_store.h"

namespace bellwether::leadership::detail {
namespace {

Duration of(std::chrono::milliseconds span) { return Duration::millis(span.count()); }

}  // namespace

LeaderSession::LeaderSession(Options options, Listener* listener)
    : options_(std::move(options)),
      listener_(listener),
      gate_(options_.fail_policy == FailPolicy::kOpen ? lead::FailPolicy::kOpen : lead::FailPolicy::kClosed) {}

template <class Add>
void LeaderSession::wish(Add add) {
  {
    const std::lock_guard lock(mutex_);
    add(wishes_);
    if (std::exchange(attention_called_, true)) return;
  }
  const bool posted = runtime_->post([](void* session) { static_cast<LeaderSession*>(session)->attend(); }, this);
  check(posted, "one message always fits");
}

LeaderSession::~LeaderSession() {
  if (leading_.joinable()) {
    wish([](Wishes& wishes) { wishes.resign = election::Resign{.cause = "leaving", .heir = {}, .stay_out = true}; });
    leading_.join();
  }
  if (calling_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    more_.notify_one();
    calling_.join();
  }
}

std::string LeaderSession::start() {
  auto timing = election::LeaseTiming::of(of(options_.lease));
  if (const auto wrong = timing.validate(); !wrong) return wrong.error().message;
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) return runtime.error().message;
  runtime_ = std::move(*runtime);
  // Finds the faults of the options here, on the caller's thread; contacts no server yet.
  if (std::string wrong = runtime_->run(open_store()); !wrong.empty()) return wrong;
  const runtime::NoSignals no_signals;  // they are the application's
  calling_ = std::thread([this] {
    runtime::set_up_thread("lead-calls", std::nullopt);
    deliver();
  });
  leading_ = std::thread([this] {
    runtime::set_up_thread("lead", std::nullopt);
    lead();
  });
  return {};
}

runtime::task<std::string> LeaderSession::open_store() {
  auto store = co_await store::open_store(*runtime_, options_.store);
  if (!store) co_return store.error().message;
  store_ = std::move(*store);
  auto key = store_->open(options_.key);
  if (!key) co_return key.error().message;
  key_ = std::move(*key);
  const Duration lease = of(options_.lease);
  if (lease < store_->traits().lease_min) co_return store_->describe() + ": the lease is too short for it";
  co_return std::string();
}

void LeaderSession::lead() { runtime_->run(campaign()); }

runtime::task<void> LeaderSession::campaign() {
  election::ElectorConfig config;
  const runtime::ProcessIdentity self = runtime_->self();
  config.key = options_.key;
  config.claim.holder = options_.id.empty() ? fmt::format("{}:{}", self.host, self.pid) : options_.id;
  config.claim.region = options_.region;
  config.claim.cross_region_wait = of(options_.cross_region_wait);
  config.claim.trust_empty = options_.trust_empty;
  config.timing = election::LeaseTiming::of(of(options_.lease));
  config.traits = store_->traits();
  config.campaign = options_.campaign;
  config.fail_open = options_.fail_policy == FailPolicy::kOpen;
  if (options_.progress_within.count() > 0) {
    config.evidence.require(election::EvidenceKind::kWork, of(options_.progress_within));
  }
  candidate_ = std::make_unique<lead::Candidate>(*runtime_, *key_, std::move(config), runtime_->prng().next(), *this);
  co_await candidate_->run(nullptr);
  candidate_.reset();
  key_.reset();
  store_.reset();
}

// --- the leading thread ----------------------------------------------------------------------------------------------

void LeaderSession::attend() {
  Wishes wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted = std::exchange(wishes_, {});
    attention_called_ = false;
  }
  if (!candidate_) return;
  if (wanted.progress) candidate_->good_evidence(election::EvidenceKind::kWork);
  if (wanted.work_stopped) candidate_->work_stopped();
  if (wanted.resign) candidate_->resign(std::move(*wanted.resign));
}

void LeaderSession::on_elected(const election::TermOfOffice& won) {
  auto cell = std::make_shared<TermCell>();
  cell->epoch = epoch_ = won.epoch.value();
  cell->end = won.end;
  told_deposed_ = false;
  gate_.leads_until(won.end->ends_at());
  const Term term{std::shared_ptr<const TermCell>(std::move(cell))};
  {
    const std::lock_guard lock(mutex_);
    term_ = term;
  }
  queue(Won{term});
}

void LeaderSession::on_renewed(Instant ends, Duration) { gate_.leads_until(ends); }

void LeaderSession::on_drain(const std::string& cause) { depose(epoch_, cause); }

void LeaderSession::on_term_ended(const election::TermEnded& ended) {
  gate_.term_ended();
  depose(ended.epoch.value(), fmt::format("{}: {}", to_string(ended.reason), ended.why));
}

void LeaderSession::depose(uint64_t epoch, const std::string& reason) {
  if (std::exchange(told_deposed_, true)) return;
  queue(Over{epoch, reason});
}

void LeaderSession::on_leader_changed(const election::LeaseRecord& record, const std::string&) {
  const Leader leader{record.holder, record.epoch.value()};
  {
    const std::lock_guard lock(mutex_);
    leader_ = leader;
  }
  queue(leader);
}

void LeaderSession::on_fail_open(bool open, const std::string&) { gate_.set_open(open); }

// --- the calling thread ----------------------------------------------------------------------------------------------

void LeaderSession::queue(Call one) {
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(one));
  }
  more_.notify_one();
}

void LeaderSession::deliver() {
  std::unique_lock lock(mutex_);
  while (true) {
    more_.wait(lock, [this] { return ending_ || !calls_.empty(); });
    if (calls_.empty()) return;
    const Call next = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call(next);
    lock.lock();
  }
}

void LeaderSession::call(const Call& one) {
  try {
    if (listener_ != nullptr) {
      std::visit(Overloaded{[this](const Won& won) { listener_->on_elected(won.term); },
                            [this](const Over& over) { listener_->on_deposed(over.epoch, over.reason); },
                            [this](const Leader& leader) { listener_->on_leader_changed(leader); }},
                 one);
    }
  } catch (...) {
    failed_callbacks_.fetch_add(1);
  }
  if (!std::holds_alternative<Over>(one)) return;
  wish([](Wishes& wishes) { wishes.work_stopped = true; });
}

// --- any thread ------------------------------------------------------------------------------------------------------

Term LeaderSession::term() const {
  const std::lock_guard lock(mutex_);
  return term_;
}

Leader LeaderSession::leader() const {
  const std::lock_guard lock(mutex_);
  return leader_;
}

bool LeaderSession::permits(std::string_view surface) {
  lead::LeaderGate::Surface* asked = nullptr;
  {
    const std::lock_guard lock(mutex_);
    asked = &gate_.surface(surface);
  }
  return asked->permits(runtime::BootClock::now());
}

std::vector<SurfaceCounts> LeaderSession::surfaces() const {
  const std::lock_guard lock(mutex_);
  std::vector<SurfaceCounts> counts;
  for (const auto& one : gate_.surfaces()) {
    counts.push_back({one.name(), one.permitted(), one.suppressed(), one.without_proof()});
  }
  return counts;
}

void LeaderSession::progress() {
  wish([](Wishes& wishes) { wishes.progress = true; });
}

void LeaderSession::hand_over(const std::string& heir) {
  wish([&heir](Wishes& wishes) { wishes.resign = election::Resign{.cause = "handed over", .heir = heir}; });
}

}  // namespace bellwether::leadership::detail
