// The record that a voter must not forget. Each change of it is written, and a message that depends on a change waits
// until the record is durable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/base/time.h"
#include "election/elector_events.h"

namespace bellwether::election {

// The first event of a voter: what its disk has.
template <class Record>
struct StartOf {
  enum class Found : uint8_t {
    kRecord,
    kNew,         // an operator says so: this voter was never there before. An empty disk alone does not prove it.
    kUnreadable,  // torn, foreign, or gone: this voter follows, and neither votes nor stands again
  };
  Found found = Found::kNew;
  Record record;
};

// The answer to Persist. Not ok: it may have been written or not; `why` says what failed.
struct Persisted {
  uint64_t version = 0;
  bool ok = true;
  std::string why;
};

template <class Record, class Persist, class Effects>
class DurableRecord {
 public:
  // A write that has failed is tried again after `patience`.
  explicit DurableRecord(Duration patience) : patience_(patience) {}

  Record record;  // persist() follows each change of it

  uint64_t persist(Effects& out) {
    ++record.version;
    out.push_back(Persist{record});
    return record.version;
  }
  void tick(Instant now, Effects& out) {
    if (now < again_) return;
    again_ = Instant::never();
    if (failed_) persist(out);
  }
  Instant wake() const { return again_; }
  bool disk_failed() const { return failed_; }

 protected:
  // False: the disk has failed.
  bool written(Instant now, const Persisted& done, Effects& out) {
    if (!done.ok) {
      if (!failed_) out.push_back(Note{true, "abstains: the record could not be made durable: " + done.why});
      failed_ = true;
      again_ = now + patience_;
      return false;
    }
    durable_ = std::max(durable_, done.version);
    if (failed_ && durable_ == record.version) {
      out.push_back(Note{false, "takes part again: the record is durable"});
      failed_ = false;
      again_ = Instant::never();
    }
    return true;
  }

  uint64_t durable_ = 0;  // version of the record

 private:
  Duration patience_;
  bool failed_ = false;
  Instant again_ = Instant::never();
};

}  // namespace bellwether::election
