// Groups of load threads with a separate clock; their requests get no answer.
#include "load/local/load_group.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "core/runtime/epoll/sockets.h"
#include "core/runtime/scope.h"
#include "core/runtime/stream_testing.h"
#include "core/runtime/temporary_testing.h"
#include "load/plan/load.h"
#include "load/plan/load_testing.h"

namespace bellwether::node {
namespace {

plan::Plan plan_for(Duration duration, std::optional<double> rate_per_s) {
  // A port without a listener.
  auto plan = plan::make_plan(
      plan::QuickRun{.url = "http://127.0.0.1:1/", .vus = 2, .duration = duration, .rate_per_s = rate_per_s});
  check(plan.has_value(), "the test's URL is right");
  return std::move(*plan);
}

// A target that cuts each connection on which a request is sent: the request ends without a response, and needs no
// time.
class CuttingTarget {
 public:
  CuttingTarget() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const runtime::SocketAddress any({runtime::IpAddress::loopback(), 0}, true);
    check(::bind(listening_, any.get(), any.size()) == 0 && ::listen(listening_, 1) == 0, "the loopback has ports");
  }
  ~CuttingTarget() { ::close(listening_); }
  CuttingTarget(const CuttingTarget&) = delete;
  CuttingTarget& operator=(const CuttingTarget&) = delete;
  std::string address() const { return runtime::local_endpoint(listening_).to_string(); }
  // On the thread that sends.
  void cut() const { ::close(::accept(listening_, nullptr, nullptr)); }

 private:
  int listening_;
};

// Notes its calls, and may delay the control thread with them.
class Heard final : public LoadGroup::Listener {
 public:
  void second_over(const metrics::Window& window, Duration lived) override {
    seconds.push_back(window.second);
    covered += lived;
    scheduled.push_back(window.workflows[0].scheduled);
    ran += window.workflows[0].ran;
    running.push_back(group->running());
    watched.resize(window.watches.size());
    for (std::size_t i = 0; i < watched.size(); ++i) watched[i] += window.watches[i].count();
    if (hold_up) hold_up(*this);
  }
  void aborted_by(const std::string&) override {}
  void noted(const std::string& text) override { notes.push_back(text); }
  void timed_out(uint16_t) override {}

  LoadGroup* group = nullptr;
  runtime::Runtime* runtime = nullptr;
  void (*hold_up)(Heard&) = nullptr;
  std::vector<uint64_t> seconds;
  std::vector<uint64_t> scheduled;
  std::vector<bool> running;
  std::vector<std::string> notes;
  std::vector<uint64_t> watched;
  Duration covered;
  Duration ran;
};

class LoadGroupTest : public testing::Test {
 protected:
  void live(const plan::Plan& plan, GroupOptions options, Duration resume_at = Duration::zero()) {
    LoadGroup group(*runtime_, plan, std::move(options), heard_);
    heard_.group = &group;
    heard_.runtime = runtime_.get();
    ASSERT_TRUE(group.prepare());
    EXPECT_FALSE(group.running());
    runtime_->run(group.run(runtime_->read_clock() - resume_at, {.at = resume_at}));
    EXPECT_FALSE(group.running());
    EXPECT_EQ(heard_.covered, group.elapsed() - resume_at);
    tally_ = group.tally();
    ran_ = group.elapsed(0);
    const auto first = static_cast<uint64_t>(resume_at / Duration::seconds(1));
    for (std::size_t i = 0; i < heard_.seconds.size(); ++i) EXPECT_EQ(heard_.seconds[i], first + i);
  }
  uint64_t scheduled() const {
    uint64_t sum = 0;
    for (const uint64_t one : heard_.scheduled) sum += one;
    return sum;
  }

  std::unique_ptr<runtime::EpollRuntime> runtime_ = runtime::test_runtime();
  Heard heard_;
  vuser::Tally tally_;
  Duration ran_;  // the first workflow
};

TEST_F(LoadGroupTest, merges_its_parts_second_by_second) {
  live(plan_for(Duration::millis(2210), 100), {.assignments = {{1, 4, {}}, {2, 4, {}}}});
  EXPECT_EQ(scheduled(), 110u);
  ASSERT_GE(heard_.seconds.size(), 3u);
  EXPECT_FALSE(heard_.running.back());
}

TEST_F(LoadGroupTest, shows_each_request_to_its_instruments) {
  const plan::Plan plan = plan_for(Duration::millis(50), 100);
  const runtime::TemporaryFolder folder;
  const std::string path = folder.path("log.csv");
  auto log = RequestLog::open(path, plan);
  ASSERT_TRUE(log);
  std::atomic<uint64_t> seen{0};
  const auto sent = [](const http1::Session&, const http1::Origin&, std::string_view) {};
  const auto received = [&seen](const http1::Session& session, const http1::Response& response) {
    const auto* vu = static_cast<const vuser::Vu*>(session.owner);
    seen += vu != nullptr && vu->workflow.name == "url" && response.error == http1::ErrorKind::kConnectRefused ? 1 : 0;
  };
  const http1::ExchangeWatch watch{.bodies = false, .sent = sent, .received = received};
  (*log)->begin(runtime_->read_clock(), runtime_->wall_now());
  live(plan, {.assignments = {{0, 2, {}}, {1, 2, {}}}, .request_log = log->get(), .watch = &watch});
  EXPECT_EQ((*log)->end().problem, "");
  std::ifstream file(path);
  uint64_t rows = 0;
  for (std::string line; std::getline(file, line);)
    rows += line.find(",true,connect_refused,") != std::string::npos ? 1 : 0;
  EXPECT_EQ(scheduled(), 5u);
  EXPECT_GE(tally_.requests, 1u) << "a busy machine may drop an arrival, but not all";
  EXPECT_EQ(rows, tally_.requests);
  EXPECT_EQ(seen, tally_.requests);
}

runtime::task<void> tell_early(runtime::Runtime* control, LoadGroup* group) {
  co_await control->sleep(Duration::millis(500));
  // More than a second in which the threads were not asked. Arrivals that a busy machine drops count too.
  for (auto seen = group->tally(); seen.requests + seen.dropped < 215; seen = group->tally()) std::this_thread::yield();
  group->tell_what_is_over();
}

TEST_F(LoadGroupTest, that_tells_early_what_is_over_counts_all_of_it_once) {
  const plan::Plan plan = plan_for(Duration::millis(3210), 100);
  LoadGroup group(*runtime_, plan, {.assignments = {{0, 2, {}}, {1, 2, {}}}, .tally_every = Duration::millis(10)},
                  heard_);
  heard_.group = &group;
  ASSERT_TRUE(group.prepare());
  runtime::Scope beside;
  beside.spawn(tell_early(runtime_.get(), &group));
  runtime_->run(group.run(runtime_->read_clock()));
  EXPECT_EQ(scheduled(), 321u);
  for (std::size_t i = 0; i < heard_.seconds.size(); ++i) EXPECT_EQ(heard_.seconds[i], i);
  EXPECT_EQ(heard_.covered, group.elapsed());
}

runtime::task<void> tell_late(runtime::Runtime* control, LoadGroup* group) {
  co_await control->sleep(Duration::millis(100));
  const Instant end = control->read_clock() + Duration::seconds(2);
  while (control->read_clock() < end) std::this_thread::yield();
  group->tell_what_is_over();
}

// The threads have ended, and the control thread stood still before it heard of that.
TEST_F(LoadGroupTest, that_tells_what_is_over_after_its_end_covers_what_it_lived) {
  const plan::Plan plan = plan_for(Duration::millis(1210), 100);
  LoadGroup group(*runtime_, plan, {}, heard_);
  heard_.group = &group;
  ASSERT_TRUE(group.prepare());
  runtime::Scope beside;
  beside.spawn(tell_late(runtime_.get(), &group));
  runtime_->run(group.run(runtime_->read_clock()));
  EXPECT_EQ(scheduled(), 121u);
  EXPECT_EQ(heard_.covered, group.elapsed());
}

TEST_F(LoadGroupTest, that_goes_on_tells_the_rest_of_the_seconds) {
  live(plan_for(Duration::seconds(3), 100), {}, Duration::millis(1250));
  EXPECT_EQ(scheduled(), 175u);
}

TEST_F(LoadGroupTest, whose_permit_had_ended_when_it_went_on_has_lived_until_then) {
  const std::atomic<int64_t> until{0};
  const std::atomic<int64_t> handed_over{INT64_MAX};
  vuser::Permit permit{until, handed_over};
  const plan::Plan plan = plan_for(Duration::seconds(9), 100);
  LoadGroup group(*runtime_, plan, {.permit = &permit}, heard_);
  heard_.group = &group;
  ASSERT_TRUE(group.prepare());
  const Duration resume_at = Duration::millis(1250);
  runtime_->run(group.run(runtime_->read_clock() - Duration::seconds(3), {.at = resume_at}));
  EXPECT_EQ(group.elapsed(), resume_at);
  EXPECT_EQ(scheduled(), 0u);
}

TEST_F(LoadGroupTest, that_goes_on_for_another_one_draws_other_numbers) {
  const CuttingTarget target;
  plan::TestSources sources(
      "workflows: {w: {executor: shared-iterations, vus: 1, iterations: 1, max_duration: 1m, steps: {s: {http: {get: "
      "\"http://" +
      target.address() + "/${uuid}\"}}}}}\n");
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  const auto drawn = [&](Duration resume_at) {
    std::string line;
    const auto sent = [&](const http1::Session&, const http1::Origin&, std::string_view request) {
      line = request.substr(0, request.find('\r'));
      target.cut();
    };
    const auto received = [](const http1::Session&, const http1::Response&) {};
    const http1::ExchangeWatch watch{.bodies = false, .sent = sent, .received = received};
    heard_ = Heard();
    live(*plan, {.seed = 7, .watch = &watch}, resume_at);
    EXPECT_NE(line, "");
    return line;
  };
  const std::string first = drawn(Duration::zero());
  EXPECT_EQ(drawn(Duration::zero()), first) << "one seed gives one run";
  const std::string second = drawn(Duration::seconds(1));
  EXPECT_NE(second, first);
  EXPECT_NE(drawn(Duration::seconds(2)), second);
}

TEST_F(LoadGroupTest, keeps_the_times_that_thresholds_select_also_of_requests_without_a_response) {
  const CuttingTarget target;
  plan::TestSources sources(
      "workflows: {w: {vus: 1, iterations: 3, steps: {s: {http: {get: \"http://" + target.address() +
      "/\", keep_alive: false}}}}}\nthresholds: {\"http_req_connecting{status:0}\": [max<60000], "
      "\"http_req_connecting{status:200}\": [max<60000], \"http_req_waiting{status:0}\": [max<60000]}\n");
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  const auto sent = [&](const http1::Session&, const http1::Origin&, std::string_view) { target.cut(); };
  const auto received = [](const http1::Session&, const http1::Response&) {};
  const http1::ExchangeWatch watch{.bodies = false, .sent = sent, .received = received};
  live(*plan, {.watch = &watch});
  EXPECT_EQ(heard_.watched, (std::vector<uint64_t>{3, 0, 0}));
}

TEST_F(LoadGroupTest, that_goes_on_beyond_the_last_row_says_so_and_ends) {
  plan::TestSources sources(R"(
data: {ids: {csv: ids.csv, at_end: stop}}
workflows: {w: {vus: 1, duration: 1m, steps: {s: {http: {get: "http://127.0.0.1:1/${ids.id}"}}}}}
)");
  sources.world.files["ids.csv"] = "id\n1\n2\n";
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  LoadGroup group(*runtime_, *plan, {}, heard_);
  heard_.group = &group;
  ASSERT_TRUE(group.prepare());
  runtime_->run(group.run(runtime_->read_clock() - Duration::seconds(1), {Duration::seconds(1), {5, {}}}));
  EXPECT_EQ(group.tally().requests, 0u);
  EXPECT_EQ(heard_.notes, std::vector<std::string>{"w: its data has no more rows, and 'at_end' is stop"});
}

// The group reports its last second when it is over, although the thread ended before.
TEST_F(LoadGroupTest, that_is_held_up_past_its_end_covers_what_it_lived) {
  heard_.hold_up = [](Heard& heard) {
    heard.hold_up = nullptr;
    const Instant next_second_is_over = heard.runtime->read_clock() + Duration::seconds(1);
    while (heard.runtime->read_clock() < next_second_is_over) std::this_thread::yield();
  };
  live(plan_for(Duration::millis(1500), 100), {});
  EXPECT_EQ(scheduled(), 150u);
}

TEST_F(LoadGroupTest, whose_time_is_over_has_covered_nothing) {
  const plan::Plan plan = plan_for(Duration::seconds(3), 100);
  LoadGroup group(*runtime_, plan, {}, heard_);
  heard_.group = &group;
  ASSERT_TRUE(group.prepare());
  runtime_->run(group.run(runtime_->read_clock() - Duration::seconds(9), {.at = Duration::seconds(9)}));
  EXPECT_EQ(scheduled(), 0u);
  ASSERT_FALSE(heard_.seconds.empty());
  EXPECT_EQ(heard_.seconds.front(), 9u);
}

// While the control thread stands still, the load thread has no window to go on with: what it counts comes later, and
// no second is left out.
TEST_F(LoadGroupTest, that_is_held_up_leaves_out_no_second) {
  heard_.hold_up = [](Heard& heard) {
    heard.hold_up = nullptr;
    // On a busy machine arrivals are dropped: they count as those that were served.
    for (auto seen = heard.group->tally(); seen.requests + seen.dropped < 550; seen = heard.group->tally()) {
      std::this_thread::yield();
    }
  };
  live(plan_for(Duration::seconds(6), 100), {.tally_every = Duration::millis(10)});
  EXPECT_EQ(scheduled(), 600u);
  EXPECT_EQ(tally_.requests, 600u - tally_.dropped);
  EXPECT_TRUE(std::ranges::count(heard_.scheduled, 0u) > 0) << "it was not held up";
  EXPECT_EQ(heard_.ran, ran_) << "rates are per this time";
}

runtime::task<void> hold_control(runtime::Runtime* control, LoadGroup* group, std::atomic<bool>* go_on) {
  const auto counted = [group] {
    const vuser::Tally seen = group->tally();
    return seen.requests + seen.dropped;
  };
  while (counted() < 150) co_await control->sleep(Duration::millis(10));
  EXPECT_TRUE(group->running());
  *go_on = true;
  while (counted() < 500) std::this_thread::yield();
}

// One thread stands still in its first request, while the other reports second after second. When it goes on, the
// control thread stands still: its window has several seconds, some of which the other has reported.
TEST_F(LoadGroupTest, of_which_one_thread_was_held_up_did_not_run_for_longer) {
  std::atomic<bool> held{false};
  std::atomic<bool> go_on{false};
  const auto sent = [](const http1::Session&, const http1::Origin&, std::string_view) {};
  const auto received = [&](const http1::Session&, const http1::Response&) {
    if (held.exchange(true)) return;
    while (!go_on) std::this_thread::yield();
  };
  const http1::ExchangeWatch watch{.bodies = false, .sent = sent, .received = received};
  const plan::Plan plan = plan_for(Duration::seconds(6), 100);
  LoadGroup group(*runtime_, plan,
                  {.assignments = {{0, 2, {}}, {1, 2, {}}}, .tally_every = Duration::millis(10), .watch = &watch},
                  heard_);
  heard_.group = &group;
  ASSERT_TRUE(group.prepare());
  runtime::Scope beside;
  beside.spawn(hold_control(runtime_.get(), &group, &go_on));
  runtime_->run(group.run(runtime_->read_clock()));
  EXPECT_EQ(scheduled(), 600u);
  EXPECT_EQ(heard_.ran, group.elapsed(0));
}

}  // namespace
}  // namespace bellwether::node
