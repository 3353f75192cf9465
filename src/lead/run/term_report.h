// The reports of `bellwether lead` about its key: lines and audit, hooks, and figures. It decides nothing.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/journal/journal.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"
#include "election/elector.h"
#include "election/term_of_office.h"
#include "lead/metrics/lease_figures.h"
#include "lead/run/leader_run.h"

namespace bellwether::lead {

// Shell commands that run at transitions: one after the other, in the order of the events, never several at once, each
// with a time limit. Renewals do not wait for them.
class Hooks {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;
  Hooks(runtime::Runtime& runtime, Journal& journal) : runtime_(runtime), journal_(journal) {}

  // Queues it; does nothing for an empty command. Beyond 64 waiting ones it drops the oldest and reports that.
  void call(std::string command, Environment environment);
  // Runs queued commands until `cancel`; then the rest, for at most the time of one hook.
  runtime::task<void> run(runtime::Cancellation* cancel);

 private:
  struct Call {
    std::string command;
    Environment environment;
  };
  runtime::task<void> run_one(Call call);
  void end_soon();

  runtime::Runtime& runtime_;
  Journal& journal_;
  std::deque<Call> waiting_;
  runtime::Event more_;
  Instant end_by_ = Instant::never();
};

class TermReport {
 public:
  // All must outlive it.
  TermReport(runtime::Runtime& runtime, const LeadOptions& options, Journal& journal)
      : runtime_(runtime), options_(options), journal_(journal), hooks_(runtime, journal), figures_(options.key, {}) {}

  void set_holder(std::string holder) { holder_ = std::move(holder); }
  LeaseFigures& figures() { return figures_; }
  Hooks& hooks() { return hooks_; }
  // The environment of the command and the hooks.
  Hooks::Environment environment(election::Epoch epoch) const;

  // The ends of a term by the boot clock: the stop signal of the work, its kill time, and the time from which another
  // may take the key.
  struct Ends {
    Instant term;
    Instant kill_at;
    Instant lease;
  };
  void elected(const election::TermOfOffice& term, const Ends& ends);
  void renewed(const Ends& ends, Duration took);
  void term_ended(const election::TermEnded& ended);
  void leader_changed(const election::LeaseRecord& record, const std::string& evidence, Duration failover);
  void fail_open(bool open, const std::string& why, election::Epoch floor);

 private:
  void tell(std::string_view event, const std::string& text, election::Epoch epoch, const Journal::Fields& more = {});

  runtime::Runtime& runtime_;
  const LeadOptions& options_;
  Journal& journal_;
  Hooks hooks_;
  LeaseFigures figures_;
  std::string holder_;
};

}  // namespace bellwether::lead
