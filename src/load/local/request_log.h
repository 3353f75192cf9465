// The file with a row for each measured request. A separate thread writes it; the load never waits for the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "load/plan/plan.h"
#include "load/vuser/instruments.h"

namespace bellwether::node {

class RequestLog {
 public:
  // Makes or empties the file; its name ends with .csv or .jsonl. Else kInvalid; the rest as of fail_errno(). `plan`
  // must outlive the log.
  static Result<std::unique_ptr<RequestLog>> open(const std::string& path, const plan::Plan& plan);
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  // The pages of one more load thread. They live as long as the log.
  vuser::RequestPages& new_pages();
  // Before the first row: the start of the run, on both clocks.
  void begin(Instant start, WallTime at);
  struct Outcome {
    uint64_t left_out = 0;  // rows: the file was too slow
    std::string problem;    // in words; empty: the file has all other rows
  };
  // Writes the rest, when no load thread adds rows any more; waits for the disk. Later calls return the same.
  const Outcome& end();

 private:
  RequestLog(const plan::Plan& plan, std::string path, bool as_json, int file);
  void write_pages();
  vuser::RequestPages* pages_at(std::size_t index);
  void take(vuser::RequestPages& pages);
  void append(const vuser::RequestRow& row);
  void append_time(int64_t unix_ns);
  void write_out();

  const std::string path_;
  const bool as_json_;
  const int file_;
  std::vector<std::string> names_;  // of each step: the cells of its workflow and itself
  std::vector<std::string> tags_;   // of each step, as they stand in a row
  std::mutex mutex_;                // of pages_
  std::vector<std::unique_ptr<vuser::RequestPages>> pages_;
  std::atomic<uint32_t> ready_{0};
  std::atomic<bool> ending_{false};
  Instant start_;
  int64_t offset_ = 0;  // from the clock of the runtime to the wall's
  std::string text_;
  std::string second_;  // the beginning of its wall time
  int64_t second_at_ = -1;
  Outcome outcome_;
  std::thread writer_;
};

}  // namespace bellwether::node
