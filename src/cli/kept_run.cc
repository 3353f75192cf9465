#include "cli/kept_run.h"

#include <cstdio>

#include "core/base/printable.h"
#include "load/report/json.h"

namespace bellwether::cli {

void keep(results::Recorder& recorder, const report::RunReport& report) {
  const results::Limits limits;
  const auto outcome = recorder.end(report::to_json(report), std::string(aggregate::to_string(report.verdict.outcome)),
                                    report.verdict.exit_code, limits);
  if (!outcome.problem.empty()) {
    std::fprintf(stderr, "warning: the run was not stored as it should be: %s. --no-store runs without.\n",
                 outcome.problem.c_str());
  }
  if (outcome.removed > 0) {
    std::fprintf(stderr, "The oldest stored runs were deleted: %zu. At most %llu are kept, of %llu MiB together.\n",
                 outcome.removed, static_cast<unsigned long long>(limits.runs),
                 static_cast<unsigned long long>(limits.bytes >> 20U));
  }
}

}  // namespace bellwether::cli
