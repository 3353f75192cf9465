// The acts of the contenders of a drill: one line for each act, all in one file, in the order of the acts (the kernel
// appends them one after the other). So the order of the lines, and no clock, shows whether two acted at once: an act
// under an older epoch behind one under a newer epoch came from a former holder.
//
// A line: HOLDER EPOCH NANOSECONDS. The time is that of the boot clock, for measuring.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace bellwether::lead {

// All acts of one holder under one epoch.
struct Reign {
  std::string holder;
  uint64_t epoch = 0;
  Instant first;
  Instant last;
  uint64_t acts = 0;
};

class ActLog {
 public:
  // Further bytes of the file; lines may come in pieces.
  void feed(std::string_view bytes);
  // One act, or another sign that this holder is active.
  void note(std::string_view holder, uint64_t epoch, Instant when);

  // In the order in which they began.
  const std::vector<Reign>& reigns() const { return reigns_; }
  const Reign* last() const { return reigns_.empty() ? nullptr : &reigns_.back(); }
  uint64_t acts() const { return acts_; }
  // Acts that came after an act under a newer epoch, or under an epoch that another holder had.
  uint64_t overlaps() const { return overlaps_; }

 private:
  void take(std::string_view line);

  std::string rest_;
  std::vector<Reign> reigns_;
  uint64_t acts_ = 0;
  uint64_t overlaps_ = 0;
};

// The whole life of an acting process: appends a line to the file every few milliseconds, for `span`. The holder and
// the epoch are those of BELLWETHER_HOLDER and BELLWETHER_EPOCH. Returns its exit code.
int act_for(const std::string& file, Duration span);

}  // namespace bellwether::lead
