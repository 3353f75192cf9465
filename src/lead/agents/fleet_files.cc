#include "lead/agents/fleet_files.h"

#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/probe.h"
#include "election/store/disk/small_file.h"

namespace bellwether::lead {

using runtime::OpenOptions;
using runtime::task;

namespace {

// A program that writes in place is seen in the middle of it, once.
constexpr Duration kReadAgainAfter = Duration::millis(100);
constexpr uint32_t kMode = 0600;

// A disk error says nothing about the request of the change.
tl::unexpected<Error> of_the_disk(Error error) {
  switch (error.code) {
    case Errc::kRefused:
    case Errc::kNotFound:
    case Errc::kExists:
    case Errc::kInvalid: error.code = Errc::kIo; break;
    default: break;
  }
  return tl::unexpected(std::move(error));
}

}  // namespace

task<Result<std::optional<std::string>>> SharedFile::read() {
  const OpenOptions options{.no_follow = true};
  const auto opened = co_await runtime_.open(path_, options);
  if (!opened && opened.error().code == Errc::kNotFound) co_return std::nullopt;
  if (!opened) co_return of_the_disk(opened.error());
  const auto size = (*opened)->size();
  if (!size) co_return of_the_disk(size.error());
  if (*size > kMaxBytes) co_return fail(Errc::kTooLarge, "'{}' is larger than 256 MiB", path_);
  std::vector<std::byte> buffer(*size);
  const auto count = co_await (*opened)->read_at(0, buffer);
  if (!count) co_return of_the_disk(count.error());
  co_return std::string(as_text(Bytes(buffer).first(*count)));
}

// A text that was not understood is read once more, and then set aside or refused.
task<Result<std::string>> SharedFile::read_again_if_broken(FileChange& change, Result<std::string> made) {
  if (made || made.error().code != Errc::kProtocol) co_return made;
  co_await runtime_.sleep(kReadAgainAfter);
  BW_CO_TRY(const auto text, co_await read());
  made = change.apply(text);
  if (made || made.error().code != Errc::kProtocol) co_return made;
  if (when_broken_ == WhenBroken::kRefuse) {
    co_return fail(Errc::kProtocol,
                   "'{}': {}. Nothing was changed: repair the file, or move it away to start with an empty one", path_,
                   made.error().message);
  }
  BW_PROBE("lead: a file of agents is set aside");
  const std::string why = made.error().message;
  Status aside;
  if (when_broken_ == WhenBroken::kQuarantine) {
    aside = co_await store::put_aside(runtime_, path_);
  } else {
    aside = co_await store::copy_aside(runtime_, path_, text.value_or(std::string()));
  }
  if (!aside) co_return of_the_disk(aside.error());
  quarantined_ = true;
  co_return change.begin_anew(why);
}

task<Status> SharedFile::change(FileChange& change, Instant deadline) {
  const OpenOptions lock_options{.create = true, .write = true, .no_follow = true, .mode = kMode};
  const auto lock = co_await store::open_locked(runtime_, path_ + ".lock", lock_options, deadline);
  if (!lock) co_return of_the_disk(lock.error());
  BW_CO_TRY(const auto text, co_await read());
  Result<std::string> first = change.apply(text);
  BW_CO_TRY(const auto made, co_await read_again_if_broken(change, std::move(first)));
  if (made == text) {
    // Its writer may have died before the file was safe. It must be safe, because this change builds on it.
    const Status safe = co_await runtime_.sync_directory(store::folder_of(path_));
    if (!safe) co_return of_the_disk(safe.error());
    co_return Status();
  }
  Status done = co_await store::write_beside(runtime_, path_, made, kMode);
  if (done) done = co_await store::put_in_place(runtime_, path_);
  if (!done) co_return of_the_disk(done.error());
  co_return Status();
}

namespace {

constexpr Duration kWaitForLock = Duration::seconds(5);

template <class Kernel>
Result<Kernel> parse_if_any(const std::optional<std::string>& text) {
  return text ? Kernel::parse(*text) : Kernel();
}

// One act on a kernel as a change of its file.
template <class Kernel, class Act>
class KernelChange final : public FileChange {
 public:
  explicit KernelChange(Act act) : act_(std::move(act)) {}
  Result<std::string> apply(const std::optional<std::string>& text) override {
    BW_TRY(auto kernel, parse_if_any<Kernel>(text));
    BW_RETURN_IF_ERROR(act_(kernel));
    return kernel.to_json();
  }

 private:
  Act act_;
};

template <class Kernel, class Act>
KernelChange<Kernel, Act> change_of(Act act) {
  return KernelChange<Kernel, Act>(std::move(act));
}

// An act of the leader on the queue. If that cannot be understood, a halted one takes its place, under the same fence,
// and the act is not done.
template <class Act>
class LeaderChange final : public FileChange {
 public:
  LeaderChange(const std::string& path, election::Epoch epoch, const std::string& leader, Act act)
      : path_(path), epoch_(epoch), leader_(leader), act_(std::move(act)) {}
  Result<std::string> apply(const std::optional<std::string>& text) override {
    KernelChange<TaskQueue, Act> change(act_);
    return change.apply(text);
  }
  Result<std::string> begin_anew(const std::string& why) override {
    TaskQueue queue;
    queue.halt(fmt::format(
        "the queue is halted: its file could not be read ({}) and was renamed to .quarantine-TIME. Repair that file "
        "and put it back, or start with an empty queue: bellwether agents tasks resume --queue {}",
        why, path_));
    BW_RETURN_IF_ERROR(queue.take_over(epoch_, leader_));
    halted_ = queue.halted();
    return queue.to_json();
  }
  // An error if the queue was halted instead.
  Status done() const { return halted_.empty() ? Status() : Status(fail(Errc::kRefused, halted_)); }

 private:
  std::string path_;
  election::Epoch epoch_;
  std::string leader_;
  Act act_;
  std::string halted_;
};

// Keeps the result of an act, so that it can be handed out once the file is safe.
template <class T>
Status keep(Result<T> given, T& into) {
  BW_TRY(into, std::move(given));
  return {};
}

template <class Kernel>
task<Result<Kernel>> read_kernel(SharedFile& file) {
  BW_CO_TRY(const auto text, co_await file.read());
  auto kernel = parse_if_any<Kernel>(text);
  if (!kernel) kernel.error().message = fmt::format("'{}': {}", file.path(), kernel.error().message);
  co_return kernel;
}

}  // namespace

task<Result<AgentRegistry>> RegistryFile::read() { return read_kernel<AgentRegistry>(file_); }

task<Status> RegistryFile::add(std::string id, std::string role, std::string host, int64_t pid) {
  const WallTime now = runtime_.wall_now();
  auto change =
      change_of<AgentRegistry>([&](AgentRegistry& registry) { return registry.add(id, role, host, pid, now, ages_); });
  Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  co_return done;
}

task<Status> RegistryFile::heartbeat(std::string id) {
  auto change =
      change_of<AgentRegistry>([&](AgentRegistry& registry) { return registry.heartbeat(id, runtime_.wall_now()); });
  Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  co_return done;
}

task<Status> RegistryFile::remove(std::string id) {
  auto change = change_of<AgentRegistry>([&](AgentRegistry& registry) { return registry.remove(id); });
  Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  co_return done;
}

task<Result<AgentRegistry::Cleanup>> RegistryFile::clean(std::string leader) {
  AgentRegistry::Cleanup cleanup;
  auto change = change_of<AgentRegistry>([&](AgentRegistry& registry) {
    cleanup = registry.clean(leader, runtime_.wall_now(), ages_);
    return Status();
  });
  BW_CO_RETURN_IF_ERROR(co_await file_.change(change, runtime_.now() + kWaitForLock));
  co_return cleanup;
}

task<Result<TaskQueue>> QueueFile::read() { return read_kernel<TaskQueue>(file_); }

task<Result<std::vector<QueueFile::Added>>> QueueFile::add_all(std::vector<NewTask> tasks) {
  std::vector<Added> added;
  auto change = change_of<TaskQueue>([&](TaskQueue& queue) {
    added.clear();
    for (const NewTask& task : tasks) {
      const uint64_t next = queue.next();
      const auto number = queue.add(task.name, task.payload);
      if (!number) return Status(tl::unexpected(number.error()));
      added.push_back({*number, *number == next});
    }
    return Status();
  });
  BW_CO_RETURN_IF_ERROR(co_await file_.change(change, runtime_.now() + kWaitForLock));
  co_return added;
}

task<Result<uint64_t>> QueueFile::add(std::string name, std::string payload) {
  std::vector<NewTask> one;
  one.push_back({std::move(name), std::move(payload)});
  BW_CO_TRY(const auto added, co_await add_all(std::move(one)));
  co_return added.front().number;
}

task<Result<std::size_t>> QueueFile::take_over(election::Epoch epoch, std::string leader) {
  leader_ = leader;
  std::size_t count = 0;
  LeaderChange change(leaders_.path(), epoch, leader,
                      [&](TaskQueue& queue) { return keep(queue.take_over(epoch, leader), count); });
  BW_CO_RETURN_IF_ERROR(co_await leaders_.change(change, runtime_.now() + kWaitForLock));
  co_return count;
}

task<Result<std::optional<Grant>>> QueueFile::hand_out(std::string agent, election::Epoch epoch, HandOutRules rules) {
  std::optional<Grant> grant;
  LeaderChange change(leaders_.path(), epoch, leader_,
                      [&](TaskQueue& queue) { return keep(queue.hand_out(agent, epoch, rules), grant); });
  BW_CO_RETURN_IF_ERROR(co_await leaders_.change(change, runtime_.now() + kWaitForLock));
  co_return grant;
}

task<Result<std::vector<QueuedTask>>> QueueFile::put_aside(election::Epoch epoch, uint32_t tries_most) {
  std::vector<QueuedTask> aside;
  LeaderChange change(leaders_.path(), epoch, leader_,
                      [&](TaskQueue& queue) { return keep(queue.put_aside(epoch, tries_most), aside); });
  BW_CO_RETURN_IF_ERROR(co_await leaders_.change(change, runtime_.now() + kWaitForLock));
  co_return aside;
}

task<Status> QueueFile::finish(Grant grant) {
  LeaderChange change(leaders_.path(), grant.epoch, leader_, [&](TaskQueue& queue) {
    Status done = queue.finish(grant);
    if (!done && done.error().code == Errc::kExists) return Status();
    return done;
  });
  Status done = co_await leaders_.change(change, runtime_.now() + kWaitForLock);
  co_return done ? change.done() : done;
}

task<Result<QueuedTask::State>> QueueFile::fail_attempt(Grant grant, std::string outcome, uint32_t tries_most) {
  QueuedTask::State state = QueuedTask::State::kWaiting;
  LeaderChange change(leaders_.path(), grant.epoch, leader_,
                      [&](TaskQueue& queue) { return keep(queue.fail_attempt(grant, outcome, tries_most), state); });
  BW_CO_RETURN_IF_ERROR(co_await leaders_.change(change, runtime_.now() + kWaitForLock));
  BW_CO_RETURN_IF_ERROR(change.done());
  co_return state;
}

task<Status> QueueFile::give_back(Grant grant) {
  LeaderChange change(leaders_.path(), grant.epoch, leader_, [&](TaskQueue& queue) { return queue.give_back(grant); });
  Status done = co_await leaders_.change(change, runtime_.now() + kWaitForLock);
  co_return done ? change.done() : done;
}

task<Result<std::size_t>> QueueFile::hand_back(std::vector<std::string> living, election::Epoch epoch) {
  std::size_t count = 0;
  auto change = change_of<TaskQueue>([&](TaskQueue& queue) { return keep(queue.hand_back(living, epoch), count); });
  BW_CO_RETURN_IF_ERROR(co_await file_.change(change, runtime_.now() + kWaitForLock));
  co_return count;
}

task<Status> QueueFile::change_each(std::vector<uint64_t> numbers, Status (TaskQueue::*act)(uint64_t)) {
  auto change = change_of<TaskQueue>([&](TaskQueue& queue) {
    Status done;
    for (std::size_t i = 0; done && i < numbers.size(); ++i) done = (queue.*act)(numbers[i]);
    return done;
  });
  Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  co_return done;
}

task<Status> QueueFile::resume() {
  auto change = change_of<TaskQueue>([](TaskQueue& queue) {
    if (queue.halted().empty()) return Status(fail(Errc::kInvalid, "the queue is not halted"));
    queue.resume();
    return Status();
  });
  Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  co_return done;
}

}  // namespace bellwether::lead
