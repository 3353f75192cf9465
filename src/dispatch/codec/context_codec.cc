#include "dispatch/codec/context_codec.h"

#include <set>
#include <tuple>
#include <utility>

#include "dispatch/job_sheet.h"
#include "proto/context.pb.h"

namespace bellwether::dispatch {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

}  // namespace

void put(const plan::Provided& from, wire::ProvidedValue& to) {
  to.set_provide(from.provide);
  to.set_at_ns(from.at.ns());
  to.set_text(from.text);
  to.set_too_large(from.too_large);
  to.set_vu(from.vu);
  to.set_listed(from.listed);
}

void put(const plan::Given& from, wire::GivenValue& to) {
  to.set_use(from.use);
  to.set_text(from.text);
  for (const std::string& one : from.list) to.add_list(one);
}

bool read(const wire::ProvidedValue& from, plan::Provided& to) {
  if (from.provide() >= plan::kMostProvided || from.text().size() > plan::kMostContextText) return false;
  if (from.too_large() && !from.text().empty()) return false;
  if (from.at_ns() < 0 || from.at_ns() > kLongestSpan.ns()) return false;
  to = {static_cast<uint16_t>(from.provide()),
        from.vu(),
        Duration::nanos(from.at_ns()),
        from.text(),
        from.too_large(),
        from.listed()};
  return true;
}

bool read(const wire::GivenValue& from, plan::Given& to) {
  if (from.use() >= plan::kMostProvided || from.text().size() > plan::kMostContextText) return false;
  if (static_cast<std::size_t>(from.list_size()) > plan::kMostListValues) return false;
  if (from.list_size() > 0 && !from.text().empty()) return false;
  std::size_t bytes = 0;
  for (const std::string& one : from.list()) bytes += one.size();
  if (bytes > plan::kMostListText) return false;
  to = {static_cast<uint16_t>(from.use()), from.text(), {from.list().begin(), from.list().end()}};
  return true;
}

std::string encode_context(const JobContext& context) {
  wire::JobContext to;
  to.set_version(context.version);
  const auto add = [&to](uint16_t workflow, uint32_t share, const plan::Provided& one) {
    wire::JobContext::Value& value = *to.add_values();
    value.set_workflow(workflow);
    value.set_share(share);
    put(one, *value.mutable_value());
  };
  for (const JobContext::Value& one : context.values) add(one.workflow, one.share.value(), one.value);
  for (const auto& [key, list] : context.lists) {
    for (const plan::Provided& one : list.provided(key.second)) {
      const auto item = list.items().find(one.vu);
      add(key.first, item == list.items().end() ? 0 : item->second.by, one);
    }
  }
  return to.SerializeAsString();
}

Result<JobContext> decode_context(std::string_view bytes) {
  wire::JobContext from;
  if (bytes.size() > kMostBytes || !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kInvalid, "values between workflows that cannot be read");
  }
  JobContext to;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> seen;  // of a list, its users
  for (const auto& one : from.values()) {
    plan::Provided value;
    const bool good = one.workflow() < kMostWorkflows && read(one.value(), value);
    if (!good || !seen.insert({one.workflow(), value.provide, value.listed ? value.vu : 0}).second) {
      return fail(Errc::kInvalid, "values between workflows that cannot be");
    }
    const auto workflow = static_cast<uint16_t>(one.workflow());
    if (!value.listed) {
      to.values.push_back({workflow, ShareId(one.share()), std::move(value)});
      continue;
    }
    to.merge(workflow, ShareId(one.share()), value);
    if (to.lists.size() > plan::kMostLists) return fail(Errc::kInvalid, "too many lists between workflows");
  }
  to.version = from.version();
  return to;
}

}  // namespace bellwether::dispatch
