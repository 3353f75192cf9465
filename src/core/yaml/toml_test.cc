#include <gmock/gmock.h>

#include "core/yaml/node.h"

namespace bellwether::yaml {
namespace {

using testing::HasSubstr;

std::string shown(const Node& node) {
  std::string out = node.key.empty() ? "" : node.key + "=";
  if (node.is_scalar()) return out + (node.is_quoted ? "'" + node.text + "'" : node.text);
  out += node.is_map() ? "{" : "[";
  for (const Node& item : node.items) out += (&item == node.items.data() ? "" : " ") + shown(item);
  return out + (node.is_map() ? "}" : "]");
}

std::string complaint(std::string_view text) {
  Diagnostics diagnostics("node.toml");
  parse_toml(text, diagnostics);
  std::string out;
  for (const Diagnostic& one : diagnostics.take()) out += format(one) + "\n";
  return out;
}

TEST(Toml, gives_the_tree_that_yaml_gives) {
  Diagnostics diagnostics("node.toml");
  const auto root = parse_toml(R"(
name = "m1"           # a comment
voters = ["m1", "m2"]
priority = 8
pin = true
vote.key = 'm1.key'

[vote.weights]
uptime = 0.30
network = 1.5e-1

[tls]
)",
                               diagnostics);
  ASSERT_TRUE(root);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(shown(*root),
            "{name='m1' voters=['m1' 'm2'] priority=8 pin=true vote={key='m1.key' weights={uptime=0.3 network=0.15}} "
            "tls={}}");
  const Node& voters = root->items.at(1);
  EXPECT_EQ(std::pair(voters.key_mark.line, voters.key_mark.column), std::pair(3, 1));
  EXPECT_EQ(std::pair(voters.items[1].mark.line, voters.items[1].mark.column), std::pair(3, 17));
}

TEST(Toml, an_empty_document_is_an_empty_map) {
  Diagnostics diagnostics("node.toml");
  const auto root = parse_toml("", diagnostics);
  ASSERT_TRUE(root);
  EXPECT_TRUE(root->is_map());
  EXPECT_TRUE(root->items.empty());
}

TEST(Toml, what_is_wrong_is_told_with_its_place) {
  EXPECT_THAT(complaint("name = \"a\"\nrole = manager\n"), HasSubstr("node.toml:2:8: this is not TOML: "));
  EXPECT_THAT(complaint("a = 1\na = 2\n"), HasSubstr("node.toml:2:"));
  EXPECT_THAT(complaint("name: m1\n"), HasSubstr("node.toml:1:5: this is not TOML: "));
  EXPECT_THAT(complaint("a = 1\nb = 2026-11-23\n"), HasSubstr("node.toml:2:5: a date or a time of TOML"));
}

TEST(Toml, what_is_too_large_is_refused) {
  EXPECT_THAT(complaint(std::string(kMaxFileBytes + 1, ' ')), HasSubstr("the file is too large"));
  std::string many = "a = [";
  for (std::size_t i = 0; i <= kMaxNodes; ++i) many += "1,";
  EXPECT_THAT(complaint(many + "]"), HasSubstr("the document has more than 100000 values"));
  std::string deep = "a";
  for (int i = 0; i < 100; ++i) deep += ".a";
  EXPECT_THAT(complaint(deep + " = 1"), HasSubstr("nested more than 64 levels deep"));
  for (int i = 0; i < 5000; ++i) deep += ".a";
  EXPECT_THAT(complaint(deep + " = 1"), HasSubstr("more than 4096 dots"));
  EXPECT_EQ(complaint("a.b.c.d.e.f.g.h = '" + std::string(4000, '.') + "'"), "");
  EXPECT_THAT(complaint("a = " + std::string(1000, '[') + std::string(1000, ']')), HasSubstr("this is not TOML"));
}

}  // namespace
}  // namespace bellwether::yaml
