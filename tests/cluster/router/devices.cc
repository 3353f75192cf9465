#include "router/devices.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace bellwether::router {
namespace {

constexpr std::size_t kV4Header = 20;
constexpr std::size_t kV4Destination = 16;
constexpr std::size_t kV6Header = 40;
constexpr std::size_t kV6Destination = 24;

// A device belongs to the namespace in which the thread is when it opens the file.
Result<int> open_here() {
  const int device = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) return fail_errno(errno, "/dev/net/tun cannot be opened");
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::strncpy(request.ifr_name, kDeviceName, IFNAMSIZ - 1);
  if (::ioctl(device, TUNSETIFF, &request) == 0) return device;
  const auto wrong = fail_errno(errno, "a TUN device cannot be made");
  ::close(device);
  return wrong;
}

}  // namespace

Result<int> open_device(const std::string& network_namespace) {
  const int home = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (home < 0) return fail_errno(errno, "/proc/self/ns/net cannot be opened");
  const int there = ::open(("/run/netns/" + network_namespace).c_str(), O_RDONLY | O_CLOEXEC);
  Result<int> device = fail(Errc::kNotFound, "there is no network namespace '" + network_namespace + "'");
  if (there >= 0) {
    device = ::setns(there, CLONE_NEWNET) == 0 ? open_here() : fail_errno(errno, "the namespace cannot be entered");
    ::close(there);
    if (::setns(home, CLONE_NEWNET) != 0) device = fail_errno(errno, "the way back to the own namespace is closed");
  }
  ::close(home);
  return device;
}

Status Addresses::add(std::string_view address, std::size_t node) {
  const std::string text(address);
  Octets octets{};
  octets[10] = octets[11] = 0xff;
  if (::inet_pton(AF_INET, text.c_str(), octets.data() + 12) != 1 &&
      ::inet_pton(AF_INET6, text.c_str(), octets.data()) != 1) {
    return fail(Errc::kInvalid, "'" + text + "' is no IP address");
  }
  if (nodes_.emplace(octets, node).second) return {};
  return fail(Errc::kExists, "another node has the address " + text);
}

std::optional<std::size_t> Addresses::destination(Bytes packet) const {
  if (packet.empty()) return std::nullopt;
  const auto* raw = reinterpret_cast<const uint8_t*>(packet.data());
  Octets octets{};
  if (raw[0] >> 4 == 4 && packet.size() >= kV4Header) {
    octets[10] = octets[11] = 0xff;
    std::copy_n(raw + kV4Destination, 4, octets.begin() + 12);
  } else if (raw[0] >> 4 == 6 && packet.size() >= kV6Header) {
    std::copy_n(raw + kV6Destination, 16, octets.begin());
  } else {
    return std::nullopt;
  }
  const auto found = nodes_.find(octets);
  if (found == nodes_.end()) return std::nullopt;
  return found->second;
}

}  // namespace bellwether::router
