// Load tests written in C++20: a class is a workflow, its member coroutines are the steps, and each virtual user has a
// separate object. docs/load/guides/cpp.md explains it from the beginning.
//
//   #include <bellwether/workflow.h>
//   using namespace bellwether::workflow;
//
//   class Shop : public Workflow {
//    public:
//     static constexpr Settings settings{.name = "shop", .vus = 10, .duration = 10_s};
//     static void steps(Steps<Shop>& s) {
//       s.step("list", &Shop::list).checks("has items");
//       s.step("item", &Shop::item).after("list");
//     }
//
//    private:
//     Task<Response> list() {
//       auto response = co_await get(items_);
//       check("has items", response.json(total_).number() > 0);
//       co_return response;
//     }
//     Task<Response> item() { co_return co_await get("/items/1"); }
//
//     Url items_{"/items"};  // prepared once, before it is first sent
//     Path total_{"$.total"};
//   };
//   BELLWETHER_WORKFLOWS(Shop)
//
// The return type is the kind of a step: Task<Response> is a test step, and its response is measured. Task<> (or
// Action) is an action, whose requests are sent and not counted.
//
// All steps of a user run on one thread. So do those of all users whose objects can reach each other: statics belong to
// one load thread, and no two threads share them. An exception ends its step as a failure with the text of what().
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <forward_list>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bellwether/workflow_abi.h"

namespace bellwether::workflow {

class Workflow;

// --- times -----------------------------------------------------------------------------------------------------------

struct Duration {
  int64_t ns = 0;
  constexpr double ms() const { return static_cast<double>(ns) / 1e6; }
  constexpr auto operator<=>(const Duration&) const = default;
};
inline namespace literals {
constexpr Duration operator""_ms(unsigned long long n) { return {static_cast<int64_t>(n) * 1'000'000}; }
constexpr Duration operator""_s(unsigned long long n) { return {static_cast<int64_t>(n) * 1'000'000'000}; }
constexpr Duration operator""_m(unsigned long long n) { return {static_cast<int64_t>(n) * 60'000'000'000}; }
constexpr Duration operator""_h(unsigned long long n) { return {static_cast<int64_t>(n) * 3'600'000'000'000}; }
}  // namespace literals

// Ends a step as failed. So does any other exception.
class Failure : public std::exception {
 public:
  explicit Failure(std::string why) : why_(std::move(why)) {}
  const char* what() const noexcept override { return why_.c_str(); }

 private:
  std::string why_;
};
[[noreturn]] inline void fail(std::string why) { throw Failure(std::move(why)); }

// --- workflows -------------------------------------------------------------------------------------------------------

// The keys of a workflow as in docs/load/reference/scenario.md. Missing values have the defaults described there. The
// texts are YAML; `more` is for all other keys: "start_time: 2s, on_overtime: notify".
struct Settings {
  const char* name = nullptr;  // else that of the class
  const char* executor = nullptr;
  uint32_t vus = 0;
  Duration duration;
  const char* rate = nullptr;  // "500/s"
  uint64_t iterations = 0;
  Duration pacing;
  Duration start_time;
  Duration graceful_stop;
  const char* priority = nullptr;
  const char* depends = nullptr;  // "auth, warm_up"
  const char* more = nullptr;
  uint32_t line = static_cast<uint32_t>(__builtin_LINE());
};

namespace detail {

constexpr bellwether_text to_abi(std::string_view text) { return {text.data(), text.size()}; }
constexpr std::string_view from_abi(bellwether_text text) { return {text.data, text.size}; }

inline constinit const bellwether_host* host = nullptr;
inline constinit uint64_t responses = 0;  // so far: the number of a response distinguishes it from all others

// Frames of coroutines, by their size. Of the one thread that runs this copy of the program.
class Frames {
 public:
  constexpr Frames() = default;
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;
  ~Frames() {
    for (Free*& first : free_) {
      while (first != nullptr) ::operator delete(std::exchange(first, first->next));
    }
  }
  void* take(std::size_t size) {
    const std::size_t kind = (size + kStep - 1) / kStep;
    if (kind >= kKinds) return ::operator new(size);
    if (free_[kind] == nullptr) return ::operator new(kind* kStep);
    return std::exchange(free_[kind], free_[kind]->next);
  }
  void give_back(void* frame, std::size_t size) {
    const std::size_t kind = (size + kStep - 1) / kStep;
    if (kind >= kKinds) return ::operator delete(frame);
    free_[kind] = new (frame) Free{free_[kind]};
  }

 private:
  static constexpr std::size_t kStep = 64;
  static constexpr std::size_t kKinds = 64;
  struct Free {
    Free* next;
  };
  Free* free_[kKinds] = {};
};
inline constinit Frames frames;

struct PromiseBase;
struct Runner;
struct StepInfo;

// The text given to BELLWETHER_SCENARIO.
inline constinit std::string_view scenario_text;
inline constinit uint32_t scenario_line = 0;
bool give_scenario(std::string_view text, uint32_t last_line);

// A step that runs. Its memory is used again, and given up with the program only.
struct Strand {
  bellwether_run* run = nullptr;
  Workflow* user = nullptr;
  std::coroutine_handle<> root, leaf;  // of the step, and of its waiting part
  PromiseBase* promise = nullptr;      // of the root
  const StepInfo* step = nullptr;
  uint64_t live = 0;      // the response whose body is readable
  uint32_t measured = 0;  // the exchange that is to be measured
};

}  // namespace detail

// --- responses -------------------------------------------------------------------------------------------------------

// The path of a value in a JSON document: $, .name, ['name'], [0], [-1]. As a member it is read once.
class Path {
 public:
  Path(std::string text) : text_(std::move(text)) {}
  Path(const char* text) : text_(text) {}

 private:
  friend class Response;
  std::string text_;
  mutable const void* known_ = nullptr;
};

// A value of a response. Its text is valid until the next value is read.
class JsonValue {
 public:
  explicit JsonValue(const bellwether_value& value) : value_(value) {}
  bool exists() const { return value_.kind != BELLWETHER_ABSENT; }
  explicit operator bool() const { return exists(); }
  bool is_null() const { return value_.kind == BELLWETHER_NULL; }
  bool is_true() const { return value_.kind == BELLWETHER_TRUE; }
  // `otherwise` when it is not there or not of this kind.
  double number(double otherwise = 0) const { return value_.kind == BELLWETHER_NUMBER ? value_.number : otherwise; }
  std::string_view text(std::string_view otherwise = {}) const {
    return value_.kind == BELLWETHER_TEXT ? detail::from_abi(value_.text) : otherwise;
  }

 private:
  bellwether_value value_;
};

// The phases of an exchange, each 0 when it did not happen: the first three on a reused connection. The phase in which
// an exchange fails ends there.
struct Timings {
  Duration dns, connect, tls, send, wait, receive;
};

class Response {
 public:
  Response() = default;
  int status() const { return facts_.status; }  // 0: there was none, and error() says why
  bool ok() const { return facts_.status >= 200 && facts_.status < 400; }
  std::string_view error() const { return detail::from_abi(facts_.error); }  // "timeout"
  Duration took() const { return {facts_.took_ns}; }

  // These can be asked for until the next request of the same step, and throw afterwards.
  std::string_view body() const {
    strand();
    return detail::from_abi(facts_.body);
  }
  Timings timings() const {
    bellwether_timings of{};
    detail::host->timings(strand().run, &of);
    return {{of.dns}, {of.connect}, {of.tls}, {of.send}, {of.wait}, {of.receive}};
  }
  // That of the last request, after redirects.
  std::string url() const { return std::string(detail::from_abi(detail::host->url(strand().run))); }
  // Empty when absent.
  std::string_view header(std::string_view name) const {
    bellwether_text value{};
    if (detail::host->header(strand().run, detail::to_abi(name), &value) == 0) return {};
    return detail::from_abi(value);
  }
  JsonValue json(const Path& path) const {
    const detail::Strand& from = strand();
    if (path.known_ == nullptr) path.known_ = detail::host->json_path(from.run, detail::to_abi(path.text_));
    if (path.known_ == nullptr) fail("'" + path.text_ + "' is no path: write $.name, $['name'] or $[0]");
    bellwether_value value{};
    detail::host->json(from.run, path.known_, &value);
    return JsonValue(value);
  }

 private:
  friend struct detail::PromiseBase;
  friend struct ExchangeWait;
  explicit Response(detail::Strand& from) : strand_(&from), live_(from.live) {
    detail::host->response(from.run, &facts_);
  }
  const detail::Strand& strand() const {
    if (strand_ == nullptr || strand_->live != live_)
      fail("a response holds its body until the next request of its step");
    return *strand_;
  }
  bellwether_response facts_{};
  detail::Strand* strand_ = nullptr;
  uint64_t live_ = 0;
  friend uint32_t number_of(const Response& response) { return response.facts_.number; }
};

// --- requests --------------------------------------------------------------------------------------------------------

// Texts of requests. A URL is absolute, or comes behind defaults.http.base of the scenario.
using Headers = std::vector<std::pair<std::string, std::string>>;
struct Body {
  std::string text;
  std::string type = "text/plain";
};
struct Json : Body {
  explicit Json(std::string json) : Body{std::move(json), "application/json"} {}
};

// A part of a form. With a filename it is a file, of application/octet-stream unless it has another type.
struct FormPart {
  std::string name, text, filename = {}, type = {};
};
// multipart/form-data (RFC 7578); of one name there may be several parts.
struct Multipart : Body {
  explicit Multipart(const std::vector<FormPart>& parts) {
    std::string boundary = "bellwether";
    const auto is_inside = [&boundary](const FormPart& part) { return part.text.find(boundary) != std::string::npos; };
    for (bool inside = true; inside;) {
      boundary += "-x";
      inside = false;
      for (const FormPart& part : parts) inside |= is_inside(part);
    }
    for (const FormPart& part : parts) {
      text += "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + escaped(part.name) + '"';
      if (!part.filename.empty()) text += "; filename=\"" + escaped(part.filename) + '"';
      const bool is_file = !part.filename.empty() || !part.type.empty();
      if (is_file) text += "\r\nContent-Type: " + (part.type.empty() ? "application/octet-stream" : part.type);
      text += "\r\n\r\n" + part.text + "\r\n";
    }
    text += "--" + boundary + "--\r\n";
    type = "multipart/form-data; boundary=" + boundary;
  }

 private:
  static std::string escaped(std::string_view name) {
    std::string out;
    for (const char c : name) out += c == '"' ? "%22" : c == '\r' ? "%0D" : c == '\n' ? "%0A" : std::string(1, c);
    return out;
  }
};

// 404, or {500, 503}: all from the first to the last.
struct Statuses : bellwether_statuses {
  Statuses(int one) : Statuses(one, one) {}
  Statuses(int first, int last) : bellwether_statuses{static_cast<uint16_t>(first), static_cast<uint16_t>(last)} {
    if (first < 100 || last > 999 || first > last) fail("expected statuses lie between 100 and 999");
  }
};

// A request to send: co_await it. A member of the workflow is prepared once, before it is first sent, in its bytes on
// the wire; a temporary is put together at its use.
class Request {
 public:
  Request(std::string_view method, std::string_view url) : method_(method), url_(url) {}

  Request&& header(std::string name, std::string value) && {
    headers_.emplace_back(std::move(name), std::move(value));
    return std::move(*this);
  }
  Request&& headers(const Headers& headers) && {
    headers_.insert(headers_.end(), headers.begin(), headers.end());
    return std::move(*this);
  }
  Request&& body(const Body& body) && {
    body_ = body.text;
    has_body_ = true;
    return std::move(*this).header("Content-Type", body.type);
  }
  Request&& json(std::string text) && { return std::move(*this).body(Json(std::move(text))); }
  Request&& multipart(const std::vector<FormPart>& parts) && { return std::move(*this).body(Multipart(parts)); }
  Request&& timeout(Duration most) && {
    timeout_ = most;
    return std::move(*this);
  }
  // It is sent, and not measured; the summary says how many were left out.
  Request&& unmeasured() && {
    measured_ = false;
    return std::move(*this);
  }
  // It counts under this name, which the step declares by .requests(), in place of that of the step.
  Request&& name(std::string name) && {
    name_ = std::move(name);
    return std::move(*this);
  }
  // Only responses with these statuses do not count as failed: expected_statuses({200, {400, 404}}).
  Request&& expected_statuses(std::initializer_list<Statuses> statuses) && {
    expected_.assign(statuses.begin(), statuses.end());
    return std::move(*this);
  }
  // Of a member: another request for a single use.
  Request header(std::string name, std::string value) const& {
    return fresh().header(std::move(name), std::move(value));
  }
  Request headers(const Headers& headers) const& { return fresh().headers(headers); }
  Request body(const Body& body) const& { return fresh().body(body); }
  Request json(std::string text) const& { return fresh().json(std::move(text)); }
  Request multipart(const std::vector<FormPart>& parts) const& { return fresh().multipart(parts); }
  Request timeout(Duration most) const& { return fresh().timeout(most); }
  Request unmeasured() const& { return fresh().unmeasured(); }
  Request name(std::string name) const& { return fresh().name(std::move(name)); }
  Request expected_statuses(std::initializer_list<Statuses> statuses) const& {
    return fresh().expected_statuses(statuses);
  }

 private:
  friend struct ExchangeWait;
  Request fresh() const {
    Request out(*this);
    out.looked_ = false;
    out.prepared_ = nullptr;
    return out;
  }
  // `name`: its place in the list of the step, from 1.
  template <class Use>
  auto use(uint16_t name, Use&& use) const {
    std::vector<bellwether_text> headers;
    headers.reserve(headers_.size() * 2);
    for (const auto& [field, value] : headers_) {
      headers.push_back(detail::to_abi(field));
      headers.push_back(detail::to_abi(value));
    }
    const bellwether_request request{detail::to_abi(method_),
                                     detail::to_abi(url_),
                                     headers.data(),
                                     headers_.size(),
                                     detail::to_abi(body_),
                                     timeout_.ns,
                                     has_body_,
                                     measured_,
                                     name,
                                     expected_.data(),
                                     expected_.size()};
    return use(request);
  }
  std::string method_, url_, name_;
  Headers headers_;
  std::string body_;
  std::vector<bellwether_statuses> expected_;
  Duration timeout_;
  bool has_body_ = false;
  bool measured_ = true;
  mutable bool looked_ = false;
  mutable const bellwether_prepared* prepared_ = nullptr;
};

// As a member: a GET of it is prepared once.
class Url : public Request {
 public:
  Url(std::string_view url) : Request("GET", url), text_(url) {}
  Url(const char* url) : Url(std::string_view(url)) {}
  operator std::string_view() const { return text_; }

 private:
  std::string text_;
};

inline const Request& get(const Url& url) { return url; }
inline Request get(std::string_view url) { return {"GET", url}; }
inline Request get(const char* url) { return {"GET", url}; }
inline Request post(std::string_view url) { return {"POST", url}; }
inline Request put(std::string_view url) { return {"PUT", url}; }
inline Request patch(std::string_view url) { return {"PATCH", url}; }
inline Request del(std::string_view url) { return {"DELETE", url}; }
inline Request head(std::string_view url) { return {"HEAD", url}; }

struct Sleep {
  Duration span;
};
// co_await sleep(200_ms): the user waits, the thread does not.
inline Sleep sleep(Duration span) { return {span}; }

}  // namespace bellwether::workflow

#include "bellwether/workflow_task.h"

// The workflows that a file has, once in it.
#define BELLWETHER_WORKFLOWS(...)                                                                       \
  extern "C" __attribute__((visibility("default"))) const bellwether_program bellwether_program_table = \
      ::bellwether::workflow::detail::program<__VA_ARGS__>(__FILE__);

// Settings of the whole scenario, as YAML: env, defaults, thresholds, … At most once in a file.
#define BELLWETHER_SCENARIO(text)                                \
  [[maybe_unused]] static const bool bellwether_scenario_given = \
      ::bellwether::workflow::detail::give_scenario(text, __LINE__);
