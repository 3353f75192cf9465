// A counter on a server, and clients that increment it: small, but with everything that makes such a thing hard.
//
// A client sends an increment with its own number and the number of the request, again and again until it is answered.
// The server writes it to a log, syncs, and only then answers with the value that the counter has got by it; a request
// that it knows already is answered with the value of then.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/runtime.h"

namespace bellwether::sim {

struct Increment {
  uint64_t client = 0;
  uint64_t request = 0;
  auto operator<=>(const Increment&) const = default;
};

constexpr std::string_view kCounterLog = "/data/log";

// The increments of a log, up to the first record that is not whole.
std::vector<Increment> read_log(std::string_view text);
void append_record(std::string& log, const Increment& increment, uint64_t position);

// What is known of the world from outside, and what must hold in it.
class CounterChecker {
 public:
  // A client was told that this increment made the counter `value`.
  void acknowledged(const Increment& increment, uint64_t value);
  // A server came up and knows these.
  void recovered(const std::vector<Increment>& log);
  // How many increments of this client were acknowledged.
  uint64_t acknowledged_of(uint64_t client) const;
  // What was violated first; empty when nothing was.
  const std::string& violation() const { return violation_; }

 private:
  void violated(std::string what);
  std::map<Increment, uint64_t> acknowledged_;
  std::map<uint64_t, Increment> by_value_;
  std::map<uint64_t, uint64_t> counts_;  // acknowledged, by client
  std::string violation_;
};

// The mistakes that a server can be given.
enum class Mistake : uint8_t { kNone, kAnswersBeforeSync, kForgetsRequests, kTrustsLogAfterFailedSync };

struct CounterServerContext {
  CounterChecker& checker;
  Mistake mistake = Mistake::kNone;
};
runtime::task<void> counter_server(runtime::Runtime& runtime, void* context);

struct CounterClientContext {
  CounterChecker& checker;
  uint64_t number = 0;
};
runtime::task<void> counter_client(runtime::Runtime& runtime, void* context);

}  // namespace bellwether::sim
