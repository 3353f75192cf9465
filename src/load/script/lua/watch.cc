#include "load/script/lua/watch.h"

#include <atomic>
#include <csignal>
#include <ctime>
#include <lua.hpp>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/check.h"

namespace bellwether::script::lua {
namespace {

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
