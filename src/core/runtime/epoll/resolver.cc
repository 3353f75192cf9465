#include "core/runtime/epoll/resolver.h"

#include <algorithm>
#include <ares.h>
#include <arpa/nameser.h>
#include <cstdint>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/time.h>

namespace bellwether::runtime {
namespace {

constexpr std::size_t kHeader = 12;
constexpr std::size_t kQuestionTail = 4;  // type, class
constexpr std::size_t kRecordTail = 10;   // type, class, time to live, length of the data
constexpr std::size_t kMaxLabel = 63;
constexpr unsigned kPointer = 0xc0;

unsigned octet(Bytes bytes, std::size_t at) { return std::to_integer<unsigned>(bytes[at]); }
unsigned number(Bytes bytes, std::size_t at) { return octet(bytes, at) << 8 | octet(bytes, at + 1); }

// Takes a name off the front: labels up to the empty one, or up to a pointer to the rest, which is not followed.
bool skip_name(Bytes& bytes) {
  while (!bytes.empty()) {
    const unsigned length = octet(bytes, 0);
    const bool is_pointer = (length & kPointer) == kPointer;
    if (!is_pointer && length > kMaxLabel) return false;
    const std::size_t size = is_pointer ? 2 : 1 + length;
    if (size > bytes.size()) return false;
    bytes = bytes.subspan(size);
    if (is_pointer || length == 0) return true;
  }
  return false;
}

// Why a look-up failed, and what helps. The texts of the library name neither.
std::string reason_of(int status) {
  switch (status) {
    case ARES_ENOTFOUND: return "the name does not exist; check its spelling, or add it to DNS or /etc/hosts";
    case ARES_SUCCESS:
    case ARES_ENODATA: return "the name exists, but has no entry of the kind that is needed";
    case ARES_EBADNAME: return "it cannot be a name: a name has parts of 1 to 63 characters with dots between";
    case ARES_ETIMEOUT: return "no name server answered; check the network and /etc/resolv.conf";
    case ARES_ECONNREFUSED: return "no name server accepts questions; check /etc/resolv.conf";
    case ARES_ESERVFAIL: return "the name server failed; try again, or name another one in /etc/resolv.conf";
    case ARES_EREFUSED: return "the name server refused to answer; name another one in /etc/resolv.conf";
    default: return fmt::format("the answer of the name server cannot be used (c-ares {})", status);
  }
}

}  // namespace

std::optional<Duration> least_ttl(Bytes reply) {
  if (reply.size() < kHeader) return std::nullopt;
  const unsigned questions = number(reply, 4);
  const unsigned answers = number(reply, 6);
  reply = reply.subspan(kHeader);
  std::optional<Duration> least;
  for (unsigned i = 0; i < questions + answers; ++i) {
    const bool is_answer = i >= questions;
    const std::size_t tail = is_answer ? kRecordTail : kQuestionTail;
    if (!skip_name(reply) || reply.size() < tail) return std::nullopt;
    std::size_t size = tail;
    if (is_answer) {
      const Duration ttl = Duration::seconds(int64_t{number(reply, 4)} << 16 | number(reply, 6));
      least = std::min(least.value_or(ttl), ttl);
      size += number(reply, 8);
    }
    if (reply.size() < size) return std::nullopt;
    reply = reply.subspan(size);
  }
  return least;
}

struct Resolver::Entry {
  Resolver* resolver = nullptr;
  std::string name;
  bool is_service = false;
  bool asking = false;
  Instant good_until;
  Result<std::vector<IpAddress>> answer;     // to a name
  Result<std::vector<ServicePlace>> places;  // of a service
  std::list<RunQueue::Entry*> waiters;
};

class Resolver::Socket final : public EventSource {
 public:
  Socket(Resolver& resolver, int fd) : resolver_(resolver), fd_(fd) {}
  void on_events(uint32_t events) override {
    if (closed) return;
    const bool wrong = (events & (EPOLLERR | EPOLLHUP)) != 0;
    resolver_.process((events & EPOLLIN) != 0 || wrong ? fd_ : ARES_SOCKET_BAD,
                      (events & EPOLLOUT) != 0 ? fd_ : ARES_SOCKET_BAD);
  }
  bool closed = false;

 private:
  Resolver& resolver_;
  int fd_;
};

class Resolver::Answer {
 public:
  Answer(Entry& entry, Cancellation* cancel) : entry_(entry), on_cancel_(cancel, &Answer::cancelled, this) {}
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() { entry_.waiters.remove(&queue_entry_); }
  bool await_ready() const { return !entry_.asking || cancelled_; }
  void await_suspend(std::coroutine_handle<> waiting) {
    queue_entry_.handle = waiting;
    entry_.waiters.push_back(&queue_entry_);
  }
  bool await_resume() const { return !cancelled_; }

 private:
  static void cancelled(void* self) {
    auto* answer = static_cast<Answer*>(self);
    answer->cancelled_ = true;
    if (answer->queue_entry_.handle && !answer->queue_entry_.queued()) RunQueue::local().push(answer->queue_entry_);
    answer->entry_.waiters.remove(&answer->queue_entry_);
  }
  Entry& entry_;
  bool cancelled_ = false;
  RunQueue::Entry queue_entry_;
  CancelCallback on_cancel_;
};

Resolver::Resolver(EpollRuntime& runtime, std::vector<Endpoint> name_servers)
    : runtime_(runtime),
      name_servers_(std::move(name_servers)),
      timer_([](void* self) { static_cast<Resolver*>(self)->process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); }, this) {}

Resolver::~Resolver() {
  if (channel_ != nullptr) ares_destroy(channel_);
}

Status Resolver::start() {
  if (channel_ != nullptr) return {};
  ares_options options{};
  options.timeout = 2000;  // ms, doubled with each try
  options.tries = 3;
  options.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
    static_cast<Resolver*>(self)->watch(fd, readable != 0, writable != 0);
  };
  options.sock_state_cb_data = this;
  const int result =
      ares_init_options(&channel_, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
  if (result == ARES_SUCCESS) return name_servers_.empty() ? Status{} : set_name_servers();
  channel_ = nullptr;
  return fail(Errc::kDns, "name resolution cannot start (c-ares {}); check /etc/resolv.conf", result);
}

Status Resolver::set_name_servers() {
  std::vector<ares_addr_port_node> nodes(name_servers_.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto [address, port] = name_servers_[i];
    nodes[i].next = i + 1 < nodes.size() ? &nodes[i + 1] : nullptr;
    nodes[i].family = address.is_v4() ? AF_INET : AF_INET6;
    nodes[i].udp_port = nodes[i].tcp_port = port;
    if (address.is_v4()) {
      nodes[i].addr.addr4.s_addr = htonl(address.v4_value());
    } else {
      std::memcpy(&nodes[i].addr.addr6, address.octets().data(), 16);
    }
  }
  const int result = ares_set_servers_ports(channel_, nodes.data());
  if (result == ARES_SUCCESS) return {};
  return fail(Errc::kDns, "the name servers cannot be used (c-ares {})", result);
}

task<Result<std::vector<IpAddress>>> Resolver::resolve(std::string name, Cancellation* cancel) {
  if (auto literal = IpAddress::parse(name)) co_return std::vector<IpAddress>{*literal};
  const std::shared_ptr<Entry> kept = entry_of({name, false});
  Entry& entry = *kept;
  BW_CO_RETURN_IF_ERROR(ask(entry));
  const bool answered = co_await Answer(entry, cancel);
  if (!answered) co_return fail(Errc::kCancelled, "resolving '{}' was cancelled", name);
  co_return entry.answer;
}

task<Result<std::vector<ServicePlace>>> Resolver::resolve_service(std::string name, Cancellation* cancel) {
  const std::shared_ptr<Entry> kept = entry_of({name, true});
  Entry& entry = *kept;
  BW_CO_RETURN_IF_ERROR(ask(entry));
  const bool answered = co_await Answer(entry, cancel);
  if (!answered) co_return fail(Errc::kCancelled, "resolving '{}' was cancelled", name);
  co_return entry.places;
}

// The waiter keeps it: the table may forget it between the answer and the next turn of the loop.
std::shared_ptr<Resolver::Entry> Resolver::entry_of(const Question& question) {
  std::shared_ptr<Entry>& slot = names_[question];
  if (slot == nullptr) {
    slot = std::make_shared<Entry>();
    slot->resolver = this;
    slot->name = question.first;
    slot->is_service = question.second;
    if (names_.size() > kMaxNames) forget_oldest();
  }
  return slot;
}

// Entries with waiters or a query under way stay: others point to them.
void Resolver::forget_oldest() {
  auto oldest = names_.end();
  for (auto it = names_.begin(); it != names_.end(); ++it) {
    if (it->second->asking || !it->second->waiters.empty() || it->second->good_until == Instant()) continue;
    if (oldest == names_.end() || it->second->good_until < oldest->second->good_until) oldest = it;
  }
  if (oldest != names_.end()) names_.erase(oldest);
}

// Nothing when the answer is known, or asked for already.
Status Resolver::ask(Entry& entry) {
  if (entry.asking || entry.good_until > runtime_.now()) return {};
  BW_RETURN_IF_ERROR(start());
  entry.asking = true;
  closed_.clear();  // none of their events can be under way: no event calls this
  if (entry.is_service) {
    const auto on_reply = [](void* context, int status, int, unsigned char* reply, int size) {
      auto* asked = static_cast<Entry*>(context);
      asked->resolver->settle_service(*asked, status, reply, size);
    };
    ares_query(channel_, entry.name.c_str(), ns_c_in, ns_t_srv, on_reply, &entry);
  } else {
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    const auto on_answer = [](void* context, int status, int, ares_addrinfo* found) {
      auto* asked = static_cast<Entry*>(context);
      asked->resolver->settle(*asked, status, found);
      if (found != nullptr) ares_freeaddrinfo(found);
    };
    ares_getaddrinfo(channel_, entry.name.c_str(), nullptr, &hints, on_answer, &entry);
  }
  rearm();
  return {};
}

void Resolver::settle(Entry& entry, int status, ares_addrinfo* found) {
  entry.asking = false;
  std::vector<IpAddress> addresses;
  int64_t ttl_s = kMaxKeep.ns() / 1'000'000'000;
  for (const ares_addrinfo_node* node = found != nullptr ? found->nodes : nullptr; node != nullptr;
       node = node->ai_next) {
    IpAddress address;
    if (node->ai_family == AF_INET) {
      address = IpAddress::v4(ntohl(reinterpret_cast<const sockaddr_in*>(node->ai_addr)->sin_addr.s_addr));
    } else if (node->ai_family == AF_INET6) {
      std::array<uint8_t, 16> octets;
      std::memcpy(octets.data(), &reinterpret_cast<const sockaddr_in6*>(node->ai_addr)->sin6_addr, 16);
      address = IpAddress::v6(octets);
    } else {
      continue;
    }
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) addresses.push_back(address);
    if (node->ai_ttl > 0) ttl_s = std::min<int64_t>(ttl_s, node->ai_ttl);
  }
  std::stable_partition(addresses.begin(), addresses.end(), [](const IpAddress& a) { return a.is_v4(); });
  if (addresses.empty()) {
    entry.answer = fail(Errc::kDns, "the name '{}' could not be resolved: {}", entry.name, reason_of(status));
    entry.good_until = runtime_.now() + kKeepFailure;
  } else {
    entry.answer = std::move(addresses);
    entry.good_until = runtime_.now() + std::max(kMinKeep, Duration::seconds(ttl_s));
  }
  wake(entry);
}

void Resolver::settle_service(Entry& entry, int status, const unsigned char* reply, int size) {
  entry.asking = false;
  ares_srv_reply* found = nullptr;
  if (status == ARES_SUCCESS) status = ares_parse_srv_reply(reply, size, &found);
  std::vector<ServicePlace> places;
  for (const ares_srv_reply* one = found; one != nullptr && places.size() < kMaxPlaces; one = one->next) {
    const std::string host = one->host == nullptr ? "" : one->host;
    if (host.empty() || host == "." || one->port == 0) continue;  // it is decidedly not offered
    places.push_back({one->priority, one->weight, host, one->port});
  }
  if (found != nullptr) ares_free_data(found);
  if (places.empty()) {
    entry.places = fail(Errc::kDns, "the service '{}' could not be resolved: {}", entry.name, reason_of(status));
    entry.good_until = runtime_.now() + kKeepFailure;
  } else {
    std::sort(places.begin(), places.end(), is_tried_before);
    entry.places = std::move(places);
    const Bytes whole(reinterpret_cast<const std::byte*>(reply), static_cast<std::size_t>(size));
    const Duration ttl = least_ttl(whole).value_or(kMinKeep);
    entry.good_until = runtime_.now() + std::clamp(ttl, kMinKeep, kMaxKeep);
  }
  wake(entry);
}

void Resolver::wake(Entry& entry) {
  for (RunQueue::Entry* waiter : entry.waiters) {
    if (!waiter->queued()) RunQueue::local().push(*waiter);
  }
  entry.waiters.clear();
}

void Resolver::watch(int fd, bool readable, bool writable) {
  if (!readable && !writable) {
    runtime_.unwatch(fd);
    const auto found = sockets_.find(fd);
    if (found == sockets_.end()) return;
    found->second->closed = true;  // an event of this turn may still name it
    closed_.push_back(std::move(found->second));
    sockets_.erase(found);
    return;
  }
  std::unique_ptr<Socket>& socket = sockets_[fd];
  if (socket == nullptr) socket = std::make_unique<Socket>(*this, fd);
  // Level-triggered: c-ares reads as much as it likes. A failure to watch ends in the query's timeout.
  [[maybe_unused]] const Status watched =
      runtime_.watch(fd, socket.get(), (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u));
}

void Resolver::process(int readable_fd, int writable_fd) {
  ares_process_fd(channel_, readable_fd, writable_fd);
  rearm();
}

void Resolver::rearm() {
  timeval wanted{};
  if (ares_timeout(channel_, nullptr, &wanted) == nullptr) {
    timer_.disarm();
    return;
  }
  const Duration wait = Duration::micros(wanted.tv_sec * 1'000'000 + wanted.tv_usec) + Duration::millis(1);
  runtime_.timers().arm(timer_, runtime_.now() + wait);
}

}  // namespace bellwether::runtime
