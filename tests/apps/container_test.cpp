// Packages and encrypted models through the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/host/crypto.h"
#include "tests/apps/support.h"
#include "tests/compiler/import/espdl/package_builder.h"
#include "tests/compiler/import/espdl/tiny_model.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kDigits = "00112233445566778899aabbccddeeff";
constexpr const char* kOtherDigits = "ffeeddccbbaa99887766554433221100";

#define NEEDS_CRYPTO() \
  if (!crypto::available()) GTEST_SKIP() << "SKIPPED: this build has no mbedTLS"

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Containers : public testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("RUNNEL_KEY");
    write_text(file("key"), std::string(kDigits) + "\n");
    write_text(file("other"), kOtherDigits);
    digits_ = runnel::test::read_file(fs::path(RUNNEL_SOURCE_FOLDER) / "models/digits/digits_c_s8.espdl");
    write_text(file("models.espdl"),
               text_of(runnel::test::make_package(
                   "PDL2", {{"tiny.espdl", runnel::test::tiny_conv().file()}, {"digits.espdl", digits_}})));
  }
  void TearDown() override { ::unsetenv("RUNNEL_KEY"); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  // The name of the model's input.
  static std::string input_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "inspect");
    arguments.emplace_back("--json");
    return Json::parse(call_well(arguments).out)["inputs"][0];
  }
  runnel::test::TemporaryFolder folder_;
  std::vector<std::byte> digits_;
};

TEST_F(Containers, InspectListsTheMembers) {
  const std::string table = call_well({"inspect", file("models.espdl")}).out;
  EXPECT_THAT(table, HasSubstr("PDL2 package"));
  EXPECT_THAT(table, HasSubstr("tiny.espdl"));
  const Json json = Json::parse(call_well({"inspect", file("models.espdl"), "--json"}).out);
  EXPECT_EQ(json["type"], "package");
  EXPECT_EQ(json["kind"], "PDL2");
  ASSERT_EQ(json["members"].size(), 2u);
  EXPECT_EQ(json["members"][1],
            (Json{{"index", 1}, {"name", "digits.espdl"}, {"bytes", digits_.size()}, {"encrypted", false}}));
  refusal({"inspect", file("models.espdl"), "--dot"}, "--member");
}

TEST_F(Containers, AMemberIsAModel) {
  EXPECT_EQ(input_of({file("models.espdl"), "--member", "digits.espdl"}), "logmel");
  EXPECT_EQ(input_of({file("models.espdl"), "--member", "0"}), "x");
  EXPECT_EQ(Json::parse(call_well({"check", file("models.espdl"), "--member", "1"}).out)["exact"], true);
  EXPECT_EQ(Json::parse(
                call_well({"bench", file("models.espdl"), "--member", "1", "--seconds", "0.01"}).out)["type"],
            "bench");
  call_well({"import", file("models.espdl"), "--member", "digits.espdl", "-o", file("member.rnl")});
  write_text(file("alone.espdl"), text_of(digits_));
  call_well({"import", file("alone.espdl"), "-o", file("alone.rnl")});
  EXPECT_EQ(read_text(file("member.rnl")), read_text(file("alone.rnl")));
}

TEST_F(Containers, SeveralModelsNeedAChoice) {
  const std::string both = "0 \"tiny.espdl\", 1 \"digits.espdl\"";
  for (const std::vector<std::string>& call :
       std::vector<std::vector<std::string>>{{"check", file("models.espdl")},
                                             {"bench", file("models.espdl")},
                                             {"import", file("models.espdl"), "-o", file("out.rnl")},
                                             {"infer", file("models.espdl"), "-o", file("out")},
                                             {"check", file("models.espdl"), "--member", "2"}}) {
    EXPECT_THAT(refusal(call, both), HasSubstr("models.espdl"));
  }
  EXPECT_FALSE(fs::exists(file("out.rnl")));
  refusal({"check", model(), "--member", "0"}, "holds one model");
}

TEST_F(Containers, EncryptedEspdl) {
  NEEDS_CRYPTO();
  const auto key = crypto::Key::from_hex(kDigits);
  write_text(file("locked.espdl"), text_of(runnel::test::encrypted_espdl(digits_, *key)));
  EXPECT_EQ(input_of({file("locked.espdl"), "--key-file", file("key")}), "logmel");
  refusal({"check", file("locked.espdl")}, "there is no key");
  refusal({"check", file("locked.espdl"), "--key-file", file("other")}, "wrong key");
  ::setenv("RUNNEL_KEY", kDigits, 1);
  EXPECT_EQ(input_of({file("locked.espdl")}), "logmel");
  refusal({"check", file("locked.espdl"), "--key-file", file("other")},
          "wrong key");  // what is asked for goes first
  write_text(file("models.espdl"),
             text_of(runnel::test::make_package(
                 "PDL3", {{"a", digits_}, {"b", runnel::test::encrypted_espdl(digits_, *key)}})));
  EXPECT_EQ(input_of({file("models.espdl"), "--member", "b"}), "logmel");
  EXPECT_EQ(
      Json::parse(call_well({"inspect", file("models.espdl"), "--json"}).out)["members"][1]["encrypted"],
      true);
}

TEST_F(Containers, EncryptedModelsRunLikePlainOnes) {
  NEEDS_CRYPTO();
  write_text(file("digits.espdl"), text_of(digits_));
  const std::vector<std::string> around = {
      "--front-end", "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600",
      "--decision",  kEager,
      "--labels",    (fs::path(RUNNEL_SOURCE_FOLDER) / "models/digits/labels.txt").string()};
  const auto import = [&](const std::string& to, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"import", file("digits.espdl"), "-o", file(to)};
    arguments.insert(arguments.end(), around.begin(), around.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    call_well(arguments);
  };
  import("plain.rnl", {});
  import("secret.rnl", {"--encrypt", "--key-file", file("key")});
  EXPECT_EQ(read_text(file("secret.rnl")).substr(0, 4), "RNLE");
  EXPECT_EQ(read_text(file("secret.rnl")).size(), read_text(file("plain.rnl")).size() + 48);
  EXPECT_THAT(read_text(file("secret.rnl")), Not(HasSubstr("logmel")));

  write_wav(file("a.wav"), tone_words(3, 16000));
  const std::vector<std::string> key = {"--key-file", file("key")};
  const auto same = [&](std::vector<std::string> arguments) {
    std::vector<std::string> secret = arguments;
    for (std::string& argument : secret) {
      const std::size_t at = argument.find("plain.rnl");
      if (at != std::string::npos) argument.replace(at, 5, "secret");
    }
    refusal(secret, "there is no key");
    secret.insert(secret.end(), key.begin(), key.end());
    const auto without_model = [](std::string text) {
      const std::size_t at = text.find("secret");
      return at == std::string::npos ? text : text.replace(at, 6, "plain");
    };
    const std::string expected = call_well(arguments).out, found = without_model(call_well(secret).out);
    return expected.substr(0, expected.find("\"real_time_factor\"")) ==
           found.substr(0, found.find("\"real_time_factor\""));
  };
  EXPECT_TRUE(same({"check", file("plain.rnl")}));
  EXPECT_TRUE(same({"inspect", file("plain.rnl")}));
  EXPECT_TRUE(same({"listen", file("plain.rnl"), "--wav", file("a.wav")}));
  EXPECT_TRUE(same({"batch", file("plain.rnl"), file("a.wav"), "-o", "-"}));
  EXPECT_TRUE(
      same({"run", "wav path=" + file("a.wav") +
                       " ! fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer model=" +
                       file("plain.rnl") + " ! detect mode=clip ! jsonl"}));
  refusal({"check", file("secret.rnl"), "--key-file", file("other")}, "another key, or a changed file");
  std::string changed = read_text(file("secret.rnl"));
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  write_text(file("changed.rnl"), changed);
  refusal({"check", file("changed.rnl"), "--key-file", file("key")},
          "changed.rnl: encrypted model: the authentication tag does not fit");
}

TEST_F(Containers, KeysThatAreNone) {
  write_text(file("digits.espdl"), text_of(digits_));
  refusal({"import", file("digits.espdl"), "-o", file("out.rnl"), "--encrypt"}, "--encrypt needs a key");
  write_text(file("short"), "0011");
  const std::string line = refusal(
      {"import", file("digits.espdl"), "-o", file("out.rnl"), "--encrypt", "--key-file", file("short")},
      "expected 16 bytes, or 32 hexadecimal digits");
  EXPECT_THAT(line, Not(HasSubstr("0011")));
  refusal({"check", file("digits.espdl"), "--key-file", file("none")}, "none: No such file");
  ::setenv("RUNNEL_KEY", "no digits", 1);
  EXPECT_THAT(refusal({"check", file("digits.espdl")},
                      "RUNNEL_KEY: a key of 9 characters, expected 32 hexadecimal digits"),
              Not(HasSubstr("no digits")));
  EXPECT_FALSE(fs::exists(file("out.rnl")));
}

TEST_F(Containers, WithoutMbedTlsTheyAreRefused) {
  if (crypto::available()) GTEST_SKIP() << "SKIPPED: this build has mbedTLS";
  write_text(file("digits.espdl"), text_of(digits_));
  refusal({"import", file("digits.espdl"), "-o", file("out.rnl"), "--encrypt", "--key-file", file("key")},
          "this build has no cryptography");
  EXPECT_FALSE(fs::exists(file("out.rnl")));
}

}  // namespace
}  // namespace runnel::apps::test
