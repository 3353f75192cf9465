// Letters and their answers as bytes. What is encoded by any version is decoded by any other: fields that are not known
// are ignored, those that are not there are zero or empty.
//
// Texts for people are made fit on both sides (fit_text() of parts.h), and a share that ended before its clock began
// has run for nothing. Everything else arrives as it was sent, or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/message/message.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::dispatch {

inline constexpr std::size_t kMostLetterBytes = std::size_t{20} << 20;
inline constexpr std::size_t kMostResponseBytes = std::size_t{96} << 20;

// Names, ids, fences, spans, counts and sizes have limits (letters_codec.cc), and nothing is told of one share twice.
// Bundles and windows are not looked into.
// A refusal of a kind that is not known is kUnavailable: what is kept back may be wanted later.

}  // namespace bellwether::dispatch

namespace bellwether::message {
template <>
const Message& message_of<dispatch::Letter>();
template <>
const Message& message_of<dispatch::Response>();
}  // namespace bellwether::message

namespace bellwether::dispatch {

std::string encode(const Letter& letter);
std::string encode(const Response& response);
Result<Letter> decode_letter(std::string_view bytes);
Result<Response> decode_response(std::string_view bytes);

}  // namespace bellwether::dispatch
