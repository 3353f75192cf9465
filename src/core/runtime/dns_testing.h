// A name server for tests, on a separate thread: answers A, AAAA and SRV questions from tables. It does not answer
// names that begin with "silent"; names that are not in the table do not exist.
#pragma once

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "core/base/check.h"
#include "core/runtime/address.h"
#include "core/runtime/epoll/sockets.h"

namespace bellwether::runtime {

class TestNameServer {
 public:
  using Table = std::map<std::string, std::vector<IpAddress>>;

  using Services = std::map<std::string, std::vector<ServicePlace>>;

  explicit TestNameServer(Table table, uint32_t ttl_s = 60, Services services = {})
      : table_(std::move(table)), services_(std::move(services)), ttl_s_(ttl_s) {
    fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const SocketAddress any({IpAddress::loopback(), 0}, true);
    check(fd_ >= 0 && ::bind(fd_, any.get(), any.size()) == 0, "the loopback interface has ports");
    thread_ = std::thread([this] { serve(); });
  }
  ~TestNameServer() {
    const SocketAddress self(endpoint(), true);
    ::sendto(fd_, "", 0, 0, self.get(), self.size());  // an empty datagram ends the thread
    thread_.join();
    ::close(fd_);
  }
  TestNameServer(const TestNameServer&) = delete;
  TestNameServer& operator=(const TestNameServer&) = delete;

  Endpoint endpoint() const { return local_endpoint(fd_); }
  // Questions for IPv4 addresses and for services so far. One that is repeated, because the answer is late, counts
  // once.
  int asked() const { return asked_; }

 private:
  void serve() {
    char packet[512];
    while (true) {
      SocketAddress from;
      const ssize_t size = ::recvfrom(fd_, packet, sizeof packet, 0, from.fill(), from.fill_size());
      if (size == 0) return;
      if (size < 17) continue;
      const std::string reply = answer(std::string(packet, static_cast<std::size_t>(size)));
      if (!reply.empty()) ::sendto(fd_, reply.data(), reply.size(), 0, from.get(), from.size());
    }
  }

  std::string answer(const std::string& question) {
    std::string name;
    std::size_t at = 12;
    while (at < question.size() && question[at] != 0) {
      const auto length = static_cast<std::size_t>(question[at]);
      if (!name.empty()) name += '.';
      name += question.substr(at + 1, length);
      at += 1 + length;
    }
    const char type = question.at(at + 2);
    if (type != kIpv6 && seen_.insert(question).second) ++asked_;
    if (name.starts_with("silent")) return {};
    std::vector<std::string> data;
    if (const auto found = table_.find(name); found != table_.end()) {
      for (const IpAddress& address : found->second) {
        const auto& octets = address.octets();
        if (type == (address.is_v4() ? kIpv4 : kIpv6)) {
          data.emplace_back(octets.begin() + (type == kIpv4 ? 12 : 0), octets.end());
        }
      }
    }
    if (const auto found = services_.find(name); found != services_.end() && type == kService) {
      for (const ServicePlace& place : found->second) data.push_back(service(place));
    }
    const bool exists = table_.count(name) + services_.count(name) > 0;
    std::string reply = question.substr(0, 2) + '\x81' + (exists ? '\x80' : '\x83');
    reply += std::string("\0\x01\0", 3) + static_cast<char>(data.size()) + std::string(4, '\0');
    reply += question.substr(12, at + 5 - 12);
    for (const std::string& one : data) {
      reply += std::string("\xc0\x0c\0", 3) + type + std::string("\0\x01", 2) + number(ttl_s_ >> 16);
      reply += number(ttl_s_) + number(static_cast<uint32_t>(one.size())) + one;
    }
    return reply;
  }

  static std::string number(uint32_t value) { return {static_cast<char>(value >> 8), static_cast<char>(value)}; }

  static std::string service(const ServicePlace& place) {
    std::string data = number(place.priority) + number(place.weight) + number(place.port);
    for (std::string rest = place.host; !rest.empty() && rest != ".";) {
      const std::string label = rest.substr(0, rest.find('.'));
      rest.erase(0, label.size() + 1);
      data += static_cast<char>(label.size()) + label;
    }
    return data + '\0';
  }

  static constexpr char kIpv4 = 1;
  static constexpr char kIpv6 = 28;
  static constexpr char kService = 33;

  Table table_;
  Services services_;
  uint32_t ttl_s_;
  int fd_ = -1;
  std::set<std::string> seen_;  // of the thread
  std::atomic<int> asked_{0};
  std::thread thread_;
};

}  // namespace bellwether::runtime
