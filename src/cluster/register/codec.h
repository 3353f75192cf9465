// The messages and records of registers as bytes: message::encode() and message::decode<T>(), which refuses values out
// of their limits (core/message/message.h). An invalid record is kInvalid, all else kProtocol.
#pragma once

#include "cluster/register/large.h"
#include "cluster/register/small.h"
#include "core/message/message.h"

namespace bellwether::message {

extern template const Message& message_of<registers::Message>();
extern template const Message& message_of<registers::Request>();
extern template const Message& message_of<registers::Response>();
extern template const Message& message_of<registers::RegisterRecord>();
extern template const Message& message_of<registers::ReplicaSet>();
extern template const Message& message_of<blobs::Asked>();
extern template const Message& message_of<blobs::Answer>();
extern template const Message& message_of<blobs::BlobRecord>();

}  // namespace bellwether::message
