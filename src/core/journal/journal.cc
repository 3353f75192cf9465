#include "core/journal/journal.h"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <mutex>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include "core/base/units.h"
#include "core/runtime/thread.h"

namespace bellwether {
namespace {

std::string json_line(WallTime now, std::string_view event, const std::string& text, const Journal::Fields& fields) {
  nlohmann::ordered_json line;
  line["time"] = format_wall(now);
  line["event"] = event;
  line["text"] = text;
  for (const auto& [name, value] : fields) {
    std::visit([&](const auto& plain) { line[std::string(name)] = plain; }, value);
  }
  // Keys and names may hold any bytes.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

// Appends lines to a file on a separate thread, which may wait for the disk.
class Journal::Audit {
 public:
  explicit Audit(int fd) : fd_(fd) {
    const runtime::NoSignals no_signals;  // the leader's thread gets the signals
    thread_ = std::thread([this] {
      runtime::set_up_thread("audit", std::nullopt);
      run();
    });
  }
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;
  // Waiting lines are written first.
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
      if (lines_.size() < kMaxLines) lines_.push_back(std::move(line));
    }
    more_.notify_one();
  }

 private:
  static constexpr std::size_t kMaxLines = 10'000;
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

Journal::Journal(int verbosity, bool json, std::string command)
    : verbosity_(verbosity), json_(json), command_(std::move(command)) {}
Journal::~Journal() = default;

bool Journal::open_audit(WallTime now, const std::string& path) {
  if (path.empty()) return true;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) {
    error(now, "--audit: " + fail_errno(errno, path).value().message);
    return false;
  }
  audit_ = std::make_unique<Audit>(fd);
  return true;
}

void Journal::transition(WallTime now, std::string_view event, const std::string& text, const Fields& fields) {
  say(now, 1, event, text, fields);
  if (audit_ != nullptr) audit_->add(json_line(now, event, text, fields));
}

void Journal::say(WallTime now, int from, std::string_view event, const std::string& text, const Fields& fields) {
  if (reader_) reader_(event, text, fields);
  if (verbosity_ < from) return;
  const std::string line = json_ ? json_line(now, event, text, fields)
                                 : fmt::format("{} bellwether {}: {}\n", format_wall(now), command_, text);
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace bellwether
