// The floor of the comparisons: what the system calls of an HTTP/1.1 load cost when a program does nothing else. N
// keep-alive connections on one thread; the request is prebuilt, a response is only counted (the first tells how long
// all are). Prints one line of JSON: {"requests", "seconds", "user_s", "sys_s"}, set-up not included.

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr char kUsage[] = "usage: floor IPV4:PORT PATH [--connections N] [--duration SECONDS]";

struct Options {
  sockaddr_in server{};
  std::string request;
  unsigned connections = 64;
  double duration_s = 3;
};

struct Connection {
  int fd = -1;
  int64_t missing = 0;  // bytes of the response in flight
};

[[noreturn]] void die(const char* what, int error = 0) {
  std::fprintf(stderr, "floor: %s%s%s\n", what, error != 0 ? ": " : "", error != 0 ? std::strerror(error) : "");
  std::exit(1);
}

Options parse(int argc, char** argv) {
  if (argc < 3) die(kUsage);
  Options options;
  const std::string address = argv[1];
  const std::size_t colon = address.rfind(':');
  options.server.sin_family = AF_INET;
  if (colon == std::string::npos ||
      inet_pton(AF_INET, address.substr(0, colon).c_str(), &options.server.sin_addr) != 1) {
    die(kUsage);
  }
  options.server.sin_port = htons(static_cast<uint16_t>(std::atoi(address.c_str() + colon + 1)));
  options.request = std::string("GET ") + argv[2] + " HTTP/1.1\r\nHost: " + address + "\r\n\r\n";
  for (int i = 3; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) die(kUsage);
    if (name == "--connections") {
      options.connections = static_cast<unsigned>(std::atoi(argv[i + 1]));
    } else if (name == "--duration") {
      options.duration_s = std::atof(argv[i + 1]);
    } else {
      die(kUsage);
    }
  }
  if (options.connections == 0 || options.duration_s <= 0) die(kUsage);
  return options;
}

int connect_to(const sockaddr_in& server) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) die("no socket", errno);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) die("cannot connect", errno);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void send_request(int fd, const std::string& request) {
  const ssize_t sent = send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(request.size())) die("the request was not sent whole", sent < 0 ? errno : 0);
}

// One exchange with blocking calls: the length of head and body, which all later responses must have too.
int64_t response_length(const Options& options) {
  const int fd = connect_to(options.server);
  send_request(fd, options.request);
  std::string head;
  std::size_t end = std::string::npos;
  while ((end = head.find("\r\n\r\n")) == std::string::npos) {
    std::array<char, 4096> part;
    const ssize_t got = recv(fd, part.data(), part.size(), 0);
    if (got <= 0) die("the server closed before its first response was complete", got < 0 ? errno : 0);
    head.append(part.data(), static_cast<std::size_t>(got));
  }
  close(fd);
  if (!head.starts_with("HTTP/1.1 200 ")) die("the first response is not 'HTTP/1.1 200'");
  const char* length = strcasestr(head.c_str(), "\r\nContent-Length:");
  if (length == nullptr) die("the first response has no Content-Length");
  return static_cast<int64_t>(end) + 4 + std::atoll(length + std::strlen("\r\nContent-Length:"));
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Takes what has arrived. True when that completes the response.
bool receive(Connection& connection) {
  static std::array<char, 65536> buffer;
  ssize_t got = 0;
  do {
    got = recv(connection.fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) die("the server closed a connection", got < 0 ? errno : 0);
    connection.missing -= got;
  } while (got == static_cast<ssize_t>(buffer.size()));  // a short read has emptied the socket
  if (connection.missing < 0) die("a response is longer than the first one");
  return connection.missing == 0;
}

uint64_t run(std::vector<Connection>& connections, const Options& options, int64_t length,
             std::chrono::steady_clock::time_point end) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) die("no epoll", errno);
  for (Connection& connection : connections) {
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.ptr = &connection}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, connection.fd, &event) != 0) die("epoll_ctl", errno);
    connection.missing = length;
    send_request(connection.fd, options.request);
  }
  uint64_t requests = 0;
  std::array<epoll_event, 256> events;
  while (std::chrono::steady_clock::now() < end) {
    const int ready = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 100);
    for (int i = 0; i < ready; ++i) {
      auto& connection = *static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (!receive(connection)) continue;
      ++requests;
      connection.missing = length;
      send_request(connection.fd, options.request);
    }
  }
  return requests;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const int64_t length = response_length(options);
  std::vector<Connection> connections(options.connections);
  for (Connection& connection : connections) {
    connection.fd = connect_to(options.server);
    fcntl(connection.fd, F_SETFL, O_NONBLOCK);
  }

  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  const auto start = std::chrono::steady_clock::now();
  const uint64_t requests = run(connections, options, length,
                                start + std::chrono::nanoseconds(static_cast<int64_t>(options.duration_s * 1e9)));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  getrusage(RUSAGE_SELF, &after);
  std::printf("{\"requests\": %llu, \"seconds\": %.6f, \"user_s\": %.6f, \"sys_s\": %.6f}\n",
              static_cast<unsigned long long>(requests), elapsed.count(),
              seconds(after.ru_utime) - seconds(before.ru_utime), seconds(after.ru_stime) - seconds(before.ru_stime));
  return 0;
}
