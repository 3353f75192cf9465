// What becomes of a term of office, from whatever decides it (a store, the votes of a group, or scores) to the work
// that only a leader may do.
#pragma once

#include <string>

#include "election/elector_events.h"
#include "election/term_of_office.h"

namespace bellwether::election {

// Calls come one after the other, never from within another; they must not wait, since renewals wait for them. They may
// call whatever decides.
class TermListener {
 public:
  virtual ~TermListener() = default;
  // The work may begin. `term` stays as it is; term.valid_for(now) is to be asked before each act.
  virtual void on_elected(const TermOfOffice& term) = 0;
  // Confirmed after `took`, counted from the sending of what was answered; zero when nothing was confirmed and only the
  // times have become shorter.
  virtual void on_renewed(Instant /*ends*/, Duration /*took*/) {}
  // Stop the work in good order, then say so; the term goes on meanwhile.
  virtual void on_drain(const std::string& cause) = 0;
  // The term is over. If `ended.work_runs`, its last act must come before `ended.stop_by` (boot clock), and it is to be
  // said when the work has stopped.
  virtual void on_term_ended(const TermEnded& ended) = 0;
};

}  // namespace bellwether::election
