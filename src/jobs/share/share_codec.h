// Messages between a worker and a share's child as bytes: the payloads of frames (cluster/wire/frame.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/message/message.h"
#include "jobs/share/share_order.h"

namespace bellwether::node {

// Of one frame, either way: the largest bundle or window, and what stands around it.
inline constexpr std::size_t kMostShareFrame = (std::size_t{16} << 20) + (128 << 10);

}  // namespace bellwether::node

namespace bellwether::message {
template <>
const Message& message_of<node::ToChild>();
template <>
const Message& message_of<node::FromChild>();
}  // namespace bellwether::message

namespace bellwether::node {

std::string encode(const ToChild& message);
std::string encode(const FromChild& message);

// kProtocol for what is no such message, or has figures that cannot be. Windows are not looked into.
Result<ToChild> decode_to_child(std::string_view bytes);
Result<FromChild> decode_from_child(std::string_view bytes);

}  // namespace bellwether::node
