#include "services/net/access/tokens.h"

#include <gtest/gtest.h>

#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "tests/support/data.h"

namespace runnel::net::test {
namespace {

// printf 0123456789abcdef | sha256sum
const std::string kFirst = "sha256:9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f";

std::string digest_text(std::string_view token) {
  const Sha256Digest digest = sha256(std::as_bytes(std::span(token.data(), token.size())));
  std::string text = "sha256:";
  for (const std::uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789ABCDEF"[byte & 15U];
  }
  return text;
}

TEST(Tokens, HaveScopes) {
  runnel::test::TemporaryFolder folder;
  const std::string file = (folder.path() / "tokens").string();
  std::ofstream(file) << "# who may do what\n\n"
                      << "stream " << digest_text("a token that streams") << " the kitchen\r\n"
                      << "\twatch,manage   " << digest_text("a token that manages");
  const auto tokens = Tokens::read(file, "");
  ASSERT_TRUE(tokens.ok()) << tokens.status().text();
  EXPECT_FALSE(tokens->empty());
  EXPECT_EQ(tokens->of("a token that streams"), Scopes(Scope::stream));
  EXPECT_EQ(tokens->of("a token that manages"), Scopes(Scope::watch) | Scope::manage);
  for (const std::string shown : {"", "a token that stream", "a token that streamS", "a token that streams ",
                                  digest_text("a token that streams").c_str()})
    EXPECT_TRUE(tokens->of(shown).none()) << shown;
  EXPECT_TRUE(tokens->of(std::string(1 << 20, 'x')).none());

  // A copy shares what is read later; a wrong file changes nothing.
  const Tokens copy = *tokens;
  std::ofstream(file) << "nonsense\n";
  EXPECT_FALSE(tokens->reload().ok());
  EXPECT_EQ(copy.of("a token that streams"), Scopes(Scope::stream));
  std::ofstream(file) << "watch " << digest_text("a token that streams") << "\n";
  EXPECT_TRUE(tokens->reload().ok());
  EXPECT_EQ(copy.of("a token that streams"), Scopes(Scope::watch));
  EXPECT_TRUE(copy.of("a token that manages").none());
}

TEST(Tokens, MayBeOneWithAllScopes) {
  EXPECT_TRUE(Tokens().empty());
  EXPECT_EQ(Tokens().of("anything"), Scopes::all());
  EXPECT_TRUE(Tokens("").empty());
  const Tokens one("0123456789abcdef");
  EXPECT_EQ(one.of("0123456789abcdef"), Scopes::all());
  EXPECT_TRUE(one.of("0123456789abcdeF").none());
  EXPECT_TRUE(one.of("").none());
}

TEST(Tokens, AreNeverRepeatedByARefusal) {
  const std::string good = digest_text("a token of some length");
  const auto why = [](const std::string& text) {
    const auto rows = parse_tokens(text, "FILE");
    return rows.ok() ? std::string("read") : std::string(rows.status().text());
  };
  EXPECT_EQ(why("stream " + good), "read");
  for (const std::string secret : {"secret", "secretsecretsecretsecret"}) {
    for (const std::string& text :
         {secret, "stream " + secret, "stream sha256:" + secret, secret + " " + good, "stream,\n" + secret,
          "stream,secret " + good, "stream " + good.substr(0, good.size() - 1), "stream " + good + "0"}) {
      const std::string told = why(text);
      EXPECT_EQ(told.find("FILE: line 1: expected"), 0U) << told;
      EXPECT_EQ(told.find(secret), std::string::npos) << told;
    }
  }
  EXPECT_EQ(why("#\n\nstream x").find("FILE: line 3: expected sha256:"), 0U) << why("#\n\nstream x");
  EXPECT_NE(why("").find("no token"), std::string::npos);
  EXPECT_NE(why("# nothing\n").find("no token"), std::string::npos);
  std::string many;
  for (int i = 0; i < 1025; ++i) many += "stream " + good + "\n";
  EXPECT_NE(why(many).find("more than 1024"), std::string::npos);
  EXPECT_EQ(why(many.substr(many.find('\n') + 1)), "read");
}

TEST(Tokens, AreDigestedAsEverywhere) {
  EXPECT_EQ(parse_tokens("stream " + kFirst, "FILE")->at(0).digest,
            sha256(std::as_bytes(std::span("0123456789abcdef", 16))));
}

}  // namespace
}  // namespace runnel::net::test
