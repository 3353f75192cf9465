#include "jobs/manager/unconfirmed.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/units.h"
#include "core/runtime/scope.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "jobs/ingest/run_ingest.h"
#include "jobs/manager/job_coordinator.h"
#include "load/codec/totals_codec.h"
#include "load/plan/load.h"

namespace bellwether::node {
namespace {

using dispatch::Refusal;
using dispatch::refusal;
using ingest::StreamId;
using runtime::task;

constexpr Duration kMaxCopies = Duration::seconds(5);   // to read all copies
constexpr Duration kMaxWorkers = Duration::seconds(8);  // for the answers of all workers
constexpr std::size_t kAtOnce = 16;                     // of them
constexpr std::size_t kMaxNamed = 5;                    // silent ones, in the event

// The job as it is put together.
struct Sum {
  dispatch::JobRecord record;
  ingest::RunIngest ingest;
  std::vector<std::string> workers;
  std::size_t next = 0;  // of the workers
  std::vector<std::string> silent;
  bool has_gap = false;  // the copy lacks seconds that no worker keeps: later ones do not count
};

// True: it has taken something, and the worker may keep more.
bool take(Instant now, Sum& sum, const dispatch::Kept& kept) {
  bool news = false;
  for (const dispatch::WindowMessage& one : kept.windows) {
    const StreamId stream(one.assignment.value());
    if (!sum.ingest.knows(stream)) continue;  // begun under a newer record, which nobody here has
    const auto heard = sum.ingest.hear(now, stream, one.first, one.last, one.window);
    news = news || (heard && *heard == ingest::RunIngest::Heard::kCounted);
    sum.has_gap = sum.has_gap || (heard && *heard == ingest::RunIngest::Heard::kGap);
  }
  for (const dispatch::EndMessage& one : kept.ends) {
    const auto found = std::ranges::find(sum.record.assignments, one.assignment, &dispatch::AssignmentRecord::id);
    if (found != sum.record.assignments.end() && !found->end) found->end = one.end;
  }
  return news;
}

task<void> ask_workers(runtime::Runtime* runtime, cluster::PeerLinks* links, const ClusterView* cluster_view, Sum* sum,
                       Instant deadline, runtime::Cancellation* cancel) {
  while (sum->next < sum->workers.size()) {
    const std::string worker = sum->workers[sum->next++];
    const auto address = cluster_view->find(worker);
    bool answered = false;
    for (bool more = address.has_value(); more;) {
      answered = false;
      dispatch::FetchKept question{sum->record.id, {}};
      for (const dispatch::AssignmentRecord& one : sum->record.assignments) {
        if (one.worker != worker || !one.streams) continue;
        question.streams.push_back({one.id, sum->ingest.applied(StreamId(one.id.value()))});
      }
      const Duration left = deadline - runtime->read_clock();
      if (left <= Duration::zero()) break;
      const auto answer = co_await ask(*links, *address, std::move(question), left, cancel);
      const auto* kept = answer ? std::get_if<dispatch::Kept>(&*answer) : nullptr;
      answered = kept != nullptr;
      more = answered && take(runtime->read_clock(), *sum, *kept);
    }
    if (!answered) sum->silent.push_back(worker);
  }
}

std::string describe(const Sum& sum, const std::string& self) {
  std::string text = fmt::format("manager '{}' counted what {} of {} still kept", self,
                                 sum.workers.size() - sum.silent.size(), format_count(sum.workers.size(), "worker"));
  for (std::size_t i = 0; i < std::min(sum.silent.size(), kMaxNamed); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "; no answer from " : ", ", sum.silent[i]);
  }
  if (sum.silent.size() > kMaxNamed) text += ", …";
  return sum.has_gap ? text + "; some of it is missing, because no copy that is left has the seconds before it" : text;
}

}  // namespace

task<dispatch::Response> fetch_unconfirmed(runtime::Runtime& runtime, cluster::PeerLinks& links,
                                           const ClusterView& cluster_view, blobs::Blobs& blobs, KnownJobs::Known known,
                                           runtime::Cancellation* cancel) {
  const auto unavailable = [](const std::string& what, const Error& error) {
    return refusal(Refusal::Kind::kUnavailable, fmt::format("{}: {}", what, error.message));
  };
  const std::string job = known.record.id;
  const Error none{Errc::kNotFound, "no manager that answers has a copy"};
  const Instant deadline = runtime.read_clock() + kMaxCopies;
  if (known.apart) {
    const auto large = co_await blobs.get_unconfirmed({job, kRecordBlob}, deadline, cancel);
    auto record = !large    ? tl::unexpected(large.error())
                  : !*large ? Result<dispatch::JobRecord>(tl::unexpected(none))
                            : dispatch::read_record((*large)->bytes);
    if (!record) co_return unavailable("its record", record.error());
    known.record = std::move(*record);
  }
  const auto bundle = co_await blobs.get_unconfirmed({job, kBundleBlob}, deadline, cancel);
  if (!bundle || !*bundle) co_return unavailable("its scenario", bundle ? none : bundle.error());
  const auto decoded = dispatch::decode_bundle((*bundle)->bytes);
  const auto plan = decoded ? plan::plan_of(*decoded) : tl::unexpected(decoded.error());
  if (!plan) co_return unavailable("its scenario", plan.error());
  const auto copy = co_await blobs.get_unconfirmed({job, kIngestBlob}, deadline, cancel);
  auto ingest = copy && *copy ? ingest::RunIngest::restore(runtime.read_clock(), *plan, (*copy)->bytes)
                              : Result<ingest::RunIngest>(ingest::RunIngest(*plan));
  if (!ingest) co_return unavailable("its statistics", ingest.error());

  Sum sum{.record = std::move(known.record), .ingest = std::move(*ingest), .workers = {}, .silent = {}};
  std::set<std::string> workers;
  for (const dispatch::AssignmentRecord& one : sum.record.assignments) {
    if (!one.streams) continue;
    const StreamId stream(one.id.value());
    static_cast<void>(sum.ingest.open(stream, one.from));  // an error: it has counted before
    if (one.state == dispatch::AssignmentState::kGone) {
      sum.ingest.close(stream);
    } else {
      workers.insert(one.worker);
    }
  }
  sum.workers.assign(workers.begin(), workers.end());
  runtime::Scope scope(cancel);
  const Instant asked = runtime.read_clock() + kMaxWorkers;
  for (std::size_t i = 0; i < std::min(kAtOnce, sum.workers.size()); ++i) {
    scope.spawn(ask_workers(&runtime, &links, &cluster_view, &sum, asked, scope.cancellation()));
  }
  co_await scope.join();
  sum.ingest.finish(runtime.read_clock());

  dispatch::Watched out;
  auto totals = ingest::encode_totals(sum.ingest.totals().save());
  if (!totals) co_return unavailable("its statistics", totals.error());
  std::vector<dispatch::JobEvent>& events = sum.record.events;
  events.push_back({sum.ingest.totals().elapsed(), "unconfirmed", describe(sum, cluster_view.self())});
  if (events.size() > dispatch::kMaxJobEvents) {
    events.erase(events.begin() + dispatch::kMaxJobEvents / 2);
    ++sum.record.events_dropped;
  }
  out.record = std::move(sum.record);
  out.owner = cluster_view.self();
  out.totals = std::move(*totals);
  out.seconds = sum.ingest.seconds();
  co_return out;
}

}  // namespace bellwether::node
