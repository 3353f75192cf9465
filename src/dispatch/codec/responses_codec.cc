// The answers of letters_codec.h.
#include <optional>

#include "account/window_codec.h"
#include "dispatch/codec/letters_codec.h"
#include "dispatch/codec/share_fields.h"
#include "dispatch/codec/sheet_codec.h"
#include "proto/dispatch.pb.h"

namespace bellwether::dispatch {
namespace {

using Wire = wire::DispatchResponse;

// --- writing ---------------------------------------------------------------------------------------------------------

void put(const LiveSum& from, wire::LiveSum& to) {
  to.set_requests(from.requests);
  to.set_failed(from.failed);
  to.set_iterations(from.iterations);
  to.set_dropped(from.dropped);
  to.set_vus(static_cast<uint64_t>(from.vus));
  to.set_age_ns(from.age.ns());
}

struct Writer {
  Wire& to;

  void operator()(const Noted& from) const { to.mutable_noted()->set_pressure(static_cast<uint32_t>(from.pressure)); }
  void operator()(const Refusal& from) const {
    Wire::Refused& refused = *to.mutable_refused();
    refused.set_kind(static_cast<uint32_t>(from.kind));
    refused.set_why(fit_text(from.why));
    refused.set_owner(from.owner);
    refused.set_fence(from.fence.value());
    refused.set_again_after_ns(from.again_after.ns());
  }
  void operator()(const Applied& from) const {
    to.mutable_applied()->set_applied(from.applied);
    to.mutable_applied()->set_durable(from.durable);
    to.mutable_applied()->set_excess(from.excess);
    to.mutable_applied()->set_pressure(static_cast<uint32_t>(from.pressure));
  }
  void operator()(const Adopted& from) const {
    to.mutable_adopted();
    for (const ShareSight& one : from.shares) {
      Wire::Adopted::Sight& sight = *to.mutable_adopted()->add_shares();
      sight.set_share(one.share.value());
      sight.set_phase(static_cast<uint32_t>(one.phase));
      sight.set_clock_ns(one.clock.ns());
      sight.set_from(one.from);
      sight.set_measured(one.measured);
      sight.set_until(one.until);
      if (one.phase == SharePhase::kEnded) put(one.end, *sight.mutable_end());
    }
  }
  void operator()(const Submitted& from) const {
    to.mutable_submitted()->set_job(from.job);
    to.mutable_submitted()->set_state(static_cast<uint32_t>(from.state));
    to.mutable_submitted()->set_position(from.position);
  }
  void operator()(const Watched& from) const {
    Wire::Watched& watched = *to.mutable_watched();
    watched.set_sheet(sheet_bytes(from.sheet));
    watched.set_position(from.position);
    watched.set_owner(from.owner);
    watched.set_life(from.life);
    watched.set_seconds(from.seconds);
    watched.set_totals(from.totals);
    for (const SecondOver& one : from.news) {
      Wire::Watched::Second& second = *watched.add_news();
      second.set_covered_ns(one.covered.ns());
      second.set_amends(one.amends);
      second.set_window(one.window);
    }
    watched.set_final(from.final);
    if (from.live != LiveSum()) put(from.live, *watched.mutable_live());
  }
  void operator()(const LiveNews& from) const {
    Wire::LiveNews& news = *to.mutable_live_news();
    news.set_life(from.life);
    news.set_change(from.change);
    for (const LiveWindow& one : from.windows) {
      Wire::LiveNews::Window& window = *news.add_windows();
      window.set_number(one.number);
      window.set_revision(one.revision);
      window.set_told(one.told);
      put(one.done, *window.mutable_done());
    }
    put(from.total, *news.mutable_total());
    news.set_final(from.final);
  }
  void operator()(const JobList& from) const {
    to.mutable_jobs()->set_cut(from.cut);
    for (const JobLine& one : from.jobs) {
      Wire::JobList::Line& line = *to.mutable_jobs()->add_jobs();
      line.set_id(one.id);
      line.set_name(fit_text(one.name));
      line.set_by(fit_text(one.by));
      line.set_state(static_cast<uint32_t>(one.state));
      line.set_why(fit_text(one.why));
      line.set_submitted_ns(one.submitted.unix_ns);
      line.set_started_ns(one.started.unix_ns);
      line.set_ended_ns(one.ended.unix_ns);
      line.set_owner(one.owner);
      line.set_position(one.position);
    }
  }
  void operator()(const BundleLetter& from) const { put(from, *to.mutable_bundle()); }
  void operator()(const WorkerList& from) const {
    to.mutable_workers();
    for (const WorkerLine& one : from.workers) {
      Wire::WorkerList::Line& line = *to.mutable_workers()->add_workers();
      line.set_name(one.name);
      line.set_cores(one.cores);
      line.set_free(one.free);
      line.set_state(fit_text(one.state));
      line.set_reason(fit_text(one.reason));
      line.set_shares(one.shares);
      line.set_progress(fit_text(one.progress));
    }
  }
  void operator()(const DatacenterList& from) const {
    to.mutable_datacenters();
    for (const DatacenterLine& one : from.datacenters) {
      Wire::DatacenterList::Line& line = *to.mutable_datacenters()->add_datacenters();
      line.set_name(fit_text(one.name));
      line.set_managers(one.managers);
      line.set_workers(one.workers);
      line.set_cores(one.cores);
      line.set_free(one.free);
      line.set_health(fit_text(one.health));
      line.set_reason(fit_text(one.reason));
    }
  }
  void operator()(const MoreTime& from) const {
    to.mutable_more_time()->set_granted_ns(from.granted.ns());
    to.mutable_more_time()->set_remaining(from.remaining);
    to.mutable_more_time()->set_warning(from.warning);
    to.mutable_more_time()->set_over(from.over);
    to.mutable_more_time()->set_why(fit_text(from.why));
  }
};

// --- reading ---------------------------------------------------------------------------------------------------------

class Reader : public FieldReader {
 public:
  std::optional<Response> response(Wire& from);

 private:
  Refusal refused(const Wire::Refused& from) {
    Refusal out;
    out.kind = from.kind() < kRefusalKinds ? static_cast<Refusal::Kind>(from.kind()) : Refusal::Kind::kUnavailable;
    out.why = text(from.why());
    out.owner = node_or_none(from.owner());
    out.fence = known_fence(from.fence());
    out.again_after = span(from.again_after_ns());
    return out;
  }
  Applied applied(const Wire::Applied& from) {
    if (from.durable() > from.applied()) refuse("more that is durable than was applied");
    return {second(from.applied()), second(from.durable()), from.excess(), pressure(from.pressure())};
  }
  // Of one that only a newer version knows, as much is obeyed as this one can.
  static resilience::Backpressure pressure(uint32_t from) {
    return from < resilience::kBackpressures ? static_cast<resilience::Backpressure>(from)
                                             : resilience::Backpressure::kReject;
  }
  Adopted adopted(const Wire::Adopted& from) {
    Adopted out;
    if (!fits(from.shares_size(), kMostShares)) return out;
    std::vector<std::pair<std::string_view, ShareId>> distinct;
    for (const auto& one : from.shares()) {
      ShareSight& sight = out.shares.emplace_back();
      sight.share = share(one.share());
      sight.phase = one_of<SharePhase>(one.phase(), kSharePhases);
      sight.clock = clock(one.clock_ns());
      sight.from = second(one.from());
      sight.measured = second(one.measured());
      sight.until = second(one.until());
      if (sight.phase == SharePhase::kEnded) sight.end = read_end(*this, one.end());
      if (sight.end.last_number > sight.measured) refuse("an end beyond what was measured");
      distinct.emplace_back("", sight.share);
    }
    require_distinct(*this, std::move(distinct));
    return out;
  }
  LiveSum live(const wire::LiveSum& from) {
    return {sum(from.requests()),
            sum(from.failed()),
            sum(from.iterations()),
            sum(from.dropped()),
            static_cast<int64_t>(sum(from.vus())),
            span(from.age_ns())};
  }
  // Of as many counts as a job may have shares.
  uint64_t sum(uint64_t from) {
    if (from <= account::kMostCount * kMostShares) return from;
    refuse("a sum that cannot be");
    return 0;
  }
  Watched watched(Wire::Watched& from) {
    Watched out;
    auto sheet = read_sheet(from.sheet());
    if (sheet) {
      out.sheet = *std::move(sheet);
    } else {
      refuse("a sheet that cannot be");
    }
    out.position = from.position();
    out.owner = node_or_none(from.owner());
    out.life = from.life();
    out.seconds = second(from.seconds());
    out.totals = bulk(from.mutable_totals(), kMostTotalsBytes);
    out.final = from.final();
    out.live = live(from.live());
    if (!fits(from.news_size(), kMostNews)) return out;
    for (auto& one : *from.mutable_news()) {
      out.news.push_back({span(one.covered_ns()), one.amends(), bulk(one.mutable_window(), account::kMostWindowBytes)});
    }
    return out;
  }
  LiveNews live_news(const Wire::LiveNews& from) {
    LiveNews out{from.life(), from.change(), {}, live(from.total()), from.final()};
    if (!fits(from.windows_size(), kMostLiveWindows)) return out;
    for (const auto& one : from.windows()) {
      if (!out.windows.empty() && one.number() <= out.windows.back().number) refuse("windows that are not in order");
      if (one.number() > kMostSeconds * 10) refuse("a window that cannot be");
      out.windows.push_back({one.number(), one.revision(), one.told(), live(one.done())});
    }
    return out;
  }
  JobList jobs(const Wire::JobList& from) {
    JobList out;
    out.cut = from.cut();
    if (!fits(from.jobs_size(), kMostJobLines)) return out;
    for (const auto& one : from.jobs()) {
      JobLine& line = out.jobs.emplace_back();
      line.id = job(one.id());
      line.name = text(one.name());
      line.by = text(one.by());
      line.state = one_of<JobState>(one.state(), kJobStates);
      line.why = text(one.why());
      line.submitted = moment(one.submitted_ns());
      line.started = moment(one.started_ns());
      line.ended = moment(one.ended_ns());
      line.owner = node_or_none(one.owner());
      line.position = one.position();
    }
    return out;
  }
  WorkerList workers(const Wire::WorkerList& from) {
    WorkerList out;
    if (!fits(from.workers_size(), kMostWorkerLines)) return out;
    for (const auto& one : from.workers()) {
      WorkerLine& line = out.workers.emplace_back();
      line.name = node(one.name());
      line.cores = cores(one.cores());
      line.free = one.free();
      if (line.free > line.cores) refuse("more free cores than there are");
      line.state = text(one.state());
      line.reason = text(one.reason());
      line.shares = one.shares();
      line.progress = text(one.progress());
    }
    return out;
  }
  DatacenterList datacenters(const Wire::DatacenterList& from) {
    DatacenterList out;
    if (!fits(from.datacenters_size(), kMostDatacenterLines)) return out;
    for (const auto& one : from.datacenters()) {
      DatacenterLine& line = out.datacenters.emplace_back();
      line.name = text(one.name());
      line.managers = one.managers();
      line.workers = one.workers();
      line.cores = one.cores();
      line.free = one.free();
      if (line.free > line.cores) refuse("more free cores than there are");
      line.health = text(one.health());
      line.reason = text(one.reason());
    }
    return out;
  }
};

std::optional<Response> Reader::response(Wire& from) {
  switch (from.body_case()) {
    case Wire::kNoted: return Noted{pressure(from.noted().pressure())};
    case Wire::kRefused: return refused(from.refused());
    case Wire::kApplied: return applied(from.applied());
    case Wire::kAdopted: return adopted(from.adopted());
    case Wire::kSubmitted:
      return Submitted{job(from.submitted().job()), one_of<JobState>(from.submitted().state(), kJobStates),
                       from.submitted().position()};
    case Wire::kWatched: return watched(*from.mutable_watched());
    case Wire::kJobs: return jobs(from.jobs());
    case Wire::kBundle: return read_bundle(*this, *from.mutable_bundle());
    case Wire::kWorkers: return workers(from.workers());
    case Wire::kDatacenters: return datacenters(from.datacenters());
    case Wire::kMoreTime: {
      const Wire::MoreTime& more = from.more_time();
      return MoreTime{span(more.granted_ns()), more.remaining(), more.warning(), more.over(), text(more.why())};
    }
    case Wire::kLiveNews: return live_news(from.live_news());
    case Wire::BODY_NOT_SET: break;
  }
  return std::nullopt;
}

}  // namespace

std::string encode(const Response& response) {
  Wire out;
  std::visit(Writer{out}, response);
  return out.SerializeAsString();
}

Result<Response> decode_response(std::string_view bytes) {
  Wire in;
  const bool good = may_parse(bytes, kMostResponseBytes, {Wire::kWatchedFieldNumber, Wire::kBundleFieldNumber});
  if (!good || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "an answer about jobs that cannot be read, or is too large");
  }
  Reader reader;
  std::optional<Response> out = reader.response(in);
  if (!out) return fail(Errc::kUnsupported, "an answer about jobs of a kind that this version does not know");
  if (reader.wrong() != nullptr) {
    return fail(Errc::kProtocol, std::string("an answer about jobs is refused: it has ") + reader.wrong());
  }
  return *std::move(out);
}

}  // namespace bellwether::dispatch
