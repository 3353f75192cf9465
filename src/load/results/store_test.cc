#include "load/results/store.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load/codec/window_codec.h"
#include "load/report/result_file.h"
#include "load/results/results_testing.h"

namespace bellwether::results {
namespace {

using Use = Store::Use;

Store open(const std::string& path) {
  auto store = Store::open(path, Use::kWrite);
  EXPECT_TRUE(store.has_value()) << store.error().message;
  return std::move(*store);
}

void expect_ok(const Status& status) { EXPECT_TRUE(status.has_value()) << status.error().message; }

void add_seconds(Store& store, const std::string& id, uint64_t seconds) {
  metrics::Retention retention;
  for (uint64_t s = 0; s < seconds; ++s) {
    expect_ok(store.add(id, {s, 1, Duration::seconds(1), ingest::encode_window(sample_second(s))},
                        {Duration::seconds(static_cast<int64_t>(s) + 1), 20 * (s + 1), s + 1}, retention.add(s)));
  }
}

struct Sum {
  void operator()(const metrics::Window& window, uint64_t span) {
    ++intervals;
    EXPECT_EQ(window.second, end);
    end = window.second + span;
    covered += window.covered;
    requests += window.steps[0].count;
    times.merge(window.steps[0].response);
  }
  std::size_t intervals = 0;
  uint64_t end = 0;
  Duration covered;
  uint64_t requests = 0;
  metrics::ResponseTimes times;
};

struct StoreTest : testing::Test {
  const Folder folder;
};

TEST_F(StoreTest, a_run_that_ended_is_listed_and_read_as_it_was) {
  Store store = open(folder / "deep/results.db");
  expect_ok(store.begin("aa11", sample_plan(), WallTime{1'000}, 2));
  add_seconds(store, "aa11", 3);
  EXPECT_EQ(store.find("last")->state, State::kRunning);
  EXPECT_EQ(store.document(*store.find("last")).error().code, Errc::kNotFound);
  expect_ok(store.end("aa11", "{}", "pass", 0, {Duration::seconds(3), 60, 3}));
  const auto runs = store.list();
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().state, State::kEnded);
  EXPECT_EQ(runs->front().scenario, "shop");
  EXPECT_EQ(runs->front().verdict, "pass");
  EXPECT_EQ(runs->front().figures.requests, 60U);
  EXPECT_GT(runs->front().bytes, 0U);
  EXPECT_EQ(store.document(runs->front()).value(), "{}");
}

TEST_F(StoreTest, an_hour_and_more_is_kept_in_bounded_intervals_without_losing_a_request) {
  Store store = open(folder / "results.db");
  expect_ok(store.begin("aa11", sample_plan(), WallTime{1}, 1));
  constexpr uint64_t kSeconds = 4'000;
  add_seconds(store, "aa11", kSeconds);
  Sum sum;
  expect_ok(store.each_interval(*store.find("last"), sample_plan(), sum));
  EXPECT_EQ(sum.end, kSeconds);
  EXPECT_EQ(sum.covered, Duration::seconds(kSeconds));
  EXPECT_EQ(sum.requests, 10 * kSeconds);
  EXPECT_EQ(sum.times.count(), 10 * kSeconds);
  EXPECT_LT(sum.intervals, 450U);
}

// A process that begins a run and dies unexpectedly.
void die_while_running(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    Store store = open(path);
    plan::Plan plan = sample_plan();
    for (plan::StepInfo& step : plan.steps) step.tags = {{"api", "v2"}};
    expect_ok(store.begin("dead", plan, WallTime{5}, 1));
    add_seconds(store, "dead", 4);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

TEST_F(StoreTest, a_run_whose_process_died_is_aborted_and_has_a_result_of_all_that_was_written) {
  die_while_running(folder / "results.db");
  Store store = open(folder / "results.db");
  const auto run = store.find("dead");
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->state, State::kAborted);
  EXPECT_EQ(run->figures.requests, 80U);
  const auto document = store.document(*run);
  ASSERT_TRUE(document.has_value()) << document.error().message;
  const auto result = report::read_result(*document);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->verdict, "aborted");
  EXPECT_NE(result->reason.find("unexpectedly"), std::string::npos);
  EXPECT_EQ(result->requests, 80U);
  EXPECT_EQ(result->series.size(), 4U);
  EXPECT_EQ(result->steps[1].name, "browse.pay");
  EXPECT_EQ(result->steps[1].failed, 4U);
  EXPECT_EQ(result->checks[0].passes, 40U);
  ASSERT_EQ(result->by_tag.size(), 1U);
  EXPECT_EQ(result->by_tag[0].name, "api:v2");
  EXPECT_EQ(result->by_tag[0].count, 80U);
}

TEST_F(StoreTest, the_oldest_runs_go_when_there_are_too_many_or_they_are_too_large) {
  Store store = open(folder / "results.db");
  for (const char* id : {"a", "b", "c", "d"}) {
    expect_ok(store.begin(id, sample_plan(), WallTime{id[0]}, 1));
    if (id[0] != 'b') expect_ok(store.end(id, std::string(1'000, 'x'), "pass", 0, {}));
  }
  EXPECT_EQ(store.prune({.runs = 3}, "d").value(), 1U);
  EXPECT_EQ(store.find("a").error().code, Errc::kNotFound);
  // One that goes on stays, however many there are.
  EXPECT_EQ(store.prune({.runs = 1}, "d").value(), 1U);
  EXPECT_TRUE(store.find("b").has_value());
  EXPECT_TRUE(store.find("d").has_value());
  expect_ok(store.end("b", std::string(2'000, 'x'), "pass", 0, {}));
  EXPECT_EQ(store.prune({.runs = 9, .bytes = 1'500}, "d").value(), 1U);
  EXPECT_EQ(store.list()->size(), 1U);
}

TEST_F(StoreTest, a_run_is_copied_whole_and_only_once) {
  Store store = open(folder / "results.db");
  expect_ok(store.begin("aa11", sample_plan(), WallTime{1}, 1));
  add_seconds(store, "aa11", 5);
  expect_ok(store.end("aa11", "{}", "fail", 99, {Duration::seconds(5), 100, 5}));
  Store other = open(folder / "other.db");
  expect_ok(store.copy(*store.find("aa11"), other));
  EXPECT_EQ(store.copy(*store.find("aa11"), other).error().code, Errc::kExists);
  const auto copied = other.find("aa11");
  ASSERT_TRUE(copied.has_value());
  EXPECT_EQ(copied->exit_code, 99);
  Sum sum;
  expect_ok(other.each_interval(*copied, other.plan_of(*copied).value(), sum));
  EXPECT_EQ(sum.requests, 50U);
  expect_ok(store.remove(*store.find("aa11")));
  EXPECT_TRUE(store.list()->empty());
}

TEST_F(StoreTest, what_is_no_store_is_refused_and_left_as_it_is) {
  const std::string path = folder / "results.db";
  EXPECT_EQ(Store::open(path, Use::kRead).error().code, Errc::kNotFound);
  std::ofstream(path) << "this is text, and long enough to be no database at all, whatever one looks at\n";
  EXPECT_EQ(Store::open(path, Use::kWrite).error().code, Errc::kInvalid);
  EXPECT_EQ(Store::open(path, Use::kRead).error().code, Errc::kInvalid);
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  EXPECT_TRUE(line.starts_with("this is text"));
}

TEST_F(StoreTest, one_of_a_newer_version_is_refused_and_so_is_a_window_that_is_damaged) {
  const std::string path = folder / "results.db";
  {
    Store store = open(path);
    expect_ok(store.begin("aa11", sample_plan(), WallTime{1}, 1));
    expect_ok(store.add("aa11", {0, 1, Duration::seconds(1), "\xff\xff"}, {}, {}));
    Sum sum;
    const auto read = store.each_interval(*store.find("aa11"), sample_plan(), sum);
    ASSERT_FALSE(read.has_value());
    EXPECT_NE(read.error().message.find("second 0"), std::string::npos);
  }
  // The version stands at byte 60 of the file (https://sqlite.org/fileformat.html), high byte first.
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(63);
  file.put('\x02');
  file.close();
  EXPECT_EQ(Store::open(path, Use::kWrite).error().code, Errc::kUnsupported);
  EXPECT_EQ(Store::open(path, Use::kRead).error().code, Errc::kUnsupported);
}

TEST_F(StoreTest, is_for_its_owner_only) {
  open(folder / "deep/results.db");
  struct stat of {};
  ASSERT_EQ(::stat((folder / "deep/results.db").c_str(), &of), 0);
  EXPECT_EQ(of.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat((folder / "deep").c_str(), &of), 0);
  EXPECT_EQ(of.st_mode & 0777, 0700U);
}

}  // namespace
}  // namespace bellwether::results
