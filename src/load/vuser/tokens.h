// The access tokens of one load thread (RFC 6749, section 4.4): requested before the load begins, and renewed before
// they expire. Their requests are no part of the load, and are not counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/callback.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/http1/client.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/runtime.h"
#include "load/plan/plan.h"
#include "load/vuser/prepared_step.h"

namespace bellwether::vuser {

// A value that may change at any moment. A coroutine that waits for the change beside other events sleeps with now(),
// which the next change cancels; it serves that wait only.
class Change {
 public:
  explicit Change(runtime::Cancellation* parent)
      : parent_(parent), now_(std::make_unique<runtime::Cancellation>(parent)) {}
  runtime::Cancellation* now() const { return now_.get(); }
  void tell() {
    const auto before = std::exchange(now_, std::make_unique<runtime::Cancellation>(parent_));
    before->cancel();
  }

 private:
  runtime::Cancellation* parent_;  // the end of all waiting
  std::unique_ptr<runtime::Cancellation> now_;
};

// The answer of a token server.
struct TokenAnswer {
  std::string token;
  std::optional<Duration> good_for;  // empty: the server does not say; the token never expires
};
// Reads the JSON in its body (sections 5.1 and 5.2). kRefused: an error, in the server's words; kProtocol: no valid
// answer.
Result<TokenAnswer> read_token(int status, std::string_view body);

class Tokens {
 public:
  // Why a token could not be renewed.
  using Note = Callback<void(std::string_view who, std::string_view text)>;
  // All must outlive it.
  Tokens(runtime::Runtime& runtime, const plan::Plan& plan, http1::Client& client, Note note);
  ~Tokens();

  // From now on this token is needed: an index into Plan::tokens.
  void want(uint16_t token);
  // Requests all needed tokens. An error names the refused one, with the reason: transient failures were repeated a few
  // times, for kMaxAsk together.
  runtime::task<Status> obtain();
  static constexpr Duration kMaxAsk = Duration::seconds(10);
  // Keeps them valid until `cancel`.
  runtime::task<void> renew(runtime::Cancellation* cancel);

  // By index; an empty one was never obtained. They stay in place.
  std::span<const std::string> values() const { return values_; }
  bool is_valid(uint16_t token) const;
  // Waits until the current or the next attempt to renew it has ended. False: it is not valid then, or no attempt had
  // ended by `deadline`.
  runtime::task<bool> wait(uint16_t token, Instant deadline, runtime::Cancellation* cancel);

 private:
  struct One;
  runtime::task<Status> ask(One& one, Instant deadline, runtime::Cancellation* cancel);
  runtime::task<Status> ask_patiently(One& one);
  runtime::task<void> renew_one(One& one, runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  const plan::Plan& plan_;
  http1::Client& client_;
  Note note_;
  std::vector<std::string> values_;
  std::vector<std::unique_ptr<One>> all_;  // by index; null: not wanted
};

}  // namespace bellwether::vuser
