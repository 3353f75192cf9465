#include <gmock/gmock.h>

#include "cluster/local_cluster/folder.h"
#include "cluster/net/node_config.h"

namespace bellwether::local_cluster {
namespace {

using testing::HasSubstr;

// As `bellwether node --config` reads it; what is wrong with it is what the test says.
cluster::NodeConfig read(const std::string& text) {
  yaml::Diagnostics wrong("settings");
  cluster::Settings settings(cluster::node_settings());
  settings.read_file(text, wrong, "settings");
  auto config = cluster::node_config(settings, "host", wrong);
  for (const yaml::Diagnostic& one : wrong.take()) ADD_FAILURE() << format(one);
  return config ? *config : cluster::NodeConfig();
}

Shape shape(unsigned managers, unsigned workers, unsigned datacenters = 1) {
  Shape shape;
  shape.managers = managers;
  shape.workers = workers;
  shape.datacenters = datacenters;
  return shape;
}

TEST(Layout, nodes_have_names_places_and_settings_that_a_node_reads) {
  const Layout layout = make_layout(shape(3, 2, 2), 20'000);
  ASSERT_EQ(layout.nodes.size(), 5u);
  const cluster::NodeConfig m2 = read(settings_of(layout, layout.nodes[1], "/a folder/with \"quotes\""));
  EXPECT_EQ(m2.name, "m2");
  EXPECT_EQ(m2.role, wire::Role::kManager);
  EXPECT_EQ(m2.datacenter, "dc2");
  EXPECT_EQ(to_string(m2.listen), "127.0.0.1:20002");
  EXPECT_EQ(to_string(*m2.http), "127.0.0.1:20003");
  EXPECT_EQ(m2.voters, (std::vector<std::string>{"m1", "m2", "m3"}));
  EXPECT_EQ(m2.seeds.size(), 3u);
  EXPECT_EQ(m2.data, "/a folder/with \"quotes\"/m2");
  EXPECT_EQ(m2.certificate, "/a folder/with \"quotes\"/m2.pem");
  const cluster::NodeConfig w1 = read(settings_of(layout, layout.nodes[3], "/f"));
  EXPECT_EQ(w1.role, wire::Role::kWorker);
  EXPECT_EQ(w1.datacenter, "dc1");
  EXPECT_FALSE(w1.votes());
  EXPECT_EQ(w1.secret_file, "/f/secret");
  EXPECT_EQ(w1.data, "/f/w1");
  EXPECT_EQ(w1.trust_keys, "");
}

TEST(Layout, the_keys_of_programs_are_for_workers) {
  Shape trusting = shape(1, 1);
  trusting.trust_keys = "/k/load: \"ours\".pub";
  const Layout layout = make_layout(trusting, 20'000);
  EXPECT_EQ(read(settings_of(layout, layout.nodes[1], "/f")).trust_keys, trusting.trust_keys);
  EXPECT_EQ(read(settings_of(layout, layout.nodes[0], "/f")).trust_keys, "");
}

TEST(Layout, without_certificates_there_is_no_word_of_them) {
  Shape plain = shape(1, 0);
  plain.tls = false;
  const Layout layout = make_layout(plain, 20'000);
  EXPECT_FALSE(read(settings_of(layout, layout.nodes[0], "/f")).has_tls());
  const cluster::NodeConfig client = read(client_settings(layout, "/f"));
  EXPECT_FALSE(client.has_tls());
  EXPECT_EQ(to_string(client.listen), "127.0.0.1:20000");
}

TEST(Layout, a_certificate_claims_the_role_and_the_names_of_its_node) {
  const Layout layout = make_layout(shape(1, 1), 20'000);
  EXPECT_EQ(certificate_names(layout.nodes[1]),
            "URI:bellwether://local/default/dc1/role/worker/node/w1,DNS:w1,IP:127.0.0.1");
  EXPECT_THAT(client_certificate_names(), HasSubstr("URI:bellwether://local/default/*/role/operator/node/*"));
}

TEST(Layout, what_is_remembered_is_read_again) {
  Layout layout = make_layout(shape(3, 2, 2), 20'000);
  layout.formed = true;
  layout.shape.cores = 2;
  layout.shape.trust_keys = "/k/load.pub";
  layout.nodes[1].process = {17, 4711, "a boot", "pid:[1]"};
  const auto again = decode_layout(encode_layout(layout));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, layout);
}

TEST(Layout, a_record_of_something_else_is_refused) {
  for (const std::string text : {"", "{", "[]", "{\"format\": 1}", "{\"format\": 1, \"managers\": \"three\"}"}) {
    EXPECT_FALSE(decode_layout(text)) << text;
  }
  Layout layout = make_layout(shape(3, 2), 20'000);
  layout.nodes[0].name = "../m1";
  EXPECT_EQ(decode_layout(encode_layout(layout)).error().code, Errc::kInvalid);
  layout.nodes.pop_back();
  EXPECT_THAT(decode_layout(encode_layout(layout)).error().message, HasSubstr("number of nodes does not match"));
  EXPECT_EQ(decode_layout("{\"format\": 2}").error().code, Errc::kUnsupported);
}

TEST(Layout, a_shape_has_bounds) {
  EXPECT_TRUE(check_shape(shape(1, 0)));
  EXPECT_THAT(check_shape(shape(0, 0)).error().message, HasSubstr("--managers is 0; expected 1 to 9"));
  EXPECT_FALSE(check_shape(shape(10, 0)));
  EXPECT_FALSE(check_shape(shape(3, 101)));
  EXPECT_FALSE(check_shape(shape(3, 1, 0)));
}

}  // namespace
}  // namespace bellwether::local_cluster
