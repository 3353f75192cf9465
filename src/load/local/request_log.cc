#include "load/local/request_log.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <iterator>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/runtime/thread.h"
#include "load/report/write_file.h"

namespace bellwether::node {
namespace {

constexpr int kNice = 10;  // the load comes first
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // that one write takes
constexpr std::string_view kHeader =
    "time,t_s,workflow,step,vu,iteration,status,failed,error,response_us,service_us,bytes_sent,bytes_received,tags\n";

int64_t micros_of(int64_t ns) { return (ns + 500) / 1000; }

// The workflow and the step of a step that is named "browse.pay". Names have no character that CSV or JSON would quote.
std::string names_of(const plan::Plan& plan, const plan::StepInfo& step, bool as_json) {
  const std::string& workflow = plan.workflows[step.workflow].name;
  const std::string name = step.name.substr(workflow.size() + 1);
  return as_json ? fmt::format("\"workflow\":\"{}\",\"step\":\"{}\"", workflow, name)
                 : fmt::format("{},{}", workflow, name);
}

// The tags of a step: "build=7;page=cart" as a cell of CSV, in quotes where that needs some, or a member of JSON.
std::string tags_of(const plan::StepInfo& step, bool as_json) {
  if (step.tags.empty()) return {};
  std::string out;
  for (const plan::Tag& tag : step.tags) {
    if (!out.empty()) out += as_json ? ',' : ';';
    if (!as_json) {
      out += fmt::format("{}={}", tag.key, tag.value);
      continue;
    }
    out += '"';
    append_json_text(tag.key, out);
    out += "\":\"";
    append_json_text(tag.value, out);
    out += '"';
  }
  if (as_json) return fmt::format(",\"tags\":{{{}}}", out);
  if (out.find_first_of(",\"\r\n") == std::string::npos) return out;
  for (std::size_t at = out.find('"'); at != std::string::npos; at = out.find('"', at + 2)) out.insert(at, 1, '"');
  return fmt::format("\"{}\"", out);
}

}  // namespace

Result<std::unique_ptr<RequestLog>> RequestLog::open(const std::string& path, const plan::Plan& plan) {
  const bool as_json = path.ends_with(".jsonl");
  if (!as_json && !path.ends_with(".csv")) {
    return fail(Errc::kInvalid, "--request-log '{}': the name of the file must end with .csv or .jsonl", path);
  }
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return fail_errno(errno, fmt::format("--request-log: cannot write '{}'", path));
  return std::unique_ptr<RequestLog>(new RequestLog(plan, path, as_json, file));
}

RequestLog::RequestLog(const plan::Plan& plan, std::string path, bool as_json, int file)
    : path_(std::move(path)), as_json_(as_json), file_(file) {
  for (const plan::StepInfo& step : plan.steps) {
    names_.push_back(names_of(plan, step, as_json));
    tags_.push_back(tags_of(step, as_json));
  }
  if (!as_json_) text_ = kHeader;
  const runtime::NoSignals none;
  writer_ = std::thread([this] { write_pages(); });
}

RequestLog::~RequestLog() {
  end();
  ::close(file_);
}

vuser::RequestPages& RequestLog::new_pages() {
  const std::lock_guard lock(mutex_);
  return *pages_.emplace_back(std::make_unique<vuser::RequestPages>(ready_));
}

void RequestLog::begin(Instant start, WallTime at) {
  start_ = start;
  offset_ = at.unix_ns - start.ns();
}

const RequestLog::Outcome& RequestLog::end() {
  if (!writer_.joinable()) return outcome_;
  ending_.store(true);
  ready_.fetch_add(1);
  ready_.notify_one();
  writer_.join();
  for (const auto& one : pages_) outcome_.left_out += one->left_out();
  return outcome_;
}

void RequestLog::write_pages() {
  runtime::set_up_thread("request-log", {});
  ::setpriority(PRIO_PROCESS, 0, kNice);  // of this thread, on Linux
  for (bool ending = false; !ending;) {
    const uint32_t seen = ready_.load(std::memory_order_acquire);
    ending = ending_.load();
    for (std::size_t i = 0; vuser::RequestPages* one = pages_at(i); ++i) take(*one);
    write_out();
    if (!ending) ready_.wait(seen, std::memory_order_acquire);
  }
}

// nullptr beyond the last.
vuser::RequestPages* RequestLog::pages_at(std::size_t index) {
  const std::lock_guard lock(mutex_);
  return index < pages_.size() ? pages_[index].get() : nullptr;
}

void RequestLog::take(vuser::RequestPages& pages) {
  while (vuser::RequestPages::Page* page = pages.next_full()) {
    for (std::size_t i = 0; i < page->count; ++i) {
      append(page->rows[i]);
      if (text_.size() >= kPieceBytes) write_out();
    }
    pages.release(page);
  }
}

// RFC 3339 with microseconds.
void RequestLog::append_time(int64_t unix_ns) {
  const int64_t second = unix_ns / kSecondNs;
  if (second != second_at_) {
    second_at_ = second;
    second_ = format_wall({second * kSecondNs});
    second_.resize(second_.find('.') + 1);
  }
  fmt::format_to(std::back_inserter(text_), "{}{:06}Z", second_, unix_ns % kSecondNs / 1000);
}

void RequestLog::append(const vuser::RequestRow& row) {
  const auto out = std::back_inserter(text_);
  const std::string_view error = row.error == http1::ErrorKind::kNone ? "" : to_string(row.error);
  const double since_start = static_cast<double>(row.began - start_.ns()) / 1e9;
  text_ += as_json_ ? "{\"time\":\"" : "";
  append_time(row.began + offset_);
  if (as_json_) {
    fmt::format_to(out, "\",\"t_s\":{:.6f},{},\"vu\":{},\"iteration\":{},", since_start, names_[row.step], row.vu,
                   row.iteration);
    if (row.status != 0) fmt::format_to(out, "\"status\":{},", row.status);
    fmt::format_to(out, "\"failed\":{},", row.failed);
    if (!error.empty()) fmt::format_to(out, "\"error\":\"{}\",", error);
    fmt::format_to(out, "\"response_us\":{},", micros_of(row.response));
    if (row.service >= 0) fmt::format_to(out, "\"service_us\":{},", micros_of(row.service));
    fmt::format_to(out, "\"bytes_sent\":{},\"bytes_received\":{}{}}}\n", row.bytes_sent, row.bytes_received,
                   tags_[row.step]);
    return;
  }
  fmt::format_to(out, ",{:.6f},{},{},{},", since_start, names_[row.step], row.vu, row.iteration);
  if (row.status != 0) fmt::format_to(out, "{}", row.status);
  fmt::format_to(out, ",{},{},{},", row.failed, error, micros_of(row.response));
  if (row.service >= 0) fmt::format_to(out, "{}", micros_of(row.service));
  fmt::format_to(out, ",{},{},{}\n", row.bytes_sent, row.bytes_received, tags_[row.step]);
}

// After a failure the rows are dropped, so that the load threads find free pages.
void RequestLog::write_out() {
  if (outcome_.problem.empty() && !text_.empty()) {
    const Status written = report::write_to(file_, text_, path_);
    if (!written) outcome_.problem = "--request-log: " + written.error().message;
  }
  text_.clear();
}

}  // namespace bellwether::node
