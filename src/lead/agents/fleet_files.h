// The registry and the task queue of a fleet on a disk: the pure kernels, each change of them one change of a shared
// file. What has been answered with success survives any crash. One thread, that of the runtime.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lead/agents/agent_registry.h"
#include "lead/agents/shared_file.h"
#include "lead/agents/task_queue.h"

namespace bellwether::lead {

// A registry that cannot be understood is set aside (PATH.broken) and begun anew: living agents find that they are not
// registered and register again.
class RegistryFile {
 public:
  RegistryFile(runtime::Runtime& runtime, std::string path, AgentAges ages)
      : runtime_(runtime), file_(runtime, std::move(path), SharedFile::WhenBroken::kQuarantine), ages_(ages) {}

  runtime::task<Result<AgentRegistry>> read();
  runtime::task<Status> add(std::string id, std::string role, std::string host, int64_t pid);
  runtime::task<Status> heartbeat(std::string id);
  runtime::task<Status> remove(std::string id);
  runtime::task<Result<AgentRegistry::Cleanup>> clean(std::string leader);

  const AgentAges& ages() const { return ages_; }
  bool quarantined() const { return file_.quarantined(); }

 private:
  runtime::Runtime& runtime_;
  SharedFile file_;
  AgentAges ages_;
};

// A queue that cannot be understood is an error: no task may be lost silently.
class QueueFile {
 public:
  QueueFile(runtime::Runtime& runtime, std::string path)
      : runtime_(runtime), file_(runtime, std::move(path), SharedFile::WhenBroken::kRefuse) {}

  // What a new leader finds; take_over() comes first.
  runtime::task<Result<TaskQueue>> read();
  runtime::task<Result<uint64_t>> add(std::string name, std::string payload);
  runtime::task<Result<std::size_t>> take_over(election::Epoch epoch);
  runtime::task<Result<std::optional<Grant>>> hand_out(std::string agent, election::Epoch epoch);
  // Success too when this very result was accepted before: the agent may not have heard of it.
  runtime::task<Status> finish(Grant grant);
  runtime::task<Result<std::size_t>> hand_back(std::vector<std::string> living, election::Epoch epoch);

 private:
  runtime::Runtime& runtime_;
  SharedFile file_;
};

}  // namespace bellwether::lead
