// The words of registers as bytes, and what is kept of each: message::encode() and message::decode<T>(), which refuses
// what is out of its limits (core/message/message.h). A record that is none is kInvalid, all else kProtocol.
#pragma once

#include "cluster/register/large.h"
#include "cluster/register/small.h"
#include "core/message/message.h"

namespace bellwether::message {

template <>
const Message& message_of<registers::Message>();
template <>
const Message& message_of<registers::JobRecord>();
template <>
const Message& message_of<copies::Asked>();
template <>
const Message& message_of<copies::Answer>();
template <>
const Message& message_of<copies::CopyRecord>();

}  // namespace bellwether::message
