// Following jobs of a real cluster: what is told, in which order, to whom, and that it is all.

#include "cluster_testing.h"

namespace bellwether::client {
namespace {

using namespace std::chrono_literals;

TEST(ClientOnCluster, tells_each_second_and_each_workflow_as_it_ends) {
  const auto client = connect();
  ASSERT_NE(client, nullptr);
  Noting heard;
  auto job = client->submit(scenario({{"short", 2}, {"long", 12}}), {.id = {}, .seed = 7}, &heard);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_NE(client->answered_by(), "");
  // Long before the end, its result is there with all that it has measured.
  heard.wait_for("workflow short");
  const auto meanwhile = job->status();
  ASSERT_TRUE(meanwhile) << meanwhile.error().message;
  EXPECT_FALSE(has_ended(meanwhile->state));
  EXPECT_EQ(meanwhile->workflows.at(0).name, "short");
  EXPECT_EQ(meanwhile->workflows.at(0).state, WorkflowState::kCompleted);
  EXPECT_FALSE(has_ended(meanwhile->workflows.at(1).state));

  const auto result = job->wait();
  ASSERT_TRUE(result) << result.error().message;
  heard.wait_for("result pass");
  ASSERT_EQ(heard.workflows.size(), 2U);
  EXPECT_EQ(heard.workflows[0].name, "short");
  EXPECT_EQ(heard.workflows[0].state, WorkflowState::kCompleted);
  EXPECT_EQ(heard.workflows[0].figures.iterations, 40U);
  ASSERT_EQ(heard.workflows[0].steps.size(), 1U);
  EXPECT_EQ(heard.workflows[0].steps[0].requests, 40U);
  EXPECT_EQ(heard.workflows[0].steps[0].service.count, 40U);
  EXPECT_EQ(heard.workflows[1].figures.iterations, 240U);
  EXPECT_LT(heard.place_of("workflow short"), heard.place_of("status completed"));

  EXPECT_EQ(result->verdict, "pass");
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->status.state, JobState::kCompleted);
  EXPECT_EQ(result->totals.requests, 280U);
  EXPECT_EQ(result->totals.failed, 0U);
  EXPECT_EQ(result->totals.service.count, 280U);
  EXPECT_LE(result->totals.service.p50, result->totals.service.p99);
  EXPECT_NE(result->json.find("bellwether.result/1"), std::string::npos);
  EXPECT_NE(result->json.find(job->id()), std::string::npos);
  EXPECT_EQ(requests_of(heard.windows), 280U);
  EXPECT_EQ(heard.notes.back(), "result pass");
  // One thread, and not this one.
  EXPECT_EQ(heard.threads.size(), 1U);
  EXPECT_FALSE(heard.threads.contains(std::this_thread::get_id()));
  EXPECT_EQ(job->failed_callbacks(), 0U);
}

// Windows of the live channel, as a screen keeps them: the newest of each.
class LiveNoting : public Noting {
 public:
  bool wants_live() const override { return true; }
  void on_live(const LiveNews& live) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(live.windows.empty());
    anew = anew || live.anew;
    skipped += live.skipped;
    for (const LiveWindow& one : live.windows) {
      const auto before = live_windows.find(one.at);
      if (before != live_windows.end()) {
        EXPECT_GT(one.revision, before->second.revision) << "told again without an amendment";
      } else if (!live_windows.empty()) {
        EXPECT_EQ(one.at - live_windows.rbegin()->first, 100ms) << "neither in order nor contiguous";
      }
      live_windows[one.at] = one;
    }
    total = live.total;
    note("live");
  }
  std::map<Span, LiveWindow> live_windows;
  Live total;
  uint64_t skipped = 0;
  bool anew = false;
};

TEST(ClientOnCluster, live_windows_come_closed_and_in_order_and_sum_up_to_what_the_shares_told) {
  const auto client = connect();
  ASSERT_NE(client, nullptr);
  LiveNoting heard;
  auto job = client->submit(scenario({{"short", 2}, {"long", 5}}), {}, &heard);
  ASSERT_TRUE(job) << job.error().message;
  const auto result = job->wait();
  ASSERT_TRUE(result) << result.error().message;
  heard.wait_for("result pass");
  EXPECT_EQ(heard.notes.back(), "result pass") << "nothing comes after it";
  std::set<std::string> workers;
  for (const AssignmentStatus& one : result->status.assignments) workers.insert(one.worker);
  EXPECT_EQ(workers.size(), 2U);

  EXPECT_FALSE(heard.anew);
  EXPECT_EQ(heard.skipped, 0U);
  Live sum;
  uint32_t told_most = 0;
  for (const auto& [begin, one] : heard.live_windows) {
    sum.requests += one.done.requests;
    sum.iterations += one.done.iterations;
    told_most = std::max(told_most, one.told);
  }
  EXPECT_GE(told_most, 2U) << "of assignments of both workers";
  EXPECT_EQ(sum.requests, heard.total.requests);
  EXPECT_EQ(sum.iterations, heard.total.iterations);
  // What was told last may be lost, and nothing is told that was not done.
  EXPECT_GE(heard.live_windows.size(), 25U);
  EXPECT_LE(sum.requests, result->totals.requests);
  EXPECT_GE(sum.requests, result->totals.requests / 2);
  EXPECT_EQ(heard.live_windows.rbegin()->second.done.vus, 0);
  EXPECT_GE(std::count(heard.notes.begin(), heard.notes.end(), "live"), 2) << "as they close";
}

TEST(ClientOnCluster, gives_each_step_and_each_past_second_when_asked) {
  const auto client = connect();
  ASSERT_NE(client, nullptr);
  Noting heard;
  auto job = client->submit(scenario({{"short", 2}, {"long", 15}}), {}, &heard);
  ASSERT_TRUE(job) << job.error().message;
  heard.wait_for("workflow short");
  const auto early = job->history();
  ASSERT_TRUE(early) << early.error().message;
  ASSERT_EQ(early->figures.steps.size(), 2U);
  EXPECT_EQ(early->figures.steps[0].workflow, "short");
  EXPECT_EQ(early->figures.steps[0].requests, 40U);
  EXPECT_EQ(early->figures.steps[0].service.count, 40U);
  EXPECT_LT(early->figures.requests, 340U);
  ASSERT_TRUE(job->wait());
  const auto history = job->history();
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->figures.requests, 340U);
  uint64_t requests = 0;
  for (std::size_t i = 0; i < history->series.size(); ++i) {
    EXPECT_EQ(history->series[i].from, std::chrono::seconds(i));
    requests += history->series[i].requests;
  }
  EXPECT_EQ(requests, 340U);
}

TEST(ClientOnCluster, comes_back_to_a_job_by_its_id) {
  std::string id;
  {
    const auto client = connect();
    Noting heard;
    auto job = client->submit(scenario({{"w", 15}}), {}, &heard);  // it goes on when somebody asks again
    ASSERT_TRUE(job) << job.error().message;
    id = job->id();
    heard.wait_for("window", 2);
  }
  const auto client = connect();
  Noting heard;
  auto job = client->attach(id, &heard);
  ASSERT_TRUE(job) << job.error().message;
  const auto early = job->result();
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Code::kUnavailable);
  const auto timeout = job->wait_for(1ms);
  ASSERT_FALSE(timeout);
  EXPECT_EQ(timeout.error().code, Code::kTimeout);
  const auto result = job->wait();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->totals.requests, 300U);
  heard.wait_for("result pass");
  // What was missed comes as one, and the rest second by second.
  ASSERT_FALSE(heard.windows.empty());
  EXPECT_EQ(heard.windows.front().kind, Window::Kind::kWhole);
  EXPECT_GT(heard.windows.size(), 2U);
  EXPECT_EQ(requests_of(heard.windows), 300U);
  // A job that has ended has its result at once, for whoever asks.
  auto late = client->attach(id);
  ASSERT_TRUE(late) << late.error().message;
  const auto again = late->result();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->json, result->json);
}

TEST(ClientOnCluster, the_same_id_twice_is_one_job) {
  const auto client = connect();
  auto once = client->submit(scenario({{"w", 1}}), {.id = "once-and-again", .seed = 7});
  ASSERT_TRUE(once) << once.error().message;
  auto twice = client->submit(scenario({{"w", 1}}), {.id = "once-and-again", .seed = 7});
  ASSERT_TRUE(twice) << twice.error().message;
  const auto other = client->submit(scenario({{"w", 2}}), {.id = "once-and-again", .seed = 7});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kConflict);
  EXPECT_TRUE(once->wait());
  EXPECT_TRUE(twice->wait());
}

TEST(ClientOnCluster, follows_over_the_death_of_the_manager_that_has_the_job) {
  const auto client = connect();
  Noting heard;
  auto job = client->submit(scenario({{"w", 20}}), {}, &heard);
  ASSERT_TRUE(job) << job.error().message;
  heard.wait_for("window", 2);
  const auto before = job->status();
  ASSERT_TRUE(before) << before.error().message;
  const auto known = processes();
  ASSERT_TRUE(known.contains(before->manager)) << before->manager;
  ASSERT_EQ(::kill(known.at(before->manager), SIGKILL), 0);
  const auto result = job->wait();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->totals.requests, 400U);
  EXPECT_EQ(result->losses.size(), 0U);
  EXPECT_NE(result->status.manager, before->manager);
  heard.wait_for("result pass");
  EXPECT_EQ(requests_of(heard.windows), 400U);
  std::set<uint64_t> told;
  for (const Window& one : heard.windows) {
    if (one.kind == Window::Kind::kWhole) told.clear();
    if (one.kind == Window::Kind::kSecond) {
      EXPECT_TRUE(told.insert(one.second).second) << one.second;
    }
  }
}

TEST(ClientOnCluster, letting_go_of_a_job_leaves_it_alone_and_tells_nothing_more) {
  const auto client = connect();
  std::string id;
  std::size_t told = 0;
  Noting heard;
  {
    auto job = client->submit(scenario({{"w", 3}}), {}, &heard);
    ASSERT_TRUE(job) << job.error().message;
    id = job->id();
    heard.wait_for("status running");
    auto moved = std::move(*job);
    EXPECT_EQ(moved.id(), id);
  }
  told = heard.notes.size();
  auto job = client->attach(id);
  ASSERT_TRUE(job) << job.error().message;
  const auto result = job->wait();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->totals.requests, 60U);
  EXPECT_EQ(heard.notes.size(), told);
  EXPECT_EQ(heard.place_of("given up closed"), told) << "who lets go is not told that it did";
}

}  // namespace
}  // namespace bellwether::client
