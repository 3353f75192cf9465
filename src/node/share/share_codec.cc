#include "node/share/share_codec.h"

#include <algorithm>
#include <limits>

#include "account/window_codec.h"
#include "dispatch/codec/context_codec.h"
#include "dispatch/codec/finding_codec.h"
#include "proto/share.pb.h"

namespace bellwether::node {
namespace {

constexpr uint32_t kMostParts = 1 << 16;
constexpr uint32_t kMostCpu = 1 << 16;
// Far beyond any run, and far from where sums overflow.
constexpr int64_t kMostNs = int64_t{1} << 61;

static_assert(kMostShareFrame > account::kMostWindowBytes && kMostShareFrame > kMostBundleBytes);

std::string cut(const std::string& text) { return text.substr(0, kMostShareText); }

tl::unexpected<Error> refuse(const char* why) {
  return fail(Errc::kProtocol, std::string("a message between a worker and its share is refused: ") + why);
}

bool is_span(int64_t ns) { return ns >= 0 && ns <= kMostNs; }

// --- to the child ----------------------------------------------------------------------------------------------------

void put(const ChildOrder& from, wire::ToShare& to) {
  wire::ToShare::Order* order = to.mutable_order();
  order->set_bundle(from.bundle);
  order->set_workflow(from.workflow);
  order->set_first(from.first);
  order->set_count(from.count);
  order->set_of(from.of);
  for (const int cpu : from.cpus) order->add_cpus(static_cast<uint32_t>(cpu));
  order->set_seed(from.seed);
  for (const plan::Given& one : from.given) dispatch::put(one, *order->add_given());
  for (const signature::PublicKey& key : from.trusted) order->add_trusted(key.data(), key.size());
}

void put(const ChildBegin& from, wire::ToShare& to) {
  to.mutable_begin()->set_start_ns(from.start.ns());
  to.mutable_begin()->set_resume_at_ns(from.resume_at.ns());
}

void put(const ChildStop& from, wire::ToShare& to) { to.mutable_stop()->set_graceful(from.graceful); }

void put(const ChildHandOver& from, wire::ToShare& to) { to.mutable_hand_over()->set_at_ns(from.at.ns()); }
void put(const ChildSave&, wire::ToShare& to) { to.mutable_save(); }

Result<ToChild> take(const wire::ToShare::Order& from) {
  if (from.bundle().size() > kMostBundleBytes) return refuse("what the plan is made from is too large");
  if (from.workflow() > std::numeric_limits<uint16_t>::max()) return refuse("a workflow that cannot be");
  if (from.of() == 0 || from.of() > kMostParts || from.count() == 0 || from.count() > from.of() ||
      from.count() > kMostShareThreads || from.first() > from.of() - from.count()) {
    return refuse("parts that cannot be");
  }
  if (static_cast<std::size_t>(from.cpus_size()) > kMostShareThreads) return refuse("too many processors");
  ChildOrder to;
  to.bundle = from.bundle();
  to.workflow = static_cast<uint16_t>(from.workflow());
  to.first = from.first();
  to.count = from.count();
  to.of = from.of();
  for (const uint32_t cpu : from.cpus()) {
    if (cpu >= kMostCpu) return refuse("a processor that cannot be");
    to.cpus.push_back(static_cast<int>(cpu));
  }
  to.seed = from.seed();
  if (static_cast<std::size_t>(from.given_size()) > plan::kMostProvided) return refuse("too many values");
  for (const auto& one : from.given()) {
    if (!dispatch::read(one, to.given.emplace_back())) return refuse("a value that cannot be");
  }
  if (static_cast<std::size_t>(from.trusted_size()) > signature::kKeysMost) return refuse("too many keys");
  for (const std::string& key : from.trusted()) {
    signature::PublicKey& out = to.trusted.emplace_back();
    if (key.size() != out.size()) return refuse("a key that cannot be");
    std::copy(key.begin(), key.end(), out.begin());
  }
  return ToChild(std::move(to));
}

Result<ToChild> take(const wire::ToShare::Begin& from) {
  if (!is_span(from.start_ns()) || !is_span(from.resume_at_ns())) return refuse("a time that cannot be");
  return ToChild(ChildBegin{Instant::from_ns(from.start_ns()), Duration::nanos(from.resume_at_ns())});
}

Result<ToChild> take(const wire::ToShare::HandOver& from) {
  if (!is_span(from.at_ns())) return refuse("a time that cannot be");
  return ToChild(ChildHandOver{Duration::nanos(from.at_ns())});
}

// --- from the child --------------------------------------------------------------------------------------------------

void put(const ChildPrepared& from, wire::FromShare& to) {
  wire::FromShare::Prepared* prepared = to.mutable_prepared();
  if (from.status) return;
  prepared->set_code(static_cast<uint32_t>(from.status.error().code));
  prepared->set_error(cut(from.status.error().message));
}

void put(const ChildSecond& from, wire::FromShare& to) {
  to.mutable_second()->set_second(from.second);
  to.mutable_second()->set_covered_ns(from.covered.ns());
  to.mutable_second()->set_window(from.window);
}

void put(const ChildCounters& from, wire::FromShare& to) {
  wire::FromShare::Counters* counters = to.mutable_counters();
  counters->set_requests(from.tally.requests);
  counters->set_failed(from.tally.failed);
  counters->set_iterations(from.tally.iterations);
  counters->set_dropped(from.tally.dropped);
  counters->set_vus_active(from.tally.vus_active);
  counters->set_loops(from.loops);
  counters->set_turned(from.headway.turned);
  counters->set_could_begin(from.headway.could_begin);
  counters->set_begun(from.headway.begun);
  counters->set_due(from.headway.due);
  counters->set_served(from.headway.served);
}

void put(const ChildEnded& from, wire::FromShare& to) {
  to.mutable_ended()->set_how(static_cast<uint32_t>(from.how));
  to.mutable_ended()->set_step(cut(from.step));
  to.mutable_ended()->set_elapsed_ns(from.elapsed.ns());
  for (const plan::Provided& one : from.provided) dispatch::put(one, *to.mutable_ended()->add_provided());
  for (const std::string& one : from.notes) to.mutable_ended()->add_notes(cut(one));
  for (const plan::Finding& one : from.findings) dispatch::put(one, *to.mutable_ended()->add_findings());
}

Result<FromChild> take(const wire::FromShare::Prepared& from) {
  if (from.code() > static_cast<uint32_t>(Errc::kUnsupported)) return refuse("an error that does not exist");
  if (from.error().size() > kMostShareText) return refuse("too long a text");
  if (from.code() == 0) return FromChild(ChildPrepared{});
  return FromChild(ChildPrepared{fail(static_cast<Errc>(from.code()), from.error())});
}

Result<FromChild> take(const wire::FromShare::Second& from) {
  if (from.second() > account::kMostCount) return refuse("a second that cannot be");
  if (from.covered_ns() <= 0 || from.covered_ns() > Duration::seconds(1).ns()) return refuse("a length of a second");
  return FromChild(ChildSecond{from.second(), Duration::nanos(from.covered_ns()), from.window()});
}

Result<FromChild> take(const wire::FromShare::Counters& from) {
  if (from.loops() > kMostShareThreads) return refuse("more loops than it may have");
  for (const uint64_t one : {from.turned(), from.could_begin(), from.begun(), from.due(), from.served()}) {
    if (one > account::kMostCount) return refuse("a count that cannot be");
  }
  return FromChild(ChildCounters{{.requests = from.requests(),
                                  .failed = from.failed(),
                                  .iterations = from.iterations(),
                                  .dropped = from.dropped(),
                                  .vus_active = from.vus_active()},
                                 from.loops(),
                                 {.turned = from.turned(),
                                  .could_begin = from.could_begin(),
                                  .begun = from.begun(),
                                  .due = from.due(),
                                  .served = from.served()}});
}

Result<FromChild> take(const wire::FromShare::Ended& from) {
  if (from.how() > static_cast<uint32_t>(ChildEnded::How::kTimedOut)) return refuse("an end that does not exist");
  if (from.step().size() > kMostShareText) return refuse("too long a name");
  if (!is_span(from.elapsed_ns())) return refuse("a time that cannot be");
  ChildEnded to{static_cast<ChildEnded::How>(from.how()), from.step(), Duration::nanos(from.elapsed_ns()), {}};
  if (static_cast<std::size_t>(from.provided_size()) > plan::kMostTold) return refuse("too many values");
  for (const auto& one : from.provided()) {
    if (!dispatch::read(one, to.provided.emplace_back())) return refuse("a value that cannot be");
  }
  if (static_cast<std::size_t>(from.notes_size()) > dispatch::kMostNotes) return refuse("too many notes");
  for (const auto& one : from.notes()) {
    if (one.size() > kMostShareText) return refuse("too long a note");
    to.notes.push_back(one);
  }
  if (static_cast<std::size_t>(from.findings_size()) > plan::kMostFindings) return refuse("too many findings");
  for (const auto& one : from.findings()) {
    if (!dispatch::read(one, to.findings.emplace_back())) return refuse("a finding that cannot be");
  }
  return FromChild(std::move(to));
}

template <class Message, class Variant>
std::string encode_as(const Variant& message) {
  Message to;
  std::visit([&](const auto& one) { put(one, to); }, message);
  return to.SerializeAsString();
}

template <class Message>
bool parse(std::string_view bytes, Message& out) {
  return bytes.size() <= kMostShareFrame && out.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

std::string encode(const ToChild& message) { return encode_as<wire::ToShare>(message); }
std::string encode(const FromChild& message) { return encode_as<wire::FromShare>(message); }

Result<ToChild> decode_to_child(std::string_view bytes) {
  wire::ToShare from;
  if (!parse(bytes, from)) return refuse("these bytes are none");
  switch (from.what_case()) {
    case wire::ToShare::kOrder: return take(from.order());
    case wire::ToShare::kBegin: return take(from.begin());
    case wire::ToShare::kStop: return ToChild(ChildStop{from.stop().graceful()});
    case wire::ToShare::kHandOver: return take(from.hand_over());
    case wire::ToShare::kSave: return ToChild(ChildSave{});
    case wire::ToShare::WHAT_NOT_SET: break;
  }
  return refuse("it says nothing");
}

Result<FromChild> decode_from_child(std::string_view bytes) {
  wire::FromShare from;
  if (!parse(bytes, from)) return refuse("these bytes are none");
  switch (from.what_case()) {
    case wire::FromShare::kPrepared: return take(from.prepared());
    case wire::FromShare::kSecond: return take(from.second());
    case wire::FromShare::kCounters: return take(from.counters());
    case wire::FromShare::kEnded: return take(from.ended());
    case wire::FromShare::WHAT_NOT_SET: break;
  }
  return refuse("it says nothing");
}

}  // namespace bellwether::node
