#include "load/script/lua/state.h"

#include <atomic>
#include <charconv>
#include <csignal>
#include <ctime>
#include <lua.hpp>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "core/base/check.h"

namespace bellwether::script::lua {
namespace {

// Globals of the libraries that a script does not get.
constexpr const char* kRefused[] = {
    "dofile", "load", "loadfile",  "loadstring", "require", "module",  "package",        "debug",
    "jit",    "ffi",  "coroutine", "newproxy",   "getfenv", "setfenv", "collectgarbage", "gcinfo"};

// Replaces the library `name` by one with only these functions of it.
void keep_only(lua_State* state, const char* name, const std::vector<const char*>& functions) {
  lua_getglobal(state, name);
  lua_newtable(state);
  for (const char* function : functions) {
    lua_getfield(state, -2, function);
    lua_setfield(state, -2, function);
  }
  lua_setglobal(state, name);
  lua_pop(state, 1);
}

int open_safely(lua_State* state) {
  const Permissions& may = *static_cast<const Permissions*>(lua_touserdata(state, 1));
  luaL_openlibs(state);
  luaJIT_setmode(state, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);  // the library of the compiler turns it on
  // Of the operating system, every script may ask the time.
  std::vector<const char*> of_system{"time", "clock", "date", "difftime"};
  std::vector<const char*> of_files;
  if (may.files) {
    of_system.insert(of_system.end(), {"remove", "rename", "tmpname"});
    of_files = {"open", "lines", "type", "close", "read", "write", "stderr"};
  }
  if (may.processes) {
    of_system.push_back("execute");
    of_files.push_back("popen");
  }
  keep_only(state, "os", of_system);
  keep_only(state, "io", of_files);
  if (of_files.empty()) {
    lua_pushnil(state);
    lua_setglobal(state, "io");
  }
  for (const char* name : kRefused) {
    lua_pushnil(state);
    lua_setglobal(state, name);
  }
  lua_getglobal(state, "string");
  lua_pushnil(state);
  lua_setfield(state, -2, "dump");
  lua_pop(state, 1);
  return 0;
}

// The beginning of an error of Lua, and our words for it.
struct Words {
  std::string_view lua;
  std::string_view ours;
};
constexpr Words kWords[] = {{"attempt to index ", "cannot look into "},
                            {"attempt to call ", "cannot call "},
                            {"attempt to perform arithmetic on ", "cannot compute with "},
                            {"attempt to concatenate ", "cannot join to a text: "},
                            {"attempt to compare ", "cannot compare "},
                            {"attempt to get length of ", "cannot take the length of "}};

// Keeps the file and the line before them.
std::string in_our_words(std::string_view message) {
  for (const auto& [lua, ours] : kWords) {
    const std::size_t at = message.find(lua);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = message.substr(at + lua.size());
    const bool is_nil = rest.find("nil value") != std::string_view::npos || rest.starts_with("nil with ") ||
                        rest.ends_with(" with nil");
    return fmt::format("{}{}{}{}", message.substr(0, at), ours, rest,
                       is_nil ? "; nil means that nothing has set it: check its name" : "");
  }
  return std::string(message);
}

constexpr Duration kLookEvery = Duration::millis(100);
constexpr uint32_t kMaxLooks = static_cast<uint32_t>(kMaxSlice / kLookEvery);

int watch_signal() { return SIGRTMIN + 5; }

// The shared state of the thread and its signal handler.
struct Running {
  std::atomic<lua_State*> state{nullptr};  // nullptr: no script runs
  std::atomic<uint64_t> slice{0};
  std::atomic<bool> stopped{false};
  uint64_t seen = 0;  // the handler's own
  uint32_t looks = 0;
};
thread_local Running t_running;

// Stays set until the slice ends: a script that catches the error gets the next one.
void stop_it(lua_State* state, lua_Debug*) {
  luaL_where(state, 0);
  lua_pushfstring(state, "ran for %d s without waiting for anything, and was stopped",
                  static_cast<int>(kMaxSlice / Duration::seconds(1)));
  lua_concat(state, 2);
  lua_error(state);
}

void look(int) {
  Running& running = t_running;
  lua_State* state = running.state.load(std::memory_order_relaxed);
  const uint64_t slice = running.slice.load(std::memory_order_relaxed);
  if (state == nullptr || slice != running.seen) {
    running.seen = slice;
    running.looks = 0;
    return;
  }
  if (++running.looks < kMaxLooks) return;
  // The same as in LuaJIT's own command, in its handler of SIGINT.
  lua_sethook(state, stop_it, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
  running.stopped.store(true, std::memory_order_relaxed);
}

class Timer {
 public:
  Timer() {
    struct sigaction action {};
    action.sa_handler = look;
    action.sa_flags = SA_RESTART;
    check(::sigaction(watch_signal(), &action, nullptr) == 0, "the signal is a signal");
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = watch_signal();
    event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
    there_ = ::timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) == 0;
    if (!there_) return;
    const timespec every{0, static_cast<long>(kLookEvery.ns())};
    const itimerspec spec{every, every};
    ::timer_settime(timer_, 0, &spec, nullptr);
  }
  ~Timer() {
    if (there_) ::timer_delete(timer_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  timer_t timer_{};
  bool there_ = false;
};

}  // namespace

std::string message_of(lua_State* state) {
  std::size_t size = 0;
  const char* text = lua_tolstring(state, -1, &size);
  return text == nullptr ? "an error that is no text" : in_our_words({text, size});
}

void Close::operator()(lua_State* state) const { lua_close(state); }

Result<State> new_state(Permissions may) {
  State state(luaL_newstate());
  if (state == nullptr) return fail(Errc::kExhausted, "no memory for a script");
  if (lua_cpcall(state.get(), open_safely, &may) != 0) return fail(Errc::kExhausted, message_of(state.get()));
  return state;
}

Status load_text(lua_State* state, std::string_view text, const std::string& name) {
  // A text begins with no escape: byte code does, and is not verified.
  if (text.starts_with('\x1b')) return fail(Errc::kInvalid, name + ":1: this is no text");
  if (luaL_loadbuffer(state, text.data(), text.size(), ("@" + name).c_str()) == 0) return {};
  std::string message = message_of(state);
  lua_pop(state, 1);
  if (const int line = line_of(message, name); line > 0) {
    message = fmt::format("{}:{}: this is not Lua: {}", name, line, without_place(message, name));
  }
  return fail(Errc::kInvalid, std::move(message));
}

Status call(lua_State* state, int arguments) {
  const Slice slice(state);
  if (lua_pcall(state, arguments, 0, 0) == 0) return {};
  std::string message = message_of(state);
  lua_pop(state, 1);
  return fail(Errc::kInvalid, std::move(message));
}

int line_of(std::string_view message, std::string_view name) {
  if (!message.starts_with(name) || message.size() <= name.size() || message[name.size()] != ':') return 0;
  int line = 0;
  message.remove_prefix(name.size() + 1);
  std::from_chars(message.data(), message.data() + message.size(), line);
  return line;
}

std::string_view without_place(std::string_view message, std::string_view name) {
  if (line_of(message, name) == 0) return message;
  message.remove_prefix(name.size() + 1);
  const std::size_t colon = message.find(':');
  if (colon == std::string_view::npos) return message;
  message.remove_prefix(colon + 1);
  while (message.starts_with(' ')) message.remove_prefix(1);
  return message;
}

Slice::Slice(lua_State* state) {
  thread_local const Timer timer;
  Running& running = t_running;
  running.slice.store(running.slice.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  running.state.store(state, std::memory_order_relaxed);
}

Slice::~Slice() {
  Running& running = t_running;
  lua_State* state = running.state.load(std::memory_order_relaxed);
  running.state.store(nullptr, std::memory_order_relaxed);
  if (!running.stopped.load(std::memory_order_relaxed)) return;
  lua_sethook(state, nullptr, 0, 0);
  running.stopped.store(false, std::memory_order_relaxed);
}

}  // namespace bellwether::script::lua
