// A program that listens is stopped, killed and fed: nothing that was heard is lost, and nothing is left
// half.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// `runnel ARGUMENTS` with a pipe as its standard input.
class Running {
 public:
  Running(std::vector<std::string> arguments, const fs::path& folder, const std::string& alsa = "")
      : out_(folder / "out"), err_(folder / "err") {
    arguments.insert(arguments.begin(), runnel::test::program());
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    // Emptied before the program starts: what an earlier one wrote here is not taken for the words of this
    // one.
    for (const fs::path& file : {out_, err_}) std::ofstream(file, std::ios::trunc);
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[0], 0);
      dup2(open(out_.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), 1);
      dup2(open(err_.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), 2);
      if (!alsa.empty()) setenv("ALSA_CONFIG_PATH", alsa.c_str(), 1);
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(ends[0]);
    input_ = ends[1];
  }
  ~Running() {
    if (child_ > 0) end(SIGKILL);
    if (input_ >= 0) close(input_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(input_, bytes.data(), bytes.size());
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void hang_up() {
    close(input_);
    input_ = -1;
  }
  // Until it listens.
  void wait_for_start() {
    for (int i = 0; i < 3000 && err().find("latency: ") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_THAT(err(), HasSubstr("latency: "));
  }
  // The exit code, or 128 + the signal that ended it. 0: no signal is sent.
  int end(int signal) {
    if (signal != 0) kill(child_, signal);
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Time of the processor so far, s.
  [[nodiscard]] double cpu_seconds() const {
    std::ifstream in("/proc/" + std::to_string(child_) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  // How often its threads have waited for something so far.
  [[nodiscard]] std::uint64_t waits() const {
    constexpr std::string_view kKey = "voluntary_ctxt_switches:";
    std::uint64_t sum = 0;
    for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(child_) + "/task")) {
      std::ifstream in(thread.path() / "status");
      for (std::string line; std::getline(in, line);)
        if (line.starts_with(kKey)) sum += std::stoull(line.substr(kKey.size()));
    }
    return sum;
  }
  [[nodiscard]] std::string out() const { return read_text(out_); }
  [[nodiscard]] std::string err() const { return fs::exists(err_) ? read_text(err_) : ""; }

 private:
  fs::path out_, err_;
  pid_t child_ = -1;
  int input_ = -1;
};

class Listen : public testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    write_wav(file("tones.wav"), samples_);
    offline_ =
        events_of(call_well({"listen", model(), "--wav", file("tones.wav"), "--decision", kEager}).out);
    ASSERT_GE(offline_.size(), 2u);
    fs::create_directory(file("heard"));
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  [[nodiscard]] std::string pcm() const {
    return {reinterpret_cast<const char*>(samples_.data()), samples_.size() * 2};
  }

  runnel::test::TemporaryFolder folder_;
  std::vector<std::int16_t> samples_ = tone_words(5, 16000);
  std::vector<Json> offline_;
};

TEST_F(Listen, TheStandardInputIsAsGoodAsAFile) {
  Running running({"listen", model(), "--stdin", "--decision", kEager}, folder_.path());
  running.write(pcm());
  running.hang_up();
  EXPECT_EQ(running.end(0), 0) << running.err();
  EXPECT_EQ(events_of(running.out()), offline_);
  const Json summary = expect_records(running.out());
  EXPECT_FALSE(summary.contains("device")) << "there is none";
  ASSERT_EQ(summary["latency"].size(), 1u);
  EXPECT_GE(summary["latency"][0]["delay_ms"], 0);
}

// Signals: what had come until then is heard to its end.
TEST_F(Listen, ASignalEndsItWithoutLosingTheLastWord) {
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove_all(file("heard"));
    fs::create_directory(file("heard"));
    Running running({"listen", model(), "--stdin", "--decision", kEager, "--record", file("heard"),
                     "--before", "0.1", "--after", "0.1"},
                    folder_.path());
    running.wait_for_start();
    running.write(pcm());
    EXPECT_EQ(running.end(signal), 0) << running.err();
    EXPECT_EQ(events_of(running.out()), offline_);
    EXPECT_EQ(expect_records(running.out())["failures"], 0);
    const std::vector<std::string> names = names_in(file("heard"));
    EXPECT_EQ(names.size(), offline_.size());
    for (const std::string& name : names) EXPECT_TRUE(name.ends_with(".wav")) << name;
  }
}

// Different rounds are killed at different places. In the last one recordings last longer than the sound, so
// that it is certain to be killed while one is written.
TEST_F(Listen, AKillLeavesWholeLinesAndWholeRecordings) {
  constexpr int kRounds = 12;
  const auto is_part = [](const std::string& name) { return name.ends_with(".wav.part"); };
  for (int round = 1; round <= kRounds; ++round) {
    const bool last = round == kRounds;
    fs::remove_all(file("heard"));
    fs::create_directory(file("heard"));
    Running running({"listen", model(), "--stdin", "--decision", kEager, "--record", file("heard"),
                     "--before", "0.1", "--after", last ? "60" : "0.3"},
                    folder_.path());
    running.wait_for_start();
    running.write(pcm().substr(0, samples_.size() * 2 * static_cast<std::size_t>(round) / kRounds));
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * round));
    if (last) {
      const auto writes = [&] { return std::ranges::any_of(names_in(file("heard")), is_part); };
      for (int i = 0; i < 3000 && !writes(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_TRUE(writes());
    }
    EXPECT_EQ(running.end(SIGKILL), 128 + SIGKILL);
    const std::vector<Json> events = events_of(running.out());
    ASSERT_LE(events.size(), offline_.size());
    for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i], offline_[i]);
    for (const std::string& name : names_in(file("heard"))) {
      // A file that has its name is complete: the same program reads it.
      if (name.ends_with(".wav"))
        EXPECT_EQ(call({"run", "wav path=" + file("heard/" + name) + " ! null"}).exit_code, 0) << name;
      else
        EXPECT_TRUE(is_part(name)) << name;
    }
  }
}

TEST_F(Listen, ActsOnEvents) {
  const fs::path script = file("act");
  write_text(script, "#!/bin/sh\necho \"$1 $RUNNEL_START\" >> " + file("acted") + "\n");
  fs::permissions(script, fs::perms::owner_all);
  const Output output = call_well({"listen", model(), "--wav", file("tones.wav"), "--decision", kEager,
                                   "--command", script.string() + " {label}", "--no-json"});
  const std::vector<Json> records = json_lines(output.out);
  ASSERT_EQ(records.size(), 1u) << "the summary alone";
  EXPECT_EQ(records[0]["actions"][0]["done"], offline_.size());
  std::istringstream acted(read_text(file("acted")));
  std::size_t lines = 0;
  for (std::string line; std::getline(acted, line);) ++lines;
  EXPECT_EQ(lines, offline_.size());
  const std::string told =
      refusal({"listen", model(), "--wav", file("tones.wav"), "--decision", kEager, "--command", "false"},
              "failed and 0 were dropped");
  EXPECT_THAT(told, HasSubstr("command: of"));
}

TEST_F(Listen, TakesAnotherThreshold) {
  EXPECT_EQ(events_of(call_well({"listen", model(), "--wav", file("tones.wav"), "--decision", kEager,
                                 "--threshold", "1"})
                          .out)
                .size(),
            0u);
  EXPECT_EQ(events_of(call_well({"listen", model(), "--wav", file("tones.wav"), "--decision", kEager,
                                 "--threshold", "0.4"})
                          .out),
            offline_);
  refusal({"listen", model(), "--wav", file("tones.wav"), "--threshold", "2"}, "--threshold");
  refusal({"listen", model(), "--wav", file("tones.wav"), "--stdin"}, "--stdin");
}

#ifdef RUNNEL_CLOCKED_CARD

class ListenToACard : public Listen {
 protected:
  // The virtual card, at a speed in percent; what it hears is `samples`.
  std::string card(const std::vector<std::int16_t>& samples, int speed) {
    std::ofstream(file("in.raw"), std::ios::binary)
        .write(reinterpret_cast<const char*>(samples.data()),
               static_cast<std::streamsize>(samples.size() * 2));
    write_text(file("asound.conf"), std::string("</usr/share/alsa/alsa.conf>\npcm_type.clocked { lib \"") +
                                        RUNNEL_CLOCKED_CARD + "\" }\npcm.mic { type clocked infile \"" +
                                        file("in.raw") + "\" speed_percent " + std::to_string(speed) +
                                        " }\n");
    return file("asound.conf");
  }
};

TEST_F(ListenToACard, TenMinutesAtTenTimesTheSpeedAreTheRecording) {
  std::vector<std::int16_t> samples;
  while (samples.size() < std::size_t{600} * 16000)
    samples.insert(samples.end(), samples_.begin(), samples_.end());
  samples.resize(std::size_t{600} * 16000);
  // No two places alike.
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] =
        static_cast<std::int16_t>(samples[i] + static_cast<std::int16_t>((i * 2654435761U >> 16) % 64));
  const std::string alsa = card(samples, 1000);
  Running running({"listen", model(), "--device", "mic", "--duration", "600", "--period", "100", "--buffer",
                   "8000", "--decision", kEager},
                  folder_.path(), alsa);
  EXPECT_EQ(running.end(0), 0) << running.err();
  write_wav(file("long.wav"), samples);
  const std::vector<Json> expected =
      events_of(call_well({"listen", model(), "--wav", file("long.wav"), "--decision", kEager}).out);
  EXPECT_GT(expected.size(), 100u);
  EXPECT_EQ(events_of(running.out()), expected);
  const Json summary = expect_records(running.out());
  EXPECT_EQ(summary["audio_seconds"], 600.0);
  EXPECT_EQ(summary["lost_samples"], 0);
}

// How much of a processor that is depends on the machine; how often something wakes up does not.
TEST_F(ListenToACard, IdlingWakesAFewTimesAPeriod) {
  constexpr int kSeconds = 10, kPeriod = 20;  // ms
  Running running({"listen", model(), "--device", "mic", "--period", std::to_string(kPeriod)}, folder_.path(),
                  card(std::vector<std::int16_t>(16000), 100));
  running.wait_for_start();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double busy = running.cpu_seconds();
  const std::uint64_t before = running.waits();
  std::this_thread::sleep_for(std::chrono::seconds(kSeconds));
  const auto waits = static_cast<double>(running.waits() - before);
  const double share = (running.cpu_seconds() - busy) / kSeconds;
  EXPECT_EQ(running.end(SIGINT), 0) << running.err();
  constexpr double kPeriods = 1000.0 * kSeconds / kPeriod;
  std::printf("an idle stream waits %.2f times a period and takes %.2f %% of a processor\n", waits / kPeriods,
              100 * share);
  EXPECT_GT(waits, 0.5 * kPeriods);
  EXPECT_LT(waits, 6 * kPeriods);
  EXPECT_LT(share, 0.5) << "something spins instead of waiting";
}

TEST_F(ListenToACard, ASignalStopsIt) {
  const std::string alsa = card(samples_, 1000);
  Running running({"listen", model(), "--device", "mic", "--buffer", "4000", "--decision", kEager},
                  folder_.path(), alsa);
  running.wait_for_start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(running.end(SIGTERM), 0) << running.err();
  const std::vector<Json> events = events_of(running.out());
  ASSERT_GE(events.size(), offline_.size()) << "15 s were heard, of which the last are silence";
  for (std::size_t i = 0; i + 1 < offline_.size(); ++i) EXPECT_EQ(events[i], offline_[i]);
}

#endif

}  // namespace
}  // namespace runnel::apps::test
