// The parts of the end-of-run summary. Each function adds one section, or nothing when it has nothing to say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/report/run_report.h"
#include "load/report/summary.h"
#include "load/report/text.h"

namespace bellwether::report {

// The text being written.
class Page {
 public:
  explicit Page(const SummaryOptions& options);

  void heading(std::string_view title, std::string_view note = {});
  void line(std::string_view text) { text_ += "  " + std::string(text) + "\n"; }
  // At most as wide as the page: continued under its own beginning, `indent` columns further in.
  void wrapped(std::string_view first, std::string_view text, std::size_t indent);
  void rows(const std::vector<std::vector<std::string>>& rows);
  std::string style(std::string_view text, Style style) const { return styled(text, style, color_); }
  std::size_t width() const { return width_; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool color_;
  std::size_t width_;
};

// Whether a step's requests are due at a time of their own, so that what was not asked in time counts too: those of
// arrivals, and of users with a pace.
bool has_due_times(const plan::Plan& plan, const plan::StepInfo& step);

void write_requests(Page& page, const RunReport& run);
void write_iterations(Page& page, const RunReport& run);
void write_metrics(Page& page, const RunReport& run);
void write_latencies(Page& page, const RunReport& run);
void write_distribution(Page& page, const RunReport& run);
void write_phases(Page& page, const RunReport& run);
void write_statuses(Page& page, const RunReport& run);
void write_errors(Page& page, const RunReport& run);
void write_workers(Page& page, const RunReport& run);
void write_notes(Page& page, const RunReport& run);
void write_losses(Page& page, const RunReport& run);

}  // namespace bellwether::report
