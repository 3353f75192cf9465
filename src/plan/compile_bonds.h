// What the workflows of a scenario have to do with each other: which waits for which, and whose values go where.
#pragma once

#include "plan/dag.h"
#include "plan/plan.h"
#include "scenario/model.h"
#include "scenario/section.h"

namespace bellwether::plan {

// Fills in depends, priority, uses and the names of provides of the plan's workflows, which have names already. Values
// flow only where both sides say so: one without the other is reported.
void compile_bonds(const scenario::Scenario& source, const Dag& order, scenario::Reading& reading, Plan& plan);

}  // namespace bellwether::plan
