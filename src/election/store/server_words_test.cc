// What the stores on servers say and understand, without a server.
#include <gmock/gmock.h>

#include "core/base/encoding.h"
#include "election/store/etcd/etcd_api.h"
#include "election/store/kubernetes/kube_api.h"
#include "election/store/postgres/postgres_store.h"
#include "election/store/redis/redis_reply.h"
#include "election/store/redis/redis_store.h"
#include "election/store/store_url.h"

namespace bellwether::store {

using testing::HasSubstr;

TEST(StoreUrl, of_a_group_is_refused_with_whom_to_ask) {
  EXPECT_TRUE(is_group_url("vote:m1.yaml"));
  EXPECT_TRUE(is_group_url("quorum:"));
  EXPECT_FALSE(is_group_url("voted:x"));
  EXPECT_FALSE(is_group_url("flock:vote:x"));
  const auto refused = parse_store_url("quorum:m1.yaml");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("cluster leader|votes|transfer --cluster m1.yaml"));
}

TEST(Base64, any_bytes_come_back) {
  std::string bytes;
  for (int size = 0; size < 300; ++size) {
    EXPECT_EQ(bytes_of_base64(base64_of(bytes)), bytes);
    bytes.push_back(static_cast<char>(size * 7));
  }
  EXPECT_EQ(base64_of("ab"), "YWI=");
}

TEST(RedisNames, a_record_lies_in_the_slot_of_its_key) {
  EXPECT_EQ(redis_record_name("plain"), "{plain}:bellwether");
  EXPECT_EQ(redis_record_name("a{tag}b"), "a{tag}b:bellwether-lease");
  EXPECT_NE(redis_record_name("x"), redis_record_name("{x}"));
}

TEST(RedisNames, the_key_is_found_from_the_name_of_its_record) {
  for (const std::string key : {"a", "{a}", "{}", "}{", "a}b", "{a", "a:b", "x{y}z"}) {
    EXPECT_EQ(redis_key_of_record(redis_record_name(key)), key);
  }
  EXPECT_EQ(redis_key_of_record("something:bellwether"), "");
  EXPECT_EQ(redis_key_of_record("{}:bellwether"), "");
}

TEST(RedisReply, replies_are_understood_in_any_pieces) {
  const std::string whole = "*3\r\n$3\r\n" + std::string("a\0b", 3) + "\r\n:-2\r\n*1\r\n$-1\r\n-OOM no\r\n";
  RedisDecoder decoder;
  std::vector<RedisReply> replies;
  for (const char c : whole) {
    ASSERT_TRUE(decoder.feed(std::string_view(&c, 1)));
    auto reply = decoder.next();
    ASSERT_TRUE(reply);
    if (*reply) replies.push_back(std::move(**reply));
  }
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].items[0].text, std::string("a\0b", 3));
  EXPECT_EQ(replies[0].items[1].integer, -2);
  EXPECT_EQ(replies[0].items[2].items[0].type, RedisReply::Type::kNil);
  EXPECT_EQ(error_of(replies[1], "here").code, Errc::kExhausted);
}

TEST(RedisReply, what_is_no_redis_is_refused) {
  RedisDecoder decoder;
  ASSERT_TRUE(decoder.feed("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_FALSE(decoder.next());
}

TEST(EtcdWatch, tells_changes_of_the_queue_and_of_nothing_else) {
  const auto news = [](const std::string& names) {
    std::string events;
    for (std::size_t at = 0; at < names.size(); at = names.find(' ', at) + 1) {
      const std::string name = names.substr(at, names.find(' ', at) - at);
      events += (at == 0 ? "" : ",") + std::string(R"({"type":"DELETE","kv":{"key":")") + base64_of(name) +
                R"(","mod_revision":")" + std::to_string(7 + at) + R"("}})";
      if (names.find(' ', at) == std::string::npos) break;
    }
    return parse_watch(R"({"result":{"header":{"revision":"9"},"events":[)" + events + "]}}", "job");
  };
  EXPECT_EQ(news("job/7c")->revision, 7u);
  EXPECT_EQ(news("job/7c job/7d")->revision, 14u);
  EXPECT_EQ(news("job/below/7c")->revision, 0u) << "of another key";
  EXPECT_EQ(news("job/config")->revision, 0u) << "no claim";
  EXPECT_FALSE(news("job/7c")->begins || news("job/7c")->over);
  EXPECT_TRUE(parse_watch(R"({"result":{"header":{},"created":true}})", "job")->begins);
  const auto refused = parse_watch(R"({"result":{"created":true,"canceled":true,"cancel_reason":"no"}})", "job");
  EXPECT_TRUE(refused->over && !refused->begins);
  EXPECT_TRUE(parse_watch(R"({"error":{"grpc_code":14,"message":"no leader"}})", "job")->over);
  for (const std::string line : {"", "[]", "null", R"({"result":[]})", "{"})
    EXPECT_FALSE(parse_watch(line, "job")) << line;
  EXPECT_TRUE(parse_watch(R"({"result":{"events":[7,{"kv":8},{"kv":{"key":9}},null]}})", "job"));
}

TEST(EtcdWatch, names_that_were_removed_are_told_and_those_that_were_written_are_not) {
  const auto event = [](const std::string& type, const std::string& name) {
    return R"({"type":")" + type + R"(","kv":{"key":")" + base64_of(name) + R"("}})";
  };
  // What is written has no type: the gateway leaves out what is zero.
  const std::string put = R"({"kv":{"key":")" + base64_of("c") + R"("}})";
  const auto removals = parse_removals(R"({"result":{"events":[)" + event("DELETE", "a") + "," + put + "," +
                                       event("DELETE", std::string("b\0", 2)) + R"(,7,{"type":"DELETE"}]}})");
  ASSERT_TRUE(removals);
  EXPECT_EQ(removals->names, (std::vector<std::string>{"a", std::string("b\0", 2)}));
  EXPECT_FALSE(removals->begins || removals->over);
  EXPECT_TRUE(parse_removals(R"({"result":{"created":true}})")->begins);
  EXPECT_TRUE(parse_removals(R"({"result":{"canceled":true}})")->over);
  EXPECT_FALSE(parse_removals("{"));
}

TEST(EtcdJson, what_a_transaction_shows_is_all_that_was_asked_for) {
  const std::string one = R"({"response_range":{"kvs":[{"key":"YQ==","mod_revision":"4"}]}})";
  const std::string body = R"({"header":{"revision":"9"},"succeeded":true,"responses":[{"response_put":{}},)" + one +
                           R"(,{"response_range":{}}]})";
  const auto shown = parse_shown(body, 2);
  ASSERT_TRUE(shown);
  EXPECT_TRUE(shown->succeeded);
  ASSERT_EQ(shown->entries.size(), 2u);
  ASSERT_EQ(shown->entries[0].size(), 1u);
  EXPECT_EQ(shown->entries[0][0].key, "a");
  EXPECT_EQ(shown->entries[0][0].modified, 4u);
  EXPECT_TRUE(shown->entries[1].empty());
  EXPECT_FALSE(parse_shown(body, 4));
}

TEST(KubeWatch, an_event_names_the_lease_and_its_version) {
  const std::string object = R"("object":{"metadata":{"name":"job","uid":"u","resourceVersion":"7"}}})";
  const auto changed = parse_kube_event(R"({"type":"MODIFIED",)" + object);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->name, "job");
  EXPECT_EQ(changed->version, parse_kube_lease(object.substr(9, object.size() - 10))->version);
  EXPECT_FALSE(changed->over);
  EXPECT_TRUE(parse_kube_event(R"({"type":"ERROR","object":{"kind":"Status","code":410}})")->over);
  for (const std::string line : {"", "[]", R"({"object":{}})", R"({"type":7})"}) EXPECT_FALSE(parse_kube_event(line));
  EXPECT_TRUE(parse_kube_event(R"({"type":"ADDED","object":7})"));
}

TEST(EtcdJson, a_prefix_ends_before_the_next_name) {
  EXPECT_EQ(after_prefix("a/"), "a0");
  EXPECT_EQ(after_prefix("a\xff"), "b");
  EXPECT_EQ(after_prefix("\xff"), std::string(1, '\0'));
  EXPECT_EQ(after_prefix(""), std::string(1, '\0'));
}

TEST(EtcdJson, only_the_claims_of_a_key_itself_stand_in_its_queue) {
  EXPECT_EQ(key_of_claim("a/b/2040a1fee7ac3d0c"), "a/b");
  EXPECT_EQ(key_of_claim("a/x"), "");
  EXPECT_EQ(key_of_claim("a/12345678901234567"), "");
  const auto answer = parse_transaction(
      R"({"header":{"cluster_id":"7","revision":"9"},"succeeded":true,"responses":[{"response_range":{"kvs":[)"
      R"({"key":"YS9iLzE=","create_revision":"3"},)"
      R"({"key":"YS8y","create_revision":"4","mod_revision":"5","lease":"2"}]}},)"
      R"({"response_range":{}}]})",
      "a");
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->queue.size(), 1u);
  EXPECT_EQ(answer->queue[0].key, "a/2");
  EXPECT_EQ(answer->queue[0].created, 4u);
  EXPECT_EQ(answer->revision, 9u);
  EXPECT_FALSE(answer->note);
}

TEST(EtcdJson, nonsense_is_refused_and_never_believed) {
  for (const std::string text : {"", "[]", "{}", "{\"header\":3}", "{\"header\":{},\"responses\":7}",
                                 "{\"header\":{},\"responses\":[1,2]}", "{\"header\":{},\"responses\":[[],[]]}"}) {
    const auto answer = parse_transaction(text, "a");
    if (answer) EXPECT_TRUE(answer->queue.empty()) << text;
    EXPECT_FALSE(parse_grant(text)) << text;
    EXPECT_FALSE(parse_authenticate(text)) << text;
  }
  EXPECT_FALSE(parse_etcd_value("somebody"));
  EXPECT_FALSE(parse_etcd_value("{\"bellwether\":2}"));
}

TEST(PostgresSql, any_bytes_are_a_key) {
  const std::string bytes("\0\xff'a\\", 5);
  EXPECT_EQ(pg_bytes(bytes), "\\x00ff27615c");
  EXPECT_EQ(bytes_of_pg(pg_bytes(bytes)), bytes);
}

TEST(KubeNames, a_key_is_its_own_name_where_kubernetes_permits_it) {
  EXPECT_EQ(kube_name_of("loop-1.example"), "loop-1.example");
  for (const std::string key : {"Upper", "a/b", "-a", "a-", "a..b", "a.-b", "", "x-epoch", "bellwether-x"}) {
    EXPECT_THAT(kube_name_of(key), testing::MatchesRegex("bellwether-[0-9a-f]+")) << key;
  }
  EXPECT_NE(kube_name_of("A"), kube_name_of("B"));
}

TEST(KubeLease, annotations_count_only_while_the_fields_are_those_they_were_written_with) {
  election::LeaseRecord record;
  record.holder = "alice";
  record.token = "t";
  record.epoch = election::Epoch(4);
  record.lease = Duration::millis(1500);
  std::string text = kube_lease_with(std::nullopt, "n", "k", record);
  text.insert(text.find("\"metadata\":{") + 12, "\"resourceVersion\":\"5\",\"uid\":\"u\",");
  const auto ours = parse_kube_lease(text);
  ASSERT_TRUE(ours) << ours.error().message;
  EXPECT_EQ(ours->record.token, "t");
  EXPECT_EQ(ours->record.lease, Duration::millis(1500));
  EXPECT_EQ(ours->key, "k");
  EXPECT_FALSE(ours->foreign);
  std::string taken = text;
  taken.replace(taken.find("\"holderIdentity\":\"alice\""), 24, "\"holderIdentity\":\"other\"");
  const auto theirs = parse_kube_lease(taken);
  ASSERT_TRUE(theirs);
  EXPECT_TRUE(theirs->foreign);
  EXPECT_NE(theirs->record.token, "t");
  EXPECT_EQ(theirs->record.lease, Duration::seconds(2));
}

TEST(KubeConfig, the_chosen_context_says_where_and_who) {
  const std::string text =
      "current-context: b\ncontexts:\n- {name: a, context: {cluster: x, user: u}}\n- {name: b, context: {cluster: y, "
      "user: u, namespace: n}}\nclusters:\n- {name: x, cluster: {server: 'https://h'}}\n- {name: y, cluster: {server: "
      "'https://[::1]:6443/p/', certificate-authority: ca.pem}}\nusers:\n- {name: u, user: {token: t}}\n";
  const auto access = parse_kubeconfig(text, "", "/etc");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->host.host, "::1");
  EXPECT_EQ(access->host.port, 6443);
  EXPECT_EQ(access->path, "/p");
  EXPECT_EQ(access->tls_options.ca_file, "/etc/ca.pem");
  EXPECT_EQ(access->token, "t");
  EXPECT_EQ(access->name_space, "n");
  EXPECT_EQ(parse_kubeconfig(text, "a", "/etc")->host.port, 443);
  EXPECT_EQ(parse_kubeconfig(text, "c", "/etc").error().code, Errc::kInvalid);
  EXPECT_EQ(parse_kubeconfig("a: [", "", "/etc").error().code, Errc::kInvalid);
}

TEST(KubeConfig, a_user_who_logs_in_by_a_program_is_refused_in_words) {
  const auto access = parse_kubeconfig(
      "current-context: a\ncontexts: [{name: a, context: {cluster: x, user: u}}]\nclusters: [{name: x, cluster: "
      "{server: "
      "'https://h'}}]\nusers: [{name: u, user: {exec: {command: aws}}}]\n",
      "", "/etc");
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, Errc::kUnsupported);
  EXPECT_THAT(access.error().message, HasSubstr("exec"));
}

}  // namespace bellwether::store
