// The ingest of a whole run: its streams, its totals, the data for thresholds and for watchers, and the bytes with
// which another owner continues it.
//
// It reads no clock. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/strong_id.h"
#include "core/base/time.h"
#include "core/message/message.h"
#include "load/aggregate/totals.h"
#include "load/codec/window_codec.h"
#include "load/plan/finding.h"
#include "load/plan/plan.h"

namespace bellwether::ingest {

// The limit of the bytes of reports that wait. It grows with the streams, which need little more memory in one place:
// the reports of one second are merged, and each worker keeps its own ones until they are copied.
struct WaitingRoom {
  std::size_t least;
  std::size_t each = std::size_t{256} << 10;  // of one stream: some seconds of a large scenario
  constexpr std::size_t bytes(std::size_t streams) const { return std::max(least, streams * each); }
};

// The stream of one assignment (dispatch/assignment.h). The owner never uses a number twice in a job.
using StreamId = StrongId<struct StreamTag, uint32_t>;

// The book of a run: the seconds that are not in the totals yet. It applies each number of each stream once, in order,
// and merges it into its second of the run.
//
// A second of the run is closed when every open stream has reported it, or when its first report has waited for
// `patience`. Closed seconds come in rising order, one each. A later report of a closed second, from a worker that was
// cut off for a while, amends it. Amendments of one second that come within `together` are one: when an owner falls
// behind, each report of many workers would otherwise cost as much as a second.
//
// An applied second is not yet durable: the owner copies its ingest to other nodes from time to time, with applied(),
// and then informs the workers. Until then they keep what they sent (outbox.h).
//
// It reads no clock: each call has the time. One thread.
class WindowIngest {
 public:
  struct Settings {
    Duration patience = Duration::millis(1500);
    Duration together = Duration::millis(250);
    std::size_t streams_most = 16'384;
    // Limits of unclosed seconds and of the bytes of their reports; beyond them the oldest is closed at once.
    std::size_t open_seconds_most = 600;
    WaitingRoom open_most{std::size_t{64} << 20};
  };
  WindowIngest(Shape shape, Settings settings) : shape_(shape), settings_(settings), lived_(shape) {}

  // From now on the book waits for this stream. Its number 1 is the second `from` of the run; all up to number
  // `applied` have counted before. kInvalid for a known stream, kExhausted beyond streams_most.
  Status open(StreamId stream, uint64_t from, uint64_t applied = 0);
  // Its number 1 is another second, if none of it has counted.
  void move(StreamId stream, uint64_t from);
  // Nothing more comes, or the book does not wait for it any more. It may still deliver.
  void end(StreamId stream);
  bool knows(StreamId stream) const { return streams_.contains(stream); }

  enum class Verdict : uint8_t {
    kApplied,
    kKnown,  // all of it was applied before
    kGap,    // an earlier number is missing: send again from applied() + 1
  };
  // Numbers first..last of a stream, merged; they count for the first of them. The others were measured too: they are
  // seconds with users and without requests, up to kMergedMost numbers. kNotFound for an unknown stream;
  // kProtocol for numbers that run backwards or partly overlap applied ones, and for another shape. On an error nothing
  // changes. `bytes`: the size of the report.
  Result<Verdict> apply(Instant now, StreamId stream, uint64_t first, uint64_t last, const metrics::Window& window,
                        std::size_t bytes = 0);

  struct Closed {
    metrics::Window window;  // its second is that of the run
    bool amends = false;     // that second was closed before: the times of workflows are what it adds to them
  };
  // The seconds closed or amended by now, in the order in which they go into the totals.
  std::vector<Closed> take(Instant now);
  // take() gives the amendments that wait for others.
  void amend_now();
  // When take() may have more; never() while nothing waits.
  Instant next_deadline() const;

  uint64_t applied(StreamId stream) const;  // 0 for an unknown one
  plan::Iterated iterated(StreamId stream) const;
  std::map<StreamId, uint64_t> applied() const;
  bool has_ended(StreamId stream) const;
  std::size_t streams() const { return streams_.size(); }
  std::size_t open_seconds() const { return open_.size(); }
  std::size_t open_bytes() const { return open_bytes_; }
  std::size_t open_bytes_most() const { return settings_.open_most.bytes(streams()); }
  const Settings& settings() const { return settings_; }
  // The first second that is not closed.
  uint64_t closed_upto() const { return closed_upto_; }

  // The whole state, to continue elsewhere. REQUIRES amend_now() and take() after the last apply().
  struct StreamState {
    StreamId id;
    uint64_t from = 0;
    uint64_t applied = 0;
    bool ended = false;
    bool closed = false;  // set by the holder of the book: no more of it counts
    plan::Iterated iterated;
  };
  // The times of workflows in a closed second: what an amendment adds depends on them.
  struct RanSecond {
    uint64_t second = 0;
    std::vector<Duration> ran;  // of each workflow
    bool operator==(const RanSecond&) const = default;
  };
  static constexpr std::size_t kRanMost = 60;  // a worker that was cut off reports as many seconds at once
  struct State {
    std::vector<StreamState> streams;
    std::vector<const metrics::Window*> open;  // of the book
    uint64_t closed_upto = 0;
    std::vector<RanSecond> ran;  // the last kRanMost, rising
  };
  State save() const;
  struct OpenSecond {
    metrics::Window window;
    std::size_t bytes = 0;  // encoded
  };
  // kInvalid: the state contradicts itself. kExhausted: too many streams. REQUIRES an empty book. Open seconds wait
  // anew for their other streams.
  Status restore(Instant now, const std::vector<StreamState>& streams, std::vector<OpenSecond> open,
                 uint64_t closed_upto, std::vector<RanSecond> ran = {});

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
  static constexpr uint64_t kMergedMost = 64;
  // Into a second, or its amendment, which is new since `now`. `ran_of`: what of a workflow's time is of this second.
  template <class RanOf>
  void merge(uint64_t second, Instant now, const metrics::Window& window, std::size_t bytes, RanOf ran_of);
  bool told_by_all(uint64_t second) const;
  Instant amendments_due() const;
  void close_upto(uint64_t second);

  Shape shape_;
  Settings settings_;
  std::map<StreamId, Stream> streams_;
  std::map<uint64_t, Open> open_;
  std::map<uint64_t, Open> amendments_;  // of closed seconds
  std::size_t open_bytes_ = 0;
  uint64_t closed_upto_ = 0;
  // The times of workflows in closed seconds, as far back as amendments are usual. Before `ran_from_` all of them count
  // as whole.
  std::map<uint64_t, std::vector<Duration>> ran_;
  uint64_t ran_from_ = 0;
  std::vector<Closed> ready_;
  metrics::Window lived_;  // by a stream, in a second whose counts are in an earlier one; reused
};

// The whole ingest, for another owner to continue.
struct IngestSnapshot {
  std::string totals;  // totals_codec.h
  std::vector<WindowIngest::StreamState> streams;
  std::vector<std::string> open;  // seconds that wait for other streams: window_codec.h
  uint64_t closed_upto = 0;
  uint64_t seconds = 0;
  uint64_t excess = 0;
  std::vector<WindowIngest::RanSecond> ran;  // none in copies of older versions
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

  // Its number 1 is the second `from` of the run. Of a known stream that has counted nothing, too: its order to begin
  // may not have arrived, and then it begins later. Does nothing for one that has counted.
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
  // Requests in reports of closed streams. A report that arrives twice counts twice: use only the growth during one
  // call of hear().
  uint64_t excess() const { return excess_; }
  // The seconds that are not in the totals yet.
  const WindowIngest& book() const { return book_; }

  // Takes due seconds into the totals. True if that changed anything.
  bool settle(Instant now);
  Instant next_deadline() const { return book_.next_deadline(); }
  // The run has ended: all streams are closed, and every second counts.
  void finish(Instant now);

  const aggregate::Totals& totals() const { return totals_; }
  // How many updates the totals have had. A second is one update; an amendment of a second is another. The last
  // kMaxRecent are in memory.
  uint64_t seconds() const { return seconds_; }
  bool has_news_since(uint64_t updates) const { return updates <= seconds_ && seconds_ - updates <= recent_.size(); }
  // The updates after the first `seconds` ones, in order. REQUIRES has_news_since(seconds).
  std::vector<const Second*> news_since(uint64_t seconds) const;

  // An IngestSnapshot as bytes: another owner continues exactly from here. kTooLarge as in encode_totals().
  Result<std::string> save(Instant now);
  // The last result of save() is durable: it outlives this owner.
  void kept() { safe_ = saved_; }
  // All numbers of the stream up to this one are durable; 0: none.
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

  WindowIngest book_;
  metrics::Window report_;  // the last one; its memory is reused
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
extern template const Message& message_of<ingest::IngestSnapshot>();
}  // namespace bellwether::message
