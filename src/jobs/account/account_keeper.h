// What a worker has measured and nobody else is sure to have yet. Each second gets a number; it is sent, sent again
// when the account goes to another owner, and forgotten only when it is durable there. So nothing is lost when owners
// come and go, and nothing is counted twice, because numbers are applied in their order and once (account_book.h).
//
// Where no owner is to be had for long, memory stays within a limit: seconds that were never sent are merged with their
// neighbours, and so they are for an owner that can only take batches. Their sums stay exact; only the series over time
// becomes coarser there.
//
// It reads no clock. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "load/codec/window_codec.h"

namespace bellwether::account {

// Some seconds of one stream, as they travel.
struct Delta {
  uint64_t first = 0;  // numbers, from 1; one for each second
  uint64_t last = 0;
  std::string window;  // all of them merged; which seconds they are, the numbers say
};

class AccountKeeper {
 public:
  static constexpr std::size_t kUnderWay = 8;  // that are sent and not applied yet, at most

  // `bytes_most` may be passed by what is under way, and by one delta more.
  AccountKeeper(Shape shape, std::size_t bytes_most) : shape_(shape), bytes_most_(bytes_most) {}

  // The next second, encoded. REQUIRES that it can be decoded with the shape.
  void add(std::string second);
  // The next one to send; nothing when there is none, or too many are under way. Stays here. Up to `seconds_most`
  // seconds that were never sent become one before.
  std::optional<Delta> next(uint64_t seconds_most = 1);
  // The owner has applied all up to `applied`, and all up to `durable` survive its death. kProtocol when that cannot
  // be: numbers that were never sent.
  Status answered(uint64_t applied, uint64_t durable);
  // Another owner, or the same after a while, has applied all up to `applied`: what comes after is sent again.
  // kNotFound when it lacks what is gone from here: numbers up to that of the answer are lost to the account, and the
  // rest goes on.
  Status resume(uint64_t applied);

  bool empty() const { return kept_.empty(); }
  uint64_t last_number() const { return last_; }
  uint64_t forgotten_upto() const { return forgotten_; }
  // Seconds that are to be sent to the present owner.
  uint64_t unsent() const { return last_ - sent_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t deltas() const { return kept_.size(); }

 private:
  struct Kept {
    Delta delta;
    bool ever_sent = false;  // perhaps applied as it is: never to be merged
  };
  void make_room();
  bool can_merge(std::size_t at) const;  // with the next one
  void merge_at(std::size_t at);

  Shape shape_;
  std::size_t bytes_most_;
  std::deque<Kept> kept_;
  std::size_t bytes_ = 0;
  uint64_t last_ = 0;     // number given out
  uint64_t applied_ = 0;  // by the present owner
  uint64_t sent_ = 0;     // to the present owner, as far as it is not to be sent again
  uint64_t ever_sent_ = 0;
  uint64_t forgotten_ = 0;  // durable elsewhere
};

}  // namespace bellwether::account
