#include "core/http1/digest.h"

#include <gmock/gmock.h>

namespace bellwether::http1 {
namespace {

std::optional<DigestChallenge> challenge_of(const std::vector<std::string>& fields) {
  ResponseHead head;
  for (const std::string& field : fields) head.fields[head.field_count++] = {"WWW-Authenticate", field};
  return digest_challenge(head);
}

std::string answer_to(const std::string& field, const DigestAnswer& answer) {
  const auto challenge = challenge_of({field});
  if (!challenge) return "no challenge";
  std::string out;
  append_digest(*challenge, answer, out);
  return out;
}

// RFC 7616 §3.9.1.
const std::string kMd5 =
    R"(Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=MD5, )"
    R"(nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS")";
const std::string kSha =
    R"(Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, )"
    R"(nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS")";
constexpr DigestAnswer kMufasa{
    "Mufasa", "Circle of Life", "GET", "/dir/index.html", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", 1};

TEST(Digest, the_examples_of_the_standard) {
  EXPECT_EQ(answer_to(kMd5, kMufasa),
            R"(Digest username="Mufasa", realm="http-auth@example.org", )"
            R"(nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", uri="/dir/index.html", )"
            R"(opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", algorithm=MD5, qop=auth, nc=00000001, )"
            R"(cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", response="8ca523f5e9506fed4657c9700eebdbec")");
  EXPECT_THAT(answer_to(kSha, kMufasa),
              testing::EndsWith(R"(response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1")"));
}

TEST(Digest, an_old_server_without_qop) {
  // RFC 2069 §2.4, with the response that its errata give.
  EXPECT_EQ(answer_to(R"(Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="x")",
                      {"Mufasa", "CircleOfLife", "GET", "/dir/index.html", "unused", 7}),
            R"(Digest username="Mufasa", realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", )"
            R"(uri="/dir/index.html", opaque="x", response="1949323746fe6a43ef61f9606e7febea")");
}

TEST(Digest, the_best_challenge_that_can_be_answered) {
  EXPECT_TRUE(challenge_of({kMd5, kSha})->sha256);
  EXPECT_TRUE(
      challenge_of({R"(Basic realm="a, b", Digest realm="r", nonce="n", Digest nonce=m, algorithm=sha-256)"})->sha256);
  const std::string others = "Negotiate, NTLM abc==, Basic realm=\"x\", ";
  EXPECT_EQ(challenge_of({others + R"(Digest realm="say \"hi\"", nonce=abc)"})->realm, "say \"hi\"");
  EXPECT_TRUE(challenge_of({"Digest nonce=abc, stale=TRUE"})->stale);
  EXPECT_TRUE(challenge_of({"Digest nonce=abc, algorithm=MD5-sess, qop=auth"})->session);
  for (const char* none : {"", "Basic realm=x", "Digest realm=x", "Digest nonce=x, algorithm=SHA-512-256",
                           "Digest nonce=x, qop=auth-int", "Digest", "Digest nonce=\"x", "=", "a=b"}) {
    EXPECT_FALSE(challenge_of({none})) << none;
  }
}

TEST(Digest, an_answer_is_one_line_whatever_the_server_says) {
  const std::string answer = answer_to("Digest realm=\"a\rb\nc\", nonce=\"\\\"\\\\\"", kMufasa);
  EXPECT_EQ(answer.find_first_of("\r\n"), std::string::npos);
  EXPECT_THAT(answer, testing::HasSubstr(R"(nonce="\"\\")"));
}

}  // namespace
}  // namespace bellwether::http1
