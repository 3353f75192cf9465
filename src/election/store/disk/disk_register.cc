#include "election/store/disk/disk_register.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/encoding.h"
#include "core/base/probe.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"

namespace bellwether::store {
namespace {

bool add(int epoll_fd, int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

// Waiting for one of several things: an event, a time, or being cancelled.
using runtime::Cancellation;
using runtime::Event;
using runtime::Runtime;
using runtime::task;

task<void> pass_on(Event& from, Event& to) {
  co_await from.wait();
  to.set();
}

task<void> ring(Runtime& runtime, Instant deadline, Cancellation* cancel, Event& to) {
  co_await runtime.sleep_until(deadline, cancel);
  to.set();
}

// kOk once the event is set, kTimeout or kCancelled when that comes first. `deadline` is of the monotonic clock. The
// event must outlive the wait and have no second waiter.
task<Errc> wait_for(Runtime& runtime, Event& event, Instant deadline, Cancellation* cancel) {
  if (event.is_set()) co_return Errc::kOk;
  Event any;
  const auto passing = pass_on(event, any);
  const auto ringing = ring(runtime, deadline, cancel, any);
  co_await any.wait();
  if (event.is_set()) co_return Errc::kOk;
  co_return cancel != nullptr && cancel->cancelled() ? Errc::kCancelled : Errc::kTimeout;
}

using election::Epoch;
using election::LeaseRecord;
using election::Observation;
using election::WriteOutcome;
using election::WriteRequest;
using runtime::File;
using State = std::shared_ptr<RegisterState>;
using Kind = WriteRequest::Kind;

// An unreadable claim may be half-written by a program that takes no lock: we read it again this many times over this
// period, or over a part of the remaining time if that is shorter.
constexpr int kMoreLooks = 4;
constexpr Duration kFolderLimit = Duration::seconds(10);
constexpr Duration kPatience = Duration::millis(100);
// Between looks at work that lingers: it mostly ends within milliseconds, or not at all.
constexpr Duration kFirstLinger = Duration::millis(1);
constexpr Duration kLongestLinger = Duration::millis(20);

void take_in_claim(ClaimForm form, Found& found) {
  if (!found.text.present) return;
  if (found.text.text.empty()) {
    found.trouble = "it is empty";
  } else if (found.text.too_long) {
    found.trouble = "it is longer than 64 KiB";
  } else if (auto claim = read_claim(form, found.text.text)) {
    found.claim = std::move(*claim);
  } else {
    found.trouble = claim.error().message;
  }
}

void take_in_ledger(const std::string& key, const FileText& text, Found& found) {
  found.ledger_present = text.present;
  if (!text.present) return;
  auto ledger = text.too_long ? fail(Errc::kTooLarge, "it is longer than 64 KiB") : read_ledger(text.text);
  if (!ledger) {
    found.ledger_trouble = ledger.error().message;
  } else if (ledger->key != key) {
    found.ledger_trouble = fmt::format("it belongs to the key '{}'", ledger->key);
  } else {
    found.ledger = std::move(*ledger);
  }
}

// Reads the claim first: a claim never exists before its ledger, so no ledger that was there in time is missed.
task<Result<Found>> find(State state, File* locked) {
  Found found;
  if (locked != nullptr && state->files.lock == state->files.claim) {
    BW_CO_TRY(found.text, co_await read_text(*locked));
  } else {
    BW_CO_TRY(found.text, co_await read_text(state->runtime, state->files.claim));
  }
  take_in_claim(state->rules.form(), found);
  BW_CO_TRY(const auto ledger, co_await read_text(state->runtime, state->files.ledger));
  take_in_ledger(state->key, ledger, found);
  co_return found;
}

// The holder's process is gone, but perhaps not its work.
task<void> doubt_death(State state, Observation& seen) {
  state->work_lingers = false;
  const bool doubtful = seen.sight == election::HolderSight::kDead && state->hold == nullptr;
  if (!doubtful || state->files.hold.empty()) co_return;
  const runtime::OpenOptions options{.no_follow = true};
  const auto hold = co_await state->runtime.open(state->files.hold, options);
  if (!hold) co_return;
  const auto held = co_await (*hold)->is_held();
  if (!held || !*held) co_return;
  BW_PROBE("store: the work of a dead process still runs");
  state->work_lingers = true;
  seen.sight = election::HolderSight::kUnknown;
  seen.evidence += ", but work that it started is still running";
}

void drop_hold(RegisterState& state) {
  state.hold.reset();
  state.hold_token.clear();
}

// Without the claim its work cannot exist either.
void drop_hold_unless(RegisterState& state, const std::string& token) {
  if (!state.hold_token.empty() && state.hold_token != token) drop_hold(state);
}

// Takes the hold for the work of this claim: without it no process could see that work once its leader's process is
// gone. An earlier holder may still have one, because it is stopped or its work outlasted its lease. That hold says
// nothing of this claim: a new file replaces it. REQUIRES the lock of the key.
task<Status> take_hold(State state, std::string token) {
  drop_hold_unless(*state, token);
  if (state->files.hold.empty() || state->hold != nullptr) co_return Status();
  const runtime::OpenOptions options{.create = true, .write = true, .no_follow = true, .mode = state->files.mode};
  for (int tries = 0; tries < 2; ++tries) {
    BW_CO_TRY(auto hold, co_await state->runtime.open(state->files.hold, options));
    BW_CO_TRY(const auto taken, co_await hold->try_hold());
    if (taken) {
      state->hold = std::move(hold);
      state->hold_token = std::move(token);
      co_return Status();
    }
    BW_PROBE("store: an earlier holder still has the lock of its work");
    BW_CO_RETURN_IF_ERROR(co_await state->runtime.remove(state->files.hold));
  }
  co_return fail(Errc::kIo, "another program holds '{}' each time that it is created", state->files.hold);
}

bool may_be_torn(const Found& found) { return found.text.present && !found.claim; }

task<Result<Observation>> look_now(State state, Instant deadline) {
  BW_CO_TRY(auto found, co_await find(state, nullptr));
  const bool released = found.text.text.empty() && state->rules.form() == ClaimForm::kLockFile;
  const Duration patience = std::min(kPatience, (deadline - state->runtime.now()) / 3);
  for (int i = 0; i < kMoreLooks && may_be_torn(found) && !released; ++i) {
    BW_PROBE("store: a claim that makes no sense is read again");
    co_await state->runtime.sleep(patience / kMoreLooks);
    BW_CO_TRY(found, co_await find(state, nullptr));
  }
  if (may_be_torn(found)) {
    // With the lock we know that no writer is halfway.
    const runtime::OpenOptions options{.no_follow = true};
    auto locked = co_await open_locked(state->runtime, state->files.lock, options, deadline);
    if (locked) {
      BW_CO_TRY(found, co_await find(state, locked->get()));
    } else if (locked.error().code != Errc::kNotFound) {
      co_return tl::unexpected(locked.error());
    }
  }
  BW_CO_RETURN_IF_ERROR(state->rules.may_show(state->files, found));
  auto seen = state->rules.understand(state->files, found);
  if (seen) {
    const runtime::ProcessIdentity* holder = found.claim ? &found.claim->process : nullptr;
    state->holder_pid = holder != nullptr && seen->record.held() ? holder->pid : 0;
    drop_hold_unless(*state, seen->record.token);
    co_await doubt_death(state, *seen);
  }
  co_return seen;
}

// The claim as it is to be written.
DiskClaim next_claim(const RegisterState& state, const Found& found, const Observation& seen,
                     const WriteRequest& request) {
  const WallTime now = state.runtime.wall_now();
  DiskClaim claim;
  claim.record = request.record;
  claim.record.acquired_at = request.kind == Kind::kTake ? now : seen.record.acquired_at;
  claim.record.renewed_at = now;
  if (request.kind != Kind::kAmend) {
    claim.process = state.runtime.self();
    return claim;
  }
  // An operator's request changes neither the owner nor the age of the claim.
  claim.record.renewed_at = seen.record.renewed_at;
  if (found.claim) {
    claim.process = found.claim->process;
  } else if (found.ledger) {
    claim.process = found.ledger->last.process;
  }
  return claim;
}

// A claim that would read back differently must not be written.
Status can_be_read_back(const DiskClaim& claim) {
  const auto back = read_claim(ClaimForm::kOneLine, write_claim(ClaimForm::kOneLine, claim));
  const LeaseRecord& r = claim.record;
  if (back && !back->foreign && back->record.holder == r.holder && back->record.heir == r.heir) return {};
  return fail(Errc::kInvalid,
              "the claim of '{}' cannot be written: names must be UTF-8 and short, and an epoch below 2^53", r.holder);
}

// An existing claim has its ledger on the disk already. A claim that is only in the ledger may come from an act that
// failed before it was durable.
bool ledger_must_know(const Found& found, const WriteRequest& request) {
  return request.kind != Kind::kRenew || !found.ledger || found.ledger->floor < request.record.epoch || !found.claim ||
         found.claim->record.token != request.record.token;
}

task<Status> write_down(State state, Found found, DiskClaim claim, bool with_ledger, File& locked) {
  if (with_ledger) {
    KeyLedger ledger;
    ledger.key = state->key;
    ledger.serial = found.ledger ? found.ledger->serial + 1 : 1;
    ledger.floor = std::max(highest_epoch(found), claim.record.epoch);
    ledger.last = claim;
    const RegisterFiles& files = state->files;
    Status kept = co_await write_beside(state->runtime, files.ledger, write_ledger(ledger), files.mode);
    if (!kept) co_return kept;
    kept = co_await put_in_place(state->runtime, files.ledger);
    if (!kept) co_return kept;
  }
  Status done = co_await state->rules.put(state->files, locked, found, std::move(claim));
  co_return done;
}

task<Status> make_folder(State state) {
  Status made = co_await state->runtime.make_directory(folder_of(state->files.lock), state->files.folder_mode);
  co_return made;
}

task<Result<std::unique_ptr<File>>> lock_register(State state, Instant deadline) {
  const runtime::OpenOptions options{.create = true, .write = true, .no_follow = true, .mode = state->files.mode};
  auto locked = co_await open_locked(state->runtime, state->files.lock, options, deadline);
  if (locked || locked.error().code != Errc::kNotFound) co_return locked;
  BW_CO_RETURN_IF_ERROR(co_await make_folder(state));
  locked = co_await open_locked(state->runtime, state->files.lock, options, deadline);
  co_return locked;
}

task<Result<WriteOutcome>> act_now(State state, WriteRequest request, Instant deadline) {
  BW_CO_TRY(auto locked, co_await lock_register(state, deadline));
  BW_CO_TRY(auto found, co_await find(state, locked.get()));
  BW_CO_TRY(auto seen, state->rules.understand(state->files, found));
  if (seen.version != request.expected) {
    drop_hold_unless(*state, seen.record.token);
    co_await doubt_death(state, seen);
    co_return WriteOutcome{false, std::move(seen)};
  }

  const bool takes = request.kind == Kind::kTake;
  if (takes && request.record.epoch <= highest_epoch(found)) {
    co_return fail(Errc::kInvalid, "epoch {} of '{}' was used before", request.record.epoch.value(), state->key);
  }
  BW_CO_RETURN_IF_ERROR(state->rules.may_write(state->files, found, request));
  const DiskClaim claim = next_claim(*state, found, seen, request);
  BW_CO_RETURN_IF_ERROR(can_be_read_back(claim));
  if (state->runtime.now() >= deadline) {
    co_return fail(Errc::kTimeout, "the time limit passed after '{}' was read and before it was written",
                   state->files.claim);
  }
  const bool with_ledger = ledger_must_know(found, request);
  if (takes || request.kind == Kind::kRenew) {
    BW_CO_RETURN_IF_ERROR(co_await take_hold(state, request.record.token));
  }
  const Status written = co_await write_down(state, found, claim, with_ledger, *locked);
  if (!written && takes) drop_hold(*state);
  BW_CO_RETURN_IF_ERROR(written);
  if (request.kind == Kind::kRelease) drop_hold(*state);
  BW_CO_TRY(found, co_await find(state, locked.get()));
  BW_CO_TRY(auto after, state->rules.understand(state->files, found));
  co_return WriteOutcome{true, std::move(after)};
}

}  // namespace

std::optional<DiskWatch> DiskWatch::of(const std::string& folder, const std::string& name) {
  const int notify = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (notify < 0) return std::nullopt;
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  const int nudge = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  DiskWatch watch(epoll, notify, nudge, name);
  constexpr uint32_t kEvents = IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_CREATE | IN_ONLYDIR;
  if (epoll < 0 || nudge < 0 || ::inotify_add_watch(notify, folder.c_str(), kEvents) < 0 ||
      !add(epoll, notify, EPOLLIN) || !add(epoll, nudge, EPOLLIN)) {
    return std::nullopt;
  }
  return watch;
}

DiskWatch::DiskWatch(DiskWatch&& other) noexcept
    : epoll_fd_(std::exchange(other.epoll_fd_, -1)),
      notify_fd_(std::exchange(other.notify_fd_, -1)),
      nudge_fd_(std::exchange(other.nudge_fd_, -1)),
      process_fd_(std::exchange(other.process_fd_, -1)),
      ended_already_(other.ended_already_),
      process_(other.process_),
      name_(std::move(other.name_)) {}

DiskWatch::~DiskWatch() {
  for (const int fd : {process_fd_, nudge_fd_, notify_fd_, epoll_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

void DiskWatch::watch_process(int64_t pid) {
  if (pid == process_) return;
  process_ = pid;
  if (process_fd_ >= 0) ::close(std::exchange(process_fd_, -1));
  if (pid <= 0 || pid > INT_MAX) return;
  process_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (process_fd_ < 0 && errno == ESRCH) {
    ended_already_ = true;
    nudge();
  }
  if (process_fd_ >= 0 && !add(epoll_fd_, process_fd_, EPOLLIN | EPOLLONESHOT)) ::close(std::exchange(process_fd_, -1));
}

void DiskWatch::nudge() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(nudge_fd_, &one, sizeof one);
}

bool DiskWatch::take() {
  bool changed = std::exchange(ended_already_, false);
  uint64_t nudges = 0;
  [[maybe_unused]] const auto drained = ::read(nudge_fd_, &nudges, sizeof nudges);
  std::array<epoll_event, 3> ready{};
  const int count = ::epoll_wait(epoll_fd_, ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) changed = changed || ready[static_cast<std::size_t>(i)].data.fd == process_fd_;
  alignas(inotify_event) std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::read(notify_fd_, buffer.data(), buffer.size())) > 0) {
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      if (event->len > 0 && name_ == std::string_view(event->name)) changed = true;
      if ((event->mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0) changed = true;
      at += static_cast<ssize_t>(sizeof(inotify_event)) + event->len;
    }
  }
  return changed;
}

election::Version version_of(ClaimForm form, const Found& found) {
  // An empty lock file counts as none: a program that only opens it to lock it creates it.
  const bool nothing = form == ClaimForm::kLockFile ? found.text.text.empty() : !found.text.present;
  const std::string text = nothing ? "-" : sha256_hex(found.text.text).substr(0, 32);
  return fmt::format("{}@{}", text, found.ledger ? found.ledger->serial : 0);
}

Epoch highest_epoch(const Found& found) {
  const Epoch of_claim = found.claim ? found.claim->record.epoch : Epoch();
  return found.ledger ? std::max(found.ledger->floor, of_claim) : of_claim;
}

Status check_ledger(const RegisterFiles& files, const Found& found, bool accept_loss) {
  if (found.ledger || accept_loss) return {};
  const bool ours = found.claim ? !found.claim->foreign : found.text.text.find("\"token\"") != std::string::npos;
  if (!found.ledger_present && !ours) return {};
  BW_PROBE("store: the file of a key's epoch is lost");
  return fail(
      Errc::kIo,
      fmt::format("'{}', which stores the highest epoch of this key, is {}, and an epoch must never be used twice. "
                  "Restore the file from a backup that is certainly the latest; or stop all candidates and run "
                  "`bellwether lease repair`, which continues above epoch {}, the highest known one, or above a higher "
                  "one that you name (?accept_epoch_loss=true in the URL of the store does the former for one start)",
                  files.ledger, found.ledger_present ? fmt::format("damaged ({})", found.ledger_trouble) : "missing",
                  highest_epoch(found).value()));
}

template <class T>
struct DiskKey::Call {
  std::shared_ptr<runtime::Event> done = std::make_shared<runtime::Event>();
  std::optional<Result<T>> result;
};

template <class T>
task<void> DiskKey::finish(task<Result<T>> work, std::shared_ptr<Call<T>> call) {
  Result<T> result = co_await work;
  call->result.emplace(std::move(result));
  call->done->set();
}

// `begin` starts the work; it is called once no other operation runs.
template <class T, class Begin>
task<Result<T>> DiskKey::run(Begin begin, Instant deadline, runtime::Cancellation* cancel) {
  const std::string& path = state_->files.claim;
  if (unfinished_ != nullptr) {
    const Errc waited = co_await wait_for(state_->runtime, *unfinished_, deadline, cancel);
    if (waited != Errc::kOk) co_return fail(waited, "an earlier change of '{}' is still in progress", path);
  }
  const auto call = std::make_shared<Call<T>>();
  unfinished_ = call->done;
  background_.spawn(finish(begin(), call));
  const Errc waited = co_await wait_for(state_->runtime, *call->done, deadline, cancel);
  if (call->result) co_return std::move(*call->result);
  BW_PROBE("store: a disk is too slow");
  co_return fail(waited, "the disk of '{}' did not answer in time", path);
}

task<Status> DiskKey::prepare() {
  auto begin = [this] { return make_folder(state_); };
  const Status made = co_await run<void>(begin, state_->runtime.read_clock() + kFolderLimit, nullptr);
  if (made || made.error().code == Errc::kTimeout) co_return made;
  co_return fail(made.error().code, "{}; name another folder, or make this one for the user of this process",
                 made.error().message);
}

task<Result<Observation>> DiskKey::look(Instant deadline, runtime::Cancellation* cancel) {
  auto begin = [this, deadline] { return look_now(state_, deadline); };
  auto seen = co_await run<Observation>(begin, deadline, cancel);
  // changed() may already wait on less than is known now.
  if (watch_) {
    watch_->watch_process(state_->holder_pid);
    if (state_->work_lingers) watch_->nudge();
  }
  co_return seen;
}

task<Result<WriteOutcome>> DiskKey::act(WriteRequest request, Instant deadline, runtime::Cancellation* cancel) {
  auto begin = [this, deadline, &request] { return act_now(state_, std::move(request), deadline); };
  auto outcome = co_await run<WriteOutcome>(begin, deadline, cancel);
  co_return outcome;
}

task<bool> DiskKey::changed(runtime::Cancellation* cancel) {
  if (!watch_) {
    const std::string& path = state_->files.claim;
    auto watch = DiskWatch::of(folder_of(path), path.substr(path.rfind('/') + 1));
    if (!watch) co_return false;
    watch_.emplace(std::move(*watch));
  }
  while (true) {
    if (state_->work_lingers) {
      // No event reports that the last process has released its inherited lock.
      const bool rested = co_await state_->runtime.sleep(linger_, cancel);
      linger_ = std::min(linger_ * 2, kLongestLinger);
      co_return rested;
    }
    linger_ = kFirstLinger;
    watch_->watch_process(state_->holder_pid);
    const auto ready =
        co_await state_->runtime.wait_descriptor(watch_->descriptor(), true, false, Instant::never(), cancel);
    if (!ready) co_return false;
    if (watch_->take()) co_return true;
  }
}

}  // namespace bellwether::store
