// The manners of the program: names of models, settings, wrong calls, what is written to a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Manners : public testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_DATA_HOME", (folder_.path() / "data").c_str(), 1);
    setenv("RUNNEL_CONFIG", "", 1);
    unsetenv("RUNNEL_MODEL_PATH");
  }
  void TearDown() override {
    for (const char* name : {"RUNNEL_MODEL", "RUNNEL_MODEL_PATH", "RUNNEL_LISTEN_THRESHOLD"}) unsetenv(name);
    setenv("RUNNEL_CONFIG", "", 1);
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string recording() const {
    write_wav(file("tones.wav"), tone_words(3, 16000));
    return file("tones.wav");
  }
  void settings(const std::string& text) const {
    write_text(file("config.toml"), text);
    setenv("RUNNEL_CONFIG", file("config.toml").c_str(), 1);
  }
  runnel::test::TemporaryFolder folder_;
};

// A wrong call: exit code 2, nothing on stdout, the sentence.
void wrong_call(const std::vector<std::string>& arguments, const std::string& sentence) {
  const Output output = call(arguments);
  EXPECT_EQ(output.exit_code, 2) << output.err;
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err, HasSubstr(sentence));
}

using ModelNames = Manners;

TEST_F(ModelNames, EveryVerbTakesANameForTheFile) {
  const std::string wav = recording();
  const auto same = [&](std::vector<std::string> arguments) {
    const std::string by_file = call_well(arguments).out;
    std::ranges::replace(arguments, model(), std::string("digits"));
    std::string by_name = call_well(arguments).out;
    for (std::size_t at = by_name.find("\"digits\""); at != std::string::npos;
         at = by_name.find("\"digits\"", at + 1))
      if (by_file.find("\"digits\"") == std::string::npos) by_name.replace(at, 8, "\"" + model() + "\"");
    EXPECT_EQ(by_name.size() > 0, by_file.size() > 0) << arguments[0];
    return std::pair(by_file, by_name);
  };
  const auto [checked, checked_too] = same({"check", model(), wav});
  EXPECT_EQ(checked, checked_too);
  EXPECT_EQ(call_well({"inspect", "digits"}).out, call_well({"inspect", model()}).out);
  EXPECT_EQ(events_of(call_well({"listen", "digits", "--wav", wav, "--decision", kEager}).out),
            events_of(call_well({"listen", model(), "--wav", wav, "--decision", kEager}).out));
  const std::string graph =
      "wav path=" + wav + " ! fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer model=";
  EXPECT_EQ(
      events_of(
          call_well({"run", graph + "digits ! " + kEager + " labels=a,b,c,d,e,f,g,h,i,j,k,l ! jsonl"}).out),
      events_of(
          call_well({"run", graph + model() + " ! " + kEager + " labels=a,b,c,d,e,f,g,h,i,j,k,l ! jsonl"})
              .out));
  EXPECT_EQ(call_well({"batch", "digits", wav, "-o", "-", "--no-timing"}).out,
            call_well({"batch", model(), wav, "-o", "-", "--no-timing"}).out);
  call_well({"infer", "digits", "-i", "logmel=" + wav, "-o", file("out")});
  call_well({"embed", "digits", "-o", file("embedded"), "--name", "a"});
  EXPECT_TRUE(fs::exists(file("out/logits.npy")));
}

TEST_F(ModelNames, WithoutAModelListenTakesTheDefaultAndSaysSo) {
  const std::string wav = recording();
  const Output output = call_well({"listen", "--wav", wav});
  EXPECT_THAT(output.err, HasSubstr("no model is named: listening with digits"));
  setenv("RUNNEL_MODEL", "nothing", 1);
  refusal({"listen", "--wav", wav}, "'nothing' is neither a file nor the name of a model");
  unsetenv("RUNNEL_MODEL");
  settings("model = \"digts\"\n");
  refusal({"listen", "--wav", wav}, "did you mean 'digits'?");
}

TEST_F(ModelNames, AWrongNameIsAnsweredWithTheNearest) {
  refusal({"listen", "digts", "--wav", recording()}, "did you mean 'digits'?");
  refusal({"check", "digts"}, "'digts' is neither a file nor the name of a model, did you mean 'digits'?");
  refusal({"run", "wav path=" + recording() + " ! infer model=digts ! null"}, "did you mean 'digits'?");
}

TEST_F(ModelNames, ModelsListsWhatIsThere) {
  fs::create_directories(file("mine"));
  fs::copy_file(model(), file("mine/other.rnl"));
  write_text(file("mine/other.card.json"), R"({"about": "mine", "licence": "MIT"})");
  setenv("RUNNEL_MODEL_PATH", file("mine").c_str(), 1);
  const std::string text = call_well({"models"}).out;
  EXPECT_THAT(text, HasSubstr("digits (taken by `runnel listen` when none is named)"));
  EXPECT_THAT(text, HasSubstr("licence  Apache-2.0"));
  EXPECT_THAT(text, HasSubstr("licence  MIT"));
  EXPECT_THAT(text, HasSubstr("labels   0 1 2 3 4 5 6 7 8 9 silence unknown"));
  bool found = false;
  for (const Json& line : json_lines(call_well({"models", "--json"}).out)) {
    EXPECT_EQ(line["type"], "model");
    if (line["name"] != "other") continue;
    found = true;
    EXPECT_EQ(line["place"], "RUNNEL_MODEL_PATH");
    EXPECT_EQ(line["licence"], "MIT");
    EXPECT_EQ(line["bytes"], fs::file_size(model()));
    EXPECT_EQ(line["labels"].size(), 12U);
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(call_well({"models", "--names"}).out, AllOf(HasSubstr("digits\n"), HasSubstr("\nother\n")));
  EXPECT_THAT(call_well({"models", "available"}).out, HasSubstr("silero-vad"));
  refusal({"models", "get", "silero"}, "did you mean 'silero-vad'?");
}

using WrongCalls = Manners;

TEST_F(WrongCalls, HelpAndVersionAreFoundInAllTheirForms) {
  const std::string help = call_well({"listen", "--help"}).out;
  EXPECT_EQ(call_well({"help", "listen"}).out, help);
  EXPECT_EQ(call_well({"listen", "help"}).out, help);
  EXPECT_EQ(call_well({"help"}).out, call_well({"--help"}).out);
  EXPECT_EQ(call_well({"help", "models", "get"}).out, call_well({"models", "get", "--help"}).out);
  EXPECT_EQ(call_well({"version"}).out, call_well({"--version"}).out);
  EXPECT_THAT(help, HasSubstr("Example:\n  runnel listen digits --wav a.wav"));
}

TEST_F(WrongCalls, TheOverviewHasTheVerbsByDoorWithAnExampleEach) {
  const std::string overview = call_well({"--help"}).out;
  const std::size_t use = overview.find("\nUse it\n"), bring = overview.find("\nPut a model in\n"),
                    listen = overview.find("\n  listen "), import = overview.find("\n  import ");
  ASSERT_NE(use, std::string::npos);
  ASSERT_NE(bring, std::string::npos);
  EXPECT_LT(use, listen);
  EXPECT_LT(listen, bring);
  EXPECT_LT(bring, import);
  // As ModelNames calls it.
  EXPECT_THAT(overview, HasSubstr("            runnel infer digits -i logmel=a.wav -o out\n"));
  EXPECT_THAT(overview, HasSubstr("            runnel batch digits recordings/ -o out.jsonl --jobs 4\n"));
}

TEST_F(WrongCalls, FrequentMistakesGetAHint) {
  wrong_call({"listen", "a.wav"}, "a.wav is a recording, expected a model: runnel listen --wav a.wav");
  wrong_call({"listen", "digits", "a.wav"},
             "nothing is expected where 'a.wav' is; a recording is given as --wav a.wav");
  wrong_call({"listen", "digits", "--wave", "a.wav"}, "there is no option '--wave', did you mean '--wav'?");
  wrong_call({"listen", "digits", "-wav", "a.wav"}, "there is no option '-wav', did you mean '--wav'?");
  wrong_call({"--versoin"}, "there is no option '--versoin', did you mean '--version'?");
  wrong_call({"quantize", "net.onnx", "-o", file("q.rnl")}, "expected --calib DATA or --table FILE");
  refusal({"merge", recording(), "-o", file("m.jsonl")},
          "is a recording, expected an output of `runnel batch --shard`");
  refusal({"infer", "digits", "-i", recording(), "-o", file("out")},
          "expected NAME=FILE; `runnel inspect MODEL`");
  wrong_call({"lissen"}, "there is no verb 'lissen', did you mean 'listen'?");
  wrong_call({"a.wav"}, "to listen to a recording: listen --wav a.wav");
  wrong_call({"models", "git"}, "nothing is expected where 'git' is");
}

TEST_F(WrongCalls, OptionsWithoutAMeaningBesideOthersAreRefused) {
  const std::vector<std::vector<std::string>> beside_wav = {
      {"--rate", "8000"},      {"--channels", "2"}, {"--format", "s16"},
      {"--period", "10"},      {"--buffer", "100"}, {"--replug", "1"},
      {"--overload", "block"}, {"--duration", "1"}, {"--device", "default"}};
  for (const auto& option : beside_wav) {
    std::vector<std::string> arguments = {"listen", "digits", "--wav", "a.wav"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    wrong_call(arguments, option[0]);
  }
  wrong_call({"listen", "digits", "--stdin", "--duration", "1"}, "--duration");
  wrong_call({"listen", "digits", "--tail", "1"}, "--tail requires --wav");
  wrong_call({"listen", "digits", "--wav", "a.wav", "--before", "1"}, "--before requires --record");
  wrong_call({"listen", "digits", "--wav", "a.wav", "--broker", "a:1"}, "--broker requires --mqtt");
  wrong_call({"batch", "digits"}, "expected INPUT... and -o OUT, or --pipe");
}

TEST_F(WrongCalls, AMissingMicrophoneComesWithAdvice) {
  refusal(
      {"listen", "digits", "--device", "no-such-card", "--duration", "1"},
      "`runnel devices` lists the sound devices, --device NAME takes one of them, --wav FILE a recording");
}

TEST_F(WrongCalls, BatchSaysWhyNothingWasFoundAndTheFirstReason) {
  refusal({"batch", "digits", file("archiv"), "-o", file("out.jsonl")},
          "archiv: there is no such file or folder, expected recordings");
  fs::create_directories(file("empty"));
  refusal({"batch", "digits", file("empty"), "-o", file("out.jsonl")}, file("empty"));
  write_text(file("bad.wav"), "no sound");
  const std::string line = refusal({"batch", "digits", file("bad.wav"), "-o", file("out.jsonl")},
                                   "1 of 1 recordings failed, the first: ");
  EXPECT_THAT(line, HasSubstr("bad.wav"));
  EXPECT_THAT(line, HasSubstr("their error records say why"));
}

TEST_F(WrongCalls, TheEndingOfTheOutputChoosesItsFormat) {
  const Output output = call_well({"batch", "digits", recording(), "-o", file("sub.srt")});
  EXPECT_THAT(output.err, HasSubstr("sub.srt: a folder, with a .srt file for each recording"));
  EXPECT_TRUE(fs::exists(file("sub.srt/tones.srt")));
}

using SettingsFile = Manners;

TEST_F(SettingsFile, TheCallPrecedesTheEnvironmentAndThatTheFile) {
  const auto threshold_is = [&](const char* threshold) {
    const std::string help = call_well({"config", "--json"}).out;
    return help.find(threshold) != std::string::npos;
  };
  const std::string wav = recording();
  const std::vector<std::string> arguments = {"listen", "digits", "--wav", wav, "--decision", kEager};
  const std::size_t many = events_of(call_well(arguments).out).size();
  ASSERT_GT(many, 0U);
  settings("[listen]\nthreshold = 1.0\n");
  EXPECT_TRUE(threshold_is("\"value\":\"1.0\""));
  EXPECT_LT(events_of(call_well(arguments).out).size(), many) << "the file is the default";
  setenv("RUNNEL_LISTEN_THRESHOLD", "0.4", 1);
  EXPECT_TRUE(threshold_is("\"from\":\"RUNNEL_LISTEN_THRESHOLD\""));
  EXPECT_EQ(events_of(call_well(arguments).out).size(), many) << "the environment precedes the file";
  setenv("RUNNEL_LISTEN_THRESHOLD", "1.0", 1);
  std::vector<std::string> called = arguments;
  called.insert(called.end(), {"--threshold", "0.4"});
  EXPECT_EQ(events_of(call_well(called).out).size(), many) << "the call precedes the environment";
}

TEST_F(SettingsFile, WrongKeysAndValuesAreNamedWithTheirLine) {
  const std::string place = file("config.toml") + ": line 2: ";
  const std::vector<std::string> arguments = {"listen", "digits", "--wav", recording()};
  settings("[listen]\ndevise = \"x\"\n");
  wrong_call(arguments, place + "listen has no option 'devise', did you mean 'device'?");
  settings("[listen]\nthreads = 1000\n");
  wrong_call(arguments, place + "--threads");
  settings("[lisen]\nthreads = 1\n");
  wrong_call(arguments, place + "there is no verb 'lisen', did you mean 'listen'?");
  settings("modell = \"x\"\n");
  wrong_call(arguments, "line 1: before the first [VERB] only 'model' and 'trust' are known, found 'modell'");
  settings("[listen\n");
  wrong_call(arguments, "line 1: expected [VERB]");
  // Keys of other verbs do not stop this one; `config` finds them all.
  settings("[batch]\nnonsense = 1\n");
  call_well(arguments);
  refusal({"config"}, "1 setting cannot be used");
  EXPECT_EQ(call({"--help"}).exit_code, 0) << "help is always there";
}

TEST_F(SettingsFile, ConfigShowsWhatIsInEffect) {
  settings("model = \"digits\"\n[batch]\njobs = 77\n[npu.compile]\nblock = 2\n");
  const Output shown = call_well({"config"});
  EXPECT_THAT(shown.out,
              HasSubstr("model = \"digits\"  # " + file("config.toml") + ": line 1\n[batch]\njobs = \"77\""));
  EXPECT_THAT(shown.out, HasSubstr("[npu.compile]"));
  EXPECT_THAT(shown.err, HasSubstr("settings file: " + file("config.toml")));
  EXPECT_THAT(call_well({"batch", "--help"}).out, Not(HasSubstr("=77")))
      << "help shows runnel's own defaults";
}

using Terminal = Manners;

TEST_F(Terminal, ThereAreNoControlCodesWithoutATerminal) {
  const std::string wav = recording();
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"listen", "digits", "--wav", wav}, {"check", "digits"}, {"models"}, {"--help"}, {"config"}}) {
    const Output output = call(arguments);
    EXPECT_EQ((output.out + output.err).find('\x1b'), std::string::npos) << arguments[0];
    EXPECT_EQ((output.out + output.err).find('\r'), std::string::npos) << arguments[0];
  }
}

}  // namespace
}  // namespace runnel::apps::test
