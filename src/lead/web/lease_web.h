// The leases of a store as a web page: their holders, and the acts of the command line. One thread; requests are
// answered side by side and guarded (core/web/http_server.h).
#pragma once

#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "election/lease_record.h"

namespace bellwether::lead {

// The page of the leases of a store, as HTML and as JSON. Complete in itself: no script, no picture, nothing from
// elsewhere; light or dark as the reader's system is. All content of a store is shown as text, with any bytes. Pure.

struct PageLease {
  std::string key;
  election::Observation seen;
};

// Something that was asked for through the page.
struct PageAct {
  WallTime at;
  std::string who;
  std::string asked;    // "transfer k to b"
  std::string outcome;  // "asked a (epoch 4) to hand over"
  bool done = false;
};

struct LeasePage {
  std::string store;   // as LeaseStore::describe() says
  std::string prefix;  // of the keys shown
  std::vector<PageLease> leases;
  bool more = false;    // there are more than are shown
  std::string trouble;  // why no leases could be read; empty when they could
  std::vector<PageAct> acts;
  bool read_only = false;
  std::string form_secret;  // of forms that act (core/web/http_server.h)
  std::string style_nonce;
  int refresh_s = 0;  // reload time in seconds; 0: only on request
  WallTime now;
};

std::string html_of(const LeasePage& page);
std::string json_of(const LeasePage& page);

// The policy that browsers enforce on the page: only its own style, no frame around it, forms to itself only.
std::string content_policy(const std::string& style_nonce);

// A text of any bytes for HTML, also within quotes. Control characters, line ends and bytes that are not UTF-8 appear
// as \xNN.
std::string html_text(std::string_view text);

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
