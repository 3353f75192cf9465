#include "jobs/dispatch/codec/job_record_codec.h"

#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cluster/wire/compress.h"
#include "core/base/bytes.h"
#include "jobs/dispatch/codec/parts.h"
#include "proto/job_record.pb.h"

namespace bellwether::dispatch {

namespace {

constexpr wire::InflateLimits kLimits{
    .compressed = kMaxLargeRecordBytes, .inflated = kMaxLargeRecordBytes - 1, .ratio = kMaxLargeRecordBytes};

// Compressed bytes begin with their size, which is below 2^24; a message never begins with a zero, nor with a one.
constexpr char kSummaryMark = 1;
bool is_compressed(std::string_view bytes) { return !bytes.empty() && bytes.front() == 0; }

// --- the columns of the lists, in both directions --------------------------------------------------------------------

using Numbers = google::protobuf::RepeatedField<uint32_t>;

template <class Io, class List>
void pass(Io& io, wire::RecordWorkflows& at, List& list) {
  io.first(at.mutable_state(), list, kMaxWorkflows, &WorkflowRecord::state, kWorkflowStates);
  io.column(at.mutable_why(), list, &WorkflowRecord::why);
  io.column(at.mutable_parts(), list, &WorkflowRecord::parts);
  io.column(at.mutable_retries(), list, &WorkflowRecord::retries);
  io.column(at.mutable_base_second(), list, &WorkflowRecord::base_second);
  io.column(at.mutable_begun(), list, &WorkflowRecord::begun);
  io.column(at.mutable_vus(), list, &WorkflowRecord::vus);
  io.column(at.mutable_graceful(), list, &WorkflowRecord::graceful);
  io.column(at.mutable_at_once(), list, &WorkflowRecord::at_once);
}

template <class Io, class List>
void pass(Io& io, wire::RecordAssignments& at, List& list) {
  io.first(at.mutable_id(), list, kMaxAssignments, &AssignmentRecord::id);
  io.column(at.mutable_workflow(), list, &AssignmentRecord::workflow);
  io.life(at.mutable_worker(), list);
  io.column(at.mutable_first(), list, [](auto& one) -> auto& { return one.parts.first; });
  io.column(at.mutable_count(), list, [](auto& one) -> auto& { return one.parts.count; });
  io.column(at.mutable_of(), list, [](auto& one) -> auto& { return one.parts.of; });
  io.column(at.mutable_cores(), list, &AssignmentRecord::cores);
  io.column(at.mutable_squeeze(), list, &AssignmentRecord::squeeze);
  io.column(at.mutable_state(), list, &AssignmentRecord::state, kAssignmentStates);
  io.column(at.mutable_from(), list, &AssignmentRecord::from);
  io.column(at.mutable_streams(), list, &AssignmentRecord::streams);
  io.column(at.mutable_lost_from_ns(), list, &AssignmentRecord::lost_from);
  io.ends(at, list);
  io.column(at.mutable_follows(), list, &AssignmentRecord::follows);
  io.column(at.mutable_until(), list, &AssignmentRecord::until);
  io.column(at.mutable_handed_over(), list, &AssignmentRecord::handed_over);
  io.column(at.mutable_extensions(), list, &AssignmentRecord::extensions);
  io.column(at.mutable_extended_ns(), list, &AssignmentRecord::extended);
  io.column(at.mutable_iterations(), list, &AssignmentRecord::iterations);
  io.column(at.mutable_left(), list, &AssignmentRecord::left);
  io.column(at.mutable_unfenced(), list, &AssignmentRecord::unfenced);
  io.column(at.mutable_rows(), list, [](auto& one) -> auto& { return one.rows.rows; });
  io.column(at.mutable_rows_at_ns(), list, [](auto& one) -> auto& { return one.rows.at; });
}

template <class Io, class List>
void pass(Io& io, wire::RecordLosses& at, List& list) {
  io.first(at.mutable_from_ns(), list, kMaxLosses, &plan::Loss::from);
  io.column(at.mutable_to_ns(), list, &plan::Loss::to);
  io.column(at.mutable_ratio(), list, &plan::Loss::ratio);
  io.column(at.mutable_cause(), list, &plan::Loss::cause);
}

template <class Io, class List>
void pass(Io& io, wire::RecordFindings& at, List& list) {
  io.first(at.mutable_saturation(), list, plan::kMaxFindings, &plan::Finding::saturation, plan::kSaturations);
  io.column(at.mutable_begin_ns(), list, &plan::Finding::begin);
  io.column(at.mutable_end_ns(), list, &plan::Finding::end);
  io.column(at.mutable_worst(), list, &plan::Finding::worst);
  io.column(at.mutable_worker(), list, &plan::Finding::worker);
  if constexpr (Io::kReads) {
    for (plan::Finding& one : list) complete_finding(one);
  }
}

template <class Io, class List>
void pass(Io& io, wire::RecordWitnesses& at, List& list) {
  io.first(at.mutable_worker(), list, kMaxWitnesses, &Witness::worker);
  io.column(at.mutable_life(), list, &Witness::life);
}

template <class Io, class List>
void pass(Io& io, wire::RecordEvents& at, List& list) {
  io.first(at.mutable_at_ns(), list, kMaxJobEvents, &JobEvent::at);
  io.column(at.mutable_kind(), list, &JobEvent::kind);
  io.column(at.mutable_detail(), list, &JobEvent::detail);
}

template <class Io, class Record>
void pass_lists(Io& io, wire::JobRecord& at, Record& record) {
  pass(io, *at.mutable_workflows(), record.workflows);
  pass(io, *at.mutable_assignments(), record.assignments);
  pass(io, *at.mutable_losses(), record.losses);
  if (Io::kReads || !record.findings.empty()) pass(io, *at.mutable_findings(), record.findings);
  if (Io::kReads || !record.witnesses.empty()) pass(io, *at.mutable_witnesses(), record.witnesses);
  if (Io::kReads || !record.witnesses_before.empty()) pass(io, *at.mutable_witnesses_before(), record.witnesses_before);
  pass(io, *at.mutable_events(), record.events);
}

// --- writing ---------------------------------------------------------------------------------------------------------

class RecordWriter {
 public:
  explicit RecordWriter(wire::JobRecord& to) : to_(to) {}

  void summary(const JobRecord& from) {
    to_.set_id(from.id);
    to_.set_name(fit_text(from.name));
    to_.set_by(fit_text(from.by));
    to_.set_bundle(from.bundle);
    to_.set_seed(from.seed);
    to_.set_submitted_ns(from.submitted.unix_ns);
    to_.set_revision(from.revision);
    to_.set_state(static_cast<uint32_t>(from.state));
    to_.set_why(fit_text(from.why));
    to_.set_started_ns(from.started.unix_ns);
    to_.set_elapsed_ns(from.elapsed.ns());
    to_.set_ended_ns(from.ended.unix_ns);
    to_.set_last_assignment(from.last_assignment);
    to_.set_context_version(from.context_version);
    to_.set_events_dropped(from.events_dropped);
    if (from.stop) {
      to_.mutable_stop()->set_cause(static_cast<uint32_t>(from.stop->cause));
      to_.mutable_stop()->set_how(static_cast<uint32_t>(from.stop->how));
      to_.mutable_stop()->set_by(fit_text(from.stop->by));
      to_.mutable_stop()->set_why(fit_text(from.stop->why));
      to_.mutable_stop()->set_number(from.stop->number);
      to_.mutable_stop()->set_all(from.stop->all);
    }
  }
  void record(const JobRecord& from) {
    summary(from);
    pass_lists(*this, to_, from);
    to_.set_witnesses_since(from.witnesses_since);
  }

  static constexpr bool kReads = false;
  // The column that is never missing.
  template <class Column, class List, class Member>
  void first(Column* to, const List& from, std::size_t, Member member, std::size_t = 0) {
    for (const auto& one : from) to->Add(static_cast<typename Column::value_type>(put(std::invoke(member, one))));
  }
  template <class Column, class List, class Member>
  void column(Column* to, const List& from, Member member, std::size_t = 0) {
    fill(to, from, [&](const auto& one) { return put(std::invoke(member, one)); });
  }
  void life(Numbers* to, const std::vector<AssignmentRecord>& from) {
    fill(to, from, [this](const AssignmentRecord& one) { return life(one); });
  }
  void ends(wire::RecordAssignments& to, const std::vector<AssignmentRecord>& from) {
    fill(to.mutable_ended(), from,
         [](const auto& one) { return one.end ? static_cast<uint32_t>(one.end->outcome) + 1 : 0; });
    fill(to.mutable_detail(), from, [this](const auto& one) { return one.end ? text(one.end->detail) : 0; });
    fill(to.mutable_last_number(), from, [](const auto& one) { return one.end ? one.end->last_number : 0; });
    fill(to.mutable_ran_ns(), from, [](const auto& one) { return one.end ? one.end->ran.ns() : 0; });
  }

 private:
  // Omits the column if it is all zeros.
  template <class Column, class List, class Get>
  static void fill(Column* to, const List& from, Get get) {
    bool any = false;
    to->Reserve(static_cast<int>(from.size()));
    for (const auto& one : from) {
      const auto value = static_cast<typename Column::value_type>(get(one));
      any |= value != 0;
      to->Add(value);
    }
    if (!any) to->Clear();
  }

  template <class Value>
  static Value put(Value value) {
    return value;
  }
  static int64_t put(Duration value) { return value.ns(); }
  static uint32_t put(AssignmentId value) { return value.value(); }
  uint32_t put(const std::string& value) { return text(value); }

  uint32_t text(const std::string& from) {
    if (from.empty()) return 0;
    const auto [at, is_new] = texts_.try_emplace(fit_text(from), static_cast<uint32_t>(texts_.size() + 1));
    if (is_new) to_.add_texts(at->first);
    return at->second;
  }
  uint32_t life(const AssignmentRecord& of) {
    const auto [at, is_new] = lives_.try_emplace({of.worker, of.life}, static_cast<uint32_t>(lives_.size()));
    if (is_new) {
      to_.mutable_lives()->add_worker(text(of.worker));
      to_.mutable_lives()->add_life(of.life);
    }
    return at->second;
  }

  wire::JobRecord& to_;
  std::map<std::string, uint32_t> texts_;
  std::map<std::pair<std::string, uint64_t>, uint32_t> lives_;
};

// --- reading ---------------------------------------------------------------------------------------------------------

// check_record() checks the bounds of single figures; this checks only what a JobRecord could not hold.
class RecordReader : public FieldReader {
 public:
  explicit RecordReader(wire::JobRecord& from) : from_(from) {}

  JobRecord record() {
    JobRecord out;
    out.id = from_.id();
    out.name = text(from_.name());
    out.by = text(from_.by());
    out.bundle = from_.bundle();
    out.seed = from_.seed();
    out.submitted = moment(from_.submitted_ns());
    out.revision = from_.revision();
    out.state = one_of<JobState>(from_.state(), kJobStates);
    out.why = text(from_.why());
    out.started = moment(from_.started_ns());
    out.elapsed = span(from_.elapsed_ns());
    out.ended = moment(from_.ended_ns());
    out.last_assignment = from_.last_assignment();
    out.context_version = from_.context_version();
    out.events_dropped = from_.events_dropped();
    if (from_.has_stop()) {
      out.stop = JobStop{one_of<JobStop::Cause>(from_.stop().cause(), kStopCauses),
                         one_of<StopHow>(from_.stop().how(), kStopHows),
                         text(from_.stop().by()),
                         text(from_.stop().why()),
                         from_.stop().number(),
                         from_.stop().all()};
    }
    texts();
    pass_lists(*this, from_, out);
    out.witnesses_since = from_.witnesses_since();
    return out;
  }

  static constexpr bool kReads = true;
  template <class Column, class List, class Member>
  void first(Column* from, List& to, std::size_t most, Member member, std::size_t values = 0) {
    if (fits(from->size(), most)) to.resize(static_cast<std::size_t>(from->size()));
    column(from, to, member, values);
  }
  // `values`: of an enumeration.
  template <class Column, class List, class Member>
  void column(const Column* from, List& to, Member member, std::size_t values = 0) {
    each(from, to, [&](auto& one, auto value) { get(value, std::invoke(member, one), values); });
  }
  void life(const Numbers* from, std::vector<AssignmentRecord>& to) {
    const auto& lives = from_.lives();
    const int number = lives.worker_size();
    if (number != lives.life_size()) return refuse("columns of different lengths");
    each(from, to, [&](AssignmentRecord& one, uint32_t value) {
      if (value >= static_cast<uint32_t>(number)) return refuse("a missing worker");
      one.worker = text(lives.worker(static_cast<int>(value)));
      one.life = lives.life(static_cast<int>(value));
    });
  }
  void ends(wire::RecordAssignments& from, std::vector<AssignmentRecord>& to) {
    each(from.mutable_ended(), to, [this](AssignmentRecord& one, uint32_t value) {
      if (value > 0) one.end = AssignmentEnd{one_of<AssignmentOutcome>(value - 1, kAssignmentOutcomes), {}, 0, {}, {}};
    });
    const auto end_of = [this](AssignmentRecord& one) -> AssignmentEnd& {
      if (!one.end) refuse("figures of a missing end");
      return one.end ? *one.end : one.end.emplace();
    };
    each(from.mutable_detail(), to, [&](AssignmentRecord& one, uint32_t value) {
      if (value > 0) end_of(one).detail = text(value);
    });
    each(from.mutable_last_number(), to, [&](AssignmentRecord& one, uint64_t value) {
      if (value > 0) end_of(one).last_number = value;
    });
    each(from.mutable_ran_ns(), to, [&](AssignmentRecord& one, int64_t value) {
      if (value != 0) end_of(one).ran = span(value);
    });
  }

 private:
  using FieldReader::text;

  void texts() {
    if (!fits(from_.texts_size(), kMaxTexts)) return;
    for (const std::string& one : from_.texts()) texts_.push_back(fit_text(one));
  }
  const std::string& text(uint32_t number) {
    static const std::string kNone;
    if (number == 0) return kNone;
    if (number <= texts_.size()) return texts_[number - 1];
    refuse("a missing text");
    return kNone;
  }

  // The column has all elements, or none: then all are zero.
  template <class Column, class List, class Set>
  void each(const Column* from, List& to, Set set) {
    const bool none = from->size() == 0;
    if (!none && static_cast<std::size_t>(from->size()) != to.size()) return refuse("columns of different lengths");
    for (std::size_t i = 0; i < to.size(); ++i) {
      set(to[i], none ? typename Column::value_type() : from->Get(static_cast<int>(i)));
    }
  }

  template <class Value>
    requires std::is_arithmetic_v<Value>
  void get(Value from, Value& to, std::size_t) {
    to = from;
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void get(uint32_t from, Enum& to, std::size_t values) {
    to = one_of<Enum>(from, values);
  }
  void get(uint32_t from, bool& to, std::size_t) {
    if (from > 1) refuse("a truth value that is neither 0 nor 1");
    to = from != 0;
  }
  void get(uint32_t from, uint16_t& to, std::size_t) { to = workflow(from); }
  void get(uint32_t from, AssignmentId& to, std::size_t) { to = AssignmentId(from); }
  void get(uint32_t from, std::string& to, std::size_t) { to = text(from); }
  void get(int64_t from, Duration& to, std::size_t) { to = span(from); }

  // Of workflows, two of each assignment, of losses, events, findings and witnesses; further ones belong to nothing.
  static constexpr std::size_t kMaxTexts =
      kMaxWorkflows + 2 * kMaxAssignments + kMaxLosses + 2 * kMaxJobEvents + plan::kMaxFindings + 2 * kMaxWitnesses;

  wire::JobRecord& from_;
  std::vector<std::string> texts_;
};

// A context with each value of a list by itself.
struct KeptContext {
  uint64_t version = 0;
  std::vector<plan::Values::Value> values;
};
constexpr std::size_t kMaxKept = kMaxWorkflows * plan::kMaxProvided + plan::kMaxLists * (plan::kMaxListValues + 1);

}  // namespace

std::string record_bytes(const JobRecord& record) {
  wire::JobRecord out;
  RecordWriter(out).record(record);
  return out.SerializeAsString();
}

Result<EncodedRecord> encode_record(const JobRecord& record) {
  BW_RETURN_IF_ERROR(check_record(record));
  std::string bytes = record_bytes(record);
  std::vector<std::byte> small;
  if (wire::deflate_body(as_bytes(bytes), kLimits, small)) bytes.assign(as_text(small));
  if (bytes.size() <= kMaxRecordBytes) return EncodedRecord{std::move(bytes), {}};
  wire::JobRecord summary;
  RecordWriter(summary).summary(record);
  return EncodedRecord{kSummaryMark + summary.SerializeAsString(), std::move(bytes)};
}

bool is_summary(std::string_view value) { return !value.empty() && value.front() == kSummaryMark; }

Result<JobRecord> read_record(std::string_view bytes) {
  std::vector<std::byte> inflated;
  if (is_compressed(bytes)) {
    if (wire::inflate_body(as_bytes(bytes), kLimits, inflated) != wire::Refusal::kNone) {
      return fail(Errc::kInvalid, "the record of a job cannot be decompressed");
    }
    bytes = as_text(inflated);
  }
  if (is_summary(bytes)) bytes.remove_prefix(1);
  wire::JobRecord in;
  if (bytes.size() > kLimits.inflated || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kInvalid, "the record of a job cannot be read");
  }
  RecordReader reader(in);
  JobRecord out = reader.record();
  if (reader.wrong() != nullptr) {
    return fail(
        Errc::kInvalid,
        "the record of a job is refused: it has {}; if a newer version wrote it, start a manager of that version",
        reader.wrong());
  }
  BW_RETURN_IF_ERROR(check_record(out));
  return out;
}

bool from_wire_bytes(std::string_view bytes, JobRecord& to) {
  to = {};
  if (bytes.empty()) return true;
  auto record = read_record(bytes);
  if (record) to = *std::move(record);
  return record.has_value();
}

void draw_value(Prng& prng, JobRecord& to) {
  to = {};
  to.id = std::to_string(prng.next());
  to.name = "checkout";
  to.bundle = std::to_string(prng.next());
  to.seed = prng.next();
  to.state = static_cast<JobState>(prng.below(kJobStates));
  to.workflows.resize(1 + prng.below(3));
}

}  // namespace bellwether::dispatch

namespace bellwether::message {

template <>
constexpr auto kDescription<plan::Values::Value> = describe<plan::Values::Value>(
    "a value of a workflow", field<&plan::Values::Value::workflow>(1, dispatch::rule::kWorkflow),
    field<&plan::Values::Value::by>(2), field<&plan::Values::Value::value>(3));

template <>
constexpr auto kDescription<dispatch::KeptContext> =
    describe<dispatch::KeptContext>("a record of values between workflows", field<&dispatch::KeptContext::version>(1),
                                    field<&dispatch::KeptContext::values>(2, list(dispatch::kMaxKept)))
        .within(std::size_t{16} << 20, Errc::kInvalid);

}  // namespace bellwether::message

namespace bellwether::dispatch {

std::string encode_context(const plan::Values& context) {
  KeptContext to{context.version, context.values};
  for (const auto& [key, list] : context.lists) {
    for (const plan::Provided& one : list.provided(key.second)) {
      const auto item = list.items().find(one.vu);
      to.values.push_back({key.first, item == list.items().end() ? 0 : item->second.by, one});
    }
  }
  return message::encode(to);
}

Result<plan::Values> decode_context(std::string_view bytes) {
  BW_TRY(auto from, message::decode<KeptContext>(bytes));
  plan::Values to;
  std::set<std::tuple<uint16_t, uint16_t, uint32_t>> seen;  // of a list, its users
  for (plan::Values::Value& one : from.values) {
    const plan::Provided& value = one.value;
    if (!seen.insert({one.workflow, value.provide, value.listed ? value.vu : 0}).second) {
      return fail(Errc::kInvalid, "a record of values between workflows is refused: it contains a value twice");
    }
    if (!value.listed) {
      to.values.push_back(std::move(one));
      continue;
    }
    to.merge(one.workflow, one.by, value);
    if (to.lists.size() > plan::kMaxLists) return fail(Errc::kInvalid, "too many lists between workflows");
  }
  to.version = from.version;
  return to;
}

}  // namespace bellwether::dispatch
