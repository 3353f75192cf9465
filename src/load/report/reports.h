// The reports of a run. Each is one text.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/report/result_file.h"
#include "load/report/run_report.h"

namespace bellwether::report {

// The summary for a person at the end of a run: thresholds and checks, requests and their times, errors with remedies,
// the state of the generator, and the verdict as the last line.
struct SummaryOptions {
  bool color = false;  // ANSI colours; without them, the text has no escape code
  int width = 100;     // columns to stay within; less than 60 counts as 60
};

std::string summary(const RunReport& run, const SummaryOptions& options = {});

// Comma-separated values (RFC 4180): one table with a header. The first column names the kind of its row;
// docs/formats/reports.md explains the columns. "run" first, then one "step" each, then the series with one "second"
// each. Lines end with CR LF; a cell that does not apply is empty. Text that a spreadsheet would take for a formula
// gets an apostrophe before it.
std::string to_csv(const ResultFile& run);

// The distribution of response times as percentile text, the form that HdrHistogram's outputPercentileDistribution
// writes and its plotter reads (https://hdrhistogram.github.io/HdrHistogram/plotFiles.html). Milliseconds, five lines
// for each halving of the rest to 100 %.
std::string percentile_text(const metrics::Histogram& histogram);

// The response times of one step, or of all with an empty name. kNotFound, with the nearest name: no such step.
Result<std::string> to_hdr(const ResultFile& run, std::string_view step);

// A run as one self-contained HTML page, without scripts, fonts or pictures from elsewhere. Light or dark like its
// reader's system; readable on a phone and on paper. UTF-8. Text of a scenario or a server is escaped, and the page
// forbids itself any request. A run of an hour with 50 steps makes well under 1 MB: a chart has at most kMaxColumns
// columns (load/report/chart.h).
std::string to_html(const ResultFile& run);

// The result file: one JSON document a run, format "bellwether.result/1". docs/formats/result.md explains it,
// docs/formats/result.schema.json is its schema.
// The document, indented, with a line feed at its end. Bytes that are not UTF-8 (in names a user gave) are replaced.
std::string to_json(const RunReport& run);

// A run as a JUnit report, which systems of continuous integration show beside the tests of a program: the verdict,
// each threshold and each check as a test case. XML as the schema of the Jenkins xUnit plugin has it (testsuites,
// testsuite, testcase, failure, error), UTF-8. A failed threshold or check is a failure. One without a judgement, for
// want of samples or because a part of the run was lost, is an error.
std::string to_junit(const ResultFile& run);

}  // namespace bellwether::report
