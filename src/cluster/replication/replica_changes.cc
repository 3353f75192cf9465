#include "cluster/replication/replica_changes.h"

#include <algorithm>
#include <utility>

#include "core/base/probe.h"

namespace bellwether::registers {

using runtime::task;

namespace {

constexpr Duration kLookOften = Duration::millis(500);  // while something changes
constexpr Duration kLookSeldom = Duration::seconds(5);
constexpr Duration kMaxAnswer = Duration::seconds(1);
constexpr Duration kMaxRegister = Duration::seconds(10);  // to take it, or to write it
constexpr Duration kMaxTakeOver = Duration::seconds(5);
// A node that is added and does not answer for so long is not waited for.
constexpr Duration kMaxComing = Duration::seconds(30);

}  // namespace

ReplicaChanges::ReplicaChanges(Parts parts, std::vector<std::string> settings)
    : parts_(parts), settings_(std::move(settings)) {
  std::sort(settings_.begin(), settings_.end());
}

// --- what is known ---------------------------------------------------------------------------------------------------

bool ReplicaChanges::has_read(const std::string& name) const {
  const ReplicaSet& set = parts_.lines.set();
  if (name == parts_.lines.self()) {
    return parts_.lines.unable().empty() && parts_.lines.read() >= first_step_of(set);
  }
  const auto state = states_.find(name);
  return state != states_.end() && state->second.set.number >= set.number && state->second.read >= first_step_of(set);
}

bool ReplicaChanges::under_way() const {
  const auto target = parts_.moves() ? parts_.target() : std::nullopt;
  return making_ || wanted_ || parts_.lines.set().joint() || (target && *target != parts_.lines.set().names);
}

Status ReplicaChanges::want(SetWish wish) {
  const ReplicaSet& set = parts_.lines.set();
  if (wanted_ || making_ || set.joint()) return fail(Errc::kRefused, "a change is under way");
  BW_RETURN_IF_ERROR(begin_change(set, wish));
  wanted_ = std::move(wish);
  parts_.lines.set_changed().changed();
  return {};
}

void ReplicaChanges::tell_people() {
  const ReplicaSet& set = parts_.lines.set();
  if (set.joint() || std::exchange(told_, set.number) == set.number) return;
  parts_.note(false, "jobs are kept by " + names_of(set, ", "));
  if (set.names == settings_) return;
  ReplicaSet settings{0, settings_, {}};
  parts_.note(true, fmt::format("jobs are kept by {}; the settings name other managers: {}. The former count; put them "
                                "into the settings before the next start",
                                names_of(set, ", "), names_of(settings, ", ")));
}

void ReplicaChanges::ask_all(runtime::Scope& scope) {
  std::vector<std::string> names = parts_.lines.set().all();
  for (std::string& name : parts_.peers()) names.push_back(std::move(name));
  for (const std::string& name : names) {
    if (name == parts_.lines.self() || !asking_.insert(name).second) continue;
    scope.spawn(ask_one(this, name, scope.cancellation()));
  }
}

task<void> ReplicaChanges::ask_one(ReplicaChanges* self, std::string name, runtime::Cancellation* cancel) {
  std::string to = name;
  const auto answered = co_await self->parts_.lines.ask(std::move(to), ReadSet{}, kMaxAnswer, cancel);
  self->asking_.erase(name);
  const auto* state = answered ? std::get_if<SetState>(&answered->body) : nullptr;
  if (state != nullptr) {
    self->heard(name, *state);
  } else {
    self->states_.erase(name);
  }
}

// The node that a change adds has to know of it while it is under way: a disk that hears of it later looks like one
// that was lost.
void ReplicaChanges::heard(const std::string& name, const SetState& state) {
  states_[name] = state;
  if (!making_) return;
  SetState counts = state;
  const std::string coming = comes();
  const auto its = states_.find(coming);
  const bool knows = coming.empty() || coming == parts_.lines.self() ||
                     (its != states_.end() && its->second.set.number >= parts_.lines.set().number);
  if (!knows && parts_.runtime.now() < patience_) counts.read = 0;
  tell(SetStateIs{name, std::move(counts)});
}

std::string ReplicaChanges::comes() const {
  const ReplicaSet& set = parts_.lines.set();
  for (const std::string& name : set.next) {
    if (!std::ranges::binary_search(set.names, name)) return name;
  }
  return {};
}

// --- what is to be done ----------------------------------------------------------------------------------------------

task<void> ReplicaChanges::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  while (!cancel->cancelled()) {
    ask_all(scope);
    tell_people();
    if (const auto wish = due()) {
      const Status made = co_await make(*wish, cancel);
      making_ = false;
      if (made || made.error().code != Errc::kTimeout) wanted_.reset();
      doing_ = made ? std::string() : "the last change failed: " + made.error().message;
      if (doing_ != std::exchange(failed_, doing_) && !made) parts_.note(true, doing_);
      tell_people();
    }
    const uint64_t number = parts_.lines.set().number;
    const bool wants = wanted_.has_value();
    const Duration pause = under_way() ? kLookOften : kLookSeldom;
    const auto news = [&] { return parts_.lines.set().number != number || wanted_.has_value() != wants; };
    co_await parts_.lines.set_changed().wait(parts_.runtime, news, parts_.runtime.read_clock() + pause, cancel);
  }
  co_await scope.join();
}

std::optional<SetWish> ReplicaChanges::due() {
  const ReplicaSet& set = parts_.lines.set();
  const jobs::JobView& view = parts_.view;
  const RegisterRecord* const record = view.find(kSetKey);
  const auto content = record == nullptr ? Content() : parse_content(record->value).value_or(Content());
  const auto written = message::decode<ReplicaSet>(content.value.value_or(std::string()));
  const bool hidden = written && written->number > set.number;  // its maker told nobody
  // The manager that makes a change holds the register.
  const bool left = (set.joint() || hidden) && !view.is_leased(kSetKey);
  if (left && (wanted_ || parts_.moves())) return wanted_.value_or(SetWish{});
  if (set.joint() || hidden) return std::nullopt;
  std::optional<SetWish> wish = wanted_;
  const auto target = parts_.moves() ? parts_.target() : std::nullopt;
  if (!wish && target) {
    wish.emplace();
    for (const std::string& name : *target) {
      if (wish->add.empty() && !set.has(name)) wish->add = name;
    }
    for (const std::string& name : set.names) {
      if (wish->add.empty() && wish->remove.empty() && !std::ranges::binary_search(*target, name)) wish->remove = name;
    }
    if (*wish == SetWish()) return std::nullopt;
  }
  if (!wish || wish->add.empty() || wish->add == parts_.lines.self() || states_.contains(wish->add)) return wish;
  doing_ = fmt::format("'{}' does not answer, or has no 'data' to keep jobs in", wish->add);
  return std::nullopt;
}

// --- a change --------------------------------------------------------------------------------------------------------

void ReplicaChanges::on_lost(const jobs::LostJob&) {
  take_ = true;
  tell(SetLost{});
}

void ReplicaChanges::tell(SetEvent event) {
  inbox_.push_back(std::move(event));
  changed_.changed();
}

task<Status> ReplicaChanges::make(SetWish wish, runtime::Cancellation* cancel) {
  SetChange kernel({.known = parts_.lines.set(), .wish = std::move(wish)});
  BW_CO_TRY(auto handle, parts_.store.open(kSetKey, *this));
  runtime::Scope scope(cancel);
  making_ = take_ = true;
  over_ = false;
  outcome_ = fail(Errc::kTimeout, "this node is ending");
  inbox_.clear();
  while (!over_ && !cancel->cancelled()) {
    doing_ = kernel.waits_for();
    if (take_ && inbox_.empty()) {
      auto found = co_await take(*handle, cancel);
      if (!found) {
        outcome_ = tl::unexpected(found.error());
        break;
      }
      tell(SetTaken{std::move(*found)});
    }
    const Duration left = std::max(kernel.wake() - parts_.runtime.boot_now(), Duration::zero());
    const Instant wake = kernel.wake() == Instant::never() ? Instant::never() : parts_.runtime.read_clock() + left;
    const bool event = co_await changed_.wait(
        parts_.runtime, [this] { return !inbox_.empty(); }, wake, cancel);
    SetEvent next = SetTick{};
    if (event) {
      next = std::move(inbox_.front());
      inbox_.pop_front();
    }
    SetEffects effects;
    kernel.step(parts_.runtime.boot_now(), next, effects);
    for (SetEffect& effect : effects) {
      doing_ = kernel.waits_for();
      auto act = std::visit([&](auto& one) { return carry_out(std::move(one), *handle, scope); }, effect);
      const Status done = co_await std::move(act);
      if (done) continue;
      outcome_ = done;
      over_ = true;
      break;
    }
  }
  const Status given = co_await handle->give_back(parts_.runtime.read_clock() + kMaxAnswer, cancel);
  static_cast<void>(given);  // its lease ends
  scope.cancel();
  co_await scope.join();
  co_return outcome_;
}

// The set in the register; nothing: none yet.
task<Result<std::optional<ReplicaSet>>> ReplicaChanges::take(jobs::JobHandle& handle, runtime::Cancellation* cancel) {
  const Instant deadline = parts_.runtime.read_clock() + kMaxRegister;
  std::optional<std::string> value;
  if (handle.held(parts_.runtime.boot_now())) {
    BW_CO_TRY(value, co_await handle.read(deadline, cancel));
  } else {
    BW_CO_TRY(auto taken, co_await handle.take(deadline, cancel));
    value = std::move(taken.value);
  }
  take_ = false;
  if (!value) co_return std::optional<ReplicaSet>();
  BW_CO_TRY(auto set, message::decode<ReplicaSet>(*value));
  co_return std::optional<ReplicaSet>(std::move(set));
}

task<Status> ReplicaChanges::carry_out(WriteSet write, jobs::JobHandle& handle, runtime::Scope& scope) {
  BW_PROBE("replicas: a step of a change is written");
  std::string bytes = message::encode(write.set);
  const Instant deadline = parts_.runtime.read_clock() + kMaxRegister;
  const auto written = co_await handle.write(std::move(bytes), deadline, scope.cancellation());
  if (!written) take_ = true;
  tell(SetWritten{written.has_value()});
  co_return Status();
}

task<Status> ReplicaChanges::carry_out(HaveSet have, jobs::JobHandle&, runtime::Scope& scope) {
  const uint64_t number = have.set.number;
  parts_.lines.hear(have.set);
  patience_ = parts_.runtime.now() + kMaxComing;
  const bool known = co_await parts_.lines.set_changed().wait(
      parts_.runtime, [&] { return parts_.lines.set().number >= number; }, parts_.runtime.read_clock() + kMaxTakeOver,
      scope.cancellation());
  if (!known) co_return fail(Errc::kIo, "this node's disk does not keep the new set of managers");
  co_return Status();
}

task<Status> ReplicaChanges::carry_out(AskSetState ask, jobs::JobHandle&, runtime::Scope& scope) {
  if (ask.to == parts_.lines.self()) {
    if (parts_.lines.unable().empty()) heard(ask.to, {parts_.lines.set(), parts_.lines.read()});
  } else if (asking_.insert(ask.to).second) {
    scope.spawn(ask_one(this, std::move(ask.to), scope.cancellation()));
  }
  co_return Status();
}

task<Status> ReplicaChanges::carry_out(SetDone, jobs::JobHandle&, runtime::Scope&) {
  over_ = true;
  outcome_ = Status();
  co_return Status();
}

task<Status> ReplicaChanges::carry_out(SetFailed failed, jobs::JobHandle&, runtime::Scope&) {
  over_ = true;
  outcome_ = tl::unexpected(std::move(failed.why));
  co_return Status();
}

}  // namespace bellwether::registers
