// The ingest of a whole run: its streams (window_ingest.h), its totals, the data for thresholds and for watchers, and
// the bytes with which another owner continues it.
//
// A second counts as soon as all open streams have reported it, or after the book's patience.
//
// It reads no clock. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/message/message.h"
#include "jobs/ingest/window_ingest.h"
#include "load/aggregate/totals.h"
#include "load/plan/plan.h"

namespace bellwether::ingest {

// The whole ingest, for another owner to continue.
struct IngestSnapshot {
  std::string totals;  // totals_codec.h
  std::vector<WindowIngest::StreamState> streams;
  std::vector<std::string> open;  // seconds that wait for other streams: window_codec.h
  uint64_t closed_upto = 0;
  uint64_t seconds = 0;
  uint64_t excess = 0;
};

class RunIngest {
 public:
  // For watchers that are not far behind; others get the totals.
  static constexpr std::size_t kMaxRecent = 120;

  // One second that counts from now on, or an amendment of one.
  struct Second {
    Duration covered;
    bool amends = false;
    std::string window;  // window_codec.h
  };

  // `plan` must outlive it.
  explicit RunIngest(const plan::Plan& plan, WindowIngest::Settings settings = {});
  // From the result of save(). kInvalid: other bytes, or of another plan.
  static Result<RunIngest> restore(Instant now, const plan::Plan& plan, std::string_view bytes,
                                   WindowIngest::Settings settings = {});

  // Its number 1 is the second `from` of the run. Does nothing for a known stream.
  Status open(StreamId stream, uint64_t from);
  // From now on the ingest counts nothing of its reports.
  void close(StreamId stream);
  bool knows(StreamId stream) const { return book_.knows(stream); }

  enum class Heard : uint8_t {
    kCounted,
    kKnown,   // it had counted before
    kGap,     // an earlier number is missing
    kExcess,  // the stream was closed: it does not count
  };
  // As WindowIngest::apply(); `window` as bytes.
  Result<Heard> hear(Instant now, StreamId stream, uint64_t first, uint64_t last, std::string_view window);
  uint64_t applied(StreamId stream) const { return book_.applied(stream); }
  std::map<StreamId, uint64_t> applied() const { return book_.applied(); }
  plan::Iterated iterated(StreamId stream) const { return book_.iterated(stream); }
  // Requests in reports of closed streams.
  uint64_t excess() const { return excess_; }
  // Its part of the seconds that are not in the totals yet.
  const WindowIngest& book() const { return book_; }

  // Takes due seconds into the totals. True if that changed anything.
  bool settle(Instant now);
  Instant next_deadline() const { return book_.next_deadline(); }
  // The run has ended: all streams are closed, and every second counts.
  void finish(Instant now);

  const aggregate::Totals& totals() const { return totals_; }
  // The number of seconds and amendments in the totals; the last of them are at hand.
  uint64_t seconds() const { return seconds_; }
  bool has_news_since(uint64_t seconds) const { return seconds <= seconds_ && seconds_ - seconds <= recent_.size(); }
  // The seconds after the first `seconds`, in order. REQUIRES has_news_since(seconds).
  std::vector<const Second*> news_since(uint64_t seconds) const;

  // An IngestSnapshot as bytes: another owner continues exactly from here. kTooLarge as in encode_totals().
  Result<std::string> save(Instant now);
  // The last result of save() is durable: it outlives this owner.
  void kept() { safe_ = saved_; }
  // The last durable second of a stream; 0: none.
  uint64_t durable(StreamId stream) const;
  // Whether the ingest has counted reports that are not durable, and their bytes.
  bool unsafe() const { return told_.windows != safe_.windows; }
  uint64_t unsafe_bytes() const { return told_.bytes - safe_.bytes; }
  // The totals (totals_codec.h) in a result of save(), for readers.
  static Result<std::string> totals_of(std::string_view bytes);

 private:
  // The amount that was counted, and its last numbers.
  struct Progress {
    uint64_t windows = 0;
    uint64_t bytes = 0;
    std::map<StreamId, uint64_t> applied = {};
  };
  void take(const WindowIngest::Closed& closed);

  Shape shape_;
  WindowIngest book_;
  aggregate::Totals totals_;
  std::set<StreamId> closed_;
  uint64_t excess_ = 0;
  uint64_t seconds_ = 0;
  std::deque<Second> recent_;
  Progress told_;  // by all streams, since it is here; `applied` is in the book
  Progress saved_;
  Progress safe_;
};

}  // namespace bellwether::ingest

namespace bellwether::message {
template <>
const Message& message_of<ingest::IngestSnapshot>();
}  // namespace bellwether::message
