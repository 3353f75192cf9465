#include "bellwether/leadership.h"

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/overloaded.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/thread.h"
#include "core/runtime/timers.h"
#include "election/store/candidate.h"
#include "election/store/lease_store.h"
#include "lead/leader_gate.h"

namespace bellwether::leadership::detail {

// The implementation of bellwether::leadership::Leadership: a thread that leads (runtime, store, candidate) and one
// that calls the listener.

// A term as its holders see it.
struct TermCell {
  uint64_t epoch = 0;
  std::shared_ptr<const election::TermEnd> end;
};

class LeaderSession final : public lead::CandidateListener {
 public:
  LeaderSession(Options options, Listener* listener);
  ~LeaderSession() override;
  // Opens the store and begins; empty when all is well.
  std::string start();

  Term term() const;
  Leader leader() const;
  bool permits(std::string_view surface);
  std::vector<SurfaceCounts> surfaces() const;
  void progress();
  void hand_over(const std::string& heir);
  uint64_t failed_callbacks() const { return failed_callbacks_.load(); }

 private:
  struct Won {
    Term term;
  };
  struct Over {
    uint64_t epoch;
    std::string reason;
  };
  using Call = std::variant<Won, Over, Leader>;

  // On the leading thread.
  void on_elected(const election::TermOfOffice& term) override;
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) override;
  void on_fail_open(bool open, const std::string& why) override;
  void lead();
  runtime::task<std::string> open_store();
  runtime::task<void> campaign();
  void depose(uint64_t epoch, const std::string& reason);
  void attend();

  // On the calling thread.
  void deliver();
  void call(const Call& one);
  void queue(Call one);

  // The wishes of other threads for the leading one. At most one message is on its way to it, so that no flood of calls
  // can push out the one that matters.
  struct Wishes {
    bool progress = false;
    bool work_stopped = false;
    std::optional<election::Resign> resign;
  };
  template <class Add>
  void wish(Add add);

  Options options_;
  Listener* listener_;
  std::unique_ptr<runtime::EpollRuntime> runtime_;
  std::unique_ptr<store::LeaseStore> store_;
  std::unique_ptr<store::StoreKey> key_;
  std::unique_ptr<lead::Candidate> candidate_;
  std::thread leading_;
  bool told_deposed_ = true;
  uint64_t epoch_ = 0;

  mutable std::mutex mutex_;
  Term term_;
  Leader leader_;
  lead::LeaderGate gate_;
  Wishes wishes_;
  bool attention_called_ = false;

  std::thread calling_;
  std::condition_variable more_;
  std::deque<Call> calls_;
  bool ending_ = false;
  std::atomic<uint64_t> failed_callbacks_{0};
};

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
  if (options_.campaign) {
    const Status ready = co_await key_->prepare();
    if (!ready) co_return ready.error().message;
  }
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

namespace bellwether::leadership {
namespace {

constexpr std::string_view kFirstWord = "fence ";

std::string text_of(uint64_t epoch) { return fmt::format("{}{} end\n", kFirstWord, epoch); }

std::string reason(const std::string& path) {
  return fmt::format("{}: {}", path, std::strerror(errno));
}  // NOLINT(concurrency-mt-unsafe)

}  // namespace

std::chrono::nanoseconds Term::valid_for() const {
  if (cell_ == nullptr) return std::chrono::nanoseconds::zero();
  // The clock last: if this thread stands still between both, a renewal must not make the time longer than a lease.
  const Instant ends = cell_->end->ends_at();
  return std::chrono::nanoseconds((ends - runtime::BootClock::now()).ns());
}

uint64_t Term::epoch() const { return cell_ == nullptr ? 0 : cell_->epoch; }

std::unique_ptr<Leadership> Leadership::join(const Options& options, Listener* listener, std::string& error) {
  auto session = std::make_unique<detail::LeaderSession>(options, listener);
  error = session->start();
  if (!error.empty()) return nullptr;
  return std::unique_ptr<Leadership>(new Leadership(std::move(session)));
}

Leadership::Leadership(std::unique_ptr<detail::LeaderSession> session) : session_(std::move(session)) {}
Leadership::~Leadership() = default;

Term Leadership::term() const { return session_->term(); }
Leader Leadership::leader() const { return session_->leader(); }
bool Leadership::permits(std::string_view surface) { return session_->permits(surface); }
std::vector<SurfaceCounts> Leadership::surfaces() const { return session_->surfaces(); }
void Leadership::progress() { session_->progress(); }
void Leadership::hand_over(const std::string& heir) { session_->hand_over(heir); }
uint64_t Leadership::failed_callbacks() const { return session_->failed_callbacks(); }

DurableFence::DurableFence(int folder, std::string name, uint64_t highest)
    : folder_(folder), name_(std::move(name)), highest_(highest) {}

DurableFence::~DurableFence() { ::close(folder_); }

std::unique_ptr<DurableFence> DurableFence::open(const std::string& path, std::string& error) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const int at = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) {
    error = reason(folder);
    return nullptr;
  }
  std::unique_ptr<DurableFence> fence(new DurableFence(at, std::move(name), 0));
  const int file = ::openat(at, fence->name_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) {
    if (errno == ENOENT) return fence;  // nothing has been admitted yet
    error = reason(path);
    return nullptr;
  }
  std::array<char, 64> buffer{};
  const ssize_t size = ::read(file, buffer.data(), buffer.size());
  ::close(file);
  const std::string_view text(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto end = text.find(' ', kFirstWord.size());
  const auto number = text.starts_with(kFirstWord) && end != std::string_view::npos
                          ? parse_u64(text.substr(kFirstWord.size(), end - kFirstWord.size()))
                          : std::nullopt;
  if (!number || text != text_of(*number)) {
    error = path +
            ": this is not the file of a fence, so every epoch is refused. Remove the file only if no newer epoch can "
            "have acted";
    return nullptr;
  }
  fence->highest_ = *number;
  return fence;
}

bool DurableFence::admit(uint64_t epoch) {
  if (epoch < highest_) return false;
  if (epoch == highest_ && epoch != 0) return true;
  // Beside it, then in its place: after a crash either the old number or the new one is there.
  const std::string beside = name_ + ".new";
  const int file = ::openat(folder_, beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  const std::string text = text_of(epoch);
  const bool written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  ::close(file);
  if (!written || ::renameat(folder_, beside.c_str(), folder_, name_.c_str()) != 0 || ::fsync(folder_) != 0)
    return false;
  highest_ = epoch;
  return true;
}

}  // namespace bellwether::leadership
