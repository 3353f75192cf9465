#include "bellwether/leadership.h"

#include <utility>

#include "core/runtime/boot_timers.h"
#include "core/runtime/epoll/boot_clock.h"
#include "lead/api/session.h"

namespace bellwether::leadership {

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

}  // namespace bellwether::leadership
