// A scenario as its writer sees it: names are still names, templates are still text, files are not read. Its shape is
// valid (keys, types, units, limits); the making of a plan decides the meaning of names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/time.h"
#include "load/scenario/document.h"
#include "load/scenario/section.h"
#include "load/scenario/statuses.h"

namespace bellwether::scenario {

// The length of a pause: think time, pacing. Drawn anew for each pause (load/plan/schedule.h).
struct Delay {
  enum class Law : unsigned char { kUniform, kNormal, kExponential, kLognormal };
  Law law = Law::kUniform;
  // Draws outside of these bounds are set to the nearest bound. REQUIRES 0 <= low <= high.
  Duration low;
  Duration high;
  Duration centre;    // kNormal, kExponential: the mean; kLognormal: the median; kUniform: unused
  double spread = 0;  // kNormal: the standard deviation in seconds; kLognormal: that of the natural logarithm

  // Always the same.
  static Delay of(Duration span) {
    Delay out;
    out.low = out.high = span;
    return out;
  }
  bool operator==(const Delay&) const = default;
};

constexpr uint64_t kMaxVus = 1'000'000;
constexpr double kMaxRate = 10e6;  // arrivals a second
// The users of a run with --rate and without --vus; unused users cost nothing.
constexpr uint32_t kUsersOfRate = 100;
constexpr uint64_t kMaxRetries = 100;
constexpr uint64_t kMaxConnections = 1'000'000;  // shared, to one server
constexpr uint64_t kMaxSigma = 10;               // of a pause
constexpr uint64_t kMaxIterations = 1'000'000'000'000;
constexpr std::size_t kMaxStages = 1'000;  // of one executor
constexpr std::size_t kMaxWorkflows = 100;
constexpr std::size_t kMaxSteps = 1'000;       // of the whole scenario, with the names of requests
constexpr std::size_t kMaxChecks = 10'000;     // of the whole scenario
constexpr uint64_t kMaxCount = 1'000'000'000;  // of values of a response, in a check
constexpr std::size_t kMaxThresholds = 1'000;
constexpr std::size_t kMaxHosts = 1'000;  // with addresses of their own
constexpr std::size_t kMaxLocalIps = 65'536;
constexpr std::size_t kMaxTags = 20;        // of one workflow or step
constexpr std::size_t kMaxArguments = 100;  // of a function of a program, and names of its checks and values
constexpr std::size_t kMaxProvides = 100;   // the most values that a workflow provides, or uses
constexpr std::size_t kMaxLists = 8;        // of all users' values, in the whole scenario
constexpr std::size_t kMaxFeeders = 100;
constexpr std::size_t kMaxMetrics = 100;  // of the scenario's own
constexpr std::size_t kMaxMetricName = 128;
constexpr std::size_t kMaxUnit = 32;
constexpr std::size_t kMaxGroups = 100;      // of steps, in the whole scenario
constexpr std::size_t kMaxConditions = 100;  // of one step
constexpr uint64_t kMaxRepeat = 100'000;     // times in one iteration
constexpr uint64_t kMaxWeight = 1'000'000;

struct Pair {
  Text name;
  Text value;
};

struct TlsOptions {
  Mark mark;
  std::optional<bool> verify;
  std::optional<Text> ca;
  std::optional<Text> certificate;  // with `key`
  std::optional<Text> key;
  std::optional<Text> server_name;
  std::optional<std::size_t> min_version;  // 0: TLS 1.2, 1: TLS 1.3
  std::optional<std::size_t> max_version;
  std::optional<bool> resume;
};

// Unset: as in the defaults of the scenario, or those of the product.
struct HttpOptions {
  std::optional<Duration> timeout;
  std::optional<Duration> connect_timeout;
  std::optional<Duration> tls_timeout;
  std::optional<Duration> first_byte_timeout;
  std::optional<uint64_t> redirects;
  std::optional<bool> compressed;
  std::optional<bool> keep_alive;
  TlsOptions tls;
  std::optional<uint64_t> body_max;  // bytes
  std::optional<Text> proxy;         // a URL, "none" or "environment"
  std::vector<StatusRange> expected;
};

// The source of a client's access tokens (RFC 6749, section 4.4).
struct OAuth2 {
  Text token_url;
  Text client_id;
  Text client_secret;
  std::optional<Text> scope;
  std::optional<Text> audience;
  bool in_body = false;  // the client identifies itself in the body, not in a header
};

// Credentials of a request: a name and a password, a bearer token, or its source.
struct Auth {
  Mark mark;
  bool is_digest = false;
  std::optional<Text> bearer;
  Text user;
  Text password;
  std::optional<OAuth2> oauth2;
};

struct Retry {
  uint64_t times = 0;
  Duration wait;
  std::optional<bool> on_error;  // unset like the rest: any failure
  std::vector<uint16_t> statuses;
};

struct TextBody {
  Text text;
};
struct JsonBody {
  Node value;
};
struct FormBody {
  std::vector<Pair> fields;
};
// A part of a form in multipart/form-data (RFC 7578): a text, or a file.
struct FormPart {
  Text name;
  Text content;  // of a file: its path
  bool is_file = false;
  bool is_template = true;  // false: a file that is sent unchanged
  std::optional<Text> filename;
  std::optional<Text> type;
};
struct MultipartBody {
  std::vector<FormPart> parts;
};
struct FileBody {
  Text path;
  bool is_template = false;
};
// Many files; each request takes one.
struct FilesBody {
  Text path;             // of a folder, or a pattern
  bool is_glob = false;  // a pattern
  bool random = false;   // any one, drawn anew each time; else one after the other
  bool is_template = false;
};
using Body = std::variant<std::monostate, TextBody, JsonBody, FormBody, MultipartBody, FileBody, FilesBody>;

struct Http {
  Mark mark;
  std::string method;  // upper case, a valid token
  Text url;
  std::vector<Pair> query;
  std::vector<Pair> headers;
  Body body;
  HttpOptions options;
  std::optional<Auth> auth;
  std::optional<Retry> retry;
  bool measured = true;  // false for an action
};

// kValue: of a step's `if`, not of a response.
enum class Subject : unsigned char { kStatus, kBody, kSize, kJson, kHeader, kDuration, kUrl, kCss, kXpath, kValue };
enum class Comparison : unsigned char {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kContains,
  kMatches,
  kExists,
  kAbsent,
  kValid  // kJson: the whole body is JSON
};
// A text that mentions more than constants is a template.
using Literal = std::variant<std::string, double, bool, std::nullptr_t, Text>;

struct Condition {
  Mark mark;
  Subject subject = Subject::kStatus;
  // kJson: the path; kHeader: the name; kCss: the selector; kXpath: the expression; kValue: the value, a template
  Text argument;
  std::optional<Text> attribute;  // kCss: of the element, in place of its text
  bool counts = false;            // the number of values is compared
  Comparison op = Comparison::kEqual;
  std::vector<Literal> any_of;  // kSize: bytes, kDuration: milliseconds; empty for kExists and kAbsent
};

// Which of several values an extraction takes. In the order of the choices of `pick`.
enum class Take : unsigned char { kFirst, kRandom, kAll /* as a JSON list */, kCount };
enum class ExtractSource : unsigned char { kJson, kRegex, kHeader, kBody, kStatus, kCookie, kCss, kXpath, kUrl };

struct Extraction {
  Text name;
  ExtractSource source = ExtractSource::kJson;
  Text argument;  // path, pattern, selector, or name of a header or cookie
  std::optional<uint64_t> group;
  std::optional<Text> attribute;  // kCss: of the element, in place of its text
  Take take = Take::kFirst;
  std::optional<std::string> fallback;
};

// The effect of a failed step on the rest (a failed response is a value unless the user says otherwise). kSkip: this
// iteration leaves out all steps after it, direct or not.
enum class OnError : unsigned char { kContinue, kEndIteration, kEndVu, kAbort, kSkip };

// A step whose work is a function of a program.
struct Code {
  enum class Language : unsigned char { kLua, kNative };
  Language language = Language::kLua;
  Text file;
  Text function;
  std::vector<Pair> arguments;
  std::vector<Text> sets;      // values for later steps
  std::vector<Text> checks;    // names of the program's checks
  std::vector<Text> requests;  // names under which it measures requests, beside that of its step
  bool sends = true;           // its requests are measured; false for an action
};

// A step that holds other steps, which follow it in the list of the workflow.
struct Block {
  bool one = false;  // each pass runs one of them, drawn by its weight; else all run
};

struct Step {
  Text name;
  std::optional<uint16_t> holder;  // the step that holds it: an index into the steps of the workflow
  std::vector<Text> after;         // steps with the same holder
  // monostate: was wrong and reported; pairs: action set
  std::variant<std::monostate, Http, std::vector<Pair>, Code, Block> work;
  std::vector<Condition> conditions;  // all must hold, or it is left out
  std::optional<uint64_t> repeat;     // times
  uint64_t weight = 1;                // in a block of which one is drawn
  std::vector<Condition> checks;
  std::vector<Extraction> extracts;
  std::optional<Delay> think;
  OnError on_error = OnError::kContinue;
  std::vector<Pair> tags;     // its group among them, under that key
  std::vector<Pair> records;  // values for metrics, by their names
};

// Whether its responses are measured; the others are actions.
bool is_test_step(const Step& step);

struct ConstantVus {
  uint32_t vus = 1;
  Duration duration;
  std::optional<Delay> pacing;  // an iteration starts at the earliest this long after the previous one started
};

// A straight line of the number of virtual users, from its value before.
struct VuStage {
  Duration duration;  // 0: at once
  uint32_t target = 0;
};

// The number of virtual users follows a course of straight lines.
struct RampingVus {
  uint32_t start_vus = 0;
  std::vector<VuStage> stages;
  // The time that an iteration of a surplus user may still run.
  Duration graceful_ramp_down = Duration::seconds(30);
  std::optional<Delay> pacing;
};

struct Iterations {
  uint32_t vus = 1;
  uint64_t iterations = 1;  // of all together, or of each
  bool shared = true;
  std::optional<Duration> max_duration;
};

struct RateStage {
  Duration duration;
  double target_per_s = 0;
};

// The users that serve the arrivals of an open executor.
struct ArrivalUsers {
  uint32_t preallocated = 1;  // users made before the start
  uint32_t most = 1;          // users at once, at most
  Duration wait_max;          // an arrival that finds no free user in this time is dropped; 0: dropped at once
  bool rebalance = false;     // on a cluster: parts move to workers that join during the run
};

struct ConstantArrivalRate {
  double rate_per_s = 1;
  Duration duration;
  ArrivalUsers users;
};

struct RampingArrivalRate {
  double start_per_s = 0;
  std::vector<RateStage> stages;
  ArrivalUsers users;
};

// A command sets the number of virtual users during the run, from `vus` at its begin to at most `vus_most`.
struct ExternallyControlled {
  uint32_t vus = 1;
  uint32_t vus_most = 1;
  std::optional<Duration> duration;  // none: until it is stopped
  Duration graceful_ramp_down = Duration::seconds(30);
  std::optional<Delay> pacing;
};

// Runs every step once, on one core: for a workflow whose steps only set values and send no measured request.
struct Once {};

enum class Priority : unsigned char { kAuto, kLow, kNormal, kHigh, kExclusive };

// A workflow's use of another one's value.
struct Use {
  Text from;
  Text name;
  std::optional<std::string> fallback;  // when nothing was provided
};
// A value that a workflow provides for another one.
struct Provide {
  Text to;
  Text name;
  Text value;
  bool collect_all = false;  // a list of the values of all users
};
// The consequence for a workflow that takes longer than its whole time.
enum class OnOvertime : unsigned char {
  kKill,
  kPause,   // it starts nothing new, and is ended with the rest of its job
  kNotify,  // the report mentions it
};
inline constexpr std::size_t kOnOvertimes = 3;

struct Workflow {
  bool is_sound = true;  // nothing in it was reported
  Text name;
  std::vector<Text> depends;
  std::vector<Use> uses;
  std::vector<Provide> provides;
  Priority priority = Priority::kAuto;
  std::variant<Once, ConstantVus, RampingVus, Iterations, ConstantArrivalRate, RampingArrivalRate, ExternallyControlled>
      executor;
  Duration start_time;
  std::optional<Duration> graceful_stop;
  OnOvertime on_overtime = OnOvertime::kKill;
  std::vector<Step> steps;  // each after its holder
  bool keeps_cookies = false;
  bool keeps_connections = true;
  std::vector<Pair> tags;  // of all its steps
  bool is_teardown = false;
  std::optional<Duration> timeout;
};

struct Threshold {
  Text metric;  // with its tags
  Text expression;
  bool abort_on_fail = false;
  Duration delay_abort_eval;
};

enum class DataFormat : unsigned char {
  kCsv,   // the first line names the columns
  kJson,  // an array of objects
  kJsonl  // an object a line
};
// The rule that gives an iteration its row of a file of data.
enum class RowPick : unsigned char { kSequential, kRandom, kUniquePerVu };

// A file whose rows iterations take.
struct Feeder {
  Text name;
  Text path;
  DataFormat format = DataFormat::kCsv;
  char delimiter = ',';  // kCsv
  RowPick pick = RowPick::kSequential;
  bool wrap = false;  // kUniquePerVu: users beyond the last row begin at the first again
  bool ends = false;  // kSequential: nothing begins after the last row
};

// Metrics of the scenario's own: values that its steps record beside the figures of requests.
enum class MetricKind : unsigned char {
  kCounter,  // count, rate (per second)
  kRate,     // rate: the fraction that is true
  kTrend,    // avg, min, max, med, p(N); of times: milliseconds
  kGauge,    // value
};

struct Metric {
  Text name;
  MetricKind kind = MetricKind::kCounter;
  std::string unit;
};

enum class OnLoss : unsigned char { kInconclusive, kPass, kFail };

struct HttpDefaults {
  std::optional<Text> base;
  std::vector<Pair> hosts;              // IP or IP:PORT of names
  std::optional<uint64_t> connections;  // shared by users: the most to each server; 0: no limit
  std::vector<Text> local_ips;          // see plan::parse_local_ips()
  std::vector<Pair> headers;
  HttpOptions options;
  std::optional<Auth> auth;
  std::optional<Retry> retry;
};

struct Scenario {
  bool is_sound = true;  // nothing that all workflows share (env, defaults) was reported
  std::string name;
  HttpDefaults http;
  std::vector<Workflow> workflows;
  std::vector<Threshold> thresholds;
  OnLoss on_loss = OnLoss::kInconclusive;
  std::optional<Duration> timeout;
  std::vector<std::pair<std::string, std::string>> tags;  // of the run
  std::vector<Feeder> data;
  std::vector<Metric> metrics;
};

}  // namespace bellwether::scenario
