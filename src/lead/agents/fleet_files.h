// The registry and the task queue of a fleet on a disk: the pure kernels, each change of them one change of a shared
// file. A change that has succeeded survives any crash. One thread, that of the runtime.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"
#include "lead/agents/agent_registry.h"
#include "lead/agents/task_queue.h"

namespace bellwether::lead {

// A file that several processes change. Each change reads it, makes the new text and replaces the old one, under a lock
// on a file beside it (PATH.lock). A reader without the lock finds the old text or the new one. A change that has
// succeeded survives a crash of the machine.

// One change. `apply` gets the text (nothing: the file is absent) and returns the new one. After an Error the file
// stays as it was. kProtocol: the text is not understood.
class FileChange {
 public:
  virtual ~FileChange() = default;
  virtual Result<std::string> apply(const std::optional<std::string>& text) = 0;
  // The same when the old text was not understood, for this reason, and is set aside. Before kReplace it must give a
  // text.
  virtual Result<std::string> begin_anew(const std::string& /*why*/) { return apply(std::nullopt); }
};

class SharedFile {
 public:
  static constexpr std::size_t kMaxBytes = 256u << 20;

  enum class WhenBroken : unsigned char {
    kRefuse,      // its content must not be lost: the error informs the operator
    kQuarantine,  // it is set aside as PATH.quarantine-TIME-N, and the change is applied to nothing
    kReplace,     // a copy is set aside, and the text of begin_anew() takes its place: the file always exists
  };

  // `runtime` must outlive it.
  SharedFile(runtime::Runtime& runtime, std::string path, WhenBroken when_broken)
      : runtime_(runtime), path_(std::move(path)), when_broken_(when_broken) {}

  // The current text; nothing when the file is absent.
  runtime::task<Result<std::optional<std::string>>> read();
  // kTimeout when the lock is not free by `deadline` (monotonic clock). After any other error of the disk it is unknown
  // whether the change happened. kRefused, kNotFound, kExists and kInvalid always come from `change`: from the disk
  // they come as kIo. `change` must outlive the task.
  runtime::task<Status> change(FileChange& change, Instant deadline);

  const std::string& path() const { return path_; }
  // The file was set aside by a change of this object.
  bool quarantined() const { return quarantined_; }

 private:
  runtime::task<Result<std::string>> read_again_if_broken(FileChange& change, Result<std::string> made);

  runtime::Runtime& runtime_;
  std::string path_;
  WhenBroken when_broken_;
  bool quarantined_ = false;
};

// A registry that cannot be understood is set aside and begun anew: living agents find that they are
// not registered and register again.
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

// An unreadable queue is an error: no task may be lost silently. The leader's change sets it aside and puts a halted
// queue in its place, with the reason, until an operator resumes it. The leader of a task that runs meanwhile then
// learns that the queue refuses its result.
class QueueFile {
 public:
  enum class Who : unsigned char { kAnybody, kLeader };
  QueueFile(runtime::Runtime& runtime, std::string path, Who who = Who::kAnybody)
      : runtime_(runtime),
        file_(runtime, path, SharedFile::WhenBroken::kRefuse),
        leaders_(runtime, std::move(path),
                 who == Who::kLeader ? SharedFile::WhenBroken::kReplace : SharedFile::WhenBroken::kRefuse) {}

  // A new leader reads this; take_over() comes first.
  runtime::task<Result<TaskQueue>> read();
  struct NewTask {
    std::string name;
    std::string payload;
  };
  struct Added {
    uint64_t number = 0;
    bool is_new = false;  // else a task of this name is known already
  };
  // All, or after an error none.
  runtime::task<Result<std::vector<Added>>> add_all(std::vector<NewTask> tasks);
  runtime::task<Result<uint64_t>> add(std::string name, std::string payload);
  runtime::task<Result<std::size_t>> take_over(election::Epoch epoch, std::string leader = {});
  runtime::task<Result<std::optional<Grant>>> hand_out(std::string agent, election::Epoch epoch,
                                                       HandOutRules rules = {});
  runtime::task<Result<std::vector<QueuedTask>>> put_aside(election::Epoch epoch, uint32_t tries_most);
  // Success too when this very result was accepted before: the agent may not have heard of it.
  runtime::task<Status> finish(Grant grant);
  runtime::task<Result<QueuedTask::State>> fail_attempt(Grant grant, std::string outcome, uint32_t tries_most);
  runtime::task<Status> give_back(Grant grant);
  runtime::task<Result<std::size_t>> hand_back(std::vector<std::string> living, election::Epoch epoch);
  // All, or after an error none.
  runtime::task<Status> retry(std::vector<uint64_t> numbers) {
    return change_each(std::move(numbers), &TaskQueue::retry);
  }
  runtime::task<Status> drop(std::vector<uint64_t> numbers) {
    return change_each(std::move(numbers), &TaskQueue::drop);
  }
  runtime::task<Status> resume();

  const std::string& path() const { return file_.path(); }

 private:
  runtime::task<Status> change_each(std::vector<uint64_t> numbers, Status (TaskQueue::*act)(uint64_t));

  runtime::Runtime& runtime_;
  SharedFile file_;
  SharedFile leaders_;  // the same file, for the leader's changes
  std::string leader_;  // that took over
};

}  // namespace bellwether::lead
