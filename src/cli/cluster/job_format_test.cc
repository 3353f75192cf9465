#include <gtest/gtest.h>

#include "cli/cluster/cluster_format.h"

namespace bellwether::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

client::Status running() {
  client::Status out;
  out.job = "j1";
  out.scenario = "shop.yaml";
  out.by = "ops";
  out.state = client::JobState::kRunning;
  out.manager = "m1";
  out.submitted = client::Moment(seconds(1'000'000'000));
  out.started = client::Moment(seconds(1'000'000'002));
  out.workflows = {{"browse", client::WorkflowState::kRunning, "", 2, 1}};
  out.assignments = {{.id = 4, .workflow = 0, .worker = "w1", .parts = 2, .of = 2, .state = "running", .live = true}};
  out.events = {{milliseconds(1500), "worker_lost", "w2 is silent"}, {milliseconds(2500), "stopping", "by ops"}};
  out.losses = {{seconds(1), seconds(3), 0.5, "w2 was lost"}};
  out.live = client::Live{.requests = 1200, .failed = 3, .iterations = 400, .vus = 10, .age = milliseconds(250)};
  return out;
}

client::History history() {
  client::History out;
  client::StepFigures list{.name = "browse.list", .workflow = "browse", .requests = 1200, .rate_per_s = 600};
  list.response = {.p50 = milliseconds(2), .p95 = milliseconds(5), .p99 = milliseconds(8), .max = milliseconds(12)};
  out.figures.steps = {list};
  out.series = {{.from = seconds(1), .covered = seconds(1), .requests = 600, .vus = 10, .rate_per_s = 600}};
  return out;
}

TEST(JobWords, a_status_for_people) {
  const client::History measured = history();
  EXPECT_EQ(words_of(running(), false, {&measured, true, true}), R"(job        j1
scenario   shop.yaml
by         ops
state      running
manager    m1
submitted  2001-09-09T01:46:40.000Z
started    2001-09-09T01:46:42.000Z
ended      -
now        1,200 requests, 3 failed, 10 users (250ms ago)

WORKFLOW  STATE    PARTS  WORKERS  WHY
browse    running  2      w1 (2)
stopped    at 2.50s: by ops
lost       1s to 3s, 50%: w2 was lost

STEP         REQUESTS  FAILED  PER SECOND  P50 MS  P95 MS  P99 MS  MAX MS
browse.list  1,200     0       600.0       2.00    5.00    8.00    12.00

SECOND  REQUESTS  FAILED  PER SECOND  USERS  P99 MS
1       600       0       600.0       10     0.00
)");
}

TEST(JobWords, a_status_for_programs) {
  EXPECT_EQ(words_of(running(), true), R"({
  "job": "j1",
  "name": "shop.yaml",
  "by": "ops",
  "state": "running",
  "why": "",
  "queue_position": 0,
  "manager": "m1",
  "submitted": "2001-09-09T01:46:40.000Z",
  "started": "2001-09-09T01:46:42.000Z",
  "ended": "-",
  "elapsed_s": 0.0,
  "live": {
    "requests": 1200,
    "failed": 3,
    "iterations": 400,
    "dropped": 0,
    "vus": 10,
    "age_s": 0.25
  },
  "workflows": [
    {
      "state": "running",
      "parts": 2,
      "retries": 1,
      "why": ""
    }
  ],
  "assignments": [
    {
      "assignment": 4,
      "workflow": 0,
      "worker": "w1",
      "parts": 2,
      "of": 2,
      "state": "running"
    }
  ],
  "events": [
    {
      "t": 1.5,
      "kind": "worker_lost",
      "detail": "w2 is silent"
    },
    {
      "t": 2.5,
      "kind": "stopping",
      "detail": "by ops"
    }
  ],
  "lost": [
    {
      "from": 1.0,
      "to": 3.0,
      "ratio": 0.5,
      "cause": "w2 was lost"
    }
  ]
}
)");
}

TEST(JobWords, one_that_waits_says_why_and_where) {
  client::Status waits;
  waits.job = "j2";
  waits.state = client::JobState::kQueued;
  waits.why = "too few cores are free";
  waits.queue_position = 3;
  EXPECT_EQ(words_of(waits, false), R"(job        j2
state      queued (too few cores are free)
queue      3. in it
submitted  -
started    -
ended      -

WORKFLOW  STATE  PARTS  WORKERS  WHY
)");
}

TEST(JobWords, jobs_and_workers_as_their_messages_describe_them) {
  const client::JobList list{{{.id = "j1", .name = "shop.yaml", .by = "ops", .manager = "m1"}}, true};
  EXPECT_EQ(words_of(list, false),
            "JOB  STATE      SCENARIO   BY   SUBMITTED  MANAGER  WHY\n"
            "j1   submitted  shop.yaml  ops  -          m1\n"
            "(the newest 1)\n");
  const std::vector<client::Worker> workers{
      {.name = "w1", .cores = 4, .free = 2, .state = "healthy", .assignments = 1, .progress = "normal"}};
  EXPECT_EQ(words_of(workers, false),
            "WORKER  CORES  FREE  STATE    PROGRESS  ASSIGNMENTS  WHY\n"
            "w1      4      2     healthy  normal    1\n");
  EXPECT_EQ(words_of(workers, true),
            "[\n  {\n    \"worker\": \"w1\",\n    \"cores\": 4,\n    \"free\": 2,\n    \"state\": \"healthy\",\n"
            "    \"why\": \"\",\n    \"assignments\": 1,\n    \"progress\": \"normal\"\n  }\n]\n");
}

TEST(JobWords, live_windows_are_a_line_each) {
  client::LiveNews news{.anew = true, .skipped = 2};
  news.windows = {{.at = milliseconds(1500), .revision = 1, .told = 2, .done = {.requests = 7, .vus = 3}}};
  news.total = {.requests = 9};
  EXPECT_EQ(json_lines_of(news),
            R"({"anew":true}
{"skipped":2}
{"t":1.5,"revision":1,"assignments":2,"requests":7,"failed":0,"iterations":0,"dropped":0,"vus":3}
{"total":{"requests":9,"failed":0,"iterations":0,"dropped":0,"vus":0}}
)");
}

}  // namespace
}  // namespace bellwether::cli
