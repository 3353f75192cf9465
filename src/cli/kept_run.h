// How a run gets its result into the store, at its end.
#pragma once

#include "load/report/run_report.h"
#include "load/results/recorder.h"

namespace bellwether::cli {

// Whatever becomes of it, the run is what it was: what goes wrong is told on standard error, and that is all.
void keep(results::Recorder& recorder, const report::RunReport& report);

}  // namespace bellwether::cli
