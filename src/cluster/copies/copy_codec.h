// What is said about copies, and the record that is kept of each, as bytes (proto/copies.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/copies/copy.h"

namespace bellwether::copies {

struct Asked {
  uint64_t peers = 0;  // hash of those who keep copies, as the sender was told
  Question question;
};

std::string encode_question(const Asked& asked);
// kProtocol, with what is missing or out of its bounds; kUnsupported for a kind that is not known.
Result<Asked> decode_question(std::string_view bytes);

std::string encode_answer(const Answer& answer);
// kProtocol. A verdict that is not known is kUnable.
Result<Answer> decode_answer(std::string_view bytes);

struct CopyRecord {
  CopyKey key;
  CopyHead head;
  uint64_t slot = 0;
  bool operator==(const CopyRecord&) const = default;
};
std::string encode_record(const CopyRecord& record);
// kInvalid: it is not what was written.
Result<CopyRecord> decode_record(std::string_view bytes);

}  // namespace bellwether::copies
