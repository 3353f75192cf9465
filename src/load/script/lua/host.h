// The state that the functions of the API share for one script on one load thread. Private to this room.
//
// Nothing with a destructor is alive where Lua's errors are raised: the work is done by functions that push a message
// and return a failure, and the functions that Lua calls only raise it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/base/time.h"
#include "load/plan/plan.h"
#include "load/script/lua/state.h"
#include "load/vuser/body_readers.h"
#include "load/vuser/program.h"

namespace bellwether::script::lua {

inline constexpr std::array<std::string_view, 7> kMethods{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"};

// Values by the texts that scripts write, found by the address of a text in the script's state: equal texts have one
// address there, while it holds them. REQUIRES that the state holds each added text. Keeps only the first few, so a
// missing one may still exist.
template <class Value, std::size_t kMaxKnown = 8>
class KnownTexts {
 public:
  const Value* find(const char* text) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (known_[i].text == text) return &known_[i].value;
    }
    return nullptr;
  }
  void add(const char* text, Value value) {
    if (count_ < known_.size()) known_[count_++] = {text, value};
  }

 private:
  struct Known {
    const char* text = nullptr;
    Value value{};
  };
  std::array<Known, kMaxKnown> known_;
  std::size_t count_ = 0;
};

// Names that a step declares: name → index, from 1.
struct Names {
  int table = 0;  // all of them, in the registry
  KnownTexts<std::size_t> known;
};

// Its URLs: URL → vuser::PreparedRequest.
struct Requests {
  int table = 0;  // all of them, in the registry
  KnownTexts<const vuser::PreparedRequest*> known;
};

// A function that steps call. The numbers are places in Lua's registry.
struct Function {
  const plan::CodeCall* call = nullptr;
  int function = 0;
  int name = 0;  // of the step, under which its result is found
  Names checks;
  Names sets;
  Names metrics;
  Names names;                                     // of requests
  std::array<Requests, kMethods.size()> requests;  // of each method
};

// A coroutine, and the step that runs in it.
struct Strand {
  enum class Waiting : uint8_t { kNothing, kResponse, kTime };
  lua_State* state = nullptr;
  int place = 0;  // of the coroutine, in the registry
  Function* function = nullptr;
  vuser::Program::User* user = nullptr;
  vuser::CodeRun* run = nullptr;
  uint64_t response = 0;  // the number of the last response; 0: none
  Waiting waiting = Waiting::kNothing;
};

// A response that scripts hold. Its rest is with its strand while it is the last one.
struct HeldResponse {
  const Strand* strand;
  uint64_t number;
  double took_ms;
  uint64_t bytes;
  int status;
  http1::ErrorKind error;
};

// The fields of a response.
enum class Field : uint8_t {
  kStatus,
  kOk,
  kBody,
  kError,
  kDuration,
  kBytes,
  kTimings,
  kUrl,
  kJson,
  kHeader,
  kAll,
  kCss,
  kXpath  // the last one
};

class Host {
 public:
  static constexpr std::size_t kMaxPaths = 10'000;

  State state;
  const plan::Program* script = nullptr;  // its files
  std::deque<Function> functions;
  std::deque<Strand> strands;
  std::vector<Strand*> free_strands;
  Strand* running = nullptr;  // nullptr: code outside of functions
  uint64_t responses = 0;     // so far
  int response_kind = 0;      // the metatable of responses, in the registry
  const void* response_kind_at = nullptr;
  KnownTexts<Field, static_cast<std::size_t>(Field::kXpath) + 1> fields;  // all of them
  int paths = 0;                                                          // text → plan::JsonPath, in the registry
  KnownTexts<const plan::JsonPath*> near_paths;
  std::deque<plan::JsonPath> known_paths;
  // By what scripts wrote.
  std::map<std::string, vuser::MarkupReader::Expression, std::less<>> expressions;
  std::string scratch;  // for bodies that are put together

  // The parsed path of the text at `index`; on an error nullptr, with a message pushed.
  const plan::JsonPath* path_at(lua_State* from, int index);
  // The same of an expression. `css`: the text is a selector, and behind it may stand the name of an attribute.
  const vuser::MarkupReader::Expression* expression_at(lua_State* from, int index, bool css);
};

// Set the globals of the API. `host` must outlive the state.
void push_calls(lua_State* state, Host& host);
void push_encodings(lua_State* state, Host& host);
// The digest that the first argument of hash.hmac() names; without one, no_digest() is the message.
std::optional<HashKind> hash_named(std::string_view name);
std::string no_digest(std::string_view name);
void push_requests(lua_State* state, Host& host);
void push_require(lua_State* state, Host& host);
void push_response_kind(lua_State* state, Host& host);
// Pushes the current response of the strand's run.
void push_response(lua_State* state, Host& host, Strand& strand);

// A member of the table on top; its first upvalue is the host.
void set_function(lua_State* state, Host& host, const char* name, lua_CFunction function);
// The strand that runs in `state`; nullptr, with a message pushed, when `what` is called outside of a step.
Strand* strand_of(lua_State* state, Host& host, const char* what);
Host& host_of(lua_State* state);  // of a function of the API: its first upvalue
// The index of the name at `at` among the step's declared ones, from 0. Empty when it is none of them; declared()
// pushes a message then.
std::optional<std::size_t> index_of(lua_State* state, int at, Names& names);
std::optional<std::size_t> declared(lua_State* state, int at, Names& names, const char* what, const char* list);
void push_text(lua_State* state, std::string_view text);
// Empty when it is none; a number becomes one. Valid while the state holds it.
std::string_view text_at(lua_State* state, int index);
// Puts the parts that the table on top describes into host.scratch, in the order of their names, and returns the
// Content-Type. Pushes a message when they are wrong.
std::optional<std::string> make_multipart(lua_State* state, Host& host, Prng& prng);
// Seconds, or a text such as "200ms". Pushes a message when it is neither.
std::optional<Duration> duration_at(lua_State* state, int index, const char* what);
// Pushes the message; false.
bool refuse(lua_State* state, std::string_view message);
// Raises the message on top as an error, with the place in the script before it. The caller must have no live object
// with a destructor.
int raise(lua_State* state);

}  // namespace bellwether::script::lua
