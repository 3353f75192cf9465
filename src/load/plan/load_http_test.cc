// How requests get to their server, with which credentials, and with which of many bodies.
#include <gmock/gmock.h>

#include "load/plan/feeder.h"
#include "load/plan/load.h"
#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string steps(const std::string& text) { return "workflows: {w: {vus: 1, duration: 1s, steps: {" + text + "}}}\n"; }

const HttpCall& call(const Plan& plan, std::size_t step) {
  return std::get<HttpCall>(plan.workflows.at(0).steps.at(step).work);
}

// --- values of JSON bodies -------------------------------------------------------------------------------------------

TEST(LoadJson, a_value_keeps_its_type_where_that_is_asked_for) {
  TestSources sources("env: {PORT: 8080, ON: \"true\"}\n" + steps(R"(a: {http: {get: "http://h/"}},
      b: {after: a, http: {post: "http://h/", json: {id: "${json(a.json.$.id)}", same: "${a.json.$.id}",
          port: "${json(PORT)}", on: "${ json(ON) }", list: ["${json(vu)}"]}}})"));
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  const Template& body = *call(*plan, 1).body;
  ASSERT_EQ(body.pieces.size(), 7u);
  EXPECT_EQ(body.pieces[0].literal, R"({"id":)");
  EXPECT_EQ(body.pieces[1].escape, Escape::kJsonValue);
  EXPECT_EQ(body.pieces[2].literal, R"(,"same":")");
  EXPECT_EQ(body.pieces[3].escape, Escape::kJson);
  EXPECT_EQ(body.pieces[4].literal, R"(","port":8080,"on":true,"list":[)");
  EXPECT_EQ(body.pieces[5].builtin, Builtin::kVu);
  EXPECT_EQ(body.pieces[6].literal, "]}");
}

TEST(LoadJson, what_cannot_keep_a_type_is_refused) {
  const auto errors = [](const std::string& request) {
    TestSources sources("env: {NAME: Ann}\n" + steps("a: {http: {post: \"http://h/\", " + request + "}}"));
    sources.load();
    return sources.errors();
  };
  EXPECT_THAT(errors(R"(json: {name: "${json(NAME)}"})"), HasSubstr("'NAME' is no JSON value\n  found: 'Ann'"));
  EXPECT_THAT(errors(R"(json: {name: "${json(nobody)}"})"), HasSubstr("nobody"));
  EXPECT_THAT(errors(R"(json: {name: "user ${json(vu)}"})"), HasSubstr("a whole value of a JSON body"));
  EXPECT_THAT(errors(R"(json: {"${json(vu)}": 1})"), HasSubstr("a whole value of a JSON body"));
  EXPECT_THAT(errors(R"(body: "${json(vu)}")"), HasSubstr("a whole value of a JSON body"));
}

// --- TLS -------------------------------------------------------------------------------------------------------------

constexpr const char* kCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBbzCCARWgAwIBAgIUT9vBe3V/pcvotkG0ZQN9m4lokUowCgYIKoZIzj0EAwIw\n"
    "DDEKMAgGA1UEAwwBYTAgFw0yNjExMjgwMTI4MjJaGA8yMTI2MTEwNDAxMjgyMlow\n"
    "DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLwjAZAQldc4\n"
    "Bk+brasnFHgU8shFrk642oy4h0A7XawdTjU80wXcNVk7kkSzXSxwKts8Y4byln/l\n"
    "2oTlmyE9mKejUzBRMB0GA1UdDgQWBBR3z4jz38AABBSYwEA9s5nQfNGOIzAfBgNV\n"
    "HSMEGDAWgBR3z4jz38AABBSYwEA9s5nQfNGOIzAPBgNVHRMBAf8EBTADAQH/MAoG\n"
    "CCqGSM49BAMCA0gAMEUCIFd7oS+Bnz4ZAU96sOY/nlWY6xw4ZBmI4Ql1eK98pe8g\n"
    "AiEAqxx744AeRlKf8grSARkNxu5h2Jml4r7zvwPNA5hzCgY=\n"
    "-----END CERTIFICATE-----\n";
constexpr const char* kKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgy2/5EyCa/X8P175d\n"
    "2CKH/ziWZ6dG8NZRPNVRFNdWeTahRANCAAS8IwGQEJXXOAZPm62rJxR4FPLIRa5O\n"
    "uNqMuIdAO12sHU41PNMF3DVZO5JEs10scCrbPGOG8pZ/5dqE5ZshPZin\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kOtherKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgtR3UxnGdEArxRR5H\n"
    "oIPpoHgzHwcsmyulvV+R2kvxVXihRANCAATf2otAl5zmZDARGh/qMGZ5RVmK7kEg\n"
    "AopUt3czkvo/V67WYoF47kQYvyciHOTrHGwGPghaQ0RRjwhBU9PGOFnC\n"
    "-----END PRIVATE KEY-----\n";

TEST(LoadTls, settings_of_a_step_win_one_by_one) {
  TestSources sources(
      "defaults: {http: {base: \"https://h\", tls: {certificate: me.pem, key: me.key, max_version: 1.2,"
      " server_name: shop.test, resume: true}}}\n" +
      steps(R"(a: {http: {get: /}}, b: {http: {get: /, tls: {certificate: both.pem, key: both.pem,
                               max_version: "1.3", min_version: 1.3, server_name: other.test, resume: false}}})"));
  sources.file_name = "load/shop.yaml";
  sources.world.files = {{"me.pem", kCertificate}, {"me.key", kKey}, {"both.pem", std::string(kCertificate) + kKey}};
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  const Tls& a = call(*plan, 0).tls;
  EXPECT_EQ(*a.certificate.text, kCertificate);
  EXPECT_EQ(a.certificate.name, "load/me.pem");
  EXPECT_EQ(*a.key.text, kKey);
  EXPECT_EQ(a.server_name, "shop.test");
  EXPECT_EQ(a.min_version, TlsVersion::k12);
  EXPECT_EQ(a.max_version, TlsVersion::k12);
  EXPECT_TRUE(a.resume);
  const Tls& b = call(*plan, 1).tls;
  EXPECT_EQ(b.key.name, "load/both.pem");
  EXPECT_EQ(*b.key.text, *b.certificate.text);
  EXPECT_EQ(b.server_name, "other.test");
  EXPECT_EQ(b.min_version, TlsVersion::k13);
  EXPECT_FALSE(b.resume);
}

TEST(LoadTls, keys_that_cannot_be_used_are_refused) {
  for (const char* key : {"", kCertificate, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
                          "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"}) {
    TestSources sources(steps(R"(a: {http: {get: "https://h/", tls: {certificate: me.pem, key: me.key}}})"));
    sources.world.files = {{"me.pem", kCertificate}, {"me.key", key}};
    EXPECT_THAT(sources.errors(), HasSubstr("the file 'me.key' holds no private key that can be used")) << key;
  }
}

TEST(LoadTls, a_key_of_another_certificate_is_refused_where_it_stands) {
  TestSources sources(steps(
      "a: {http: {get: \"https://h/\", tls: {certificate: me.pem, key: me.key}}}, b: {http: {get: \"https://h/\", "
      "tls: {certificate: me.pem, key: me.key}}}"));
  sources.world.files = {{"me.pem", kCertificate}, {"me.key", kOtherKey}};
  EXPECT_THAT(
      sources.errors(),
      AllOf(HasSubstr("the certificate 'me.pem' and the key 'me.key' cannot be used: the key belongs to another "
                      "certificate\n  expected: a certificate and its own private key"),
            testing::Not(HasSubstr("me.key' cannot be used: the key belongs to another certificate\n  expected: a "
                                   "certificate and its own private key, both in PEM\nshop.yaml"))))
      << "once";
  sources.world.files["me.key"] = kKey;
  EXPECT_EQ(sources.errors(), "");
  sources.world.files["me.pem"] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_THAT(sources.errors(), HasSubstr("the certificate is damaged"));
}

// --- proxies ---------------------------------------------------------------------------------------------------------

TEST(LoadProxy, of_the_defaults_holds_unless_a_step_says_otherwise) {
  TestSources sources(R"yaml(
env: {PASSWORD: "p%40ss"}
defaults: {http: {base: "http://h", proxy: "http://me:${PASSWORD}@proxy.test:3128/"}}
)yaml" + steps(R"(a: {http: {get: /}}, b: {http: {get: /, proxy: none}}, c: {http: {get: /, proxy: "[::1]:8080"}},
                  d: {http: {get: /}})"));
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  const Proxy proxy{"proxy.test", 3128, "Basic bWU6cEBzcw=="};
  EXPECT_EQ(call(*plan, 0).proxies->http, proxy);
  EXPECT_EQ(call(*plan, 0).proxies->https, proxy);
  EXPECT_EQ(call(*plan, 1).proxies, nullptr);
  EXPECT_EQ(call(*plan, 2).proxies->https, (Proxy{"::1", 8080, ""}));
  EXPECT_EQ(call(*plan, 3).proxies, call(*plan, 0).proxies) << "one for all that say the same";
}

TEST(LoadProxy, the_environment_is_asked_only_where_the_scenario_says_so) {
  TestSources sources(steps(R"(a: {http: {get: "http://h/", proxy: environment}}, b: {http: {get: "http://h/"}})"));
  sources.world.variables = {{"HTTP_PROXY", "http://plain:1"},
                             {"https_proxy", "tunnels:2"},
                             {"NO_PROXY", "Localhost, *.inner.test,,.other.test"}};
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  EXPECT_EQ(call(*plan, 0).proxies->http->host, "plain");
  EXPECT_EQ(call(*plan, 0).proxies->https, (Proxy{"tunnels", 2, ""}));
  EXPECT_THAT(call(*plan, 0).proxies->except, ElementsAre("localhost", ".inner.test", ".other.test"));
  EXPECT_EQ(call(*plan, 1).proxies, nullptr);
  sources.world.variables = {{"NO_PROXY", "*"}};
  EXPECT_EQ(call(*sources.load(), 0).proxies, nullptr);
  sources.world.variables = {{"HTTP_PROXY", "https://user:hidden@h:1"}};
  EXPECT_THAT(sources.errors(), HasSubstr("wrong value of the environment variable HTTP_PROXY"));
  EXPECT_THAT(sources.errors(), Not(HasSubstr("hidden")));
}

// --- OAuth 2 ---------------------------------------------------------------------------------------------------------

const std::string kClient = "token_url: \"http://id.test/token\", client_id: \"a:b\", client_secret: \"${SECRET}\"";

TEST(LoadOAuth2, makes_one_request_for_all_steps_that_want_the_same_token) {
  TestSources sources("env: {SECRET: \"s&c ret\"}\ndefaults: {http: {timeout: 7s, auth: {oauth2: {" + kClient +
                      ", scope: \"read write\"}}}}\n" +
                      steps("a: {http: {get: \"http://h/\"}}, b: {http: {get: \"http://h/\"}}, "
                            "c: {http: {get: \"http://h/\", auth: {oauth2: {" +
                            kClient +
                            ", audience: api, auth_style: body}}}}, "
                            "d: {http: {get: \"http://h/\", headers: {Authorization: mine}}}"));
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  EXPECT_EQ(call(*plan, 0).token, 0);
  EXPECT_EQ(call(*plan, 1).token, 0);
  EXPECT_EQ(call(*plan, 2).token, 1);
  EXPECT_EQ(call(*plan, 3).token, std::nullopt);
  ASSERT_EQ(plan->tokens.size(), 2u);
  const HttpCall& by_header = plan->tokens[0];
  EXPECT_EQ(by_header.method, "POST");
  EXPECT_EQ(by_header.url.text(), "http://id.test/token");
  EXPECT_EQ(by_header.body->text(), "grant_type=client_credentials&scope=read%20write");
  EXPECT_TRUE(by_header.headers.back().is_basic);
  EXPECT_EQ(by_header.headers.back().value.text(), "a%3Ab:s%26c%20ret") << "RFC 6749, section 2.3.1";
  EXPECT_EQ(by_header.timeout, Duration::seconds(7));
  const HttpCall& by_body = plan->tokens[1];
  EXPECT_EQ(by_body.body->text(),
            "grant_type=client_credentials&audience=api&client_id=a%3Ab&client_secret=s%26c%20ret");
  for (const Header& header : by_body.headers) EXPECT_NE(header.name, "Authorization");
}

// --- files -----------------------------------------------------------------------------------------------------------

std::vector<std::string> texts(const HttpCall& call) {
  std::vector<std::string> out;
  for (const Template& body : call.files->bodies) out.push_back(show(body));
  return out;
}

TEST(LoadFiles, of_a_folder_or_a_pattern_are_taken_in_the_order_of_their_names) {
  TestSources sources(steps(R"(a: {http: {post: "http://h/", body: {directory: in}}},
      b: {http: {post: "http://h/", body: {glob: "in/*.json", pick: random}}},
      c: {http: {post: "http://h/", body: {glob: "in/B*", template: true}}},
      d: {http: {post: "http://h/", body: {glob: "[tu]*.txt"}}})"));
  sources.world.files = {{"in/a.json", "1"},      {"in/B.json", "${vu}"}, {"in/c.txt", "3"},
                         {"in/deep/d.json", "4"}, {"top.txt", "5"},       {"other.txt", "6"}};
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  EXPECT_THAT(texts(call(*plan, 0)), ElementsAre("${vu}", "1", "3"));
  EXPECT_EQ(call(*plan, 0).files->pick, BodyFiles::Pick::kSequential);
  EXPECT_THAT(texts(call(*plan, 1)), ElementsAre("${vu}", "1"));
  EXPECT_EQ(call(*plan, 1).files->pick, BodyFiles::Pick::kRandom);
  EXPECT_THAT(texts(call(*plan, 2)), ElementsAre("{vu}"));
  EXPECT_THAT(texts(call(*plan, 3)), ElementsAre("5"));
}

TEST(LoadFiles, are_bounded_in_number_and_size) {
  TestSources sources(steps("a: {http: {post: \"http://h/\", body: {directory: in}}}"));
  for (int i = 0; i <= 10'000; ++i) sources.world.files["in/" + std::to_string(i)] = "x";
  EXPECT_THAT(sources.errors(), HasSubstr("the folder 'in' cannot be read: too many files"));
  sources.world.files.clear();
  for (int i = 0; i < 5; ++i) sources.world.files["in/" + std::to_string(i)] = std::string(15 << 20, 'x');
  EXPECT_THAT(sources.errors(), HasSubstr("the files of 'in' are too large"));
  EXPECT_THAT(sources.errors(), HasSubstr("at most 64 MiB together"));
}

TEST(LoadFiles, travel_with_the_scenario) {
  TestSources sources(steps("a: {http: {post: \"http://h/\", body: {glob: \"in/*.json\"}}}"));
  sources.world.files = {{"in/a.json", "1"}, {"in/b.json", "2"}, {"in/c.txt", "3"}};
  sources.outside = &sources.world;
  const auto bundled = bundle_scenario(sources);
  ASSERT_TRUE(bundled);
  const auto again = plan_of(bundled->bundle);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_THAT(texts(call(*again, 0)), ElementsAre("1", "2"));
}

// --- expected statuses -----------------------------------------------------------------------------------------------

TEST(LoadExpected, statuses_of_a_step_replace_those_of_the_defaults) {
  TestSources sources("env: {OK: 4xx}\ndefaults: {http: {expected_statuses: [200, 3xx]}}\n" +
                      steps("a: {http: {get: 'http://h/'}}, b: {http: {get: 'http://h/', expected_statuses: 404}}, "
                            "c: {http: {get: 'http://h/', expected_statuses: [\"${OK}\", 500-503]}}, "
                            "d: {lua: {file: s.lua, call: f}}"));
  sources.world.files["s.lua"] = "function f() end";
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  EXPECT_THAT(call(*plan, 0).expected, ElementsAre(StatusRange{200, 200}, StatusRange{300, 399}));
  EXPECT_THAT(call(*plan, 1).expected, ElementsAre(StatusRange{404, 404}));
  EXPECT_THAT(call(*plan, 2).expected, ElementsAre(StatusRange{400, 499}, StatusRange{500, 503}));
  EXPECT_EQ(std::get<CodeCall>(plan->workflows[0].steps[3].work).base.expected, call(*plan, 0).expected);
}

TEST(LoadExpected, says_which_statuses_can_be_expected) {
  for (const char* wrong : {"99", "1000", "6", "0xx", "xx", "300-200", "200-", "ok", "200..299", "-200"}) {
    TestSources sources(steps(fmt::format("a: {{http: {{get: 'http://h/', expected_statuses: ['{}']}}}}", wrong)));
    EXPECT_THAT(sources.errors(), HasSubstr("[200, 404, 3xx, 500-503]")) << wrong;
  }
  TestSources none(steps("a: {http: {get: 'http://h/', expected_statuses: []}}"));
  EXPECT_THAT(none.errors(), HasSubstr("1 to 100 statuses and ranges"));
}

// --- forms with files ------------------------------------------------------------------------------------------------

TEST(LoadMultipart, has_texts_and_files) {
  TestSources sources("defaults: {http: {headers: {content-type: text/plain}}}\n" +
                      steps(R"(a: {http: {post: "http://h/", multipart: {
      title: "Report ${vu}", "a\"b": [x, {text: "${vu}", type: text/csv}],
      photo: {file: img/a.png}, note: {file: n.txt, filename: "n-${vu}.txt", type: "text/plain", template: true}}}})"));
  sources.world.files = {{"img/a.png", "\x89PNG ${vu}\r\n"}, {"n.txt", "user ${vu}"}};
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  const HttpCall& sent = call(*plan, 0);
  ASSERT_EQ(sent.headers.size(), 1u) << "the default is replaced";
  const std::string type(sent.headers[0].value.text());
  const std::string begin = "multipart/form-data; boundary=";
  ASSERT_TRUE(type.starts_with(begin)) << type;
  const std::string mark = "--" + type.substr(begin.size());
  const std::string field = mark + "\r\nContent-Disposition: form-data; name=";
  EXPECT_EQ(show(*sent.body), field + "\"title\"\r\n\r\nReport {vu}\r\n" +  //
                                  field + "\"a%22b\"\r\n\r\nx\r\n" +        //
                                  field + "\"a%22b\"\r\nContent-Type: text/csv\r\n\r\n{vu}\r\n" + field +
                                  "\"photo\"; filename=\"a.png\"\r\nContent-Type: application/octet-stream\r\n\r\n" +
                                  "\x89PNG ${vu}\r\n\r\n" + field +
                                  "\"note\"; filename=\"n-{vu|form}.txt\"\r\nContent-Type: text/plain\r\n\r\n" +
                                  "user {vu}\r\n" + mark + "--\r\n");
}

TEST(LoadMultipart, has_another_boundary_for_other_files) {
  const auto boundary = [](const std::string& content) {
    TestSources sources(steps("a: {http: {post: 'http://h/', multipart: {f: {file: f}}}}"));
    sources.world.files["f"] = content;
    return std::string(call(*sources.load(), 0).headers.back().value.text());
  };
  EXPECT_EQ(boundary("x"), boundary("x"));
  const std::string of_x = boundary("x");
  EXPECT_NE(of_x, boundary("--" + of_x.substr(of_x.find('=') + 1)));
}

TEST(LoadMultipart, says_what_a_part_can_be) {
  const auto errors = [](const std::string& request) {
    TestSources sources(steps("a: {http: {post: 'http://h/', " + request + "}}"));
    sources.world.files["f"] = "x";
    return sources.errors();
  };
  EXPECT_EQ(errors("multipart: {f: {file: f}}"), "");
  EXPECT_THAT(errors("multipart: {}"), HasSubstr("a map of names, texts and files"));
  EXPECT_THAT(errors("multipart: {f: {filename: f}}"), HasSubstr("has no content\n  expected: one of text, file"));
  EXPECT_THAT(errors("multipart: {f: {file: f, text: x}}"), HasSubstr("has two contents"));
  EXPECT_THAT(errors("multipart: {f: {file: g}}"), HasSubstr("the file 'g' cannot be read"));
  EXPECT_THAT(errors("multipart: {f: {text: x, template: true}}"), HasSubstr("has no effect on a text"));
  EXPECT_THAT(errors("multipart: {f: {text: x, type: \"a\\nb\"}}"), HasSubstr("a media type contains a line break"));
  EXPECT_THAT(errors("multipart: {f: x}, form: {f: x}"), HasSubstr("one of json, body, form, multipart"));
  EXPECT_THAT(errors("multipart: {f: x}, headers: {content-type: x}"), HasSubstr("has its own Content-Type"));
}

}  // namespace
}  // namespace bellwether::plan
