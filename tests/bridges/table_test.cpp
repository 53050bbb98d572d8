// One recording through every bridge: the same events, frame for frame, as one table. A way is a program in
// tests/bridges/ways (way.py there says what it gets and gives); a new one is a line here.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/bridges/sound.h"
#include "tests/support/data.h"
#include "tests/support/stitched.h"

namespace runnel::bridges::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Way {
  const char* name;
  std::vector<const char*> command;  // its program in tests/bridges/ways, and arguments
  bool recording_only = false;       // takes long: not for the tones
  bool real_time = false;            // at the pace of sound, and a busy machine loses some: beside the others
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"listen --wav", {"/usr/bin/python3", "listen_wav.py"}},
      {"serve", {"/usr/bin/python3", "serve.py"}},
      {"serve --wyoming", {"/usr/bin/python3", "wyoming.py"}},
      {"GStreamer", {"/usr/bin/python3", "gstreamer_file.py"}},
      {"GStreamer, Opus at 64 kbit/s", {"/usr/bin/python3", "gstreamer_opus.py"}},
      {"PipeWire", {"/usr/bin/python3", "pipewire.py"}},
      {"serve, WebSocket", {"/usr/bin/python3", "serve_web.py"}},
      {"WebAssembly", {"/usr/bin/python3", "wasm.py"}, true},
      {"browser's microphone", {"/usr/bin/python3", "browser_microphone.py"}, true, true},
  };
  return all;
}

constexpr int kSkipped = 77;

// What an event is, without the name of its recording and the order of its fields.
std::vector<std::string> events_in(const fs::path& file) {
  std::vector<std::string> events;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    Json record = Json::parse(line);
    record.erase("source");
    events.push_back(record.dump());
  }
  return events;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return {};
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

class Table {
 public:
  Table(const fs::path& wav, std::string decision) : wav_(wav), decision_(std::move(decision)) {}

  // Goes all ways; every event of each must be one of `listen --wav` about the same samples, in the same
  // order.
  void go(std::size_t least, bool recording) {
    std::vector<std::future<Gone>> beside;
    for (const Way& way : ways()) {
      if (way.real_time && (recording || !way.recording_only))
        beside.push_back(std::async(std::launch::async, [this, &way] { return gone(way); }));
    }
    std::printf("%-30s %7s %7s %8s\n", "way", "events", "equal", "seconds");
    for (const Way& way : ways()) {
      if (!way.real_time && (recording || !way.recording_only)) show(way, gone(way), least);
    }
    auto one = beside.begin();
    for (const Way& way : ways()) {
      if (way.real_time && (recording || !way.recording_only)) show(way, (one++)->get(), 1);
    }
  }

 private:
  struct Gone {
    runnel::test::Output output;
    double seconds = 0;
    std::vector<std::string> events;
    std::optional<std::vector<std::string>> expected;  // where the way has samples of its own
    std::string note;
  };

  [[nodiscard]] Gone gone(const Way& way) const {
    const runnel::test::TemporaryFolder folder;
    const auto start = std::chrono::steady_clock::now();
    Gone gone;
    gone.output = call(way.command, wav_, folder.path());
    gone.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (gone.output.exit_code != 0) return gone;
    gone.events = events_in(folder.path() / "events.jsonl");
    std::ifstream note(folder.path() / "note");
    std::getline(note, gone.note);
    if (fs::exists(folder.path() / "heard.wav")) {
      const runnel::test::TemporaryFolder other;
      const runnel::test::Output again = call(ways()[0].command, folder.path() / "heard.wav", other.path());
      EXPECT_EQ(again.exit_code, 0) << again.err;
      gone.expected = events_in(other.path() / "events.jsonl");
    }
    return gone;
  }

  void show(const Way& way, const Gone& gone, std::size_t least) {
    if (gone.output.exit_code == kSkipped) {
      std::printf("%-30s SKIPPED: %s\n", way.name, last_line(gone.output.err).c_str());
      return;
    }
    ASSERT_EQ(gone.output.exit_code, 0) << way.name << ": " << gone.output.err;
    if (reference_.empty()) reference_ = gone.events;
    const std::vector<std::string>& expected = gone.expected ? *gone.expected : reference_;
    std::printf("%-30s %7zu %7s %8.1f  %s\n", way.name, gone.events.size(),
                gone.events == expected ? "yes" : "NO", gone.seconds, gone.note.c_str());
    std::fflush(stdout);
    EXPECT_EQ(gone.events, expected) << way.name;
    EXPECT_GE(gone.events.size(), least) << way.name;
  }

  [[nodiscard]] runnel::test::Output call(const std::vector<const char*>& command, const fs::path& wav,
                                          const fs::path& folder) const {
    std::vector<std::string> words = {"/usr/bin/env",
                                      "RUNNEL=" + runnel::test::program(),
                                      "MODEL=" + digits(),
                                      "WAV=" + wav.string(),
                                      "DECISION=" + decision_,
                                      "FOLDER=" + folder.string(),
                                      "BUILD=" RUNNEL_BUILD_FOLDER,
                                      "PYTHONDONTWRITEBYTECODE=1"};
    for (const char* word : command) {
      const fs::path file = fs::path(RUNNEL_SOURCE_FOLDER "/tests/bridges/ways") / word;
      words.push_back(fs::exists(file) ? file.string() : word);
    }
    return runnel::test::run_program(words, 2700);
  }

  fs::path wav_;
  std::string decision_;
  std::vector<std::string> reference_;
};

TEST(Bridges, GiveTheSameEventsOfTones) {
  const runnel::test::TemporaryFolder folder;
  const fs::path wav = folder.path() / "tones.wav";
  write_wav(wav, tones(6), 16000);
  Table(wav, kEager).go(3, false);
}

TEST(Bridges, GiveTheSameEventsOfTheStitchedRecording) {
  RUNNEL_NEEDS_DATA();
  Table(runnel::test::data_folder() / "digits/stitched_90s.wav", "").go(runnel::test::kStitchedEvents, true);
}

}  // namespace
}  // namespace runnel::bridges::test
