#include "bellwether/leadership.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

#include "core/base/bytes.h"
#include "core/runtime/boot_timers.h"
#include "core/runtime/epoll/boot_clock.h"
#include "lead/api/session.h"

namespace bellwether::leadership {
namespace {

constexpr std::string_view kFirstWord = "fence ";

std::string text_of(uint64_t epoch) { return fmt::format("{}{} end\n", kFirstWord, epoch); }

std::string reason(const std::string& path) {
  return fmt::format("{}: {}", path, std::strerror(errno));
}  // NOLINT(concurrency-mt-unsafe)

}  // namespace

std::chrono::nanoseconds Term::valid_for() const {
  if (cell_ == nullptr) return std::chrono::nanoseconds::zero();
  return std::chrono::nanoseconds(cell_->end->valid_for(runtime::BootClock::now()).ns());
}

uint64_t Term::epoch() const { return cell_ == nullptr ? 0 : cell_->epoch; }

std::unique_ptr<Leadership> Leadership::join(const Options& options, Listener* listener, std::string& error) {
  auto session = std::make_unique<detail::LeaderSession>(options, listener);
  error = session->start();
  if (!error.empty()) return nullptr;
  return std::unique_ptr<Leadership>(new Leadership(std::move(session)));
}

Leadership::Leadership(std::unique_ptr<detail::LeaderSession> session) : session_(std::move(session)) {}
Leadership::~Leadership() = default;

Term Leadership::term() const { return session_->term(); }
Leader Leadership::leader() const { return session_->leader(); }
bool Leadership::permits(std::string_view surface) { return session_->permits(surface); }
std::vector<SurfaceCounts> Leadership::surfaces() const { return session_->surfaces(); }
void Leadership::progress() { session_->progress(); }
void Leadership::hand_over(const std::string& heir) { session_->hand_over(heir); }
uint64_t Leadership::failed_callbacks() const { return session_->failed_callbacks(); }

DurableFence::DurableFence(int folder, std::string name, uint64_t highest)
    : folder_(folder), name_(std::move(name)), highest_(highest) {}

DurableFence::~DurableFence() { ::close(folder_); }

std::unique_ptr<DurableFence> DurableFence::open(const std::string& path, std::string& error) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const int at = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) {
    error = reason(folder);
    return nullptr;
  }
  std::unique_ptr<DurableFence> fence(new DurableFence(at, std::move(name), 0));
  const int file = ::openat(at, fence->name_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) {
    if (errno == ENOENT) return fence;  // nothing has been admitted yet
    error = reason(path);
    return nullptr;
  }
  std::array<char, 64> buffer{};
  const ssize_t size = ::read(file, buffer.data(), buffer.size());
  ::close(file);
  const std::string_view text(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto end = text.find(' ', kFirstWord.size());
  const auto number = text.starts_with(kFirstWord) && end != std::string_view::npos
                          ? parse_u64(text.substr(kFirstWord.size(), end - kFirstWord.size()))
                          : std::nullopt;
  if (!number || text != text_of(*number)) {
    error = path +
            ": this is not the file of a fence, so every epoch is refused. Remove the file only if no newer epoch can "
            "have acted";
    return nullptr;
  }
  fence->highest_ = *number;
  return fence;
}

bool DurableFence::admit(uint64_t epoch) {
  if (epoch < highest_) return false;
  if (epoch == highest_ && epoch != 0) return true;
  // Beside it, then in its place: after a crash either the old number or the new one is there.
  const std::string beside = name_ + ".new";
  const int file = ::openat(folder_, beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  const std::string text = text_of(epoch);
  const bool written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  ::close(file);
  if (!written || ::renameat(folder_, beside.c_str(), folder_, name_.c_str()) != 0 || ::fsync(folder_) != 0)
    return false;
  highest_ = epoch;
  return true;
}

}  // namespace bellwether::leadership
