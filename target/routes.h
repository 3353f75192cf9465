// What the target answers to which request. Knows paths and contents; of connections only what is to happen to one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/prng.h"
#include "core/base/time.h"
#include "core/http1/head.h"

namespace bellwether::target {

// How the target misbehaves on purpose: latency, stalls and errors. Pure: time and chance are handed in.
struct FaultOptions {
  Duration latency_low;   // each answer waits for a time drawn evenly from latency_low..latency_high
  Duration latency_high;  // at least latency_low
  Duration stall_every;   // 0: no stalls
  Duration stall_for;     // the last part of each period of stall_every in which nothing is answered
  double error_rate = 0;  // share of requests answered with 500
};

class Faults {
 public:
  // Periods of stalls count from `start`.
  Faults(const FaultOptions& options, Instant start);

  // False: every request is answered at once and well, and nothing below need be asked.
  bool any() const { return any_; }
  // When a request that came at `arrival` is to be answered.
  Instant answer_at(Instant arrival, Prng& prng) const;
  bool fails(Prng& prng) const { return options_.error_rate > 0 && prng.chance(options_.error_rate); }

 private:
  FaultOptions options_;
  Instant start_;
  bool any_;
};

// `when`, or the end of the stall it falls into.
Instant after_stall(const FaultOptions& options, Instant start, Instant when);

// The answers that are always the same, built once: the target sends them from where they lie.

// A whole response that keeps the connection open.
struct Ready {
  std::string_view path;
  std::string_view methods;  // as in Allow
  std::string bytes;
  std::size_t head_size = 0;  // the body begins there

  // What a request with this method gets: everything, the head alone for HEAD, nothing when the method is refused.
  std::string_view answer_to(std::string_view method) const;
};

struct Item {
  uint64_t id;
  std::string_view name;
  std::string_view price;  // as JSON
};

class Catalogue {
 public:
  // The one of the process; never destroyed.
  static const Catalogue& get();

  const Ready* find(std::string_view path) const {
    for (const Ready& ready : ready_) {
      if (ready.path == path) return &ready;
    }
    return nullptr;
  }
  // nullptr when there is no such item.
  static const Item* item(uint64_t id);

 private:
  Catalogue();
  std::array<Ready, 7> ready_;
};

std::string to_json(const Item& item);

// What `text` means to write between quotes in JSON, whatever bytes it holds; those above 127 are taken as Latin-1.
void append_json_string(std::string& out, std::string_view text);

struct Answer {
  enum class Kind : uint8_t {
    kReady,  // `ready`
    kText,   // `text`
    kFill,   // `count` bytes, made while they are sent
    kLines,  // `count` lines, chunked
    kEcho,   // the body of the request
    kLogin,  // what answer_login() says of the body of the request
    kRaw,    // `text` is all that is sent, head included; then `then`
  };
  enum class Then : uint8_t { kGoOn, kClose, kReset, kHang };

  Kind kind = Kind::kText;
  Then then = Then::kGoOn;
  int status = 200;
  const Ready* ready = nullptr;
  std::string_view type = "application/json";
  std::string fields;  // more header lines, each with its line end
  std::string text;
  uint64_t count = 0;
  Duration delay;

  bool wants_body() const { return kind == Kind::kEcho || kind == Kind::kLogin; }
};

// Never fails: what is wrong with a request is said in the answer to it.
Answer answer_to(const http1::RequestHead& head);
// Turns an answer of kind kLogin into one of kind kText.
void answer_login(std::string_view body, Prng& prng, Answer& answer);
Answer error_answer(int status, std::string_view what);

// Appends the status line and the fields. `framing`: the header line about the length of the body, with its line end,
// or nothing.
void append_head(std::string& out, const Answer& answer, std::string_view framing, std::string_view connection);
// True for the statuses that never have a body.
bool is_bodiless(int status);

}  // namespace bellwether::target
