// What the shares of one job are doing at the moment, for screens: of each share what its worker has told last, and
// what all of them did in each tenth of a second (load/metrics/live_windows.h). Nothing is computed from it, for it may
// be late, and lost; what counts is the account (jobs/account/run_account.h). Another owner begins with nothing: shares
// that had ended before are missing from its sums, and its windows begin anew.
//
// It reads no clock. Nothing is allocated for a letter of a share that was heard before. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/base/time.h"
#include "jobs/dispatch/letters.h"
#include "load/metrics/live_windows.h"

namespace bellwether::node {

class LiveBoard {
 public:
  // Second zero of the run, from which windows are counted. Has no effect after the first share.
  void set_zero(Instant zero);
  // Its counters begin at zero. A share that was not announced here began earlier.
  void begins(Instant now, dispatch::ShareId share);
  // Of a letter with this number, collected then (on this clock). Numbers grow within a life of a worker, and a share
  // stays with one life of one worker: so the highest number of each share is the newest. False: something newer was
  // known, and only windows may have been amended, or the share has ended. Not bounded: REQUIRES a share that the job
  // has.
  bool heard(Instant now, Instant collected, uint64_t number, const dispatch::LiveLetter::Share& told);
  // What it has done stays in the sums; it has no virtual users any more.
  void ended(Instant now, dispatch::ShareId share);
  // The job is over: its last windows are closed, and what comes from now on changes nothing.
  void finish(Instant now);

  dispatch::LiveSum sum(Instant now) const;
  // Another one after each change of the sums.
  uint64_t version() const { return version_; }

  // Closes the windows that are over.
  void advance(Instant now);
  Instant next_close() const { return windows_ ? windows_->next_close() : Instant::never(); }
  // Grows with each window that is closed or amended; zero before the first.
  uint64_t change() const { return windows_ ? windows_->change() : 0; }
  // All but who tells it: the windows after `change`, and what was told last.
  dispatch::LiveNews news(Instant now, uint64_t change) const;

 private:
  struct Told {
    std::optional<uint64_t> number;
    Instant at;
    dispatch::LiveLetter::Share what;
    bool over = false;
    metrics::LiveWindows::Source source = 0;
  };
  metrics::LiveWindows& windows(Instant now);
  void add(const dispatch::LiveLetter::Share& one);
  void take_off(const dispatch::LiveLetter::Share& one);

  std::map<dispatch::ShareId, Told> told_;
  dispatch::LiveSum sum_;  // of all; without the age
  uint64_t version_ = 0;
  std::optional<Instant> zero_;
  std::optional<metrics::LiveWindows> windows_;  // once there is a share
  bool finished_ = false;
};

}  // namespace bellwether::node
