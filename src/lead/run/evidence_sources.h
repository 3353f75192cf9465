// The sources of evidence that a leader's work is sound: a health command of the user, the progress that the work
// reports on a pipe, and a small write to a disk.
#pragma once

#include <string>

#include "core/base/callback.h"
#include "core/runtime/scope.h"
#include "election/elector_events.h"
#include "lead/run/guarded_command.h"
#include "lead/run/leader_run.h"

namespace bellwether::lead {

// Receives the evidence about the guarded work.
struct EvidenceTaker {
  Callback<void(election::EvidenceKind kind)> good;
  Callback<void(election::EvidenceKind kind, std::string why)> bad;
};

class EvidenceSources {
 public:
  // All must outlive it.
  EvidenceSources(runtime::Runtime& runtime, const LeadOptions& options);
  EvidenceSources(const EvidenceSources&) = delete;
  EvidenceSources& operator=(const EvidenceSources&) = delete;
  ~EvidenceSources();

  static bool wanted(const LeadOptions& options);
  void require(election::Evidence& evidence) const;
  // Watches until the scope is cancelled.
  void start(runtime::Scope& scope, EvidenceTaker taker);
  void work_begins();
  // The command's needs for its reports.
  void add_to(CommandOptions& command) const;

 private:
  runtime::task<void> watch_health(EvidenceTaker taker, runtime::Cancellation* cancel);
  runtime::task<void> watch_progress(EvidenceTaker taker, runtime::Cancellation* cancel);
  runtime::task<void> watch_disk(EvidenceTaker taker, runtime::Cancellation* cancel);
  runtime::task<std::string> ask_health(runtime::Cancellation* cancel);
  runtime::task<Status> write_probe();
  Duration disk_limit() const { return options_.timing.renew_deadline; }

  runtime::Runtime& runtime_;
  const LeadOptions& options_;
  int progress_read_ = -1;
  int progress_write_ = -1;
};

}  // namespace bellwether::lead
