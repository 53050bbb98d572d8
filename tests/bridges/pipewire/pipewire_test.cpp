// What runnel hears through a PipeWire daemon is what was played, and decisions are those about what was
// heard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "library/runnel_host.h"
#include "tests/bridges/pipewire/own_pipewire.h"
#include "tests/bridges/sound.h"
#include "tests/support/data.h"
#include "tests/support/wav.h"

namespace runnel::bridges::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

#define NEEDS_PIPEWIRE()                                                                                 \
  for (const std::string program : {RUNNEL_PIPEWIRE_DAEMON, RUNNEL_PW_LINK, RUNNEL_PW_CAT}) {            \
    if (program.find('/') == std::string::npos)                                                          \
      GTEST_SKIP() << "SKIPPED: " << program << ", a program of PipeWire (scripts/install.sh pipewire)"; \
  }

// Listens in a program of its own, and keeps what it hears.
class Ears {
 public:
  explicit Ears(const fs::path& folder)
      : folder_(folder),
        program_({runnel::test::program(), "run",
                  "pipewire target=none label=ears name=mic ! fbank preset=kaldi num_mel_bins=40 low_freq=20 "
                  "high_freq=7600 ! infer model=" +
                      digits() + " ! " + kEager +
                      " ! jsonl source=samples\nmic. ! wav path=" + (folder / "heard.wav").string()},
                 folder / "ears.out", folder / "ears.err") {}
  // Ends it; its exit code.
  int end() {
    program_.signal(SIGINT);
    return program_.wait();
  }
  int wait() { return program_.wait(); }
  [[nodiscard]] std::string out() const { return text_in(folder_ / "ears.out"); }
  [[nodiscard]] std::string err() const { return text_in(folder_ / "ears.err"); }
  [[nodiscard]] std::vector<std::int16_t> heard() const {
    return runnel::test::read_wav(folder_ / "heard.wav").samples;
  }
  // Decisions, and samples lost before places in `heard`.
  std::string events;
  std::vector<std::pair<std::size_t, std::uint64_t>> gaps;
  nlohmann::json summary;
  void read() {
    std::istringstream in(out());
    std::uint64_t lost = 0;
    for (std::string line; std::getline(in, line);) {
      const auto record = nlohmann::json::parse(line);
      if (record["type"] == "event") events += line + "\n";
      if (record["type"] == "summary") summary = record;
      if (record["type"] != "gap") continue;
      // Cycles are whole milliseconds.
      const auto start = static_cast<std::uint64_t>(std::llround(record["start"].get<double>() * 16000));
      gaps.emplace_back(start - lost, record["lost_samples"].get<std::uint64_t>());
      lost += gaps.back().second;
    }
  }

 private:
  fs::path folder_;
  Beside program_;
};

// What the library says about the same samples with the same gaps.
std::string library_hears(const Ears& ears) {
  runnel_program* program = nullptr;
  runnel_node* node = nullptr;
  EXPECT_EQ(runnel_load_file(digits().c_str(), (std::string("decision='") + kEager + "'").c_str(), &program),
            RUNNEL_OK);
  EXPECT_EQ(runnel_prepare(program, nullptr, &node), RUNNEL_OK);
  const std::vector<std::int16_t> heard = ears.heard();
  std::size_t at = 0;
  const auto push_until = [&](std::size_t end) {
    EXPECT_LE(end, heard.size());
    EXPECT_EQ(runnel_push_int16(node, heard.data() + at, end - at), RUNNEL_OK);
    at = end;
  };
  for (const auto& [place, lost] : ears.gaps) {
    push_until(place);
    EXPECT_EQ(runnel_lost(node, lost), RUNNEL_OK);
  }
  push_until(heard.size());
  EXPECT_EQ(runnel_end(node), RUNNEL_OK);
  std::string lines;
  runnel_event event;
  while (runnel_poll(node, &event) == 1) lines += std::string(runnel_line(node)) + "\n";
  runnel_close(node);
  runnel_release(program);
  return lines;
}

// Plays a recording as soon as something is linked to it.
Beside player(const fs::path& wav, const fs::path& folder, const std::string& name = "player") {
  return Beside({RUNNEL_PW_CAT, "-p", "--target", "0", "-P", "{ node.name = " + name + " }", wav.string()},
                folder / "player.out", folder / "player.err");
}

TEST(PipeWire, HearsWhatIsPlayedBitForBit) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const std::vector<std::int16_t> samples = tones(3);
  const fs::path wav = own.folder() / "tones.wav";
  // The player leaves before its last cycle was played.
  std::vector<std::int16_t> longer = samples;
  longer.resize(samples.size() + 2 * 8192);
  write_wav(wav, longer, 16000);
  // A machine that is busy for half a second breaks what is played: then once more.
  bool whole = false;
  for (int attempt = 0; attempt < 5 && !whole; ++attempt) {
    const runnel::test::TemporaryFolder folder;
    Ears ears(folder.path());
    Beside playing = player(wav, folder.path());
    ASSERT_TRUE(OwnPipeWire::link("player:output_MONO", "ears:input_MONO"))
        << OwnPipeWire::ports() << ears.err();
    EXPECT_EQ(playing.wait(), 0);
    ASSERT_EQ(ears.end(), 0) << ears.err();
    ears.read();
    EXPECT_FALSE(ears.events.empty());
    EXPECT_EQ(ears.events, library_hears(ears));
    const std::vector<std::int16_t> heard = ears.heard();
    whole = ears.gaps.empty() &&
            std::search(heard.begin(), heard.end(), samples.begin(), samples.end()) != heard.end();
  }
  EXPECT_TRUE(whole) << "in none of five attempts all samples arrived";
}

// Whether each stretch between two gaps is a piece of what was played, without the silence around it.
bool only_gaps_are_lost(const Ears& ears, const std::vector<std::int16_t>& played) {
  const std::vector<std::int16_t> heard = ears.heard();
  std::size_t from = 0;
  const auto is_piece = [&](std::size_t to) {
    auto begin = heard.begin() + static_cast<std::ptrdiff_t>(from);
    auto end = heard.begin() + static_cast<std::ptrdiff_t>(to);
    from = to;
    while (begin != end && *begin == 0) ++begin;
    while (begin != end && end[-1] == 0) --end;
    return std::search(played.begin(), played.end(), begin, end) != played.end();
  };
  bool all = true;
  for (const auto& [place, lost] : ears.gaps) all = is_piece(place) && all;
  return is_piece(heard.size()) && all;
}

TEST(PipeWire, PwLinkMovesTheStreamWithoutLossButTheCountedGap) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const fs::path wav = own.folder() / "tones.wav";
  const std::vector<std::int16_t> samples = tones(60);
  write_wav(wav, samples, 16000);
  // A machine that is busy for half a second breaks what is played: then once more.
  bool whole = false;
  for (int attempt = 0; attempt < 5 && !whole; ++attempt) {
    const runnel::test::TemporaryFolder folder;
    Ears ears(folder.path());
    Beside playing = player(wav, folder.path());
    ASSERT_TRUE(OwnPipeWire::link("player:output_MONO", "ears:input_MONO"))
        << OwnPipeWire::ports() << ears.err();
    const auto events = [&] {
      const std::string out = ears.out();
      return std::count(out.begin(), out.end(), '\n');
    };
    EXPECT_TRUE(soon([&] { return events() > 2; }));
    EXPECT_TRUE(OwnPipeWire::unlink("player:output_MONO", "ears:input_MONO"));
    EXPECT_TRUE(soon([&] { return OwnPipeWire::ports("-l").find("|->") == std::string::npos; }));
    // Another player, as a stream that is moved to another source.
    const runnel::test::TemporaryFolder others;
    Beside other = player(wav, others.path(), "second");
    playing.signal(SIGKILL);
    playing.wait();
    const auto before = events();
    // Longer than a cycle: otherwise the move may fall between two, and nothing is lost.
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    ASSERT_TRUE(OwnPipeWire::link("second:output_MONO", "ears:input_MONO")) << OwnPipeWire::ports();
    // The gap, and what the second one plays.
    EXPECT_TRUE(soon([&] { return events() > before + 3; }));
    ASSERT_EQ(ears.end(), 0) << ears.err();
    ears.read();
    EXPECT_EQ(ears.events, library_hears(ears));
    EXPECT_EQ(ears.summary["failures"], 0);
    std::uint64_t lost = 0;
    for (const auto& [place, count] : ears.gaps) lost += count;
    EXPECT_EQ(ears.summary["lost_samples"], lost);
    EXPECT_EQ(ears.summary["gaps"], ears.gaps.size());
    whole = !ears.gaps.empty() && only_gaps_are_lost(ears, samples);
  }
  EXPECT_TRUE(whole) << "in none of five attempts all samples but those of a gap arrived";
}

TEST(PipeWire, ADaemonThatGoesAwayIsASentence) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const fs::path wav = own.folder() / "tones.wav";
  write_wav(wav, tones(60), 16000);
  const runnel::test::TemporaryFolder folder;
  Ears ears(folder.path());
  Beside playing = player(wav, folder.path());
  ASSERT_TRUE(OwnPipeWire::link("player:output_MONO", "ears:input_MONO"));
  EXPECT_TRUE(soon([&] { return ears.out().find('\n') != std::string::npos; }));
  own.kill();
  EXPECT_EQ(ears.wait(), 1);
  EXPECT_THAT(ears.err(), HasSubstr("PipeWire: the daemon is gone"));
  EXPECT_FALSE(fs::exists(folder.path() / "heard.wav"));
  // A new one is heard by a new run.
  own.start();
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const runnel::test::TemporaryFolder others;
  Ears again(others.path());
  Beside anew = player(wav, others.path());
  ASSERT_TRUE(OwnPipeWire::link("player:output_MONO", "ears:input_MONO"));
  EXPECT_TRUE(soon([&] { return again.out().find('\n') != std::string::npos; }));
  EXPECT_EQ(again.end(), 0) << again.err();
}

TEST(PipeWire, WithoutADaemonOrANodeThereIsASentence) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const std::string file = (own.folder() / "x.wav").string();
  const auto refused = [&](const std::string& parameters) {
    const runnel::test::Output output = runnel::test::run_program(
        {runnel::test::program(), "run", "pipewire " + parameters + " ! wav path=" + file});
    EXPECT_EQ(output.exit_code, 1);
    return output.err;
  };
  EXPECT_THAT(refused("target=nobody"), HasSubstr("PipeWire node nobody: gave no sound for 5 seconds"));
  own.kill();
  EXPECT_THAT(refused(""), HasSubstr("PipeWire: cannot connect to the daemon"));
  EXPECT_FALSE(fs::exists(file));
}

// runnel's own stream that plays, beside the test.
Beside mouth(const fs::path& wav, const fs::path& folder) {
  return Beside(
      {runnel::test::program(), "run", "wav path=" + wav.string() + " ! pipewire target=none label=mouth"},
      folder / "mouth.out", folder / "mouth.err");
}

TEST(PipeWire, PlaysWhatItsSourceHearsBitForBit) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const std::vector<std::int16_t> samples = tones(2);
  const fs::path wav = own.folder() / "tones.wav";
  // A link is not there on both sides in the same cycle, and the listener ends within one.
  std::vector<std::int16_t> longer(4 * 8192, 0);
  longer.insert(longer.end(), samples.begin(), samples.end());
  longer.resize(longer.size() + 2 * 8192);
  write_wav(wav, longer, 16000);
  bool whole = false;
  for (int attempt = 0; attempt < 5 && !whole; ++attempt) {
    const runnel::test::TemporaryFolder folder;
    Ears ears(folder.path());
    Beside playing = mouth(wav, folder.path());
    ASSERT_TRUE(OwnPipeWire::link("mouth:output_MONO", "ears:input_MONO"))
        << OwnPipeWire::ports() << text_in(folder.path() / "mouth.err");
    EXPECT_EQ(playing.wait(), 0) << text_in(folder.path() / "mouth.err");
    ASSERT_EQ(ears.end(), 0) << ears.err();
    ears.read();
    EXPECT_EQ(ears.events, library_hears(ears));
    const std::vector<std::int16_t> heard = ears.heard();
    whole = std::search(heard.begin(), heard.end(), samples.begin(), samples.end()) != heard.end();
  }
  EXPECT_TRUE(whole) << "in none of five attempts all samples arrived";
}

TEST(PipeWire, APlayingStreamIsUnpluggedAndMoved) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const fs::path wav = own.folder() / "tones.wav";
  write_wav(wav, tones(60), 16000);
  const runnel::test::TemporaryFolder folder, others;
  Ears ears(folder.path());
  Beside playing = mouth(wav, folder.path());
  const auto events = [](const Ears& of) {
    const std::string out = of.out();
    return std::count(out.begin(), out.end(), '\n');
  };
  ASSERT_TRUE(OwnPipeWire::link("mouth:output_MONO", "ears:input_MONO")) << OwnPipeWire::ports();
  EXPECT_TRUE(soon([&] { return events(ears) > 0; }));
  EXPECT_TRUE(OwnPipeWire::unlink("mouth:output_MONO", "ears:input_MONO"));
  EXPECT_TRUE(soon([&] { return OwnPipeWire::ports("-l").find("|->") == std::string::npos; }));
  EXPECT_TRUE(playing.runs()) << text_in(folder.path() / "mouth.err");
  ASSERT_EQ(ears.end(), 0) << ears.err();
  // Somewhere else.
  Ears second(others.path());
  ASSERT_TRUE(OwnPipeWire::link("mouth:output_MONO", "ears:input_MONO")) << OwnPipeWire::ports();
  EXPECT_TRUE(soon([&] { return events(second) > 0; }));
  playing.signal(SIGINT);
  EXPECT_EQ(playing.wait(), 0) << text_in(folder.path() / "mouth.err");
  ASSERT_EQ(second.end(), 0) << second.err();
}

// SIGINT ends a stream as its end would: what the sink has taken is played.
TEST(PipeWire, WhatHasBeenTakenIsPlayedBeforeTheEnd) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const fs::path wav = own.folder() / "tones.wav";
  write_wav(wav, tones(60), 16000);
  bool whole = false;
  for (int attempt = 0; attempt < 5 && !whole; ++attempt) {
    const runnel::test::TemporaryFolder folder;
    const fs::path taken = folder.path() / "taken.wav";
    Ears ears(folder.path());
    Beside playing({runnel::test::program(), "run",
                    "wav path=" + wav.string() +
                        " name=w ! pipewire target=none label=mouth\nw. ! wav path=" + taken.string()},
                   folder.path() / "mouth.out", folder.path() / "mouth.err");
    ASSERT_TRUE(OwnPipeWire::link("mouth:output_MONO", "ears:input_MONO"))
        << OwnPipeWire::ports() << text_in(folder.path() / "mouth.err");
    EXPECT_TRUE(soon([&] { return ears.out().find('\n') != std::string::npos; }));
    playing.signal(SIGINT);
    EXPECT_EQ(playing.wait(), 0) << text_in(folder.path() / "mouth.err");
    ASSERT_EQ(ears.end(), 0) << ears.err();
    // What was played before the link was there on both sides, one cycle at most, nobody heard.
    std::vector<std::int16_t> expected = runnel::test::read_wav(taken).samples;
    ASSERT_GT(expected.size(), 3U * 8192);
    expected.erase(expected.begin(), expected.begin() + 2 * 8192);
    const std::vector<std::int16_t> heard = ears.heard();
    whole = std::search(heard.begin(), heard.end(), expected.begin(), expected.end()) != heard.end();
  }
  EXPECT_TRUE(whole) << "in none of five attempts all samples arrived";
}

TEST(PipeWire, AnEndDoesNotWaitForSomebodyWhoPlays) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const fs::path wav = own.folder() / "tones.wav";
  write_wav(wav, tones(60), 16000);
  const runnel::test::TemporaryFolder folder;
  Beside playing = mouth(wav, folder.path());
  EXPECT_TRUE(soon([&] { return OwnPipeWire::ports().find("mouth:output_MONO") != std::string::npos; }));
  playing.signal(SIGINT);
  EXPECT_EQ(playing.wait(), 0) << text_in(folder.path() / "mouth.err");
}

// Where cycles follow each other faster than they are processed, the ring is never empty.
TEST(PipeWire, WhatWaitsIsHeardBeforeTheEnd) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own(true);
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const std::vector<std::int16_t> samples = tones(20);
  const fs::path wav = own.folder() / "tones.wav";
  std::vector<std::int16_t> longer(16 * 8192, 0);
  longer.insert(longer.end(), samples.begin(), samples.end());
  longer.resize(longer.size() + 4 * 8192);
  write_wav(wav, longer, 16000);
  bool whole = false;
  for (int attempt = 0; attempt < 5 && !whole; ++attempt) {
    const runnel::test::TemporaryFolder folder;
    Ears ears(folder.path());
    Beside playing = mouth(wav, folder.path());
    ASSERT_TRUE(OwnPipeWire::link("mouth:output_MONO", "ears:input_MONO"))
        << OwnPipeWire::ports() << text_in(folder.path() / "mouth.err");
    EXPECT_EQ(playing.wait(), 0) << text_in(folder.path() / "mouth.err");
    ASSERT_EQ(ears.end(), 0) << ears.err();
    const std::vector<std::int16_t> heard = ears.heard();
    whole = std::search(heard.begin(), heard.end(), samples.begin(), samples.end()) != heard.end();
  }
  EXPECT_TRUE(whole) << "in none of five attempts all samples arrived";
}

TEST(PipeWire, StreamsHaveNamesAndIcons) {
  NEEDS_PIPEWIRE();
  if (std::string(RUNNEL_PW_DUMP).find('/') == std::string::npos)
    GTEST_SKIP() << "SKIPPED: no pw-dump, a program of PipeWire (scripts/install.sh pipewire)";
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const fs::path wav = own.folder() / "tones.wav";
  write_wav(wav, tones(60), 16000);
  const runnel::test::TemporaryFolder folder;
  Ears ears(folder.path());
  Beside playing = mouth(wav, folder.path());
  ASSERT_TRUE(OwnPipeWire::link("mouth:output_MONO", "ears:input_MONO")) << OwnPipeWire::ports();
  const auto dump = nlohmann::json::parse(runnel::test::run_program({RUNNEL_PW_DUMP}).out, nullptr, false);
  ASSERT_TRUE(dump.is_array());
  std::map<std::string, std::string> icons;
  for (const auto& object : dump) {
    if (object.value("type", "") != "PipeWire:Interface:Node") continue;
    const auto& properties = object.at("info").at("props");
    if (properties.value("application.name", "") == "runnel")
      icons[properties.at("node.name")] = properties.value("application.icon-name", "");
  }
  EXPECT_EQ(icons, (std::map<std::string, std::string>{{"ears", "audio-input-microphone"},
                                                       {"mouth", "audio-speakers"}}));
}

TEST(PipeWire, NobodyWhoTakesSoundIsASentence) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const fs::path wav = own.folder() / "tones.wav";
  write_wav(wav, tones(8), 16000);
  const auto refused = [&](const std::string& parameters) {
    const runnel::test::Output output = runnel::test::run_program(
        {runnel::test::program(), "run", "wav path=" + wav.string() + " ! pipewire " + parameters});
    EXPECT_EQ(output.exit_code, 1);
    return output.err;
  };
  EXPECT_THAT(refused("target=nobody"), HasSubstr("PipeWire node nobody: took no sound for 5 seconds"));
  own.kill();
  EXPECT_THAT(refused(""), HasSubstr("PipeWire: cannot connect to the daemon"));
}

TEST(PipeWire, DevicesListsItsNodes) {
  NEEDS_PIPEWIRE();
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  const runnel::test::Output output = runnel::test::run_program({runnel::test::program(), "devices"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(
      output.out,
      HasSubstr("\"node\":\"pipewire\",\"name\":\"room\",\"description\":\"A room (what it plays)\""));
}

}  // namespace
}  // namespace runnel::bridges::test
