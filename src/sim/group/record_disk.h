// The disk of one simulated member, as far as elections see it: a record that is written whole, again and again.
// Confirmed data survives a crash; other data may.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "sim/timeline.h"

namespace bellwether::sim {

template <class Record>
class RecordDisk {
 public:
  RecordDisk() = default;
  // A copy of another one, except for its pending writes.
  explicit RecordDisk(std::vector<Record> kept) : kept_(std::move(kept)) {}

  bool empty() const { return kept_.empty(); }
  const Record& newest() const { return kept_.back(); }
  const std::vector<Record>& kept() const { return kept_; }  // oldest first

  // Executes writes in order, each in `usually` plus the disk's delay; those that wait are written together, so that a
  // mended disk has no backlog. Then it calls done(record, ok), once; not after a crash. Not ok: the record may be
  // there all the same. The disk must stay where it is.
  template <class Done>
  void write(Timeline& timeline, const Record& record, Duration usually, Done done) {
    const uint64_t number = ++number_;
    under_way_.push_back({record, number});
    const Instant begins = std::clamp(free_, timeline.now(), timeline.now() + slow_ + kMaxQueued);
    free_ = begins + usually + timeline.prng().between(Duration::zero(), slow_);
    wait(timeline, free_ - timeline.now(), number, std::move(done));
  }
  // The first part of the pending writes may have arrived.
  void crash(Prng& prng) {
    while (!under_way_.empty() && prng.chance(0.5)) {
      kept_.push_back(under_way_.front().record);
      under_way_.pop_front();
    }
    under_way_.clear();
    ++crashes_;
  }
  void lose() { kept_.clear(); }
  // As it was when only the first `count` records had been written.
  void roll_back(std::size_t count) { kept_.resize(count); }

  void set_asleep(bool asleep) { asleep_ = asleep; }  // with its machine: nothing is confirmed
  void set_slow(Duration at_most) { slow_ = at_most; }
  void set_failing(double ratio) { failing_ = ratio; }
  void mend() { slow_ = Duration::zero(), failing_ = 0; }

 private:
  static constexpr Duration kLooksAgain = Duration::millis(50);
  static constexpr Duration kMaxQueued = Duration::millis(50);  // at a disk that is not slow

  struct Write {
    Record record;
    uint64_t number;
  };

  template <class Done>
  void wait(Timeline& timeline, Duration span, uint64_t number, Done done) {
    timeline.after(span, [this, &timeline, number, done = std::move(done), crashes = crashes_] {
      if (crashes == crashes_) finish(timeline, number, done);
    });
  }
  template <class Done>
  void finish(Timeline& timeline, uint64_t number, const Done& done) {
    if (asleep_) return wait(timeline, kLooksAgain, number, done);
    const uint64_t crashes = crashes_;
    while (crashes == crashes_ && !under_way_.empty() && under_way_.front().number <= number) {
      const Record record = std::move(under_way_.front().record);
      under_way_.pop_front();
      const bool ok = failing_ == 0 || !timeline.prng().chance(failing_);
      if (ok || timeline.prng().chance(0.3)) kept_.push_back(record);
      done(record, ok);
    }
  }

  std::vector<Record> kept_;
  std::deque<Write> under_way_;
  uint64_t number_ = 0;
  uint64_t crashes_ = 0;
  Instant free_;
  Duration slow_;
  double failing_ = 0;
  bool asleep_ = false;
};

}  // namespace bellwether::sim
