// Letters and their answers as bytes (proto/dispatch.proto). What is encoded by any version is decoded by any other:
// fields that are not known are ignored, those that are not there are zero or empty.
//
// Texts for people are made fit on both sides (fit_text() of field_reader.h), and a share that ended before its clock
// began has run for nothing. Everything else arrives as it was sent, or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dispatch/letters.h"

namespace bellwether::dispatch {

inline constexpr std::size_t kMostLetterBytes = std::size_t{20} << 20;
inline constexpr std::size_t kMostResponseBytes = std::size_t{96} << 20;

std::string encode(const Letter& letter);
std::string encode(const Response& response);

// kProtocol says what is missing or out of its bounds: names, ids, fences, spans, counts, sizes; the same share twice.
// kUnsupported: a letter of a kind that is not known. Bundles and windows are not looked into.
Result<Letter> decode_letter(std::string_view bytes);
// A refusal of a kind that is not known is kUnavailable: what is kept back may be wanted later.
Result<Response> decode_response(std::string_view bytes);

}  // namespace bellwether::dispatch
