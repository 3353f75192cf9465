// What every thread of the product does first.
#pragma once

#include <csignal>
#include <optional>
#include <string>

namespace bellwether::runtime {

// Names the calling thread for `top` and debuggers (15 characters are kept) and, when a processor is given that it may
// run on, pins it there.
void set_up_thread(const std::string& name, std::optional<int> cpu);

// Signals belong to the thread of the runtime: a thread that begins in the life of this object gets none,
// but those of a fault of its own, so that the process may still say its last words.
class NoSignals {
 public:
  NoSignals();
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals();

 private:
  sigset_t before_;
};

}  // namespace bellwether::runtime
