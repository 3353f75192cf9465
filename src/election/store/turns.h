// A bounded number of things, used in turn: connections to a server that many callers share. First come, first served.
#pragma once

#include <cstddef>
#include <deque>

#include "core/runtime/cancellation.h"
#include "core/runtime/event.h"

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

// The right to use one of them; given back at the end. Ask by co_await turn.woken().wait(); it is yours if granted().
// `cancel` ends the wait.
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

}  // namespace bellwether::store
