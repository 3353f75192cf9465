// The messages of an elected group, and the record that its members keep, as bytes (core/message/describe.h).
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/message/message.h"
#include "election/quorum/quorum_events.h"
#include "election/quorum/quorum_messages.h"

namespace bellwether::message {
template <>
const Message& message_of<quorum::Message>();
template <>
const Message& message_of<quorum::Record>();
}  // namespace bellwether::message

namespace bellwether::cluster {

std::string encode_message(const quorum::Message& message);
// kProtocol, with what is missing or out of its bounds: a span that is negative or longer than any lease, more members
// than there may be, members out of order.
Result<quorum::Message> decode_message(std::string_view bytes);

std::string encode_record(const quorum::Record& record);
// kInvalid: it is not what was written.
Result<quorum::Record> decode_record(std::string_view bytes);

}  // namespace bellwether::cluster
