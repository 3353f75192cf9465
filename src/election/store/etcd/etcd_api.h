// Calls of etcd's v3 API: the login, the meaning of errors, and failover to another member.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "election/lease_record.h"
#include "election/store/web/web_client.h"

namespace bellwether::store {

// The JSON of etcd's gRPC gateway: requests and answers of its v3 API, without a connection.

// One claim in the queue of a key.
struct EtcdEntry {
  std::string key;    // the whole name: KEY/LEASE
  std::string value;  // any bytes
  uint64_t created = 0;
  uint64_t modified = 0;
  uint64_t lease = 0;
};

// The answer of a transaction that ends with the ranges of entries(): the queue, in order, and the note that a release
// or a steal has left for the heir.
struct EtcdAnswer {
  bool succeeded = false;
  std::string cluster;
  uint64_t revision = 0;
  std::vector<EtcdEntry> queue;
  std::optional<EtcdEntry> note;
};

// Builds a transaction: conditions, the operations if all of them hold, and the ranges that it always shows at the end.
class EtcdTransaction {
 public:
  // A name, or with an `end` all names from it up to before the end.
  struct Look {
    std::string from;
    std::string end;
  };
  explicit EtcdTransaction(std::vector<Look> looks) : looks_(std::move(looks)) {}
  // `key`: whose queue is shown. `note`: the name of its note.
  EtcdTransaction(const std::string& key, std::string note);
  void if_created(std::string_view name, uint64_t revision);   // 0: is not there
  void if_modified(std::string_view name, uint64_t revision);  // 0: is not there
  void put(std::string_view name, std::string_view value, uint64_t lease);
  void put_keeping_lease(std::string_view name, std::string_view value);
  void remove(std::string_view name);
  std::string body() const;

 private:
  void compare(std::string_view name, const char* what, uint64_t revision);
  std::vector<Look> looks_;
  std::vector<std::string> compares_;
  std::vector<std::string> operations_;
};

// The answer of a transaction with `looks` names or ranges to show: the entries of each.
struct EtcdShown {
  bool succeeded = false;
  std::string cluster;
  uint64_t revision = 0;
  std::vector<std::vector<EtcdEntry>> entries;
};
Result<EtcdShown> parse_shown(const std::string& body, std::size_t looks);

// `key`: whose queue was asked for. Names below it that are no claims are left out.
Result<EtcdAnswer> parse_transaction(const std::string& body, const std::string& key);

struct EtcdRange {
  std::string cluster;
  uint64_t revision = 0;
  std::vector<EtcdEntry> entries;
};
std::string range_body(std::string_view from, std::string_view end);
// Those of the range that were changed at `revision` or later, in the order in which they were, the first `most`.
std::string changes_body(std::string_view from, std::string_view end, uint64_t revision, std::size_t most);
// Without their values.
std::string names_body(std::string_view from, std::string_view end);
Result<EtcdRange> parse_range(const std::string& body);

std::string grant_body(int64_t seconds);
Result<uint64_t> parse_grant(const std::string& body);
std::string lease_body(uint64_t lease);
// The remaining seconds of the lease; 0: it has ended.
Result<int64_t> parse_keep_alive(const std::string& body);
// Changes of the names from `from` up to before `end`, from now on.
std::string watch_body(std::string_view from, std::string_view end);
// A line of the answer to it, as far as it concerns the queue of `key`.
struct EtcdNews {
  bool begins = false;    // the watch reports every event from here on
  bool over = false;      // nothing more comes
  uint64_t revision = 0;  // of the last change; 0: none
};
Result<EtcdNews> parse_watch(std::string_view line, const std::string& key);
// The removed names in a line, deleted or expired with their leases.
struct EtcdRemovals {
  bool begins = false;
  bool over = false;
  std::vector<std::string> names;
};
Result<EtcdRemovals> parse_removals(std::string_view line);

std::string authenticate_body(const std::string& user, const std::string& password);
Result<std::string> parse_authenticate(const std::string& body);
// The message of an answer that is no success.
std::string etcd_message(const std::string& body);

// The end of the range of all names that begin so.
std::string after_prefix(std::string prefix);
std::string lease_text(uint64_t lease);  // as etcdctl writes it: hexadecimal
// The key that a claim's name belongs to; empty when the name is not that of a claim.
std::string key_of_claim(std::string_view name);

// A claim's value in etcd: the record of its candidate, as JSON that people can read. Claims of other programs, such as
// `etcdctl elect`, have values of their own.

// Bytes that are no UTF-8 are replaced: the value is for people as much as for programs.
std::string etcd_value_of(const election::LeaseRecord& record);
// The record without its epoch; nothing when another program wrote the value.
std::optional<election::LeaseRecord> parse_etcd_value(std::string_view value);

struct EtcdLogin {
  std::vector<HostPort> hosts;
  std::string user;
  std::string password;
  std::shared_ptr<runtime::TlsContext> tls;
};

class EtcdApi {
 public:
  EtcdApi(runtime::Runtime& runtime, EtcdLogin login)
      : runtime_(runtime),
        user_(std::move(login.user)),
        password_(std::move(login.password)),
        web_(runtime, std::move(login.hosts), std::move(login.tls)) {}

  // The body of a good answer. kNotFound: the named lease has ended. `repeatable`: a second execution does no harm, so
  // the call is repeated, at another member, while members lose and elect their leader.
  runtime::task<Result<std::string>> call(std::string path, std::string body, bool repeatable, Instant deadline,
                                          runtime::Cancellation* cancel);

  // Follows the events of a watch; see WebClient::stream().
  runtime::task<Status> watch(std::string body, WebWatch& watch, Instant begin_by, Instant deadline);

 private:
  WebRequest request_for(const std::string& path, const std::string& body) const;
  runtime::task<Status> authenticate(Instant deadline, runtime::Cancellation* cancel);
  runtime::task<Result<std::string>> call_once(const std::string& path, const std::string& body, bool repeatable,
                                               Instant deadline, runtime::Cancellation* cancel);
  Error error_of(const WebResponse& response);

  runtime::Runtime& runtime_;
  std::string user_;
  std::string password_;
  std::string token_;
  WebClient web_;
};

}  // namespace bellwether::store
