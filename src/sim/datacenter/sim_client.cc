#include "sim/datacenter/sim_client.h"

#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/runtime/scope.h"
#include "jobs/client/job_client.h"
#include "jobs/client/job_follower.h"
#include "load/codec/totals_codec.h"
#include "sim/datacenter/datacenter_place.h"

namespace bellwether::sim {

using runtime::task;

namespace {

constexpr Duration kAskMost = Duration::seconds(20);
constexpr Duration kWatchFor = Duration::seconds(5);
constexpr Duration kAgain = Duration::millis(500);

class SimClient {
 public:
  SimClient(runtime::Runtime& runtime, DatacenterPlace& place) : runtime_(runtime), place_(place) {
    node::JobClient::Settings settings;
    settings.managers = place.stage->managers;
    settings.name = place.name;
    auto made = node::JobClient::make(runtime, config_of_nodes(), keyring_of_nodes(), std::move(settings));
    check(made.has_value(), "a client needs nothing but names");
    client_ = std::move(*made);
  }

  task<void> run() {
    ++place_.starts;
    for (const auto& job : place_.stage->jobs) {
      if (!job->followed) scope_.spawn(see_through(this, job.get()));
    }
    co_await scope_.join();
    co_await client_->close();
  }

 private:
  void say(const JobStory& job, const std::string& text) { place_.say("job '" + job.id + "': " + text); }

  static task<void> see_through(SimClient* self, JobStory* job) {
    co_await self->runtime_.sleep(job->submit_after);
    while (!job->acknowledged && job->refused.empty()) co_await self->submit(job);
    if (!job->acknowledged) co_return;
    if (job->cancel_after && !job->cancelled) self->scope_.spawn(cancel(self, job));
    while (!job->followed) co_await self->follow(job);
  }

  task<void> submit(JobStory* job) {
    dispatch::Submit letter;
    letter.job = job->id;
    letter.by = place_.name;
    letter.bundle = job->bundle;
    letter.seed = (job->number << 48U) + 1;
    const auto taken = co_await client_->ask(letter, runtime_.read_clock() + kAskMost, nullptr);
    if (taken) {
      job->acknowledged = true;
      say(*job, "is acknowledged by " + client_->answered_by());
      co_return;
    }
    say(*job, "is not taken: " + taken.error().message);
    if (taken.error().code == Errc::kRefused) job->refused = taken.error().message;
    if (taken.error().code == Errc::kExists) {
      BW_PROBE("client: a job is submitted under another id");
      job->id += "-again";  // a client that is started again goes on with it
    }
    co_await runtime_.sleep(kAgain);
  }

  static task<void> cancel(SimClient* self, JobStory* job) {
    co_await self->runtime_.sleep(*job->cancel_after);
    while (!job->followed && !job->cancelled) {
      dispatch::Cancel letter;
      letter.job = job->id;
      letter.by = self->place_.name;
      letter.how = job->cancel_how;
      const auto answer = co_await self->client_->ask(letter, self->runtime_.read_clock() + kAskMost, nullptr);
      if (answer) {
        self->say(*job, "is cancelled");
        job->cancelled = true;
        co_return;
      }
      self->say(*job, "is not cancelled: " + answer.error().message);
      co_await self->runtime_.sleep(kAgain);
    }
  }

  task<void> follow(JobStory* job) {
    node::JobFollower follower(*client_, *job->plan, job->id);
    while (!follower.final()) {
      const auto news = co_await follower.next(kWatchFor, runtime_.read_clock() + kAskMost, nullptr);
      if (!news) {
        say(*job, "cannot be followed: " + news.error().message);
        co_await runtime_.sleep(kAgain);
        co_return;
      }
      job->sheet = follower.sheet();
    }
    auto totals = account::encode_totals(follower.totals().save());
    check(totals.has_value(), "what was decoded can be encoded");
    job->totals = std::move(*totals);
    job->followed = true;
    say(*job, "is " + std::string(to_string(follower.sheet().state)) + ", as '" + follower.owner() + "' says");
  }

  runtime::Runtime& runtime_;
  DatacenterPlace& place_;
  std::unique_ptr<node::JobClient> client_;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace

task<void> run_client_process(runtime::Runtime& runtime, void* context) {
  SimClient client(runtime, *static_cast<DatacenterPlace*>(context));
  co_await client.run();
}

}  // namespace bellwether::sim
