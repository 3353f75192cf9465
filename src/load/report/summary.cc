#include "load/report/summary.h"

#include <algorithm>
#include <cmath>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/base/wall_text.h"
#include "load/report/summary_page.h"
#include "load/report/threshold_text.h"

namespace bellwether::report {
namespace {

using aggregate::Outcome;

void write_head(Page& page, const RunReport& run) {
  const std::string facts = "  " + format_wall(run.started_at) + "  " + format_duration(run.elapsed) + "  " +
                            format_count(static_cast<uint64_t>(run.generator.cores), "core") + "  run " +
                            printable(run.run_id);
  const std::size_t space = page.width() - 2;
  const std::string name = shorten(printable(run.totals->plan().name), space - std::min(width_of(facts), space - 10));
  page.line(page.style(name, Style::kBold) + page.style(facts, Style::kDim));
}

void write_thresholds(Page& page, const RunReport& run) {
  if (run.thresholds.empty()) return;
  page.heading("THRESHOLDS");
  std::size_t width = 0;
  const auto text_of = [](const plan::Threshold& threshold) {
    return printable(threshold.metric_text + "  " + threshold.expression);
  };
  for (const plan::Threshold& threshold : run.totals->plan().thresholds) {
    width = std::max(width, width_of(text_of(threshold)));
  }
  width = std::min(width, page.width() - 20);
  for (std::size_t t = 0; t < run.thresholds.size(); ++t) {
    const plan::Threshold& threshold = run.totals->plan().thresholds[t];
    const aggregate::ThresholdResult& result = run.thresholds[t];
    page.line(page.style(result.ok ? "✓" : "✗", result.ok ? Style::kGood : Style::kBad) + " " +
              pad_right(shorten(text_of(threshold), width), width) + "  " +
              (result.no_samples() ? "no samples" : threshold_value(run.totals->plan(), threshold, *result.value)));
  }
}

void write_checks(Page& page, const RunReport& run) {
  const plan::Plan& plan = run.totals->plan();
  if (plan.checks.empty()) return;
  uint64_t passes = 0;
  uint64_t all = 0;
  for (const metrics::CheckCount& count : run.totals->sum().checks) {
    passes += count.passes;
    all += count.passes + count.fails;
  }
  page.heading("CHECKS", percent(passes, all) + " of " + format_count(all) + " passed");
  std::size_t width = 0;
  const auto text_of = [&](const plan::CheckInfo& info) {
    return printable(plan.steps[info.step].name + ": " + info.name);
  };
  for (const plan::CheckInfo& info : plan.checks) width = std::max(width, width_of(text_of(info)));
  width = std::min(width, page.width() - 45);
  for (std::size_t c = 0; c < plan.checks.size(); ++c) {
    const metrics::CheckCount& count = run.totals->sum().checks[c];
    std::string mark = page.style("✓", Style::kGood);
    std::string figures = format_count(count.passes) + " passed";
    if (count.fails > 0) {
      mark = page.style("✗", Style::kBad);
      figures +=
          ", " + format_count(count.fails) + " failed (" + percent(count.fails, count.passes + count.fails) + ")";
    } else if (count.passes == 0) {
      mark = "-";
      figures = "never reached";
    }
    page.line(mark + " " + pad_right(shorten(text_of(plan.checks[c]), width), width) + "  " + figures);
  }
}

void write_generator(Page& page, const RunReport& run) {
  const aggregate::Generator& generator = run.generator;
  page.heading("GENERATOR");
  page.line("CPU " + decimal(generator.cpu_cores) + " of " +
            format_count(static_cast<uint64_t>(generator.cores), "core") + ", event loop lag p99 " +
            format_duration(generator.loop_lag_p99));
  if (!generator.saturated()) return;
  page.wrapped(page.style("!", Style::kWarn) + " ",
               "The generator was a bottleneck: " + generator.saturation +
                   ". Latencies may include its own delay. What helps: " + generator.remedy + ".",
               2);
}

void write_verdict(Page& page, const RunReport& run) {
  std::string word(aggregate::to_string(run.verdict.outcome));
  for (char& c : word) c = static_cast<char>(c - 'a' + 'A');
  const Outcome outcome = run.verdict.outcome;
  const Style style = outcome == Outcome::kPass ? Style::kGood : outcome == Outcome::kFail ? Style::kBad : Style::kWarn;
  page.heading({});
  page.wrapped(page.style(word, style) + "  ",
               run.verdict.reason + " (exit code " + std::to_string(run.verdict.exit_code) + ")", word.size() + 2);
}

}  // namespace

Page::Page(const SummaryOptions& options)
    : color_(options.color), width_(static_cast<std::size_t>(std::max(options.width, 60))) {}

void Page::heading(std::string_view title, std::string_view note) {
  text_ += "\n";
  if (title.empty()) return;
  text_ += styled(title, Style::kBold, color_);
  if (!note.empty()) text_ += "  " + styled(note, Style::kDim, color_);
  text_ += "\n";
}

void Page::wrapped(std::string_view first, std::string_view text, std::size_t indent) {
  bool begun = false;
  for (const std::string& part : wrap(text, width_ - 2 - indent)) {
    line((begun ? std::string(indent, ' ') : std::string(first)) + part);
    begun = true;
  }
}

void Page::rows(const std::vector<std::vector<std::string>>& rows) {
  for (const std::string& each : columns(rows, width_ - 2)) line(each);
}

std::string summary(const RunReport& run, const SummaryOptions& options) {
  Page page(options);
  page.heading({});
  write_head(page, run);
  write_thresholds(page, run);
  write_checks(page, run);
  write_metrics(page, run);
  write_requests(page, run);
  write_iterations(page, run);
  write_latencies(page, run);
  write_distribution(page, run);
  write_phases(page, run);
  write_statuses(page, run);
  write_errors(page, run);
  write_generator(page, run);
  write_workers(page, run);
  write_notes(page, run);
  write_losses(page, run);
  write_verdict(page, run);
  return page.take();
}

}  // namespace bellwether::report
