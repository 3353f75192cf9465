#include "lead/run/journal.h"

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <mutex>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace bellwether::lead {
namespace {

std::string json_line(WallTime now, std::string_view event, const std::string& text, const Journal::Fields& fields) {
  nlohmann::ordered_json line;
  line["time"] = iso_time(now);
  line["event"] = event;
  line["text"] = text;
  for (const auto& [name, value] : fields) {
    std::visit([&](const auto& plain) { line[std::string(name)] = plain; }, value);
  }
  // Keys and names may hold any bytes.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

// Appends lines to a file on a thread of its own, which may wait for the disk.
class Journal::Audit {
 public:
  explicit Audit(int fd) : fd_(fd), thread_([this] { run(); }) {}
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;
  // What is waiting is written first.
  ~Audit() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    more_.notify_one();
    thread_.join();
    ::close(fd_);
  }
  void add(std::string line) {
    {
      const std::lock_guard lock(mutex_);
      if (lines_.size() < kMostLines) lines_.push_back(std::move(line));
    }
    more_.notify_one();
  }

 private:
  static constexpr std::size_t kMostLines = 10'000;
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      more_.wait(lock, [this] { return ending_ || !lines_.empty(); });
      if (lines_.empty()) return;
      const std::string line = std::move(lines_.front());
      lines_.pop_front();
      lock.unlock();
      [[maybe_unused]] const auto written = ::write(fd_, line.data(), line.size());
      lock.lock();
    }
  }
  int fd_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::string> lines_;
  bool ending_ = false;
  std::thread thread_;
};

Journal::Journal() = default;
Journal::~Journal() = default;

Status Journal::open_audit(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) return fail_errno(errno, path);
  audit_ = std::make_unique<Audit>(fd);
  return {};
}

void Journal::transition(WallTime now, std::string_view event, const std::string& text, const Fields& fields) {
  say(now, 1, event, text, fields);
  if (audit_ != nullptr) audit_->add(json_line(now, event, text, fields));
}

void Journal::say(WallTime now, int from, std::string_view event, const std::string& text, const Fields& fields) {
  if (verbosity_ < from) return;
  const std::string line = json_ ? json_line(now, event, text, fields) : "bellwether lead: " + text + "\n";
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::string iso_time(WallTime time) {
  const std::time_t seconds = time.unix_ns / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                                 parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                                 static_cast<int>(time.unix_ns / 1'000'000 % 1000));
  return std::string(text.data(), static_cast<std::size_t>(size));
}

}  // namespace bellwether::lead
