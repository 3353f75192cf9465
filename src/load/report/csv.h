// A run as comma-separated values (RFC 4180): one table with a header, in which each row says in its first column what
// it is of. docs/formats/reports.md explains the columns.
#pragma once

#include <string>

#include "load/report/result_file.h"

namespace bellwether::report {

// "run" first, then one "step" each, then the series with one "second" each. Lines end with CR LF; a cell that does not
// apply is empty. Text that a spreadsheet would take for a formula gets an apostrophe before it.
std::string to_csv(const ResultFile& run);

}  // namespace bellwether::report
