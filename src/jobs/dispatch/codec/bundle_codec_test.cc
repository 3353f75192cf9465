#include "jobs/dispatch/codec/bundle_codec.h"

#include <bit>
#include <fstream>
#include <gmock/gmock.h>
#include <limits>
#include <sstream>

#include "core/base/encoding.h"
#include "core/message/wire_format.h"
#include "load/plan/feeder.h"
#include "load/plan/load.h"

namespace bellwether::dispatch {
namespace {

using scenario::Bundle;
using scenario::QuickRun;
using scenario::RecordedScenario;
using testing::HasSubstr;

RecordedScenario full_record() {
  RecordedScenario record;
  record.file_name = "load/shop.yaml";
  record.text = "workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: \"http://h/${A}\"}}}}}";
  record.sets = {{"A", "1"}, {"B", std::string("\xff\0", 2)}};
  record.overrides = {.vus = 7, .duration = Duration::seconds(3), .rate_per_s = 12.5};
  record.overrides.load.iterations = 3;
  record.overrides.tags = {{"build", "7"}};
  record.overrides.hosts = {{"h", "::1"}};
  record.files.emplace(RecordedScenario::FileQuestion{"a.json", 10}, "{}");
  record.files.emplace(RecordedScenario::FileQuestion{"a.json", 20}, "");
  record.files.emplace(RecordedScenario::FileQuestion{"gone", 10}, fail(Errc::kNotFound, "no such file"));
  record.files.emplace(RecordedScenario::FileQuestion{"mine", 10}, fail(Errc::kRefused, "not yours"));
  record.files.emplace(RecordedScenario::FileQuestion{"huge", 10}, fail(Errc::kTooLarge, "huge"));
  record.files.emplace(RecordedScenario::FileQuestion{"disk", 10}, fail(Errc::kIo, "disk"));
  record.variables = {{"HOME", "/me"}, {"EMPTY", ""}, {"NONE", std::nullopt}};
  return record;
}

QuickRun full_quick_run() {
  return {.url = "https://h/",
          .method = "POST",
          .headers = {{"A", "1"}, {"A", "2"}},
          .body = "",
          .vus = 9,
          .duration = Duration::millis(1500),
          .rate_per_s = 0.25,
          .skip_tls_verify = true,
          .tls_ca = "-----BEGIN CERTIFICATE-----",
          .tls_ca_name = "ca.pem",
          .load = {.iterations = {}, .stages = {{Duration::zero(), 0.5}, {Duration::seconds(2), 3}}, .of_rates = true},
          .tags = {{"build", "7"}},
          .hosts = {{"h", "10.0.0.7:80"}}};
}

Bundle travelled(const Bundle& bundle) {
  const auto bytes = encode_bundle(bundle);
  EXPECT_TRUE(bytes.has_value());
  auto back = decode_bundle(*bytes);
  EXPECT_TRUE(back.has_value()) << back.error().message;
  return std::move(*back);
}

TEST(BundleCodec, a_scenario_arrives_as_it_left) {
  const RecordedScenario sent = full_record();
  const auto got = std::get<RecordedScenario>(travelled(sent));
  EXPECT_EQ(got.file_name, sent.file_name);
  EXPECT_EQ(got.text, sent.text);
  EXPECT_EQ(got.sets, sent.sets);
  EXPECT_EQ(got.overrides.vus, sent.overrides.vus);
  EXPECT_EQ(got.overrides.duration, sent.overrides.duration);
  EXPECT_EQ(got.overrides.rate_per_s, sent.overrides.rate_per_s);
  EXPECT_EQ(got.overrides.load.iterations, sent.overrides.load.iterations);
  EXPECT_EQ(got.overrides.tags, sent.overrides.tags);
  EXPECT_EQ(got.overrides.hosts, sent.overrides.hosts);
  EXPECT_EQ(got.variables, sent.variables);
  ASSERT_EQ(got.files.size(), sent.files.size());
  for (const auto& [question, answer] : sent.files) {
    const auto& arrived = got.files.at(question);
    ASSERT_EQ(arrived.has_value(), answer.has_value()) << question.path;
    if (answer) {
      EXPECT_EQ(*arrived, *answer);
    } else {
      EXPECT_EQ(arrived.error().code, answer.error().code) << question.path;
      EXPECT_EQ(arrived.error().message, answer.error().message);
    }
  }
  const auto without = std::get<RecordedScenario>(travelled(RecordedScenario{}));
  EXPECT_FALSE(without.overrides.vus || without.overrides.duration || without.overrides.rate_per_s);
}

TEST(BundleCodec, a_url_arrives_as_it_left) {
  const QuickRun sent = full_quick_run();
  const auto got = std::get<QuickRun>(travelled(sent));
  EXPECT_EQ(got.url, sent.url);
  EXPECT_EQ(got.method, sent.method);
  EXPECT_EQ(got.headers, sent.headers);
  EXPECT_EQ(got.body, sent.body);
  EXPECT_EQ(got.vus, sent.vus);
  EXPECT_EQ(got.duration, sent.duration);
  EXPECT_EQ(got.rate_per_s, sent.rate_per_s);
  EXPECT_EQ(got.skip_tls_verify, sent.skip_tls_verify);
  EXPECT_EQ(got.tls_ca, sent.tls_ca);
  EXPECT_EQ(got.tls_ca_name, sent.tls_ca_name);
  ASSERT_EQ(got.load.stages.size(), 2u);
  EXPECT_EQ(got.load.stages[1].duration, Duration::seconds(2));
  EXPECT_DOUBLE_EQ(got.load.stages[0].target, 0.5);
  EXPECT_TRUE(got.load.of_rates);
  EXPECT_EQ(got.tags, sent.tags);
  EXPECT_EQ(got.hosts, sent.hosts);
  const auto plain = std::get<QuickRun>(travelled(QuickRun{.url = "http://h/"}));
  EXPECT_FALSE(plain.body);
  EXPECT_FALSE(plain.rate_per_s);
  EXPECT_FALSE(plain.skip_tls_verify);
}

TEST(BundleCodec, the_same_bundle_is_the_same_bytes_and_another_is_not) {
  EXPECT_EQ(*encode_bundle(travelled(full_record())), *encode_bundle(full_record()));
  EXPECT_EQ(*encode_bundle(travelled(full_quick_run())), *encode_bundle(full_quick_run()));
  RecordedScenario other = full_record();
  other.variables["HOME"] = "/you";
  EXPECT_NE(bundle_hash(*encode_bundle(other)), bundle_hash(*encode_bundle(full_record())));
  EXPECT_EQ(bundle_hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// Reads files as the command line does.
class Folder final : public scenario::Outside {
 public:
  std::optional<std::string> env(const std::string&) const override { return std::nullopt; }
  Result<std::string> read_file(const std::string& path, uint64_t) const override {
    const std::ifstream file("examples/" + path);
    if (!file) return fail(Errc::kNotFound, path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
};

TEST(BundleCodec, every_example_makes_its_plan_at_the_other_end) {
  const Folder folder;
  for (const char* name : {"first.yaml", "arrival.yaml", "dag.yaml", "login.yaml", "data.yaml", "include.yaml"}) {
    scenario::Sources sources{.file_name = std::string("examples/") + name, .text = *folder.read_file(name, 0)};
    sources.outside = &folder;
    const auto made = plan::bundle_scenario(sources);
    ASSERT_TRUE(made) << name;
    const auto plan = plan::plan_of(travelled(made->bundle));
    ASSERT_TRUE(plan) << name << ": " << plan.error().message;
    EXPECT_EQ(plan->steps.size(), made->plan.steps.size());
    EXPECT_EQ(plan->thresholds.size(), made->plan.thresholds.size());
  }
}

TEST(BundleCodec, a_view_arrives_as_a_file) {
  RecordedScenario sent = full_record();
  const RecordedScenario::FileQuestion users{"users.csv", 64};
  sent.views.emplace(users, scenario::view_of("a\n1\n"));
  sent.views.emplace(RecordedScenario::FileQuestion{"none.csv", 64}, fail(Errc::kNotFound, "no such file"));
  // Requested as a text, too: it is sent once.
  sent.views.emplace(RecordedScenario::FileQuestion{"a.json", 10}, scenario::view_of("{}"));
  const auto got = std::get<RecordedScenario>(travelled(sent));
  EXPECT_EQ(got.files.size(), sent.files.size() + 2);
  const scenario::ReplayingOutside outside(got);
  EXPECT_EQ(outside.view_file("users.csv", 64)->bytes, "a\n1\n");
  EXPECT_EQ(outside.view_file("none.csv", 64).error().message, "no such file");
  EXPECT_EQ(outside.view_file("a.json", 10)->bytes, "{}");
}

TEST(BundleCodec, data_that_is_too_large_is_never_copied) {
  RecordedScenario record = full_record();
  // Bytes that must not be read: 1 TiB from here on.
  record.views.emplace(RecordedScenario::FileQuestion{"big.csv", 1},
                       scenario::FileView{std::string_view("x", 1ULL << 40), nullptr});
  EXPECT_EQ(encode_bundle(record).error().code, Errc::kTooLarge);
  EXPECT_THAT(encode_bundle(record).error().message,
              HasSubstr("The largest part is the data in 'big.csv' with 1048576.0 MiB: remove columns or rows"));
  std::vector<FileBeside> beside;
  EXPECT_THAT(encode_bundle(record, &beside).error().message,
              HasSubstr("more than 64 GiB together, the limit for a cluster, with 'big.csv' (1048576.0 MiB)"));
}

TEST(BundleCodec, data_beyond_the_limit_of_a_bundle_travels_beside_it) {
  RecordedScenario sent = full_record();
  const std::string big = "a\n" + std::string(kMaxBundleBytes, '1');
  const RecordedScenario::FileQuestion users{"users.csv", plan::kMaxDataFileBytes};
  const RecordedScenario::FileQuestion few{"few.csv", plan::kMaxDataFileBytes};
  sent.views.emplace(users, scenario::view_of(big));
  sent.views.emplace(few, scenario::view_of("a\n1\n"));
  std::vector<FileBeside> beside;
  const auto bytes = encode_bundle(sent, &beside);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_LT(bytes->size(), std::size_t{64} << 10);
  ASSERT_EQ(beside.size(), 1u);
  EXPECT_EQ(beside[0].path, "users.csv");
  EXPECT_EQ(beside[0].file, (FileRef{sha256_hex(big), big.size()}));
  EXPECT_EQ(beside[0].view.bytes.size(), big.size());
  const auto bundle = decode_bundle(*bytes);
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(files_beside(*bundle), std::vector{beside[0].file});
  const auto& got = std::get<RecordedScenario>(*bundle);
  const scenario::ReplayingOutside outside(got);
  EXPECT_TRUE(scenario::is_elsewhere(*outside.view_file("users.csv", plan::kMaxDataFileBytes)));
  EXPECT_EQ(outside.view_file("few.csv", plan::kMaxDataFileBytes)->bytes, "a\n1\n");
  EXPECT_EQ(files_beside(travelled(got)), files_beside(*bundle));

  beside.clear();
  sent.views.erase(users);
  ASSERT_TRUE(encode_bundle(sent, &beside));
  EXPECT_TRUE(beside.empty()) << "a bundle that fits stays whole";
}

TEST(BundleCodec, says_what_is_too_large_to_travel) {
  RecordedScenario record = full_record();
  record.text.resize(kMaxScenarioBytes + 1);
  EXPECT_EQ(encode_bundle(record).error().code, Errc::kTooLarge);
  EXPECT_EQ(encode_bundle(record).error().message,
            "the scenario file 'load/shop.yaml' has 4.1 MiB; the limit for a cluster is 4.0 MiB: move long bodies to "
            "files of their own");
  record = full_record();
  record.files.emplace(RecordedScenario::FileQuestion{"pay.bin", 1}, std::string(kMaxBundleBytes, 'x'));
  record.variables["TOKEN"] = std::string(1 << 20, 'y');
  EXPECT_EQ(encode_bundle(record).error().code, Errc::kTooLarge);
  EXPECT_THAT(encode_bundle(record).error().message,
              HasSubstr("17.1 MiB; the limit for a cluster is 16.0 MiB. The largest part is the file 'pay.bin' "
                        "with 16.0 MiB"));
  QuickRun run = full_quick_run();
  run.body = std::string(kMaxBundleBytes, 'x');
  EXPECT_THAT(encode_bundle(run).error().message, HasSubstr("the body with 16.0 MiB"));
  record = full_record();
  for (std::size_t i = 0; i <= kMaxBundleEntries; ++i) record.variables[std::to_string(i)] = std::nullopt;
  EXPECT_THAT(encode_bundle(record).error().message, HasSubstr("at most 10000 environment variables"));
}

// Parts of an encoded bundle.
std::string part(uint32_t number, const std::string& bytes) {
  std::string out;
  message::put_tag(number, message::WireType::kBytes, out);
  message::put_varint(bytes.size(), out);
  return out + bytes;
}
std::string part(uint32_t number, uint64_t value) {
  std::string out;
  message::put_tag(number, message::WireType::kVarint, out);
  message::put_varint(value, out);
  return out;
}

std::string refused(const std::string& bytes) {
  const auto bundle = decode_bundle(bytes);
  EXPECT_TRUE(bundle || bundle.error().code == Errc::kProtocol);
  return bundle ? "" : bundle.error().message;
}

TEST(BundleCodec, what_cannot_be_is_refused) {
  constexpr uint32_t kRecord = 1;
  constexpr uint32_t kText = 2;
  constexpr uint32_t kSets = 3;
  constexpr uint32_t kOverrides = 4;
  constexpr uint32_t kFiles = 5;
  constexpr uint32_t kVariables = 6;
  EXPECT_NE(refused("\xff"), "");
  EXPECT_THAT(refused(""), HasSubstr("of a kind"));
  const std::string good = part(kText, "workflows: {}");
  EXPECT_EQ(refused(part(kRecord, good)), "");
  EXPECT_THAT(refused(part(kRecord, part(kText, std::string(kMaxScenarioBytes + 1, 'x')))), HasSubstr("text"));
  const std::string file = part(kFiles, part(1, std::string("a.json")));
  EXPECT_EQ(refused(part(kRecord, good + file)), "");
  EXPECT_THAT(refused(part(kRecord, good + file + file)), HasSubstr("contains a file twice"));
  const std::string variable = part(kVariables, part(1, std::string("HOME")));
  EXPECT_THAT(refused(part(kRecord, good + variable + variable)), HasSubstr("contains a variable twice"));
  EXPECT_THAT(refused(part(kRecord, good + part(kOverrides, part(1, uint64_t{0})))), HasSubstr("vus"));
  EXPECT_THAT(refused(part(kRecord, good + part(kOverrides, part(2, ~uint64_t{0})))), HasSubstr("duration"));
  std::string rate;
  message::put_tag(3, message::WireType::kFixed64, rate);
  message::put_fixed64(std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN()), rate);
  EXPECT_THAT(refused(part(kRecord, good + part(kOverrides, rate))), HasSubstr("rate"));
  std::string sets;
  for (std::size_t i = 0; i <= kMaxBundleEntries; ++i) sets += part(kSets, std::string());
  EXPECT_THAT(refused(part(kRecord, good + sets)), HasSubstr("sets"));
  EXPECT_THAT(refused(part(2, part(1, std::string("http://h/")) + part(5, uint64_t{1}))), HasSubstr("duration"));
}

}  // namespace
}  // namespace bellwether::dispatch
