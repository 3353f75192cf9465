// The account of a job, kept by its owner: what the workers' streams have measured, each second of each stream applied
// once, in its order, and merged into the seconds of the run.
//
// A second of the run is closed when every open stream has told it, or when the first that told it has waited for
// `patience`; closed seconds come in rising order, one each. What comes later for a closed second, from a worker that
// was cut off for a while, amends it.
//
// What is applied is not durable by that: the owner makes a copy of its account elsewhere from time to time, with
// applied(), and then says so. Until then the workers keep what they sent (account_keeper.h).
//
// It reads no clock: each step is told the time. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/result.h"
#include "core/base/strong_id.h"
#include "core/base/time.h"
#include "load/codec/window_codec.h"
#include "load/plan/finding.h"

namespace bellwether::account {

// One attempt of one worker at one share of the run; given by the job's owner, never twice in a job.
using StreamId = StrongId<struct StreamTag, uint32_t>;

class AccountBook {
 public:
  struct Settings {
    Duration patience = Duration::millis(1500);
    std::size_t streams_most = 16'384;
    // That wait to be closed, and what was told for them, in bytes; beyond that the oldest is closed at once.
    std::size_t open_seconds_most = 600;
    std::size_t open_bytes_most = std::size_t{64} << 20;
  };
  AccountBook(Shape shape, Settings settings) : shape_(shape), settings_(settings) {}

  // From now on this stream is waited for. Its number 1 is the second `from` of the run; all up to number `applied`
  // were counted before. kInvalid for a stream that is known, kExhausted beyond streams_most.
  Status open(StreamId stream, uint64_t from, uint64_t applied = 0);
  // Nothing more comes, or it is not waited for any more. It may still deliver.
  void end(StreamId stream);
  bool knows(StreamId stream) const { return streams_.contains(stream); }

  enum class Verdict : uint8_t {
    kApplied,
    kKnown,  // all of it was applied before
    kGap,    // what comes before it is not here yet: send again from applied() + 1
  };
  // Numbers first..last of a stream, merged; they count for the first of them. kNotFound for a stream that was never
  // opened; kProtocol for numbers that run backwards or overlap what was applied in part, and for another shape.
  // Nothing is changed then. `bytes`: what it took to tell it.
  Result<Verdict> apply(Instant now, StreamId stream, uint64_t first, uint64_t last, const metrics::Window& window,
                        std::size_t bytes = 0);

  struct Closed {
    metrics::Window window;  // its second is that of the run
    bool amends = false;     // that second was closed before
  };
  // What has been closed or amended by now, in the order in which it is to be applied to the totals.
  std::vector<Closed> take(Instant now);
  // When take() may have more; never() while nothing waits.
  Instant next_deadline() const;

  uint64_t applied(StreamId stream) const;  // 0 for one that is not known
  plan::Iterated iterated(StreamId stream) const;
  std::map<StreamId, uint64_t> applied() const;
  bool has_ended(StreamId stream) const;
  std::size_t open_seconds() const { return open_.size(); }
  std::size_t open_bytes() const { return open_bytes_; }
  const Settings& settings() const { return settings_; }
  // The first second that is not closed.
  uint64_t closed_upto() const { return closed_upto_; }

  // All that it knows, to go on elsewhere. REQUIRES that take() has been called after the last apply().
  struct StreamState {
    StreamId id;
    uint64_t from = 0;
    uint64_t applied = 0;
    bool ended = false;
    bool closed = false;  // says who keeps the book: nothing more of it is counted
    plan::Iterated iterated;
  };
  struct State {
    std::vector<StreamState> streams;
    std::vector<const metrics::Window*> open;  // of the book
    uint64_t closed_upto = 0;
  };
  State save() const;
  // kInvalid: contradictory, or beyond the limits. REQUIRES an empty book; what is open begins to wait anew.
  Status restore(Instant now, const std::vector<StreamState>& streams, std::vector<metrics::Window> open,
                 uint64_t closed_upto);

 private:
  struct Stream {
    uint64_t from = 0;
    uint64_t applied = 0;
    bool ended = false;
    plan::Iterated iterated;
  };
  struct Open {
    metrics::Window window;
    Instant told;  // first
    std::size_t bytes = 0;
  };
  bool told_by_all(uint64_t second) const;
  void close_upto(uint64_t second);

  Shape shape_;
  Settings settings_;
  std::map<StreamId, Stream> streams_;
  std::map<uint64_t, Open> open_;
  std::size_t open_bytes_ = 0;
  uint64_t closed_upto_ = 0;
  std::vector<Closed> ready_;
};

}  // namespace bellwether::account
