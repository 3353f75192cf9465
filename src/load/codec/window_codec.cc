#include "load/codec/window_codec.h"

#include <array>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <utility>
#include <vector>

#include "proto/stats.pb.h"

namespace bellwether::ingest {

namespace {

using metrics::Histogram;
using metrics::Window;

void put(const Histogram& from, wire::SparseHistogram& to) {
  uint32_t last = 0;
  from.each_bucket([&](uint32_t index, uint64_t count) {
    to.add_gaps(index - last);
    to.add_counts(count);
    last = index;
  });
  to.set_sum_low(static_cast<uint64_t>(from.sum_ns()));
  to.set_sum_high(static_cast<uint64_t>(from.sum_ns() >> 64));
  to.set_min_ns(from.min().ns());
  to.set_max_ns(from.max().ns());
}

// An empty one is not written, and so does not cause its owner to be written.
template <class Get>
bool put_unless_empty(const Histogram& from, Get get) {
  if (from.empty()) return false;
  put(from, *get());
  return true;
}

bool put(const metrics::StepWindow& from, wire::StepDelta& to) {
  bool any = (from.count | from.failed | from.left_out | from.repeated | from.bytes_sent | from.bytes_received) != 0;
  to.set_count(from.count);
  to.set_failed(from.failed);
  to.set_left_out(from.left_out);
  to.set_repeated(from.repeated);
  to.set_bytes_sent(from.bytes_sent);
  to.set_bytes_received(from.bytes_received);
  any |= put_unless_empty(from.service, [&] { return to.mutable_service(); });
  any |= put_unless_empty(from.response.answered, [&] { return to.mutable_response(); });
  any |= put_unless_empty(from.response.unanswered, [&] { return to.mutable_unanswered(); });
  any |= put_unless_empty(from.response.unfinished, [&] { return to.mutable_unfinished(); });
  for (uint32_t i = 0; i < metrics::kPhases; ++i) {
    any |= put_unless_empty(from.phases[i], [&] {
      wire::StepDelta::Phase* phase = to.add_phases();
      phase->set_phase(i);
      return phase->mutable_span();
    });
  }
  const auto tally = [&any](uint32_t key, uint64_t count, auto* list) {
    wire::Tally* one = list->Add();
    one->set_key(key);
    one->set_count(count);
    any = true;
  };
  for (const auto& [status, count] : from.status.entries()) tally(status, count, to.mutable_status());
  for (uint32_t i = 0; i < from.errors.size(); ++i) {
    if (from.errors[i] != 0) tally(i, from.errors[i], to.mutable_errors());
  }
  return any;
}

bool put(const metrics::WorkflowWindow& from, wire::WorkflowDelta& to) {
  to.set_iterations(from.iterations);
  to.set_interrupted(from.interrupted);
  to.set_scheduled(from.scheduled);
  to.set_on_time(from.on_time);
  to.set_late(from.late);
  to.set_dropped(from.dropped);
  to.set_vus_active(from.vus_active);
  to.set_vus_allocated(from.vus_allocated);
  to.set_ran_ns(from.ran.ns());
  to.set_begun(from.begun);
  to.set_taken(from.taken);
  to.set_pace(from.pace);
  bool any = (from.iterations | from.interrupted | from.scheduled | from.on_time | from.late | from.dropped |
              from.begun | from.taken | from.pace) != 0 ||
             from.vus_active != 0 || from.vus_allocated != 0 || from.ran != Duration::zero();
  any |= put_unless_empty(from.iteration, [&] { return to.mutable_iteration(); });
  any |= put_unless_empty(from.start_lag, [&] { return to.mutable_start_lag(); });
  return any;
}

void put(const metrics::MetricWindow& from, wire::MetricDelta& to) {
  to.set_count(from.count);
  to.set_refused(from.refused);
  to.set_sum_low(static_cast<uint64_t>(from.sum));
  to.set_sum_high(static_cast<uint64_t>(from.sum >> 64));
  to.set_trues(from.trues);
  to.set_last(from.last);
  to.set_last_at_ns(from.last_at.ns());
  to.set_least(from.least);
  to.set_greatest(from.greatest);
  put_unless_empty(from.trend, [&] { return to.mutable_trend(); });
}

// How much there can be.
struct Limits {
  std::size_t size = 0;  // of the message
  uint64_t count = 0;
  uint64_t bytes = 0;
};
constexpr Limits kOfSecond{kMaxWindowBytes, kMaxCount, uint64_t{1} << 50};
constexpr Limits kOfRun{kMaxSumBytes, kMaxSumCount, uint64_t{1} << 60};

// Reads parts, and remembers the first error.
class WindowReader {
 public:
  WindowReader(const Limits& limits, bool keeps) : limits_(limits), keeps_(keeps) {}
  const char* wrong = nullptr;

  uint64_t count(uint64_t value) {
    if (value > limits_.count) fail("an impossible count");
    return value;
  }

  void histogram(const wire::SparseHistogram& from, Histogram& to) {
    const int buckets = from.gaps_size();
    if (buckets != from.counts_size()) return fail("a histogram with different numbers of buckets and counts");
    if (buckets == 0) return;
    buckets_.clear();
    buckets_.reserve(static_cast<std::size_t>(buckets));
    // Thousands of them arrive each second from each worker.
    const uint32_t* const gaps = from.gaps().data();
    const uint64_t* const counts = from.counts().data();
    uint64_t index = 0;
    // Every value lies in its bucket, so the sum lies between those of the buckets' limits.
    unsigned __int128 least = 0;
    unsigned __int128 most = 0;
    for (int i = 0; i < buckets; ++i) {
      if (i > 0 && gaps[i] == 0) return fail("a histogram whose buckets do not ascend");
      index += gaps[i];
      if (index > kLastBucket) return fail("a bucket beyond the last");
      if (counts[i] == 0 || counts[i] > limits_.count) return fail("a bucket with an impossible count");
      const int64_t low = Histogram::lowest_of(static_cast<uint32_t>(index));
      least += static_cast<unsigned __int128>(static_cast<uint64_t>(low)) * counts[i];
      most += static_cast<unsigned __int128>(greatest_of(low, index)) * counts[i];
      buckets_.push_back({static_cast<uint32_t>(index), counts[i]});
    }
    const auto in = [](int64_t ns, const Histogram::Bucket& bucket) {
      return ns >= 0 && ns <= Histogram::kMaxTracked && Histogram::index_of(static_cast<uint64_t>(ns)) == bucket.index;
    };
    if (!in(from.min_ns(), buckets_.front()) || !in(from.max_ns(), buckets_.back()) || from.min_ns() > from.max_ns()) {
      return fail("a histogram whose least or greatest value is outside its buckets");
    }
    const unsigned __int128 sum =
        (static_cast<unsigned __int128>(from.sum_high()) << 64) | static_cast<unsigned __int128>(from.sum_low());
    if (sum < least || sum > most) return fail("a histogram whose sum does not match its buckets");
    if (keeps_) to.assign(buckets_, sum, from.min_ns(), from.max_ns());
  }

  template <class Add>
  void tallies(const google::protobuf::RepeatedPtrField<wire::Tally>& from, std::size_t end, Add add) {
    for (const wire::Tally& one : from) {
      if (one.key() >= end) return fail("an unknown status or error");
      add(one.key(), count(one.count()));
    }
  }

  void step(const wire::StepDelta& from, metrics::StepWindow& to) {
    to.count = count(from.count());
    to.failed = count(from.failed());
    to.left_out = count(from.left_out());
    to.repeated = count(from.repeated());
    to.bytes_sent = bytes(from.bytes_sent());
    to.bytes_received = bytes(from.bytes_received());
    histogram(from.service(), to.service);
    histogram(from.response(), to.response.answered);
    histogram(from.unanswered(), to.response.unanswered);
    histogram(from.unfinished(), to.response.unfinished);
    std::array<bool, metrics::kPhases> seen{};
    for (const wire::StepDelta::Phase& phase : from.phases()) {
      if (phase.phase() >= metrics::kPhases || std::exchange(seen[phase.phase()], true)) {
        return fail("an unknown or repeated phase");
      }
      histogram(phase.span(), to.phases[phase.phase()]);
    }
    tallies(from.status(), metrics::kMaxStatus,
            [&](uint32_t status, uint64_t count) { to.status.add(static_cast<uint16_t>(status), count); });
    tallies(from.errors(), http1::kErrorKinds, [&](uint32_t kind, uint64_t count) { to.errors[kind] += count; });
  }

  void workflow(const wire::WorkflowDelta& from, metrics::WorkflowWindow& to) {
    to.iterations = count(from.iterations());
    to.interrupted = count(from.interrupted());
    to.scheduled = count(from.scheduled());
    to.on_time = count(from.on_time());
    to.late = count(from.late());
    to.dropped = count(from.dropped());
    to.vus_active = gauge(from.vus_active());
    to.vus_allocated = gauge(from.vus_allocated());
    if (from.ran_ns() < 0 || from.ran_ns() > int64_t{1} << 58) fail("an impossible time");
    to.ran = Duration::nanos(from.ran_ns());
    to.begun = count(from.begun());
    to.taken = count(from.taken());
    to.pace = count(from.pace());
    histogram(from.iteration(), to.iteration);
    histogram(from.start_lag(), to.start_lag);
  }

  void metric(const wire::MetricDelta& from, metrics::MetricWindow& to) {
    to.count = count(from.count());
    to.refused = count(from.refused());
    to.trues = count(from.trues());
    to.sum = (static_cast<unsigned __int128>(from.sum_high()) << 64) | from.sum_low();
    to.last = from.last();
    to.least = from.least();
    to.greatest = from.greatest();
    to.last_at = Duration::nanos(from.last_at_ns());
    histogram(from.trend(), to.trend);
    const auto most = static_cast<unsigned __int128>(metrics::MetricWindow::kMaxValue) * 1'000'000 * to.count;
    if (to.trues > to.count || to.trend.count() > to.count || to.sum > most) fail("a metric that contradicts itself");
    // Also false of NaN.
    const bool is_gauge = -metrics::MetricWindow::kMaxValue <= to.least && to.least <= to.last &&
                          to.last <= to.greatest && to.greatest <= metrics::MetricWindow::kMaxValue;
    if (!is_gauge || from.last_at_ns() < 0 || from.last_at_ns() > int64_t{1} << 62) fail("an impossible gauge");
  }

  void fail(const char* why) {
    if (wrong == nullptr) wrong = why;
  }

 private:
  uint64_t bytes(uint64_t value) {
    if (value > limits_.bytes) fail("an impossible number of bytes");
    return value;
  }
  int64_t gauge(int64_t value) {
    if (value < 0 || static_cast<uint64_t>(value) > kMaxCount) fail("an impossible number of virtual users");
    return value;
  }

  static constexpr uint64_t kLastBucket = Histogram::kBuckets - 1;
  // Of the values in a bucket, which are as many in each bucket of a power of two.
  static uint64_t greatest_of(int64_t low, uint64_t index) {
    const uint64_t magnitude = index >> Histogram::kSubBucketBits;
    const uint64_t width = uint64_t{1} << (magnitude == 0 ? 0 : magnitude - 1);
    return static_cast<uint64_t>(low) + width - 1;
  }

  Limits limits_;
  bool keeps_;                              // histograms; else they are only checked
  std::vector<Histogram::Bucket> buckets_;  // of the histogram that is being read
};

// Where each is at most once and within the shape.
class Seen {
 public:
  explicit Seen(std::size_t size) : seen_(size) {}
  bool takes(WindowReader& reader, std::size_t at) {
    if (at < seen_.size() && !seen_[at]) return seen_[at] = true;
    reader.fail("it belongs to another plan");
    return false;
  }

 private:
  std::vector<bool> seen_;
};

template <class From, class To, class Index, class Read>
void read_each(WindowReader& reader, const From& from, std::vector<To>& to, Index index, Read read) {
  Seen seen(to.size());
  for (const auto& one : from) {
    const std::size_t at = index(one);
    if (!seen.takes(reader, at)) return;
    read(one, to[at]);
  }
}

constexpr const char* kNoWindow = "these bytes are not a window of statistics";

// Reads steps and metrics, which may be very many and very large, one by one, and the rest at the end. False: the bytes
// are no window.
template <class OnStep, class OnMetric, class OnRest>
bool read_parts(std::string_view bytes, OnStep on_step, OnMetric on_metric, OnRest on_rest) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  wire::StepDelta step;
  wire::MetricDelta metric;
  std::string rest;
  const auto part = [&](auto& message, auto read) {
    uint32_t size = 0;
    if (!in.ReadVarint32(&size)) return false;
    const auto begin = static_cast<std::size_t>(in.CurrentPosition());
    if (size > bytes.size() - begin || !message.ParseFromArray(bytes.data() + begin, static_cast<int>(size))) {
      return false;
    }
    read(message);
    return in.Skip(static_cast<int>(size));
  };
  for (;;) {
    const auto begin = static_cast<std::size_t>(in.CurrentPosition());
    const uint32_t tag = in.ReadTag();
    if (tag == 0) break;
    constexpr auto kOfParts = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (tag == WireFormatLite::MakeTag(wire::WindowDelta::kStepsFieldNumber, kOfParts)) {
      if (!part(step, on_step)) return false;
    } else if (tag == WireFormatLite::MakeTag(wire::WindowDelta::kMetricsFieldNumber, kOfParts)) {
      if (!part(metric, on_metric)) return false;
    } else {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      rest.append(bytes.substr(begin, static_cast<std::size_t>(in.CurrentPosition()) - begin));
    }
  }
  wire::WindowDelta others;
  if (!in.ConsumedEntireMessage() || !others.ParseFromString(rest)) return false;
  on_rest(others);
  return true;
}

void read_rest(WindowReader& reader, const wire::WindowDelta& from, Window& out) {
  out.second = from.second();
  if (from.second() > kMaxCount) reader.fail("an impossible second");
  read_each(
      reader, from.workflows(), out.workflows, [](const auto& one) { return one.workflow(); },
      [&](const auto& one, auto& to) { reader.workflow(one, to); });
  read_each(
      reader, from.checks(), out.checks, [](const auto& one) { return one.check(); },
      [&](const auto& one, auto& to) {
        to = {reader.count(one.passes()), reader.count(one.fails())};
      });
  read_each(
      reader, from.watches(), out.watches, [](const auto& one) { return one.watch(); },
      [&](const auto& one, Histogram& to) { reader.histogram(one.responses(), to); });
  reader.histogram(from.loop_lag(), out.loop_lag);
  if (from.cpu_ns() < 0 || static_cast<uint64_t>(from.cpu_ns()) > uint64_t{1} << 62) {
    reader.fail("an impossible time");
  }
  out.cpu = Duration::nanos(from.cpu_ns());
  if (from.covered_ns() < 0 || from.covered_ns() > 1'000'000'000) reader.fail("more time than a second has");
  out.covered = Duration::nanos(from.covered_ns());
}

// Into an empty window.
Status decode(std::string_view bytes, Window& out, const Limits& limits, bool keeps = true) {
  if (bytes.size() > limits.size) return bellwether::fail(Errc::kProtocol, kNoWindow);
  WindowReader reader(limits, keeps);
  Seen steps(out.steps.size());
  Seen series(out.series.size());
  const bool is_window = read_parts(
      bytes,
      [&](const wire::StepDelta& one) {
        if (steps.takes(reader, one.step())) reader.step(one, out.steps[one.step()]);
      },
      [&](const wire::MetricDelta& one) {
        if (series.takes(reader, one.series())) reader.metric(one, out.series[one.series()]);
      },
      [&](const wire::WindowDelta& rest) { read_rest(reader, rest, out); });
  if (!is_window) return bellwether::fail(Errc::kProtocol, kNoWindow);
  if (reader.wrong != nullptr) {
    return bellwether::fail(Errc::kProtocol, std::string("a window of statistics is refused: ") + reader.wrong);
  }
  return {};
}

Result<Window> decode(std::string_view bytes, const Shape& shape, const Limits& limits) {
  Window out(shape);
  BW_RETURN_IF_ERROR(decode(bytes, out, limits));
  return out;
}

}  // namespace

// Parts in sequence have the same bytes as a whole, so a step's figures are a message only while they are written.
std::string encode_window(const Window& window) {
  std::string out;
  wire::WindowDelta part;
  const auto write = [&] {
    part.AppendToString(&out);
    part.Clear();
  };
  part.set_second(window.second);
  write();
  for (uint32_t i = 0; i < window.steps.size(); ++i) {
    wire::StepDelta* step = part.add_steps();
    step->set_step(i);
    if (!put(window.steps[i], *step)) part.mutable_steps()->RemoveLast();
    write();
  }
  for (uint32_t i = 0; i < window.workflows.size(); ++i) {
    wire::WorkflowDelta* workflow = part.add_workflows();
    workflow->set_workflow(i);
    if (!put(window.workflows[i], *workflow)) part.mutable_workflows()->RemoveLast();
  }
  for (uint32_t i = 0; i < window.checks.size(); ++i) {
    if (window.checks[i].passes == 0 && window.checks[i].fails == 0) continue;
    wire::CheckDelta* check = part.add_checks();
    check->set_check(i);
    check->set_passes(window.checks[i].passes);
    check->set_fails(window.checks[i].fails);
  }
  for (uint32_t i = 0; i < window.watches.size(); ++i) {
    put_unless_empty(window.watches[i], [&] {
      wire::WatchDelta* watch = part.add_watches();
      watch->set_watch(i);
      return watch->mutable_responses();
    });
  }
  put_unless_empty(window.loop_lag, [&] { return part.mutable_loop_lag(); });
  part.set_cpu_ns(window.cpu.ns());
  part.set_covered_ns(window.covered.ns());
  write();
  for (uint32_t i = 0; i < window.series.size(); ++i) {
    if (window.series[i].empty()) continue;
    wire::MetricDelta* metric = part.add_metrics();
    metric->set_series(i);
    put(window.series[i], *metric);
    write();
  }
  return out;
}

Result<Window> decode_window(std::string_view bytes, const Shape& shape) { return decode(bytes, shape, kOfSecond); }

Status decode_window_into(metrics::Window& out, std::string_view bytes) {
  out.clear();
  return decode(bytes, out, kOfSecond);
}

Status check_window(std::string_view bytes, const Shape& shape) {
  Window out(shape);
  return decode(bytes, out, kOfSecond, false);
}

Result<Window> decode_sum(std::string_view bytes, const Shape& shape) { return decode(bytes, shape, kOfRun); }

}  // namespace bellwether::ingest
