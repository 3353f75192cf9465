// A name server for tests, on a thread of its own: answers A and AAAA questions from a table. Names that begin with
// "silent" are not answered, names that are not in the table do not exist.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/check.h"
#include "runtime/socket_address.h"

namespace bellwether::runtime {

class TestNameServer {
 public:
  using Table = std::map<std::string, std::vector<IpAddress>>;

  explicit TestNameServer(Table table, uint32_t ttl_s = 60) : table_(std::move(table)), ttl_s_(ttl_s) {
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
  // Questions for IPv4 addresses so far.
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
    const bool v4 = question.at(at + 2) == 1;
    if (v4) ++asked_;
    if (name.starts_with("silent")) return {};
    const auto found = table_.find(name);
    std::string records;
    int count = 0;
    for (const IpAddress& address : found == table_.end() ? std::vector<IpAddress>{} : found->second) {
      if (address.is_v4() != v4) continue;
      const auto& octets = address.octets();
      const std::string data(octets.begin() + (v4 ? 12 : 0), octets.end());
      records += std::string("\xc0\x0c\0", 3) + (v4 ? '\x01' : '\x1c') + std::string("\0\x01", 2);
      for (const int shift : {24, 16, 8, 0}) records += static_cast<char>(ttl_s_ >> shift);
      records += '\0';
      records += static_cast<char>(data.size());
      records += data;
      ++count;
    }
    std::string reply = question.substr(0, 2) + '\x81' + (found == table_.end() ? '\x83' : '\x80');
    reply += std::string("\0\x01\0", 3) + static_cast<char>(count) + std::string(4, '\0');
    return reply + question.substr(12, at + 5 - 12) + records;
  }

  Table table_;
  uint32_t ttl_s_;
  int fd_ = -1;
  std::atomic<int> asked_{0};
  std::thread thread_;
};

}  // namespace bellwether::runtime
