// Who runs on a simulated machine: its own process, and others that a test puts there.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "runtime/process.h"

namespace bellwether::sim {

class Processes {
 public:
  explicit Processes(std::string host) { self_.host = std::move(host); }

  // The machine was switched on: everything else has gone, and process ids are given anew.
  void power_on(std::string boot_id);
  // The node's own process begins at this time of the boot clock, with the next process id; the one before it is gone.
  void begin_own(Instant boot);
  void end_own() { own_runs_ = false; }

  // The node's process, or the last one that ran.
  const runtime::ProcessIdentity& self() const { return self_; }
  runtime::ProcessSight look_at(int64_t pid) const;

  // For tests: what is seen of another process id, until the power goes. Goes before what is known of the node's own.
  void set(int64_t pid, runtime::ProcessSight sight) { others_[pid] = sight; }
  void set_pid_namespace(std::string name) { self_.pid_namespace = std::move(name); }
  // The next process of the node gets this id, whoever had it before.
  void set_next_pid(int64_t pid) { next_pid_ = pid; }

 private:
  runtime::ProcessIdentity self_;
  std::map<int64_t, runtime::ProcessSight> others_;
  int64_t next_pid_ = 0;
  bool own_runs_ = false;
};

}  // namespace bellwether::sim
