// The front door: takes the text of a scenario file, and returns a plan or all its errors.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "core/base/result.h"
#include "load/plan/plan.h"
#include "load/scenario/bundle.h"
#include "load/scenario/document.h"
#include "load/scenario/sources.h"

namespace bellwether::plan {

// The list of diagnostics is never empty, has at most Diagnostics::kMaxDiagnostics entries and is in the order of the
// file. REQUIRES sources.outside.
tl::expected<Plan, std::vector<scenario::Diagnostic>> load(const scenario::Sources& sources);

// Plans of bundles: one machine reads a scenario, and each machine that has its bundle makes the same plan of it.
struct Bundled {
  scenario::Bundle bundle;
  Plan plan;
};

// Reads a scenario, and keeps its inputs. Errors as of load(). REQUIRES sources.outside.
tl::expected<Bundled, std::vector<scenario::Diagnostic>> bundle_scenario(scenario::Sources sources);
// The same for a URL. Errors as of make_plan().
Result<Bundled> bundle_url(scenario::QuickRun run);

// The plan with which the bundle was made. Fails only for a bundle of another version or an invented one: kInvalid with
// one line for each problem, which may quote the bundle. A compiled program in it must have a signature; the node that
// runs it checks the key.
Result<Plan> plan_of(const scenario::Bundle& bundle);

// Whether each compiled program of the plan has a signature, which fits its bytes. Errors as of signature::read().
Status check_signatures(const Plan& plan);

using scenario::QuickRun;

// The plan of `bellwether run URL`: one repeated request. Nothing in the request is a template. Error: kInvalid or
// kUnsupported, with the remedy.
Result<Plan> make_plan(const QuickRun& run);

// What a valid plan says, and its user may not have meant.

// A clause without a full stop for each name of `hosts` that no URL has. None when a program, or a value that only the
// run knows, may name more hosts.
std::vector<std::string> host_warnings(const Plan& plan);

}  // namespace bellwether::plan
