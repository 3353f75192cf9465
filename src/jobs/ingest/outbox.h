// The seconds of one worker that may not be durable elsewhere. Each second has a number; the outbox sends it, sends it
// again when the ingest goes to another owner, and deletes it only when it is durable there. So a change of owners
// loses nothing. Nothing counts twice, because the ingest applies numbers in order and once (run_ingest.h).
//
// Without an owner for long, memory stays within a limit: seconds that were never sent are merged with their
// neighbours. So they are for an owner that accepts only batches. Sums stay exact; only the series over time becomes
// coarser there.
//
// It reads no clock. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "load/codec/window_codec.h"

namespace bellwether::ingest {

// Some seconds of one stream, as sent.
struct Delta {
  uint64_t first = 0;  // numbers, from 1; one for each second
  uint64_t last = 0;
  std::string window;  // all of them merged; the numbers say which seconds they are
};

class Outbox {
 public:
  static constexpr std::size_t kUnderWay = 8;  // sent and not applied yet, at most

  // `bytes_most` does not limit deltas under way and one further delta.
  Outbox(Shape shape, std::size_t bytes_most) : shape_(shape), bytes_most_(bytes_most) {}

  // From now on, instead of the limit of the constructor.
  void limit(std::size_t bytes_most) {
    bytes_most_ = bytes_most;
    make_room();
  }

  // The next second, encoded. REQUIRES that it can be decoded with the shape. One that is not whole is never merged, so
  // that the owner learns how much of it has load.
  void add(std::string second, bool is_whole = true);
  // The next delta to send; nothing without one, or if too many are under way. It stays here. Up to
  // `seconds_most` seconds that were never sent become one before.
  std::optional<Delta> next(uint64_t seconds_most = 1);
  // The owner has applied all up to `applied`, and all up to `durable` survive its death. kProtocol: these numbers were
  // never sent.
  Status answered(uint64_t applied, uint64_t durable);
  // Another owner, or the same after a while, has applied all up to `applied`: the outbox sends the later ones again.
  // kNotFound: the owner lacks numbers that are deleted here. Numbers up to that of the answer are lost to the ingest,
  // and the rest goes on.
  Status resume(uint64_t applied);

  // What is kept beyond that number, in order, as it is; good until the next change.
  std::vector<const Delta*> beyond(uint64_t number) const;

  bool empty() const { return kept_.empty(); }
  uint64_t last_number() const { return last_; }
  // Seconds to be sent to the present owner.
  uint64_t unsent() const { return last_ - sent_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t deltas() const { return kept_.size(); }

 private:
  struct Kept {
    Delta delta;
    bool ever_sent = false;  // perhaps applied as it is: never to be merged
    bool is_whole = true;
  };
  void make_room();
  bool can_merge(std::size_t at) const;  // with the next one
  void merge_at(std::size_t at);

  Shape shape_;
  std::size_t bytes_most_;
  std::deque<Kept> kept_;
  std::size_t bytes_ = 0;
  uint64_t last_ = 0;     // last number given
  uint64_t applied_ = 0;  // by the present owner
  uint64_t sent_ = 0;     // to the present owner, except those to be sent again
  uint64_t ever_sent_ = 0;
  uint64_t forgotten_ = 0;  // durable elsewhere
};

}  // namespace bellwether::ingest
