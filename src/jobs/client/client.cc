#include "bellwether/client.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "jobs/client/client_engine.h"
#include "jobs/client/client_following.h"
#include "jobs/client/client_format.h"
#include "jobs/client/scenario_files.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "load/aggregate/totals.h"
#include "load/codec/totals_codec.h"

namespace bellwether::client {

using detail::error_of;

namespace {

Error in_callback() { return {Code::kInCallback, "a callback must not block: make this call on another thread", {}}; }

Error strange() { return {Code::kUnreachable, "a manager's answer does not match the request", {}}; }

// Sends a request, and returns the answer of its type.
template <class Answer>
Outcome<Answer> ask(detail::Engine& engine, dispatch::JobMessage message, Duration patience) {
  if (engine.on_own_thread()) return in_callback();
  auto answer = engine.ask(std::move(message), patience);
  if (!answer) return error_of(answer.error());
  auto* expected = std::get_if<Answer>(&*answer);
  if (expected == nullptr) return strange();
  return std::move(*expected);
}

Outcome<Status> status_of(detail::Engine& engine, const std::string& job, const plan::Plan* plan) {
  dispatch::Watch message;
  message.job = job;
  const auto watched = ask<dispatch::Watched>(engine, message, engine.patience());
  if (!watched) return watched.error();
  return detail::status_of(*watched, plan);
}

dispatch::Cancel message_of_type(detail::Engine& engine, const std::string& job, const Cancellation& from) {
  dispatch::Cancel message;
  message.job = job;
  message.by = engine.by();
  message.why = from.why;
  message.how = from.graceful ? dispatch::StopHow::kGraceful : dispatch::StopHow::kAtOnce;
  message.workflows = from.workflows;
  message.number = engine.draw();
  return message;
}

Outcome<Done> cancel_job(detail::Engine& engine, const std::string& job, const Cancellation& cancellation) {
  const auto noted = ask<dispatch::Noted>(engine, message_of_type(engine, job, cancellation), engine.patience());
  if (!noted) return noted.error();
  return Done{};
}

Outcome<Done> scale_job(detail::Engine& engine, const std::string& job, const std::string& workflow, uint32_t vus) {
  const auto noted = ask<dispatch::Noted>(engine, dispatch::Scale{job, engine.by(), workflow, vus}, engine.patience());
  if (!noted) return noted.error();
  return Done{};
}

std::string drawn_id(detail::Engine& engine) { return hex(engine.draw()); }

// A job with a listener is followed at once.
Outcome<Job> followed(Outcome<Job> job, const Listener* listener) {
  if (job && listener != nullptr) detail::Inside::follow(*job);
  return job;
}

// An upload that stands still: managers copy it among themselves, or cannot.
constexpr std::chrono::seconds kMaxCopying{60};
constexpr std::chrono::milliseconds kMinChunkApart{22};  // within a client's rate limit

// Of ids that are drawn for one job.
constexpr int kMaxIds = 4;
bool is_used_up(const bellwether::Result<dispatch::Response>& answer) {
  return !answer && answer.error().code == Errc::kExists;
}

// Of a submission without an answer: whether a manager may have accepted it.
bool perhaps_taken(const bellwether::Error& why) {
  return why.code == Errc::kExhausted || why.code == Errc::kTimeout || why.code == Errc::kReset;
}

// To the leader, chunk by chunk, until a majority of the managers has it: another leader says how much it has.
Outcome<Done> upload(detail::Engine& engine, const dispatch::FileBeside& from,
                     detail::Inside::UploadListener listener) {
  const std::string_view bytes = from.view.bytes;
  dispatch::PutFile chunk{from.file, 0, {}};
  auto moved = std::chrono::steady_clock::now();
  auto next = moved;
  for (uint64_t before = 0;;) {
    auto state = ask<dispatch::FileState>(engine, chunk, engine.patience() * 2);
    if (!state) {
      Error why = state.error();
      why.message = fmt::format("the job was not submitted: the data file '{}' ({}) was not uploaded: {}",
                                printable(from.path), format_bytes(static_cast<double>(bytes.size())), why.message);
      return why;
    }
    if (listener) listener(from.path, state->have, bytes.size());
    if (state->have == bytes.size() && state->kept) return Done{};
    const auto now = std::chrono::steady_clock::now();
    if (state->have != before) moved = now;
    before = state->have;
    if (now - moved > kMaxCopying) {
      return Error{Code::kUnavailable,
                   fmt::format("the job was not submitted: no majority of the managers keeps the data file '{}' ({}): "
                               "their logs say why",
                               printable(from.path), format_bytes(static_cast<double>(bytes.size()))),
                   {}};
    }
    chunk.offset = std::min<uint64_t>(state->have, bytes.size());
    chunk.bytes = bytes.substr(chunk.offset, dispatch::kMaxFileChunk);
    std::this_thread::sleep_until(next);
    next = std::max(next, std::chrono::steady_clock::now() - kMinChunkApart) + kMinChunkApart;
  }
}

}  // namespace

// --- a job -----------------------------------------------------------------------------------------------------------

Job::Job(std::shared_ptr<detail::Engine> engine, std::shared_ptr<detail::Following> following)
    : engine_(std::move(engine)), following_(std::move(following)) {}

Job::Job(Job&&) noexcept = default;

Job& Job::operator=(Job&& other) noexcept {
  if (this == &other) return *this;
  if (following_ != nullptr) engine_->let_go(following_);
  engine_ = std::move(other.engine_);
  following_ = std::move(other.following_);
  return *this;
}

Job::~Job() {
  if (following_ != nullptr) engine_->let_go(following_);
}

const std::string& Job::id() const { return following_->job(); }

Outcome<Status> Job::status() { return status_of(*engine_, id(), &following_->plan()); }

Outcome<History> Job::history() {
  dispatch::Watch message;
  message.job = id();
  const auto watched = ask<dispatch::Watched>(*engine_, message, engine_->patience());
  if (!watched) return watched.error();
  const plan::Plan& plan = following_->plan();
  if (watched->totals.empty()) return detail::history_of(aggregate::Totals(plan));
  auto state = ingest::decode_totals(watched->totals, plan);
  if (!state) return error_of(state.error());
  return detail::history_of(aggregate::Totals::restore(plan, std::move(*state)));
}

Outcome<Result> Job::wait() {
  if (engine_->on_own_thread()) return in_callback();
  engine_->follow(following_);
  following_->wait(detail::Following::Until::kJudged, std::nullopt);
  return *following_->outcome();
}

Outcome<Result> Job::wait_for(std::chrono::milliseconds most) {
  if (engine_->on_own_thread()) return in_callback();
  engine_->follow(following_);
  const auto deadline = std::chrono::steady_clock::now() + most;
  if (following_->wait(detail::Following::Until::kJudged, deadline)) return *following_->outcome();
  return Error{Code::kTimeout, fmt::format("job '{}' is still running", id()), {}};
}

Outcome<Result> Job::result() {
  if (engine_->on_own_thread()) return in_callback();
  engine_->follow(following_);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(engine_->patience().ns());
  const bool heard = following_->wait(detail::Following::Until::kHeard, deadline);
  if (has_ended(following_->state())) following_->wait(detail::Following::Until::kJudged, deadline);
  if (const auto outcome = following_->outcome()) return *outcome;
  if (!heard)
    return Error{Code::kUnreachable, fmt::format("no manager answered a request about job '{}' in time", id()), {}};
  return Error{Code::kUnavailable,
               fmt::format("job '{}' is {}: it has no result yet", id(), to_string(following_->state())),
               {}};
}

Outcome<Done> Job::cancel(const Cancellation& cancellation) { return cancel_job(*engine_, id(), cancellation); }

Outcome<Done> Job::scale(const std::string& workflow, uint32_t vus) { return scale_job(*engine_, id(), workflow, vus); }

void Job::ask_to_cancel(const Cancellation& cancellation) {
  engine_->ask_later(message_of_type(*engine_, id(), cancellation), following_);
}

uint64_t Job::failed_callbacks() const { return following_->failed_callbacks(); }

// --- a client --------------------------------------------------------------------------------------------------------

Client::Client(std::shared_ptr<detail::Engine> engine) : engine_(std::move(engine)) {}

Client::~Client() { engine_->close(); }

Outcome<std::unique_ptr<Client>> Client::connect(const Options& options) {
  auto settings = detail::settings_of(options);
  if (!settings) return settings.error();
  auto engine = detail::Engine::start(std::move(*settings));
  if (!engine) return Error{Code::kInvalid, engine.error().message, {}};
  return std::unique_ptr<Client>(new Client(std::move(*engine)));
}

Outcome<Job> Client::submit(const Scenario& scenario, const Submission& submission, Listener* listener) {
  if (engine_->on_own_thread()) return in_callback();
  const auto bundled = detail::bundle_of(scenario);
  if (bundled) return followed(detail::Inside::submit(*this, *bundled, submission, listener, {}), listener);
  const detail::ScenarioTrouble& trouble = bundled.error();
  const Code code = trouble.diagnostics.empty() ? Code::kInvalid : Code::kScenario;
  return error_of(code, trouble.error.message, trouble.diagnostics);
}

Outcome<Job> Client::attach(const std::string& job, Listener* listener) {
  return followed(detail::Inside::attach(*this, job, listener, {}), listener);
}

Outcome<Status> Client::status(const std::string& job) { return status_of(*engine_, job, nullptr); }

Outcome<Done> Client::cancel(const std::string& job, const Cancellation& cancellation) {
  return cancel_job(*engine_, job, cancellation);
}

Outcome<Done> Client::scale(const std::string& job, const std::string& workflow, uint32_t vus) {
  return scale_job(*engine_, job, workflow, vus);
}

Outcome<JobList> Client::jobs() { return ask<dispatch::JobList>(*engine_, dispatch::ListJobs{}, engine_->patience()); }

Outcome<std::vector<Worker>> Client::workers() {
  const auto list = ask<dispatch::WorkerList>(*engine_, dispatch::ListWorkers{}, engine_->patience());
  if (!list) return list.error();
  return list->workers;
}

Outcome<std::vector<Datacenter>> Client::datacenters() {
  const auto list = ask<dispatch::DatacenterList>(*engine_, dispatch::ListDatacenters{}, engine_->patience());
  if (!list) return list.error();
  return list->datacenters;
}

std::string Client::answered_by() const { return engine_->answered_by(); }

}  // namespace bellwether::client

// --- for the commands of this product --------------------------------------------------------------------------------

namespace bellwether::client::detail {

Outcome<Job> Inside::submit(Client& client, const plan::Bundled& bundled, const Submission& submission,
                            Listener* listener, std::optional<TotalsListener> totals, UploadListener uploads) {
  const std::shared_ptr<Engine>& engine = client.engine_;
  if (engine->on_own_thread()) return in_callback();
  if (const auto vouched = plan::check_signatures(bundled.plan); !vouched) return error_of(vouched.error());
  std::vector<dispatch::FileBeside> beside;
  auto bytes = dispatch::encode_bundle(bundled.bundle, &beside);
  if (!bytes) return Error{Code::kInvalid, bytes.error().message, {}};
  for (const dispatch::FileBeside& file : beside) {
    const auto uploaded = upload(*engine, file, uploads);
    if (!uploaded) return uploaded.error();
  }
  dispatch::Submit message;
  message.job = submission.id.empty() ? drawn_id(*engine) : submission.id;
  message.by = engine->by();
  message.bundle = std::move(*bytes);
  message.seed = submission.seed != 0 ? submission.seed : engine->draw();
  auto answer = engine->ask(message, engine->patience() * 2);
  // An id is used up if its manager died before the job had a record: the next owner has made sure that nothing of it
  // ever runs.
  for (int tried = 1; tried < kMaxIds && submission.id.empty() && is_used_up(answer); ++tried) {
    message.job = drawn_id(*engine);
    answer = engine->ask(message, engine->patience() * 2);
  }
  const std::string id = message.job;
  if (!answer) {
    if (!perhaps_taken(answer.error())) {
      Error refused = error_of(answer.error());
      refused.message = "the job was not accepted: " + refused.message;
      return refused;
    }
    return Error{Code::kUnconfirmed,
                 fmt::format("no manager confirmed job {}, but the cluster may have accepted it: {}", id,
                             answer.error().message),
                 {}};
  }
  if (!std::holds_alternative<dispatch::Submitted>(*answer)) return strange();
  return Job(engine, std::make_shared<Following>(id, bundled.plan, listener, totals));
}

Outcome<Job> Inside::attach(Client& client, const std::string& job, Listener* listener,
                            std::optional<TotalsListener> totals) {
  const std::shared_ptr<Engine>& engine = client.engine_;
  const auto message = ask<dispatch::BundleMessage>(*engine, dispatch::FetchBundle{job}, engine->patience());
  if (!message) return message.error();
  const auto bundle = dispatch::decode_bundle(message->bytes);
  if (!bundle) return error_of(bundle.error());
  auto plan = plan::plan_of(*bundle);
  if (!plan) return error_of(plan.error());
  return Job(engine, std::make_shared<Following>(job, std::move(*plan), listener, totals));
}

const plan::Plan& Inside::plan(const Job& job) { return job.following_->plan(); }

const std::string& Inside::cluster(const Client& client) { return client.engine_->cluster(); }

void Inside::follow(Job& job) { job.engine_->follow(job.following_); }

const report::RunReport& Inside::report(const Job& job) { return job.following_->report(); }

}  // namespace bellwether::client::detail
