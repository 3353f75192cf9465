#include "jobs/dispatch/codec/job_record_codec.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
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
    workflows(from.workflows);
    assignments(from.assignments);
    losses(from.losses);
    if (!from.findings.empty()) findings(from.findings);
    if (!from.witnesses.empty()) witnesses(from.witnesses, *to_.mutable_witnesses());
    if (!from.witnesses_before.empty()) witnesses(from.witnesses_before, *to_.mutable_witnesses_before());
    to_.set_witnesses_since(from.witnesses_since);
    events(from.events);
  }

 private:
  // A column; omitted if it is all zeros.
  template <class List, class Column, class Get>
  static void column(const List& from, Column* to, Get get) {
    bool any = false;
    to->Reserve(static_cast<int>(from.size()));
    for (const auto& one : from) {
      const auto value = static_cast<typename Column::value_type>(get(one));
      any |= value != 0;
      to->Add(value);
    }
    if (!any) to->Clear();
  }

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

  void workflows(const std::vector<WorkflowRecord>& from) {
    auto& to = *to_.mutable_workflows();
    for (const WorkflowRecord& one : from) to.add_state(static_cast<uint32_t>(one.state));
    column(from, to.mutable_why(), [this](const auto& one) { return text(one.why); });
    column(from, to.mutable_parts(), [](const auto& one) { return one.parts; });
    column(from, to.mutable_retries(), [](const auto& one) { return one.retries; });
    column(from, to.mutable_base_second(), [](const auto& one) { return one.base_second; });
    column(from, to.mutable_begun(), [](const auto& one) { return one.begun; });
    column(from, to.mutable_vus(), [](const auto& one) { return one.vus; });
  }

  void assignments(const std::vector<AssignmentRecord>& from) {
    auto& to = *to_.mutable_assignments();
    for (const AssignmentRecord& one : from) to.add_id(one.id.value());
    column(from, to.mutable_workflow(), [](const auto& one) { return one.workflow; });
    column(from, to.mutable_worker(), [this](const auto& one) { return life(one); });
    column(from, to.mutable_first(), [](const auto& one) { return one.parts.first; });
    column(from, to.mutable_count(), [](const auto& one) { return one.parts.count; });
    column(from, to.mutable_of(), [](const auto& one) { return one.parts.of; });
    column(from, to.mutable_cores(), [](const auto& one) { return one.cores; });
    column(from, to.mutable_squeeze(), [](const auto& one) { return one.squeeze; });
    column(from, to.mutable_state(), [](const auto& one) { return one.state; });
    column(from, to.mutable_from(), [](const auto& one) { return one.from; });
    column(from, to.mutable_streams(), [](const auto& one) { return one.streams; });
    column(from, to.mutable_lost_from_ns(), [](const auto& one) { return one.lost_from.ns(); });
    column(from, to.mutable_ended(),
           [](const auto& one) { return one.end ? static_cast<uint32_t>(one.end->outcome) + 1 : 0; });
    column(from, to.mutable_detail(), [this](const auto& one) { return one.end ? text(one.end->detail) : 0; });
    column(from, to.mutable_last_number(), [](const auto& one) { return one.end ? one.end->last_number : 0; });
    column(from, to.mutable_ran_ns(), [](const auto& one) { return one.end ? one.end->ran.ns() : 0; });
    column(from, to.mutable_follows(), [](const auto& one) { return one.follows.value(); });
    column(from, to.mutable_until(), [](const auto& one) { return one.until; });
    column(from, to.mutable_handed_over(), [](const auto& one) { return one.handed_over; });
    column(from, to.mutable_extensions(), [](const auto& one) { return one.extensions; });
    column(from, to.mutable_extended_ns(), [](const auto& one) { return one.extended.ns(); });
    column(from, to.mutable_iterations(), [](const auto& one) { return one.iterations; });
    column(from, to.mutable_left(), [](const auto& one) { return one.left; });
    column(from, to.mutable_unfenced(), [](const auto& one) { return one.unfenced; });
    column(from, to.mutable_rows(), [](const auto& one) { return one.rows.rows; });
    column(from, to.mutable_rows_at_ns(), [](const auto& one) { return one.rows.at.ns(); });
  }

  void losses(const std::vector<plan::Loss>& from) {
    auto& to = *to_.mutable_losses();
    for (const plan::Loss& one : from) to.add_from_ns(one.from.ns());
    column(from, to.mutable_to_ns(), [](const auto& one) { return one.to.ns(); });
    column(from, to.mutable_ratio(), [](const auto& one) { return one.ratio; });
    column(from, to.mutable_cause(), [this](const auto& one) { return text(one.cause); });
  }

  void findings(const std::vector<plan::Finding>& from) {
    auto& to = *to_.mutable_findings();
    for (const plan::Finding& one : from) to.add_saturation(static_cast<uint32_t>(one.saturation));
    column(from, to.mutable_begin_ns(), [](const auto& one) { return one.begin.ns(); });
    column(from, to.mutable_end_ns(), [](const auto& one) { return one.end.ns(); });
    column(from, to.mutable_worst(), [](const auto& one) { return one.worst; });
    column(from, to.mutable_worker(), [this](const auto& one) { return text(one.worker); });
  }

  void witnesses(const std::vector<Witness>& from, wire::RecordWitnesses& to) {
    for (const Witness& one : from) to.add_worker(text(one.worker));
    column(from, to.mutable_life(), [](const auto& one) { return one.life; });
  }

  void events(const std::vector<JobEvent>& from) {
    auto& to = *to_.mutable_events();
    for (const JobEvent& one : from) to.add_at_ns(one.at.ns());
    column(from, to.mutable_kind(), [this](const auto& one) { return text(one.kind); });
    column(from, to.mutable_detail(), [this](const auto& one) { return text(one.detail); });
  }

  wire::JobRecord& to_;
  std::map<std::string, uint32_t> texts_;
  std::map<std::pair<std::string, uint64_t>, uint32_t> lives_;
};

// --- reading ---------------------------------------------------------------------------------------------------------

// check_record() checks the bounds of single figures; this checks only what a JobRecord could not hold.
class RecordReader : public FieldReader {
 public:
  explicit RecordReader(const wire::JobRecord& from) : from_(from) {}

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
    workflows(out.workflows);
    assignments(out.assignments);
    losses(out.losses);
    findings(out.findings);
    witnesses(from_.witnesses(), out.witnesses);
    witnesses(from_.witnesses_before(), out.witnesses_before);
    out.witnesses_since = from_.witnesses_since();
    events(out.events);
    return out;
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

  // The column has all elements, or none.
  template <class List, class Column, class Set>
  void column(const Column& from, List& to, Set set) {
    if (from.size() == 0) return;
    if (static_cast<std::size_t>(from.size()) != to.size()) return refuse("columns of different lengths");
    for (std::size_t i = 0; i < to.size(); ++i) set(to[i], from.Get(static_cast<int>(i)));
  }
  // Makes this number of elements; none if it is too large.
  template <class List>
  void make(int number, std::size_t most, List& to) {
    if (fits(number, most)) to.resize(static_cast<std::size_t>(number));
  }

  bool flag(uint32_t from) {
    if (from > 1) refuse("a truth value that is neither 0 nor 1");
    return from != 0;
  }

  void workflows(std::vector<WorkflowRecord>& to) {
    const auto& from = from_.workflows();
    make(from.state_size(), kMaxWorkflows, to);
    column(from.state(), to,
           [this](auto& one, uint32_t value) { one.state = one_of<WorkflowState>(value, kWorkflowStates); });
    column(from.why(), to, [this](auto& one, uint32_t value) { one.why = text(value); });
    column(from.parts(), to, [](auto& one, uint32_t value) { one.parts = value; });
    column(from.retries(), to, [](auto& one, uint32_t value) { one.retries = value; });
    column(from.base_second(), to, [](auto& one, uint64_t value) { one.base_second = value; });
    column(from.begun(), to, [this](auto& one, uint32_t value) { one.begun = flag(value); });
    column(from.vus(), to, [](auto& one, uint32_t value) { one.vus = value; });
  }

  void assignments(std::vector<AssignmentRecord>& to) {
    const auto& from = from_.assignments();
    make(from.id_size(), kMaxAssignments, to);
    column(from.id(), to, [](auto& one, uint32_t value) {
      one.id = AssignmentId(value);
      one.parts = {0, 0, 0};
    });
    column(from.workflow(), to, [this](auto& one, uint32_t value) { one.workflow = workflow(value); });
    workers(to);
    column(from.first(), to, [](auto& one, uint32_t value) { one.parts.first = value; });
    column(from.count(), to, [](auto& one, uint32_t value) { one.parts.count = value; });
    column(from.of(), to, [](auto& one, uint32_t value) { one.parts.of = value; });
    column(from.cores(), to, [](auto& one, uint32_t value) { one.cores = value; });
    column(from.squeeze(), to, [this](auto& one, uint32_t value) { one.squeeze = flag(value); });
    column(from.state(), to,
           [this](auto& one, uint32_t value) { one.state = one_of<AssignmentState>(value, kAssignmentStates); });
    column(from.from(), to, [](auto& one, uint64_t value) { one.from = value; });
    column(from.streams(), to, [this](auto& one, uint32_t value) { one.streams = flag(value); });
    column(from.lost_from_ns(), to, [this](auto& one, int64_t value) { one.lost_from = span(value); });
    column(from.extensions(), to, [](auto& one, uint32_t value) { one.extensions = value; });
    column(from.extended_ns(), to, [this](auto& one, int64_t value) { one.extended = span(value); });
    ends(to);
    column(from.follows(), to, [](auto& one, uint32_t value) { one.follows = AssignmentId(value); });
    column(from.until(), to, [](auto& one, uint64_t value) { one.until = value; });
    column(from.handed_over(), to, [this](auto& one, uint32_t value) { one.handed_over = flag(value); });
    column(from.iterations(), to, [](auto& one, uint64_t value) { one.iterations = value; });
    column(from.left(), to, [](auto& one, uint64_t value) { one.left = value; });
    column(from.unfenced(), to, [this](auto& one, uint32_t value) { one.unfenced = flag(value); });
    column(from.rows(), to, [](auto& one, uint64_t value) { one.rows.rows = value; });
    column(from.rows_at_ns(), to, [this](auto& one, int64_t value) { one.rows.at = span(value); });
  }

  void workers(std::vector<AssignmentRecord>& to) {
    const auto& lives = from_.lives();
    const int number = lives.worker_size();
    if (number != lives.life_size()) return refuse("columns of different lengths");
    const auto set = [&](AssignmentRecord& one, uint32_t value) {
      if (value >= static_cast<uint32_t>(number)) return refuse("a missing worker");
      one.worker = text(lives.worker(static_cast<int>(value)));
      one.life = lives.life(static_cast<int>(value));
    };
    // The first one decides for all: a column of zeros.
    if (from_.assignments().worker_size() == 0) {
      for (AssignmentRecord& one : to) set(one, 0);
    }
    column(from_.assignments().worker(), to, set);
  }

  void ends(std::vector<AssignmentRecord>& to) {
    const auto& from = from_.assignments();
    column(from.ended(), to, [this](auto& one, uint32_t value) {
      if (value > 0) one.end = AssignmentEnd{one_of<AssignmentOutcome>(value - 1, kAssignmentOutcomes), {}, 0, {}, {}};
    });
    const auto end_of = [this](AssignmentRecord& one) -> AssignmentEnd& {
      if (!one.end) refuse("figures of a missing end");
      return one.end ? *one.end : one.end.emplace();
    };
    column(from.detail(), to, [&](auto& one, uint32_t value) {
      if (value > 0) end_of(one).detail = text(value);
    });
    column(from.last_number(), to, [&](auto& one, uint64_t value) {
      if (value > 0) end_of(one).last_number = value;
    });
    column(from.ran_ns(), to, [&](auto& one, int64_t value) {
      if (value != 0) end_of(one).ran = span(value);
    });
  }

  void losses(std::vector<plan::Loss>& to) {
    const auto& from = from_.losses();
    make(from.from_ns_size(), kMaxLosses, to);
    column(from.from_ns(), to, [this](auto& one, int64_t value) { one.from = span(value); });
    column(from.to_ns(), to, [this](auto& one, int64_t value) { one.to = span(value); });
    column(from.ratio(), to, [](auto& one, double value) { one.ratio = value; });
    column(from.cause(), to, [this](auto& one, uint32_t value) { one.cause = text(value); });
  }

  void findings(std::vector<plan::Finding>& to) {
    const auto& from = from_.findings();
    make(from.saturation_size(), plan::kMaxFindings, to);
    column(from.saturation(), to, [this](auto& one, uint32_t value) {
      one.saturation = this->template one_of<plan::Saturation>(value, plan::kSaturations);
      one.over = true;
    });
    column(from.begin_ns(), to, [this](auto& one, int64_t value) { one.begin = span(value); });
    column(from.end_ns(), to, [this](auto& one, int64_t value) { one.end = span(value); });
    column(from.worst(), to, [](auto& one, double value) { one.worst = value; });
    column(from.worker(), to, [this](auto& one, uint32_t value) { one.worker = text(value); });
  }

  void witnesses(const wire::RecordWitnesses& from, std::vector<Witness>& to) {
    make(from.worker_size(), kMaxWitnesses, to);
    column(from.worker(), to, [this](auto& one, uint32_t value) { one.worker = text(value); });
    column(from.life(), to, [](auto& one, uint64_t value) { one.life = value; });
  }

  void events(std::vector<JobEvent>& to) {
    const auto& from = from_.events();
    make(from.at_ns_size(), kMaxJobEvents, to);
    column(from.at_ns(), to, [this](auto& one, int64_t value) { one.at = span(value); });
    column(from.kind(), to, [this](auto& one, uint32_t value) { one.kind = text(value); });
    column(from.detail(), to, [this](auto& one, uint32_t value) { one.detail = text(value); });
  }

  // Of workflows, two of each assignment, of losses, events, findings and witnesses; further ones belong to nothing.
  static constexpr std::size_t kMaxTexts =
      kMaxWorkflows + 2 * kMaxAssignments + kMaxLosses + 2 * kMaxJobEvents + plan::kMaxFindings + 2 * kMaxWitnesses;

  const wire::JobRecord& from_;
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
