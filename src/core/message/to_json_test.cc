#include <chrono>
#include <gmock/gmock.h>

#include "core/base/strong_id.h"
#include "core/message/describe.h"
#include "core/message/message.h"

namespace bellwether::message {
namespace {

using namespace std::literals;

enum class Taste : uint8_t { kSweet, kSour };
std::string_view to_string(Taste taste) { return taste == Taste::kSweet ? "sweet" : "sour"; }
enum class Rind : uint8_t { kHard, kSoft };

struct Seed {
  std::string name;
  Duration age;
};
struct Fruit {
  bool ripe = false;
  uint64_t number = 0;
  int64_t below = 0;
  double sugar = 0;
  Taste taste = Taste::kSweet;
  Rind rind = Rind::kHard;
  StrongId<struct FruitTag> id;
  std::array<unsigned char, 3> digest{};
  std::chrono::nanoseconds fell{};
  WallTime picked;
  std::chrono::sys_time<std::chrono::nanoseconds> eaten;
  std::optional<Duration> left;
  std::vector<Duration> rains;
  std::vector<Seed> seeds;
  std::optional<Seed> stone;
  Seed core;
  bool has_leaf = false;
  Seed leaf;
  std::variant<std::string, Seed> end;
};

constexpr Rule kAny = text(100);

}  // namespace

template <>
constexpr auto kDescription<Seed> = describe<Seed>("a seed", field<&Seed::name>(1, kAny), field<&Seed::age>(2));
template <>
constexpr auto kDescription<Fruit> = describe<Fruit>(
    "a fruit", field<&Fruit::ripe>(1), field<&Fruit::number>(2), field<&Fruit::below>(3), field<&Fruit::sugar>(4),
    field<&Fruit::taste>(5), field<&Fruit::rind>(6), field<&Fruit::id>(7), field<&Fruit::digest>(8),
    field<&Fruit::fell>(9), field<&Fruit::picked>(10), field<&Fruit::eaten>(11), field<&Fruit::left>(12),
    field<&Fruit::rains>(13, list(9)), field<&Fruit::seeds>(14, list(9)), field<&Fruit::stone>(15),
    field<&Fruit::core, &Seed::name>(16, kAny).as("in.it.core"), field<&Fruit::core, &Seed::age>(17).as("in.age"),
    field_if<&Fruit::has_leaf, &Fruit::leaf>(18), alternative<std::string, &Fruit::end>(19, "jam", kAny),
    alternative<Seed, &Fruit::end>(20, "tree"));

namespace {

TEST(ToJson, one_that_is_new_has_all_fields_in_their_order) {
  EXPECT_EQ(to_json(Fruit()),
            R"({"ripe":false,"number":0,"below":0,"sugar":0.0,"taste":"sweet","rind":0,"id":0,"digest":"000000",)"
            R"("fell_ms":0,"picked":"-","eaten":"-","left_ms":null,"rains_ms":[],"seeds":[],"stone":null,)"
            R"("in":{"it":{"core":""},"age_ms":0},"leaf":null,"jam":""})");
}

TEST(ToJson, each_kind_of_value) {
  const Seed seed{"s", Duration::nanos(7'999'999)};
  const Fruit fruit{.ripe = true,
                    .number = UINT64_MAX,
                    .below = INT64_MIN,
                    .sugar = 0.25,
                    .taste = Taste::kSour,
                    .rind = Rind::kSoft,
                    .id = StrongId<struct FruitTag>(7),
                    .digest = {0x01, 0xab, 0xff},
                    .fell = -3ms,
                    .picked = {1'500'000'000},
                    .eaten = decltype(Fruit::eaten)(2s),
                    .left = Duration::seconds(4),
                    .rains = {Duration::millis(5), Duration::millis(6)},
                    .seeds = {seed, {}},
                    .stone = seed,
                    .core = seed,
                    .has_leaf = true,
                    .leaf = seed,
                    .end = seed};
  EXPECT_EQ(to_json(fruit),
            R"({"ripe":true,"number":18446744073709551615,"below":-9223372036854775808,"sugar":0.25,"taste":"sour",)"
            R"("rind":1,"id":7,"digest":"01abff","fell_ms":-3,"picked":"1970-01-01T00:00:01.500Z",)"
            R"("eaten":"1970-01-01T00:00:02.000Z","left_ms":4000,"rains_ms":[5,6],)"
            R"("seeds":[{"name":"s","age_ms":7},{"name":"","age_ms":0}],"stone":{"name":"s","age_ms":7},)"
            R"("in":{"it":{"core":"s"},"age_ms":7},"leaf":{"name":"s","age_ms":7},"tree":{"name":"s","age_ms":7}})");
}

TEST(ToJson, a_text_may_have_any_bytes_and_a_number_may_be_none) {
  const auto shown = [](std::string_view name) { return to_json(Seed{std::string(name), {}}); };
  EXPECT_EQ(shown("a\"b\\c\n\0\x1f"sv), R"({"name":"a\"b\\c\n\u0000\u001f","age_ms":0})");
  EXPECT_EQ(shown(R"(","x":{)"), R"({"name":"\",\"x\":{","age_ms":0})");
  EXPECT_EQ(shown("\xc3\xa9 \xff\xc3"), "{\"name\":\"\xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd\",\"age_ms\":0}");
  EXPECT_THAT(to_json(Fruit{.sugar = std::numeric_limits<double>::infinity()}), testing::HasSubstr("\"sugar\":null"));
}

}  // namespace
}  // namespace bellwether::message
