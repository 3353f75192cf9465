#include "dispatch/codec/letters_codec.h"

#include <optional>

#include "account/window_codec.h"
#include "dispatch/codec/bundle_codec.h"
#include "dispatch/codec/context_codec.h"
#include "dispatch/codec/share_fields.h"
#include "proto/dispatch.pb.h"

namespace bellwether::dispatch {
namespace {

using Wire = wire::DispatchLetter;

// --- writing ---------------------------------------------------------------------------------------------------------

struct Writer {
  Wire& to;

  void operator()(const WorkerReport& from) const {
    Wire::Report& report = *to.mutable_report();
    report.set_life(from.life);
    report.set_cores(from.cores);
    report.set_free(from.free);
    report.set_takes_work(from.takes_work);
    report.set_healthy(from.healthy);
    report.set_state(fit_text(from.state));
    report.set_reason(fit_text(from.reason));
    report.set_leaves(from.leaves);
    for (const WorkerReport::Held& one : from.held) {
      Wire::Report::Held& held = *report.add_held();
      held.set_job(one.job);
      held.set_fence(one.fence.value());
      held.set_share(one.share.value());
      held.set_phase(static_cast<uint32_t>(one.phase));
      if (one.headway == Headway()) continue;
      Wire::Report::Headway& headway = *held.mutable_headway();
      headway.set_could_turn(one.headway.could_turn);
      headway.set_turned(one.headway.turned);
      headway.set_could_begin(one.headway.could_begin);
      headway.set_begun(one.headway.begun);
      headway.set_due(one.headway.due);
      headway.set_served(one.headway.served);
    }
  }
  void operator()(const WindowLetter& from) const {
    Wire::Window& window = *to.mutable_window();
    window.set_job(from.job);
    window.set_share(from.share.value());
    window.set_from(from.from);
    window.set_first(from.first);
    window.set_last(from.last);
    window.set_window(from.window);
  }
  void operator()(const EndLetter& from) const {
    to.mutable_end()->set_job(from.job);
    to.mutable_end()->set_share(from.share.value());
    put(from.end, *to.mutable_end()->mutable_end());
    to.mutable_end()->set_until(from.until);
  }
  void operator()(const LiveLetter& from) const {
    to.mutable_live()->set_number(from.number);
    to.mutable_live()->set_collected_ns(from.collected.ns());
    for (const LiveLetter::Share& one : from.shares) {
      Wire::Live::Share& share = *to.mutable_live()->add_shares();
      share.set_job(one.job);
      share.set_share(one.share.value());
      share.set_requests(one.requests);
      share.set_failed(one.failed);
      share.set_iterations(one.iterations);
      share.set_dropped(one.dropped);
      share.set_vus(static_cast<uint64_t>(one.vus));
    }
  }
  void operator()(const Offer& from) const {
    const ShareOrder& order = from.order;
    Wire::Offer& offer = *to.mutable_offer();
    offer.set_job(order.job);
    offer.set_share(order.share.value());
    offer.set_fence(order.fence.value());
    offer.set_workflow(order.workflow);
    offer.set_first(order.parts.first);
    offer.set_count(order.parts.count);
    offer.set_of(order.parts.of);
    offer.set_cores(order.cores);
    offer.set_squeeze(order.squeeze);
    offer.set_base_second(order.base_second);
    offer.set_seed(order.seed);
    offer.set_bundle(order.bundle);
    offer.set_kill_grace_ns(order.kill_grace.ns());
    offer.set_isolation_limit_ns(order.isolation_limit.ns());
    offer.set_execution_limit_ns(order.execution_limit.ns());
    offer.set_context_version(order.context_version);
    for (const plan::Given& one : order.given) put(one, *offer.add_given());
    offer.set_on_overtime(static_cast<uint32_t>(order.on_overtime));
  }
  void operator()(const BundleLetter& from) const { put(from, *to.mutable_bundle()); }
  void operator()(const BeginLetter& from) const {
    Wire::Begin& begin = *to.mutable_begin();
    begin.set_job(from.job);
    begin.set_fence(from.fence.value());
    begin.set_share(from.share.value());
    begin.set_clock_ns(from.clock.ns());
    begin.set_resumes(from.resumes);
    begin.set_from(from.from);
  }
  void operator()(const TakeOverLetter& from) const {
    Wire::TakeOver& over = *to.mutable_take_over();
    over.set_job(from.job);
    over.set_fence(from.fence.value());
    over.set_share(from.share.value());
    over.set_clock_ns(from.clock.ns());
    over.set_from(from.from);
  }
  void operator()(const HandOverLetter& from) const {
    Wire::HandOver& over = *to.mutable_hand_over();
    over.set_job(from.job);
    over.set_fence(from.fence.value());
    over.set_share(from.share.value());
    over.set_until(from.until);
  }
  void operator()(const StopLetter& from) const {
    Wire::Stop& stop = *to.mutable_stop();
    stop.set_job(from.job);
    stop.set_fence(from.fence.value());
    stop.set_share(from.share.value());
    stop.set_how(static_cast<uint32_t>(from.how));
    stop.set_why(fit_text(from.why));
  }
  void operator()(const AdoptLetter& from) const {
    to.mutable_adopt()->set_job(from.job);
    to.mutable_adopt()->set_fence(from.fence.value());
    for (const AdoptLetter::Stream& one : from.streams) {
      Wire::Adopt::Stream& stream = *to.mutable_adopt()->add_streams();
      stream.set_share(one.share.value());
      stream.set_applied(one.applied);
    }
  }
  void operator()(const RetireLetter& from) const {
    to.mutable_retire()->set_job(from.job);
    to.mutable_retire()->set_fence(from.fence.value());
  }
  void operator()(const Submit& from) const {
    Wire::Submit& submit = *to.mutable_submit();
    submit.set_job(from.job);
    submit.set_by(fit_text(from.by));
    submit.set_bundle(from.bundle);
    submit.set_seed(from.seed);
  }
  void operator()(const Watch& from) const {
    Wire::Watch& watch = *to.mutable_watch();
    watch.set_job(from.job);
    watch.set_revision(from.revision);
    watch.set_seconds(from.seconds);
    watch.set_life(from.life);
    watch.set_wait_ns(from.wait.ns());
    watch.set_live_every_ns(from.live_every.ns());
  }
  void operator()(const WatchLive& from) const {
    Wire::WatchLive& watch = *to.mutable_watch_live();
    watch.set_job(from.job);
    watch.set_life(from.life);
    watch.set_change(from.change);
    watch.set_wait_ns(from.wait.ns());
  }
  void operator()(const ListJobs&) const { to.mutable_list_jobs(); }
  void operator()(const Cancel& from) const {
    Wire::Cancel& cancel = *to.mutable_cancel();
    cancel.set_number(from.number);
    cancel.set_job(from.job);
    cancel.set_by(fit_text(from.by));
    cancel.set_why(fit_text(from.why));
    cancel.set_how(static_cast<uint32_t>(from.how));
    for (const std::string& one : from.workflows) cancel.add_workflows(fit_text(one));
  }
  void operator()(const FetchBundle& from) const { to.mutable_fetch_bundle()->set_job(from.job); }
  void operator()(const ListWorkers&) const { to.mutable_list_workers(); }
  void operator()(const ListDatacenters&) const { to.mutable_list_datacenters(); }
  void operator()(const ExtendLetter& from) const {
    Wire::Extend& extend = *to.mutable_extend();
    extend.set_job(from.job);
    extend.set_share(from.share.value());
    extend.set_left_ns(from.left.ns());
    extend.set_reason(static_cast<uint32_t>(from.request.reason));
    extend.set_progress(from.request.progress);
    extend.set_estimate_ns(from.request.estimate.ns());
    extend.set_workflows(from.request.workflows);
  }
};

// --- reading ---------------------------------------------------------------------------------------------------------

class Reader : public FieldReader {
 public:
  std::optional<Letter> letter(Wire& from);

 private:
  WorkerReport report(const Wire::Report& from) {
    WorkerReport out;
    out.life = from.life();
    if (out.life == 0) refuse("no life of the worker's process");
    out.cores = cores(from.cores());
    out.free = from.free();
    if (out.free > out.cores) refuse("more free cores than there are");
    out.takes_work = from.takes_work();
    out.healthy = from.healthy();
    out.state = text(from.state());
    out.reason = text(from.reason());
    out.leaves = from.leaves();
    if (!fits(from.held_size(), kMostHeldShares)) return out;
    std::vector<std::pair<std::string_view, ShareId>> distinct;
    for (const auto& one : from.held()) {
      const auto& headway = one.headway();
      out.held.push_back({job(one.job()),
                          fence(one.fence()),
                          share(one.share()),
                          one_of<SharePhase>(one.phase(), kSharePhases),
                          {count(headway.could_turn()), count(headway.turned()), count(headway.could_begin()),
                           count(headway.begun()), count(headway.due()), count(headway.served())}});
      distinct.emplace_back(one.job(), ShareId(one.share()));
    }
    require_distinct(*this, std::move(distinct));
    return out;
  }
  WindowLetter window(Wire::Window& from) {
    WindowLetter out;
    out.job = job(from.job());
    out.share = share(from.share());
    out.from = second(from.from());
    out.first = from.first();
    out.last = second(from.last());
    if (out.first == 0 || out.first > out.last) refuse("numbers of a stream that are none");
    out.window = bulk(from.mutable_window(), account::kMostWindowBytes);
    return out;
  }
  LiveLetter live(const Wire::Live& from) {
    LiveLetter out;
    out.number = from.number();
    out.collected = Instant() + span(from.collected_ns());
    if (!fits(from.shares_size(), kMostHeldShares)) return out;
    std::vector<std::pair<std::string_view, ShareId>> distinct;
    for (const auto& one : from.shares()) {
      LiveLetter::Share& to = out.shares.emplace_back();
      to.job = job(one.job());
      to.share = share(one.share());
      to.requests = count(one.requests());
      to.failed = count(one.failed());
      to.iterations = count(one.iterations());
      to.dropped = count(one.dropped());
      to.vus = static_cast<int64_t>(count(one.vus()));
      distinct.emplace_back(one.job(), to.share);
    }
    require_distinct(*this, std::move(distinct));
    return out;
  }
  Offer offer(const Wire::Offer& from) {
    ShareOrder out;
    out.job = job(from.job());
    out.share = share(from.share());
    out.fence = fence(from.fence());
    out.workflow = workflow(from.workflow());
    out.parts = {from.first(), from.count(), from.of()};
    if (!is_good(out.parts)) refuse("parts that are none");
    out.cores = from.cores();
    if (out.cores == 0 || out.cores > out.parts.count) refuse("no cores, or more than parts");
    out.squeeze = from.squeeze();
    out.base_second = second(from.base_second());
    out.seed = from.seed();
    out.bundle = hash(from.bundle());
    out.kill_grace = span(from.kill_grace_ns());
    out.isolation_limit = span(from.isolation_limit_ns());
    out.execution_limit = span(from.execution_limit_ns());
    out.context_version = from.context_version();
    if (!fits(from.given_size(), plan::kMostProvided)) return {std::move(out)};
    for (const auto& one : from.given()) {
      if (!read(one, out.given.emplace_back())) refuse("a value of another workflow that cannot be");
    }
    out.on_overtime = one_of<plan::OnOvertime>(from.on_overtime(), plan::kOnOvertimes);
    const Duration zero = Duration::zero();
    if (out.isolation_limit == zero || out.execution_limit == zero) refuse("a limit of no time at all");
    return {std::move(out)};
  }
  BeginLetter begin(const Wire::Begin& from) {
    return {job(from.job()),        fence(from.fence()), share(from.share()),
            clock(from.clock_ns()), from.resumes(),      second(from.from())};
  }
  TakeOverLetter take_over(const Wire::TakeOver& from) {
    return {job(from.job()), fence(from.fence()), share(from.share()), clock(from.clock_ns()), second(from.from())};
  }
  HandOverLetter hand_over(const Wire::HandOver& from) {
    HandOverLetter out{job(from.job()), fence(from.fence()), share(from.share()), second(from.until())};
    if (out.until == 0) refuse("a second that cannot be");
    return out;
  }
  StopLetter stop(const Wire::Stop& from) {
    return {job(from.job()), fence(from.fence()), share(from.share()), one_of<StopHow>(from.how(), kStopHows),
            text(from.why())};
  }
  AdoptLetter adopt(const Wire::Adopt& from) {
    AdoptLetter out{job(from.job()), fence(from.fence()), {}};
    if (!fits(from.streams_size(), kMostShares)) return out;
    std::vector<std::pair<std::string_view, ShareId>> distinct;
    for (const auto& one : from.streams()) {
      out.streams.push_back({share(one.share()), second(one.applied())});
      distinct.emplace_back("", out.streams.back().share);
    }
    require_distinct(*this, std::move(distinct));
    return out;
  }
  Submit submit(Wire::Submit& from) {
    Submit out{job(from.job()), text(from.by()), bulk(from.mutable_bundle(), kMostBundleBytes), from.seed()};
    if (out.bundle.empty()) refuse("no bundle");
    return out;
  }
  Watch watch(const Wire::Watch& from) {
    return {job(from.job()), from.revision(),      second(from.seconds()),
            from.life(),     span(from.wait_ns()), span(from.live_every_ns())};
  }
  Cancel cancel(const Wire::Cancel& from) {
    Cancel out{job(from.job()), text(from.by()), text(from.why()), one_of<StopHow>(from.how(), kStopHows), {},
               from.number()};
    if (!fits(from.workflows_size(), kMostWorkflows)) return out;
    for (const std::string& one : from.workflows()) {
      if (one.empty()) refuse("a workflow without a name");
      out.workflows.push_back(text(one));
    }
    return out;
  }
  ExtendLetter extend(const Wire::Extend& from) {
    ExtendLetter out;
    out.job = job(from.job());
    out.share = share(from.share());
    out.left = span(from.left_ns());
    out.request.reason = one_of<resilience::ExtensionRequest::Reason>(from.reason(), resilience::kExtensionReasons);
    out.request.progress = from.progress();
    // Written so that what is no number is refused.
    if (!(out.request.progress >= 0 && out.request.progress <= 1)) refuse("a progress that is no part of a whole");
    out.request.estimate = span(from.estimate_ns());
    out.request.workflows = from.workflows();
    return out;
  }
};

std::optional<Letter> Reader::letter(Wire& from) {
  switch (from.body_case()) {
    case Wire::kReport: return report(from.report());
    case Wire::kWindow: return window(*from.mutable_window());
    case Wire::kEnd:
      return EndLetter{job(from.end().job()), share(from.end().share()), read_end(*this, from.end().end()),
                       second(from.end().until())};
    case Wire::kLive: return live(from.live());
    case Wire::kOffer: return offer(from.offer());
    case Wire::kBundle: return read_bundle(*this, *from.mutable_bundle());
    case Wire::kBegin: return begin(from.begin());
    case Wire::kStop: return stop(from.stop());
    case Wire::kAdopt: return adopt(from.adopt());
    case Wire::kRetire: return RetireLetter{job(from.retire().job()), fence(from.retire().fence())};
    case Wire::kSubmit: return submit(*from.mutable_submit());
    case Wire::kWatch: return watch(from.watch());
    case Wire::kListJobs: return ListJobs{};
    case Wire::kCancel: return cancel(from.cancel());
    case Wire::kFetchBundle: return FetchBundle{job(from.fetch_bundle().job())};
    case Wire::kListWorkers: return ListWorkers{};
    case Wire::kListDatacenters: return ListDatacenters{};
    case Wire::kTakeOver: return take_over(from.take_over());
    case Wire::kHandOver: return hand_over(from.hand_over());
    case Wire::kExtend: return extend(from.extend());
    case Wire::kWatchLive:
      return WatchLive{job(from.watch_live().job()), from.watch_live().life(), from.watch_live().change(),
                       span(from.watch_live().wait_ns())};
    case Wire::BODY_NOT_SET: break;
  }
  return std::nullopt;
}

}  // namespace

std::string encode(const Letter& letter) {
  Wire out;
  std::visit(Writer{out}, letter);
  return out.SerializeAsString();
}

Result<Letter> decode_letter(std::string_view bytes) {
  Wire in;
  const bool good = may_parse(bytes, kMostLetterBytes,
                              {Wire::kWindowFieldNumber, Wire::kBundleFieldNumber, Wire::kSubmitFieldNumber});
  if (!good || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "a letter about jobs that cannot be read, or is too large");
  }
  Reader reader;
  std::optional<Letter> out = reader.letter(in);
  if (!out) return fail(Errc::kUnsupported, "a letter about jobs of a kind that this version does not know");
  if (reader.wrong() != nullptr) {
    return fail(Errc::kProtocol, std::string("a letter about jobs is refused: it has ") + reader.wrong());
  }
  return *std::move(out);
}

}  // namespace bellwether::dispatch
