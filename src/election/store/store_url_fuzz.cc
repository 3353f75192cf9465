// Takes arbitrary text for the URL of a store: refused with words, or understood in bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "election/store/store_url.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto url = store::parse_store_url(text);
  check(url || !url.error().message.empty(), "a refusal says why");
  if (!url) return 0;
  check(url->text == text, "kept as it was given, for messages");
  for (const HostPort& host : url->hosts) check(!host.host.empty() && host.port != 0, "a host and a port");
  check(url->user.find(':') == std::string::npos || text.find("%3") != std::string_view::npos, "no password in a URL");
  while (!url->options.empty()) check(url->take(url->options.begin()->first).has_value(), "what is there can be taken");
  check(url->nothing_left("").has_value(), "then nothing is left");
  return 0;
}
