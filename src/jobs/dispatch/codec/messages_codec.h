// Messages and their answers as bytes. Any version decodes the bytes of any other: it ignores unknown fields, and
// missing ones are zero or empty. Pure.
//
// Both sides make texts for people fit (fit_text() of parts.h), and an assignment that ended before its clock began has
// run for zero time. Everything else arrives as sent, or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/message/message.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::dispatch {

inline constexpr std::size_t kMaxMessageBytes = std::size_t{20} << 20;
inline constexpr std::size_t kMaxResponseBytes = std::size_t{96} << 20;

// Names, ids, fences, spans, counts and sizes have limits (messages_codec.cc), and a message names an assignment once.
// The codec does not inspect bundles and windows. It reads a refusal of an unknown kind as kUnavailable, so that the
// sender may retry.

}  // namespace bellwether::dispatch

namespace bellwether::message {
extern template const Message& message_of<dispatch::JobMessage>();
extern template const Message& message_of<dispatch::Response>();
}  // namespace bellwether::message

namespace bellwether::dispatch {

std::string encode(const JobMessage& message);
std::string encode(const Response& response);
Result<JobMessage> decode_message(std::string_view bytes);
Result<Response> decode_response(std::string_view bytes);

}  // namespace bellwether::dispatch
