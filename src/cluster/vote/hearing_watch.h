// The other voters that a node hears, independent of the current admin. Before any election shows a partition, it shows
// which voters the nodes of a part that is cut off do not hear.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/time.h"

namespace bellwether::cluster {

class HearingWatch {
 public:
  // `others`: names. A voter that is silent for longer than `limit` is not heard.
  HearingWatch(const std::vector<std::string>& others, Duration limit, Instant now);

  void heard(const std::string& name, Instant now);
  Duration limit() const { return limit_; }
  // The changes since the last look, in words; a warning when fewer are heard.
  struct Change {
    bool fewer = false;
    std::string text;
  };
  std::vector<Change> look(Instant now);

  // The voters that are not heard, and for how long, by name.
  std::vector<std::pair<std::string, Duration>> unheard(Instant now) const;
  // With itself it hears fewer than half of all voters and one more.
  bool in_minority(Instant now) const;

 private:
  struct Voter {
    Instant last;
    bool lost = false;  // and reported
  };
  std::map<std::string, Voter> voters_;
  Duration limit_;
};

}  // namespace bellwether::cluster
