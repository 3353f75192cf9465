// Messages as bytes and as JSON, by their descriptions (describe.h). One interpreter walks over the fields of all of
// them, so that a message costs the compiler a table and no further code.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::message {

struct Field;
struct Message;

// Each described struct has one. A header that offers a message to other sources declares
//   extern template const message::Message& message::message_of<Begin>();
// and the source that describes it (describe.h) has the same line without `extern`.
template <class T>
const Message& message_of();

// Leaves out fields that are zero or empty. It writes values beyond a limit too, and the reader refuses them; only
// texts that are to be fit or cut are changed.
std::string encode(const Message& message, const void* from);
// Into a fresh value. The error names the message, the field, the value found and the limit, with the code of the
// message. kUnsupported: none of its alternatives is known. kTooLarge: the whole is too long.
Status decode(const Message& message, std::string_view bytes, void* to);
// The first limit that a value breaks, as decode() would say it.
Status check_limits(const Message& message, const void* value);

template <class T>
std::string encode(const T& value) {
  return encode(message_of<T>(), &value);
}
template <class T>
Result<T> decode(std::string_view bytes) {
  T out{};
  BW_RETURN_IF_ERROR(decode(message_of<T>(), bytes, &out));
  return out;
}

// Which alternative (Field::alternative) the bytes of a message hold, without reading it. Only outermost fields are
// looked at. Null: none that is known, or more than one, of which a reader would take the last.
const Field* alternative_in(const Message& message, std::string_view bytes);

// For people and their scripts; a new field of a description appears without further code. An object in one line, with
// all fields by their names. An absent field is null; of alternatives it holds only the present one. Spans are whole
// milliseconds (`age_ms`), wall times are texts ("-": never), enumerations words where they have any, and bytes
// hexadecimal. Bytes that are not UTF-8 in a text are replaced.
std::string to_json(const Message& message, const void* from);

template <class T>
std::string to_json(const T& value) {
  return to_json(message_of<T>(), &value);
}

}  // namespace bellwether::message
