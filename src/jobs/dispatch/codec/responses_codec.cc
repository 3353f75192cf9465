// The answers of messages_codec.h.
#include "jobs/dispatch/codec/job_record_codec.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/dispatch/codec/parts.h"

namespace bellwether::dispatch {
namespace {

std::string_view wrong_applied(const Applied& answer) {
  return answer.durable <= answer.applied ? "" : "more durable than applied windows";
}
std::string_view wrong_sight(const AssignmentSight& sight) {
  return sight.end.last_number <= sight.measured ? "" : "an end after the last measured window";
}
std::string_view wrong_adopted(const Adopted& answer) {
  return are_distinct(answer.assignments, [](const AssignmentSight& one) { return one.assignment; }) ? ""
                                                                                                     : kAssignmentTwice;
}
std::string_view wrong_news(const LiveNews& news) {
  for (std::size_t i = 1; i < news.windows.size(); ++i) {
    if (news.windows[i].number <= news.windows[i - 1].number) return "windows out of order";
  }
  return "";
}
template <class Line>
std::string_view wrong_cores(const Line& line) {
  return line.free <= line.cores ? "" : "more free cores than cores";
}

}  // namespace
}  // namespace bellwether::dispatch

namespace bellwether::message {

using namespace dispatch;        // NOLINT(google-build-using-namespace)
using namespace dispatch::rule;  // NOLINT(google-build-using-namespace)

namespace {

// An unknown value of a newer version becomes the strongest known one.
constexpr Rule kPressure = one_of(resilience::kBackpressures, resilience::Backpressure::kReject);
// Counts of all assignments of a job.
constexpr Rule kSum = at_most(ingest::kMaxCount * kMaxAssignments);

}  // namespace

template <>
constexpr auto kDescription<Noted::Permit> = describe<Noted::Permit>(
    "a permit of a job", field<&Noted::Permit::job>(1, kJob), field<&Noted::Permit::fence>(2, kFence),
    field<&Noted::Permit::denied>(3, list(kMaxHeldAssignments, kSome)),
    field<&Noted::Permit::witnesses>(4, list(kMaxWitnesses)), field<&Noted::Permit::witnesses_since>(5));

template <>
constexpr auto kDescription<Noted> = describe<Noted>("a note", field<&Noted::pressure>(1, kPressure),
                                                     field<&Noted::permits>(2, list(kMaxHeldAssignments)));

template <>
constexpr auto kDescription<Denied> = describe<Denied>("a denial", field<&Denied::rest>(1, kSpan));

template <>
constexpr auto kDescription<Refusal> =
    describe<Refusal>("a refusal",
                      // The sender may retry an unknown refusal of a newer version.
                      field<&Refusal::kind>(1, one_of(kRefusalKinds, Refusal::Kind::kUnavailable)),
                      field<&Refusal::why>(2, kText), field<&Refusal::owner>(3, or_empty(kNode)),
                      field<&Refusal::fence>(5, kKnownFence), field<&Refusal::again_after>(6, kSpan));

template <>
constexpr auto kDescription<Applied> = describe<Applied, &wrong_applied>(
    "the applied windows of a stream", field<&Applied::applied>(1, kSecond), field<&Applied::durable>(2, kSecond),
    field<&Applied::excess>(3), field<&Applied::pressure>(4, kPressure));

template <>
constexpr auto kDescription<AssignmentSight> = describe<AssignmentSight, &wrong_sight>(
    "a worker's state of an assignment", field<&AssignmentSight::assignment>(1, kSome),
    field<&AssignmentSight::phase>(2, one_of(kAssignmentPhases)), field<&AssignmentSight::clock>(3, kClock),
    field<&AssignmentSight::from>(4, kSecond), field<&AssignmentSight::measured>(5, kSecond),
    field<&AssignmentSight::end>(6), field<&AssignmentSight::until>(7, kSecond));

template <>
constexpr auto kDescription<Adopted> = describe<Adopted, &wrong_adopted>(
    "a worker's state of a job", field<&Adopted::assignments>(1, list(kMaxAssignments)));

template <>
constexpr auto kDescription<Submitted> =
    describe<Submitted>("a receipt of a job", field<&Submitted::job>(1, kJob),
                        field<&Submitted::state>(2, one_of(kJobStates)), field<&Submitted::position>(3));

template <>
constexpr auto kDescription<SecondOver> =
    describe<SecondOver>("a second of a run", field<&SecondOver::covered>(1, kSpan), field<&SecondOver::amends>(2),
                         field<&SecondOver::window>(3, text(ingest::kMaxWindowBytes)));

template <>
constexpr auto kDescription<LiveSum> =
    describe<LiveSum>("live figures of a job", field<&LiveSum::requests>(1, kSum), field<&LiveSum::failed>(2, kSum),
                      field<&LiveSum::iterations>(3, kSum), field<&LiveSum::dropped>(4, kSum),
                      field<&LiveSum::vus>(5, kSum), field<&LiveSum::age>(6, kSpan));

template <>
constexpr auto kDescription<Watched> = describe<Watched>(
    "the news of a job", field<&Watched::record>(1, text(kMaxWatchedRecordBytes, "record of a job")),
    field<&Watched::position>(2), field<&Watched::owner>(3, or_empty(kNode)), field<&Watched::life>(4, fixed()),
    field<&Watched::seconds>(5, kSecond), field<&Watched::totals>(6, text(kMaxTotalsBytes)),
    field<&Watched::news>(7, list(kMaxNews)), field<&Watched::final>(8), field<&Watched::live>(9));

template <>
constexpr auto kDescription<JobLine> = describe<JobLine>(
    "a job", field<&JobLine::id>(1, kJob).as("job"), field<&JobLine::name>(2, kText), field<&JobLine::by>(3, kText),
    field<&JobLine::state>(4, one_of(kJobStates)), field<&JobLine::why>(5, kText), field<&JobLine::submitted>(6, kTime),
    field<&JobLine::started>(7, kTime), field<&JobLine::ended>(8, kTime),
    field<&JobLine::manager>(9, or_empty(kNode)));  // 10 is used up

template <>
constexpr auto kDescription<JobList> =
    describe<JobList>("a list of jobs", field<&JobList::jobs>(1, list(kMaxJobLines)), field<&JobList::cut>(2));

template <>
constexpr auto kDescription<WorkerLine> = describe<WorkerLine, &wrong_cores<WorkerLine>>(
    "a worker", field<&WorkerLine::name>(1, kNode).as("worker"), field<&WorkerLine::cores>(2, kCores),
    field<&WorkerLine::free>(3), field<&WorkerLine::state>(4, kText), field<&WorkerLine::reason>(5, kText).as("why"),
    field<&WorkerLine::assignments>(6), field<&WorkerLine::progress>(7, kText));

template <>
constexpr auto kDescription<WorkerList> =
    describe<WorkerList>("a list of workers", field<&WorkerList::workers>(1, list(kMaxWorkerLines)));

template <>
constexpr auto kDescription<DatacenterLine> = describe<DatacenterLine, &wrong_cores<DatacenterLine>>(
    "a datacenter", field<&DatacenterLine::name>(1, kText).as("datacenter"), field<&DatacenterLine::managers>(2),
    field<&DatacenterLine::workers>(3), field<&DatacenterLine::cores>(4), field<&DatacenterLine::free>(5),
    field<&DatacenterLine::health>(6, kText), field<&DatacenterLine::reason>(7, kText).as("why"));

template <>
constexpr auto kDescription<DatacenterList> = describe<DatacenterList>(
    "a list of datacenters", field<&DatacenterList::datacenters>(1, list(kMaxDatacenterLines)));

template <>
constexpr auto kDescription<LiveWindow> =
    describe<LiveWindow>("a live window", field<&LiveWindow::number>(1, at_most(kMaxSeconds * 10)),
                         field<&LiveWindow::revision>(2), field<&LiveWindow::told>(3), field<&LiveWindow::done>(4));

template <>
constexpr auto kDescription<LiveNews> = describe<LiveNews, &wrong_news>(
    "live windows of a job", field<&LiveNews::life>(1, fixed()), field<&LiveNews::change>(2),
    field<&LiveNews::windows>(3, list(kMaxLiveWindows)), field<&LiveNews::total>(4), field<&LiveNews::final>(5));

template <>
constexpr auto kDescription<FileState> =
    describe<FileState>("the state of a file", field<&FileState::have>(1), field<&FileState::kept>(2));
template <>
constexpr auto kDescription<FileChunk> =
    describe<FileChunk>("a chunk of a file", field<&FileChunk::bytes>(1, text(kMaxFileChunk)));

template <>
constexpr auto kDescription<MoreTime> = describe<MoreTime>(
    "an answer to a request for more time", field<&MoreTime::granted>(1, kSpan), field<&MoreTime::remaining>(2),
    field<&MoreTime::warning>(3), field<&MoreTime::over>(4), field<&MoreTime::why>(5, kText));

template <>
constexpr auto kDescription<Response> =
    describe<Response>(
        "an answer about jobs", alternative<Noted, Response>(1, "noted"), alternative<Refusal, Response>(2, "refused"),
        alternative<Applied, Response>(3, "applied"), alternative<Adopted, Response>(4, "adopted"),
        alternative<Submitted, Response>(5, "submitted"), alternative<Watched, Response>(6, "watched"),
        alternative<JobList, Response>(7, "jobs"), alternative<BundleMessage, Response>(8, "bundle"),
        alternative<WorkerList, Response>(9, "workers"), alternative<DatacenterList, Response>(10, "datacenters"),
        alternative<MoreTime, Response>(11, "more_time"), alternative<LiveNews, Response>(12, "live_news"),
        alternative<Denied, Response>(13, "denied"), alternative<FileState, Response>(14, "file_state"),
        alternative<FileChunk, Response>(15, "file_chunk"))
        .within(kMaxResponseBytes);

template <>
const Message& message_of<Response>() {
  return described<Response>();
}

}  // namespace bellwether::message
