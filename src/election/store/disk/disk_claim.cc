#include "election/store/disk/disk_claim.h"

#include <nlohmann/json.hpp>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "election/store/disk/small_file.h"

namespace bellwether::store {
namespace {

using OrderedJson = nlohmann::ordered_json;
using election::Epoch;

constexpr int kDeepestNesting = 16;
// The largest integer of JavaScript's number type without gaps, and far from the end of ours.
constexpr uint64_t kHighestEpoch = (uint64_t{1} << 53) - 1;
constexpr int64_t kMaxMilliseconds = int64_t{366} * 24 * 3600 * 1000;

struct Names {
  const char* holder;
  const char* heartbeat;
  const char* epoch;
  const char* lease;
  bool every_lease;  // lease and epoch are there in the files of other programs too
};

constexpr Names kLockNames{"instance_id", "claimed_at", "epoch", "lease_ms", false};
constexpr Names kLeaseNames{"leader_id", "last_heartbeat", "leader_epoch", "ttl_ms", true};

const Names& names_of(ClaimForm form) { return form == ClaimForm::kLockFile ? kLockNames : kLeaseNames; }

// Over all fields that another program may change without knowing their dependents.
std::string check_of(const DiskClaim& claim) {
  const election::LeaseRecord& r = claim.record;
  std::string all = r.holder;
  for (const std::string& part : {r.token, std::to_string(r.epoch.value()), std::to_string(r.renewal),
                                  format_wall(r.renewed_at), std::to_string(r.lease.ms()), r.heir}) {
    all.push_back('\0');
    all += part;
  }
  return sha256_hex(all).substr(0, 16);
}

void put_text(OrderedJson& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}

void put_own_fields(OrderedJson& json, const DiskClaim& claim) {
  const election::LeaseRecord& r = claim.record;
  json["token"] = r.token;
  json["renewal"] = r.renewal;
  json["acquired_at"] = format_wall(r.acquired_at);
  put_text(json, "cause", r.cause);
  put_text(json, "region", r.region);
  put_text(json, "heir", r.heir);
  if (claim.process.start_time != 0) json["start_time"] = claim.process.start_time;
  put_text(json, "boot_id", claim.process.boot_id);
  put_text(json, "pid_namespace", claim.process.pid_namespace);
  put_text(json, "host", claim.process.host);
  json["check"] = check_of(claim);
}

// Takes fields out of an object. The first wrong field is the fault of the whole object.
class Fields {
 public:
  explicit Fields(const OrderedJson& json) : json_(json) {}

  std::string text(const char* name, bool required) {
    const OrderedJson* value = find(name, required);
    if (value == nullptr) return {};
    if (!value->is_string()) return refuse(name, "is not a text"), std::string();
    return value->get<std::string>();
  }
  uint64_t number(const char* name, bool required) {
    const OrderedJson* value = find(name, required);
    if (value == nullptr) return 0;
    // JavaScript and Python write whole numbers as 5.0 when they come out of a division.
    if (value->is_number_float()) {
      const auto real = value->get<double>();
      const bool whole = real >= 0 && real < 9e15 && static_cast<double>(static_cast<uint64_t>(real)) == real;
      if (whole) return static_cast<uint64_t>(real);
    }
    if (!value->is_number_unsigned()) return refuse(name, "is not a whole number of 0 or more"), 0;
    return value->get<uint64_t>();
  }
  WallTime time(const char* name, bool required) {
    const OrderedJson* value = find(name, required);
    if (value == nullptr) return {};
    const auto time = value->is_string() ? parse_wall(value->get_ref<const std::string&>()) : std::nullopt;
    if (!time) refuse(name, "is not a time such as \"2026-01-04T19:32:20.091Z\"");
    return time.value_or(WallTime());
  }
  Duration milliseconds(const char* name, bool required) {
    const uint64_t ms = number(name, required);
    if (ms > kMaxMilliseconds) refuse(name, "is longer than a year");
    return wrong_.empty() ? Duration::millis(static_cast<int64_t>(ms)) : Duration::zero();
  }
  Epoch epoch(const char* name, bool required) {
    const uint64_t value = number(name, required);
    if (value > kHighestEpoch) refuse(name, "is larger than 2^53");
    return Epoch(value);
  }
  void refuse(const char* name, const char* why) {
    if (wrong_.empty()) wrong_ = fmt::format("\"{}\" {}", name, why);
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const OrderedJson* find(const char* name, bool required) {
    const auto found = json_.find(name);
    if (found != json_.end() && !found->is_null()) return &*found;
    if (required) refuse(name, "is missing");
    return nullptr;
  }
  const OrderedJson& json_;
  std::string wrong_;
};

void read_own_fields(Fields& in, const Names& names, DiskClaim& claim) {
  election::LeaseRecord& r = claim.record;
  r.token = in.text("token", false);
  r.renewal = in.number("renewal", false);
  r.acquired_at = in.time("acquired_at", false);
  r.cause = in.text("cause", false);
  r.region = in.text("region", false);
  r.heir = in.text("heir", false);
  if (!names.every_lease) {
    r.epoch = in.epoch(names.epoch, false);
    r.lease = in.milliseconds(names.lease, false);
  }
  claim.process.start_time = in.number("start_time", false);
  claim.process.boot_id = in.text("boot_id", false);
  claim.process.pid_namespace = in.text("pid_namespace", false);
  claim.process.host = in.text("host", false);
}

// The claim when only the shared fields can be believed.
DiskClaim without_own_fields(const Names& names, const DiskClaim& claim) {
  DiskClaim plain;
  plain.foreign = true;
  plain.record.holder = claim.record.holder;
  plain.record.renewed_at = claim.record.renewed_at;
  if (names.every_lease) {
    plain.record.epoch = claim.record.epoch;
    plain.record.lease = claim.record.lease;
  } else {
    plain.process.pid = claim.process.pid;
  }
  return plain;
}

// Refuses deep nesting while it is parsed, before it takes memory.
bool keep_shallow(int depth, nlohmann::detail::parse_event_t, OrderedJson&, bool& too_deep) {
  if (depth > kDeepestNesting) too_deep = true;
  return !too_deep;
}

constexpr std::string_view kTitle = "bellwether-epoch-1";
constexpr std::string_view kSum = "sha256 ";

// Cuts the text up to the mark off the front of `rest`, and the mark.
std::string_view cut(std::string_view& rest, char mark) {
  const std::size_t end = rest.find(mark);
  const std::string_view word = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return word;
}

tl::unexpected<Error> damaged(const char* why) { return fail(Errc::kInvalid, why); }

}  // namespace

std::string write_claim(ClaimForm form, const DiskClaim& claim) {
  const Names& names = names_of(form);
  const election::LeaseRecord& r = claim.record;
  OrderedJson json = OrderedJson::object();
  json[names.holder] = r.holder;
  if (names.every_lease) {
    json[names.epoch] = r.epoch.value();
    json[names.heartbeat] = format_wall(r.renewed_at);
    json[names.lease] = r.lease.ms();
    if (claim.process.pid != 0) json["pid"] = claim.process.pid;
  } else {
    json["pid"] = claim.process.pid;
    json[names.heartbeat] = format_wall(r.renewed_at);
    if (!claim.foreign) {
      json[names.epoch] = r.epoch.value();
      json[names.lease] = r.lease.ms();
    }
  }
  if (!claim.foreign) put_own_fields(json, claim);
  return json.dump(form == ClaimForm::kOneLine ? -1 : 2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

Result<DiskClaim> read_claim(ClaimForm form, std::string_view text) {
  if (text.size() > kMaxClaimBytes) return fail(Errc::kTooLarge, "it is longer than 64 KiB");
  bool too_deep = false;
  const auto shallow = [&](int depth, OrderedJson::parse_event_t event, OrderedJson& value) {
    return keep_shallow(depth, event, value, too_deep);
  };
  const OrderedJson json = OrderedJson::parse(text, shallow, false);
  if (json.is_discarded() || too_deep) return fail(Errc::kInvalid, "it is not JSON");
  if (!json.is_object()) return fail(Errc::kInvalid, "it is not a JSON object");

  const Names& names = names_of(form);
  Fields in(json);
  DiskClaim claim;
  election::LeaseRecord& r = claim.record;
  r.holder = in.text(names.holder, true);
  r.renewed_at = in.time(names.heartbeat, true);
  claim.process.pid = static_cast<int64_t>(in.number("pid", !names.every_lease));
  if (names.every_lease) {
    r.epoch = in.epoch(names.epoch, true);
    r.lease = in.milliseconds(names.lease, true);
  } else if (r.holder.empty()) {
    in.refuse(names.holder, "is empty");
  }
  if (!in.wrong().empty()) return fail(Errc::kInvalid, in.wrong());

  Fields own(json);
  read_own_fields(own, names, claim);
  const bool ours = own.wrong().empty() && own.text("check", false) == check_of(claim);
  if (!ours) return without_own_fields(names, claim);
  return claim;
}

using election::HolderSight;
using runtime::ProcessIdentity;
using runtime::ProcessSight;

Proof judge_process(const ProcessIdentity& holder, const ProcessIdentity& self, const ProcessSight& seen,
                    bool one_machine) {
  if (holder.pid == 0 || holder.boot_id.empty() || self.boot_id.empty()) return {};
  const std::string process = fmt::format("its process {}", holder.pid);
  if (holder.boot_id != self.boot_id) {
    if (!one_machine) return {};
    BW_PROBE("store: a claim from before the machine started");
    return {HolderSight::kDead, fmt::format("the machine has restarted since {} claimed the key", process)};
  }
  if (holder.pid_namespace.empty() || holder.pid_namespace != self.pid_namespace) return {};
  if (seen.state == ProcessSight::State::kDead) {
    BW_PROBE("store: a claim of a dead process");
    return {HolderSight::kDead, process + " is gone"};
  }
  if (!seen.start_time || holder.start_time == 0) return {};
  if (*seen.start_time != holder.start_time) {
    BW_PROBE("store: a claim whose process id was given to another process");
    return {HolderSight::kDead, process + " is gone, and another process has its id"};
  }
  return {HolderSight::kAlive, {}};
}

std::string write_ledger(const KeyLedger& ledger) {
  std::string text(kTitle);
  text += fmt::format(" floor={} serial={} key={}\n", ledger.floor.value(), ledger.serial, percent_encoded(ledger.key));
  text += write_claim(ClaimForm::kOneLine, ledger.last);
  return fmt::format("{}{}{}\n", text, kSum, sha256_hex(text));
}

Result<KeyLedger> read_ledger(std::string_view text) {
  if (text.empty()) return damaged("it is empty");
  const std::size_t sum_at = text.rfind(kSum);
  if (sum_at == std::string_view::npos) return damaged("its last line, the checksum, is missing");
  if (text.substr(sum_at) != fmt::format("{}{}\n", kSum, sha256_hex(text.substr(0, sum_at)))) {
    return damaged("its checksum does not match");
  }
  std::string_view rest = text.substr(0, sum_at);
  std::string_view first = cut(rest, '\n');
  if (cut(first, ' ') != kTitle) return damaged("it was written by a later version of this program");
  const auto number = [&](std::string_view name) -> std::optional<uint64_t> {
    if (cut(first, '=') != name) return std::nullopt;
    return parse_u64(cut(first, ' '));
  };
  const auto floor = number("floor");
  const auto serial = floor ? number("serial") : std::nullopt;
  if (!serial || cut(first, '=') != "key") return damaged("its first line cannot be read");
  const auto key = percent_decoded(first);
  auto last = read_claim(ClaimForm::kOneLine, rest);
  if (!key || !last) return damaged("its claim cannot be read");
  return KeyLedger{*key, *serial, election::Epoch(*floor), std::move(*last)};
}

}  // namespace bellwether::store
