// bellwether lease serve: the leases of a store as a web page.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/lease_commands.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "core/base/bytes.h"
#include "lead/web/lease_web.h"

namespace bellwether::cli {
namespace {

constexpr uint64_t kSecretBytesMax = 4096;

struct LeaseServeArguments {
  lead::LeaseWebOptions options;
  std::string secret_file;
};

int serve(LeaseServeArguments& given) {
  if (!given.secret_file.empty()) {
    auto secret = read_whole_file(given.secret_file, kSecretBytesMax);
    if (!secret) return refuse("lease", secret.error().message);
    while (secret->ends_with('\n') || secret->ends_with('\r')) secret->pop_back();
    if (secret->empty()) return refuse("lease", "'" + given.secret_file + "' is empty");
    given.options.bearer = *secret;
  }
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) return refuse("lease", runtime.error().message);
  return lead::serve_leases(**runtime, given.options);
}

}  // namespace

void add_lease_serve(CLI::App* lease, int& exit_code) {
  auto given = std::make_shared<LeaseServeArguments>();
  lead::LeaseWebOptions& options = given->options;
  CLI::App* verb = new_verb(*lease, "serve", "A web page of all keys: who holds them; hand over, take away");
  verb->add_option("--via", options.via, "Where the leases are kept")->required()->type_name("URL");
  verb->add_option("--listen", options.listen, "Where the page is (default 127.0.0.1:8461; port 0: a free one)")
      ->type_name("HOST:PORT");
  verb->add_option("--name", options.names,
                   "Another host name under which it is asked for, as behind a\n"
                   "proxy; may be given again; needs --secret-file or --read-only")
      ->type_name("HOST")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  verb->add_option("--secret-file", given->secret_file,
                   "Every request must carry what is in this file; required\n"
                   "where other machines reach the page")
      ->type_name("FILE");
  verb->add_flag("--read-only", options.read_only, "Show, and change nothing");
  verb->add_option("--most", options.most, "At most so many keys on the page (default 1,000)")
      ->check(CLI::Range(1, 100'000));
  verb->add_option("--audit", options.audit_file, "Append what is asked for through the page to this file, as JSON")
      ->type_name("FILE");
  add_duration(verb, "--store-timeout", options.timeout, "Wait so long for the store (default 5s)");
  verb->footer(
      "GET / is the page, GET /leases.json the same as JSON. What acts on a key names the epoch that was seen, and is\n"
      "refused when that is over. The holder is told who asked. Whoever reaches the page acts with the rights that "
      "this\n"
      "process has in the store; without a secret that is every user of this machine. A secret is sent as "
      "'Authorization: Bearer SECRET', "
      "or\n"
      "typed in as the password for which the browser asks; it goes over the network as it is, so put a proxy with "
      "TLS\n"
      "in front where that is not your own.\n\n"
      "Example:\n"
      "  bellwether lease serve --via redis://10.0.0.5 --audit /var/log/leases.json\n\n"
      "Exit codes: 0 ended by a signal, 104 wrong command line, store or address.");
  verb->callback([given, &exit_code] { exit_code = serve(*given); });
}

}  // namespace bellwether::cli
