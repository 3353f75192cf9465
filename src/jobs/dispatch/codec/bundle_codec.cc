#include "jobs/dispatch/codec/bundle_codec.h"

#include <algorithm>
#include <array>

#include "core/base/encoding.h"
#include "core/message/describe.h"
#include "jobs/dispatch/assignment.h"
#include "load/scenario/model.h"

namespace bellwether::dispatch {
namespace {

using scenario::Bundle;
using scenario::NewLoad;
using scenario::QuickRun;
using scenario::RecordedScenario;
using Pair = std::pair<std::string, std::string>;

// A RecordedScenario for the codec: maps as lists, an error as its kind and its text.
struct File {
  std::string path;
  uint64_t bytes_max = 0;
  uint32_t failure = 0;  // an index of kFailures
  std::string content;
  FileRef beside = {};  // the content travels beside the bundle
};
struct Variable {
  std::string name;
  std::optional<std::string> value;
};
struct Record {
  std::string file_name;
  std::string text;
  std::vector<Pair> sets;
  scenario::Overrides overrides;
  std::vector<File> files;
  std::vector<Variable> variables;
};
using Travelling = std::variant<std::monostate, Record, QuickRun>;

std::string_view wrong_file(const File& file) {
  const bool beside = !file.beside.sha256.empty();
  if (beside != (file.beside.size > 0)) return "a file with half of its identity";
  if (!beside) return "";
  return file.content.empty() && file.failure == 0 ? "" : "a file with two contents";
}

constexpr std::array kFailures{Errc::kOk, Errc::kNotFound, Errc::kRefused, Errc::kTooLarge, Errc::kIo};

}  // namespace
}  // namespace bellwether::dispatch

namespace bellwether::message {

using namespace dispatch;  // NOLINT(google-build-using-namespace)

namespace {

// Values from files and people are bytes, perhaps not UTF-8.
constexpr Rule kBytes = text(kMaxBundleBytes);
constexpr Rule kHashBeside = text(kMaxIdBytes, "hash of a file", &is_bundle_hash, "0123456789abcdef");
constexpr Rule kVus = between(uint32_t{1}, uint32_t{10'000'000});
constexpr Rule kLength = between(Duration::nanos(1), Duration::hours(366 * 24));
constexpr Rule kRate = between(1e-300, 1e9);
constexpr Rule kEntries = list(kMaxBundleEntries);
constexpr Rule kIterations = between(uint64_t{1}, scenario::kMaxIterations);
constexpr Rule kStages = list(scenario::kMaxStages);
constexpr Rule kStageLength = between(Duration::zero(), Duration::hours(366 * 24));
constexpr Rule kTarget = between(0.0, scenario::kMaxRate);
constexpr Rule kHosts = list(scenario::kMaxHosts);
constexpr Rule kTags = list(scenario::kMaxTags);

}  // namespace

template <>
constexpr auto kDescription<Pair> =
    describe<Pair>("a name and its value", field<&Pair::first>(1, kBytes), field<&Pair::second>(2, kBytes));

template <>
constexpr auto kDescription<NewLoad::Stage> = describe<NewLoad::Stage>(
    "a stage of a load", field<&NewLoad::Stage::duration>(1, kStageLength), field<&NewLoad::Stage::target>(2, kTarget));

template <>
constexpr auto kDescription<NewLoad> =
    describe<NewLoad>("a load of the command line", field<&NewLoad::iterations>(1, kIterations),
                      field<&NewLoad::stages>(2, kStages), field<&NewLoad::of_rates>(3));

template <>
constexpr auto kDescription<scenario::Overrides> = describe<scenario::Overrides>(
    "a replacement of a scenario's own value", field<&scenario::Overrides::vus>(1, kVus),
    field<&scenario::Overrides::duration>(2, kLength), field<&scenario::Overrides::rate_per_s>(3, kRate),
    field<&scenario::Overrides::timeout>(4, kLength), field<&scenario::Overrides::load>(5),
    field<&scenario::Overrides::tags>(6, kTags), field<&scenario::Overrides::hosts>(7, kHosts),
    field<&scenario::Overrides::local_ips>(8, kBytes));

template <>
constexpr auto kDescription<File> = describe<File, &wrong_file>(
    "a file", field<&File::path>(1, kBytes), field<&File::bytes_max>(2),
    field<&File::failure>(3, one_of(kFailures.size(), uint32_t{kFailures.size() - 1})),
    field<&File::content>(4, kBytes), field<&File::beside, &FileRef::sha256>(5, or_empty(kHashBeside)),
    field<&File::beside, &FileRef::size>(6, at_most(kMaxBytesBeside)));

template <>
constexpr auto kDescription<Variable> =
    describe<Variable>("a variable", field<&Variable::name>(1, kBytes), field<&Variable::value>(2, kBytes));

template <>
constexpr auto kDescription<Record> = describe<Record>(
    "a scenario", field<&Record::file_name>(1, kBytes), field<&Record::text>(2, text(kMaxScenarioBytes)),
    field<&Record::sets>(3, kEntries), field<&Record::overrides>(4), field<&Record::files>(5, kEntries),
    field<&Record::variables>(6, kEntries));

template <>
constexpr auto kDescription<QuickRun> = describe<QuickRun>(
    "a run of one request", field<&QuickRun::url>(1, kBytes), field<&QuickRun::method>(2, kBytes),
    field<&QuickRun::headers>(3, kEntries), field<&QuickRun::body>(4, kBytes), field<&QuickRun::vus>(5, kVus),
    field<&QuickRun::duration>(6, kLength), field<&QuickRun::rate_per_s>(7, kRate),
    field<&QuickRun::skip_tls_verify>(8), field<&QuickRun::tls_ca>(9, kBytes),
    field<&QuickRun::tls_ca_name>(10, kBytes), field<&QuickRun::timeout>(11, kLength), field<&QuickRun::load>(12),
    field<&QuickRun::tags>(13, kTags), field<&QuickRun::hosts>(14, kHosts), field<&QuickRun::local_ips>(15, kBytes));

template <>
constexpr auto kDescription<Travelling> =
    describe<Travelling>("the bundle of a scenario", alternative<Record, Travelling>(1, "scenario"),
                         alternative<QuickRun, Travelling>(2, "quick_run"))
        .within(kMaxBundleBytes);

}  // namespace bellwether::message

namespace bellwether::dispatch {
namespace {

// The bytes of `answer`, or its message.
std::string_view content_of(const Result<std::string>& answer) { return answer ? *answer : answer.error().message; }
std::string_view content_of(const Result<scenario::FileView>& answer) {
  return answer ? answer->bytes : std::string_view(answer.error().message);
}

template <class Answer>
File file_of(const RecordedScenario::FileQuestion& question, const Answer& answer) {
  File file{question.path, question.bytes_max, 0, std::string(content_of(answer))};
  if (answer) return file;
  const auto* const known = std::find(kFailures.begin(), kFailures.end() - 1, answer.error().code);
  file.failure = static_cast<uint32_t>(known - kFailures.begin());
  return file;
}

Record record_of(const RecordedScenario& from) {
  Record to{from.file_name, from.text, from.sets, from.overrides, {}, {}};
  for (const auto& [question, answer] : from.files) to.files.push_back(file_of(question, answer));
  for (const auto& [question, answer] : from.views) {
    const bool elsewhere = from.files.contains(question) || from.apart.contains(question);
    if (!elsewhere) to.files.push_back(file_of(question, answer));
  }
  for (const auto& [question, file] : from.apart) to.files.push_back({question.path, question.bytes_max, 0, {}, file});
  for (const auto& [name, value] : from.variables) to.variables.push_back({name, value});
  return to;
}

Result<Bundle> recorded(Record from) {
  RecordedScenario to{
      std::move(from.file_name), std::move(from.text), std::move(from.sets), from.overrides, {}, {}, {}, {}};
  const auto twice = [](const char* what) {
    return fail(Errc::kProtocol, "the bundle of a scenario is refused: it contains {} twice", what);
  };
  uint64_t bytes_beside = 0;
  for (File& file : from.files) {
    if (!file.beside.sha256.empty()) {
      bytes_beside += file.beside.size;
      const RecordedScenario::FileQuestion question{std::move(file.path), file.bytes_max};
      if (!to.apart.emplace(question, std::move(file.beside)).second) return twice("a file");
      continue;
    }
    Result<std::string> answer = std::move(file.content);
    if (file.failure != 0) answer = tl::unexpected(Error{kFailures.at(file.failure), std::move(*answer)});
    const RecordedScenario::FileQuestion question{std::move(file.path), file.bytes_max};
    if (!to.files.emplace(question, std::move(answer)).second) return twice("a file");
  }
  if (bytes_beside > kMaxBytesBeside) return fail(Errc::kProtocol, "the data files of a scenario are too large");
  for (Variable& one : from.variables) {
    if (!to.variables.emplace(std::move(one.name), std::move(one.value)).second) return twice("a variable");
  }
  return to;
}

std::string mib(std::size_t bytes) {
  const std::size_t tenths = (bytes * 10 + (std::size_t{1} << 20) - 1) >> 20;
  return fmt::format("{}.{} MiB", tenths / 10, tenths % 10);
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
    if (answer) take(fmt::format("the file '{}'", printable(question.path)), answer->size());
  }
  for (const auto& [question, answer] : record.views) {
    if (!answer) continue;
    take(fmt::format("the data in '{}'", printable(question.path)), answer->bytes.size(),
         ": remove columns or rows that the run does not need");
  }
  for (const auto& [name, value] : record.variables) {
    if (value) take(fmt::format("the variable '{}'", printable(name)), value->size());
  }
  for (const auto& [name, value] : record.sets) take(fmt::format("--set '{}'", printable(name)), value.size());
  return greatest;
}

Part greatest_of(const QuickRun& run) {
  Part greatest{"the URL", run.url.size(), {}};
  if (run.body && run.body->size() > greatest.bytes) greatest = {"the body", run.body->size(), {}};
  if (run.tls_ca.size() > greatest.bytes) greatest = {"the CA certificates", run.tls_ca.size(), {}};
  return greatest;
}

Error too_large(std::size_t bytes, const Part& greatest) {
  return {Errc::kTooLarge,
          fmt::format("the scenario with all files and variables that it reads has {}; the limit for a cluster is {}. "
                      "The largest part is {} with {}{}",
                      mib(bytes), mib(kMaxBundleBytes), greatest.name, mib(greatest.bytes), greatest.remedy)};
}

// The views of files, which are not copied before their total size is known.
std::size_t bytes_of_views(const RecordedScenario& record) {
  std::size_t bytes = 0;
  for (const auto& [question, answer] : record.views) bytes += content_of(answer).size();
  return bytes;
}

Status check_count(std::size_t count, const char* what) {
  if (count <= kMaxBundleEntries) return {};
  return fail(Errc::kTooLarge, "a scenario for a cluster has at most {} {}; this one has {}", kMaxBundleEntries, what,
              count);
}

Status check_counts(const Travelling& bundle) {
  if (const auto* run = std::get_if<QuickRun>(&bundle)) return check_count(run->headers.size(), "headers");
  const auto& record = std::get<Record>(bundle);
  BW_RETURN_IF_ERROR(check_count(record.sets.size(), "values given with --set"));
  BW_RETURN_IF_ERROR(check_count(record.files.size(), "files"));
  return check_count(record.variables.size(), "environment variables");
}

Result<std::string> encode_whole(const Bundle& bundle) {
  Travelling to;
  Part greatest;
  if (const auto* record = std::get_if<RecordedScenario>(&bundle)) {
    if (record->text.size() > kMaxScenarioBytes) {
      return fail(
          Errc::kTooLarge,
          "the scenario file '{}' has {}; the limit for a cluster is {}: move long bodies to files of their own",
          printable(record->file_name), mib(record->text.size()), mib(kMaxScenarioBytes));
    }
    greatest = greatest_of(*record);
    if (const std::size_t bytes = bytes_of_views(*record); bytes > kMaxBundleBytes) {
      return tl::unexpected(too_large(bytes, greatest));
    }
    to = record_of(*record);
  } else {
    to = std::get<QuickRun>(bundle);
    greatest = greatest_of(std::get<QuickRun>(bundle));
  }
  BW_RETURN_IF_ERROR(check_counts(to));
  std::string bytes = message::encode(message::described<Travelling>(), &to);
  if (bytes.size() > kMaxBundleBytes) return tl::unexpected(too_large(bytes.size(), greatest));
  return bytes;
}

// Moves the large data files out of the record. kTooLarge: they are too large even so.
Status put_beside(RecordedScenario& record, std::vector<FileBeside>& beside) {
  uint64_t bytes = 0;
  for (const auto& [question, answer] : record.views) {
    if (!answer || answer->bytes.size() <= kMaxFileInside || record.files.contains(question)) continue;
    bytes += answer->bytes.size();
    if (bytes > kMaxBytesBeside) {
      return fail(Errc::kTooLarge,
                  "the data files have more than {} GiB together, the limit for a cluster, with '{}' ({}); remove "
                  "columns or rows that the run does not need",
                  kMaxBytesBeside >> 30, printable(question.path), mib(answer->bytes.size()));
    }
    const FileRef file{sha256_hex(answer->bytes), answer->bytes.size()};
    beside.push_back({question.path, file, *answer});
    record.apart.emplace(question, file);
  }
  for (const auto& [question, file] : record.apart) record.views.erase(question);
  return {};
}

}  // namespace

Result<std::string> encode_bundle(const Bundle& bundle, std::vector<FileBeside>* beside) {
  if (beside == nullptr) return encode_whole(bundle);
  auto whole = encode_whole(bundle);
  const auto* const record = std::get_if<RecordedScenario>(&bundle);
  if (whole || whole.error().code != Errc::kTooLarge || record == nullptr) return whole;
  RecordedScenario slim = *record;
  BW_RETURN_IF_ERROR(put_beside(slim, *beside));
  return encode_whole(slim);
}

std::vector<FileRef> files_beside(const Bundle& bundle) {
  std::vector<FileRef> out;
  const auto* const record = std::get_if<RecordedScenario>(&bundle);
  if (record == nullptr) return out;
  for (const auto& [question, file] : record->apart) out.push_back(file);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<Bundle> decode_bundle(std::string_view bytes) {
  Travelling from;
  Status read = message::decode(message::described<Travelling>(), bytes, &from);
  if (!read) return fail(Errc::kProtocol, std::move(read.error().message));
  if (auto* const run = std::get_if<QuickRun>(&from)) return std::move(*run);
  return recorded(std::move(std::get<Record>(from)));
}

std::string bundle_hash(std::string_view bytes) { return sha256_hex(bytes); }

}  // namespace bellwether::dispatch
