// What this machine must offer before a run may start, checked beforehand so that a run does not fail half-way for a
// reason that could have been known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace bellwether::cli {

// The connections a plan may hold at the same time: virtual users times the widest layer of their workflow.
uint64_t connections_at_most(const plan::Plan& plan);

// Raises the limit of open files as far as needed and allowed. Error: kExhausted, with the remedy.
Status ensure_descriptors(uint64_t connections);

// A remark about local ports where so many connections to one address may not fit; empty when they do.
std::string port_warning(uint64_t connections);

// Processors this process may run on.
uint32_t usable_cpus();

// Error when one of the processors does not exist or may not be used.
Status check_pin(const std::vector<int>& cpus);

}  // namespace bellwether::cli
