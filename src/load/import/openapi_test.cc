#include "load/import/import_testing.h"

namespace bellwether::imports {
namespace {

constexpr std::string_view kShop = R"(
openapi: 3.0.3
info: {title: Shop, version: "1"}
servers:
  - url: https://{region}.shop.example/v1/
    variables: {region: {default: eu}}
security: [{token: []}]
paths:
  /items/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer, minimum: 5}}
    get:
      operationId: getItem
      summary: One item
      parameters:
        - {name: lang, in: query, required: true, schema: {type: string, default: en us}}
        - {name: page, in: query, schema: {type: integer}}
        - {name: tag, in: query, required: true, schema: {type: array, items: {enum: [a, b]}, minItems: 2}}
        - {name: X-Trace, in: header, required: true, example: "${t}"}
      responses: {"200": {}, "304": {}, default: {}}
    delete:
      security: [{basic: []}]
      responses: {"204": {}, "202": {}}
  /items:
    post:
      security: []
      requestBody:
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Item"}
      responses: {2XX: {}}
  /login:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              properties: {user: {type: string, example: ann}, password: {type: string, minLength: 6}}
      responses: {"200": {}}
components:
  securitySchemes:
    token: {type: http, scheme: bearer}
    basic: {type: http, scheme: basic}
  schemas:
    Item:
      allOf:
        - {$ref: "#/components/schemas/Named"}
        - type: object
          properties:
            id: {type: integer, readOnly: true}
            price: {type: number, example: 9.5}
            sku: {type: string, format: uuid}
            size: {type: [string, "null"], examples: ["007"]}
            parent: {$ref: "#/components/schemas/Item"}
            kind: {oneOf: [{type: boolean}, {type: string}]}
    Named: {type: object, properties: {name: {type: string, maxLength: 2}}}
)";

TEST(OpenApi, each_operation_is_a_step) {
  EXPECT_EQ(scenario_of(from_openapi, kShop),
            "env:\n"
            "  BASE: https://eu.shop.example/v1\n"
            "  TOKEN:  # the security scheme token\n"
            "  AUTH_USER:  # the security scheme basic\n"
            "  AUTH_PASSWORD:  # the security scheme basic\n"
            "defaults:\n"
            "  http:\n"
            "    base: \"${BASE}\"\n"
            "workflows:\n"
            "  main:\n"
            "    vus: 1\n"
            "    duration: 10s\n"
            "    steps:\n"
            "      getItem:\n"
            "        # One item\n"
            "        # no example: id\n"
            "        http:\n"
            "          get: /items/5\n"
            "          auth: {bearer: \"${TOKEN}\"}\n"
            "          query:\n"
            "            lang: en us\n"
            "            tag:\n"
            "              - a\n"
            "              - a\n"
            "          headers:\n"
            "            X-Trace: \"$${t}\"\n"
            "        check: {status: 200}\n"
            "      delete_items_id:\n"
            "        # no example: id\n"
            "        after: getItem\n"
            "        http:\n"
            "          delete: /items/5\n"
            "          auth: {basic: {user: \"${AUTH_USER}\", password: \"${AUTH_PASSWORD}\"}}\n"
            "        check: {status: [204, 202]}\n"
            "      post_items:\n"
            "        # no example: name, sku, kind\n"
            "        after: delete_items_id\n"
            "        http:\n"
            "          post: /items\n"
            "          json:\n"
            "            name: te\n"
            "            price: 9.5\n"
            "            sku: \"${uuid}\"\n"
            "            size: \"007\"\n"
            "            kind: true\n"
            "        check: {status: {gte: 200, lt: 300}}\n"
            "      post_login:\n"
            "        # no example: body.password\n"
            "        after: post_items\n"
            "        http:\n"
            "          post: /login\n"
            "          auth: {bearer: \"${TOKEN}\"}\n"
            "          form:\n"
            "            user: ann\n"
            "            password: textxx\n"
            "        check: {status: 200}\n");
}

std::string operation(std::string_view rest, std::string_view more = {}) {
  return fmt::format(R"({{"openapi": "3.1.0", "paths": {{"/a": {{"get": {{{}}}}}}}{}}})", rest, more);
}

TEST(OpenApi, a_document_without_a_server_asks_for_one) {
  const Import made = from_openapi({"source", operation("", R"(, "servers": [{"url": "/v2"}])")}, {});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->unset, std::vector<std::string>{"BASE"});
  EXPECT_NE(scenario_of(from_openapi, operation("", R"(, "servers": [{"url": "/v2"}])")).find("base: \"${BASE}/v2\""),
            std::string::npos);
}

TEST(OpenApi, keys_of_an_api_are_variables_at_their_place) {
  const std::string schemes = R"(, "security": [{"k": [], "q": [], "c": []}], "components": {"securitySchemes": {)"
                              R"("k": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},)"
                              R"("q": {"type": "apiKey", "in": "query", "name": "key"},)"
                              R"("c": {"type": "apiKey", "in": "cookie", "name": "sid"}}})";
  EXPECT_EQ(steps_of(from_openapi, operation("", schemes)),
            "      get_a:\n"
            "        http:\n"
            "          get: /a\n"
            "          query:\n"
            "            key: \"${KEY}\"\n"
            "          headers:\n"
            "            X-Api-Key: \"${X_API_KEY}\"\n"
            "            Cookie: \"sid=${SID}\"\n");
}

TEST(OpenApi, forms_with_files_have_a_part_for_each_property) {
  const std::string steps = steps_of(
      from_openapi,
      operation(R"("requestBody": {"content": {"multipart/form-data": {"schema": {"$ref": "#/components/schemas/F"},)"
                R"("encoding": {"photo": {"contentType": "image/png, image/gif"}}}}})",
                R"(, "components": {"schemas": {"F": {"type": "object", "properties": {)"
                R"("name": {"type": "string", "example": "ann"}, "photo": {"type": "string", "format": "binary"},)"
                R"("tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},)"
                R"("files": {"type": "array", "items": {"type": "string", "format": "binary"}},)"
                R"("meta": {"type": "object", "properties": {"id": {"type": "string", "format": "uuid"},)"
                R"("n": {"type": "integer"}}}}}}})"));
  EXPECT_NE(steps.find(
                "          multipart:\n"
                "            name: ann\n"
                "            photo: {text: \"text\", filename: \"photo\", type: \"image/png\"}\n"
                "            tags:\n"
                "              - text\n"
                "              - text\n"
                "            files: {text: \"text\", filename: \"files\", type: \"application/octet-stream\"}\n"
                "            meta: {text: \"{\\\"id\\\":\\\"${uuid}\\\",\\\"n\\\":1}\", type: \"application/json\"}\n"),
            std::string::npos)
      << steps;
}

TEST(OpenApi, circles_and_growth_end) {
  std::string growth = R"("L0": {"type": "object", "properties": {"x": {"type": "string"}}})";
  for (int i = 1; i < 12; ++i) {
    std::string members;
    for (int n = 0; n < 6; ++n) {
      members += fmt::format(R"({}"m{}": {{"$ref": "#/components/schemas/L{}"}})", n == 0 ? "" : ",", n, i - 1);
    }
    growth += fmt::format(R"(, "L{}": {{"type": "object", "properties": {{{}}}}})", i, members);
  }
  const std::string body =
      R"("requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/L11"}}}})";
  const Import made =
      from_openapi({"source", operation(body, fmt::format(R"(, "components": {{"schemas": {{{}}}}})", growth))}, {});
  EXPECT_FALSE(made);
  EXPECT_NE(warnings_of(from_openapi, operation(R"("requestBody": {"$ref": "other.json#/x"})")).find("other.json"),
            std::string::npos);
}

TEST(OpenApi, errors_have_their_place) {
  EXPECT_NE(scenario_of(from_openapi, "swagger: '2.0'\n").find("it is Swagger 2.0"), std::string::npos);
  EXPECT_NE(scenario_of(from_openapi, "openapi: 3.0.0\n").find("the document has no map 'paths'"), std::string::npos);
  EXPECT_NE(scenario_of(from_openapi, "openapi: [\n").find("source:2:1: this is not YAML"), std::string::npos);
  EXPECT_NE(scenario_of(from_openapi, "{\"openapi\": \n").find("this is not JSON"), std::string::npos);
}

}  // namespace
}  // namespace bellwether::imports
