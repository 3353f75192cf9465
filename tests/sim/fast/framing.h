// Messages over a stream: four bytes of length, then as many bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/runtime/runtime.h"

namespace bellwether::sim {

// The next message. Nothing when the peer finished, something broke, or none came within `patience`.
runtime::task<std::optional<std::string>> read_message(runtime::Runtime& runtime, runtime::Stream& stream,
                                                       Duration patience);
// False when it did not go out.
runtime::task<bool> write_message(runtime::Runtime& runtime, runtime::Stream& stream, std::string message,
                                  Duration patience);

// Numbers in messages and files: eight bytes each.
void put_number(std::string& text, uint64_t number);
// REQUIRES that the text is long enough.
uint64_t number_at(std::string_view text, std::size_t offset);

}  // namespace bellwether::sim
