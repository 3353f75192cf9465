// A session whose peer, which knows the keys, sends arbitrary texts, while this end asks, answers, sends, cancels and
// lets time pass: in every case each request ends once, everything stays bounded, and another session can read all that
// is sent.
//
// The input: steps. Each begins with a byte: the lowest three bits choose, the others are an argument; a step that
// receives takes two more bytes for the length, and that number of bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/wire/frame.h"
#include "cluster/wire/session.h"
#include "cluster/wire/wire_testing.h"

namespace bellwether::wire {
namespace {

constexpr SessionLimits kLimits = {.asking_max = 8,
                                   .serving_max = 8,
                                   .body = {.compressed = 4096, .inflated = 65'536, .ratio = 100},
                                   .queued_max = {8192, 8192, 8192, 8192}};
constexpr std::size_t kMaxBare = 512 * 1024 + 64;

class Run {
 public:
  explicit Run(Bytes input) : in_(input) {}

  void all() {
    while (!in_.empty() && !over_) {
      const auto step = std::to_integer<unsigned>(take(1)[0]);
      one(step & 7U, step >> 3U);
      check(ended_ + session_.asking() == asked_, "every request ends once");
      check(session_.serving() <= kLimits.serving_max, "serving is bounded");
      check(session_.queued_bytes() <= kPriorities * (8192 + 4096 + kMaxBare), "the queues are bounded");
    }
    Session::Expired left;
    while (session_.take_any(left)) ++ended_;
    check(ended_ == asked_, "every request ends");
  }

 private:
  Bytes take(std::size_t size) {
    const Bytes bytes = in_.first(std::min(size, in_.size()));
    in_ = in_.subspan(bytes.size());
    return bytes;
  }

  void one(unsigned choice, unsigned argument) {
    const auto priority = static_cast<Priority>(argument % 4);
    const std::vector<std::byte> body(std::size_t{argument} * 100, std::byte{'x'});
    if (choice <= 2) {
      receive();
    } else if (choice == 3) {
      const auto id =
          session_.request(now_ + Duration::millis(argument), {.type = 1, .priority = priority, .body = body}, nullptr);
      if (id) last_ = *id;
      asked_ += id ? 1 : 0;
    } else if (choice == 4) {
      if (session_.cancel(last_)) ++ended_;
    } else if (choice == 5) {
      session_.respond(serving_, ReplyStatus::kOk, body, argument % 2 == 1);
    } else if (choice == 6) {
      now_ += Duration::millis(argument * 10);
      Session::Expired expired;
      while (session_.next_expired(now_, expired)) ++ended_;
      session_.keep_alive(now_);
      if (argument == 31) session_.say_goodbye();
    } else {
      send();
    }
  }

  void receive() {
    const Bytes size = take(2);
    if (size.size() < 2) return;
    const auto text = take(std::to_integer<std::size_t>(size[0]) * 16 + std::to_integer<std::size_t>(size[1]));
    Inbound inbound;
    over_ = session_.receive(now_, text, inbound) != Refusal::kNone;
    check(inbound.body.size() <= kLimits.body.inflated, "bodies are bounded");
    if (inbound.kind == Inbound::Kind::kRequest) serving_ = inbound.id;
    if (inbound.kind == Inbound::Kind::kResponse) ++ended_;
  }

  void send() {
    std::vector<std::byte> out(kMaxStreamText);
    const std::size_t size = session_.next_frame(now_, out);
    if (size == 0) return;
    Inbound inbound;
    check(peer_.receive(now_, Bytes(out).first(size), inbound) == Refusal::kNone, "what is sent can be read");
  }

  Bytes in_;
  Instant now_;
  Session session_{kLimits, 8, Instant()};
  Session peer_{SessionLimits(), 8, Instant()};
  RequestId last_ = 0;
  RequestId serving_ = 0;
  std::size_t asked_ = 0;
  std::size_t ended_ = 0;
  bool over_ = false;
};

}  // namespace
}  // namespace bellwether::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  bellwether::wire::Run(std::as_bytes(std::span(data, size))).all();
  return 0;
}
