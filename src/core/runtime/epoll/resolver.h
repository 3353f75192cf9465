// Names to addresses, and services to names, without blocking the loop: c-ares, with a cache. The hosts file and
// address literals are answered without a query; both IPv4 and IPv6 are asked for.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/time.h"
#include "core/runtime/epoll/epoll_runtime.h"

struct ares_addrinfo;
struct ares_channeldata;

namespace bellwether::runtime {

// How long a reply may be used, which the library for names does not report: the least time to live among its answers
// (RFC 1035, section 4.1). Nothing when the reply is broken or answers nothing. Accepts bytes from anywhere.
std::optional<Duration> least_ttl(Bytes reply);

class Resolver {
 public:
  // Answers are kept for their time to live, within these bounds. Failures are kept for a second, so that not every
  // connection asks again for a name that does not exist.
  static constexpr Duration kMinKeep = Duration::seconds(1);
  static constexpr Duration kMaxKeep = Duration::minutes(5);
  static constexpr Duration kKeepFailure = Duration::seconds(1);
  static constexpr std::size_t kMaxNames = 1024;
  static constexpr std::size_t kMaxPlaces = 256;  // of one service; more are left out

  // Without name servers: those of the system.
  Resolver(EpollRuntime& runtime, std::vector<Endpoint> name_servers);
  ~Resolver();

  // IPv4 addresses first. Errors: kDns with the name and the reason, kCancelled.
  task<Result<std::vector<IpAddress>>> resolve(std::string name, Cancellation* cancel);
  // Best first, never empty. Errors: the same.
  task<Result<std::vector<ServicePlace>>> resolve_service(std::string name, Cancellation* cancel);

 private:
  struct Entry;  // one name: its answer, or its waiters
  class Socket;  // a descriptor of c-ares on the loop
  class Answer;  // a waiter
  Status start();
  Status set_name_servers();
  // A question: a name, and whether its services are meant.
  using Question = std::pair<std::string, bool>;
  std::shared_ptr<Entry> entry_of(const Question& question);
  Status ask(Entry& entry);
  void settle(Entry& entry, int status, ares_addrinfo* found);
  void settle_service(Entry& entry, int status, const unsigned char* reply, int size);
  void wake(Entry& entry);
  void watch(int fd, bool readable, bool writable);
  void process(int readable_fd, int writable_fd);
  void rearm();
  void forget_oldest();

  EpollRuntime& runtime_;
  std::vector<Endpoint> name_servers_;
  ares_channeldata* channel_ = nullptr;
  std::map<Question, std::shared_ptr<Entry>> names_;  // shared with the waiters
  std::map<int, std::unique_ptr<Socket>> sockets_;
  std::vector<std::unique_ptr<Socket>> closed_;  // kept until the loop has left them
  Timer timer_;
};

}  // namespace bellwether::runtime
