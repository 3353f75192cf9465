#include "load/vuser/program.h"

#include "core/base/check.h"
#include "load/plan/metric.h"

namespace bellwether::vuser {

namespace {

// Whether the begin of its requests is the same in all iterations.
bool is_constant(const plan::HttpCall& call) {
  if (!call.url.constant() || call.token) return false;
  for (const plan::Header& header : call.headers) {
    if (!header.value.constant()) return false;
  }
  return !call.digest || (call.digest->user.constant() && call.digest->password.constant());
}

}  // namespace

void MetricRecorder::record(uint16_t series, double value) {
  metrics::MetricWindow& to = window_->series[series];
  const plan::CustomMetric& metric = plan_.metrics[plan_.series[series].metric];
  switch (metric.kind) {
    case plan::MetricKind::kCounter: return to.add(value);
    case plan::MetricKind::kRate: return to.observe(value);
    case plan::MetricKind::kGauge: return to.set(value, runtime_.now() - start_);
    case plan::MetricKind::kTrend: return to.record(value, metric.scale());
  }
}

void MetricRecorder::record(const std::vector<plan::Recording>& values, const RenderContext& context) {
  for (const plan::Recording& one : values) {
    if (one.constant) {
      record(one.series, *one.constant);
      continue;
    }
    text_.clear();
    const auto value = render(one.value, context, text_) ? plan::metric_value(text_) : std::nullopt;
    if (value) {
      record(one.series, *value);
    } else {
      ++window_->series[one.series].refused;
    }
  }
}

CodeSite::CodeSite(const plan::Step& step, CodeThread& thread, Program& program)
    : step_(&step),
      call_(&std::get<plan::CodeCall>(step.work)),
      thread_(&thread),
      program_(&program),
      maker_(call_->base),
      constant_(is_constant(call_->base)) {}

const PreparedRequest* CodeSite::prepare(std::string_view method, std::string_view url) {
  return prepare({.method = method, .url = url, .headers = {}, .body = {}});
}

const PreparedRequest* CodeSite::prepare(const RequestChange& change) {
  if (!constant_ || prepared_.size() == kMaxPrepared) return nullptr;
  PreparedRequest& made = prepared_.emplace_back();
  const Values none(0);
  Prng unused(0);
  const RenderContext context{none, 1, 0, {}, unused};
  if (!maker_.make(change, context, thread_->origins, made.text, made.request)) {
    prepared_.pop_back();
    return nullptr;
  }
  made.request.want_body = true;
  made.expected.assign(change.expected.begin(), change.expected.end());
  return &made;
}

void CodeRun::reset(CodeSite& site, Values& values, uint32_t vu, uint64_t iteration) {
  site_ = &site;
  values_ = &values;
  vu_ = vu;
  iteration_ = iteration;
  let_go();
  exchanges_ = 0;
  want_ = Want::kEnd;
  counting_ = {};
  checks_hold_ = true;
  state = nullptr;
}

bool CodeRun::render_arguments() {
  const auto& arguments = site_->call().arguments;
  if (arguments_.size() < arguments.size()) arguments_.resize(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    arguments_[i].clear();
    if (!render(arguments[i].value, context(mentions_time(arguments[i].value)), arguments_[i])) return false;
  }
  return true;
}

RenderContext CodeRun::context(bool with_time) {
  runtime::Runtime& runtime = site_->thread().runtime;
  return {
      *values_, vu_, iteration_, with_time ? runtime.wall_now() : WallTime{}, runtime.prng(), site_->thread().tokens};
}

void CodeRun::send(const PreparedRequest& request, Counting counting) {
  request_ = request.request;
  expected_ = request.expected;
  counting_ = counting;
  want_ = Want::kExchange;
}

Status CodeRun::send(const RequestChange& change, std::optional<Duration> timeout, Counting counting) {
  if (!site_->maker().make(change, context(site_->maker().mentions_time()), site_->thread().origins, text_, request_)) {
    const std::string shown = text_.url.empty() ? std::string(change.url) : text_.url;
    return bellwether::fail(Errc::kInvalid,
                            fmt::format("the request to '{}' cannot be sent: its URL or a header is wrong", shown));
  }
  request_.want_body = true;
  if (timeout) {
    limits_ = site_->maker().limits();
    limits_.timeout = *timeout;
    request_.limits = &limits_;
  }
  expected_.assign(change.expected.begin(), change.expected.end());
  counting_ = counting;
  want_ = Want::kExchange;
  return {};
}

void CodeRun::sleep(Duration span) {
  span_ = span;
  want_ = Want::kSleep;
}

void CodeRun::fail(std::string why) {
  why_ = std::move(why);
  want_ = Want::kFailure;
}

void CodeRun::say(std::string text) {
  constexpr std::size_t kMaxSaid = 100;  // between two waits
  if (said_.size() < kMaxSaid) said_.push_back(std::move(text));
}

void CodeRun::check(std::size_t index, bool holds) {
  const auto& checks = site_->step().checks;
  const std::size_t declared = checks.size() - site_->call().checks.size();
  metrics::CheckCount& count = site_->thread().window->checks[checks.at(declared + index).id];
  ++(holds ? count.passes : count.fails);
  checks_hold_ &= holds;
}

void CodeRun::set(std::size_t index, std::string_view text) { values_->set(site_->call().sets.at(index).slot, text); }

void CodeRun::measure(std::size_t index, double value) {
  site_->thread().recorder.record(site_->call().metrics.at(index).series, value);
}

http1::Response& CodeRun::begin_exchange() {
  http1::Response& into = counting_.measured ? measured_ : unmeasured_;
  into = {};
  last_ = &into;
  ++exchanges_;
  return into;
}

void CodeRun::end_exchange() {
  http1::Response& response = counting_.measured ? measured_ : unmeasured_;
  if (response.error == http1::ErrorKind::kNone) return;
  response.status = 0;
  response.body = {};
}

Duration CodeRun::took() const { return last_->done - (last_->attempts == 0 ? last_->started : last_->sent); }

std::array<Duration, metrics::kPhases> CodeRun::phases() const {
  const http1::Response& from = *last_;
  if (from.attempts == 0) return {from.dns, from.connect, from.tls, {}, {}, {}};
  const Instant answer = from.first_byte == Instant{} ? from.done : from.first_byte;
  return {from.dns, from.connect, from.tls, from.sending, answer - from.sent - from.sending, from.done - answer};
}

void CodeRun::stow() {
  stowed_measured_.take(measured_);
  stowed_unmeasured_.take(unmeasured_);
}

void CodeRun::unstow() {
  stowed_measured_.restore(measured_);
  stowed_unmeasured_.restore(unmeasured_);
}

void CodeRun::let_go() {
  measured_ = {};
  unmeasured_ = {};
}

JsonReader::Value CodeRun::json(const plan::JsonPath& path) {
  JsonReader& reader = site_->thread().readers.json;
  if (last_->status == 0 || !reader.open(last_->body)) return {};
  return reader.find(path);
}

bool CodeRun::json_text(const plan::JsonPath& path, std::string& out) {
  JsonReader& reader = site_->thread().readers.json;
  return last_->status != 0 && reader.open(last_->body) && reader.find_text(path, out);
}

bool CodeRun::json_list(const plan::JsonPath& path, std::string& out) {
  JsonReader& reader = site_->thread().readers.json;
  return last_->status != 0 && reader.open(last_->body) && reader.find_list(path, out);
}

bool CodeRun::markup_text(const MarkupReader::Expression& expression, std::string& out) {
  MarkupReader& reader = site_->thread().readers.markup;
  if (last_->status == 0) return false;
  const bool is_xml = looks_like_xml(last_->head().header("content-type"), last_->body);
  const bool found = reader.open(last_->body, is_xml) && reader.find_text(expression, out);
  reader.close();
  return found;
}

}  // namespace bellwether::vuser
