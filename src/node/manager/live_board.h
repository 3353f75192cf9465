// What the shares of one job are doing at the moment, for screens: of each share what its worker has told last. Nothing
// is computed from it, for it may be late, and lost; what counts is the account (account/run_account.h). Another owner
// begins with nothing, and shares that had ended before are missing from its sums.
//
// It reads no clock. One thread.
#pragma once

#include <cstdint>
#include <map>

#include "base/time.h"
#include "dispatch/letters.h"

namespace bellwether::node {

class LiveBoard {
 public:
  // Of a letter with this number. Numbers grow within a life of a worker, and a share stays with one life of one
  // worker: so the highest number of each share is the newest. False: something newer was known, or the share has
  // ended. Not bounded: REQUIRES a share that the job has.
  bool heard(Instant now, uint64_t number, const dispatch::LiveLetter::Share& told);
  // What it has done stays in the sums; it has no virtual users any more.
  void ended(dispatch::ShareId share);

  dispatch::LiveSum sum(Instant now) const;
  // Another one after each change.
  uint64_t version() const { return version_; }

 private:
  struct Told {
    uint64_t number = 0;
    Instant at;
    dispatch::LiveLetter::Share what;
    bool over = false;
  };
  void add(const dispatch::LiveLetter::Share& one);
  void take_off(const dispatch::LiveLetter::Share& one);

  std::map<dispatch::ShareId, Told> told_;
  dispatch::LiveSum sum_;  // of all; without the age
  uint64_t version_ = 0;
};

}  // namespace bellwether::node
