// What is said about registers of jobs, and the record that is kept of each, as bytes (proto/jobs.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "dispatch/job_acceptor.h"

namespace bellwether::jobs {

// Who was refused because of a lease hears that it was given back.
struct Freed {
  std::string key;
};
// Nothing will be promised or accepted by the one who says it.
struct Unable {
  std::string key;
  std::string why;  // for people; at most kMostWhyBytes are kept
};
// The register of a retired job goes away.
struct Gone {
  std::string key;
  dispatch::JobFence fence;  // under which it was retired
};

inline constexpr std::size_t kMostWhyBytes = 256;

struct Message {
  uint64_t peers = 0;  // hash of those who keep the registers, as the sender was told
  std::variant<dispatch::Ask, dispatch::Answer, Freed, Unable, Gone> body;
};

std::string encode_message(const Message& message);
// kProtocol, with what is missing or out of its bounds: keys, values, spans, fences. Fields that are not known are
// ignored; kUnsupported for a kind that is not known.
Result<Message> decode_message(std::string_view bytes);

std::string encode_record(const dispatch::JobRecord& record);
// kInvalid: it is not what was written.
Result<dispatch::JobRecord> decode_record(std::string_view bytes);

}  // namespace bellwether::jobs
