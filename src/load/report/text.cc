#include "load/report/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "load/metrics/window.h"
#include "load/plan/metric.h"

namespace bellwether::report {

namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool in_xml(std::string_view character) {
  if (character.size() > 1) return character != "\xEF\xBF\xBE" && character != "\xEF\xBF\xBF";  // U+FFFE, U+FFFF
  const char c = character.front();
  return c == '\t' || c == '\n' || (c >= 0x20 && c != 0x7f);
}

std::string in_unit(const plan::CustomMetric& metric, const std::string& value) {
  return metric.unit.empty() ? value : fmt::format("{} {}", value, metric.unit);
}

std::string amount(double value) {
  const bool is_whole = value >= 0 && value < 1e15 && value == std::floor(value);
  if (is_whole) return format_count(static_cast<uint64_t>(value));
  return fmt::format("{:.6g}", value);
}

// A file from elsewhere may have any value.
std::string ratio(double value) {
  return percent(static_cast<uint64_t>(std::llround(std::clamp(value, 0.0, 1e9) * 1e9)), 1'000'000'000);
}

std::string time(double millis) {
  return format_duration(Duration::nanos(static_cast<int64_t>(std::clamp(millis * 1e6, -9e18, 9e18))));
}

}  // namespace

std::string percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  const double ratio = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part > 0 && ratio < 0.01) return "<0.01%";
  if (part < whole && ratio > 99.99) return "99.99%";
  return fmt::format("{:.2f}%", ratio);
}

std::string ratio_text(double part) { return part < 0.0001 ? "<0.01%" : ratio(std::min(part, 1.0)); }

std::vector<std::string> loss_texts(const std::vector<plan::Loss>& losses) {
  using Words = std::pair<std::string, std::string>;
  std::vector<Words> all;
  std::map<Words, std::size_t> times;
  for (const plan::Loss& loss : losses) {
    Words words{fmt::format("from {} to {}, ", format_duration(loss.from), format_duration(loss.to)),
                fmt::format("{} of the load: {}", ratio_text(loss.ratio), loss.cause)};
    if (++times[words] == 1) all.push_back(std::move(words));
  }
  std::vector<std::string> out;
  for (const Words& words : all) {
    const std::size_t count = times[words];
    out.push_back(words.first + (count > 1 ? format_count(count) + " times " : "") + words.second);
  }
  return out;
}

std::string decimal(double value) {
  if (value < 0 || !std::isfinite(value) || value >= 1e18) return fmt::format("{:g}", value);
  if (value >= 999.95) return format_count(static_cast<uint64_t>(std::llround(value)));
  return fmt::format("{:.{}f}", value, value >= 9.995 ? 1 : 2);
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string pad_left(std::string text, std::size_t width) {
  const std::size_t have = width_of(text);
  if (have < width) text.insert(0, width - have, ' ');
  return text;
}

std::string pad_right(std::string text, std::size_t width) {
  const std::size_t have = width_of(text);
  if (have < width) text.append(width - have, ' ');
  return text;
}

std::string shorten(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if (starts_character(text[at]) && ++seen == width) break;
  }
  return std::string(text.substr(0, at)) + "…";
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (true) {
    const std::size_t gap = text.find_first_not_of(' ');
    if (gap == std::string_view::npos) break;
    const std::string_view word = text.substr(gap, text.find(' ', gap) - gap);
    text.remove_prefix(gap + word.size());
    if (!line.empty() && width_of(line) + gap + width_of(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    line.append(line.empty() ? 0 : gap, ' ').append(word);
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string styled(std::string_view text, Style style, bool color) {
  static constexpr std::array<std::string_view, 6> kCodes{"", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[31m", "\x1b[33m"};
  if (!color || style == Style::kPlain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", kCodes[static_cast<std::size_t>(style)], text);
}

std::vector<std::string> columns(const std::vector<std::vector<std::string>>& rows, std::size_t width) {
  std::vector<std::size_t> widths(1);
  for (const auto& row : rows) {
    if (row.size() == 1) continue;
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::size_t others = 0;
  for (std::size_t c = 1; c < widths.size(); ++c) others += 2 + widths[c];
  widths[0] = std::min(widths[0], width - std::min(width, others));

  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line = row.size() == 1 ? row[0] : pad_right(shorten(row.at(0), widths[0]), widths[0]);
    for (std::size_t c = 1; c < row.size(); ++c) line += "  " + pad_left(row[c], widths[c]);
    lines.push_back(std::move(line));
  }
  return lines;
}

void Page::heading(std::string_view title, std::string_view note) {
  text_ += "\n";
  if (title.empty()) return;
  text_ += styled(title, Style::kBold, color_);
  const std::size_t indent = width_of(title) + 2;
  bool begun = false;
  for (const std::string& part : wrap(note, width_ - indent)) {
    text_ += (begun ? "\n" + std::string(indent, ' ') : "  ") + styled(part, Style::kDim, color_);
    begun = true;
  }
  text_ += "\n";
}

void Page::wrapped(std::string_view first, std::string_view text, std::size_t indent) {
  bool begun = false;
  for (const std::string& part : wrap(text, width_ - 2 - indent)) {
    line((begun ? std::string(indent, ' ') : std::string(first)) + part);
    begun = true;
  }
}

void Page::flow(std::string_view first, const std::vector<std::string>& items, std::size_t indent, Style look) {
  std::string text(first);
  std::size_t used = indent;
  for (const std::string& item : items) {
    if (used > indent && used + 2 + width_of(item) > width_ - 2) {
      line(text);
      text.assign(indent, ' ');
      used = indent;
    }
    if (used > indent) text += "  ";
    used += (used > indent ? 2 : 0) + width_of(item);
    text += style(item, look);
  }
  line(text);
}

void Page::rows(const std::vector<std::vector<std::string>>& rows) {
  const std::size_t space = width_ - 2;
  std::size_t widest = 0;
  std::size_t name = 0;
  const std::vector<std::string> lines = columns(rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].size() == 1) continue;
    widest = std::max(widest, width_of(lines[r]));
    name = std::max(name, width_of(rows[r][0]));
  }
  const std::size_t over = widest - std::min(widest, space);
  if (over == 0 || name >= over + kMinName || !rows[0][0].empty()) {
    for (const std::string& each : columns(rows, space)) line(each);
    return;
  }
  name = std::min(name, space / 3);
  for (std::size_t r = 1; r < rows.size(); ++r) {
    std::vector<std::string> items;
    for (std::size_t c = 1; c < rows[r].size(); ++c) items.push_back(fmt::format("{} {}", rows[0][c], rows[r][c]));
    if (items.empty()) {
      line(rows[r][0]);
    } else {
      flow(pad_right(shorten(rows[r][0], name), name) + "  ", items, name + 2);
    }
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_length(text.substr(at));
    if (size == 0 || !in_xml(text.substr(at, size))) {
      out += kReplacement;
    } else if (text[at] == '&') {
      out += "&amp;";
    } else if (text[at] == '<') {
      out += "&lt;";
    } else if (text[at] == '>') {
      out += "&gt;";
    } else if (text[at] == '"') {
      out += "&quot;";
    } else if (text[at] == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(at, size);
    }
    at += size == 0 ? 1 : size;
  }
  return out;
}

bool says_nothing(const metrics::ResponseFigure& figure) { return !figure.known() && figure.value <= Duration::zero(); }

std::string metric_value_text(const plan::CustomMetric& metric, plan::Aggregation aggregation, double value) {
  if (metric.kind == plan::MetricKind::kRate) return ratio(value);
  if (metric.kind == plan::MetricKind::kTrend && metric.is_time()) return time(value);
  if (aggregation == plan::Aggregation::kRate) return in_unit(metric, decimal(value)) + "/s";
  return in_unit(metric, amount(value));
}

std::string title_text(const ResultMetric& metric) {
  return metric.unit.empty() ? metric.name : fmt::format("{}, {}", metric.name, metric.unit);
}

namespace {

// The kind by its name in a result file.
plan::MetricKind kind_of(std::string_view name) {
  if (name == "counter") return plan::MetricKind::kCounter;
  if (name == "rate") return plan::MetricKind::kRate;
  return name == "trend" ? plan::MetricKind::kTrend : plan::MetricKind::kGauge;
}

}  // namespace

std::string figures_text(const ResultMetric& metric) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const plan::CustomMetric own{metric.name, kind_of(metric.kind), metric.unit};
  for (const auto& [name, value] : metric.figures) {
    const bool is_number = name == "matches" || name == "total" || (name == "count" && metric.kind != "counter");
    const auto of = name == "rate" ? plan::Aggregation::kRate : plan::Aggregation::kValue;
    add(fmt::format("{} {}", name, is_number ? amount(value) : metric_value_text(own, of, value)));
  }
  if (metric.refused > 0) add(format_count(metric.refused, "value") + " refused");
  return out.empty() ? "nothing was recorded" : out;
}

std::string unit_of(const plan::Plan& plan, const plan::Threshold& threshold) {
  const auto metric = plan::find_metric(plan, threshold.metric);
  const plan::MetricKind kind = metric ? metric->kind : plan::MetricKind::kGauge;
  if (kind == plan::MetricKind::kRate) return "fraction";
  if (threshold.aggregation == plan::Aggregation::kRate) return "per_s";
  if (threshold.aggregation == plan::Aggregation::kCount) return "count";
  for (const plan::CustomMetric& own : plan.metrics) {
    if (own.name == threshold.metric) return own.unit;
  }
  return kind == plan::MetricKind::kTrend ? "ms" : "count";
}

std::string figure_text(const metrics::ResponseFigure& figure) {
  if (says_nothing(figure)) return "-";
  return (figure.known() ? "" : "≥") + format_duration(figure.value);
}

std::string threshold_value(const plan::Plan& plan, const plan::Threshold& threshold, double value) {
  for (const plan::CustomMetric& own : plan.metrics) {
    if (own.name == threshold.metric) return metric_value_text(own, threshold.aggregation, value);
  }
  const auto metric = plan::find_metric(plan, threshold.metric);
  const plan::MetricKind kind = metric ? metric->kind : plan::MetricKind::kGauge;
  const bool count = threshold.aggregation == plan::Aggregation::kCount;
  if (kind == plan::MetricKind::kTrend && !count) return time(value);
  if (kind == plan::MetricKind::kRate) return ratio(value);
  if (kind == plan::MetricKind::kCounter && !count) return decimal(value) + "/s";
  return format_count(static_cast<uint64_t>(std::max(value, 0.0)));
}

std::string threshold_value(const ResultThreshold& threshold) {
  if (!threshold.value) return "no samples";
  const double value = *threshold.value;
  const std::string bound = threshold.at_least ? "≥" : "";
  if (threshold.unit == "ms") return bound + time(value);
  if (threshold.unit == "fraction") return bound + ratio(value);
  if (threshold.unit == "per_s") return bound + decimal(value) + "/s";
  if (threshold.unit == "count") return bound + amount(value);
  return bound + amount(value) + (threshold.unit.empty() ? "" : " " + threshold.unit);
}

std::string closed_model_note(std::string_view workflows) {
  return fmt::format(
      "Closed model (fixed virtual users) in {}: while the target stalls, these users send nothing, so the percentiles "
      "lack the requests that would have waited (coordinated omission). Use a rate or a pace to measure them.",
      workflows);
}

std::string latency_note(const std::vector<std::vector<std::string>>& rows) {
  const bool has_service = std::ranges::any_of(rows, [](const auto& row) { return row.front() == kServiceRow; });
  return std::string("response: due → done") + (has_service ? "; service: sent → done" : "");
}

std::vector<std::string> tag_row(std::string name, uint64_t count, uint64_t failed, double rate_per_s,
                                 const metrics::ResponseTimes& times) {
  std::vector<std::string> row{std::move(name), format_count(count), decimal(rate_per_s) + "/s",
                               percent(failed, count)};
  if (times.empty()) return row;
  for (const double p : {50.0, 95.0, 99.0}) row.push_back(figure_text(times.percentile(p)));
  row.push_back(figure_text(times.max()));
  return row;
}

std::string_view error_meaning(std::string_view kind) {
  for (int e = 1; e < http1::kErrorKinds; ++e) {
    const auto one = static_cast<http1::ErrorKind>(e);
    if (to_string(one) == kind) return describe(one);
  }
  return {};
}

std::string check_text(uint64_t passes, uint64_t fails) {
  std::string text = passes + fails == 0 ? "never reached" : format_count(passes) + " passed";
  if (fails > 0) text += fmt::format(", {} failed ({})", format_count(fails), percent(fails, passes + fails));
  return text;
}

std::vector<std::string> latency_row(std::string_view name, const metrics::ResponseTimes& times) {
  std::vector<std::string> row{std::string(name), figure_text(times.mean())};
  for (const auto& one : times.percentiles(std::array{50.0, 90.0, 95.0, 99.0, 99.9})) row.push_back(figure_text(one));
  row.push_back(figure_text(times.max()));
  return row;
}

}  // namespace bellwether::report
