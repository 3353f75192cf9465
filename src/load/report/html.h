// A run as one HTML page that needs nothing else: no script, font or picture from elsewhere. Light or dark as its
// reader's system is; readable on a phone and on paper.
#pragma once

#include <string>

#include "load/report/result_file.h"

namespace bellwether::report {

// UTF-8. Everything that came from a scenario or a server is escaped, and the page forbids itself any request. A run of
// an hour with 50 steps makes well under 1 MB: a chart has at most kMostColumns columns (load/report/chart.h).
std::string to_html(const ResultFile& run);

}  // namespace bellwether::report
