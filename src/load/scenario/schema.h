// The table of keys as JSON Schema, draft 7, for editors: docs/formats/scenario.schema.json.
#pragma once

#include <string>

namespace bellwether::scenario {

// It takes every file that the reader takes. It refuses unknown keys, missing ones, values of the wrong kind, and keys
// that the executor named in the file does not have. Only the reader resolves names. Ends with a line break.
std::string schema_text();

}  // namespace bellwether::scenario
