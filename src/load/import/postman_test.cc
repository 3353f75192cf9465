#include "load/import/import_testing.h"

namespace bellwether::imports {
namespace {

constexpr std::string_view kCollection = R"({
  "info": {"name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
  "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{access-token}}"}]},
  "variable": [{"key": "base", "value": "http://shop.example"}, {"key": "apiSecret", "value": "hush"}],
  "item": [
    {"name": "Sign in", "event": [{"listen": "test", "script": {"exec": ["pm.test;"]
}
}],
     "request": {
  "method" : "POST",
             "auth" : {"type" : "noauth"},
                      "url" : {"raw" : "{{base}}/login"},
                              "header"
      : [ {"key" : "X-Id", "value" : "{{$guid}}"}, {"key" : "X-Off", "value" : "1", "disabled" : true} ],
        "body" : {
    "mode" : "raw", "raw" : "{\"user\": \"{{user}}\", \"n\": {\"a\": {\"b\": 1}}, \"password\": \"pw\"}", "options" : {
      "raw" : { "language" : "json" }
    }
  }
}
},
    {"name": "Cart, all", "item": [
      {"name": "Put", "request": {"method": "PUT",
        "url": {"raw": "{{base}}/carts/:id?a=1&b=2", "variable": [{"key": "id", "value": "7"}],
                "query": [{"key": "a", "value": "1"}, {"key": "b", "value": "2", "disabled": true}]},
        "body": {"mode": "urlencoded", "urlencoded": [{"key": "qty", "value": "2"}]}}},
      {"name": "Put", "request": "{{base}}/carts"}]},
    {"name": "Ask", "request": {"method": "POST", "url": "{{base}}/graphql", "body": {"mode": "graphql",
        "graphql": {"query": "{ items\n{ id } }", "variables": "{\"n\": 1}"}}}},
    {"name": "Photo", "request": {"method": "POST", "url": "{{base}}/p", "body": {"mode": "formdata", "formdata": [
      {"key": "title", "value": "{{t}}"}, {"key": "img", "type": "file", "src": "a.png"},
      {"key": "off", "value": "1", "disabled": true}]}}}
  ]
})";

TEST(Postman, each_request_is_a_step) {
  EXPECT_EQ(scenario_of(from_postman, kCollection),
            "env:\n"
            "  base: http://shop.example\n"
            "  apiSecret:  # a variable of the collection\n"
            "  user:  # the variable user, which the collection does not have\n"
            "  access_token:  # the variable access-token, which the collection does not have\n"
            "  t:  # the variable t, which the collection does not have\n"
            "  PASSWORD:  # the JSON member password of Sign_in\n"
            "workflows:\n"
            "  main:\n"
            "    vus: 1\n"
            "    duration: 10s\n"
            "    steps:\n"
            "      Sign_in:\n"
            "        http:\n"
            "          post: \"${base}/login\"\n"
            "          headers:\n"
            "            X-Id: \"${uuid}\"\n"
            "          json:\n"
            "            user: \"${user}\"\n"
            "            n:\n"
            "              a:\n"
            "                b: 1\n"
            "            password: \"${PASSWORD}\"\n"
            "      Put:\n"
            "        after: Sign_in\n"
            "        group: Cart  all\n"
            "        http:\n"
            "          put: \"${base}/carts/7\"\n"
            "          auth: {bearer: \"${access_token}\"}\n"
            "          query:\n"
            "            a: \"1\"\n"
            "          form:\n"
            "            qty: \"2\"\n"
            "      Put_2:\n"
            "        after: Put\n"
            "        group: Cart  all\n"
            "        http:\n"
            "          get: \"${base}/carts\"\n"
            "          auth: {bearer: \"${access_token}\"}\n"
            "      Ask:\n"
            "        after: Put_2\n"
            "        http:\n"
            "          post: \"${base}/graphql\"\n"
            "          auth: {bearer: \"${access_token}\"}\n"
            "          json:\n"
            "            query: \"{ items\\n{ id } }\"\n"
            "            variables:\n"
            "              n: 1\n"
            "      Photo:\n"
            "        after: Ask\n"
            "        http:\n"
            "          post: \"${base}/p\"\n"
            "          auth: {bearer: \"${access_token}\"}\n"
            "          multipart:\n"
            "            title: \"${t}\"\n"
            "            img: {file: \"a.png\"}\n");
  EXPECT_EQ(warnings_of(from_postman, kCollection),
            "1 script left out: write 'check', 'extract' or a step in Lua instead\n");
  EXPECT_NE(scenario_of(from_postman, kCollection, {.keep_secrets = true}).find("apiSecret: hush"), std::string::npos);
}

TEST(Postman, api_keys_and_numbers_under_secret_names_are_hidden) {
  const Import made = from_postman({"source", R"({"info": {}, "item": [{"name": "a", "request": {
    "method": "POST", "url": "http://h/a",
    "body": {"mode": "raw", "raw": "{\"password\": 987654, \"n\": 1}", "options": {"raw": {"language": "json"}}},
    "auth": {"type": "apikey", "apikey": [
      {"key": "key", "value": "X-Custom"}, {"key": "value", "value": "s3cret"}]}}}]})"},
                                   {});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->scenario.find("s3cret"), std::string::npos) << made->scenario;
  EXPECT_NE(made->scenario.find("X-Custom: \"${X_CUSTOM}\""), std::string::npos) << made->scenario;
  EXPECT_NE(made->scenario.find("password: \"${json(PASSWORD)}\"\n            n: 1\n"), std::string::npos)
      << made->scenario;
}

TEST(Postman, urls_in_parts_and_headers_in_lines) {
  EXPECT_EQ(steps_of(from_postman, R"({"info": {}, "item": [{"name": "a", "request": {
      "url": {"protocol": "https", "host": ["shop", "example"], "port": "8443", "path": ["items", {"value": "{{id}}"}],
              "query": [{"key": "x", "value": "1"}]},
      "header": "Accept: text/html\r\nX-Id: {{id}}\n"}}]})"),
            "      a:\n"
            "        http:\n"
            "          get: \"/items/${id}?x=1\"\n"
            "          headers:\n"
            "            Accept: text/html\n"
            "            X-Id: \"${id}\"\n");
}

TEST(Postman, errors_have_their_place) {
  EXPECT_NE(scenario_of(from_postman, "{}").find("source:1:1: this is no collection of Postman"), std::string::npos);
  EXPECT_NE(
      scenario_of(from_postman, "{\"info\": {}, \"item\": [\n {\"name\": \"x\"}]}").find("source:2:2: an item has"),
      std::string::npos);
}

}  // namespace
}  // namespace bellwether::imports
