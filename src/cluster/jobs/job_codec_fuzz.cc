// Bytes as messages about jobs, and as the record of one: whatever decodes survives being encoded and decoded again,
// and those who keep jobs and own them take it without harm.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "cluster/jobs/job_codec.h"
#include "cluster/jobs/job_content.h"
#include "dispatch/job_owner.h"

namespace bellwether::jobs {
namespace {

using dispatch::MemberId;

dispatch::JobOwner owner() {
  dispatch::JobOwnerConfig config;
  config.key = "job";
  config.self = MemberId(1);
  config.peers = {MemberId(1), MemberId(2), MemberId(3)};
  return dispatch::JobOwner(std::move(config), 1);
}

// An acceptor whose disk is always done at once, and an owner who asks nobody: each message is for one of them.
class Receiver {
 public:
  Receiver() : owner_(owner()) {
    dispatch::AcceptorEffects effects;
    acceptor_.step(now_, dispatch::AcceptorStart{}, effects);
    tell(dispatch::TakeJob{});
  }
  void take(const Message& message, MemberId from) {
    now_ += Duration::millis(100);
    if (const auto* ask = std::get_if<dispatch::Ask>(&message.body)) {
      dispatch::AcceptorEffects effects;
      acceptor_.step(now_, dispatch::Asked{from, *ask}, effects);
      for (std::size_t i = 0; i < effects.size(); ++i) {
        const auto* keep = std::get_if<dispatch::KeepJob>(&effects[i]);
        if (keep == nullptr) continue;
        const auto kept = decode_record(encode_record(keep->record));
        check(kept.has_value() && *kept == keep->record, "whatever is kept can be read again");
        acceptor_.step(now_, dispatch::JobKept{keep->number, true}, effects);
      }
    } else if (const auto* answer = std::get_if<dispatch::Answer>(&message.body)) {
      tell(dispatch::JobAnswered{from, *answer});
    } else if (std::holds_alternative<Freed>(message.body)) {
      tell(dispatch::JobFreed{});
    }
    tell(dispatch::JobTick{});
  }

 private:
  void tell(const dispatch::OwnerEvent& event) {
    dispatch::OwnerEffects effects;
    owner_.step(now_, event, effects);
    for (const dispatch::OwnerEffect& effect : effects) {
      const auto* sending = std::get_if<dispatch::SendAsk>(&effect);
      if (sending != nullptr)
        check(decode_message(encode_message({1, sending->ask})).has_value(), "questions are good");
    }
  }
  Instant now_ = Instant::from_ns(1);
  dispatch::JobAcceptor acceptor_{dispatch::JobAcceptorConfig{}};
  dispatch::JobOwner owner_;
};

}  // namespace
}  // namespace bellwether::jobs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::jobs;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  if (const auto record = decode_record(rest)) {
    const auto again = decode_record(encode_record(*record));
    check(again.has_value() && *again == *record, "a record survives");
    static_cast<void>(parse_content(record->value));
  }
  // Messages one after the other, each with its length and its sender before it.
  Receiver receiver;
  while (rest.size() >= 2) {
    const std::size_t length = std::min<std::size_t>(static_cast<uint8_t>(rest[0]), rest.size() - 2);
    const MemberId from(static_cast<uint8_t>(rest[1]) % 4 + 1);
    const std::string_view bytes = rest.substr(2, length);
    rest.remove_prefix(2 + length);
    const auto message = decode_message(bytes);
    if (!message) continue;
    const std::string encoded = encode_message(*message);
    const auto again = decode_message(encoded);
    check(again.has_value() && encode_message(*again) == encoded, "a message survives");
    receiver.take(*message, from);
  }
  return 0;
}
