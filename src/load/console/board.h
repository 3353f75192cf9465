// The view of a run between the thread that learns of it and the one that draws it.
#pragma once

#include <cstdint>
#include <mutex>

#include "load/console/view.h"

namespace bellwether::console {

// Any thread. Nobody waits longer than it takes to make or to copy a view.
class Board {
 public:
  template <class Change>
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    change(view_);
    ++version_;
  }
  // Copies the view when it is another than `version`, which it sets. False: it is the same.
  bool look(View& view, uint64_t& version) const {
    const std::lock_guard lock(mutex_);
    if (version == version_) return false;
    view = view_;
    version = version_;
    return true;
  }

 private:
  mutable std::mutex mutex_;
  View view_;
  uint64_t version_ = 1;
};

}  // namespace bellwether::console
