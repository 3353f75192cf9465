// Shell commands that are told of transitions: one after the other, in the order of what happened, never several at
// once, each within a limit of time. Renewals do not wait for them.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "journal/journal.h"
#include "runtime/event.h"
#include "runtime/runtime.h"

namespace bellwether::lead {

class Hooks {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;
  Hooks(runtime::Runtime& runtime, Journal& journal) : runtime_(runtime), journal_(journal) {}

  // Queues it; does nothing for an empty command. Beyond 64 waiting ones the oldest is dropped, and that is told.
  void call(std::string command, Environment environment);
  // Runs what is queued until `cancel`; then what is left, for at most the time of one hook.
  runtime::task<void> run(runtime::Cancellation* cancel);

 private:
  struct Call {
    std::string command;
    Environment environment;
  };
  runtime::task<void> run_one(Call call);
  void end_soon();

  runtime::Runtime& runtime_;
  Journal& journal_;
  std::deque<Call> waiting_;
  runtime::Event more_;
  Instant end_by_ = Instant::never();
};

}  // namespace bellwether::lead
