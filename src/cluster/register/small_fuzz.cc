// Bytes as messages about registers, and as the record of one: replicas and owners take everything that decodes without
// harm. Another encoding of it is tested in src/sim/datacenter/messages_fuzz.cc.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "cluster/register/acceptor.h"
#include "cluster/register/codec.h"
#include "cluster/register/owner.h"
#include "cluster/register/small.h"
#include "core/base/check.h"

namespace bellwether::registers {
namespace {

JobOwner owner() {
  JobOwnerConfig config;
  config.key = "job";
  config.self = MemberId(1);
  config.replicas.old = {MemberId(1), MemberId(2), MemberId(3)};
  return JobOwner(std::move(config), 1);
}

// An acceptor whose disk is always done at once, and an owner without peers: each message is for one of them.
class Receiver {
 public:
  Receiver() : owner_(owner()) {
    AcceptorEffects effects;
    acceptor_.step(now_, AcceptorStart{}, effects);
    tell(TakeJob{});
  }
  void take(const Message& message, MemberId from) {
    now_ += Duration::millis(100);
    if (const auto* ask = std::get_if<Ask>(&message.body)) {
      AcceptorEffects effects;
      acceptor_.step(now_, Asked{from, *ask}, effects);
      for (std::size_t i = 0; i < effects.size(); ++i) {
        const auto* keep = std::get_if<KeepJob>(&effects[i]);
        if (keep == nullptr) continue;
        const auto kept = message::decode<RegisterRecord>(message::encode(keep->record));
        check(kept.has_value() && *kept == keep->record, "whatever is kept can be read again");
        acceptor_.step(now_, JobKept{keep->number, true}, effects);
      }
    } else if (const auto* answer = std::get_if<Answer>(&message.body)) {
      tell(JobAnswered{from, *answer});
    } else if (std::holds_alternative<Freed>(message.body)) {
      tell(JobFreed{});
    }
    tell(JobTick{});
  }

 private:
  void tell(const OwnerEvent& event) {
    OwnerEffects effects;
    owner_.step(now_, event, effects);
    for (const OwnerEffect& effect : effects) {
      const auto* sending = std::get_if<SendAsk>(&effect);
      if (sending != nullptr)
        check(message::decode<Message>(message::encode(Message{1, 1, sending->ask})).has_value(), "questions are good");
    }
  }
  Instant now_ = Instant::from_ns(1);
  JobAcceptor acceptor_{JobAcceptorConfig{}};
  JobOwner owner_;
};

}  // namespace
}  // namespace bellwether::registers

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::registers;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  if (const auto record = message::decode<RegisterRecord>(rest)) {
    static_cast<void>(parse_content(record->value));
  }
  // Messages one after the other, each with its length and its sender before it.
  Receiver receiver;
  while (rest.size() >= 2) {
    const std::size_t length = std::min<std::size_t>(static_cast<uint8_t>(rest[0]), rest.size() - 2);
    const MemberId from(static_cast<uint8_t>(rest[1]) % 4 + 1);
    const std::string_view bytes = rest.substr(2, length);
    rest.remove_prefix(2 + length);
    const auto message = message::decode<Message>(bytes);
    if (!message) continue;
    receiver.take(*message, from);
  }
  return 0;
}
