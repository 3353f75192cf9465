#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load/aggregate/totals.h"
#include "load/results/recorder.h"
#include "load/results/results_testing.h"

namespace bellwether::results {
namespace {

using Entry = Recorder::Entry;

class StoreOfCluster : public testing::Test {
 protected:
  // A job's ingest reports a second to its reader.
  void second(Recorder& recorder, uint64_t second, uint64_t requests = 10) {
    const metrics::Window window = sample_second(second, requests);
    totals_.add(window);
    recorder.second(window, Duration::seconds(1));
  }

  // A process that follows the job for these seconds, and ends without having seen its end.
  void follow_and_die(uint64_t seconds) {
    const pid_t child = ::fork();
    if (child == 0) {
      {
        Recorder recorder(path(), "job1", plan_, WallTime{1}, 1);
        recorder.cluster({"flock", "w1 w2"});
        for (uint64_t s = 0; s < seconds; ++s) second(recorder, s);
      }
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    for (uint64_t s = 0; s < seconds; ++s) totals_.add(sample_second(s));
  }

  std::string path() const { return folder_ / "results.db"; }

  // The kept intervals, as first and span.
  struct Spans {
    void operator()(const metrics::Window& window, uint64_t span) {
      of.emplace_back(window.second, span);
      requests += window.steps[0].count;
      covered += window.covered;
      times.merge(window.steps[0].response);
    }
    std::vector<std::pair<uint64_t, uint64_t>> of;
    uint64_t requests = 0;
    Duration covered;
    metrics::ResponseTimes times;
  };

  void expect_whole(std::size_t intervals) {
    auto store = Store::open(path(), Store::Use::kRead);
    ASSERT_TRUE(store.has_value()) << store.error().message;
    const auto runs = store->list();
    ASSERT_EQ(runs->size(), 1U) << "one run, however often it was followed";
    Spans spans;
    ASSERT_TRUE(store->each_interval(runs->front(), plan_, spans).has_value());
    EXPECT_EQ(spans.of.size(), intervals);
    EXPECT_EQ(spans.requests, totals_.sum().steps[0].count);
    EXPECT_TRUE(spans.times == totals_.sum().steps[0].response) << "bit for bit";
    EXPECT_EQ(runs->front().figures.requests, totals_.counts().requests);
    EXPECT_EQ(runs->front().figures.failed, totals_.counts().failed);
    uint64_t end = 0;
    for (const auto& [first, span] : spans.of) {
      EXPECT_GE(first, end) << "no second twice";
      end = first + span;
    }
  }

  void end(Recorder& recorder) { EXPECT_EQ(recorder.end("{}", "pass", 0, {}).problem, ""); }

  const Folder folder_;
  const plan::Plan plan_ = sample_plan();
  aggregate::Totals totals_{plan_};
};

TEST_F(StoreOfCluster, what_a_new_owner_tells_again_is_kept_once) {
  Recorder recorder(path(), "job1", plan_, WallTime{1}, 1);
  recorder.whole(totals_);  // nothing yet
  for (uint64_t s = 0; s < 80; ++s) second(recorder, s);
  // The next owner has a copy that ends five seconds before that, and reports those seconds again, and more.
  aggregate::Totals older(plan_);
  for (uint64_t s = 0; s < 75; ++s) older.add(sample_second(s));
  recorder.whole(older);
  for (uint64_t s = 75; s < 90; ++s) {
    if (s >= 80) totals_.add(sample_second(s));
    recorder.second(sample_second(s), Duration::seconds(1));
  }
  end(recorder);
  expect_whole(90 - 27);  // three intervals of ten seconds, and the rest second by second
}

TEST_F(StoreOfCluster, where_the_next_owner_counts_differently_it_is_right) {
  Recorder recorder(path(), "job1", plan_, WallTime{1}, 1);
  for (uint64_t s = 0; s < 20; ++s) recorder.second(sample_second(s, 9), Duration::seconds(1));
  for (uint64_t s = 0; s < 15; ++s) totals_.add(sample_second(s));
  recorder.whole(totals_);
  for (uint64_t s = 15; s < 100; ++s) second(recorder, s);
  end(recorder);
  expect_whole(1 + 85 - 18);
}

TEST_F(StoreOfCluster, what_comes_late_goes_into_its_second_or_the_interval_that_has_it) {
  Recorder recorder(path(), "job1", plan_, WallTime{1}, 1);
  for (uint64_t s = 0; s < 75; ++s) {
    if (s != 72) second(recorder, s);
  }
  // The last one lacks time, too.
  totals_.add(sample_second(75), Duration::millis(400));
  recorder.second(sample_second(75), Duration::millis(400));
  for (const uint64_t late : {3U, 72U, 74U, 75U}) {
    metrics::Window part = sample_second(late, 4);
    part.covered = Duration::millis(700);
    totals_.amend(part);
    recorder.amend(part);
  }
  end(recorder);
  expect_whole(76 - 9);
  auto store = Store::open(path(), Store::Use::kRead);
  Spans spans;
  ASSERT_TRUE(store->each_interval(*store->find("last"), plan_, spans).has_value());
  EXPECT_EQ(spans.of.front(), (std::pair<uint64_t, uint64_t>(0, 10)));
  EXPECT_EQ(spans.covered, totals_.elapsed());
}

TEST_F(StoreOfCluster, one_that_comes_later_completes_what_a_client_has_left) {
  follow_and_die(3);
  {
    auto store = Store::open(path(), Store::Use::kRead);
    const auto run = store->find("last");
    ASSERT_EQ(run->state, State::kAborted);
    ASSERT_TRUE(run->cluster.has_value());
    EXPECT_EQ(run->cluster->name, "flock");
    EXPECT_EQ(run->cluster->workers, "w1 w2");
    EXPECT_NE(store->document(*run)->find("job watch"), std::string::npos);
  }
  Recorder recorder(path(), "job1", plan_, WallTime{9}, 1, Entry::kUnfinished);
  recorder.cluster({"flock", "w2 w3"});
  for (uint64_t s = 3; s < 8; ++s) totals_.add(sample_second(s));  // during an interruption of the view
  recorder.whole(totals_);
  for (uint64_t s = 8; s < 10; ++s) second(recorder, s);
  end(recorder);
  expect_whole(3);
  auto store = Store::open(path(), Store::Use::kRead);
  const auto run = store->find("last");
  EXPECT_EQ(run->state, State::kEnded);
  EXPECT_EQ(run->started_at.unix_ns, 1);
  EXPECT_EQ(run->cluster->workers, "w2 w3");
}

TEST_F(StoreOfCluster, who_has_missed_nothing_keeps_each_second) {
  follow_and_die(5);
  Recorder recorder(path(), "job1", plan_, WallTime{9}, 1, Entry::kUnfinished);
  recorder.whole(totals_);
  for (uint64_t s = 5; s < 7; ++s) second(recorder, s);
  end(recorder);
  expect_whole(7);
}

TEST_F(StoreOfCluster, an_unconfirmed_end_is_completed_later_too) {
  follow_and_die(3);
  const auto end_as = [&](std::string verdict) {
    const pid_t child = ::fork();
    if (child == 0) {
      Recorder recorder(path(), "job1", plan_, WallTime{9}, 1, Entry::kUnfinished);
      recorder.whole(totals_);
      ::_exit(recorder.end("{}", std::move(verdict), 120, {}).problem.empty() ? 0 : 1);
    }
    int status = 1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return Store::open(path(), Store::Use::kRead)->find("last")->verdict;
  };
  EXPECT_EQ(end_as(std::string(kUnconfirmed)), kUnconfirmed);
  EXPECT_EQ(end_as("pass"), "pass");
  EXPECT_EQ(end_as("fail"), "pass") << "a confirmed end stays";
}

TEST_F(StoreOfCluster, only_what_is_unfinished_and_of_this_plan_is_completed) {
  const auto tried = [&](const plan::Plan& plan) {
    Recorder recorder(path(), "job1", plan, WallTime{9}, 1, Entry::kUnfinished);
    end(recorder);
    auto store = Store::open(path(), Store::Use::kRead);
    return store->list().value();
  };
  {
    Recorder recorder(path(), "job1", plan_, WallTime{9}, 1, Entry::kUnfinished);
    end(recorder);
  }
  EXPECT_NE(::access(path().c_str(), F_OK), 0) << "no store is made for it";
  ASSERT_TRUE(Store::open(path(), Store::Use::kWrite).has_value());
  EXPECT_TRUE(tried(plan_).empty()) << "nothing is made";
  auto store = Store::open(path(), Store::Use::kWrite);
  ASSERT_TRUE(store->begin("job1", plan_, WallTime{1}, 1).has_value());
  EXPECT_EQ(tried(plan_).front().state, State::kRunning) << "its process is there";
  ASSERT_TRUE(store->remove(*store->find("job1")).has_value());
  follow_and_die(1);
  plan::Plan other = plan_;
  other.steps[0].name = "browse.other";
  EXPECT_EQ(tried(other).front().state, State::kAborted);
  EXPECT_EQ(tried(plan_).front().state, State::kEnded);
}

TEST_F(StoreOfCluster, a_version_that_describes_the_plan_otherwise_completes_it_and_another_meaning_does_not) {
  follow_and_die(1);
  const auto state_after = [&](void (*change)(plan::Plan&)) {
    plan::Plan plan = plan_;
    change(plan);
    Recorder recorder(path(), "job1", plan, WallTime{9}, 1, Entry::kUnfinished);
    end(recorder);
    return Store::open(path(), Store::Use::kRead)->find("job1")->state;
  };
  EXPECT_EQ(state_after([](auto& plan) { plan.steps[0].measured = false; }), State::kAborted);
  EXPECT_EQ(state_after([](auto& plan) { plan.checks[0].step = 0; }), State::kAborted);
  EXPECT_EQ(state_after([](auto& plan) { plan.checks.push_back(plan.checks[0]); }), State::kAborted);
  EXPECT_EQ(state_after([](auto& plan) {
              plan.metrics = {{"orders", plan::MetricKind::kCounter, ""}};
            }),
            State::kAborted);
  EXPECT_EQ(state_after([](auto& plan) { plan.steps[1].tags = {{"api", "v2"}}; }), State::kEnded);
}

TEST_F(StoreOfCluster, names_of_workers_are_whole_and_bounded_and_go_along_when_it_is_exported) {
  auto store = Store::open(path(), Store::Use::kWrite);
  ASSERT_TRUE(store->begin("job1", plan_, WallTime{1}, 1).has_value());
  std::string many;
  for (int i = 0; i < 2'000; ++i) many += (many.empty() ? "worker-" : " worker-") + std::to_string(i);
  ASSERT_TRUE(store->note_cluster("job1", {"flock", many}).has_value());
  ASSERT_TRUE(store->end("job1", "{}", "pass", 0, {}).has_value());
  const auto run = store->find("job1");
  EXPECT_LE(run->cluster->workers.size(), kMaxWorkersBytes);
  EXPECT_GT(run->cluster->workers.size(), kMaxWorkersBytes - 20);
  EXPECT_EQ(many[run->cluster->workers.size()], ' ');
  auto other = Store::open(folder_ / "other.db", Store::Use::kWrite);
  ASSERT_TRUE(store->copy(*run, *other).has_value());
  EXPECT_EQ(other->find("job1")->cluster->name, "flock");
  ASSERT_TRUE(store->remove(*run).has_value());
  ASSERT_TRUE(store->begin("job1", plan_, WallTime{1}, 1).has_value());
  EXPECT_FALSE(store->find("job1")->cluster.has_value()) << "it went with its run";
}

}  // namespace
}  // namespace bellwether::results
