// What the workflows of a job have left for those that come after them. The job's owner is the only one who writes it;
// what it hears from the shares is merged in any order, with the same result.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/dispatch/share.h"
#include "load/plan/collection.h"
#include "load/plan/context.h"

namespace bellwether::dispatch {

struct JobContext {
  struct Value {
    uint16_t workflow = 0;  // that made it
    ShareId share;
    plan::Provided value;
    bool operator==(const Value&) const = default;
  };
  uint64_t version = 0;                                             // grows with each change
  std::vector<Value> values;                                        // one of each workflow and provide but lists
  std::map<std::pair<uint16_t, uint16_t>, plan::Collection> lists;  // by workflow and provide

  // plan::wins() says which of two values stays; of two of one virtual user and moment that of the later share does.
  // In a list that is so for each user. True: it has changed.
  bool merge(uint16_t workflow, ShareId share, const plan::Provided& value);
  // Null: there is none.
  const std::string* find(uint16_t workflow, uint16_t provide) const;
  const plan::Collection* find_list(uint16_t workflow, uint16_t provide) const;
  // The same for a workflow that has it as its `use`.
  std::optional<plan::Given> given(uint16_t workflow, uint16_t provide, uint16_t use) const;
  bool operator==(const JobContext&) const = default;
};

}  // namespace bellwether::dispatch
