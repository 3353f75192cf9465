// What `bellwether results` prints of stored runs.
#pragma once

#include <string>

#include "report/result_file.h"
#include "results/store.h"

namespace bellwether::cli {

std::string json_of(const results::Run& run);
// The verdict, sums, and a table of the steps.
std::string text_of(const report::ResultFile& run);

}  // namespace bellwether::cli
