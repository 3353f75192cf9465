// The plan of a run, fully resolved: no names left to look up, no files to read, no text to parse. Made from a valid
// scenario (compile.h), used by the virtual users, the aggregation and the reports. Immutable once made, and so shared
// by all load threads without a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/hash.h"
#include "core/base/host_port.h"
#include "core/base/time.h"
#include "load/plan/json_path.h"
#include "load/plan/modules.h"
#include "load/plan/provision.h"
#include "load/plan/request_settings.h"
#include "load/plan/schedule.h"
#include "load/scenario/builtins.h"
#include "load/scenario/statuses.h"

namespace bellwether::plan {

// What means the same in a scenario.
using scenario::Builtin;
using scenario::Comparison;
using scenario::kOnOvertimes;
using scenario::MetricKind;
using scenario::OnError;
using scenario::OnLoss;
using scenario::OnOvertime;
using scenario::StatusRange;
using scenario::Take;

struct BodyFiles;  // feeder.h: each request sends one of them

struct CustomMetric {
  std::string name;
  MetricKind kind = MetricKind::kCounter;
  std::string unit;  // "ms": they are times, in milliseconds; any other is only shown

  bool is_time() const { return unit == "ms"; }
  // Trends are kept in histograms of whole numbers: the number of these in one unit of the metric. Times are kept as
  // nanoseconds; others in thousandths, and so up to about 8.7e9.
  double scale() const { return is_time() ? 1e6 : 1e3; }
};

// The records of one step of one metric: the unit of counting, so that thresholds can select steps.
struct Series {
  uint16_t metric = 0;  // index into Plan::metrics
  uint16_t step = 0;    // StepId
};

// Index of a value in a virtual user's context: one slot for each `extract`, and for each `${step.json.…}` and
// the like that a template mentions. Slots are cleared at the start of each iteration.
using SlotId = uint16_t;
// Index into Plan::steps, and of that step's statistics everywhere.
using StepId = uint16_t;
// Index into Plan::checks.
using CheckId = uint16_t;

// How a value is escaped for the place where a template puts it.
enum class Escape : uint8_t {
  kNone,
  kJson,       // inside a JSON string
  kUrl,        // inside a path or query: percent-encoded but for unreserved characters
  kHeader,     // CR, LF and NUL are refused
  kJsonValue,  // a JSON value unchanged; other text is refused
  kFormName,   // inside a quoted name of a part of a form: line breaks and quotes percent-encoded
  kLink,       // a URL, or its end behind the base: append_link()
};

// Which part of a provided list a template takes.
enum class Pick : uint8_t {
  kWhole,   // all of it, as a JSON array
  kAt,      // the element `low`, from 0; negative: from the end
  kVu,      // that of the virtual user: user n has element n - 1, modulo the length
  kRandom,  // any one, drawn anew each time
};
// A list in its final form for one place, shared by all templates that mention it there.
struct GivenList {
  std::string whole;                                 // as a JSON array
  std::vector<std::optional<std::string>> elements;  // never empty; nullopt: it does not fit the place
};

struct Derived;

struct Piece {
  // random_choice is a kList.
  // kQueryStart: query_start() of the text before it.
  enum class Kind : uint8_t { kLiteral, kSlot, kBuiltin, kGiven, kList, kDerived, kQueryStart };
  Kind kind = Kind::kLiteral;
  Escape escape = Escape::kNone;
  Builtin builtin = Builtin::kVu;
  SlotId slot = 0;           // kSlot; kGiven: index into the workflow's uses, replaced before it begins (context.h)
  Pick pick = Pick::kWhole;  // kGiven, when that use is of a list; kList
  // kBuiltin: the arguments that are numbers, those of random_float in units of its last decimal place. Pick::kAt: low.
  int64_t low = 0;
  int64_t high = 0;
  std::string literal;
  std::shared_ptr<const GivenList> list;   // kList
  std::shared_ptr<const Derived> derived;  // kDerived
  uint8_t decimals = 0;                    // of random_float: its decimal places
  bool operator==(const Piece&) const = default;
};

// Whether a text is a JSON number, true, false or null, or begins as an object or an array does: the rest of these is
// not checked, because such values come from JSON. False for a JSON string.
bool is_json_value(std::string_view text);
// Appends a name as Escape::kFormName says, which is what browsers do.
void append_form_name(std::string_view text, std::string& out);

// Appends a value at the begin of a URL, behind the base if there is one. An absolute value replaces the base. Its
// escapes stay, and what a URL cannot contain is percent-encoded. False: it is not absolute, and there is no base.
bool append_link(std::string_view link, std::string& url);
// What stands before one more part of the query: "?", or "&" behind a query.
std::string_view query_start(std::string_view url);

// Text with holes. Neighbouring literals are merged, so a constant template has at most one piece.
struct Template {
  std::vector<Piece> pieces;
  bool operator==(const Template&) const = default;
  bool constant() const { return pieces.empty() || (pieces.size() == 1 && pieces[0].kind == Piece::Kind::kLiteral); }
  // REQUIRES constant().
  std::string_view text() const { return pieces.empty() ? std::string_view{} : std::string_view(pieces[0].literal); }
};

// A function of other values: ${hash.sha256(password)}.
struct Derived {
  Transform how = Transform::kHex;
  HashKind hash = HashKind::kSha256;  // kHmac
  Template key;                       // kHmac
  Template value;
};
// Nothing when the bytes are not what the function takes.
std::optional<std::string> derive(const Derived& from, std::string_view key, std::string_view value);

struct Header {
  std::string name;
  Template value;
  bool is_basic = false;  // the value is "user:password", sent as credentials of the scheme Basic (RFC 7617)
};

// For digest authentication (RFC 7616).
struct DigestCredentials {
  Template user;
  Template password;
};

struct HttpCall {
  std::string method;            // upper case, a valid token
  Template url;                  // absolute, with scheme; query parameters already appended
  std::vector<Header> headers;   // the user's, in order; Host, User-Agent, Accept-Encoding, Content-Length are added
                                 // by the client where the user gave none
  std::optional<Template> body;  // text, JSON or the content of a file; none: no body, no Content-Length
  Duration timeout = Duration::seconds(60);  // whole exchange, redirects included
  Duration connect_timeout = Duration::seconds(10);
  Duration tls_timeout = Duration::seconds(10);
  Duration first_byte_timeout = Duration::seconds(60);
  uint16_t redirects_max = 10;  // 0: a redirect is a plain response
  bool keep_alive = true;       // else a connection for each request
  bool compressed = false;      // send Accept-Encoding: gzip, br, zstd
  Tls tls;
  uint64_t body_bytes_max = 64ull << 20;  // a longer response body is an error of kind too_large
  Retry retry;
  std::vector<StatusRange> expected;  // only these do not count as failed; empty: the default rule (docs/glossary.md)
  std::optional<DigestCredentials> digest;
  std::shared_ptr<const Proxies> proxies;  // null: straight to the server
  std::optional<uint16_t> token;           // sent as a bearer token: index into Plan::tokens
  std::shared_ptr<const BodyFiles> files;  // null: `body` holds
};

// A value to compare with. Numbers compare as numbers when both sides are numbers, else as text. A template is rendered
// for each response, and is then what its text says.
using Literal = std::variant<std::string, double, bool, std::nullptr_t, Template>;

struct Check {
  // kCode: the program itself says whether it passed.
  enum class Subject : uint8_t { kStatus, kBody, kBodySize, kJson, kHeader, kDuration, kUrl, kXpath, kCode };
  CheckId id = 0;
  Subject subject = Subject::kStatus;
  Comparison comparison = Comparison::kEqual;
  std::vector<Literal> any_of;  // passes when the comparison holds for one of them; kDuration: milliseconds
  JsonPath path;                // kJson
  std::string header;           // kHeader
  std::string pattern;          // kXpath: XPath 1.0
  bool counts = false;          // kJson, kXpath: the number of values is compared; the path may name several
};

struct Extract {
  enum class Source : uint8_t { kJson, kRegex, kHeader, kBody, kStatus, kCookie, kXpath, kUrl };
  Source source = Source::kJson;
  SlotId slot = 0;
  JsonPath path;                        // kJson
  std::string pattern;                  // kRegex: RE2 syntax; kXpath: XPath 1.0; valid (compile.h proved it)
  uint16_t group = 0;                   // kRegex
  Take take = Take::kFirst;             // kJson, of a path that may name several; kXpath
  std::string header;                   // kHeader, kCookie: its name
  std::optional<std::string> fallback;  // `default`: used when the value is missing
};

// A non-test step: sets values of the iteration's context.
struct SetAction {
  struct Assignment {
    SlotId slot = 0;
    Template value;
  };
  std::vector<Assignment> assignments;
};

// A function of a program, which sends requests, checks, and makes values freely.
struct CodeCall {
  struct Argument {
    std::string name;
    Template value;  // rendered before each call
  };
  struct Value {
    std::string name;
    SlotId slot = 0;
  };
  struct Recordable {
    std::string name;
    uint16_t series = 0;  // index into Plan::series
  };
  uint16_t program = 0;  // index into Plan::programs
  std::string function;
  // What its requests start from: the defaults of the scenario. Its URL is the base of relative ones, or empty.
  HttpCall base;
  std::vector<Argument> arguments;
  std::vector<Value> sets;          // values that it may make
  std::vector<std::string> checks;  // names of the program's checks: Subject::kCode, the last of the step's
  // Names of requests with figures of their own: they have the StepIds that follow the step's.
  std::vector<std::string> requests;
  bool sends = true;                // its requests are measured
  std::vector<Recordable> metrics;  // all those of the plan
};

// A value for a metric, after each run of a step that had a response, or needs none.
struct Recording {
  uint16_t series = 0;  // index into Plan::series
  Template value;
  std::optional<double> constant;  // its value, if the template is a number
};

// What a value of the iteration must be. A missing one fulfils only kAbsent.
struct Condition {
  Template value;
  Comparison comparison = Comparison::kEqual;
  std::vector<Literal> any_of;
};

// --- the order of the steps of an iteration

// The steps of a workflow, or those that one of its steps holds; indices into Workflow::steps.
struct Order {
  uint16_t number = 0;          // unique in the workflow; 0: its own
  std::vector<uint16_t> steps;  // each after those of its `after`
  bool is_chain = false;        // each begins when the one before it has ended
  std::vector<uint16_t> first;  // those with the first measured requests of each iteration
  uint32_t width = 0;           // requests at the same time: at most
};

// The rounds of a step in one iteration.
struct Repeat {
  uint32_t times = 1;
  std::optional<uint16_t> index;  // the slot of the number of the round, from 0; none: no template mentions it
};

// The work of a step that holds steps.
struct Block {
  Order order;
  // Each time one of the steps is drawn: by place in the order, the sum of the weights up to that step's. Empty: all
  // run.
  std::vector<uint64_t> weights;
};

struct Step {
  StepId id = 0;
  std::string name;
  std::vector<Condition> conditions;  // all must hold, or it is left out
  std::optional<Repeat> repeat;
  std::variant<HttpCall, SetAction, CodeCall, Block> work;
  std::vector<Check> checks;
  std::vector<Extract> extracts;
  std::optional<Delay> think;  // after the step, before the next ones; not measured
  OnError on_error = OnError::kContinue;
  std::vector<uint16_t> after;    // indices of the steps that it directly comes after
  std::vector<uint16_t> then;     // and of those that directly come after it
  std::optional<uint16_t> group;  // index into Workflow::groups
  std::vector<Recording> records;
};

class Feeder;  // feeder.h: the rows of a file of data

// A value of a row that templates mention, and its slot.
struct RowField {
  SlotId slot = 0;
  uint16_t column = 0;  // of CSV
  JsonPath path;        // of JSON
};
// A workflow's use of a file of data: one row at the start of each iteration.
struct Feed {
  // The rule. kSequential: part p of n takes the rows p, p + n, … one after the other, from 0 and modulo their number.
  // kUniquePerVu: user n has row n - 1, modulo their number, in all its iterations.
  using Pick = scenario::RowPick;
  std::shared_ptr<const Feeder> feeder;  // null: elsewhere, and nothing here runs the plan
  Pick pick = Pick::kSequential;
  bool ends = false;  // kSequential: after the last row nothing begins any more
  std::vector<RowField> fields;
};

// A value that a workflow provides for another one: that of the last iteration with all mentioned values, of the
// lowest-numbered virtual user that had one. Or the list of those of all virtual users.
struct Provide {
  uint16_t to = 0;  // index into Plan::workflows
  std::string name;
  Template value;
  bool collect_all = false;
};
// A value that another workflow provides.
struct Use {
  uint16_t from = 0;     // index into Plan::workflows; it has ended when this one begins
  uint16_t provide = 0;  // index into its provides
  std::string name;
  std::optional<std::string> fallback;  // when it was not provided; none: the workflow does not begin
  bool is_list = false;                 // the fallback is then its only element
};

struct Workflow {
  std::string name;
  std::vector<uint16_t> depends;  // workflows that must have completed before it begins
  Priority priority = Priority::kAuto;
  std::vector<Provide> provides;
  std::vector<Use> uses;
  Executor executor;
  Duration start_time;                             // after the start of the run
  Duration graceful_stop = Duration::seconds(30);  // for iterations still running at the end
  OnOvertime on_overtime = OnOvertime::kKill;
  std::vector<Step> steps;       // in the order of the file, each after its holder
  Order order;                   // of the steps without a holder
  uint16_t orders = 1;           // with those of blocks
  std::vector<uint16_t> groups;  // of its steps, by index: into Plan::series, for their times
  uint16_t slot_count = 0;
  std::vector<std::string> slot_names;  // for messages: the expression of each slot, as the user wrote it
  bool keeps_cookies = false;           // from one iteration of a user to its next; else each begins without any
  bool keeps_connections = true;        // the same of connections
  bool is_teardown = false;             // it runs after all others, also after a stop of the run
  std::vector<Feed> feeds;              // those that its templates mention
  std::optional<Duration> timeout;      // from its earliest begin: then it is killed
};

enum class Aggregation : uint8_t { kCount, kRate, kValue, kAvg, kMin, kMax, kMed, kPercentile };
enum class Op : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual, kEqual, kNotEqual };

// A label of a step beside its name: thresholds and reports can take all steps of one value together.
struct Tag {
  std::string key;
  std::string value;
  bool operator==(const Tag&) const = default;
};

struct Threshold {
  std::string metric;                // "http_req_duration"
  std::optional<StepId> step;        // from {step:…}: only this step
  std::optional<uint16_t> workflow;  // from {workflow:…} or {scenario:…}
  std::optional<CheckId> check;      // from {check:…}
  std::vector<Tag> tags;             // from the others: steps that have them all
  ResponseFilter response;           // from {status:…} and {expected_response:…}
  std::string metric_text;           // as written, with its tags: "http_req_duration{step:browse.pay}"
  std::string expression;            // as written: "p(95)<300"
  Aggregation aggregation = Aggregation::kAvg;
  double percentile = 0;  // kPercentile, 0..100
  Op op = Op::kLess;
  double value = 0;  // durations in ms, rates 0..1
  bool abort_on_fail = false;
  Duration delay_abort_eval;
};

// A step, or a name under which a program measures requests of its step.
struct StepInfo {
  uint16_t workflow = 0;  // index into Plan::workflows
  uint16_t index = 0;     // index into that workflow's steps
  std::string name;       // "browse.pay"
  bool measured = true;   // false for actions
  std::vector<Tag> tags;  // its own and those of its workflow; each key once
  // What thresholds can select it by besides: its name, method, and URL as written and as sent. Not for reports,
  // because URLs may hold secrets.
  std::vector<Tag> facts;
};

struct CheckInfo {
  StepId step = 0;
  std::string name;  // "status is 200", "json $.token exists"
};

// The file whose functions steps call.
struct Program {
  using Language = scenario::Code::Language;
  Language language = Language::kLua;
  std::string name;                         // of its file, for messages
  std::shared_ptr<const std::string> text;  // of the file, whole
  std::vector<Module> modules = {};         // of a script: those that it requires
};

// An address (a literal) in place of the look-up of a host name. `port` 0: that of the URL.
struct HostPlace {
  std::string host;
  std::string address;
  uint16_t port = 0;
};

// A range of addresses, both ends included, in network byte order. IPv4 in its IPv6-mapped form.
struct IpRange {
  std::array<uint8_t, 16> first;
  std::array<uint8_t, 16> last;
  bool operator==(const IpRange&) const = default;
};

struct Plan {
  std::string name;
  std::vector<HostPlace> hosts;    // of several with one name, the last one counts
  std::vector<IpRange> local_ips;  // to connect from, if the machine has them; together at most kMaxLocalIps
  std::vector<Workflow> workflows;
  std::vector<StepInfo> steps;
  std::vector<CheckInfo> checks;
  std::vector<Threshold> thresholds;
  OnLoss on_loss = OnLoss::kInconclusive;
  std::optional<Duration> timeout;  // from the start of the run: then it is killed
  std::vector<Program> programs;
  std::vector<CustomMetric> metrics;
  std::vector<Series> series;    // by step, in the order of the steps
  std::vector<Tag> tags;         // of the run: each step has them, unless it has another value
  std::vector<HttpCall> tokens;  // constant requests for access tokens (RFC 6749, section 4.4)
  std::vector<Watch> watches;    // those that thresholds need, each once, by step
  // Unset: each user has its own connections. Else the users of a core share at most so many to each server; 0: no
  // limit.
  std::optional<uint32_t> shared_connections;
};

// Whether the requests of a step have due times, so that late requests count too: those of arrivals, and of users with
// a pace.
bool has_due_times(const Plan& plan, const StepInfo& step);

// The scheme, host and port of a URL; empty if the run makes one of them.
std::string origin_of(const Template& url);
// The scheme, host and port of the URLs of all steps that send requests, each once, in the order of the steps. Hosts
// that are known only during the run are left out.
std::vector<std::string> targets_of(const Plan& plan);

// The reason for the end of a run with this timeout: "its timeout of 2h is over".
std::string timeout_text(Duration timeout);
// Whether `why` is such a text.
bool is_timeout_text(std::string_view why);

}  // namespace bellwether::plan
