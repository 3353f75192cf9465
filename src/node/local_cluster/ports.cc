#include "node/local_cluster/ports.h"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bellwether::local_cluster {
namespace {

// Below the ports that systems give to outgoing connections.
constexpr unsigned kLowestPort = 15'000;
constexpr unsigned kHighestPort = 32'000;
constexpr int kPortTries = 200;

bool is_free(int kind, uint16_t port) {
  const int fd = ::socket(AF_INET, kind | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int yes = 1;
  if (kind == SOCK_STREAM) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  ::close(fd);
  return bound;
}

}  // namespace

Status check_ports(const LocalNode& node) {
  const auto taken = [&](uint16_t port, const char* kind) {
    return fail(Errc::kRefused, "port " + std::to_string(port) + " (" + kind + ") of 127.0.0.1, which is for '" +
                                    node.name +
                                    "', is taken by another process: end that one, or begin a new cluster "
                                    "with another --base-port");
  };
  if (!is_free(SOCK_STREAM, node.port)) return taken(node.port, "TCP");
  if (!is_free(SOCK_DGRAM, node.port)) return taken(node.port, "UDP");
  if (!is_free(SOCK_STREAM, node.http_port)) return taken(node.http_port, "TCP");
  return {};
}

Result<Layout> place(const Shape& shape, std::optional<uint16_t> base_port, Prng& prng) {
  if (base_port) {
    if (*base_port == 0 || *base_port + ports_of(shape) > 65'536) {
      return fail(Errc::kInvalid, "--base-port " + std::to_string(*base_port) + ": " + std::to_string(ports_of(shape)) +
                                      " ports from there on are needed, and none is above 65535");
    }
    return make_layout(shape, *base_port);
  }
  for (int i = 0; i < kPortTries; ++i) {
    const auto base = static_cast<uint16_t>(prng.between(kLowestPort, kHighestPort - ports_of(shape)));
    Layout layout = make_layout(shape, base);
    const bool free = std::all_of(layout.nodes.begin(), layout.nodes.end(),
                                  [](const LocalNode& node) { return check_ports(node).has_value(); });
    if (free) return layout;
  }
  return fail(Errc::kExhausted, "no " + std::to_string(ports_of(shape)) +
                                    " ports in a row are free on 127.0.0.1: name the "
                                    "first of some with --base-port");
}

}  // namespace bellwether::local_cluster
