#include "jobs/dispatch/codec/letters_codec.h"

#include "cluster/wire/identity.h"
#include "core/resilience/overload.h"
#include "core/resilience/request_limiter.h"
#include "jobs/dispatch/codec/parts.h"

namespace bellwether::dispatch {
namespace {

using namespace rule;  // every line of this file is made of these

std::string_view wrong_report(const WorkerReport& report) {
  if (report.free > report.cores) return "more free cores than there are";
  const bool distinct = are_distinct(report.held, [](const WorkerReport::Held& one) {
    return std::pair<std::string_view, ShareId>(one.job, one.share);
  });
  return distinct ? "" : kShareTwice;
}
std::string_view wrong_window(const WindowLetter& letter) {
  return letter.first <= letter.last ? "" : "numbers of a stream that are none";
}
std::string_view wrong_live(const LiveLetter& live) {
  const bool distinct = are_distinct(live.shares, [](const LiveLetter::Share& one) {
    return std::pair<std::string_view, ShareId>(one.job, one.share);
  });
  return distinct ? "" : kShareTwice;
}
std::string_view wrong_offer(const Offer& offer) {
  if (!is_good(offer.order.parts)) return "parts that are none";
  return offer.order.cores <= offer.order.parts.count ? "" : "more cores than parts";
}
std::string_view wrong_adopt(const AdoptLetter& letter) {
  return are_distinct(letter.streams, [](const AdoptLetter::Stream& one) { return one.share; }) ? "" : kShareTwice;
}

}  // namespace
}  // namespace bellwether::dispatch

namespace bellwether::message {

using namespace dispatch;        // NOLINT(google-build-using-namespace)
using namespace dispatch::rule;  // NOLINT(google-build-using-namespace)

template <>
constexpr auto kDescription<Headway> = describe<Headway>(
    "how far a share has come", field<&Headway::could_turn>(1, kCount), field<&Headway::turned>(2, kCount),
    field<&Headway::could_begin>(3, kCount), field<&Headway::begun>(4, kCount), field<&Headway::due>(5, kCount),
    field<&Headway::served>(6, kCount));

template <>
constexpr auto kDescription<WorkerReport::Held> = describe<WorkerReport::Held>(
    "a share that a worker holds", field<&WorkerReport::Held::job>(1, kJob),
    field<&WorkerReport::Held::fence>(2, kFence), field<&WorkerReport::Held::share>(3, kSome),
    field<&WorkerReport::Held::phase>(4, one_of(kSharePhases)), field<&WorkerReport::Held::headway>(5));

template <>
constexpr auto kDescription<WorkerReport> = describe<WorkerReport, &wrong_report>(
    "a report of a worker", field<&WorkerReport::life>(1, fixed(kSome)), field<&WorkerReport::cores>(2, kCores),
    field<&WorkerReport::free>(3), field<&WorkerReport::takes_work>(4), field<&WorkerReport::healthy>(5),
    field<&WorkerReport::state>(6, kText), field<&WorkerReport::reason>(7, kText),
    field<&WorkerReport::held>(8, list(kMostHeldShares)), field<&WorkerReport::leaves>(9));

template <>
constexpr auto kDescription<WindowLetter> = describe<WindowLetter, &wrong_window>(
    "windows of a share", field<&WindowLetter::job>(1, kJob), field<&WindowLetter::share>(2, kSome),
    field<&WindowLetter::from>(3, kSecond), field<&WindowLetter::first>(4, kSome),
    field<&WindowLetter::last>(5, kSecond), field<&WindowLetter::window>(6, text(account::kMostWindowBytes)));

template <>
constexpr auto kDescription<EndLetter> =
    describe<EndLetter>("the end of a share", field<&EndLetter::job>(1, kJob), field<&EndLetter::share>(2, kSome),
                        field<&EndLetter::end>(3), field<&EndLetter::until>(4, kSecond));

template <>
constexpr auto kDescription<LiveLetter::Share> = describe<LiveLetter::Share>(
    "live figures of a share", field<&LiveLetter::Share::job>(1, kJob), field<&LiveLetter::Share::share>(2, kSome),
    field<&LiveLetter::Share::requests>(3, kCount), field<&LiveLetter::Share::failed>(4, kCount),
    field<&LiveLetter::Share::iterations>(5, kCount), field<&LiveLetter::Share::dropped>(6, kCount),
    field<&LiveLetter::Share::vus>(7, kCount));

template <>
constexpr auto kDescription<LiveLetter> = describe<LiveLetter, &wrong_live>(
    "live figures of a worker", field<&LiveLetter::number>(1), field<&LiveLetter::shares>(2, list(kMostHeldShares)),
    field<&LiveLetter::collected>(3, kSpan));

template <>
constexpr auto kDescription<Offer> = describe<Offer, &wrong_offer>(
    "an offer of a share", field<&Offer::order, &ShareOrder::job>(1, kJob),
    field<&Offer::order, &ShareOrder::share>(2, kSome), field<&Offer::order, &ShareOrder::fence>(3, kFence),
    field<&Offer::order, &ShareOrder::workflow>(4, kWorkflow),
    field<&Offer::order, &ShareOrder::parts, &PartRange::first>(5),
    field<&Offer::order, &ShareOrder::parts, &PartRange::count>(6),
    field<&Offer::order, &ShareOrder::parts, &PartRange::of>(7), field<&Offer::order, &ShareOrder::cores>(8, kSome),
    field<&Offer::order, &ShareOrder::squeeze>(9), field<&Offer::order, &ShareOrder::base_second>(10, kSecond),
    field<&Offer::order, &ShareOrder::seed>(11, fixed()), field<&Offer::order, &ShareOrder::bundle>(12, kHash),
    field<&Offer::order, &ShareOrder::kill_grace>(13, kSpan),
    field<&Offer::order, &ShareOrder::isolation_limit>(14, kSomeSpan),
    field<&Offer::order, &ShareOrder::execution_limit>(15, kSomeSpan),
    field<&Offer::order, &ShareOrder::context_version>(16),
    field<&Offer::order, &ShareOrder::given>(17, list(plan::kMostProvided)),
    field<&Offer::order, &ShareOrder::on_overtime>(18, one_of(plan::kOnOvertimes)),
    field<&Offer::order, &ShareOrder::iterations>(19), field<&Offer::order, &ShareOrder::vus>(20));

template <>
constexpr auto kDescription<BeginLetter> = describe<BeginLetter>(
    "the begin of a share", field<&BeginLetter::job>(1, kJob), field<&BeginLetter::fence>(2, kFence),
    field<&BeginLetter::share>(3, kSome), field<&BeginLetter::clock>(4, kClock), field<&BeginLetter::resumes>(5),
    field<&BeginLetter::from>(6, kSecond));

template <>
constexpr auto kDescription<TakeOverLetter> =
    describe<TakeOverLetter>("a take-over of a share", field<&TakeOverLetter::job>(1, kJob),
                             field<&TakeOverLetter::fence>(2, kFence), field<&TakeOverLetter::share>(3, kSome),
                             field<&TakeOverLetter::clock>(4, kClock), field<&TakeOverLetter::from>(5, kSecond));

template <>
constexpr auto kDescription<HandOverLetter> = describe<HandOverLetter>(
    "a hand-over of a share", field<&HandOverLetter::job>(1, kJob), field<&HandOverLetter::fence>(2, kFence),
    field<&HandOverLetter::share>(3, kSome), field<&HandOverLetter::until>(4, between(uint64_t{1}, kMostSeconds)));

template <>
constexpr auto kDescription<StopLetter> =
    describe<StopLetter>("a stop of a share", field<&StopLetter::job>(1, kJob), field<&StopLetter::fence>(2, kFence),
                         field<&StopLetter::share>(3, kSome), field<&StopLetter::how>(4, one_of(kStopHows)),
                         field<&StopLetter::why>(5, kText));

template <>
constexpr auto kDescription<ScaleLetter> = describe<ScaleLetter>(
    "a number of users of a share", field<&ScaleLetter::job>(1, kJob), field<&ScaleLetter::fence>(2, kFence),
    field<&ScaleLetter::share>(3, kSome), field<&ScaleLetter::vus>(4));

template <>
constexpr auto kDescription<AdoptLetter::Stream> =
    describe<AdoptLetter::Stream>("a stream of a job", field<&AdoptLetter::Stream::share>(1, kSome),
                                  field<&AdoptLetter::Stream::applied>(2, kSecond));

template <>
constexpr auto kDescription<AdoptLetter> = describe<AdoptLetter, &wrong_adopt>(
    "an adoption of a job", field<&AdoptLetter::job>(1, kJob), field<&AdoptLetter::fence>(2, kFence),
    field<&AdoptLetter::streams>(3, list(kMostShares)));

template <>
constexpr auto kDescription<RetireLetter> = describe<RetireLetter>(
    "a retirement of a job", field<&RetireLetter::job>(1, kJob), field<&RetireLetter::fence>(2, kFence));

template <>
constexpr auto kDescription<Submit> =
    describe<Submit>("a submission", field<&Submit::job>(1, kJob), field<&Submit::by>(2, kText),
                     field<&Submit::bundle>(3, text(kMostBundleBytes, 1)), field<&Submit::seed>(4, fixed()));

template <>
constexpr auto kDescription<Watch> = describe<Watch>(
    "a watch of a job", field<&Watch::job>(1, kJob), field<&Watch::revision>(2), field<&Watch::seconds>(3, kSecond),
    field<&Watch::life>(4, fixed()), field<&Watch::wait>(5, kSpan), field<&Watch::live_every>(6, kSpan));

template <>
constexpr auto kDescription<WatchLive> =
    describe<WatchLive>("a watch of live windows", field<&WatchLive::job>(1, kJob), field<&WatchLive::life>(2, fixed()),
                        field<&WatchLive::change>(3), field<&WatchLive::wait>(4, kSpan));

template <>
constexpr auto kDescription<ListJobs> = describe<ListJobs>("a question for jobs");
template <>
constexpr auto kDescription<ListWorkers> = describe<ListWorkers>("a question for workers");
template <>
constexpr auto kDescription<ListDatacenters> = describe<ListDatacenters>("a question for datacenters");

template <>
constexpr auto kDescription<Cancel> = describe<Cancel>(
    "a cancellation", field<&Cancel::job>(1, kJob), field<&Cancel::by>(2, kText), field<&Cancel::why>(3, kText),
    field<&Cancel::how>(4, one_of(kStopHows)), field<&Cancel::workflows>(5, list(kMostWorkflows, not_empty(kText))),
    field<&Cancel::number>(6, fixed()));

template <>
constexpr auto kDescription<Scale> =
    describe<Scale>("a number of users", field<&Scale::job>(1, kJob), field<&Scale::by>(2, kText),
                    field<&Scale::workflow>(3, kText), field<&Scale::vus>(4));

template <>
constexpr auto kDescription<FetchBundle> =
    describe<FetchBundle>("a question for a bundle", field<&FetchBundle::job>(1, kJob));

template <>
constexpr auto kDescription<ExtendLetter> = describe<ExtendLetter>(
    "a request for more time", field<&ExtendLetter::job>(1, kJob), field<&ExtendLetter::share>(2, kSome),
    field<&ExtendLetter::left>(3, kSpan),
    field<&ExtendLetter::request, &resilience::ExtensionRequest::reason>(4, one_of(resilience::kExtensionReasons)),
    field<&ExtendLetter::request, &resilience::ExtensionRequest::progress>(5, between(0.0, 1.0)),
    field<&ExtendLetter::request, &resilience::ExtensionRequest::estimate>(6, kSpan),
    field<&ExtendLetter::request, &resilience::ExtensionRequest::workflows>(7));

namespace {

using namespace wire::roles;  // NOLINT(google-build-using-namespace): a table of these
using resilience::Operation;
using resilience::Urgency;

// Senders, urgency, and the limit that it counts against (cluster/net/message_classes.h).
template <class T>
consteval Field letter(uint32_t number, std::string_view name, wire::Roles senders, Urgency urgency,
                       Operation operation) {
  return alternative<T, Letter>(number, name).sent_by(senders, urgency, operation);
}

}  // namespace

template <>
constexpr auto kDescription<Letter> =
    describe<Letter>(
        "a letter about jobs",
        // A silent worker counts as lost, and others would get its load.
        letter<WorkerReport>(1, "report", kWorkers, Urgency::kCritical, Operation::kHeartbeat),
        // The measurements and the end: the account of a run.
        letter<WindowLetter>(2, "window", kWorkers, Urgency::kCritical, Operation::kStatistics),
        letter<EndLetter>(3, "end", kWorkers, Urgency::kCritical, Operation::kProgress),
        letter<LiveLetter>(4, "live", kWorkers, Urgency::kNormal, Operation::kProgress),
        letter<Offer>(5, "offer", kManagers, Urgency::kHigh, Operation::kDispatch),
        letter<BundleLetter>(6, "bundle", kManagers, Urgency::kHigh, Operation::kDispatch),
        // All assignments of a workflow begin at once, a hand-over is at its second, and a stop must arrive.
        letter<BeginLetter>(7, "begin", kManagers, Urgency::kCritical, Operation::kDispatch),
        letter<StopLetter>(8, "stop", kManagers, Urgency::kCritical, Operation::kDispatch),
        letter<AdoptLetter>(9, "adopt", kManagers, Urgency::kCritical, Operation::kDispatch),
        letter<RetireLetter>(10, "retire", kManagers, Urgency::kCritical, Operation::kDispatch),
        letter<Submit>(11, "submit", kAsking, Urgency::kHigh, Operation::kSubmit),
        letter<Watch>(12, "watch", kAsking, Urgency::kNormal, Operation::kStatus),
        letter<ListJobs>(13, "list_jobs", kAsking, Urgency::kLow, Operation::kStatus),
        letter<Cancel>(14, "cancel", kAsking, Urgency::kCritical, Operation::kCancel),
        letter<FetchBundle>(15, "fetch_bundle", kAsking, Urgency::kNormal, Operation::kFetch),
        letter<ListWorkers>(16, "list_workers", kAsking, Urgency::kLow, Operation::kStatus),
        letter<ListDatacenters>(17, "list_datacenters", kAsking, Urgency::kLow, Operation::kStatus),
        letter<TakeOverLetter>(18, "take_over", kManagers, Urgency::kCritical, Operation::kDispatch),
        letter<HandOverLetter>(19, "hand_over", kManagers, Urgency::kCritical, Operation::kDispatch),
        // Without more time the assignment is stopped.
        letter<ExtendLetter>(20, "extend", kWorkers, Urgency::kCritical, Operation::kProgress),
        letter<WatchLive>(21, "watch_live", kAsking, Urgency::kNormal, Operation::kStatistics),
        letter<Scale>(22, "scale", kAsking, Urgency::kHigh, Operation::kCancel),
        letter<ScaleLetter>(23, "scale_share", kManagers, Urgency::kHigh, Operation::kDispatch))
        .within(kMostLetterBytes);

template <>
const Message& message_of<Letter>() {
  return described<Letter>();
}

}  // namespace bellwether::message

namespace bellwether::dispatch {

std::string encode(const Letter& letter) { return message::encode(letter); }
std::string encode(const Response& response) { return message::encode(response); }
Result<Letter> decode_letter(std::string_view bytes) { return message::decode<Letter>(bytes); }
Result<Response> decode_response(std::string_view bytes) { return message::decode<Response>(bytes); }

}  // namespace bellwether::dispatch
