// From the URL of a step to a complete, absolute URL.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "load/plan/plan.h"

namespace bellwether::plan {

// Puts `base` before a URL without scheme (with exactly one / between them), drops the fragment, adds the / of an empty
// path and percent-encodes forbidden characters. Error: no http:// or https://, no or an impossible host.
Status complete_url(Template& url, std::string_view base);

// Appends ?name=value or &name=value. REQUIRES a completed URL.
void append_query(Template& url, const Template& name, const Template& value);

// The value of the key `hosts`: IP or IP:PORT. Error: kInvalid.
Result<HostPlace> parse_host_place(std::string_view host, std::string_view place);

// The value of the key `local_ips`, added to `out`: IP, IP-IP or IP/BITS, several with commas. Error: kInvalid.
Status parse_local_ips(std::string_view text, std::vector<IpRange>& out);

}  // namespace bellwether::plan
