// What the functions of the API share about one script on one load thread. Private to this room.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "script/lua/state.h"
#include "vuser/program.h"

namespace bellwether::script::lua {

inline constexpr std::array<std::string_view, 7> kMethods{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"};

// A function that steps call. The numbers are places in Lua's registry.
struct Function {
  const plan::CodeCall* call = nullptr;
  int function = 0;
  int checks = 0;                               // name → index, from 1
  int sets = 0;                                 // the same
  int metrics = 0;                              // the same
  std::array<int, kMethods.size()> requests{};  // URL → vuser::PreparedRequest, of each method
};

// A coroutine, and the step that runs in it.
struct Strand {
  enum class Waiting : uint8_t { kNothing, kResponse, kTime };
  lua_State* state = nullptr;
  int place = 0;  // of the coroutine, in the registry
  const Function* function = nullptr;
  vuser::Program::User* user = nullptr;
  vuser::CodeRun* run = nullptr;
  uint64_t response = 0;  // the number of the last response; 0: there is none to look at
  Waiting waiting = Waiting::kNothing;
};

// What scripts hold of a response. The rest of it is with its strand as long as it is the last one.
struct HeldResponse {
  const Strand* strand;
  uint64_t number;
  double took_ms;
  uint64_t bytes;
  int status;
  metrics::ErrorKind error;
};

class Host {
 public:
  static constexpr std::size_t kPathsMost = 10'000;

  State state;
  const plan::Program* script = nullptr;  // what it has of files
  std::deque<Function> functions;
  std::deque<Strand> strands;
  std::vector<Strand*> free_strands;
  Strand* running = nullptr;  // nullptr: what stands outside of functions
  uint64_t responses = 0;     // so far
  int response_kind = 0;      // the metatable of responses, in the registry
  int paths = 0;              // text → plan::JsonPath, in the registry
  std::deque<plan::JsonPath> known_paths;
  std::string scratch;  // for bodies that are put together

  // The parsed path of the text at `index`; nullptr, and a message is pushed, when it is none.
  const plan::JsonPath* path_at(lua_State* from, int index);
};

// Set the globals of the API. `host` must outlive the state.
void push_calls(lua_State* state, Host& host);
void push_require(lua_State* state, Host& host);
void push_response_kind(lua_State* state, Host& host);
// Pushes the response that the strand's run has now.
void push_response(lua_State* state, Host& host, Strand& strand);

// The strand that runs in `state`; nullptr, and a message is pushed, when `what` is called outside of a step.
Strand* strand_of(lua_State* state, Host& host, const char* what);
Host& host_of(lua_State* state);  // of a function of the API: its first upvalue
// Raises the message on top as an error, with the place in the script before it. Where it is called, nothing with a
// destructor may be alive.
int raise(lua_State* state);

}  // namespace bellwether::script::lua
