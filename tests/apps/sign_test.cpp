// Signed models through the program: every verb that opens a model asks before it reads on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/host/signature.h"
#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Signed : public testing::Test {
 protected:
  void SetUp() override {
    if (!crypto::can_sign()) GTEST_SKIP() << "SKIPPED: this build has no libsodium";
    ::unsetenv("RUNNEL_TRUST");
    call_well({"sign", "--new-key", file("maker")});
    call_well({"sign", "--new-key", file("stranger")});
    fs::copy_file(model(), file("digits.rnl"));
  }
  void TearDown() override { ::unsetenv("RUNNEL_TRUST"); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  Json sign(const std::string& key, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"sign", file("digits.rnl"), "--key", file(key + ".key")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Json::parse(call_well(arguments).out);
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(Signed, SigningLeavesTheModelAsItIs) {
  const std::string before = read_text(file("digits.rnl"));
  const Json line = sign("maker", {"--model-version", "3"});
  EXPECT_EQ(read_text(file("digits.rnl")), before);
  EXPECT_EQ(line["type"], "signature");
  EXPECT_EQ(line["file"], file("digits.rnl.sig"));
  EXPECT_EQ(line["name"], "digits");
  EXPECT_EQ(line["version"], 3);
  EXPECT_EQ(line["public_key"].get<std::string>() + "\n", read_text(file("maker.pub")));
  EXPECT_EQ(read_text(file("digits.rnl.sig")).size(), 256U);
  // The same file and key give the same signature.
  const std::string first = read_text(file("digits.rnl.sig"));
  sign("maker", {"--model-version", "3"});
  EXPECT_EQ(read_text(file("digits.rnl.sig")), first);
  struct stat facts {};
  ASSERT_EQ(::stat(file("maker.key").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 077U, 0U) << "others can read the key";
  // Those who do not ask need no signature.
  call_well({"check", file("digits.rnl")});
}

TEST_F(Signed, EveryVerbThatOpensAModelRefusesAnUnsignedOne) {
  write_wav(file("a.wav"), tone_words(1, 16000));
  const std::string digits = file("digits.rnl"), wav = file("a.wav"), graph = "infer model=" + digits;
  const std::vector<std::vector<std::string>> calls = {
      {"listen", digits, "--wav", wav},
      {"run", "wav path=" + wav + " ! fbank preset=kaldi num_mel_bins=40 ! " + graph +
                  " ! npy path=" + file("o.npy")},
      {"batch", digits, wav, "-o", file("o.jsonl")},
      {"serve", digits, "--listen", "127.0.0.1:0"},
      {"work", digits, "--nats", "nats://127.0.0.1:1"},
      {"deploy", digits, "--nats", "nats://127.0.0.1:1"},
      {"infer", digits, "-i", "logmel=" + wav, "-o", file("out")},
      {"check", digits},
      {"inspect", digits},
      {"profile", digits, "--runs", "1"},
      {"bench", digits, "--seconds", "0.01"},
      {"export", digits, "-o", file("o.espdl")},
      {"embed", digits, "-o", file("embedded")},
      {"npu", "compile", digits, "-o", file("o.rnl")},
      {"npu", "validate", digits},
      {"import", (fs::path(RUNNEL_SOURCE_FOLDER) / "models/digits/digits_c_s8.espdl").string(), "-o",
       file("o.rnl")},
  };
  for (std::vector<std::string> arguments : calls) {
    arguments.insert(arguments.end(), {"--trust", file("maker.pub")});
    EXPECT_THAT(refusal(arguments, "unsigned, expected a signature of the key maker ("),
                HasSubstr(arguments[0] == "import" ? "digits_c_s8.espdl.sig" : "digits.rnl.sig"));
  }
  for (const char* made : {"o.npy", "o.jsonl", "o.espdl", "o.rnl", "embedded", "out"})
    EXPECT_FALSE(fs::exists(file(made))) << made;
  // The same of the environment, and of the settings file.
  ::setenv("RUNNEL_TRUST", file("maker.pub").c_str(), 1);
  refusal({"check", digits}, "unsigned");
  refusal({"features", wav, "-o", file("o.npy"), "--trust", file("none.pub")}, "none.pub");
  ::unsetenv("RUNNEL_TRUST");
  write_text(file("config.toml"), "trust = \"" + file("maker.pub") + "\"\n");
  const char* const old = std::getenv("RUNNEL_CONFIG");
  const std::string kept = old == nullptr ? "" : old;
  ::setenv("RUNNEL_CONFIG", file("config.toml").c_str(), 1);
  refusal({"check", digits}, "unsigned");
  ::setenv("RUNNEL_CONFIG", kept.c_str(), 1);
}

TEST_F(Signed, OnlyTheModelThatTheKeySignedIsTaken) {
  const std::vector<std::string> check = {"check", file("digits.rnl"), "--trust", file("maker.pub")};
  sign("maker");
  call_well(check);
  EXPECT_THAT(call_well({"inspect", file("digits.rnl"), "--trust", file("maker.pub")}).err,
              HasSubstr("signed as digits version 1 with the key maker"));
  sign("stranger");
  EXPECT_THAT(refusal(check, "wrongly signed: by another key, expected the key maker ("),
              Not(HasSubstr("stranger")));
  sign("maker");
  std::string changed = read_text(file("digits.rnl"));
  changed[changed.size() / 2] ^= 1;
  write_text(file("digits.rnl"), changed);
  refusal(check, "changed since it was signed with the key maker");
  // What is no model at all is not read: the signature is the first thing.
  write_text(file("digits.rnl"), "not a model");
  refusal(check, "changed since it was signed with the key maker");
}

TEST_F(Signed, AListOfKeysHasLowestVersionsAndRevokedKeys) {
  const auto digits = [&](const std::string& key) {
    std::string text = read_text(file(key + ".pub"));
    text.pop_back();
    return text;
  };
  write_text(file("fleet.toml"), "[key.maker]\npublic = \"" + digits("maker") +
                                     "\"\nlowest_version = 2\n[key.lost]\npublic = \"" + digits("stranger") +
                                     "\"\nrevoked = \"2026-10-01, stolen\"\n");
  const std::vector<std::string> check = {"check", file("digits.rnl"), "--trust", file("fleet.toml")};
  sign("maker", {"--model-version", "1"});
  refusal(check, "too old: version 1 of digits with the key maker");
  sign("maker", {"--model-version", "2"});
  call_well(check);
  sign("stranger", {"--model-version", "9"});
  refusal(check, "is revoked (2026-10-01, stolen), expected the key maker (");
}

TEST_F(Signed, WrongCallsOfSign) {
  const auto wrong = [](const std::vector<std::string>& arguments, const std::string& part) {
    refusal(arguments, part);
    EXPECT_EQ(call(arguments).exit_code, 2) << part;
  };
  wrong({"sign"}, "expected MODEL and --key FILE, or --new-key NAME");
  wrong({"sign", file("digits.rnl")}, "expected MODEL and --key FILE");
  wrong({"sign", "--new-key", file("maker")}, "is there already");
  wrong({"sign", file("digits.rnl"), "--key", file("maker.key"), "-o", file("digits.rnl")},
        "the model itself");
  wrong({"sign", file("digits.rnl"), "--key", file("maker.key"), "--name", std::string(40, 'a')},
        "expected 1 to 31 bytes");
  refusal({"sign", file("digits.rnl"), "--key", file("none.key")}, "none.key");
  refusal({"sign", file("none.rnl"), "--key", file("maker.key")}, "none.rnl");
  EXPECT_FALSE(fs::exists(file("digits.rnl.sig")));
}

}  // namespace
}  // namespace runnel::apps::test
