// The result file: one JSON document a run, format "bellwether.result/1". docs/formats/result.md explains it,
// docs/formats/result.schema.json is its schema.
#pragma once

#include <string>

#include "load/report/run_report.h"

namespace bellwether::report {

// The document, indented, with a line feed at its end. Bytes that are not UTF-8 (in names a user gave) are replaced.
std::string to_json(const RunReport& run);

}  // namespace bellwether::report
