#include "lead/metrics/metrics_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/bytes.h"
#include "core/web/labels.h"
#include "lead/metrics/lease_figures.h"

namespace bellwether::lead {
namespace {

constexpr std::size_t kMaxSamples = 100'000;

// Takes everything up to `mark`, and that, off `text`; nothing when it is not there.
std::optional<std::string_view> cut(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view front = text.substr(0, at);
  text.remove_prefix(at + 1);
  return front;
}

// A value behind its opening quote, with the closing one.
std::optional<std::string> quoted(std::string_view& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return out;
    }
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) break;
    out += text[i] == 'n' ? '\n' : text[i];
  }
  return std::nullopt;
}

// name="value",… behind the opening brace, with the closing one. False for other text.
bool take_labels(std::string_view& text, MetricSample& sample) {
  while (!text.starts_with('}')) {
    const auto name = cut(text, '=');
    if (!name || !text.starts_with('"')) return false;
    text.remove_prefix(1);
    auto value = quoted(text);
    if (!value) return false;
    sample.labels.emplace(std::string(trim(*name)), std::move(*value));
    if (text.starts_with(',')) text.remove_prefix(1);
    if (text.empty()) return false;
  }
  text.remove_prefix(1);
  return true;
}

// The bound of a bucket.
std::optional<double> bound_of(std::string_view text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  const auto value = parse_double(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<MetricSample> sample_of(std::string_view line) {
  MetricSample sample;
  const auto end = line.find_first_of("{ ");
  if (end == 0 || end == std::string_view::npos || line.front() == '#') return std::nullopt;
  sample.name = line.substr(0, end);
  line.remove_prefix(end);
  if (line.front() == '{') {
    line.remove_prefix(1);
    if (!take_labels(line, sample)) return std::nullopt;
  }
  line = trim(line);
  const auto value = parse_double(line.substr(0, line.find(' ')));  // a time may follow
  if (!value || !std::isfinite(*value)) return std::nullopt;
  sample.value = *value;
  return sample;
}

uint64_t counted(double value) { return value >= 0 && value < 1e18 ? static_cast<uint64_t>(value) : 0; }

void take_in(const MetricSample& sample, std::map<double, double>& buckets, LockPressure& out) {
  if (sample.name == metric::kLeader) {
    ++out.processes;
    out.holders += sample.value == 1 ? 1 : 0;
  } else if (sample.name == metric::kRenewalFailures) {
    out.renewal_failures += counted(sample.value);
  } else if (sample.name == metric::kStaleJobs) {
    out.stale_jobs = out.stale_jobs.value_or(0) + sample.value;
  } else if (sample.name == std::string(metric::kLockWait) + "_count") {
    out.waits += counted(sample.value);
  } else if (sample.name == std::string(metric::kLockWait) + "_bucket") {
    if (const auto bound = bound_of(sample.label("le"))) buckets[*bound] += sample.value;
  }
}

}  // namespace

std::string_view MetricSample::label(std::string_view which) const {
  const auto found = labels.find(which);
  return found == labels.end() ? std::string_view() : std::string_view(found->second);
}

std::vector<MetricSample> parse_metrics(std::string_view text) {
  std::vector<MetricSample> samples;
  while (!text.empty() && samples.size() < kMaxSamples) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (auto sample = sample_of(trim(line))) samples.push_back(std::move(*sample));
  }
  return samples;
}

LockPressure pressure_of(const std::vector<std::vector<MetricSample>>& pages, std::string_view loop,
                         std::string_view key) {
  LockPressure out;
  const std::string loop_label = web::label_text(loop);
  const std::string key_label = web::label_text(key);
  std::map<double, double> buckets;  // counts of all processes, already added up within each
  for (const auto& page : pages) {
    for (const MetricSample& sample : page) {
      if (sample.label("key") != key_label || sample.label("loop") != loop_label) continue;
      take_in(sample, buckets, out);
    }
  }
  if (buckets.empty() || buckets.rbegin()->second <= 0) return out;
  const double wanted = buckets.rbegin()->second * 0.99;
  const auto reached =
      std::find_if(buckets.begin(), buckets.end(), [&](const auto& bucket) { return bucket.second >= wanted; });
  out.wait_p99_s = reached->first;
  return out;
}

}  // namespace bellwether::lead
