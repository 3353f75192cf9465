#include "jobs/dispatch/codec/context_codec.h"

#include <set>
#include <tuple>
#include <utility>

#include "jobs/dispatch/codec/parts.h"

namespace bellwether::dispatch {
namespace {

// A context with each value of a list by itself.
struct KeptContext {
  uint64_t version = 0;
  std::vector<plan::Values::Value> values;
};
constexpr std::size_t kMostKept = kMostWorkflows * plan::kMostProvided + plan::kMostLists * (plan::kMostListValues + 1);

}  // namespace
}  // namespace bellwether::dispatch

namespace bellwether::message {

template <>
constexpr auto kDescription<plan::Values::Value> = describe<plan::Values::Value>(
    "a value of a workflow", field<&plan::Values::Value::workflow>(1, dispatch::rule::kWorkflow),
    field<&plan::Values::Value::by>(2), field<&plan::Values::Value::value>(3));

template <>
constexpr auto kDescription<dispatch::KeptContext> =
    describe<dispatch::KeptContext>("a record of values between workflows", field<&dispatch::KeptContext::version>(1),
                                    field<&dispatch::KeptContext::values>(2, list(dispatch::kMostKept)))
        .within(std::size_t{16} << 20, Errc::kInvalid);

}  // namespace bellwether::message

namespace bellwether::dispatch {

std::string encode_context(const plan::Values& context) {
  KeptContext to{context.version, context.values};
  for (const auto& [key, list] : context.lists) {
    for (const plan::Provided& one : list.provided(key.second)) {
      const auto item = list.items().find(one.vu);
      to.values.push_back({key.first, item == list.items().end() ? 0 : item->second.by, one});
    }
  }
  return message::encode(to);
}

Result<plan::Values> decode_context(std::string_view bytes) {
  BW_TRY(auto from, message::decode<KeptContext>(bytes));
  plan::Values to;
  std::set<std::tuple<uint16_t, uint16_t, uint32_t>> seen;  // of a list, its users
  for (plan::Values::Value& one : from.values) {
    const plan::Provided& value = one.value;
    if (!seen.insert({one.workflow, value.provide, value.listed ? value.vu : 0}).second) {
      return fail(Errc::kInvalid, "a record of values between workflows is refused: it has a value twice");
    }
    if (!value.listed) {
      to.values.push_back(std::move(one));
      continue;
    }
    to.merge(one.workflow, one.by, value);
    if (to.lists.size() > plan::kMostLists) return fail(Errc::kInvalid, "too many lists between workflows");
  }
  to.version = from.version;
  return to;
}

}  // namespace bellwether::dispatch
