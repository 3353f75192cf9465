// What the target answers to which request. Knows paths and contents; of connections only what is to happen to one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/prng.h"
#include "core/base/time.h"
#include "core/http1/request_head.h"
#include "target/catalogue.h"

namespace bellwether::target {

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
