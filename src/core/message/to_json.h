// Messages as JSON, by their descriptions (describe.h), for people and their scripts. A new field of a description
// appears without further code.
#pragma once

#include <string>

#include "core/message/message.h"

namespace bellwether::message {

// An object in one line, with all fields by their names. An absent field is null; of alternatives it holds only the
// present one. Spans are whole milliseconds (`age_ms`), wall times are texts ("-": never), enumerations words where
// they have any, and bytes hexadecimal. Bytes that are not UTF-8 in a text are replaced.
std::string to_json(const Message& message, const void* from);

template <class T>
std::string to_json(const T& value) {
  return to_json(message_of<T>(), &value);
}

}  // namespace bellwether::message
