#include "jobs/client/client_engine.h"

#include <sys/random.h>
#include <utility>

#include "cluster/node/secrets.h"
#include "core/base/check.h"
#include "core/base/encoding.h"
#include "core/base/overloaded.h"
#include "core/runtime/thread.h"
#include "election/store/environment.h"
#include "jobs/client/client_format.h"
#include "jobs/client/scenario_files.h"

namespace bellwether::client::detail {

namespace {

constexpr uint64_t kMaxSettingsBytes = 1ULL << 20;
constexpr std::chrono::hours kMaxQuorumWait{168};  // so long managers keep results

std::string user_name(const Options& options) {
  if (!options.by.empty()) return options.by;
  const std::string user = store::variable(&store::own_environment, "USER");
  return user.empty() ? "somebody" : user;
}

// The options as settings of a node. A client needs neither a role nor a disk; such settings in the file are for the
// node.
std::vector<std::string> assignments_of(const Options& options) {
  std::vector<std::string> out;
  const auto given = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.push_back(name + ("=" + value));
  };
  given("cluster", options.cluster);
  given("environment", options.environment);
  given("secret.file", options.secret_file);
  given("tls.certificate", options.certificate);
  given("tls.key", options.key);
  given("tls.ca", options.ca);
  for (const char* own : {"role=worker", "name=client", "voters=", "data=", "cores=0"}) out.emplace_back(own);
  return out;
}

}  // namespace

using runtime::task;

namespace {

tl::unexpected<bellwether::Error> closed() { return fail(Errc::kCancelled, "the client was closed"); }

Error let_be() { return {Code::kClosed, "the client was closed", {}}; }

}  // namespace

Engine::Engine(Settings settings, std::unique_ptr<runtime::EpollRuntime> runtime)
    : settings_(std::move(settings)), runtime_(std::move(runtime)), prng_(runtime_->prng().fork()) {}

bellwether::Result<std::shared_ptr<Engine>> Engine::start(Settings settings) {
  BW_TRY(auto runtime, runtime::EpollRuntime::create({}));
  const std::shared_ptr<Engine> engine(new Engine(std::move(settings), std::move(runtime)));
  std::unique_lock lock(engine->mutex_);
  {
    const runtime::NoSignals no_signals;  // they are the application's
    engine->thread_ = std::thread([engine] { engine->live(); });
  }
  engine->own_ = engine->thread_.get_id();
  engine->changed_.wait(lock, [&] { return engine->made_.has_value(); });
  if (*engine->made_) return engine;
  lock.unlock();
  engine->thread_.join();
  return tl::unexpected(engine->made_->error());
}

// --- any thread ------------------------------------------------------------------------------------------------------

void Engine::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  const bool own = on_own_thread();
  if (own) stop_all();
  call_attention();
  if (own) {
    thread_.detach();  // it holds the engine, and ends after this callback
  } else {
    thread_.join();
  }
}

bool Engine::push(Wish wish) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_ || over_) return false;
    wishes_.push_back(std::move(wish));
  }
  call_attention();
  return true;
}

// At most one message is on its way to the thread, so that it always fits.
void Engine::call_attention() {
  {
    const std::lock_guard lock(mutex_);
    if (over_ || std::exchange(attention_called_, true)) return;
  }
  const bool posted = runtime_->post([](void* engine) { static_cast<Engine*>(engine)->attend(); }, this);
  check(posted, "one message always fits");
}

bellwether::Result<dispatch::Response> Engine::ask(dispatch::JobMessage message, Duration patience) {
  check(!on_own_thread(), "nobody would fetch the answer");
  const auto question = std::make_shared<Question>(Question{std::move(message), patience, nullptr, std::nullopt});
  if (!push(question)) return closed();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return question->answer.has_value(); });
  return std::move(*question->answer);
}

void Engine::ask_later(dispatch::JobMessage message, std::shared_ptr<Following> told) {
  push(std::make_shared<Question>(Question{std::move(message), settings_.patience, std::move(told), std::nullopt}));
}

void Engine::follow(const std::shared_ptr<Following>& following) {
  if (following->take_start() && !push(Begin{following})) following->end(let_be());
}

void Engine::let_go(const std::shared_ptr<Following>& following) {
  if (following->take_start()) return;  // it never began
  if (on_own_thread()) return following->stop();
  push(End{following});
  following->wait(Following::Until::kStopped, std::nullopt);
}

// Ids of jobs and clients that nobody can guess.
uint64_t Engine::draw() {
  uint64_t drawn = 0;
  if (::getrandom(&drawn, sizeof drawn, 0) == sizeof drawn) return drawn;
  const std::lock_guard lock(mutex_);
  return prng_.next();
}

std::string Engine::answered_by() const {
  const std::lock_guard lock(mutex_);
  return answered_by_;
}

// --- the own thread --------------------------------------------------------------------------------------------------

void Engine::live() {
  runtime::set_up_thread("client", std::nullopt);
  auto made = node::JobClient::make(*runtime_, settings_.config, std::move(settings_.keyring),
                                    {settings_.managers, "client-" + hex(draw())});
  const bool well = made.has_value();
  if (well) {
    client_ = std::move(*made);
    scope_.emplace();
  }
  {
    const std::lock_guard lock(mutex_);
    over_ = !well;
    if (well) {
      made_.emplace();
    } else {
      made_.emplace(tl::unexpected(made.error()));
    }
  }
  changed_.notify_all();
  if (!well) return;
  runtime_->run(serve());
  std::deque<Wish> late;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    late = std::exchange(wishes_, {});
  }
  for (const Wish& wish : late) turn_down(wish);
  scope_.reset();
  client_.reset();
}

task<void> Engine::serve() {
  co_await ends_.wait();
  scope_->cancel();
  co_await scope_->join();
  co_await client_->close();
}

void Engine::attend() {
  std::deque<Wish> wanted;
  bool closing = false;
  {
    const std::lock_guard lock(mutex_);
    wanted = std::exchange(wishes_, {});
    attention_called_ = false;
    closing = closing_;
  }
  for (const Wish& wish : wanted) {
    if (closing) {
      turn_down(wish);
    } else {
      carry_out(wish);
    }
  }
  if (!closing) return;
  stop_all();
  ends_.set();
}

void Engine::carry_out(const Wish& wish) {
  std::visit(Overloaded{[&](const std::shared_ptr<Question>& question) { scope_->spawn(answer(this, question)); },
                        [&](const Begin& begin) {
                          followings_.insert(begin.following);
                          scope_->spawn(keep_following(this, begin.following));
                        },
                        [](const End& end) { end.following->stop(); }},
             wish);
}

void Engine::turn_down(const Wish& wish) {
  std::visit(Overloaded{[&](const std::shared_ptr<Question>& question) {
                          {
                            const std::lock_guard lock(mutex_);
                            question->answer.emplace(closed());
                          }
                          changed_.notify_all();
                        },
                        [](const Begin& begin) { begin.following->end(let_be()); },
                        [](const End& end) { end.following->stop(); }},
             wish);
}

task<void> Engine::answer(Engine* self, std::shared_ptr<Question> question) {
  const Instant deadline = self->runtime_->read_clock() + question->patience;
  auto got = co_await self->client_->ask(std::move(question->message), deadline, self->scope_->cancellation());
  if (!got && question->told != nullptr) question->told->not_cancelled(got.error());
  {
    const std::lock_guard lock(self->mutex_);
    self->answered_by_ = self->client_->answered_by();
    question->answer.emplace(std::move(got));
  }
  self->changed_.notify_all();
}

task<void> Engine::keep_following(Engine* self, std::shared_ptr<Following> following) {
  co_await following->run(self->client_.get(), self->runtime_.get(), self->settings_.quorum_wait,
                          self->scope_->cancellation());
  self->followings_.erase(following);
}

Outcome<Engine::Settings> settings_of(const Options& options) {
  if (options.patience.count() <= 0) {
    return Error{Code::kInvalid, "the option patience must be more than 0", {}};
  }
  if (options.quorum_wait.count() < 0 || options.quorum_wait > kMaxQuorumWait) {
    return Error{Code::kInvalid, "the quorum wait must be between 0 and 168h", {}};
  }
  cluster::Settings settings{cluster::node_settings()};
  yaml::Diagnostics wrong(options.settings_file.empty() ? "settings" : options.settings_file);
  if (!options.settings_file.empty()) {
    const auto text = read_whole_file(options.settings_file, kMaxSettingsBytes);
    if (!text) return Error{Code::kInvalid, "the cluster settings: " + text.error().message, {}};
    settings.read_file(*text, wrong, options.settings_file);
  }
  settings.read_environment(&store::own_environment, wrong);
  for (const std::string& one : assignments_of(options)) settings.read_option(one, wrong);
  auto config = cluster::node_config(settings, "client", wrong);
  if (!wrong.empty() || !config) return error_of(Code::kInvalid, "the cluster settings are invalid", wrong.take());
  std::vector<HostPort> managers = config->seeds;
  if (!options.managers.empty()) managers.clear();
  for (const std::string& one : options.managers) {
    const auto place = parse_host_port(one, cluster::kDefaultPort);
    if (!place) return Error{Code::kInvalid, fmt::format("manager '{}': {}", one, place.error().message), {}};
    managers.push_back(*place);
  }
  auto keyring = node::read_secrets(*config, &store::own_environment);
  if (!keyring) return Error{Code::kInvalid, keyring.error().message, {}};
  return Engine::Settings{std::move(*config),
                          std::move(*keyring),
                          std::move(managers),
                          user_name(options),
                          Duration::millis(options.patience.count()),
                          Duration::millis(options.quorum_wait.count())};
}

}  // namespace bellwether::client::detail
