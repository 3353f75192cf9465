#include "lead/agents/fleet_files.h"

#include <utility>

namespace bellwether::lead {

using runtime::task;

namespace {

constexpr Duration kWaitForLock = Duration::seconds(5);

// One act on a kernel as a change of its file.
template <class Kernel, class Act>
class KernelChange final : public FileChange {
 public:
  explicit KernelChange(Act act) : act_(std::move(act)) {}
  Result<std::string> apply(const std::string& text) override {
    auto kernel = Kernel::parse(text);
    if (!kernel) return tl::unexpected(kernel.error());
    if (Status done = act_(*kernel); !done) return tl::unexpected(done.error());
    return kernel->to_json();
  }

 private:
  Act act_;
};

template <class Kernel, class Act>
KernelChange<Kernel, Act> change_of(Act act) {
  return KernelChange<Kernel, Act>(std::move(act));
}

// Keeps what an act gave, so that it can be handed out once the file is safe.
template <class T>
Status keep(Result<T> given, T& into) {
  if (!given) return tl::unexpected(given.error());
  into = std::move(*given);
  return {};
}

template <class Kernel>
task<Result<Kernel>> read_kernel(SharedFile& file) {
  const auto text = co_await file.read();
  if (!text) co_return tl::unexpected(text.error());
  auto kernel = Kernel::parse(*text);
  if (!kernel) kernel.error().message = "'" + file.path() + "': " + kernel.error().message;
  co_return kernel;
}

}  // namespace

task<Result<AgentRegistry>> RegistryFile::read() {
  auto read = co_await read_kernel<AgentRegistry>(file_);
  co_return read;
}

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
  const Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  if (!done) co_return tl::unexpected(done.error());
  co_return cleanup;
}

task<Result<TaskQueue>> QueueFile::read() {
  auto read = co_await read_kernel<TaskQueue>(file_);
  co_return read;
}

task<Result<uint64_t>> QueueFile::add(std::string name, std::string payload) {
  uint64_t number = 0;
  auto change = change_of<TaskQueue>([&](TaskQueue& queue) { return keep(queue.add(name, payload), number); });
  const Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  if (!done) co_return tl::unexpected(done.error());
  co_return number;
}

task<Result<std::size_t>> QueueFile::take_over(election::Epoch epoch) {
  std::size_t count = 0;
  auto change = change_of<TaskQueue>([&](TaskQueue& queue) { return keep(queue.take_over(epoch), count); });
  const Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  if (!done) co_return tl::unexpected(done.error());
  co_return count;
}

task<Result<std::optional<Grant>>> QueueFile::hand_out(std::string agent, election::Epoch epoch) {
  std::optional<Grant> grant;
  auto change = change_of<TaskQueue>([&](TaskQueue& queue) { return keep(queue.hand_out(agent, epoch), grant); });
  const Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  if (!done) co_return tl::unexpected(done.error());
  co_return grant;
}

task<Status> QueueFile::finish(Grant grant) {
  auto change = change_of<TaskQueue>([&](TaskQueue& queue) {
    Status done = queue.finish(grant);
    if (!done && done.error().code == Errc::kExists) return Status();
    return done;
  });
  Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  co_return done;
}

task<Result<std::size_t>> QueueFile::hand_back(std::vector<std::string> living, election::Epoch epoch) {
  std::size_t count = 0;
  auto change = change_of<TaskQueue>([&](TaskQueue& queue) { return keep(queue.hand_back(living, epoch), count); });
  const Status done = co_await file_.change(change, runtime_.now() + kWaitForLock);
  if (!done) co_return tl::unexpected(done.error());
  co_return count;
}

}  // namespace bellwether::lead
