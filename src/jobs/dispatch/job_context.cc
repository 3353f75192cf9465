#include "jobs/dispatch/job_context.h"

#include <algorithm>

namespace bellwether::dispatch {
namespace {

auto place(std::vector<JobContext::Value>& values, uint16_t workflow, uint16_t provide) {
  return std::find_if(values.begin(), values.end(), [&](const JobContext::Value& one) {
    return one.workflow == workflow && one.value.provide == provide;
  });
}

}  // namespace

bool JobContext::merge(uint16_t workflow, ShareId share, const plan::Provided& value) {
  if (value.listed) {
    const bool changed = lists[{workflow, value.provide}].add(value, share.value());
    if (changed) ++version;
    return changed;
  }
  const auto known = place(values, workflow, value.provide);
  if (known == values.end()) {
    values.push_back({workflow, share, value});
  } else if (plan::wins(value, known->value) || (!plan::wins(known->value, value) && share > known->share)) {
    known->share = share;
    known->value = value;
  } else {
    return false;
  }
  ++version;
  return true;
}

const std::string* JobContext::find(uint16_t workflow, uint16_t provide) const {
  const auto known = place(const_cast<JobContext*>(this)->values, workflow, provide);
  return known == values.end() ? nullptr : &known->value.text;
}

const plan::Collection* JobContext::find_list(uint16_t workflow, uint16_t provide) const {
  const auto known = lists.find({workflow, provide});
  return known == lists.end() ? nullptr : &known->second;
}

std::optional<plan::Given> JobContext::given(uint16_t workflow, uint16_t provide, uint16_t use) const {
  if (const plan::Collection* list = find_list(workflow, provide)) return list->given(use);
  const std::string* text = find(workflow, provide);
  return text == nullptr ? std::nullopt : std::optional(plan::Given{use, *text});
}

}  // namespace bellwether::dispatch
