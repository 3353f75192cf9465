#include "dispatch/codec/context_codec.h"

#include <set>
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
}

void put(const plan::Given& from, wire::GivenValue& to) {
  to.set_use(from.use);
  to.set_text(from.text);
}

bool read(const wire::ProvidedValue& from, plan::Provided& to) {
  if (from.provide() >= plan::kMostProvided || from.text().size() > plan::kMostContextText) return false;
  if (from.too_large() && !from.text().empty()) return false;
  if (from.at_ns() < 0 || from.at_ns() > kLongestSpan.ns()) return false;
  to = {static_cast<uint16_t>(from.provide()), from.vu(), Duration::nanos(from.at_ns()), from.text(), from.too_large()};
  return true;
}

bool read(const wire::GivenValue& from, plan::Given& to) {
  if (from.use() >= plan::kMostProvided || from.text().size() > plan::kMostContextText) return false;
  to = {static_cast<uint16_t>(from.use()), from.text()};
  return true;
}

std::string encode_context(const JobContext& context) {
  wire::JobContext to;
  to.set_version(context.version);
  for (const JobContext::Value& one : context.values) {
    wire::JobContext::Value& value = *to.add_values();
    value.set_workflow(one.workflow);
    value.set_share(one.share.value());
    put(one.value, *value.mutable_value());
  }
  return to.SerializeAsString();
}

Result<JobContext> decode_context(std::string_view bytes) {
  wire::JobContext from;
  if (bytes.size() > kMostBytes || !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kInvalid, "values between workflows that cannot be read");
  }
  JobContext to;
  to.version = from.version();
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const auto& one : from.values()) {
    JobContext::Value& value = to.values.emplace_back();
    value.workflow = static_cast<uint16_t>(one.workflow());
    value.share = ShareId(one.share());
    const bool good = one.workflow() < kMostWorkflows && read(one.value(), value.value);
    if (!good || !seen.insert({one.workflow(), value.value.provide}).second) {
      return fail(Errc::kInvalid, "values between workflows that cannot be");
    }
  }
  return to;
}

}  // namespace bellwether::dispatch
