// Text as a result file: an accepted one can be made into every report.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "load/report/reports.h"
#include "load/report/result_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const auto run = report::read_result({reinterpret_cast<const char*>(data), size});
  if (!run) return 0;
  check(report::to_html(*run).ends_with("</html>\n"), "a page has an end");
  check(report::to_csv(*run).ends_with("\r\n"), "a table has an end");
  check(report::to_junit(*run).ends_with("</testsuites>\n"), "a report has an end");
  check(report::to_hdr(*run, "").has_value(), "all steps are some");
  return 0;
}
