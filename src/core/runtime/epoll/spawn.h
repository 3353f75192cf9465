// Children of the operating system on an epoll loop: the parts of EpollRuntime::spawn().
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/epoll/blocking_pool.h"
#include "core/runtime/processes.h"

namespace bellwether::runtime {

// Starting a program, which blocks until it runs or is known not to, and the process that comes of it. For any thread.

// Children without a waiter: the system keeps an entry for each until this process collects it.
class Orphans {
 public:
  void add(pid_t pid);
  // Forgets ended children.
  void reap();

 private:
  std::mutex mutex_;
  std::vector<pid_t> pids_;
};

// A started process. While this object lives, the system does not reuse its process id, even after its end.
class ChildProcess {
 public:
  ChildProcess(pid_t pid, bool own_group, std::shared_ptr<Orphans> orphans)
      : pid_(pid), own_group_(own_group), orphans_(std::move(orphans)) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Kills a running child, with its group, unless it was released.
  ~ChildProcess();

  // Fails on kernels that cannot report the end of a process to a loop (before Linux 5.3).
  Status watch_end();

  pid_t pid() const { return pid_; }
  bool has_own_group() const { return own_group_; }
  int end_descriptor() const { return end_fd_; }  // readable once it has ended
  // The end, once it has come.
  Result<ChildEnd> end() const;
  int output_descriptor() const { return output_fd_; }  // its output; -1 when not wanted
  void take_output(int fd) { output_fd_ = fd; }
  void let_go() { let_go_ = true; }

 private:
  pid_t pid_;
  bool own_group_;
  bool let_go_ = false;
  int end_fd_ = -1;
  int output_fd_ = -1;
  std::shared_ptr<Orphans> orphans_;
};

// `environment` is the whole of it, "NAME=value" each. SpawnOptions::environment is not looked at.
Result<std::unique_ptr<ChildProcess>> launch(const SpawnOptions& options, const std::vector<std::string>& environment,
                                             std::shared_ptr<Orphans> orphans);

// The environment of this process with additions, each in place of one of the same name.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& additions);

// The file that the name of a program means: itself when it has a slash, else the first executable one in `path`.
Result<std::string> find_program(const std::string& name, const std::string& path);

// `runtime` and `pool` outlive the child.
task<Result<std::unique_ptr<Child>>> spawn_child(Runtime& runtime, BlockingPool& pool, std::shared_ptr<Orphans> orphans,
                                                 SpawnOptions options);

}  // namespace bellwether::runtime
