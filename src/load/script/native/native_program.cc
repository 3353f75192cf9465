
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/overloaded.h"
#include "load/plan/json_path.h"
#include "load/script/native/declarations.h"

namespace bellwether::script::native {
namespace {

constexpr uint32_t kNowhere = UINT32_MAX;
constexpr std::size_t kMaxHeaders = 100;
constexpr std::size_t kMaxPaths = 10'000;
constexpr std::size_t kMaxWhy = 1000;  // bytes of a failure's reason

std::string_view from_abi(bellwether_text text) { return {text.data, text.data == nullptr ? 0 : text.size}; }
bellwether_text to_abi(std::string_view text) { return {text.data(), text.size()}; }

// The places in the scenario of a step's declarations: the places in the program's lists → those of the call.
struct Function {
  uint32_t number = 0;  // the program's
  std::vector<uint32_t> checks, sets, arguments, requests;
};

class NativeProgram;

// A run, as the program sees it.
struct Strand {
  vuser::CodeRun* run = nullptr;
  NativeProgram* program = nullptr;
  const Function* function = nullptr;
  void* theirs = nullptr;  // the program's own, while it waits
  std::string why;
  std::string url;  // as last asked for
};

Strand& strand_of(bellwether_run* run) { return *reinterpret_cast<Strand*>(run); }
bellwether_run* to_abi(Strand& strand) { return reinterpret_cast<bellwether_run*>(&strand); }

struct NativeUser final : vuser::Program::User {
  NativeUser(const bellwether_program& from, uint32_t number) : program(from), theirs(from.new_user(number)) {}
  ~NativeUser() override { program.delete_user(theirs); }
  NativeUser(const NativeUser&) = delete;
  NativeUser& operator=(const NativeUser&) = delete;
  const bellwether_program& program;
  void* theirs;
};

class NativeProgram final : public vuser::Program {
 public:
  NativeProgram(std::unique_ptr<Library> library, std::vector<Declared> declared, std::string name)
      : library_(std::move(library)), declared_(std::move(declared)), name_(std::move(name)) {
    library_->program().use(&kHost);
  }

  Result<uint32_t> find(const plan::CodeCall& call) override {
    const uint32_t number = library_->program().find(to_abi(std::string_view(call.function)));
    if (number == kNowhere) return tl::unexpected(no_such_step(declared_, call.function, name_));
    Function function{.number = number, .checks = {}, .sets = {}, .arguments = {}, .requests = {}};
    const StepNames names = names_of(declared_, call.function);
    for (const std::string& name : names.checks) function.checks.push_back(place(call.checks, name));
    for (const std::string& name : names.sets) function.sets.push_back(place(call.sets, name));
    for (const std::string& name : names.arguments) function.arguments.push_back(place(call.arguments, name));
    for (const std::string& name : names.requests) function.requests.push_back(place(call.requests, name));
    functions_.push_back(std::move(function));
    return static_cast<uint32_t>(functions_.size() - 1);
  }

  std::unique_ptr<User> new_user(uint32_t number) override {
    return std::make_unique<NativeUser>(library_->program(), number);
  }
  void begin_iteration(User& user, uint64_t iteration) override {
    library_->program().begin_iteration(static_cast<NativeUser&>(user).theirs, iteration);
  }

  void begin(uint32_t function, User& user, vuser::CodeRun& run) override {
    Strand& strand = take_strand();
    strand.run = &run;
    strand.function = &functions_[function];
    run.state = &strand;
    strand.theirs =
        library_->program().begin(strand.function->number, static_cast<NativeUser&>(user).theirs, to_abi(strand));
    end_if_over(strand);
  }
  void go_on(vuser::CodeRun& run) override {
    auto& strand = *static_cast<Strand*>(run.state);
    library_->program().go_on(strand.theirs);
    end_if_over(strand);
  }
  bool copies_responses() const override { return false; }  // a coroutine may hold a view of a body

  void abandon(vuser::CodeRun& run) override {
    auto& strand = *static_cast<Strand*>(run.state);
    library_->program().abandon(strand.theirs);
    free_.push_back(&strand);
  }

 private:
  static uint32_t place(const std::vector<std::string>& names, const std::string& name) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<uint32_t>(i);
    }
    return kNowhere;
  }
  template <class Named>
  static uint32_t place(const std::vector<Named>& values, const std::string& name) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].name == name) return static_cast<uint32_t>(i);
    }
    return kNowhere;
  }
  Strand& take_strand() {
    if (free_.empty()) {
      strands_.emplace_back().program = this;
      return strands_.back();
    }
    Strand* strand = free_.back();
    free_.pop_back();
    return *strand;
  }
  void end_if_over(Strand& strand) {
    const auto want = strand.run->want();
    if (want == vuser::CodeRun::Want::kEnd || want == vuser::CodeRun::Want::kFailure) free_.push_back(&strand);
  }

  // --- what the program asks of the host -----------------------------------------------------------------------------

  // The lists that a change refers to.
  struct Lists {
    std::vector<std::pair<std::string_view, std::string_view>> headers;
    std::vector<plan::StatusRange> expected;
  };

  // The views are those of the request. False: more headers than a client sends, or more statuses than a scenario has.
  static bool change_of(const bellwether_request& from, Lists& lists, vuser::RequestChange& out) {
    auto& headers = lists.headers;
    if (from.header_count > kMaxHeaders || from.expected_count > scenario::kMaxStatusRanges) return false;
    for (std::size_t i = 0; i < from.expected_count; ++i) {
      lists.expected.push_back({from.expected[i].low, from.expected[i].high});
    }
    out.expected = lists.expected;
    for (std::size_t i = 0; i < from.header_count; ++i) {
      headers.emplace_back(from_abi(from.headers[2 * i]), from_abi(from.headers[2 * i + 1]));
    }
    out.method = from_abi(from.method);
    out.url = from_abi(from.url);
    out.headers = headers;
    if (from.has_body != 0) out.body = from_abi(from.body);
    return true;
  }

  static const bellwether_prepared* prepare(bellwether_run* run, const bellwether_request* request) {
    Strand& strand = strand_of(run);
    Lists lists;
    vuser::RequestChange change;
    if (!change_of(*request, lists, change)) return nullptr;
    // Equal requests of many users are prepared once. No part of the key has a zero byte that could be sent.
    std::string key(change.method);
    for (const std::string_view part : {change.url, from_abi(request->body)}) (key += '\0') += part;
    key += change.body ? '1' : '0';
    for (const auto& [name, value] : lists.headers) (((key += '\0') += name) += '\0') += value;
    for (const plan::StatusRange& one : lists.expected) key += fmt::format("{}{}-{}", '\0', one.low, one.high);
    auto& known = strand.program->prepared_;
    const auto found = known.find(key);
    if (found != known.end()) return reinterpret_cast<const bellwether_prepared*>(found->second);
    const vuser::PreparedRequest* made = strand.run->site().prepare(change);
    if (made != nullptr) known.emplace(std::move(key), made);
    return reinterpret_cast<const bellwether_prepared*>(made);
  }
  // The program's own list and the scenario's may differ: one that the scenario does not know counts under the step.
  static vuser::CodeRun::Counting counting(const Strand& strand, bool measured, uint16_t name) {
    const std::vector<uint32_t>& requests = strand.function->requests;
    const uint32_t at = name > 0 && name <= requests.size() ? requests[name - 1u] : kNowhere;
    return {measured, static_cast<uint16_t>(at == kNowhere ? 0 : at + 1)};
  }
  static void send_prepared(bellwether_run* run, const bellwether_prepared* request, int measured, uint16_t name) {
    Strand& strand = strand_of(run);
    strand.run->send(*reinterpret_cast<const vuser::PreparedRequest*>(request), counting(strand, measured != 0, name));
  }
  static int send(bellwether_run* run, const bellwether_request* request, bellwether_text* why) {
    Strand& strand = strand_of(run);
    Lists lists;
    vuser::RequestChange change;
    if (!change_of(*request, lists, change)) {
      *why = to_abi(std::string_view("a request has at most 100 headers and 100 expected statuses"));
      return 0;
    }
    std::optional<Duration> timeout;
    if (request->timeout_ns > 0) timeout = Duration::nanos(request->timeout_ns);
    const Status sent = strand.run->send(change, timeout, counting(strand, request->measured != 0, request->name));
    if (sent) return 1;
    strand.why = sent.error().message;
    *why = to_abi(std::string_view(strand.why));
    return 0;
  }
  static void sleep(bellwether_run* run, int64_t ns) { strand_of(run).run->sleep(Duration::nanos(ns)); }
  static void end(bellwether_run* run) { strand_of(run).run->end(); }
  static void fail_run(bellwether_run* run, bellwether_text why) {
    strand_of(run).run->fail(std::string(from_abi(why).substr(0, kMaxWhy)));
  }

  static void response(bellwether_run* run, bellwether_response* out) {
    const http1::Response& from = strand_of(run).run->response();
    *out = {};
    out->number = strand_of(run).run->exchanges();
    out->status = from.status;
    out->took_ns = strand_of(run).run->took().ns();
    if (from.status != 0) out->body = to_abi(from.body);
    if (from.error != http1::ErrorKind::kNone) out->error = to_abi(http1::to_string(from.error));
  }
  static void timings(bellwether_run* run, bellwether_timings* out) {
    const auto of = strand_of(run).run->phases();
    *out = {of[0].ns(), of[1].ns(), of[2].ns(), of[3].ns(), of[4].ns(), of[5].ns()};
  }
  static int header(bellwether_run* run, bellwether_text name, bellwether_text* value) {
    const http1::Response& from = strand_of(run).run->response();
    if (from.status == 0) return 0;
    const std::string_view text = from.head().header(from_abi(name));
    *value = to_abi(text);
    return text.data() == nullptr ? 0 : 1;
  }
  static const void* json_path(bellwether_run* run, bellwether_text text) {
    auto& known = strand_of(run).program->paths_;
    std::string key(from_abi(text));
    const auto found = known.find(key);
    if (found != known.end()) return &found->second;
    if (known.size() == kMaxPaths) return nullptr;
    auto path = plan::parse_json_path(key);
    if (!path) return nullptr;
    return &known.emplace(std::move(key), std::move(*path)).first->second;
  }
  static void json(bellwether_run* run, const void* path, bellwether_value* out) {
    *out = {};
    const auto value = strand_of(run).run->json(*static_cast<const plan::JsonPath*>(path));
    std::visit(Overloaded{[](std::monostate) {},
                          [out](std::string_view text) {
                            out->kind = BELLWETHER_TEXT;
                            out->text = to_abi(text);
                          },
                          [out](double number) {
                            out->kind = BELLWETHER_NUMBER;
                            out->number = number;
                          },
                          [out](bool truth) { out->kind = truth ? BELLWETHER_TRUE : BELLWETHER_FALSE; },
                          [out](vuser::JsonReader::Null) { out->kind = BELLWETHER_NULL; },
                          [out](vuser::JsonReader::Compound) { out->kind = BELLWETHER_COMPOUND; }},
               value);
  }

  static int check(bellwether_run* run, uint32_t index, int holds) {
    Strand& strand = strand_of(run);
    const uint32_t at = index < strand.function->checks.size() ? strand.function->checks[index] : kNowhere;
    if (at == kNowhere) return 0;
    strand.run->check(at, holds != 0);
    return 1;
  }
  static int set(bellwether_run* run, uint32_t index, bellwether_text value) {
    Strand& strand = strand_of(run);
    const uint32_t at = index < strand.function->sets.size() ? strand.function->sets[index] : kNowhere;
    if (at == kNowhere) return 0;
    strand.run->set(at, from_abi(value));
    return 1;
  }
  static int argument(bellwether_run* run, uint32_t index, bellwether_text* value) {
    Strand& strand = strand_of(run);
    const uint32_t at = index < strand.function->arguments.size() ? strand.function->arguments[index] : kNowhere;
    if (at == kNowhere) return 0;
    *value = to_abi(strand.run->argument(at));
    return 1;
  }
  static int record(bellwether_run* run, bellwether_text metric, double value) {
    vuser::CodeRun& of = *strand_of(run).run;
    const std::vector<plan::CodeCall::Recordable>& known = of.site().call().metrics;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].name != from_abi(metric)) continue;
      of.measure(i, value);
      return 1;
    }
    return 0;
  }
  static bellwether_text url(bellwether_run* run) {
    Strand& strand = strand_of(run);
    strand.url = strand.run->response().url();
    return to_abi(std::string_view(strand.url));
  }
  static uint64_t random(bellwether_run* run) { return strand_of(run).run->prng().next(); }

  static constexpr bellwether_host kHost{BELLWETHER_ABI_VERSION,
                                         sizeof(bellwether_host),
                                         prepare,
                                         send_prepared,
                                         send,
                                         sleep,
                                         end,
                                         fail_run,
                                         response,
                                         timings,
                                         header,
                                         json_path,
                                         json,
                                         check,
                                         set,
                                         argument,
                                         random,
                                         record,
                                         url};

  std::unique_ptr<Library> library_;
  std::vector<Declared> declared_;
  std::string name_;
  std::deque<Function> functions_;
  std::deque<Strand> strands_;
  std::vector<Strand*> free_;
  std::unordered_map<std::string, const vuser::PreparedRequest*> prepared_;
  std::unordered_map<std::string, plan::JsonPath> paths_;
};

}  // namespace

Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program) {
  BW_TRY(auto library, Library::open(*program.text, program.name));
  BW_TRY(auto declared, declarations_of(*library, program.name));
  return std::make_unique<NativeProgram>(std::move(library), std::move(declared), program.name);
}

}  // namespace bellwether::script::native
