// The table of keys as JSON Schema, draft 7, which is what editors understand: docs/formats/scenario.schema.json.
#pragma once

#include <string>

namespace bellwether::scenario {

// It takes every file that the reader takes, and refuses unknown keys, missing ones, values of the wrong kind, and keys
// that the executor named in the file does not have. What names refer to only the reader knows. Ends with a line break.
std::string schema_text();

}  // namespace bellwether::scenario
