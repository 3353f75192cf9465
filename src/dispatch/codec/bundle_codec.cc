#include "dispatch/codec/bundle_codec.h"

#include <algorithm>
#include <array>
#include <openssl/evp.h>

#include "base/check.h"
#include "base/printable.h"
#include "proto/scenario.pb.h"

namespace bellwether::dispatch {
namespace {

using scenario::Bundle;
using scenario::QuickRun;
using scenario::RecordedScenario;
using Pairs = std::vector<std::pair<std::string, std::string>>;
using WirePairs = google::protobuf::RepeatedPtrField<wire::NameValue>;

constexpr uint32_t kMostVus = 10'000'000;
constexpr double kMostRate = 1e9;
constexpr Duration kLongest = Duration::hours(366 * 24);

// --- writing ---------------------------------------------------------------------------------------------------------

void put_part(const Pairs& from, WirePairs& to) {
  for (const auto& [name, value] : from) {
    wire::NameValue* pair = to.Add();
    pair->set_name(name);
    pair->set_value(value);
  }
}

// What `answer` has in bytes, or says.
std::string_view content_of(const Result<std::string>& answer) { return answer ? *answer : answer.error().message; }
std::string_view content_of(const Result<scenario::FileView>& answer) {
  return answer ? answer->bytes : std::string_view(answer.error().message);
}

wire::ScenarioRecord::Failure failure_of(Errc code) {
  switch (code) {
    case Errc::kNotFound: return wire::ScenarioRecord::NOT_FOUND;
    case Errc::kRefused: return wire::ScenarioRecord::REFUSED;
    case Errc::kTooLarge: return wire::ScenarioRecord::TOO_LARGE;
    default: return wire::ScenarioRecord::IO;
  }
}

// The views of files that nobody asked for in the same way as for a text.
decltype(RecordedScenario::views) views_alone(const RecordedScenario& record) {
  auto views = record.views;
  std::erase_if(views, [&record](const auto& view) { return record.files.contains(view.first); });
  return views;
}

void put_part(const RecordedScenario& from, wire::ScenarioRecord& to) {
  to.set_file_name(from.file_name);
  to.set_text(from.text);
  put_part(from.sets, *to.mutable_sets());
  wire::ScenarioRecord::Overrides& overrides = *to.mutable_overrides();
  if (from.overrides.vus) overrides.set_vus(*from.overrides.vus);
  if (from.overrides.duration) overrides.set_duration_ns(from.overrides.duration->ns());
  if (from.overrides.rate_per_s) overrides.set_rate_per_s(*from.overrides.rate_per_s);
  if (from.overrides.timeout) overrides.set_timeout_ns(from.overrides.timeout->ns());
  const auto put_files = [&to](const auto& files) {
    for (const auto& [question, answer] : files) {
      wire::ScenarioRecord::File* file = to.add_files();
      file->set_path(question.path);
      file->set_bytes_max(question.bytes_max);
      if (!answer) file->set_failure(failure_of(answer.error().code));
      file->set_content(std::string(content_of(answer)));
    }
  };
  put_files(from.files);
  put_files(views_alone(from));
  for (const auto& [name, value] : from.variables) {
    wire::ScenarioRecord::Variable* variable = to.add_variables();
    variable->set_name(name);
    if (value) variable->set_value(*value);
  }
}

void put_part(const QuickRun& from, wire::QuickRunRecord& to) {
  to.set_url(from.url);
  to.set_method(from.method);
  put_part(from.headers, *to.mutable_headers());
  if (from.body) to.set_body(*from.body);
  to.set_vus(from.vus);
  to.set_duration_ns(from.duration.ns());
  if (from.timeout) to.set_timeout_ns(from.timeout->ns());
  if (from.rate_per_s) to.set_rate_per_s(*from.rate_per_s);
  to.set_skip_tls_verify(!from.tls_verify);
  to.set_tls_ca(from.tls_ca);
  to.set_tls_ca_name(from.tls_ca_name);
}

std::string mib(std::size_t bytes) {
  const std::size_t tenths = (bytes * 10 + (std::size_t{1} << 20) - 1) >> 20;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

struct Part {
  std::string name;
  std::size_t bytes = 0;
  std::string remedy = {};
};

Part greatest_of(const RecordedScenario& record) {
  Part greatest{"the scenario file", record.text.size(), {}};
  const auto take = [&greatest](std::string name, std::size_t bytes, std::string remedy = {}) {
    if (bytes > greatest.bytes) greatest = {std::move(name), bytes, std::move(remedy)};
  };
  for (const auto& [question, answer] : record.files) {
    if (answer) take("the file '" + printable(question.path) + "'", answer->size());
  }
  for (const auto& [question, answer] : record.views) {
    if (!answer) continue;
    take("the data in '" + printable(question.path) + "'", answer->bytes.size(),
         ": a run on one machine can have it, on a cluster leave out columns or rows that the run does not need");
  }
  for (const auto& [name, value] : record.variables) {
    if (value) take("the variable '" + printable(name) + "'", value->size());
  }
  for (const auto& [name, value] : record.sets) take("--set '" + printable(name) + "'", value.size());
  return greatest;
}

Part greatest_of(const QuickRun& run) {
  Part greatest{"the URL", run.url.size(), {}};
  if (run.body && run.body->size() > greatest.bytes) greatest = {"the body", run.body->size(), {}};
  if (run.tls_ca.size() > greatest.bytes) greatest = {"the CA certificates", run.tls_ca.size(), {}};
  return greatest;
}

Error too_large(std::size_t bytes, const Part& greatest) {
  return {Errc::kTooLarge, "the scenario with all files and variables that it reads has " + mib(bytes) +
                               "; to travel to workers it may have " + mib(kMostBundleBytes) +
                               ". The greatest part is " + greatest.name + " with " + mib(greatest.bytes) +
                               greatest.remedy};
}

// Of the files that are not to be copied before it is known that they can travel.
std::size_t bytes_of_views(const RecordedScenario& record) {
  std::size_t bytes = 0;
  for (const auto& [question, answer] : record.views) bytes += content_of(answer).size();
  return bytes;
}

Status check_counts(const wire::ScenarioBundle& bundle) {
  const auto within = [](int count, const char* what) -> Status {
    if (static_cast<std::size_t>(count) <= kMostBundleEntries) return {};
    return fail(Errc::kTooLarge, std::string("a scenario that travels has at most ") +
                                     std::to_string(kMostBundleEntries) + " " + what + "; this one has " +
                                     std::to_string(count));
  };
  if (auto headers = within(bundle.quick_run().headers_size(), "headers"); !headers) return headers;
  if (auto sets = within(bundle.scenario().sets_size(), "values given with --set"); !sets) return sets;
  if (auto files = within(bundle.scenario().files_size(), "files"); !files) return files;
  return within(bundle.scenario().variables_size(), "environment variables");
}

// --- reading ---------------------------------------------------------------------------------------------------------

// Reads parts, and remembers the first thing that was wrong.
class BundleReader {
 public:
  const char* wrong = nullptr;

  void overrides(const wire::ScenarioRecord::Overrides& from, scenario::Overrides& to) {
    if (from.has_vus()) to.vus = vus(from.vus());
    if (from.has_duration_ns()) to.duration = duration(from.duration_ns());
    if (from.has_rate_per_s()) to.rate_per_s = rate(from.rate_per_s());
    if (from.has_timeout_ns()) to.timeout = duration(from.timeout_ns());
  }

  void record(const wire::ScenarioRecord& from, RecordedScenario& to) {
    if (from.text().size() > kMostScenarioBytes) fail("its scenario file is too large");
    to.file_name = from.file_name();
    to.text = from.text();
    to.sets = pairs(from.sets());
    overrides(from.overrides(), to.overrides);
    for (const wire::ScenarioRecord::File& file : from.files()) {
      Result<std::string> answer = file.content();
      if (file.failure() != wire::ScenarioRecord::NONE) answer = tl::unexpected(error_of(file));
      const bool is_new =
          to.files.emplace(RecordedScenario::FileQuestion{file.path(), file.bytes_max()}, std::move(answer)).second;
      if (!is_new) fail("a file is in it twice");
    }
    for (const wire::ScenarioRecord::Variable& variable : from.variables()) {
      const auto value = variable.has_value() ? std::optional<std::string>(variable.value()) : std::nullopt;
      if (!to.variables.emplace(variable.name(), value).second) fail("a variable is in it twice");
    }
  }

  void quick(const wire::QuickRunRecord& from, QuickRun& to) {
    to.url = from.url();
    to.method = from.method();
    to.headers = pairs(from.headers());
    if (from.has_body()) to.body = from.body();
    to.vus = vus(from.vus());
    to.duration = duration(from.duration_ns());
    if (from.has_timeout_ns()) to.timeout = duration(from.timeout_ns());
    if (from.has_rate_per_s()) to.rate_per_s = rate(from.rate_per_s());
    to.tls_verify = !from.skip_tls_verify();
    to.tls_ca = from.tls_ca();
    to.tls_ca_name = from.tls_ca_name();
  }

  void fail(const char* why) {
    if (wrong == nullptr) wrong = why;
  }

 private:
  uint32_t vus(uint32_t value) {
    if (value == 0 || value > kMostVus) fail("a number of virtual users that cannot be");
    return value;
  }
  Duration duration(int64_t ns) {
    if (ns <= 0 || Duration::nanos(ns) > kLongest) fail("a duration that cannot be");
    return Duration::nanos(ns);
  }
  double rate(double value) {
    if (!(value > 0 && value <= kMostRate)) fail("a rate that cannot be");
    return value;
  }
  static Pairs pairs(const WirePairs& from) {
    Pairs to;
    for (const wire::NameValue& pair : from) to.emplace_back(pair.name(), pair.value());
    return to;
  }
  Error error_of(const wire::ScenarioRecord::File& file) {
    switch (file.failure()) {
      case wire::ScenarioRecord::NOT_FOUND: return {Errc::kNotFound, file.content()};
      case wire::ScenarioRecord::REFUSED: return {Errc::kRefused, file.content()};
      case wire::ScenarioRecord::TOO_LARGE: return {Errc::kTooLarge, file.content()};
      default: return {Errc::kIo, file.content()};
    }
  }
};

}  // namespace

Result<std::string> encode_bundle(const Bundle& bundle) {
  wire::ScenarioBundle to;
  Part greatest;
  if (const auto* record = std::get_if<RecordedScenario>(&bundle)) {
    if (record->text.size() > kMostScenarioBytes) {
      return fail(Errc::kTooLarge, "the scenario file '" + printable(record->file_name) + "' has " +
                                       mib(record->text.size()) + "; to travel to workers it may have " +
                                       mib(kMostScenarioBytes) + ": a long body can stand in a file of its own");
    }
    greatest = greatest_of(*record);
    if (const std::size_t bytes = bytes_of_views(*record); bytes > kMostBundleBytes) {
      return tl::unexpected(too_large(bytes, greatest));
    }
    put_part(*record, *to.mutable_scenario());
  } else {
    put_part(std::get<QuickRun>(bundle), *to.mutable_quick_run());
    greatest = greatest_of(std::get<QuickRun>(bundle));
  }
  if (auto counted = check_counts(to); !counted) return tl::unexpected(counted.error());
  const std::size_t bytes = to.ByteSizeLong();
  if (bytes > kMostBundleBytes) {
    return tl::unexpected(too_large(bytes, greatest));
  }
  return to.SerializeAsString();
}

Result<Bundle> decode_bundle(std::string_view bytes) {
  wire::ScenarioBundle from;
  if (bytes.size() > kMostBundleBytes || !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "these bytes are no bundle of a scenario");
  }
  BundleReader reader;
  Bundle out;
  if (!check_counts(from)) {
    reader.fail("too many entries");
  } else if (from.has_scenario()) {
    reader.record(from.scenario(), out.emplace<RecordedScenario>());
  } else if (from.has_quick_run()) {
    reader.quick(from.quick_run(), out.emplace<QuickRun>());
  } else {
    reader.fail("it is of a kind that this version does not know");
  }
  if (reader.wrong != nullptr) {
    return fail(Errc::kProtocol, std::string("the bundle of a scenario is refused: ") + reader.wrong);
  }
  return out;
}

std::string bundle_hash(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  const int made = EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  check(made == 1, "SHA-256 is part of OpenSSL");
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace bellwether::dispatch
