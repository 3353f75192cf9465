// Limits concurrent use: many callers share a bounded number of connections. First come, first served.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>

#include "core/base/prng.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"

namespace bellwether::store {

class Turns {
 public:
  explicit Turns(std::size_t most) : most_(most) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

 private:
  friend class Turn;
  std::size_t most_;
  std::size_t taken_ = 0;
  std::deque<class Turn*> waiting_;
};

// The right to use one of them; returned at the end. Ask by co_await turn.woken().wait(); the caller has it if
// granted(). `cancel` ends the wait.
class Turn {
 public:
  Turn(Turns& turns, runtime::Cancellation* cancel)
      : turns_(turns),
        on_cancel_(
            cancel, [](void* self) { static_cast<Turn*>(self)->woken_.set(); }, this) {
    if (turns_.taken_ < turns_.most_) {
      ++turns_.taken_;
      grant();
    } else {
      turns_.waiting_.push_back(this);
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    std::erase(turns_.waiting_, this);
    if (!granted_) return;
    if (turns_.waiting_.empty()) {
      --turns_.taken_;
      return;
    }
    Turn* next = turns_.waiting_.front();
    turns_.waiting_.pop_front();
    next->grant();
  }
  bool granted() const { return granted_; }
  runtime::Event& woken() { return woken_; }

 private:
  void grant() {
    granted_ = true;
    woken_.set();
  }
  Turns& turns_;
  bool granted_ = false;
  runtime::Event woken_;
  runtime::CancelCallback on_cancel_;
};

// The pause between the end of a server's watch connection and the next one: none after a long good life, growing while
// it fails, and long if the server does not support watches (kUnsupported), which will not change soon.

// The reason for an operator if the server, or this process, will not have another connection.
inline std::string refusal_in(const Status& ended) {
  const bool refused = !ended && (ended.error().code == Errc::kUnsupported || ended.error().code == Errc::kExhausted);
  return refused ? ended.error().message : std::string();
}

class Pauses {
 public:
  static constexpr Duration kMinPause = Duration::millis(250);
  static constexpr Duration kMaxPause = Duration::seconds(8);
  static constexpr Duration kUnsupported = Duration::seconds(60);
  static constexpr Duration kGoodLife = Duration::seconds(10);

  // After a connection with this lifetime and this end.
  Duration next(Duration lived, const Status& ended, Prng& prng) {
    if (lived >= kGoodLife) {
      pause_ = kMinPause;
      if (ended) return Duration::zero();
    }
    const Duration longest = !ended && ended.error().code == Errc::kUnsupported ? kUnsupported : pause_;
    pause_ = std::min(pause_ * 2, kMaxPause);
    // Clients of a server that shuts down must not all return at the same time.
    return Duration::nanos(prng.between(longest.ns() / 2, longest.ns()));
  }

 private:
  Duration pause_ = kMinPause;
};

// Follows the changes of a server by one connection after the other, while the task exists. `listen` takes the time of
// its begin, and makes a task that ends with the connection. All that it names must outlive the task.
template <class Listen>
runtime::task<void> keep_listening(runtime::Runtime& runtime, std::string& refused, Listen listen) {
  Pauses pauses;
  while (true) {
    const Instant begun = runtime.read_clock();
    const Status ended = co_await listen(begun);
    refused = refusal_in(ended);
    const Duration lived = runtime.read_clock() - begun;
    const Duration pause = pauses.next(lived, ended, runtime.prng());
    if (pause > Duration::zero()) co_await runtime.sleep(pause);
  }
}

}  // namespace bellwether::store
