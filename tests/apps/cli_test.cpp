// Every verb, called as its users call it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/apps/support.h"
#include "tests/support/npy.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using runnel::test::read_npy;
using testing::HasSubstr;
using testing::StartsWith;

class Cli : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  // A recording of three seconds.
  std::string recording() const {
    write_wav(file("tones.wav"), tone_words(3, 16000));
    return file("tones.wav");
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(Cli, InferTakesRecordingsThroughTheFrontEndOfTheModel) {
  call_well({"infer", model(), "-i", "logmel=" + recording(), "-o", file("direct")});
  EXPECT_EQ(read_npy(fs::path(file("direct")) / "logits.npy").shape, (std::vector<std::size_t>{1, 298, 12}))
      << "the bundled model is made with --layout frames-first";
}

TEST_F(Cli, HelpNamesEverySettingAndItsDefault) {
  const struct {
    const char* verb;
    std::vector<const char*> shown;
  } verbs[] = {
      {"run", {"GRAPH", "--tick", "=1024", "--on-gap", "=reset"}},
      {"listen",
       {"MODEL", "--device", "=default", "--wav", "--duration", "--front-end", "--decision", "--on-gap",
        "=reset"}},
      {"batch", {"MODEL", "INPUT", "--output", "--jobs", "=0", "--front-end", "--decision"}},
      {"features", {"INPUT", "--output", "--preset", "=kaldi", "--kind", "--png", "--set", "--source"}},
      {"infer",
       {"MODEL", "--input", "--output", "--chunk", "=0", "--sequence", "--state", "--dump", "--dequantize"}},
      {"import",
       {"INPUT", "--output", "--target", "--front-end", "--frontend", "--sample-rate", "=16000", "--decision",
        "--labels"}},
      {"export",
       {"MODEL", "--output", "--target", "--chunk", "--seed", "=1", "--package", "--package-version",
        "=1.0.0", "--encrypt"}},
      {"quantize",
       {"INPUT", "--calib", "--output", "--bits", "=8", "--scheme", "=pow2", "--target", "--frontend",
        "--bits-of", "--with", "--without", "--eval", "--report"}},
      {"npu", {"disasm", "validate", "sim"}},
      {"image", {"make", "sign", "verify", "keys"}},
      {"inspect", {"WHAT", "--block", "=0", "--json", "--dot", "--mermaid"}},
      {"check", {"MODEL", "WAV", "--frames", "=0", "--seed", "=1"}},
      {"bench",
       {"MODEL", "--block", "=0", "--seconds", "=1", "--frame-rate", "=100", "--threads", "=1",
        "--sessions"}},
      {"profile", {"MODEL", "--chunk", "=0", "--whole", "--runs", "=1000", "--sort", "--json"}},
      {"score",
       {"RECORDS", "--labels", "--label-column", "=label", "--tolerance", "=0.5", "--ignore",
        "=silence,unknown"}}};
  const std::string overview = call_well({"--help"}).out;
  for (const auto& [verb, shown] : verbs) {
    SCOPED_TRACE(verb);
    EXPECT_THAT(overview, HasSubstr(verb));
    const Output help = call_well({verb, "--help"});
    EXPECT_EQ(help.err, "");
    for (const char* text : shown) EXPECT_THAT(help.out, HasSubstr(text));
    EXPECT_THAT(help.out, testing::Not(HasSubstr("=[]")));
  }
  EXPECT_THAT(call_well({"--version"}).out, StartsWith("runnel "));
}

TEST_F(Cli, AnAnswerThatCannotBeWrittenIsAFailure) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "SKIPPED: there is no /dev/full";
  for (const std::string& arguments :
       std::vector<std::string>{"--help", "--version", "listen --help", "inspect '" + model() + "'"}) {
    const Output output = runnel::test::run_program(
        {"/bin/sh", "-c", "'" + runnel::test::program() + "' " + arguments + " > /dev/full"});
    EXPECT_EQ(output.exit_code, 1) << arguments;
    EXPECT_THAT(output.err, HasSubstr("runnel: stdout cannot be written\n")) << arguments;
  }
}

// Some verbs see it themselves, others leave it to the end of the program.
TEST_F(Cli, AnAnswerThatCannotBeWrittenIsSaidOnce) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "SKIPPED: there is no /dev/full";
  const std::string wav = recording();
  for (const std::string& arguments : std::vector<std::string>{
           "batch '" + model() + "' '" + wav + "' -o -", "listen '" + model() + "' --wav '" + wav + "'"}) {
    const Output output = runnel::test::run_program(
        {"/bin/sh", "-c", "'" + runnel::test::program() + "' " + arguments + " > /dev/full"});
    EXPECT_EQ(output.exit_code, 1) << arguments;
    const std::string said = "stdout cannot be written";
    const std::size_t first = output.err.find(said);
    EXPECT_NE(first, std::string::npos) << arguments << ": " << output.err;
    EXPECT_EQ(output.err.find(said, first + 1), std::string::npos) << output.err;
  }
}

// What the binary is licensed under follows from what is linked into it.
TEST_F(Cli, VersionSaysWhenFftwIsLinked) {
  const auto libraries = runnel::test::run_program({"ldd", runnel::test::program()});
  ASSERT_EQ(libraries.exit_code, 0) << libraries.err;
  const bool linked = libraries.out.find("libfftw3f") != std::string::npos;
  const std::string said = call_well({"--version"}).out;
  EXPECT_EQ(said.find("GPL") != std::string::npos, linked) << said;
  EXPECT_EQ(said.find("Licence: Apache-2.0") != std::string::npos, !linked) << said;
}

TEST_F(Cli, WrongCallsAreSaidInOneLine) {
  refusal({}, "a verb is required");
  EXPECT_EQ(call({}).exit_code, 2);
  refusal({"lisen", model()}, "there is no verb 'lisen', did you mean 'listen'?");
  refusal({"check"}, "MODEL is required");
  refusal({"listen", model(), "--dvice", "x"}, "--dvice");
  refusal({"run", "null", "--on-gap", "never"}, "--on-gap");
  EXPECT_EQ(call({"check"}).exit_code, 2);
  // An address is part of the call.
  for (const char* option : {"--listen", "--metrics", "--wyoming"}) {
    refusal({"serve", model(), option, "127.0.0.1"}, "address \"127.0.0.1\": expected IP:PORT");
    EXPECT_EQ(call({"serve", model(), option, "127.0.0.1"}).exit_code, 2) << option;
  }
  EXPECT_EQ(call({"check"}).out, "");
}

// Lines and colours in a name are neither lines nor colours of what is said.
TEST_F(Cli, WhatIsSaidIsOneLineWhateverNamesHold) {
  const std::string name = file("a\n\x1b[31mb.rnl");
  fs::copy_file(model(), name);
  EXPECT_THAT(call_well({"embed", name, "-o", file("embedded"), "--name", "a"}).err,
              HasSubstr("a??[31mb.rnl: "));
  EXPECT_EQ(call({"lis\x1bten\n"}).err,
            "runnel: there is no verb 'lis?ten?', did you mean 'listen'? (see runnel --help)\n");
}

TEST_F(Cli, NumbersBelowTheirRangeAreToldShortly) {
  EXPECT_EQ(
      refusal({"inspect", "x.rnl", "--fast-bytes", "-1"}, "--fast-bytes"),
      "runnel: --fast-bytes: Value -1, expected a number that is not negative (see runnel inspect --help)");
  EXPECT_EQ(refusal({"export", "x.rnl", "-o", "x.espdl", "--chunk", "0"}, "--chunk"),
            "runnel: --chunk: Value 0, expected more than 0 (see runnel export --help)");
}

TEST_F(Cli, ListenPrintsEventsAndThenOneSummary) {
  const std::string wav = recording();
  const Output output = call_well({"listen", model(), "--wav", wav, "--decision", kEager});
  const Json summary = expect_records(output.out);
  EXPECT_EQ(output.err, "");
  EXPECT_GE(summary["events"].get<int>(), 2);
  EXPECT_EQ(summary["source"], wav);
  EXPECT_EQ(summary["audio_seconds"], 3.0);
  EXPECT_EQ(summary["lost_samples"], 0);
  EXPECT_EQ(summary["failures"], 0);
  for (const char* key : {"step_p50_us", "step_p99_us", "step_max_us", "real_time_factor"})
    EXPECT_GT(summary[key].get<double>(), 0) << key;
  for (const Json& record : json_lines(output.out)) EXPECT_EQ(record["source"], wav);
}

TEST_F(Cli, ListenConvertsWhatDoesNotFitAndSaysSo) {
  std::vector<std::int16_t> stereo;
  for (const std::int16_t sample : tone_words(2, 8000)) stereo.insert(stereo.end(), {sample, sample});
  write_wav(file("stereo.wav"), stereo, 8000, 2);
  const Output output = call_well({"listen", model(), "--wav", file("stereo.wav")});
  EXPECT_THAT(output.err, HasSubstr("inserted `downmix`"));
  EXPECT_THAT(output.err, HasSubstr("inserted `resample rate=16000`"));
  EXPECT_EQ(expect_records(output.out)["audio_seconds"], 2.0);
  refusal({"run", "wav path=" + file("stereo.wav") + " ! fbank ! null"}, "downmix");
}

TEST_F(Cli, RunWorksOnTextAndOnFiles) {
  const std::string graph =
      "wav path=" + recording() +
      " ! fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 name=front ! infer model=" + model() +
      " ! " + kEager + " ! jsonl\nfront. ! npy path=" + file("frames.npy");
  const Output output = call_well({"run", graph});
  const Json summary = expect_records(output.out);
  EXPECT_GE(summary["events"].get<int>(), 2);
  EXPECT_EQ(events_of(output.out),
            events_of(call_well({"listen", model(), "--wav", file("tones.wav"), "--decision", kEager}).out));
  EXPECT_EQ(read_npy(file("frames.npy")).shape, (std::vector<std::size_t>{298, 40}));
  write_text(file("a.rnlg"), "# a comment\n" + graph + "\n");
  EXPECT_EQ(events_of(call_well({"run", file("a.rnlg"), "--tick", "77"}).out), events_of(output.out));
}

TEST_F(Cli, FeaturesAreMatricesOfTheRecordings) {
  const std::string wav = recording();
  EXPECT_EQ(call_well({"features", wav, "-o", file("a.npy")}).out, "");
  const auto fbank = read_npy(file("a.npy"));
  EXPECT_EQ(fbank.shape, (std::vector<std::size_t>{298, 23}));
  EXPECT_EQ(fbank.dtype, "<f4");
  call_well({"features", wav, "-o", file("b.npy"), "--set", "num_mel_bins=40", "frame_shift=20"});
  EXPECT_EQ(read_npy(file("b.npy")).shape, (std::vector<std::size_t>{149, 40}));
  call_well({"features", wav, "-o", file("c.npy"), "--kind", "mfcc", "--set", "num_ceps=12"});
  EXPECT_EQ(read_npy(file("c.npy")).shape, (std::vector<std::size_t>{298, 12}));
  write_wav(file("other.wav"), tone_words(1, 16000));
  call_well({"features", wav, file("other.wav"), "-o", file("many")});
  EXPECT_EQ(names_in(file("many")), (std::vector<std::string>{"other.npy", "tones.npy"}));
  EXPECT_EQ(read_text(file("many/tones.npy")), read_text(file("a.npy")));
  fs::create_directory(file("sub"));
  write_wav(file("sub/other.wav"), tone_words(1, 16000));
  refusal({"features", file("other.wav"), file("sub/other.wav"), "-o", file("clash")}, "other.npy");
  EXPECT_FALSE(fs::exists(file("clash")));
}

TEST_F(Cli, FeaturesOfSensorsAreStatisticsOfTheirTables) {
  std::string table = "t,x,y\n";
  for (int i = 0; i < 300; ++i) table += std::to_string(i / 50.0) + "," + std::to_string(i % 2) + ",3\n";
  write_text(file("a.csv"), table);
  call_well({"features", file("a.csv"), "-o", file("a.npy"), "--kind", "statistics", "--source", "time=t",
             "--set", "window=2s", "hop=1s", "statistics=mean,peak"});
  EXPECT_EQ(read_npy(file("a.npy")).shape, (std::vector<std::size_t>{5, 4}));
  EXPECT_EQ(read_npy(file("a.npy")).as<float>(), [] {
    std::vector<float> rows;
    for (int i = 0; i < 5; ++i) rows.insert(rows.end(), {0.5F, 3, 1, 3});
    return rows;
  }());
  call_well({"features", file("a.csv"), "-o", file("b.npy"), "--kind", "framing", "--source", "rate=50",
             "columns=x", "--set", "window=4", "hop=4"});
  EXPECT_EQ(read_npy(file("b.npy")).shape, (std::vector<std::size_t>{75, 4}));
  refusal({"features", file("a.csv"), "-o", file("c.npy"), "--kind", "statistics", "--preset", "whisper"},
          "expected one of them");
  refusal({"features", file("a.csv"), "-o", file("c.npy"), "--kind", "statistics", "--source", "time"},
          "--source \"time\", expected NAME=VALUE");
}

// The commands of docs/sensors.md, as they stand there.
TEST_F(Cli, TheExampleOfTheSensorPageWorks) {
  const std::string page = read_text(fs::path(RUNNEL_SOURCE_FOLDER) / "docs/sensors.md");
  std::string script = "set -e\nrunnel() { " + std::string(std::getenv("RUNNEL_PROGRAM")) +
                       " \"$@\"; }\ncd " + folder_.path().string() + "\n";
  std::istringstream lines(page.substr(0, page.find("\n## Tables")));
  int commands = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("    ")) continue;
    script += line + "\n";
    commands += line.starts_with("    runnel ") || line.starts_with("    awk ") ? 1 : 0;
  }
  EXPECT_EQ(commands, 5);
  const Output output = runnel::test::run_program({"bash", "-c", script});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("\"lost_samples\":50,\"gaps\":1"));
  EXPECT_EQ(read_npy(file("windows.npy")).shape[1], 15u);
  EXPECT_TRUE(fs::exists(file("windows.png")));
  EXPECT_EQ(read_npy(file("both.npy")).shape, (std::vector<std::size_t>{2950, 4}));
  EXPECT_EQ(read_npy(file("features.npy")).shape, read_npy(file("windows.npy")).shape);
}

TEST_F(Cli, ImportMakesTheFileOfTheBuild) {
  const fs::path source = fs::path(RUNNEL_SOURCE_FOLDER) / "models/digits";
  const Json settings = Json::parse(read_text(source / "digits.json"));
  const auto& decision = settings["decision"];
  const Output output = call_well({"import", (source / "digits_c_s8.espdl").string(), "-o", file("d.rnl"),
                                   "--labels", (source / "labels.txt").string(), "--front-end",
                                   settings["front_end"], "--decision", "detect threshold=0.93"});
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err, HasSubstr("d.rnl: 16 operators"));
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"d.rnl"});
  EXPECT_EQ(decision["threshold"], 0.93);
  // What import takes directly gives the same as what it wrote.
  write_wav(file("tones.wav"), tone_words(2, 16000));
  const auto events = [&](const std::string& path) {
    return events_of(
        call_well({"listen", path, "--wav", file("tones.wav"), "--front-end", settings["front_end"],
                   "--decision", std::string(kEager) + " labels=0,1,2,3,4,5,6,7,8,9,silence,unknown"})
            .out);
  };
  EXPECT_EQ(events(file("d.rnl")), events((source / "digits_c_s8.espdl").string()));
  write_text(file("two.txt"), "yes\nno\n");
  refusal(
      {"import", (source / "digits_c_s8.espdl").string(), "-o", file("e.rnl"), "--labels", file("two.txt")},
      "2 labels for an output of 12 channels");
  EXPECT_FALSE(fs::exists(file("e.rnl")));
}

TEST_F(Cli, InspectTellsOfModelsGraphsAndNodes) {
  const Json about = Json::parse(call_well({"inspect", model(), "--json"}).out);
  EXPECT_EQ(about["type"], "model");
  EXPECT_EQ(about["streamed"], true);
  EXPECT_EQ(about["inputs"], Json({"logmel"}));
  EXPECT_EQ(about["outputs"], Json({"logits"}));
  EXPECT_EQ(about["lookahead_frames"], 0);
  EXPECT_EQ(about["receptive_field_frames"], 125);
  EXPECT_EQ(about["macs_per_frame"], 23424);
  for (const char* key : {"arena_bytes", "state_bytes", "file_bytes", "weight_bytes"})
    EXPECT_GT(about[key].get<int>(), 0) << key;
  EXPECT_EQ(about["file_bytes"].get<std::uintmax_t>(), fs::file_size(model()));
  EXPECT_EQ(about["memory"]["arena"]["slow"], 0);
  EXPECT_GE(about["memory"]["arena"]["ratio"], 1.0);
  EXPECT_EQ(about["memory"]["constants"]["copied_slow"], 0);
  const Json small = Json::parse(
      call_well({"inspect", model(), "--json", "--firmware", "--fast-bytes", "64", "--param-copy"})
          .out)["memory"];
  EXPECT_EQ(small["alignment"], 16);
  EXPECT_GT(small["arena"]["fast"], 0);
  EXPECT_LE(small["arena"]["fast"], 64);
  EXPECT_GT(small["arena"]["slow"], 0);
  EXPECT_EQ(small["state"]["tier"], "slow");
  EXPECT_EQ(small["constants"]["in_place"], 0);
  EXPECT_EQ(small["constants"]["copied_slow"], about["memory"]["constants"]["packed"])
      << "the portable kernels pack nothing, vector kernels everything";
  const std::string table = call_well({"inspect", model()}).out;
  for (const char* text :
       {"fbank preset=kaldi", "detect ", "silence unknown", "look-ahead 0 frames", "state "})
    EXPECT_THAT(table, HasSubstr(text));
  EXPECT_THAT(call_well({"inspect", model(), "--dot"}).out, StartsWith("digraph"));
  EXPECT_THAT(call_well({"inspect", model(), "--mermaid"}).out, StartsWith("flowchart TD"));

  const std::string graph = "wav path=" + recording() + " ! fbank ! null";
  const Json nodes = Json::parse(call_well({"inspect", graph, "--json"}).out);
  EXPECT_EQ(nodes["type"], "graph");
  ASSERT_EQ(nodes["nodes"].size(), 3u);
  EXPECT_EQ(nodes["nodes"][1]["type"], "fbank");
  EXPECT_THAT(call_well({"inspect", graph, "--mermaid"}).out, HasSubstr("-->"));
  EXPECT_THAT(call_well({"inspect", "fbank"}).out, HasSubstr("num_mel_bins"));
  refusal({"inspect", "fbnak"}, "did you mean 'fbank'?");
}

TEST_F(Cli, InspectOfAGraphWritesNothing) {
  write_text(file("kept.npy"), "mine");
  call_well({"inspect", "wav path=" + recording() + " ! fbank ! npy path=" + file("kept.npy")});
  EXPECT_EQ(read_text(file("kept.npy")), "mine");
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"kept.npy", "tones.wav"}));
}

TEST_F(Cli, CheckProvesTheModel) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {recording()}, {"--frames", "33", "--seed", "5"}}) {
    std::vector<std::string> arguments = {"check", model()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Output output = call_well(arguments);
    const std::vector<Json> lines = json_lines(output.out);
    ASSERT_EQ(lines.size(), 1u);
    const Json& result = lines[0];
    EXPECT_EQ(result["type"], "check");
    EXPECT_EQ(result["exact"], true);
    EXPECT_EQ(result["vectors"], Json({{"cases", 1},
                                       {"exact", 1},
                                       {"passed", 1},
                                       {"rule", "integers exact"},
                                       {"largest_difference", 0.0}}));
    EXPECT_EQ(result["delay_frames"], 0);
    EXPECT_EQ(result["lookahead_frames"], 0);
    EXPECT_EQ(result["frames"], more.empty() ? 200 : more.size() == 1 ? 298 : 33);
    EXPECT_THAT(output.err, HasSubstr("bit for bit"));
  }
}

TEST_F(Cli, BenchMeasures) {
  const Json result = Json::parse(call_well({"bench", model(), "--seconds", "0.05", "--block", "4"}).out);
  EXPECT_EQ(result["type"], "bench");
  EXPECT_EQ(result["block"], 4);
  EXPECT_GT(result["median_us"].get<double>(), 0);
  EXPECT_GE(result["median_us"].get<double>(), result["min_us"].get<double>());
  EXPECT_GT(result["streams_per_core"].get<double>(), 0);
  const Json many = Json::parse(call_well({"bench", model(), "--seconds", "0.05", "--sessions", "5"}).out);
  EXPECT_EQ(many["sessions"], 5);
  EXPECT_GT(many["median_us"], 0.0);
  const Json shared = Json::parse(call_well({"bench", model(), "--seconds", "0.05", "--threads", "2"}).out);
  EXPECT_EQ(shared["threads"], 2);
  refusal({"bench", model(), "--sessions", "5", "--threads", "2"}, "--sessions");
}

TEST_F(Cli, ProfileNamesEveryOperatorOnce) {
  const Json about = Json::parse(call_well({"inspect", model(), "--json"}).out);
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{}, {"--chunk", "10"}, {"--whole"}}) {
    std::vector<std::string> arguments = {"profile", model(), "--json", "--runs", "50"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Json profile = Json::parse(call_well(arguments).out);
    EXPECT_EQ(profile["type"], "profile");
    EXPECT_EQ(profile["mode"], more.size() == 1 ? "whole" : "stream");
    EXPECT_EQ(profile["block"], more.empty() ? 1 : more.size() == 1 ? 98 : 10);
    EXPECT_EQ(profile["runs"], 50);
    EXPECT_GT(profile["run_us"].get<double>(), 0);
    std::vector<int> operators;
    double share = 0;
    std::int64_t macs = 0;
    for (const Json& step : profile["steps"]) {
      for (const Json& index : step["operators"]) {
        operators.push_back(index);
        // A fused step is named after all of its operators.
        EXPECT_THAT(step["type"].get<std::string>(),
                    HasSubstr(about["operators"][operators.back()]["type"].get<std::string>()));
        EXPECT_THAT(step["name"].get<std::string>(),
                    HasSubstr(about["operators"][operators.back()]["name"].get<std::string>()));
      }
      EXPECT_GE(step["us"].get<double>(), 0);
      share += step["share"].get<double>();
      macs += step["macs"].get<std::int64_t>();
    }
    std::vector<int> all(about["operators"].size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    EXPECT_EQ(operators, all);
    EXPECT_NEAR(share, 1, 1e-6);
    EXPECT_EQ(profile["macs"], macs);
    EXPECT_GT(macs, 0);
    EXPECT_GT(profile["memory"]["weights"], 0);
    EXPECT_GT(profile["memory"]["prepared"], 0);
  }
}

// As inspect says it for the same blocks: what does not fit into the fast tier is in the slow one.
TEST_F(Cli, ProfileTellsMemoryByTier) {
  const auto memory_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"profile", model(), "--json", "--runs", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Json::parse(call_well(arguments).out)["memory"];
  };
  const Json all = memory_of({}), some = memory_of({"--fast-bytes", "128", "--param-copy"});
  const Json about = Json::parse(
      call_well({"inspect", model(), "--json", "--fast-bytes", "128", "--param-copy"}).out)["memory"];
  for (const char* kind : {"constants", "arena", "scratch", "state"}) {
    EXPECT_EQ(all["slow"][kind], 0) << kind;
    EXPECT_GE(some["fast"][kind], 0) << kind;
  }
  EXPECT_GT(all["fast"]["state"], 0);
  EXPECT_EQ(some["fast"]["arena"], about["arena"]["fast"]);
  EXPECT_EQ(some["slow"]["arena"], about["arena"]["slow"]);
  EXPECT_EQ(some[about["state"]["tier"].get<std::string>()]["state"], about["state"]["bytes"]);
  EXPECT_EQ(some[about["scratch"]["tier"].get<std::string>()]["scratch"], about["scratch"]["bytes"]);
  EXPECT_EQ(some["fast"]["constants"], about["constants"]["copied_fast"]);
  EXPECT_EQ(some["slow"]["constants"], about["constants"]["copied_slow"]);
}

TEST_F(Cli, ProfileSortsAndPrintsATable) {
  const Json sorted = Json::parse(call_well({"profile", model(), "--json", "--sort", "--runs", "20"}).out);
  for (std::size_t i = 1; i < sorted["steps"].size(); ++i)
    EXPECT_GE(sorted["steps"][i - 1]["us"], sorted["steps"][i]["us"]);
  const std::string table = call_well({"profile", model(), "--runs", "20"}).out;
  EXPECT_THAT(table, HasSubstr("GMAC/s"));
  EXPECT_THAT(table, HasSubstr("conv"));
  EXPECT_THAT(table, HasSubstr("memory in bytes: weights"));
  EXPECT_THAT(table, HasSubstr("\nslow "));
  refusal({"profile", model(), "--whole", "--chunk", "4"}, "--whole and --chunk");
  refusal({"profile", model(), "--runs", "0"}, "--runs");
}

TEST_F(Cli, ScoreCountsClips) {
  write_text(file("run.jsonl"),
             "{\"type\":\"event\",\"source\":\"/data/"
             "a.wav\",\"label\":\"1\",\"score\":0.9,\"start\":0,\"end\":1,\"frame\":9}\n"
             "{\"type\":\"event\",\"source\":\"/data/"
             "b.wav\",\"label\":\"3\",\"score\":0.55,\"start\":0,\"end\":1,\"frame\":9}\n"
             "{\"type\":\"event\",\"source\":\"/data/"
             "b.wav\",\"label\":\"2\",\"score\":0.6,\"start\":0,\"end\":1,\"frame\":9}\n"
             "{\"type\":\"event\",\"source\":\"/data/"
             "c.wav\",\"label\":\"4\",\"score\":0.7,\"start\":0,\"end\":1,\"frame\":9}\n"
             "{\"type\":\"event\",\"source\":\"/data/"
             "x.wav\",\"label\":\"4\",\"score\":0.7,\"start\":0,\"end\":1,\"frame\":9}\n"
             "{\"type\":\"error\",\"source\":\"/data/d.wav\",\"reason\":\"broken\"}\n"
             "{\"type\":\"summary\",\"audio_seconds\":4}\n");
  write_text(file("labels.csv"), "file,label,other\na.wav,1,1\nb.wav,2,9\nc.wav,5,9\n\"d.wav\",0,9\n");
  const Output output = call_well({"score", file("run.jsonl"), "--labels", file("labels.csv")});
  const Json score = Json::parse(output.out);
  EXPECT_EQ(score["kind"], "clips");
  EXPECT_EQ(score["clips"], 4);
  EXPECT_EQ(score["correct"], 2);
  EXPECT_EQ(score["wrong_labels"], 1);
  EXPECT_EQ(score["undecided"], 1);
  EXPECT_EQ(score["unlabelled"], 1);
  EXPECT_EQ(score["failures"], 1);
  EXPECT_EQ(score["accuracy"], 0.5);
  EXPECT_EQ(score["confusion"], Json::parse(R"({"0":{"":1},"1":{"1":1},"2":{"2":1},"5":{"4":1}})"));
  for (const Json& point : score["operating_points"]) {
    if (point["threshold"] != 0.7) continue;
    EXPECT_EQ(point, Json::parse(R"({"threshold":0.7,"accepted":2,"correct":1,"accuracy":0.5})"));
  }
  EXPECT_THAT(output.err, HasSubstr("1 events of recordings without a label"));
  EXPECT_EQ(Json::parse(call_well({"score", file("run.jsonl"), "--labels", file("labels.csv"),
                                   "--label-column", "other"})
                            .out)["correct"],
            1);
  refusal({"score", file("run.jsonl"), "--labels", file("labels.csv"), "--label-column", "othr"},
          "no column 'othr' in the header line, did you mean 'other'?");
  write_text(file("elsewhere.csv"), "file,label\ny.wav,1\n");
  refusal({"score", file("run.jsonl"), "--labels", file("elsewhere.csv")},
          "no recording of the events has labels");
}

TEST_F(Cli, ScoreCountsWordsInStreams) {
  const auto event = [](const char* label, double end) {
    return Json{{"type", "event"},    {"source", "s.wav"}, {"label", label}, {"score", 0.9},
                {"start", end - 0.1}, {"end", end},        {"frame", 1}}
               .dump() +
           "\n";
  };
  // The words: 1 at 1.0 to 1.5, 2 at 3.0 to 3.5, unknown at 5.0 to 5.5, 7 at 7.0 to 7.5.
  write_text(file("run.jsonl"), event("1", 1.6) + event("1", 1.9) + event("1", 2.01) + event("5", 3.2) +
                                    event("3", 5.2) + event("7", 6.999) + event("unknown", 5.3) +
                                    "{\"type\":\"summary\",\"audio_seconds\":3600}\n");
  write_text(
      file("truth.json"),
      R"({"events":[{"label":"1","start":1.0,"end":1.5},{"label":"2","start":3.0,"end":3.5},{"label":"unknown","start":5.0,"end":5.5},{"label":"7","start":7.0,"end":7.5}]})");
  const Json score = Json::parse(call_well({"score", file("run.jsonl"), "--labels", file("truth.json")}).out);
  EXPECT_EQ(score["kind"], "spans");
  EXPECT_EQ(score["words"], 3);
  EXPECT_EQ(score["hits"], 1);
  EXPECT_EQ(score["misses"], 2);
  EXPECT_EQ(score["duplicates"], 1);
  EXPECT_EQ(score["wrong_labels"], 1);
  EXPECT_EQ(score["false_accepts"], 3);
  EXPECT_EQ(score["false_accepts_per_hour"], 3.0);
  EXPECT_EQ(score["latency_seconds"]["median"], 0.1);
  EXPECT_EQ(score["confusion"][""], Json::parse(R"({"1":1,"3":1,"7":1})"));
  EXPECT_EQ(score["confusion"]["2"], Json::parse(R"({"5":1,"":1})"));
  // Half a second more catches the third "1" as well.
  EXPECT_EQ(Json::parse(
                call_well({"score", file("run.jsonl"), "--labels", file("truth.json"), "--tolerance", "0.6"})
                    .out)["duplicates"],
            2);
  // The same truth as a table, by name.
  write_text(file("truth.csv"), "file,label,start,end\ns.wav,1,1.0,1.5\ns.wav,2,3.0,3.5\ns.wav,7,7.0,7.5\n");
  EXPECT_EQ(Json::parse(
                call_well({"score", file("run.jsonl"), "--labels", file("truth.csv")}).out)["false_accepts"],
            3);
  write_text(file("none.json"), R"({"events":[]})");
  EXPECT_EQ(Json::parse(
                call_well({"score", file("run.jsonl"), "--labels", file("none.json")}).out)["false_accepts"],
            6);
  write_text(file("bad.csv"), "file,label,start,end\ns.wav,1,2.0,1.5\n");
  refusal({"score", file("run.jsonl"), "--labels", file("bad.csv")},
          "bad.csv: line 2: start and end are not seconds in this order");
  write_text(file("bad.jsonl"), "{\"type\":\"event\"}\n");
  refusal({"score", file("bad.jsonl"), "--labels", file("truth.csv")}, "bad.jsonl: line 1: an event needs");
}

}  // namespace
}  // namespace runnel::apps::test
