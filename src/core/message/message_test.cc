#include "core/message/message.h"

#include <gmock/gmock.h>

#include "core/base/strong_id.h"
#include "core/message/describe.h"
#include "core/message/message_testing.h"

namespace bellwether::message {
namespace {

using namespace std::literals;

enum class Colour : uint8_t { kRed, kGreen, kBlue };

struct Leaf {
  std::string name;
  int64_t depth = 5;
  bool operator==(const Leaf&) const = default;
};
struct Ask {
  uint32_t number = 0;
  bool operator==(const Ask&) const = default;
};
struct Tell {
  std::string text;
  bool operator==(const Tell&) const = default;
};
struct Choice {
  std::variant<Leaf, Ask, std::string> body;
  bool operator==(const Choice&) const = default;
};
struct Place {
  uint32_t x = 1;
  uint32_t y = 1;
  bool operator==(const Place&) const = default;
};
struct Tree {
  uint32_t small = 7;  // unsent fields are zero, even if a new value begins otherwise
  Duration span;
  uint64_t seed = 0;
  double part = 0;
  Colour colour = Colour::kRed;
  StrongId<struct TreeTag, uint64_t> id;
  std::array<unsigned char, 4> digest{};
  std::vector<uint32_t> numbers;
  std::vector<Leaf> leaves;
  std::optional<uint32_t> maybe;
  std::optional<Leaf> crown;
  Leaf root;
  bool has_fruit = false;
  Leaf fruit;  // when it has one
  Place place;
  std::variant<Ask, Tell> body;
  bool flag = false;
  std::string why;
  bool operator==(const Tree&) const = default;
};

bool is_lower(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}
std::string shout(std::string_view text) {
  std::string out(text.substr(0, 6));
  for (char& c : out) c = c == '\n' ? '?' : c;
  return out;
}
std::string_view wrong_place(const Tree& tree) {
  return tree.place.x + tree.place.y < 10 ? "" : "a place too far away";
}

constexpr uint32_t kAsker = 1;
constexpr uint32_t kTeller = 2;

}  // namespace

template <>
constexpr auto kDescription<Leaf> =
    describe<Leaf>("a leaf", field<&Leaf::name>(1, text(8, "lower word", &is_lower, "abc")),
                   field<&Leaf::depth>(2, zigzag(between(-100, 100))));
template <>
constexpr auto kDescription<Ask> = describe<Ask>("a question", field<&Ask::number>(1));
template <>
constexpr auto kDescription<Tell> = describe<Tell>("a statement", field<&Tell::text>(1, cut(5)));
template <>
constexpr auto kDescription<Choice> =
    describe<Choice>("a choice", alternative<Leaf, &Choice::body>(1, "leaf"), alternative<Ask, &Choice::body>(2, "ask"),
                     alternative<std::string, &Choice::body>(3, "word", text(8, "lower word", &is_lower, "abc")))
        .within(100);
template <>
constexpr auto kDescription<Tree> =
    describe<Tree, &wrong_place>(
        "a tree", field<&Tree::small>(1, at_most(300)),
        field<&Tree::span>(2, between(Duration::seconds(-1), Duration::seconds(9))), field<&Tree::seed>(3, fixed()),
        field<&Tree::part>(4, between(0.0, 1.0)), field<&Tree::colour>(5, one_of(3, Colour::kBlue)),
        field<&Tree::id>(6, kSome), field<&Tree::digest>(7), field<&Tree::numbers>(8, list(4, at_most(1'000))),
        field<&Tree::leaves>(9, list(3)), field<&Tree::maybe>(10), field<&Tree::crown>(11), field<&Tree::root>(12),
        field<&Tree::place, &Place::x>(13, at_most(20)), field<&Tree::place, &Place::y>(14, at_most(20)),
        alternative<Ask, &Tree::body>(15, "ask").sent_by(kAsker, 1, 2),
        alternative<Tell, &Tree::body>(16, "tell").sent_by(kTeller, 3, 4), field<&Tree::flag>(17),
        field<&Tree::why>(18, fitted(6, &shout)), field_if<&Tree::has_fruit, &Tree::fruit>(19))
        .within(1'000, Errc::kInvalid);

namespace {

Tree good() {
  Tree tree;
  tree.small = 0;
  tree.id = StrongId<struct TreeTag, uint64_t>(1);
  tree.place = {0, 0};
  tree.root = {"a", 0};
  return tree;
}

TEST(Message, all_that_every_message_must_do) {
  expect_sound<Tree>(500);
  expect_sound<Choice>();
}

// Bytes that protoc's own code makes of the same values.
TEST(Message, the_bytes_are_those_of_protocol_buffers) {
  Tree tree = good();
  tree.small = 300;
  tree.span = Duration::nanos(-1);
  tree.seed = 2;
  tree.part = 1;
  tree.digest = {1, 2, 3, 4};
  tree.numbers = {1, 300};
  tree.leaves = {{"b", -3}, {"c", 0}};
  tree.maybe = 0;
  tree.body = Ask{0};
  tree.flag = true;
  const std::string_view expected =
      "\x08\xac\x02"
      "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
      "\x19\x02\0\0\0\0\0\0\0"
      "\x21\0\0\0\0\0\0\xf0\x3f"
      "\x30\x01"
      "\x3a\x04\x01\x02\x03\x04"
      "\x42\x03\x01\xac\x02"
      "\x4a\x05\x0a\x01"
      "b\x10\x05"
      "\x4a\x03\x0a\x01"
      "c"
      "\x50\0"
      "\x62\x03\x0a\x01"
      "a"
      "\x7a\0"
      "\x88\x01\x01"sv;
  EXPECT_EQ(encode(tree), expected);
  EXPECT_EQ(*decode<Tree>(expected), tree);
}

TEST(Message, lists_of_numbers_are_read_packed_or_not_and_parts_are_put_together) {
  Tree tree = good();
  tree.numbers = {5, 6, 7};
  tree.crown = Leaf{"ab", 1};
  std::string bytes = encode(good());
  bytes += std::string("\x40\x05\x42\x01\x06\x40\x07", 7);
  bytes += std::string(
      "\x5a\x04\x0a\x02"
      "ab"
      "\x5a\x02\x10\x02",
      10);
  EXPECT_EQ(*decode<Tree>(bytes), tree);
}

TEST(Message, an_error_names_message_field_what_was_found_and_the_limit) {
  const auto says = [](auto spoil) {
    Tree tree = good();
    spoil(tree);
    const auto read = decode<Tree>(encode(tree));
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(says([](Tree&) {}), "");
  EXPECT_EQ(says([](Tree& t) { t.small = 301; }), "a tree is refused: its small is 301; expected 0 to 300");
  EXPECT_EQ(says([](Tree& t) { t.span = Duration::seconds(10); }),
            "a tree is refused: its span is 10000000000; expected -1000000000 to 9000000000");
  EXPECT_EQ(says([](Tree& t) { t.part = 1.5; }), "a tree is refused: its part is 1.5; expected 0 to 1");
  EXPECT_EQ(says([](Tree& t) {
              t.leaves = {{"a", 0}, {"B\n", 0}};
            }),
            "a tree is refused: its leaves[1].name is 'B?', which is not a valid lower word");
  EXPECT_EQ(says([](Tree& t) {
              t.leaves.resize(4, {"a", 0});
            }),
            "a tree is refused: its leaves[3] has more than 3 entries, the limit");
  EXPECT_EQ(says([](Tree& t) { t.numbers.resize(5); }),
            "a tree is refused: its numbers[4] has more than 4 entries, the limit");
  EXPECT_EQ(says([](Tree& t) { t.root.name = "abcdefghi"; }),
            "a tree is refused: its root.name has 9 bytes; expected 1 to 8");
  EXPECT_EQ(says([](Tree& t) { t.id = {}; }), "a tree is refused: its id is 0; expected 1 to 18446744073709551615");
  EXPECT_EQ(says([](Tree& t) { t.place = {5, 5}; }), "a tree is refused: it has a place too far away");
  EXPECT_EQ(decode<Tree>("\x08").error().message, "a tree is refused: it is truncated or malformed");
  EXPECT_EQ(decode<Tree>("").error().code, Errc::kUnsupported);
}

TEST(Message, texts_are_fit_by_both_and_cut_by_who_writes) {
  Tree tree = good();
  tree.why = "a\nb and more";
  tree.body = Tell{"longer"};
  const Tree read = *decode<Tree>(encode(tree));
  EXPECT_EQ(read.why, "a?b an");
  EXPECT_EQ(std::get<Tell>(read.body).text, "longe");
  EXPECT_EQ(decode<Tree>(encode(good()) + "\x92\x01\x02\n!")->why, "?!");
}

TEST(Message, an_alternative_that_says_nothing_has_nothing_but_zeros) {
  Choice choice;
  EXPECT_EQ(std::get<Leaf>(choice.body).depth, 5) << "as a new one has it";
  std::get<Leaf>(choice.body) = {"a", 0};
  EXPECT_EQ(std::get<Leaf>(decode<Choice>(encode(choice))->body).depth, 0);
}

TEST(Message, an_alternative_may_be_a_text_and_has_its_limit) {
  EXPECT_EQ(encode(Choice{"ab"s}),
            "\x1a\x02"
            "ab");
  EXPECT_EQ(decode<Choice>(encode(Choice{"AB"s})).error().message,
            "a choice is refused: its word is 'AB', which is not a valid lower word");
}

TEST(Message, what_a_newer_version_says_counts_as_told) {
  Tree tree = good();
  tree.colour = static_cast<Colour>(9);
  EXPECT_EQ(decode<Tree>(encode(tree))->colour, Colour::kBlue);
}

TEST(Message, whose_a_message_is_can_be_told_without_reading_it) {
  Tree tree = good();
  tree.body = Tell{"x"};
  const Message& message = message_of<Tree>();
  const Field* found = alternative_in(message, encode(tree));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name, "tell");
  EXPECT_EQ(found->senders, kTeller);
  EXPECT_EQ(found->urgency, 3);
  EXPECT_EQ(found->operation, 4);
  EXPECT_EQ(alternative_in(message, encode(tree) + std::string("\x7a\0", 2)), nullptr) << "two of them";
  EXPECT_EQ(alternative_in(message, "\x08"), nullptr);
}

}  // namespace
}  // namespace bellwether::message
