#include "jobs/dispatch/codec/messages_codec.h"

#include "cluster/wire/identity.h"
#include "core/resilience/overload.h"
#include "core/resilience/request_limiter.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "jobs/dispatch/codec/parts.h"

namespace bellwether::dispatch {
namespace {

using namespace rule;  // every line of this file is made of these

std::string_view wrong_report(const WorkerReport& report) {
  if (report.free > report.cores) return "more free cores than cores";
  const bool distinct = are_distinct(report.held, [](const WorkerReport::Held& one) {
    return std::pair<std::string_view, AssignmentId>(one.job, one.assignment);
  });
  return distinct ? "" : kAssignmentTwice;
}
std::string_view wrong_window(const WindowMessage& message) {
  return message.first <= message.last ? "" : "invalid numbers of a stream";
}
std::string_view wrong_live(const LiveMessage& live) {
  const bool distinct = are_distinct(live.assignments, [](const LiveMessage::Assignment& one) {
    return std::pair<std::string_view, AssignmentId>(one.job, one.assignment);
  });
  return distinct ? "" : kAssignmentTwice;
}
std::string_view wrong_offer(const Offer& offer) {
  if (!is_good(offer.order.parts)) return "invalid parts";
  return offer.order.cores <= offer.order.parts.count ? "" : "more cores than parts";
}
std::string_view wrong_chunk(const PutFile& put) {
  return put.offset <= put.file.size && put.bytes.size() <= put.file.size - put.offset ? "" : "bytes beyond the file";
}
template <class Message>
std::string_view wrong_streams(const Message& message) {
  return are_distinct(message.streams, [](const AdoptMessage::Stream& one) { return one.assignment; })
             ? ""
             : kAssignmentTwice;
}

}  // namespace
}  // namespace bellwether::dispatch

namespace bellwether::message {

using namespace dispatch;        // NOLINT(google-build-using-namespace)
using namespace dispatch::rule;  // NOLINT(google-build-using-namespace)

template <>
constexpr auto kDescription<Headway> = describe<Headway>(
    "the progress of an assignment", field<&Headway::could_turn>(1, kCount), field<&Headway::turned>(2, kCount),
    field<&Headway::could_begin>(3, kCount), field<&Headway::begun>(4, kCount), field<&Headway::due>(5, kCount),
    field<&Headway::served>(6, kCount));

template <>
constexpr auto kDescription<WorkerReport::Held> = describe<WorkerReport::Held>(
    "a held assignment of a worker", field<&WorkerReport::Held::job>(1, kJob),
    field<&WorkerReport::Held::fence>(2, kFence), field<&WorkerReport::Held::assignment>(3, kSome),
    field<&WorkerReport::Held::phase>(4, one_of(kAssignmentPhases)), field<&WorkerReport::Held::headway>(5));

template <>
constexpr auto kDescription<WorkerReport> = describe<WorkerReport, &wrong_report>(
    "a report of a worker", field<&WorkerReport::life>(1, fixed(kSome)), field<&WorkerReport::cores>(2, kCores),
    field<&WorkerReport::free>(3), field<&WorkerReport::takes_work>(4), field<&WorkerReport::healthy>(5),
    field<&WorkerReport::state>(6, kText), field<&WorkerReport::reason>(7, kText),
    field<&WorkerReport::held>(8, list(kMaxHeldAssignments)), field<&WorkerReport::leaves>(9),
    field<&WorkerReport::permits>(10), field<&WorkerReport::number>(11), field<&WorkerReport::heard>(12));

template <>
constexpr auto kDescription<WindowMessage> = describe<WindowMessage, &wrong_window>(
    "windows of an assignment", field<&WindowMessage::job>(1, kJob), field<&WindowMessage::assignment>(2, kSome),
    field<&WindowMessage::from>(3, kSecond), field<&WindowMessage::first>(4, kSome),
    field<&WindowMessage::last>(5, kSecond), field<&WindowMessage::window>(6, text(ingest::kMaxWindowBytes)));

template <>
constexpr auto kDescription<EndMessage> = describe<EndMessage>(
    "the end of an assignment", field<&EndMessage::job>(1, kJob), field<&EndMessage::assignment>(2, kSome),
    field<&EndMessage::end>(3), field<&EndMessage::until>(4, kSecond));

template <>
constexpr auto kDescription<LiveMessage::Assignment> = describe<LiveMessage::Assignment>(
    "live figures of an assignment", field<&LiveMessage::Assignment::job>(1, kJob),
    field<&LiveMessage::Assignment::assignment>(2, kSome), field<&LiveMessage::Assignment::requests>(3, kCount),
    field<&LiveMessage::Assignment::failed>(4, kCount), field<&LiveMessage::Assignment::iterations>(5, kCount),
    field<&LiveMessage::Assignment::dropped>(6, kCount), field<&LiveMessage::Assignment::vus>(7, kCount));

template <>
constexpr auto kDescription<LiveMessage> = describe<LiveMessage, &wrong_live>(
    "live figures of a worker", field<&LiveMessage::number>(1),
    field<&LiveMessage::assignments>(2, list(kMaxHeldAssignments)), field<&LiveMessage::collected>(3, kSpan));

template <>
constexpr auto kDescription<Offer> = describe<Offer, &wrong_offer>(
    "an offer of an assignment", field<&Offer::order, &AssignmentOrder::job>(1, kJob),
    field<&Offer::order, &AssignmentOrder::assignment>(2, kSome),
    field<&Offer::order, &AssignmentOrder::fence>(3, kFence),
    field<&Offer::order, &AssignmentOrder::workflow>(4, kWorkflow),
    field<&Offer::order, &AssignmentOrder::parts, &PartRange::first>(5),
    field<&Offer::order, &AssignmentOrder::parts, &PartRange::count>(6),
    field<&Offer::order, &AssignmentOrder::parts, &PartRange::of>(7),
    field<&Offer::order, &AssignmentOrder::cores>(8, kSome), field<&Offer::order, &AssignmentOrder::squeeze>(9),
    field<&Offer::order, &AssignmentOrder::base_second>(10, kSecond),
    field<&Offer::order, &AssignmentOrder::seed>(11, fixed()),
    field<&Offer::order, &AssignmentOrder::bundle>(12, kHash),
    field<&Offer::order, &AssignmentOrder::kill_grace>(13, kSpan),
    field<&Offer::order, &AssignmentOrder::isolation_limit>(14, kSomeSpan),
    field<&Offer::order, &AssignmentOrder::execution_limit>(15, kSomeSpan),
    field<&Offer::order, &AssignmentOrder::context_version>(16),
    field<&Offer::order, &AssignmentOrder::given>(17, list(plan::kMaxProvided)),
    field<&Offer::order, &AssignmentOrder::on_overtime>(18, one_of(plan::kOnOvertimes)),
    field<&Offer::order, &AssignmentOrder::iterations>(19), field<&Offer::order, &AssignmentOrder::vus>(20),
    field<&Offer::order, &AssignmentOrder::permit>(21, kSpan),
    field<&Offer::order, &AssignmentOrder::witnesses>(22, list(kMaxWitnesses)),
    field<&Offer::order, &AssignmentOrder::witnesses_since>(23),
    field<&Offer::order, &AssignmentOrder::life>(24, fixed()),
    field<&Offer::order, &AssignmentOrder::files>(25, list(kMaxFilesBeside)));

template <>
constexpr auto kDescription<BeginMessage> = describe<BeginMessage>(
    "a start message of an assignment", field<&BeginMessage::job>(1, kJob), field<&BeginMessage::fence>(2, kFence),
    field<&BeginMessage::assignment>(3, kSome), field<&BeginMessage::clock>(4, kClock),
    field<&BeginMessage::resumes>(5), field<&BeginMessage::from>(6, kSecond),
    field<&BeginMessage::rows, &plan::RowPoint::rows>(7), field<&BeginMessage::rows, &plan::RowPoint::at>(8, kSpan));

template <>
constexpr auto kDescription<TakeOverMessage> = describe<TakeOverMessage>(
    "a take-over message of an assignment", field<&TakeOverMessage::job>(1, kJob),
    field<&TakeOverMessage::fence>(2, kFence), field<&TakeOverMessage::assignment>(3, kSome),
    field<&TakeOverMessage::clock>(4, kClock), field<&TakeOverMessage::from>(5, kSecond),
    field<&TakeOverMessage::waits>(6), field<&TakeOverMessage::rows, &plan::RowPoint::rows>(8),
    field<&TakeOverMessage::rows, &plan::RowPoint::at>(9, kSpan));

template <>
constexpr auto kDescription<HandOverMessage> =
    describe<HandOverMessage>("a hand-over message of an assignment", field<&HandOverMessage::job>(1, kJob),
                              field<&HandOverMessage::fence>(2, kFence), field<&HandOverMessage::assignment>(3, kSome),
                              field<&HandOverMessage::until>(4, between(uint64_t{1}, kMaxSeconds)));

template <>
constexpr auto kDescription<StopMessage> = describe<StopMessage>(
    "a stop message of an assignment", field<&StopMessage::job>(1, kJob), field<&StopMessage::fence>(2, kFence),
    field<&StopMessage::assignment>(3, kSome), field<&StopMessage::how>(4, one_of(kStopHows)),
    field<&StopMessage::why>(5, kText), field<&StopMessage::evict>(6));

template <>
constexpr auto kDescription<ScaleMessage> = describe<ScaleMessage>(
    "a number of users of an assignment", field<&ScaleMessage::job>(1, kJob), field<&ScaleMessage::fence>(2, kFence),
    field<&ScaleMessage::assignment>(3, kSome), field<&ScaleMessage::vus>(4));

template <>
constexpr auto kDescription<AdoptMessage::Stream> =
    describe<AdoptMessage::Stream>("a stream of a job", field<&AdoptMessage::Stream::assignment>(1, kSome),
                                   field<&AdoptMessage::Stream::applied>(2, kSecond));

template <>
constexpr auto kDescription<AdoptMessage> = describe<AdoptMessage, &wrong_streams<AdoptMessage>>(
    "an adoption of a job", field<&AdoptMessage::job>(1, kJob), field<&AdoptMessage::fence>(2, kFence),
    field<&AdoptMessage::streams>(3, list(kMaxAssignments)));

template <>
constexpr auto kDescription<FetchKept> =
    describe<FetchKept, &wrong_streams<FetchKept>>("a request for kept windows", field<&FetchKept::job>(1, kJob),
                                                   field<&FetchKept::streams>(2, list(kMaxAssignments)));

template <>
constexpr auto kDescription<RetireMessage> = describe<RetireMessage>(
    "a retirement of a job", field<&RetireMessage::job>(1, kJob), field<&RetireMessage::fence>(2, kFence));

template <>
constexpr auto kDescription<DenyMessage> = describe<DenyMessage>(
    "a denial of permits", field<&DenyMessage::job>(1, kJob), field<&DenyMessage::fence>(2, kFence),
    field<&DenyMessage::life>(3, fixed(kSome)), field<&DenyMessage::silent>(4), field<&DenyMessage::last>(5, kSome));

template <>
constexpr auto kDescription<RenewMessage> =
    describe<RenewMessage>("a request for a permit", field<&RenewMessage::job>(1, kJob),
                           field<&RenewMessage::life>(2, fixed(kSome)), field<&RenewMessage::asker>(3, fixed(kSome)),
                           field<&RenewMessage::first>(4, kSome), field<&RenewMessage::permit>(5, kSpan));

template <>
constexpr auto kDescription<Submit> =
    describe<Submit>("a submission", field<&Submit::job>(1, kJob), field<&Submit::by>(2, kText),
                     field<&Submit::bundle>(3, text(kMaxBundleBytes, 1)), field<&Submit::seed>(4, fixed()));

template <>
constexpr auto kDescription<Watch> = describe<Watch>(
    "a watch of a job", field<&Watch::job>(1, kJob), field<&Watch::revision>(2), field<&Watch::seconds>(3, kSecond),
    field<&Watch::life>(4, fixed()), field<&Watch::wait>(5, kSpan), field<&Watch::live_every>(6, kSpan));

template <>
constexpr auto kDescription<WatchLive> =
    describe<WatchLive>("a watch of live windows", field<&WatchLive::job>(1, kJob), field<&WatchLive::life>(2, fixed()),
                        field<&WatchLive::change>(3), field<&WatchLive::wait>(4, kSpan));

template <>
constexpr auto kDescription<FetchUnconfirmed> =
    describe<FetchUnconfirmed>("a request for an unconfirmed result", field<&FetchUnconfirmed::job>(1, kJob));

template <>
constexpr auto kDescription<ListJobs> = describe<ListJobs>("a request for jobs");
template <>
constexpr auto kDescription<ListWorkers> = describe<ListWorkers>("a request for workers");
template <>
constexpr auto kDescription<ListDatacenters> = describe<ListDatacenters>("a request for datacenters");

template <>
constexpr auto kDescription<Cancel> = describe<Cancel>(
    "a cancellation", field<&Cancel::job>(1, kJob), field<&Cancel::by>(2, kText), field<&Cancel::why>(3, kText),
    field<&Cancel::how>(4, one_of(kStopHows)), field<&Cancel::workflows>(5, list(kMaxWorkflows, not_empty(kText))),
    field<&Cancel::number>(6, fixed()));

template <>
constexpr auto kDescription<Scale> =
    describe<Scale>("a number of users", field<&Scale::job>(1, kJob), field<&Scale::by>(2, kText),
                    field<&Scale::workflow>(3, kText), field<&Scale::vus>(4));

template <>
constexpr auto kDescription<FetchBundle> =
    describe<FetchBundle>("a request for a bundle", field<&FetchBundle::job>(1, kJob));

template <>
constexpr auto kDescription<PutFile> = describe<PutFile, &wrong_chunk>(
    "a chunk of a file", field<&PutFile::file>(1), field<&PutFile::offset>(2, at_most(kMaxBytesBeside)),
    field<&PutFile::bytes>(3, text(kMaxFileChunk)));

template <>
constexpr auto kDescription<KeepFile> = describe<KeepFile>("an order to keep a file", field<&KeepFile::file>(1));

template <>
constexpr auto kDescription<FetchFile> =
    describe<FetchFile>("a request for a chunk of a file", field<&FetchFile::file>(1),
                        field<&FetchFile::offset>(2, at_most(kMaxBytesBeside)));

template <>
constexpr auto kDescription<ExtendMessage> = describe<ExtendMessage>(
    "a request for more time", field<&ExtendMessage::job>(1, kJob), field<&ExtendMessage::assignment>(2, kSome),
    field<&ExtendMessage::left>(3, kSpan),
    field<&ExtendMessage::request, &resilience::ExtensionRequest::reason>(4, one_of(resilience::kExtensionReasons)),
    field<&ExtendMessage::request, &resilience::ExtensionRequest::progress>(5, between(0.0, 1.0)),
    field<&ExtendMessage::request, &resilience::ExtensionRequest::estimate>(6, kSpan),
    field<&ExtendMessage::request, &resilience::ExtensionRequest::workflows>(7));

namespace {

using namespace wire::roles;  // NOLINT(google-build-using-namespace): a table of these
using resilience::Operation;
using resilience::Urgency;

// Senders, urgency, and the limit that it counts against (cluster/net/message_classes.h).
template <class T>
consteval Field message(uint32_t number, std::string_view name, wire::Roles senders, Urgency urgency,
                        Operation operation) {
  return alternative<T, JobMessage>(number, name).sent_by(senders, urgency, operation);
}

}  // namespace

template <>
constexpr auto kDescription<JobMessage> =
    describe<JobMessage>(
        "a message about jobs",
        // A silent worker counts as lost, and others would get its load.
        message<WorkerReport>(1, "report", kWorkers, Urgency::kCritical, Operation::kHeartbeat),
        // The measurements and the end: the ingest of a run.
        message<WindowMessage>(2, "window", kWorkers, Urgency::kCritical, Operation::kStatistics),
        message<EndMessage>(3, "end", kWorkers, Urgency::kCritical, Operation::kProgress),
        message<LiveMessage>(4, "live", kWorkers, Urgency::kNormal, Operation::kProgress),
        message<Offer>(5, "offer", kManagers, Urgency::kHigh, Operation::kDispatch),
        message<BundleMessage>(6, "bundle", kManagers, Urgency::kHigh, Operation::kDispatch),
        // All assignments of a workflow begin at once, a hand-over is at its second, and a stop must arrive.
        message<BeginMessage>(7, "begin", kManagers, Urgency::kCritical, Operation::kDispatch),
        message<StopMessage>(8, "stop", kManagers, Urgency::kCritical, Operation::kDispatch),
        message<AdoptMessage>(9, "adopt", kManagers, Urgency::kCritical, Operation::kDispatch),
        message<RetireMessage>(10, "retire", kManagers, Urgency::kCritical, Operation::kDispatch),
        message<Submit>(11, "submit", kAsking, Urgency::kHigh, Operation::kSubmit),
        message<Watch>(12, "watch", kAsking, Urgency::kNormal, Operation::kStatus),
        message<ListJobs>(13, "list_jobs", kAsking, Urgency::kLow, Operation::kStatus),
        message<Cancel>(14, "cancel", kAsking, Urgency::kCritical, Operation::kCancel),
        message<FetchBundle>(15, "fetch_bundle", kAsking, Urgency::kNormal, Operation::kFetch),
        message<ListWorkers>(16, "list_workers", kAsking, Urgency::kLow, Operation::kStatus),
        message<ListDatacenters>(17, "list_datacenters", kAsking, Urgency::kLow, Operation::kStatus),
        message<TakeOverMessage>(18, "take_over", kManagers, Urgency::kCritical, Operation::kDispatch),
        message<HandOverMessage>(19, "hand_over", kManagers, Urgency::kCritical, Operation::kDispatch),
        // Without more time the assignment is stopped.
        message<ExtendMessage>(20, "extend", kWorkers, Urgency::kCritical, Operation::kProgress),
        message<WatchLive>(21, "watch_live", kAsking, Urgency::kNormal, Operation::kStatistics),
        message<Scale>(22, "scale", kAsking, Urgency::kHigh, Operation::kCancel),
        message<ScaleMessage>(23, "scale_assignment", kManagers, Urgency::kHigh, Operation::kDispatch),
        // Without permits the load stops.
        message<DenyMessage>(24, "deny", kManagers, Urgency::kCritical, Operation::kDispatch),
        message<RenewMessage>(25, "renew", kWorkers, Urgency::kCritical, Operation::kHeartbeat),
        message<PutFile>(26, "put_file", kAsking, Urgency::kNormal, Operation::kStatistics),
        message<KeepFile>(27, "keep_file", kManagers, Urgency::kHigh, Operation::kStatistics),
        message<FetchFile>(28, "fetch_file", kManagers | kWorkers, Urgency::kHigh, Operation::kStatistics),
        message<FetchKept>(29, "fetch_kept", kManagers, Urgency::kNormal, Operation::kStatistics),
        message<FetchUnconfirmed>(30, "fetch_unconfirmed", kAsking, Urgency::kNormal, Operation::kFetch))
        .within(kMaxMessageBytes);

template const Message& message_of<JobMessage>();

}  // namespace bellwether::message

namespace bellwether::dispatch {

std::string encode(const JobMessage& message) { return message::encode(message); }
std::string encode(const Response& response) { return message::encode(response); }
Result<JobMessage> decode_message(std::string_view bytes) { return message::decode<JobMessage>(bytes); }
Result<Response> decode_response(std::string_view bytes) { return message::decode<Response>(bytes); }

}  // namespace bellwether::dispatch

// The answers of messages_codec.h.
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
constexpr auto kDescription<Kept> = describe<Kept>("kept windows", field<&Kept::windows>(1, list(kMaxNews)),
                                                   field<&Kept::ends>(2, list(kMaxHeldAssignments)));

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
        alternative<FileChunk, Response>(15, "file_chunk"), alternative<Kept, Response>(16, "kept"))
        .within(kMaxResponseBytes);

template const Message& message_of<Response>();

}  // namespace bellwether::message
