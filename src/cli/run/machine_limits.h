// The needs of a run from this machine, checked before it starts, so that it does not fail half-way for a known reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "load/plan/plan.h"

namespace bellwether::cli {

// Connections of a plan at the same time: virtual users times the requests that an iteration of their workflow may send
// side by side, or the shared ones to one server.
struct Connections {
  uint64_t sure = 0;     // virtual users that exist from the start
  uint64_t at_most = 0;  // with those an arrival-rate workflow may add
};
Connections connections_of(const plan::Plan& plan, uint32_t cores);

// Raises the limit of open files as far as allowed. Error: kExhausted, with the remedy, when not even the sure
// connections fit. A text: they fit, but the others may not.
Result<std::string> ensure_descriptors(const Connections& connections);

// Raises the limit of open files to `wanted`, or as far as allowed, and returns its value now (at most `wanted`).
uint64_t raise_descriptors(uint64_t wanted);

// A remark about local ports when this number of connections to one address may not fit; else empty.
std::string port_warning(uint64_t connections);

// Most threads a command takes.
inline constexpr uint32_t kMaxCores = 1024;

// Processors this process may run on.
uint32_t usable_cpus();

// Processor numbers as --pin takes them: "1", "0,2", "0-3". Error: kInvalid.
Result<std::vector<int>> parse_pin(const std::string& text);

// Error when one of the processors does not exist or may not be used.
Status check_pin(const std::vector<int>& cpus);

}  // namespace bellwether::cli
