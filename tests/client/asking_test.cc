// What a client asks of a real cluster, what goes wrong, and callbacks that do what they should not.
#include <fstream>
#include <functional>
#include <future>
#include <stdexcept>
#include <sys/stat.h>

#include "cluster_testing.h"

namespace bellwether::client {
namespace {

using namespace std::chrono_literals;

// Does something at the first window, on the client's thread.
class Acting final : public Noting {
 public:
  explicit Acting(std::function<void()> act) : act_(std::move(act)) {}
  void on_window(const Window& window) override {
    if (act_) std::exchange(act_, nullptr)();
    Noting::on_window(window);
  }

 private:
  std::function<void()> act_;
};

// A job that callbacks can reach before submit() has returned it.
class JobToCome {
 public:
  void put(Job job) {
    const std::lock_guard lock(mutex_);
    job_.emplace(std::move(job));
    changed_.notify_all();
  }
  std::optional<Job>& get() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return job_.has_value(); });
    return job_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> job_;
};

TEST(ClientOnCluster, a_callback_may_cancel_and_whatever_waits_is_refused_to_it) {
  const auto client = connect();
  JobToCome job;
  std::vector<Code> codes;
  Acting heard([&] {
    Job& own = *job.get();
    codes = {own.status().error().code,
             own.wait().error().code,
             own.wait_for(1ms).error().code,
             own.result().error().code,
             own.cancel({}).error().code,
             client->jobs().error().code,
             client->workers().error().code,
             client->datacenters().error().code,
             client->status(own.id()).error().code,
             client->cancel(own.id(), {}).error().code,
             client->attach(own.id()).error().code,
             client->submit(scenario({{"w", 1}})).error().code};
    own.ask_to_cancel({.why = "seen enough", .graceful = false, .workflows = {}});
  });
  auto submitted = client->submit(scenario({{"w", 30}}), {}, &heard);
  ASSERT_TRUE(submitted) << submitted.error().message;
  job.put(std::move(*submitted));
  const auto result = job.get()->wait();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(codes, std::vector<Code>(12, Code::kInCallback));
  EXPECT_EQ(result->status.state, JobState::kCancelled);
  EXPECT_EQ(result->verdict, "aborted");
  EXPECT_NE(result->status.why.find("seen enough"), std::string::npos) << result->status.why;
  // What has ended cannot be stopped any more, whoever asks.
  const auto again = job.get()->cancel({});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kConflict);
}

TEST(ClientOnCluster, one_workflow_is_cancelled_and_the_other_goes_on) {
  const auto client = connect();
  Noting heard;
  auto job = client->submit(scenario({{"kept", 5}, {"left", 60}}), {}, &heard);
  ASSERT_TRUE(job) << job.error().message;
  heard.wait_for("window", 2);
  const auto nobody = job->cancel({.why = {}, .graceful = false, .workflows = {"nothing"}});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kRefused);
  // The same without waiting tells it later.
  job->ask_to_cancel({.why = {}, .graceful = false, .workflows = {"nothing"}});
  heard.wait_for("not cancelled refused");
  const auto done = job->cancel({.why = "enough", .graceful = false, .workflows = {"left"}});
  ASSERT_TRUE(done) << done.error().message;
  heard.wait_for("workflow left");
  const auto result = job->wait();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->status.state, JobState::kPartial);
  EXPECT_EQ(result->workflows.at(0).figures.iterations, 100U);
  EXPECT_EQ(result->workflows.at(0).state, WorkflowState::kCompleted);
  EXPECT_EQ(result->workflows.at(1).state, WorkflowState::kCancelled);
}

TEST(ClientOnCluster, callbacks_that_throw_are_counted_and_hurt_nobody) {
  class Throwing final : public Noting {
   public:
    void on_status(const Status& status) override {
      Noting::on_status(status);
      throw std::runtime_error("a listener fails");
    }
    void on_window(const Window& window) override {
      Noting::on_window(window);
      throw 7;  // NOLINT: anything may be thrown
    }
    void on_result(const Result& result) override {
      Noting::on_result(result);
      throw std::logic_error("to the end");
    }
  };
  const auto client = connect();
  Throwing heard;
  auto job = client->submit(scenario({{"w", 2}}), {}, &heard);
  ASSERT_TRUE(job) << job.error().message;
  const auto result = job->wait();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->totals.requests, 40U);
  heard.wait_for("result pass");
  EXPECT_TRUE(client->jobs());  // the thread is well; and what was thrown last is counted by now
  EXPECT_EQ(job->failed_callbacks(), heard.statuses.size() + heard.windows.size() + 1);
}

TEST(ClientOnCluster, a_callback_may_let_go_of_its_job) {
  const auto client = connect();
  JobToCome job;
  Acting heard([&] { job.get().reset(); });
  auto submitted = client->submit(scenario({{"w", 3}}), {}, &heard);
  ASSERT_TRUE(submitted) << submitted.error().message;
  const std::string id = submitted->id();
  job.put(std::move(*submitted));
  heard.wait_for("window");
  auto again = client->attach(id);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->wait());
  EXPECT_EQ(heard.windows.size(), 1U);
  EXPECT_EQ(heard.notes.back(), "window");
}

TEST(ClientOnCluster, a_callback_may_end_the_client_and_who_waits_is_told) {
  auto client = connect();
  std::promise<void> submitted;
  Acting heard([&] {
    submitted.get_future().wait();  // who ends a client uses it in no other place
    client.reset();
  });
  auto job = client->submit(scenario({{"w", 3}}), {}, &heard);
  ASSERT_TRUE(job) << job.error().message;
  submitted.set_value();
  const auto result = job->wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kClosed);
  const auto status = job->status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kClosed);
}

TEST(ClientOnCluster, lists_what_there_is) {
  const auto client = connect();
  auto job = client->submit(scenario({{"w", 1}}), {.id = "to-be-listed", .seed = 1});
  ASSERT_TRUE(job) << job.error().message;
  ASSERT_TRUE(job->wait());
  const auto jobs = client->jobs();
  ASSERT_TRUE(jobs) << jobs.error().message;
  const auto line =
      std::find_if(jobs->jobs.begin(), jobs->jobs.end(), [](const JobLine& one) { return one.id == "to-be-listed"; });
  ASSERT_NE(line, jobs->jobs.end());
  EXPECT_EQ(line->state, JobState::kCompleted);
  EXPECT_EQ(line->by, "test");
  EXPECT_GT(line->ended, line->started);
  const auto workers = client->workers();
  ASSERT_TRUE(workers) << workers.error().message;
  ASSERT_EQ(workers->size(), 2U);
  EXPECT_EQ(workers->at(0).name, "w1");
  EXPECT_EQ(workers->at(0).cores, 1U);
  const auto status = client->status("to-be-listed");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->state, JobState::kCompleted);
  EXPECT_EQ(status->by, "test");
  for (const auto& missing : {client->status("no-such-job").error(), client->cancel("no-such-job", {}).error(),
                              client->attach("no-such-job").error()}) {
    EXPECT_EQ(missing.code, Code::kNotFound) << missing.message;
  }
}

TEST(ClientOnCluster, a_mistake_in_a_scenario_comes_back_with_its_place) {
  const auto client = connect();
  Scenario wrong;
  wrong.file = "shop.yaml";
  wrong.text = R"(workflows:
  w:
    vus: ten
    duration: 1s
    steps:
      s:
        http: {gett: 'http://127.0.0.1/'}
)";
  const auto job = client->submit(wrong);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, Code::kScenario);
  ASSERT_GE(job.error().diagnostics.size(), 2U);
  EXPECT_EQ(job.error().diagnostics[0].file, "shop.yaml");
  EXPECT_EQ(job.error().diagnostics[0].line, 3);
  EXPECT_EQ(job.error().diagnostics[0].column, 10);
  EXPECT_EQ(job.error().diagnostics[1].line, 7);
  EXPECT_NE(job.error().diagnostics[1].text.find("shop.yaml:7:"), std::string::npos);
}

TEST(ClientOnCluster, with_a_wrong_secret_nobody_answers) {
  const std::string file = testing::TempDir() + "bellwether-client-wrong-secret-" + std::to_string(::getpid());
  std::ofstream(file) << "another secret, 0123456789\n";
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  Options how = options();
  how.secret_file = file;
  how.patience = 1s;
  const auto client = connect(how);
  const auto jobs = client->jobs();
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().code, Code::kUnreachable);
  EXPECT_NE(jobs.error().message.find("secret"), std::string::npos) << jobs.error().message;
  EXPECT_FALSE(client->submit(scenario({{"w", 1}})));
  ::unlink(file.c_str());
}

}  // namespace
}  // namespace bellwether::client
