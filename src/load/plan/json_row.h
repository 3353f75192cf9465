// Values of JSON documents (RFC 8259) that lie in memory one after the other: where one ends, and what is in it at a
// path. Any bytes at all can be read without harm. The syntax
// is checked, the encoding of texts is not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "load/plan/plan.h"

namespace bellwether::plan {

// Moves `at` behind white space.
void skip_json_space(std::string_view text, std::size_t& at);

// Moves `at` behind the value that begins there. Otherwise says what is wrong, with `at` at the place. Values nest at
// most 64 levels deep.
const char* skip_json(std::string_view text, std::size_t& at);

// Appends the value at `path` of the value with which `text` begins: a text without quotes, all else as it stands
// there. False: there is none.
bool find_json(std::string_view text, const JsonPath& path, std::string& out);

// The names of the members of the object with which `text` begins, as written, at most `most`.
std::vector<std::string> members_of(std::string_view text, std::size_t most);

}  // namespace bellwether::plan
