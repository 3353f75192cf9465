// The plain values of bellwether/client.h: a client's requests, the events and results that it receives, the states of
// jobs, and errors.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bellwether::client {

using Span = std::chrono::nanoseconds;
using Moment = std::chrono::system_clock::time_point;

// --- errors ----------------------------------------------------------------------------------------------------------

enum class Code : unsigned char {
  kInvalid,      // an option or an argument; `message` says which
  kScenario,     // the scenario; `diagnostics` says where
  kNotFound,     // the job does not exist
  kConflict,     // another job has this id; or the job has ended, and cannot be stopped any more
  kRefused,      // the cluster says no, and would say it again
  kUnreachable,  // no manager answered; the same with a wrong secret, as strangers get no reason
  kUnavailable,  // not now: no manager leads, the queue is full, or the result does not exist yet
  kUnconfirmed,  // a submission that no manager has confirmed: it may be taken all the same. The same again, with the
                 // id of `message`, starts it once
  kTimeout,      // the time that was given for waiting is over
  kInCallback,   // it would have to wait, and this is a callback
  kClosed,       // the client was ended meanwhile, or the job is not followed any more
};
std::string_view to_string(Code code);  // "invalid", "scenario" …

// A mistake in a file, and where.
struct Diagnostic {
  std::string file;
  int line = 0;
  int column = 0;
  std::string message;
  std::string text;  // the whole text for people, in several lines: "shop.yaml:12:7: …", the expected form, a hint
};

struct Error {
  Code code = Code::kInvalid;
  std::string message;  // for people; decide by the code
  std::vector<Diagnostic> diagnostics;
};

// A value, or the error in its place. Asking for the absent one throws std::bad_variant_access.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Error error) : held_(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return held_.index() == 0; }
  T& operator*() { return std::get<0>(held_); }
  const T& operator*() const { return std::get<0>(held_); }
  T* operator->() { return &std::get<0>(held_); }
  const T* operator->() const { return &std::get<0>(held_); }
  const Error& error() const { return std::get<1>(held_); }

 private:
  std::variant<T, Error> held_;
};
struct Done {};

// --- states ----------------------------------------------------------------------------------------------------------

// Of a job and of its workflows: the same for the job's manager, on the wire, and for its clients.
enum class JobState : unsigned char {
  kSubmitted,    // received, not looked at yet
  kQueued,       // valid, and waits for cores
  kDispatching,  // its first workflows are being given to workers
  kRunning,
  kCompleting,  // all workflows have ended; the last results are being collected
  kCancelling,  // workers are being told to stop
  kCompleted,
  kPartial,  // has ended, and some of its workflows did not complete
  kFailed,   // no test workflow has completed, or it never began
  kCancelled,
  kTimedOut,
};
enum class WorkflowState : unsigned char {
  kPending,   // its dependencies have not ended, or the cluster has no room yet
  kAssigned,  // offered to workers
  kRunning,
  kRetrying,  // a worker has refused its share, or is dead: it is to be assigned again
  kCompleted,
  kFailed,
  kCancelled,
  kTimedOut,
  kSkipped,  // a dependency did not complete
};

std::string_view to_string(JobState state);  // "submitted", "timed_out" …
std::string_view to_string(WorkflowState state);
// Nothing follows it.
bool has_ended(JobState state);
bool has_ended(WorkflowState state);

// --- requests --------------------------------------------------------------------------------------------------------

// The access to a cluster. An empty member comes from the variables of the environment (BELLWETHER_CLUSTER_NAME …,
// BELLWETHER_AUTH_SECRET), then from the file, as for `bellwether run --cluster FILE`.
struct Options {
  std::vector<std::string> managers;  // HOST or HOST:PORT; any of them will do. Empty: the seeds of the file
  std::string settings_file;          // as FILE of --cluster
  std::string cluster;
  std::string environment;
  std::string secret_file;  // that only its owner may read
  std::string certificate;  // files, PEM: where the cluster wants certificates
  std::string key;
  std::string ca;
  std::string by;                              // the caller's name, for audit logs; empty: $USER
  std::chrono::milliseconds patience{10'000};  // for one answer; twice that for a submission
  // Without an answer of a manager that has the job until so long after its planned end, the client ends with an
  // unconfirmed result.
  std::chrono::milliseconds quorum_wait{60'000};
};

// A scenario file, a text, or a URL that is loaded without either: exactly one of `file`, `text` and `url`. A `file`
// beside a `text` is its name in error texts, and its folder is the base of other files.
struct Scenario {
  std::string file;
  std::string text;
  std::string url;
  std::vector<std::pair<std::string, std::string>> variables;    // over those of the scenario, as --set
  std::vector<std::pair<std::string, std::string>> environment;  // before that of the process, for its `env`
  struct Stage {
    Span duration{};
    double target = 0;  // virtual users, or arrivals a second
  };
  // In place of the scenario's values; of a URL: 1 (100 with a rate), 10 s, none.
  std::optional<uint32_t> vus;
  std::optional<Span> duration;
  std::optional<double> rate_per_s;
  std::optional<Span> timeout;  // ends the job when it has run for this time
  // In place of the scenario's executors, one of the two. Stages begin at `vus` or `rate_per_s`.
  std::optional<std::uint64_t> iterations;  // of each workflow
  std::vector<Stage> stages;
  bool stages_of_rate = false;
  std::vector<std::pair<std::string, std::string>> hosts;  // IP or IP:PORT of host names, in place of their look-up
  // To connect from, in turn by virtual user: IP, IP-IP or IP/BITS, with commas. A machine uses those that it has.
  std::string local_ips;
  std::vector<std::pair<std::string, std::string>> tags;  // of all steps; those of the scenario win
  // Of a URL only.
  std::string method;  // empty: GET
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> body;
  bool verify_certificate = true;
  std::string ca_file;
};

struct Submission {
  std::string id;     // 1 to 64 letters, digits, '-', '_'; empty: drawn. The same twice starts one job
  uint64_t seed = 0;  // of everything random; 0: drawn
};

struct Cancellation {
  std::string why;                     // for the audit log and the report
  bool graceful = false;               // iterations that run may finish
  std::vector<std::string> workflows;  // only these; empty: all
};

// --- events ----------------------------------------------------------------------------------------------------------

struct Event {
  Span at{};           // since the start of the run; zero before it
  std::string kind;    // a stable word: "worker_lost"
  std::string detail;  // for people
};

// Load that was planned and not made, or made and not measured.
struct Loss {
  Span from{};  // since the start of the run
  Span to{};
  double ratio = 0;  // of the planned load of its workflow, 0 to 1
  std::string cause;
  bool operator==(const Loss&) const = default;
};

struct WorkflowStatus {
  std::string name;  // empty where only Client::status() was asked, which does not fetch the scenario
  WorkflowState state = WorkflowState::kPending;
  std::string why;
  uint32_t parts = 0;    // into which it was cut; 0: not yet
  uint32_t retries = 0;  // parts that went to another worker
};

// A part of a workflow that some worker was given.
struct AssignmentStatus {
  uint32_t id = 0;
  uint32_t workflow = 0;  // of Status::workflows
  std::string worker;
  uint32_t parts = 0;
  uint32_t of = 0;
  std::string state;  // "running"
  bool live = false;  // it runs, or is about to
};

// The activity of the assignments up to about now. For screens; the counted data comes in windows.
struct Live {
  uint64_t requests = 0;
  uint64_t failed = 0;
  uint64_t iterations = 0;
  uint64_t dropped = 0;
  int64_t vus = 0;  // running ones
  Span age{};       // of the oldest report of a running assignment
  bool operator==(const Live&) const = default;
};

// The activity of all assignments in a tenth of a second, as their workers reported it for screens. Messages may be
// lost; the next message makes up for them, so activity may appear in a later window. No result depends on it. Late
// data amends its window, and the client reports the window again.
struct LiveWindow {
  Span at{};              // its begin, since the start of the run
  uint32_t revision = 0;  // one more each time it was amended
  uint32_t told = 0;      // assignments that reported in it
  Live done;              // in it; the virtual users at its end; no age
};
struct LiveNews {
  bool anew = false;     // another manager goes on with the job: windows before these are not amended any more
  uint64_t skipped = 0;  // windows before the first new one that are forgotten; their data is in `total`
  std::vector<LiveWindow> windows;  // closed or amended since the last call, in their order, each once
  Live total;                       // since the begin
};

struct Status {
  std::string job;
  std::string scenario;
  std::string by;
  JobState state = JobState::kSubmitted;
  std::string why;              // it is in this state
  uint32_t queue_position = 0;  // 0: it does not wait
  std::string manager;          // its owner
  Moment submitted{};           // 1970: not yet, as in the next two
  Moment started{};
  Moment ended{};
  Span elapsed{};         // of the run, once it has ended
  bool stopping = false;  // it has an order to end before its plan does
  std::vector<WorkflowStatus> workflows;
  std::vector<AssignmentStatus> assignments;
  std::vector<Event> events;
  std::vector<Loss> losses;
  std::optional<Live> live;  // only of status(), while a workflow runs
};

// Of a number of times: all zero when there were none.
struct Times {
  uint64_t count = 0;
  Span min{};
  Span mean{};
  Span p50{};
  Span p90{};
  Span p95{};
  Span p99{};
  Span max{};
};

struct StepFigures {
  std::string name;
  std::string workflow;
  uint64_t requests = 0;
  uint64_t failed = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  double rate_per_s = 0;
  Times service;   // from sending to the end of the answer
  Times response;  // from when it was due; of a request without a response its wait, a lower bound
};

struct WorkflowFigures {
  std::string name;
  uint64_t iterations = 0;
  uint64_t interrupted = 0;
  uint64_t scheduled = 0;  // open model, as the next three
  uint64_t on_time = 0;
  uint64_t late = 0;
  uint64_t dropped = 0;
  int64_t vus = 0;  // the most at once
};

// The figures of a span of the run, all workers together. Percentiles are those of all its samples.
struct Figures {
  Span covered{};
  uint64_t requests = 0;
  uint64_t failed = 0;
  double rate_per_s = 0;
  Times service;  // of all steps
  Times response;
  std::vector<StepFigures> steps;  // the steps that make requests
  std::vector<WorkflowFigures> workflows;
};

// A interval of the run: a second at first, several once the run is longer than an hour.
struct SeriesPoint {
  Span from{};     // since the start of the run
  Span covered{};  // measured time in it
  uint64_t requests = 0;
  uint64_t failed = 0;
  uint64_t iterations = 0;
  uint64_t dropped = 0;
  int64_t vus = 0;  // at its end
  double rate_per_s = 0;
  Span service_p99{};  // of its worst second, as the next one
  Span response_p99{};
};
// All that was measured up to now.
struct History {
  Figures figures;
  std::vector<SeriesPoint> series;
};

struct Window {
  enum class Kind : unsigned char {
    kSecond,  // one second that all workers have told
    kLate,    // more data of a second that was reported before
    kWhole,   // everything up to `second`, in place of all earlier reports: for a follower that joins late
  };
  Kind kind = Kind::kSecond;
  uint64_t second = 0;  // of the run, from 0
  Figures figures;
};

// A workflow that has ended, with all that it has measured.
struct WorkflowResult {
  std::string name;
  WorkflowState state = WorkflowState::kCompleted;
  std::string why;
  Span elapsed{};  // by its clock
  WorkflowFigures figures;
  std::vector<StepFigures> steps;
};

struct Threshold {
  std::string metric;
  std::string expression;
  std::optional<double> value;  // none: there were no samples
  bool ok = false;
};

struct Result {
  Status status;
  std::string verdict;  // "pass", "fail", "inconclusive", "aborted"
  int exit_code = 0;    // of `bellwether run`
  std::string reason;   // a clause without a full stop; ends with the count of failed thresholds
  // "http_req_duration p(99)=0.093ms, limit <0.02ms": those of `thresholds` that failed, in their order.
  std::vector<std::string> failed_thresholds;
  // False: the managers did not say that this is all, because they have no quorum. `reason` names the missing ones.
  bool confirmed = true;
  Span elapsed{};
  Figures totals;
  std::vector<WorkflowResult> workflows;
  std::vector<Threshold> thresholds;
  std::vector<Loss> losses;
  std::string json;  // the result file, format bellwether.result/1
};

struct JobLine {
  std::string id;
  std::string name;
  std::string by;
  JobState state = JobState::kSubmitted;
  std::string why;
  Moment submitted{};
  Moment started{};
  Moment ended{};
  std::string manager;
  bool operator==(const JobLine&) const = default;
};
struct JobList {
  std::vector<JobLine> jobs;  // the newest first
  bool cut = false;           // there are more
  bool operator==(const JobList&) const = default;
};

struct Datacenter {
  std::string name;
  uint32_t managers = 0;  // that are alive
  uint32_t workers = 0;
  uint32_t cores = 0;
  uint32_t free = 0;   // of healthy workers
  std::string health;  // "healthy", "busy", "degraded", "unhealthy"
  std::string reason;  // why it is not healthy
  bool operator==(const Datacenter&) const = default;
};

struct Worker {
  std::string name;
  uint32_t cores = 0;
  uint32_t free = 0;
  std::string state;   // "healthy", "draining", "silent", "gone" …
  std::string reason;  // why it is not healthy
  uint32_t assignments = 0;
  // The progress relative to its schedule: "idle", "normal", "slow", "degraded", "stuck". Waiting for the target is
  // none of these.
  std::string progress;
  bool operator==(const Worker&) const = default;
};

}  // namespace bellwether::client
