// The messages and records of registers as bytes: message::encode() and message::decode<T>(), which refuses values out
// of their limits (core/message/message.h). An invalid record is kInvalid, all else kProtocol.
#pragma once

#include "cluster/register/large.h"
#include "cluster/register/small.h"
#include "core/message/message.h"

namespace bellwether::message {

template <>
const Message& message_of<registers::Message>();
template <>
const Message& message_of<registers::Request>();
template <>
const Message& message_of<registers::Response>();
template <>
const Message& message_of<registers::RegisterRecord>();
template <>
const Message& message_of<registers::ReplicaSet>();
template <>
const Message& message_of<blobs::Asked>();
template <>
const Message& message_of<blobs::Answer>();
template <>
const Message& message_of<blobs::BlobRecord>();

}  // namespace bellwether::message
