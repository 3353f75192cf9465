#include "load/import/import_testing.h"

namespace bellwether::imports {
namespace {

std::string curl_steps(std::string_view text, const Choices& choices = {}) {
  return steps_of(from_curl, text, choices);
}

TEST(Curl, a_get_is_a_whole_scenario) {
  EXPECT_EQ(scenario_of(from_curl, "curl https://shop.example:8443/items?q=a%20b#top"),
            "env:\n"
            "  BASE: \"https://shop.example:8443\"\n"
            "defaults:\n"
            "  http:\n"
            "    base: \"${BASE}\"\n"
            "workflows:\n"
            "  main:\n"
            "    vus: 1\n"
            "    duration: 10s\n"
            "    steps:\n"
            "      get_items:\n"
            "        http:\n"
            "          get: /items?q=a%20b\n"
            "          redirects: 0\n");
}

TEST(Curl, data_makes_a_form) {
  EXPECT_EQ(curl_steps("curl -L h/cart -d 'item=7&note=a+b%26c' -d qty=2"),
            "      post_cart:\n"
            "        http:\n"
            "          post: /cart\n"
            "          redirects: 50\n"
            "          form:\n"
            "            item: \"7\"\n"
            "            note: a b&c\n"
            "            qty: \"2\"\n");
}

TEST(Curl, json_keeps_types_and_texts) {
  EXPECT_EQ(curl_steps(R"(curl -L h/pay -H 'content-type: application/json' --data-raw '{"n":1.50,"t":"1","no":null,)"
                       R"("list":[{"a":true},[]],"tpl":"${x}","y":"yes"}')"),
            "      post_pay:\n"
            "        http:\n"
            "          post: /pay\n"
            "          redirects: 50\n"
            "          json:\n"
            "            n: 1.50\n"
            "            t: \"1\"\n"
            "            \"no\": null\n"
            "            list:\n"
            "              - a: true\n"
            "              - []\n"
            "            tpl: \"$${x}\"\n"
            "            y: \"yes\"\n");
  EXPECT_NE(curl_steps("curl h --json '{\"a\":1}'").find("Accept: application/json"), std::string::npos);
}

TEST(Curl, what_is_no_form_and_no_json_stays_a_text) {
  EXPECT_NE(curl_steps("curl h -d '{\"a\":1}'").find("body: \"{\\\"a\\\":1}\""), std::string::npos);
  EXPECT_NE(curl_steps("curl h -d 'a=1&b=2&a=3'").find("body: \"a=1&b=2&a=3\""), std::string::npos);
  EXPECT_NE(curl_steps("curl h -H 'Content-Type: application/json' -d '{\"a\":1,\"a\":2}'").find("body: "),
            std::string::npos);
  EXPECT_NE(curl_steps("curl h -H 'Content-Type: text/plain' --data-binary $'a\\nb'").find("body: \"a\\nb\""),
            std::string::npos);
}

TEST(Curl, options_in_all_their_spellings) {
  EXPECT_EQ(
      curl_steps("curl -sSkLXPUT -m2.5 --connect-timeout 3 --compressed -Aagent -e http://r/ -x proxy:3128 -T body.bin "
                 "--url http://h/f -o /dev/null"),
      "      put_f:\n"
      "        http:\n"
      "          put: /f\n"
      "          tls: {verify: false}\n"
      "          timeout: 2.50s\n"
      "          connect_timeout: 3s\n"
      "          compressed: true\n"
      "          proxy: \"http://proxy:3128\"\n"
      "          redirects: 50\n"
      "          headers:\n"
      "            User-Agent: agent\n"
      "            Referer: http://r/\n"
      "          body: {file: \"body.bin\"}\n");
  EXPECT_NE(curl_steps("curl -I h").find("head: /"), std::string::npos);
  EXPECT_NE(curl_steps("curl -X PURGE h/a").find("method: PURGE\n          url: /a"), std::string::npos);
}

TEST(Curl, get_puts_data_into_the_query) {
  EXPECT_NE(curl_steps("curl -G h/s?x=1 --data-urlencode 'q=a b&c' --data-urlencode '=z/' -d p=2")
                .find("get: /s?x=1&q=a%20b%26c&z%2F&p=2\n"),
            std::string::npos);
}

TEST(Curl, parts_of_a_form_are_multipart) {
  const std::string steps = curl_steps(
      "curl -H 'Content-Type: multipart/form-data' -F name=ann -F 'n=1;type=text/x' -F n=2 -F "
      "'photo=@img/p.png;type=image/png;filename=a.png' h");
  EXPECT_NE(steps.find("          multipart:\n"
                       "            name: ann\n"
                       "            n:\n"
                       "              - {text: \"1\", type: \"text/x\"}\n"
                       "              - \"2\"\n"
                       "            photo: {file: \"img/p.png\", filename: \"a.png\", type: \"image/png\"}\n"),
            std::string::npos)
      << steps;
  EXPECT_EQ(steps.find("Content-Type"), std::string::npos) << steps;
  EXPECT_NE(warnings_of(from_curl, "curl -F a=1 -F 'b=<p.txt' h").find("the form field 'b' is left out"),
            std::string::npos);
}

TEST(Curl, secrets_are_names) {
  const std::string text =
      "curl -u ann:hunter2 -b 'sid=s3cr' 'http://h/a?api_key=k3y&x=1' --json "
      "'{\"user\":\"ann\",\"password\":\"hunter2\"}'";
  EXPECT_EQ(scenario_of(from_curl, text),
            "env:\n"
            "  BASE: http://h\n"
            "  PASSWORD:  # the login of post_a\n"
            "  COOKIE:  # the header Cookie of post_a\n"
            "  API_KEY:  # the query parameter api_key of post_a\n"
            "defaults:\n"
            "  http:\n"
            "    base: \"${BASE}\"\n"
            "workflows:\n"
            "  main:\n"
            "    vus: 1\n"
            "    duration: 10s\n"
            "    steps:\n"
            "      post_a:\n"
            "        http:\n"
            "          post: /a\n"
            "          redirects: 0\n"
            "          auth: {basic: {user: \"ann\", password: \"${PASSWORD}\"}}\n"
            "          query:\n"
            "            api_key: \"${API_KEY}\"\n"
            "            x: \"1\"\n"
            "          headers:\n"
            "            Cookie: \"${COOKIE}\"\n"
            "            Accept: application/json\n"
            "          json:\n"
            "            user: ann\n"
            "            password: \"${PASSWORD}\"\n");
  for (const char* secret : {"hunter2", "s3cr", "k3y"}) {
    EXPECT_EQ(scenario_of(from_curl, text).find(secret), std::string::npos) << secret;
    EXPECT_NE(scenario_of(from_curl, text, {.keep_secrets = true}).find(secret), std::string::npos) << secret;
  }
}

TEST(Curl, secrets_in_texts_and_lists_are_names) {
  const auto hides = [](const std::string& arguments, const std::string& body) {
    const std::string text = "curl h " + arguments;
    EXPECT_NE(curl_steps(text).find(body), std::string::npos) << curl_steps(text);
    EXPECT_EQ(scenario_of(from_curl, text).find("s3cr"), std::string::npos) << scenario_of(from_curl, text);
    EXPECT_NE(scenario_of(from_curl, text, {.keep_secrets = true}).find("s3cr"), std::string::npos);
  };
  hides("-d '{\"user\":\"a\",\"password\":\"s3cr\\\"et\"}'",
        R"(body: "{\"user\":\"a\",\"password\":\"${PASSWORD}\"}")");
  hides("-d 'a=1&password=s3cr&a=2'", "body: \"a=1&password=${PASSWORD}&a=2\"");
  hides("-d 'a=1&user%5Bpassword%5D=s3cr%20et&a=2'", "user%5Bpassword%5D=${PASSWORD}&a=2\"");
  hides("-d 'data={\"token\":\"s3cr\"}'", R"(data: "{\"token\":\"${TOKEN}\"}")");
  hides("-H 'Content-Type: text/plain' -d 'pin: s3cr'", "body: \"pin: ${PIN}\"");
  hides("-H 'Content-Type: text/plain' -d 'pin: a, s3cr'", "body: \"pin: ${PIN}\"");
  hides("-d 'a=1&password=my s3cr&a=2'", "body: \"a=1&password=${PASSWORD}&a=2\"");
  hides("-H 'Content-Type: text/xml' -d '<e><w:Password Type=\"t\">s3cr</w:Password></e>'",
        "t\\\">${PASSWORD}</w:Pass");
  hides(R"(-H 'Content-Type: application/json' -d '{"passwords":["s3cr",["s3cr2"]],"tokens":7}')",
        "passwords:\n"
        "              - \"${PASSWORDS}\"\n"
        "              -\n"
        "                - \"${PASSWORDS_2}\"\n"
        "            tokens: 7\n");
  hides(R"(-H 'Content-Type: application/json' -d '[{"name":"api_key","value":"s3cr"}]')", "value: \"${API_KEY}\"");
  hides(R"(-H 'Content-Type: application/json' -d '{"query":"mutation {login(password: \"s3cr\") {token user}}"}')",
        R"(login(password: \"${PASSWORD}\") {token user})");
  const std::string query = "query($token: String!) {login(password: $password) {id}}";
  EXPECT_NE(curl_steps("curl h -H 'Content-Type: application/json' -d '{\"query\":\"" + query + "\"}'").find(query),
            std::string::npos)
      << "names of variables are no secrets";
  EXPECT_NE(curl_steps("curl h -F 'meta={\"token\":\"s3cr\"}'").find("${TOKEN}"), std::string::npos);
}

TEST(Curl, headers_win_over_those_of_json) {
  for (const char* text : {"curl h --json {} -H 'Accept: text/html' -H 'Content-Type: application/x+json'",
                           "curl h -H 'Accept: text/html' -H 'Content-Type: application/x+json' --json {}"}) {
    const std::string steps = curl_steps(text);
    EXPECT_NE(steps.find("Accept: text/html\n"), std::string::npos) << steps;
    EXPECT_NE(steps.find("Content-Type: application/x+json\n"), std::string::npos) << steps;
  }
  EXPECT_EQ(curl_steps("curl h --json {} -H Accept:").find("Accept"), std::string::npos);
}

TEST(Curl, an_upload_into_a_folder_has_the_name_of_its_file) {
  EXPECT_NE(curl_steps("curl -T img/p.png http://h/up/").find("put: /up/p.png\n"), std::string::npos);
  EXPECT_NE(curl_steps("curl -T body.bin h").find("put: /body.bin\n"), std::string::npos);
  EXPECT_NE(curl_steps("curl -T body.bin h/a").find("put: /a\n"), std::string::npos);
  EXPECT_NE(curl_steps("curl -T body.bin 'h/up/?x=1'").find("put: /up/?x=1\n"), std::string::npos);
  EXPECT_EQ(warnings_of(from_curl, "curl -T - h/a"), "the upload of standard input is left out: name a file\n");
}

TEST(Curl, authorization_keeps_its_scheme) {
  EXPECT_NE(curl_steps("curl h -H 'Authorization: Bearer abc'").find("Authorization: \"Bearer ${TOKEN}\""),
            std::string::npos);
  EXPECT_NE(curl_steps("curl h -H 'Authorization: Basic YW5uOmI='").find("{basic: {user: \"ann\", password: \"${PASS"),
            std::string::npos);
  EXPECT_NE(curl_steps("curl --digest http://ann:p%40@h/").find("{digest: {user: \"ann\", password: \"${PASSWORD}\"}}"),
            std::string::npos);
}

TEST(Curl, several_commands_share_base_headers_and_options) {
  EXPECT_EQ(scenario_of(from_curl,
                        "curl -L -H 'X-A: 1' -H 'X-B: 2' http://h/a\n"
                        "curl -L -H 'X-A: 1' http://h/a --next -L -H 'x-a: 1' -H 'X-A: 1' http://other/ \\\n"
                        "  http://h/b -L | jq ."),
            "env:\n"
            "  BASE: http://h\n"
            "defaults:\n"
            "  http:\n"
            "    base: \"${BASE}\"\n"
            "    redirects: 50\n"
            "workflows:\n"
            "  main:\n"
            "    vus: 1\n"
            "    duration: 10s\n"
            "    steps:\n"
            "      get_a:\n"
            "        http:\n"
            "          get: /a\n"
            "          headers:\n"
            "            X-A: \"1\"\n"
            "            X-B: \"2\"\n"
            "      get_a_2:\n"
            "        after: get_a\n"
            "        http:\n"
            "          get: /a\n"
            "          headers:\n"
            "            X-A: \"1\"\n"
            "      get:\n"
            "        after: get_a_2\n"
            "        http:\n"
            "          get: http://other/\n"
            "          headers:\n"
            "            x-a: \"1, 1\"\n"
            "      get_b:\n"
            "        after: get\n"
            "        http:\n"
            "          get: /b\n"
            "          headers:\n"
            "            x-a: \"1, 1\"\n");
}

TEST(Curl, a_variable_of_the_shell_needs_a_value) {
  const Import made = from_curl({"source", "$ curl \"$BASE/items\" -H \"X: $T\" http://h/"}, {});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->unset, (std::vector<std::string>{"BASE", "T"}));
  EXPECT_NE(curl_steps("curl \"$BASE/items\"").find("get: \"${BASE}/items\""), std::string::npos);
}

TEST(Curl, what_is_left_out_is_named) {
  EXPECT_EQ(warnings_of(from_curl, "curl -E me.pem --frob -b jar.txt -H 'Transfer-Encoding: chunked' -d @- h"),
            "the option --cert of curl is left out\n"
            "the option '--frob' of curl is left out: it is unknown\n"
            "the cookies of the file 'jar.txt' are left out\n"
            "the header 'Transfer-Encoding' is left out: a request cannot set it\n"
            "the data '@-' is left out: only a file that is the whole body can be imported\n");
}

TEST(Curl, errors_have_their_place) {
  EXPECT_EQ(curl_steps("wget x"), "source:1:1: there is no curl command\n  expected: curl [OPTION…] URL\n");
  EXPECT_EQ(curl_steps("curl -H bad h"), "source:1:9: this is no header\n  found: 'bad'\n  expected: 'Name: value'\n");
  EXPECT_EQ(curl_steps("curl -s"), "source:1:1: the command has no URL\n  expected: curl … URL\n");
  EXPECT_EQ(curl_steps("curl h -d"), "source:1:8: the option --data has no value\n");
  EXPECT_NE(curl_steps("curl ftp://h/").find("source:1:6: this URL cannot be imported"), std::string::npos);
  EXPECT_NE(curl_steps("curl \xff").find("source: this is no text"), std::string::npos);
}

}  // namespace
}  // namespace bellwether::imports
