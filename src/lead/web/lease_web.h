// The leases of a store as a web page: their holders, and the acts of the command line. One thread; requests are
// answered side by side (http_server.h), and guarded (request_guard.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/runtime/epoll/epoll_runtime.h"

namespace bellwether::lead {

struct LeaseWebOptions {
  std::string via;                        // URL of the store
  std::string listen = "127.0.0.1:8461";  // port 0 takes a free one
  std::vector<std::string> names;         // further hosts that the page may be asked for under
  std::string bearer;                     // the operator's secret; required where others than this machine reach it,
                                          // and for acts under `names`
  bool read_only = false;
  std::size_t most = 1000;  // keys on the page
  Duration timeout = Duration::seconds(5);
  std::string audit_file;  // requests through the page, one JSON object a line; empty: none
};

// Until SIGINT or SIGTERM. The exit code of the process: 0, or 104 when it cannot be served as asked for. REQUIRES that
// no other thread runs yet.
int serve_leases(runtime::EpollRuntime& runtime, const LeaseWebOptions& options);

}  // namespace bellwether::lead
