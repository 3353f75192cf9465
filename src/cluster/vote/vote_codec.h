// The messages of a scored vote, and the record that its nodes keep, as bytes (core/message/describe.h).
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/message/message.h"
#include "election/vote/vote_events.h"
#include "election/vote/vote_messages.h"

namespace bellwether::message {
template <>
const Message& message_of<vote::Message>();
template <>
const Message& message_of<vote::Record>();
}  // namespace bellwether::message

namespace bellwether::cluster {

std::string encode_vote_message(const vote::Message& message);
// kProtocol, with what is missing or out of its bounds: times that cannot be, more voters or capabilities than there
// may be, a trigger that there is not. kUnsupported: of a kind that is not known.
Result<vote::Message> decode_vote_message(std::string_view bytes);

std::string encode_vote_record(const vote::Record& record);
// kInvalid: it is not what was written.
Result<vote::Record> decode_vote_record(std::string_view bytes);

}  // namespace bellwether::cluster
