// The real HTTP client against the real test server while everything around them breaks: whatever is answered is the
// answer to what was asked, whatever fails says why, and when all is whole again everything succeeds.
#include <gtest/gtest.h>

#include "core/http1/client.h"
#include "core/runtime/scope.h"
#include "target/routes.h"
#include "tests/sim/fast/http_server.h"
#include "tests/sim/faults.h"
#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

using http1::CallLimits;
using http1::Client;
using http1::ErrorKind;
using http1::Request;
using http1::Response;
using http1::Session;
using runtime::Runtime;
using runtime::Scope;
using runtime::task;

constexpr uint64_t kUsers = 4;
constexpr int kFaults = 20;
constexpr uint64_t kMoreAnswers = 20;
constexpr CallLimits kLimits{.timeout = Duration::seconds(8),
                             .connect_timeout = Duration::seconds(3),
                             .first_byte_timeout = Duration::seconds(4)};

// What is known from outside.
struct Observer {
  std::array<uint64_t, kUsers> answers{};
  std::array<uint64_t, http1::kErrorKinds> errors{};
  bool all_is_whole = false;  // what begins now succeeds
  std::string violation;

  void violated(std::string what) {
    if (violation.empty()) violation = std::move(what);
  }
};

// One request whose answer is known beforehand.
struct Question {
  std::string method;
  std::string target;
  std::string body;
  std::string head;
  std::string answer;
};

Question draw_question(Prng& prng, const std::string& name) {
  Question question;
  const uint64_t size = prng.chance(0.2) ? prng.below(60'000) : prng.below(500);
  switch (prng.below(4)) {
    case 0: question = {"GET", "/bytes/" + std::to_string(size), {}, {}, std::string(size, 'x')}; break;
    case 1: {
      const uint64_t lines = size / 50;
      question = {"GET", "/stream/" + std::to_string(lines), {}, {}, {}};
      for (uint64_t i = 1; i <= lines; ++i) question.answer += "line " + std::to_string(i) + "\n";
      break;
    }
    default: question = {"POST", "/echo", name + std::string(size, 'e'), {}, {}}; question.answer = question.body;
  }
  question.head = question.method + " " + question.target + " HTTP/1.1\r\nHost: server\r\n";
  if (question.method == "POST") question.head += "Content-Length: " + std::to_string(question.body.size()) + "\r\n";
  return question;
}

bool may_fail_with(ErrorKind error) {
  switch (error) {
    case ErrorKind::kDns:
    case ErrorKind::kConnectRefused:
    case ErrorKind::kConnectTimeout:
    case ErrorKind::kConnectReset:
    case ErrorKind::kSend:
    case ErrorKind::kReset:
    case ErrorKind::kClosed:
    case ErrorKind::kTruncated:
    case ErrorKind::kFirstByteTimeout:
    case ErrorKind::kTimeout: return true;
    default: return false;
  }
}

void judge(const Question& question, const Response& response, bool must_succeed, uint64_t user, Observer& observer) {
  const std::string what = question.method + " " + question.target;
  ++observer.errors[static_cast<std::size_t>(response.error)];
  if (response.error != ErrorKind::kNone) {
    if (must_succeed || !may_fail_with(response.error)) {
      observer.violated(what + " failed with " + std::string(to_string(response.error)) + ": " + response.detail);
    }
    return;
  }
  if (response.status != 200) observer.violated(what + " was answered with " + std::to_string(response.status));
  if (response.body != question.answer) observer.violated(what + " was answered with what belongs to something else");
  if (response.sent < response.started || response.first_byte < response.sent || response.done < response.first_byte) {
    observer.violated(what + " has times out of order");
  }
  ++observer.answers[user];
}

task<void> use(Runtime& runtime, Client& client, uint64_t user, Observer& observer) {
  const auto origin = client.origins().find(false, "server", 80, {});
  Session session;
  for (uint64_t number = 0;; ++number) {
    const std::string name = std::to_string(user) + "/" + std::to_string(number) + ":";
    const Question question = draw_question(runtime.prng(), name);
    Request request;
    request.origin = *origin;
    request.method = question.method;
    request.target = question.target;
    request.head = question.head;
    request.body = question.body;
    request.limits = &kLimits;
    request.want_body = true;
    Response response;
    const bool must_succeed = observer.all_is_whole;
    co_await client.exchange(session, request, response, nullptr);
    judge(question, response, must_succeed, user, observer);
    const Duration pause = runtime.prng().between(Duration::zero(), Duration::millis(200));
    co_await runtime.sleep(pause);
  }
}

task<void> generate(Runtime& runtime, void* context) {
  auto& observer = *static_cast<Observer*>(context);
  Client client(runtime);
  Scope users;
  for (uint64_t user = 0; user < kUsers; ++user) users.spawn(use(runtime, client, user, observer));
  co_await users.join();
}

struct Life {
  Observer observer;
  Judgement judgement;
};

void live_through(uint64_t seed, Life& life) {
  target::FaultOptions target_faults;
  World world(seed);
  world.add_node("server").start(&http_server, &target_faults);
  world.add_node("generator").start(&generate, &life.observer);

  Faults faults(world);
  world.run_for(Duration::seconds(1));
  faults.happen(kFaults);
  faults.end();
  world.run_for(kLimits.timeout * 2);  // what began before may still fail
  life.observer.all_is_whole = true;

  const auto goals = life.observer.answers;
  const bool all_get_on = world.run_while_waiting(Duration::minutes(3), [&] {
    for (uint64_t i = 0; i < kUsers; ++i) {
      if (life.observer.answers[i] < goals[i] + kMoreAnswers) return false;
    }
    return true;
  });
  life.judgement = life.observer.violation;
  if (life.judgement.empty() && !all_get_on) life.judgement = "nothing is broken any more, and requests still fail";
}

constexpr std::size_t kSeedsForFailures = 100;
std::array<uint64_t, http1::kErrorKinds> met{};  // in all worlds

Judgement live(uint64_t seed) {
  Life life;
  live_through(seed, life);
  for (std::size_t i = 0; i < met.size(); ++i) met[i] += life.observer.errors[i];
  return life.judgement;
}

TEST(HttpClient, gets_its_own_answers_whatever_breaks_and_meets_every_failure_of_the_network) {
  expect_good(&live);
  if (seeds().size() < kSeedsForFailures) return;
  for (const ErrorKind kind :
       {ErrorKind::kNone, ErrorKind::kDns, ErrorKind::kConnectRefused, ErrorKind::kConnectTimeout, ErrorKind::kReset,
        ErrorKind::kClosed, ErrorKind::kTruncated, ErrorKind::kFirstByteTimeout, ErrorKind::kTimeout}) {
    EXPECT_GT(met[static_cast<std::size_t>(kind)], 0u) << to_string(kind);
  }
}

}  // namespace
}  // namespace bellwether::sim
