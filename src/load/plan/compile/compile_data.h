// The files of data of a scenario, read and made ready for all of its workflows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "load/plan/feeder.h"
#include "load/plan/plan.h"
#include "load/scenario/model.h"
#include "load/scenario/section.h"
#include "load/scenario/sources.h"

namespace bellwether::plan {

struct DataSource {
  const scenario::Feeder* source = nullptr;  // never null, of the scenario
  std::shared_ptr<const Feeder> rows;        // null: elsewhere, or unusable and reported
  bool elsewhere = false;                    // scenario::kElsewhere
};

// In the order of the scenario. Reports unreadable files, and names that are already in use.
std::vector<DataSource> compile_data(const scenario::Scenario& source, const scenario::Sources& sources,
                                     scenario::Reading& reading);

// The field of a row that `part` names: a column of CSV, else the path of a member (address.city, items[0]). The caller
// sets its slot. Error: no such field.
tl::expected<RowField, scenario::Diagnostics::Problem> field_of(const DataSource& data, std::string_view part);

// The problem of a workflow of up to `vus` users that takes rows of `data`; empty: the rows suffice.
std::optional<scenario::Diagnostics::Problem> too_few_rows(const DataSource& data, const std::string& workflow,
                                                           uint32_t vus);

}  // namespace bellwether::plan
