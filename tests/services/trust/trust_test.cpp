// Whose models are taken, and what is said of the others.
#include "services/trust/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "services/trust/signature_file.h"
#include "tests/support/data.h"

namespace runnel::trust {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Bytes = std::vector<std::byte>;

std::string digits_of(const crypto::SigningKey& key) {
  const auto open = crypto::public_key(key);
  EXPECT_TRUE(open.ok());
  return crypto::hex(*open);
}

class Trusted : public testing::Test {
 protected:
  void SetUp() override {
    if (!crypto::can_sign()) GTEST_SKIP() << "SKIPPED: this build has no libsodium";
    ::unsetenv("RUNNEL_TRUST");
    maker_.emplace(*crypto::SigningKey::make());
    stranger_.emplace(*crypto::SigningKey::make());
    for (std::size_t i = 0; i < content_.size(); ++i) content_[i] = static_cast<std::byte>(i * 7);
  }
  void TearDown() override { ::unsetenv("RUNNEL_TRUST"); }
  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  [[nodiscard]] Bytes signature(const crypto::SigningKey& key, std::uint32_t version = 1,
                                const std::string& name = "digits") const {
    const auto made = sign_content(content_, name, version, key);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return {made->begin(), made->end()};
  }
  [[nodiscard]] Trust list(const std::string& text) const {
    auto keys = parse_key_list(text);
    EXPECT_TRUE(keys.ok()) << keys.status().text();
    return Trust(*std::move(keys));
  }
  // The sentence of a refusal; empty: it is taken.
  [[nodiscard]] std::string said(const Trust& trust, const Bytes& signature, Code code = Code::invalid_data,
                                 std::string_view stem = "digits.rnl") const {
    const auto found = trust.check(content_, signature, stem);
    if (found.ok()) return {};
    EXPECT_EQ(found.status().code(), code) << found.status().text();
    return std::string(found.status().text());
  }
  [[nodiscard]] std::string key(const std::string& name, const crypto::SigningKey& of,
                                const std::string& more = "") const {
    return "[key." + name + "]\npublic = \"" + digits_of(of) + "\"\n" + more;
  }

  std::optional<crypto::SigningKey> maker_, stranger_;
  Bytes content_ = Bytes(5000);
  runnel::test::TemporaryFolder folder_;
};

TEST_F(Trusted, EachRefusalSaysWhatAndNamesTheKeyThatWasExpected) {
  const Trust trust = list(key("maker", *maker_));
  const std::string expected = "maker (" + digits_of(*maker_).substr(0, 12) + "...)";
  const auto taken = trust.check(content_, signature(*maker_, 7), "digits.rnl");
  ASSERT_TRUE(taken.ok()) << taken.status().text();
  EXPECT_EQ(taken->name, "digits");
  EXPECT_EQ(taken->version, 7U);
  EXPECT_EQ(taken->key, "maker");
  EXPECT_THAT(said(trust, {}), AllOf(StartsWith("unsigned"), HasSubstr(expected)));
  EXPECT_THAT(said(trust, signature(*stranger_)), AllOf(StartsWith("wrongly signed"), HasSubstr(expected)));
  const Bytes good = signature(*maker_);
  content_[4711] ^= std::byte{1};
  EXPECT_THAT(said(trust, good), AllOf(StartsWith("changed since it was signed"), HasSubstr(expected)));
  content_.push_back({});
  EXPECT_THAT(said(trust, good), AllOf(HasSubstr("5001 bytes, expected 5000"), HasSubstr(expected)));
}

TEST_F(Trusted, NoSignatureSurvivesAChange) {
  const Trust trust = list(key("maker", *maker_));
  const Bytes good = signature(*maker_);
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes changed = good;
    changed[at] ^= std::byte{1};
    EXPECT_NE(said(trust, changed), "") << at;
    // With the checksum mended, the signature itself must not fit.
    const std::uint32_t crc = crc32c(std::span(std::as_const(changed)).first(252));
    std::memcpy(changed.data() + 252, &crc, 4);
    if (at < 252) {
      EXPECT_FALSE(trust.check(content_, changed, "digits.rnl").ok()) << at;
    }
  }
  for (const std::size_t size : {1U, 64U, 255U, 257U, 1000U}) {
    Bytes other = good;
    other.resize(size);
    EXPECT_THAT(said(trust, other), StartsWith("wrongly signed")) << size;
  }
}

TEST_F(Trusted, RevokedKeysAndOldVersionsAreRefused) {
  const Trust trust =
      list(key("lost", *stranger_, "revoked = \"2026-10-01, on a stolen laptop\"\n") +
           key("maker", *maker_, "lowest_version = 3\n") + "[model.digits]\nlowest_version = 7\n");
  EXPECT_THAT(said(trust, signature(*stranger_, 9)),
              AllOf(HasSubstr("the key lost"), HasSubstr("is revoked (2026-10-01, on a stolen laptop)"),
                    HasSubstr("expected the key maker")));
  EXPECT_EQ(said(trust, signature(*maker_, 7)), "");
  EXPECT_THAT(said(trust, signature(*maker_, 6), Code::mismatch),
              AllOf(StartsWith("too old: version 6 of digits"), HasSubstr("expected at least 7")));
  // Of models that the list does not name, the bound of the key holds.
  EXPECT_EQ(said(trust, signature(*maker_, 3, "vad"), Code::mismatch, "vad.rnl"), "");
  EXPECT_THAT(said(trust, signature(*maker_, 2, "vad"), Code::mismatch, "vad.rnl"),
              HasSubstr("expected at least 3"));
  // A model with a bound cannot be replaced by another one that has none.
  EXPECT_THAT(said(trust, signature(*maker_, 9, "vad"), Code::mismatch, "digits.rnl"),
              StartsWith("another model: signed as vad"));
}

TEST_F(Trusted, AllKeysRevokedTakeNothing) {
  const Trust trust = list(key("lost", *maker_, "revoked = true\n"));
  EXPECT_THAT(said(trust, signature(*maker_)), HasSubstr("is revoked"));
  EXPECT_THAT(said(trust, {}), HasSubstr("are revoked"));
}

TEST_F(Trusted, AKeyAListOrAFolder) {
  const std::string open = write("maker.pub", digits_of(*maker_) + "\n");
  const std::string model = write("digits.rnl", std::string(5000, '\0'));
  content_.assign(5000, {});
  const auto of = [&](const std::string& place) {
    const auto trust = Trust::read(place);
    if (!trust.ok()) return std::string(trust.status().text());
    const auto found = (*trust)->check_file(model, content_);
    return found.ok() ? found->key : std::string(found.status().text());
  };
  EXPECT_THAT(of(open),
              AllOf(StartsWith(model + ": unsigned"), HasSubstr("maker ("), HasSubstr("in digits.rnl.sig")));
  const Bytes good = signature(*maker_);
  const std::string beside =
      write("digits.rnl.sig", {reinterpret_cast<const char*>(good.data()), good.size()});
  EXPECT_EQ(of(open), "maker");
  EXPECT_EQ(of(write("list.toml", "# keys\n" + key("fleet", *maker_))), "fleet");
  // A folder: what is revoked in one file is revoked.
  write("keys/maker.pub", digits_of(*maker_));
  write("keys/other.pub", digits_of(*stranger_));
  write("keys/readme.txt", "not a key");
  EXPECT_EQ(of((folder_.path() / "keys").string()), "maker");
  write("keys/revoked.toml", key("again", *maker_, "revoked = \"sold\"\n"));
  EXPECT_THAT(of((folder_.path() / "keys").string()), HasSubstr("is revoked (sold)"));
  // The signature is looked for beside the file only, and must be one.
  write("digits.rnl.sig", "");
  EXPECT_THAT(of(open), HasSubstr("empty, expected a signature"));
  fs::remove(beside);
  fs::create_directory(beside);
  EXPECT_THAT(of(open), HasSubstr("digits.rnl.sig"));
}

TEST_F(Trusted, PlacesThatAreNoKeysAreRefusedByName) {
  const auto refused = [](const std::string& place, const std::string& part) {
    const auto trust = Trust::read(place);
    ASSERT_FALSE(trust.ok()) << place;
    EXPECT_THAT(std::string(trust.status().text()), AllOf(StartsWith(place), HasSubstr(part)));
  };
  refused((folder_.path() / "none").string(), "cannot be read");
  refused(write("short.pub", "0011"), "64 hexadecimal digits");
  refused(write("maker.key", digits_of(*maker_)), "a key that signs");
  refused(write("empty.toml", "# nothing yet\n[key.maker]\n"), "no key");
  fs::create_directory(folder_.path() / "empty");
  refused((folder_.path() / "empty").string(), "no key");
  refused(write("a.toml", "[keys]\nx = 1\n"), "line 2: expected [key.NAME] or [model.NAME]");
  refused(write("b.toml", "[key.a]\npublic = \"00\"\n"), "line 2: public: expected 64 hexadecimal digits");
  refused(write("c.toml", "[key.a]\nrevoked = true\n"), "line 2: the key a has no public");
  refused(write("d.toml", key("a", *maker_, "lowest_version = -1\n")), "expected a version from 0");
  refused(write("e.toml", key("a", *maker_, "colour = 1\n")), "found \"colour\"");
  refused(write("f.toml", "[model.a]\npublic = 1\n"), "a model has lowest_version");
}

TEST_F(Trusted, TheEnvironmentNamesKeys) {
  ASSERT_TRUE(trust_of_environment().ok());
  EXPECT_EQ(*trust_of_environment(), nullptr);
  EXPECT_FALSE(verifier(nullptr));
  ::setenv("RUNNEL_TRUST", "/nowhere/maker.pub", 1);
  EXPECT_THAT(std::string(trust_of_environment().status().text()),
              StartsWith("RUNNEL_TRUST: /nowhere/maker.pub"));
  ::setenv("RUNNEL_TRUST", write("maker.pub", digits_of(*maker_)).c_str(), 1);
  EXPECT_NE(*trust_of_environment(), nullptr);
}

TEST_F(Trusted, NamesToSignUnder) {
  EXPECT_EQ(signed_name("/a/b/digits.rnl"), "digits");
  EXPECT_EQ(signed_name("digits"), "digits");
  EXPECT_EQ(signed_name(".hidden"), ".hidden");
  EXPECT_EQ(signed_name(std::string(40, 'a') + ".rnl"), std::string(31, 'a'));
  EXPECT_EQ(sign_content(content_, "", 1, *maker_).status().code(), Code::invalid_argument);
  EXPECT_EQ(sign_content(content_, std::string(32, 'a'), 1, *maker_).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace runnel::trust
