// The router of a world: all links between its nodes run through this one program, which takes its fault script line by
// line on standard input (script.h) and answers each line on standard output with what there is to show and then "ok",
// or with "error: …". It ends with its input.
#include <cerrno>
#include <ctime>
#include <iostream>
#include <string>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "router/devices.h"
#include "router/links.h"
#include "router/script.h"

namespace bellwether::router {
namespace {

constexpr uint64_t kInput = UINT64_MAX;
constexpr int kPacketsATurn = 64;  // of one device, so that each gets its turn
constexpr std::size_t kMaxLine = 64 * 1024;

Instant now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant::from_ns(int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec);
}

class Router {
 public:
  explicit Router(uint64_t seed) : links_(seed), script_(links_), packet_(kMaxPacket) {
    poll_ = ::epoll_create1(EPOLL_CLOEXEC);
    check(poll_ >= 0 && watch(STDIN_FILENO, kInput), "a script comes on standard input");
  }

  void run() {
    while (!ended_) {
      epoll_event events[64];
      timespec wait{};
      const Instant due = links_.next_due();
      const int64_t ns = due == Instant::never() ? 0 : std::max<int64_t>(0, (due - now()).ns());
      wait.tv_sec = ns / 1'000'000'000;
      wait.tv_nsec = ns % 1'000'000'000;
      const int count = ::epoll_pwait2(poll_, events, 64, due == Instant::never() ? nullptr : &wait, nullptr);
      check(count >= 0 || errno == EINTR, "waiting for packets works");
      for (int i = 0; i < count; ++i) {
        if (events[i].data.u64 == kInput) {
          take_lines();
        } else {
          take_packets(events[i].data.u64);
        }
      }
      deliver();
    }
  }

 private:
  bool watch(int fd, uint64_t name) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = name;
    return ::epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void take_lines() {
    char bytes[4096];
    const ssize_t size = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) return;
    ended_ = size <= 0;
    if (!ended_) input_.append(bytes, static_cast<std::size_t>(size));
    check(input_.size() < kMaxLine, "a line of the script is short");
    for (std::size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
      const std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      const Result<std::string> shown = line.starts_with("node ") ? add_node(line) : script_.run(line);
      std::cout << (shown ? *shown + "ok" : "error: " + shown.error().message) << std::endl;
    }
  }

  Result<std::string> add_node(const std::string& line) {
    BW_TRY(const auto node, Script::parse_node(line));
    if (script_.knows(node.name)) return fail(Errc::kExists, "there is a node '" + node.name + "' already");
    if (devices_.size() == Links::kMaxNodes) return fail(Errc::kTooLarge, "there are too many nodes");
    Addresses addresses = addresses_;  // of the world with this node, which may not come about
    for (const std::string& address : node.addresses) {
      BW_RETURN_IF_ERROR(addresses.add(address, devices_.size()));
    }
    BW_TRY(const auto device, open_device(node.network_namespace));
    addresses_ = std::move(addresses);
    const std::size_t number = script_.add_node(node.name);
    devices_.push_back(device);
    if (!watch(device, number)) return fail_errno(errno, "the device cannot be watched");
    return std::string();
  }

  void take_packets(std::size_t from) {
    for (int i = 0; i < kPacketsATurn; ++i) {
      const ssize_t size = ::read(devices_[from], packet_.data(), packet_.size());
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (size <= 0) {  // its namespace is gone
        ::epoll_ctl(poll_, EPOLL_CTL_DEL, devices_[from], nullptr);
        return;
      }
      const Bytes packet(packet_.data(), static_cast<std::size_t>(size));
      const std::optional<std::size_t> to = addresses_.destination(packet);
      if (to) links_.offer(now(), from, *to, packet);
    }
  }

  void deliver() {
    while (auto delivery = links_.take(now())) {
      // A node whose device is down or full loses the packet, as it would on a wire.
      [[maybe_unused]] const ssize_t written =
          ::write(devices_[delivery->to], delivery->packet.data(), delivery->packet.size());
    }
  }

  Links links_;
  Script script_;
  Addresses addresses_;
  std::vector<int> devices_;
  std::vector<std::byte> packet_;
  std::string input_;
  int poll_ = -1;
  bool ended_ = false;
};

}  // namespace
}  // namespace bellwether::router

int main(int count, char** arguments) {
  const auto seed = bellwether::parse_u64(count > 1 ? arguments[1] : "1");
  if (!seed || count > 2) {
    std::cerr << "usage: cluster_router [SEED] < SCRIPT\n";
    return 2;
  }
  bellwether::router::Router(*seed).run();
  return 0;
}
