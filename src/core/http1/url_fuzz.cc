// Takes arbitrary text for a URL and for a reference: refused, or fit to be sent and stable when taken again.
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/http1/url.h"

namespace bellwether::http1 {
namespace {

void check_url(const Url& url) {
  check(!url.host.empty() && url.port != 0, "a host and a port");
  check(url.path_and_query.starts_with('/'), "a target for the request line");
  for (const std::string* text : {&url.host, &url.path_and_query, &url.authority}) {
    for (const char c : *text) check(static_cast<unsigned char>(c) > ' ' && c != '\x7f' && c != '#', "fit to be sent");
  }
  check(url.authority.find('@') == std::string::npos, "no user names");
  const auto normal = resolve(url, "");
  check(normal && normal->tls == url.tls && iequals(normal->host, url.host) && normal->port == url.port,
        "a URL refers to its own place");
  const auto again = parse_url((normal->tls ? "https://" : "http://") + normal->authority + normal->path_and_query);
  check(again && again->host == normal->host && again->port == normal->port &&
            resolve(*again, "")->path_and_query == normal->path_and_query,
        "a URL written out is the same URL");
}

}  // namespace
}  // namespace bellwether::http1

// The input: a URL and, on further lines, references to follow from there, one after the other.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::http1;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view first = text.substr(0, text.find('\n'));
  UrlView view;
  auto url = parse_url(first);
  check(url.has_value() == (split_url(first, view) == Errc::kOk), "both ways of splitting agree");
  check(url || !url.error().message.empty(), "a refusal says why");
  if (!url) url = parse_url("http://example.org/a/b?c");
  check_url(*url);
  text.remove_prefix(first.size());
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view reference = text.substr(0, text.find('\n'));
    text.remove_prefix(reference.size());
    const auto next = resolve(*url, reference);
    if (!next) continue;
    check_url(*next);
    url = next;
  }
  return 0;
}
