// Text for people. Columns line up in every script, colour is optional, and no outside text can steer a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fmt/core.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "load/plan/finding.h"
#include "load/plan/plan.h"
#include "load/report/result_file.h"

namespace bellwether::report {

// "12.34%", "0.00%", "<0.01%"; 0.00% always means none and 100.00% all. "-" when `whole` is 0.
std::string percent(uint64_t part, uint64_t whole);
// The same of a part of 0..1 that is not none.
std::string ratio_text(double part);
// "from 1s to 4s, 25.00% of the load: worker 'w1' was lost" for each loss. Equal ones are one: "2 times 25.00% of …".
std::vector<std::string> loss_texts(const std::vector<plan::Loss>& losses);
// "1,234.5": two decimals under 10, one under 1,000, none above.
std::string decimal(double value);

// Columns a terminal needs for UTF-8 text without escape codes.
std::size_t width_of(std::string_view text);
std::string pad_left(std::string text, std::size_t width);
std::string pad_right(std::string text, std::size_t width);
// Cut to `width` columns with … at its end when longer. Keeps whole characters.
std::string shorten(std::string_view text, std::size_t width);
// Broken at spaces into lines of at most `width` columns; a longer word stands alone. Spaces within a line stay.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

enum class Style : uint8_t { kPlain, kBold, kDim, kGood, kBad, kWarn };
std::string styled(std::string_view text, Style style, bool color);

// Rows as lines: the first column to the left, all others to the right, two spaces between. Rows may be shorter than
// others; a row of one cell is one line and widens no column. The first column is cut where the lines would be wider
// than `width`. REQUIRES no empty row.
std::vector<std::string> columns(const std::vector<std::vector<std::string>>& rows, std::size_t width = 1000);

inline constexpr std::size_t kMinName = 12;  // columns of a name that a table cuts

// A page of text that is being written, without a line that is wider than it.
class Page {
 public:
  Page(std::size_t width, bool color) : color_(color), width_(width) {}

  void heading(std::string_view title, std::string_view note = {});
  void line(std::string_view text) { text_ += fmt::format("  {}\n", text); }
  // At most as wide as the page: continued under its own beginning, `indent` columns further in.
  void wrapped(std::string_view first, std::string_view text, std::size_t indent);
  // Side by side with two spaces between, continued like wrapped().
  void flow(std::string_view first, const std::vector<std::string>& items, std::size_t indent,
            Style look = Style::kPlain);
  // As columns(). A page too narrow for them has the cells of a row side by side, each with the head of its column.
  void rows(const std::vector<std::vector<std::string>>& rows);
  std::string style(std::string_view text, Style style) const { return styled(text, style, color_); }
  std::size_t width() const { return width_; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool color_;
  std::size_t width_;
};

// Text from outside within XML and HTML.

// For elements and for attributes in double or single quotes. Text that XML 1.0 forbids (control characters, bytes that
// are not UTF-8) becomes U+FFFD.
std::string escaped(std::string_view text);

// The values of thresholds and metrics as people read them.

// Of a metric of the scenario's own.
std::string metric_value_text(const plan::CustomMetric& metric, plan::Aggregation aggregation, double value);

// Of one in a result file: "total, EUR"; and all its figures, "count 10, avg 12.5 EUR".
std::string title_text(const ResultMetric& metric);
std::string figures_text(const ResultMetric& metric);

// Its requests were not sent, so that it is a lower bound of zero.
bool says_nothing(const metrics::ResponseFigure& figure);
// "4.50ms"; "≥4.50ms" of a lower bound, "-" of one that says nothing.
std::string figure_text(const metrics::ResponseFigure& figure);

// A table of response times: its head, and a row of figures.
inline const std::vector<std::string> kLatencyHead{"", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"};
inline constexpr std::string_view kServiceRow = "  service";
std::vector<std::string> latency_row(std::string_view name, const metrics::ResponseTimes& times);
// The times that such rows have.
std::string latency_note(const std::vector<std::vector<std::string>>& rows);

// A table of tags: its head, and the row of the steps with one of them. A page has the first kTagsShown.
inline constexpr std::size_t kTagsShown = 24;
inline constexpr std::string_view kTagNote = "of all steps with the tag; times: http_req_duration";
inline const std::vector<std::string> kTagHead{"", "requests", "rate", "failed", "p50", "p95", "p99", "max"};
std::vector<std::string> tag_row(std::string name, uint64_t count, uint64_t failed, double rate_per_s,
                                 const metrics::ResponseTimes& times);

// The meaning of an error, from the name of its kind; empty for an unknown one.
std::string_view error_meaning(std::string_view kind);

// "98 passed, 2 failed (2.00%)"
std::string check_text(uint64_t passes, uint64_t fails);

// Why the times of closed workflows lack the waits of a stall. `workflows`: their names.
std::string closed_model_note(std::string_view workflows);

// The unit of the value and of the limit of a threshold: "ms", "fraction" (0 to 1), "per_s", "count", or that of a
// metric of the scenario's own.
std::string unit_of(const plan::Plan& plan, const plan::Threshold& threshold);

// In the unit that its metric has for people: "4.50ms", "0.02%", "1,234.5/s", "17". `value` as aggregate gives it:
// durations in ms, rates 0..1.
std::string threshold_value(const plan::Plan& plan, const plan::Threshold& threshold, double value);
// The same of one in a result file; "no samples" without a value.
std::string threshold_value(const ResultThreshold& threshold);

}  // namespace bellwether::report
