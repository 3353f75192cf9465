#include "lead/drill/act_log.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/runtime/boot_timers.h"
#include "core/runtime/epoll/boot_clock.h"

namespace bellwether::lead {
namespace {

constexpr int64_t kBetweenActs = 5'000'000;

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

void ActLog::feed(std::string_view bytes) {
  rest_ += bytes;
  std::size_t from = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', from)) {
    take(std::string_view(rest_).substr(from, end - from));
    from = end + 1;
  }
  rest_.erase(0, from);
}

void ActLog::take(std::string_view line) {
  const auto last = line.rfind(' ');
  const auto middle = last == std::string_view::npos || last == 0 ? std::string_view::npos : line.rfind(' ', last - 1);
  if (middle == std::string_view::npos) return;
  const auto epoch = parse_u64(line.substr(middle + 1, last - middle - 1));
  const auto at = parse_u64(line.substr(last + 1));
  if (!epoch || !at) return;
  note(line.substr(0, middle), *epoch, Instant::from_ns(static_cast<int64_t>(*at)));
}

void ActLog::note(std::string_view holder, uint64_t epoch, Instant when) {
  ++acts_;
  const auto known =
      std::find_if(reigns_.begin(), reigns_.end(), [&](const Reign& reign) { return reign.epoch == epoch; });
  if (!reigns_.empty() && epoch < reigns_.back().epoch) ++overlaps_;
  if (known == reigns_.end()) {
    const Reign reign{std::string(holder), epoch, when, when, 1};
    // A late reign that was never seen before its successor is not the last one.
    const auto place =
        std::find_if(reigns_.begin(), reigns_.end(), [&](const Reign& other) { return other.epoch > epoch; });
    reigns_.insert(place, reign);
    return;
  }
  if (known->holder != holder) {
    ++overlaps_;
    return;
  }
  known->last = when;
  ++known->acts;
}

int act_for(const std::string& file, Duration span) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return 1;
  const std::string who = fmt::format("{} {} ", variable("BELLWETHER_HOLDER"), variable("BELLWETHER_EPOCH"));
  const int64_t end = runtime::BootClock::now().ns() + span.ns();
  while (runtime::BootClock::now().ns() < end) {
    const std::string line = fmt::format("{}{}\n", who, runtime::BootClock::now().ns());
    if (::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return 1;
    const timespec rest{0, kBetweenActs};
    ::nanosleep(&rest, nullptr);
  }
  ::close(fd);
  return 0;
}

}  // namespace bellwether::lead
