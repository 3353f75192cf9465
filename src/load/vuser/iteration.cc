#include "load/vuser/iteration.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/http1/error_kind.h"
#include "load/plan/feeder.h"
#include "load/vuser/prepared_step.h"

namespace bellwether::vuser {

using http1::ErrorKind;
using metrics::Phase;
using runtime::task;

namespace {

// Notes of programs: few, and each once, because a program must not flood the reader.
constexpr std::size_t kMaxNotes = 20;

// From this length on the memory of a response counts for more than copying it away and back.
constexpr Duration kLongSleep = Duration::millis(10);

template <class T>
std::unique_ptr<T> take_free(std::vector<std::unique_ptr<T>>& pool) {
  if (pool.empty()) return std::make_unique<T>();
  auto taken = std::move(pool.back());
  pool.pop_back();
  return taken;
}

// Borrows a text from the thread's free ones while a request needs its bytes.
class TextLease {
 public:
  TextLease(std::vector<std::unique_ptr<RequestText>>& pool) : pool_(pool) {}
  TextLease(const TextLease&) = delete;
  TextLease& operator=(const TextLease&) = delete;
  ~TextLease() {
    if (text_ != nullptr) pool_.push_back(std::move(text_));
  }
  RequestText& get() {
    if (text_ == nullptr) text_ = take_free(pool_);
    return *text_;
  }

 private:
  std::vector<std::unique_ptr<RequestText>>& pool_;
  std::unique_ptr<RequestText> text_;
};

// Borrows a run from the thread's free ones.
class RunLease {
 public:
  explicit RunLease(std::vector<std::unique_ptr<CodeRun>>& pool) : pool_(pool), run_(take_free(pool)) {}
  RunLease(const RunLease&) = delete;
  RunLease& operator=(const RunLease&) = delete;
  ~RunLease() {
    run_->let_go();
    pool_.push_back(std::move(run_));
  }
  CodeRun& operator*() { return *run_; }

 private:
  std::vector<std::unique_ptr<CodeRun>>& pool_;
  std::unique_ptr<CodeRun> run_;
};

// The access token of its requests, by its index in the plan.
std::optional<uint16_t> token_of(const plan::Step& step) {
  if (const auto* call = std::get_if<plan::HttpCall>(&step.work)) return call->token;
  const auto* code = std::get_if<plan::CodeCall>(&step.work);
  return code != nullptr ? code->base.token : std::nullopt;
}

// As count() records them. Nothing: the request has no such time.
std::optional<Duration> time_of(plan::RequestTime time, const http1::Response& response, Instant due) {
  using plan::RequestTime;
  const bool needs_connection =
      time == RequestTime::kLookUp || time == RequestTime::kConnect || time == RequestTime::kTls;
  if (needs_connection ? response.connections == 0 : response.error != ErrorKind::kNone) return std::nullopt;
  const auto unless_zero = [](Duration span) { return span > Duration::zero() ? std::optional(span) : std::nullopt; };
  switch (time) {
    case RequestTime::kResponse: return response.done - due;
    case RequestTime::kService: return response.done - response.sent;
    case RequestTime::kLookUp: return unless_zero(response.dns);
    case RequestTime::kConnect: return response.connect;
    case RequestTime::kTls: return unless_zero(response.tls);
    case RequestTime::kSend: return response.sending;
    case RequestTime::kWait: return response.first_byte - response.sent - response.sending;
    case RequestTime::kReceive: return response.done - response.first_byte;
  }
  return std::nullopt;
}

}  // namespace

IterationRunner::IterationRunner(EngineState& state, const ProgramLoader* programs)
    : state_(state),
      runtime_(state.runtime),
      recorder_(state.plan, runtime_, state.window, state.start),
      client_(runtime_, state.instruments.watch, state.permit != nullptr ? &state.limit : nullptr),
      tokens_(runtime_, state.plan, client_, callback_to<&IterationRunner::note>(*this)),
      loader_(programs),
      code_thread_{runtime_, client_.origins(), readers_, state.window, recorder_, tokens_.values()} {
  if (state.plan.shared_connections) client_.share_connections(*state.plan.shared_connections);
}

Status IterationRunner::prepare(WorkflowRun& run) {
  BW_RETURN_IF_ERROR(override_hosts(state_.plan, client_.origins()));
  if (!client_.has_local()) {
    BW_TRY(auto local, local_addresses(runtime_, state_.plan));
    client_.use_local(std::move(local));
  }
  for (const plan::Step& step : run.workflow.steps) {
    BW_TRY(auto prepared,
           PreparedStep::prepare(step, state_.plan.steps[step.id].measured, client_.origins(), readers_));
    run.steps.push_back(std::move(prepared));
    if (run.steps.back().is_call()) run.steps.back().deal(run.part, run.parts);
    if (const auto token = token_of(step)) tokens_.want(*token);
    BW_RETURN_IF_ERROR(prepare_code(run, step));
    run.may_leave_out |= step.on_error == plan::OnError::kSkip || !step.conditions.empty();
  }
  for (const plan::Feed& feed : run.workflow.feeds) {
    if (feed.ends) run.rows_most = std::min(run.rows_most, plan::dealt_to(feed.feeder->rows(), run.part, run.parts));
  }
  return {};
}

// One row of each file of data for the iteration that begins.
void IterationRunner::take_rows(WorkflowRun& run, Vu& vu) {
  for (const plan::Feed& feed : run.workflow.feeds) {
    const uint64_t random = feed.pick == plan::Feed::Pick::kRandom ? runtime_.prng().below(feed.feeder->rows()) : 0;
    const std::string_view row = feed.feeder->row(plan::row_of(feed, vu.row, run.part, run.parts, vu.number, random));
    for (const plan::RowField& field : feed.fields) {
      if (!feed.feeder->read(row, field, vu.values.begin(field.slot))) vu.values.forget(field.slot);
    }
  }
  if (vu.row + 1 == run.rows_most) note_end_of_rows(run);
}

task<Flow> IterationRunner::run(WorkflowRun& run, Vu& vu, Instant due) {
  const Instant began = runtime_.now();
  run.active_most = std::max(run.active_most, ++run.active);
  ++run.begun;
  vu.values.clear();
  vu.answered = vu.unanswered = false;
  if (!run.workflow.feeds.empty()) take_rows(run, vu);
  if (run.may_leave_out) vu.left_out.assign(run.steps.size(), false);
  if (!run.workflow.groups.empty()) vu.groups.assign(run.workflow.groups.size(), {});
  if (!run.programs.empty()) begin_code_iteration(run, vu);
  if (!run.workflow.keeps_cookies) vu.session.cookies.clear();
  if (!run.workflow.keeps_connections) vu.session.close_idle();
  Flow flow = Flow::kGoOn;
  if (run.workflow.order.is_chain) {
    for (const uint16_t index : run.workflow.order.steps) {
      if (run.may_leave_out && leaves_out(run, vu, index)) continue;
      flow = co_await run_step(run, vu, run.steps[index], due);
      if (flow != Flow::kGoOn || vu.cancel->cancelled()) break;
      due = runtime_.now();
    }
  } else {
    flow = co_await run_order(run, vu, run.workflow.order, due);
  }
  --run.active;
  ++vu.iteration;
  metrics::WorkflowWindow& counts = state_.window->workflows[run.index];
  if (vu.cancel->cancelled()) {
    ++counts.interrupted;
  } else {
    ++counts.iterations;
    counts.iteration.record(runtime_.now() - began);
    if (!run.workflow.groups.empty()) record_groups(run, vu);
    if (!run.workflow.provides.empty()) provide(run, vu);
  }
  co_return flow;
}

// No coroutine itself: most steps are a call and nothing else, and so save one coroutine.
task<Flow> IterationRunner::run_step(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due) {
  return step.is_bare() ? run_work(run, vu, step, due) : run_rounds(run, vu, step, due);
}

task<Flow> IterationRunner::run_work(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due) {
  if (step.is_call()) return run_call(run, vu, step, due);
  if (std::holds_alternative<plan::CodeCall>(step.step().work)) return run_code(run, vu, step, due);
  if (const auto* block = std::get_if<plan::Block>(&step.step().work)) return run_block(run, vu, *block, due);
  return run_action(run, vu, step);
}

// `sent`: how often it was sent before.
task<Flow> IterationRunner::run_call(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due, uint16_t sent) {
  TextLease text(texts_);
  http1::Response response;
  http1::Request built;
  const http1::Request* request = &step.constant_request();
  if (!step.constant()) {
    request = &built;
    bool ready = has_token(step.call());
    if (!ready) ready = co_await next_token(vu, step.call());
    if (!ready) {
      response.error = ErrorKind::kToken;
      request = nullptr;
    } else if (!step.build(context_for(vu, step.mentions_time()), client_.origins(), text.get(), built)) {
      response.error = ErrorKind::kTemplate;
      request = nullptr;
    }
  }
  if (request != nullptr) co_await client_.exchange(vu.session, *request, response, vu.cancel);
  if (response.error == ErrorKind::kProxy) note_proxy(step, response);
  const Outcome outcome = record(step, response, due, vu);
  const plan::Retry& retry = step.call().retry;
  if (sent < retry.times && is_to_be_sent_again(retry, response, outcome.failed)) {
    response = {};  // its buffer is of no use any more, and the next one needs one
    const Flow flow = co_await send_again(run, vu, step, sent);
    co_return flow;
  }
  if (response.error == ErrorKind::kNone) record_metrics(step, vu);
  co_return outcome.good ? Flow::kGoOn : after_failure(run, vu, step);
}

// The current token has expired: waits for the next one, at most for the time that the request may take.
task<bool> IterationRunner::next_token(const Vu& vu, const plan::HttpCall& call) {
  const Instant deadline = runtime_.now() + call.timeout;
  const bool valid = co_await tokens_.wait(*call.token, deadline, vu.cancel);
  co_return valid;
}

void IterationRunner::note_proxy(const PreparedStep& step, const http1::Response& response) {
  note(state_.plan.steps[step.step().id].name,
       response.proxy_status == 0
           ? std::string("the proxy opened no tunnel, and gave no answer")
           : fmt::format("the proxy opened no tunnel, and answered with status {}", response.proxy_status));
}

// A request of its own, which is due now: the tries before it have counted their own times.
task<Flow> IterationRunner::send_again(WorkflowRun& run, Vu& vu, PreparedStep& step, uint16_t sent) {
  const Duration wait = step.call().retry.wait;
  bool time_came = !vu.cancel->cancelled() && !state_.stopped.cancelled();
  if (time_came && wait > Duration::zero()) time_came = co_await runtime_.sleep(wait, vu.cancel);
  if (!time_came) co_return after_failure(run, vu, step);
  const Flow flow = co_await run_call(run, vu, step, runtime_.now(), static_cast<uint16_t>(sent + 1));
  co_return flow;
}

bool IterationRunner::is_to_be_sent_again(const plan::Retry& retry, const http1::Response& response, bool failed) {
  // A request that could not be put together, or that we broke off, would end the same way again.
  if (response.error == ErrorKind::kTemplate || response.error == ErrorKind::kToken ||
      response.error == ErrorKind::kInterrupted) {
    return false;
  }
  if (response.error != ErrorKind::kNone) return retry.on_error;
  if (retry.on_any_status && failed) return true;
  return std::find(retry.statuses.begin(), retry.statuses.end(), response.status) != retry.statuses.end();
}

task<Flow> IterationRunner::run_action(WorkflowRun& run, Vu& vu, PreparedStep& step) {
  std::string text;
  for (const auto& assignment : std::get<plan::SetAction>(step.step().work).assignments) {
    text.clear();
    if (!render(assignment.value, context_for(vu, mentions_time(assignment.value)), text)) {
      co_return after_failure(run, vu, step);
    }
    vu.values.set(assignment.slot, text);
  }
  record_metrics(step, vu);
  co_return Flow::kGoOn;
}

void IterationRunner::record_those(const PreparedStep& step, const Vu& vu) {
  const std::vector<plan::Recording>& records = step.step().records;
  const bool with_time =
      std::ranges::any_of(records, [](const plan::Recording& one) { return mentions_time(one.value); });
  recorder_.record(records, context_for(vu, with_time));
}

// Another iteration may provide the values that this one lacks.
void IterationRunner::provide(WorkflowRun& run, const Vu& vu) {
  std::string& text = run.providing;
  for (std::size_t i = 0; i < run.workflow.provides.size(); ++i) {
    const bool collect_all = run.workflow.provides[i].collect_all;
    if (collect_all && !run.lists[i].takes(vu.number)) continue;
    if (run.provided[i] && run.provided[i]->vu < vu.number) continue;
    const plan::Template& value = run.workflow.provides[i].value;
    text.clear();
    if (!render(value, context_for(vu, mentions_time(value)), text)) continue;
    if (collect_all) {
      run.lists[i].add(vu.number, runtime_.now() - run.start, text);
      continue;
    }
    auto& kept = run.provided[i];
    if (!kept) kept.emplace().provide = static_cast<uint16_t>(i);
    kept->vu = vu.number;
    kept->at = runtime_.now() - run.start;
    kept->too_large = text.size() > plan::kMaxContextText;
    if (kept->too_large) text.clear();
    kept->text.swap(text);
  }
}

Flow IterationRunner::after_failure(WorkflowRun& run, Vu& vu, const PreparedStep& step) {
  switch (step.step().on_error) {
    case plan::OnError::kContinue: return Flow::kGoOn;
    case plan::OnError::kEndIteration: return Flow::kEndIteration;
    case plan::OnError::kEndVu: return Flow::kEndVu;
    case plan::OnError::kSkip:
      vu.left_out[static_cast<std::size_t>(&step - run.steps.data())] = true;
      return Flow::kGoOn;
    case plan::OnError::kAbort:
      // The end of its time cut it off: the target is not to blame.
      if (!permit_is_over() && !vu.cancel->cancelled()) state_.sink.abort_run(state_.plan.steps[step.step().id].name);
      return Flow::kEndVu;
  }
  return Flow::kGoOn;
}

// Counts one exchange, if it is measured, and takes from its response what later steps need.
IterationRunner::Outcome IterationRunner::record(PreparedStep& step, const http1::Response& response, Instant due,
                                                 Vu& vu) {
  (response.error == ErrorKind::kNone ? vu.answered : vu.unanswered) = true;
  const Duration service = response.done - response.sent;
  const auto context = evaluation_context(step, vu);
  const RenderContext* const with = context ? &*context : nullptr;
  const bool failed = step.evaluator().is_failure(response, with);
  if (failed && is_fenced(response)) [[unlikely]] {
    if (step.measured()) count(step.step().id, response, false, due, vu);
    return {};
  }
  if (step.measured()) count(step.step().id, response, failed, due, vu);
  const bool all =
      step.evaluator().evaluate(response, service, vu.session.cookies, vu.values, state_.window->checks, with);
  return {failed, !failed && all};
}

inline void IterationRunner::count(plan::StepId step, const http1::Response& response, bool failed, Instant due,
                                   const Vu& vu) {
  if (state_.instruments.requests != nullptr) [[unlikely]] {
    state_.instruments.requests->add(row_of(step, response, failed, due, vu.number, vu.iteration, runtime_.now()));
  }
  metrics::StepWindow& counts = state_.window->steps[step];
  ++counts.count;
  counts.failed += failed ? 1 : 0;
  counts.repeated += response.repeats;
  counts.bytes_sent += response.bytes_sent;
  counts.bytes_received += response.bytes_received;
  if (response.connections != 0) {
    if (response.dns > Duration::zero()) counts.phases[static_cast<int>(Phase::kDns)].record(response.dns);
    counts.phases[static_cast<int>(Phase::kConnect)].record(response.connect);
    if (response.tls > Duration::zero()) counts.phases[static_cast<int>(Phase::kTls)].record(response.tls);
  }
  if (!state_.plan.watches.empty()) [[unlikely]]
    watch(step, response, failed, due);
  if (response.error == ErrorKind::kNone) {
    counts.service.record(response.done - response.sent);
    counts.response.answered.record(response.done - due);
    counts.phases[static_cast<int>(Phase::kSend)].record(response.sending);
    counts.phases[static_cast<int>(Phase::kWait)].record(response.first_byte - response.sent - response.sending);
    counts.phases[static_cast<int>(Phase::kReceive)].record(response.done - response.first_byte);
    counts.status.add(static_cast<uint16_t>(response.status), 1);
    return;
  }
  ++counts.errors[static_cast<std::size_t>(response.error)];
  const bool cut_off = response.error == ErrorKind::kInterrupted;
  (cut_off ? counts.response.unfinished : counts.response.unanswered).record(runtime_.now() - due);
}

void IterationRunner::watch(plan::StepId step, const http1::Response& response, bool failed, Instant due) {
  const bool answered = response.error == ErrorKind::kNone;
  const std::vector<plan::Watch>& watches = state_.plan.watches;
  const auto begin =
      std::partition_point(watches.begin(), watches.end(), [step](const plan::Watch& one) { return one.step < step; });
  for (auto at = begin; at != watches.end() && at->step == step; ++at) {
    if (!at->filter.takes(answered ? response.status : 0, answered && !failed)) continue;
    const auto time = time_of(at->time, response, due);
    if (time) state_.window->watches[static_cast<std::size_t>(at - watches.begin())].record(*time);
  }
}

RenderContext IterationRunner::context_for(const Vu& vu, bool with_time) {
  return {vu.values,       vu.number,       vu.iteration, with_time ? runtime_.wall_now() : WallTime{},
          runtime_.prng(), tokens_.values()};
}

// Steps whose work a program does: it states its wishes, and the engine fulfils them.

Result<std::size_t> IterationRunner::program_at(uint16_t index) {
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    if (programs_[i].index == index) return i;
  }
  check(loader_ != nullptr, "who has a plan with programs has a loader for them");
  BW_TRY(auto program, loader_->load(state_.plan.programs[index]));
  programs_.push_back({index, std::move(program)});
  return programs_.size() - 1;
}

// The step's own part, if a program does its work.
Status IterationRunner::prepare_code(WorkflowRun& run, const plan::Step& step) {
  const auto* call = std::get_if<plan::CodeCall>(&step.work);
  run.sites.push_back(nullptr);
  if (call == nullptr) return {};
  BW_TRY(const auto program, program_at(call->program));
  Program& runs_it = *programs_[program].program;
  auto site = std::make_unique<CodeSite>(step, code_thread_, runs_it);
  BW_TRY(site->function, runs_it.find(*call));
  run.sites.back() = std::move(site);
  if (std::find(run.programs.begin(), run.programs.end(), &runs_it) == run.programs.end()) {
    run.programs.push_back(&runs_it);
  }
  return {};
}

void IterationRunner::begin_code_iteration(WorkflowRun& run, Vu& vu) {
  for (std::size_t i = 0; i < run.programs.size(); ++i) {
    if (vu.code.size() == i) vu.code.push_back(run.programs[i]->new_user(vu.number));
    run.programs[i]->begin_iteration(*vu.code[i], vu.iteration);
  }
}

task<Flow> IterationRunner::run_code(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due) {
  const auto index = static_cast<std::size_t>(&step - run.steps.data());
  CodeSite& site = *run.sites[index];
  Program& program = site.program();
  RunLease lease(runs_of_code_);
  CodeRun& code = *lease;
  code.reset(site, vu.values, vu.number, vu.iteration);
  http1::Response none;
  const plan::HttpCall& base = site.call().base;
  bool ready = has_token(base);
  if (!ready) ready = co_await next_token(vu, base);
  if (!ready || !code.render_arguments()) {
    none.error = ready ? ErrorKind::kTemplate : ErrorKind::kToken;
    if (site.call().sends) record(step, none, due, vu);
    co_return after_failure(run, vu, step);
  }
  const auto user = std::find(run.programs.begin(), run.programs.end(), &program) - run.programs.begin();
  bool measures = false;  // it has a measured response
  bool failed = false;    // the last of them
  Instant asked = due;    // for the first measured request, which has waited since the step was due
  program.begin(site.function, *vu.code[static_cast<std::size_t>(user)], code);
  while (code.want() == CodeRun::Want::kExchange || code.want() == CodeRun::Want::kSleep) {
    const Instant before = runtime_.now();
    if (code.want() == CodeRun::Want::kSleep) {
      const bool stows = code.span() >= kLongSleep && program.copies_responses();
      if (stows) code.stow();
      co_await runtime_.sleep(code.span(), vu.cancel);
      if (stows) code.unstow();
      asked += code.span();  // the program's own pauses are no wait
    } else {
      http1::Response& response = code.begin_exchange();
      co_await client_.exchange(vu.session, code.request(), response, vu.cancel);
      (response.error == ErrorKind::kNone ? vu.answered : vu.unanswered) = true;
      if (step.measured() && code.measured()) {
        const auto context = evaluation_context(step, vu);
        failed = step.evaluator().is_failure(response, context ? &*context : nullptr, code.expected()) &&
                 !is_fenced(response);
        count(code.counts_at(), response, failed, measures ? before : asked, vu);
      } else if (step.measured()) {
        ++state_.window->steps[code.counts_at()].left_out;
      }
      code.end_exchange();
      measures |= code.measured();
      asked += runtime_.now() - before;
    }
    if (vu.cancel->cancelled()) {
      program.abandon(code);
      break;
    }
    program.go_on(code);
  }
  for (const std::string& text : code.said()) note(state_.plan.steps[step.step().id].name, text);
  code.said().clear();
  bool good = code.checks_hold();
  if (code.want() == CodeRun::Want::kFailure) {
    note(state_.plan.steps[step.step().id].name, code.why());
    none.error = ErrorKind::kScript;
    if (site.call().sends) record(step, none, due, vu);
    good = false;
  } else {
    bool answered = true;
    if (site.call().sends && measures && !is_fenced(code.last_measured())) {
      const http1::Response& last = code.last_measured();
      answered = last.error == ErrorKind::kNone;
      const auto context = evaluation_context(step, vu);
      good &= step.evaluator().evaluate(last, last.done - last.sent, vu.session.cookies, vu.values,
                                        state_.window->checks, context ? &*context : nullptr);
      good &= !failed;
    }
    if (answered && !vu.cancel->cancelled()) record_metrics(step, vu);
  }
  co_return good ? Flow::kGoOn : after_failure(run, vu, step);
}

void IterationRunner::note(std::string_view who, std::string_view text) {
  if (notes_.size() > kMaxNotes || std::find(notes_.begin(), notes_.end(), text) != notes_.end()) return;
  notes_.emplace_back(text);
  state_.sink.note(who, notes_.size() > kMaxNotes ? "more is not told" : text);
}

}  // namespace bellwether::vuser
