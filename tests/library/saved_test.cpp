// Saved states: a node that is restored or cloned in the middle of a stream gives what the one that was saved
// gives, bit for bit, for every node of the library, in this process and in another; bytes that somebody made
// up are refused or are a state like others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "library/runnel_host.h"
#include "tests/support/data.h"

namespace runnel::library::test {
namespace {

using testing::HasSubstr;

const std::string kModel = RUNNEL_BUILD_FOLDER "/models/digits/digits.rnl";
const std::string kInfer =
    "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer model='" + kModel + "'";

std::vector<float> noise(std::size_t count, std::uint32_t random = 7) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    random = random * 1664525U + 1013904223U;
    const float loud = i / 3000 % 2 == 0 ? 0.5F : 0.01F;
    values[i] = (static_cast<float>(random >> 8) * 0x1p-23F - 1) * loud;
  }
  return values;
}

struct Handle {
  runnel_node* node = nullptr;
  ~Handle() { runnel_close(node); }
};

// Everything that a node gives, as bytes.
void fetch(runnel_node* node, std::string& all) {
  runnel_text text;
  while (runnel_poll_text(node, &text) == 1) {
    all += std::string(text.text) + "," + std::to_string(text.is_final) + std::to_string(text.segment) + "," +
           std::to_string(text.begin) + "," + std::to_string(text.end) + "\n";
    for (std::size_t i = 0; i < text.word_count; ++i) all += std::string(text.words[i].text) + " ";
    for (std::size_t i = 0; i < text.token_count; ++i) all += std::string(text.tokens[i].text) + " ";
  }
  runnel_event event;
  while (runnel_poll(node, &event) == 1) all += std::string(runnel_line(node)) + "\n";
  for (const runnel_stage stage : {RUNNEL_FEATURES, RUNNEL_OUTPUT}) {
    runnel_frames frames;
    while (runnel_poll_frames(node, stage, &frames) == 1) {
      const std::size_t value = frames.type == RUNNEL_FLOAT32 || frames.type == RUNNEL_INT32  ? 4
                                : frames.type == RUNNEL_INT16 || frames.type == RUNNEL_UINT16 ? 2
                                                                                              : 1;
      all += "first " + std::to_string(frames.first) + " ";
      all.append(static_cast<const char*>(frames.data),
                 frames.count * static_cast<std::size_t>(frames.values) * value);
    }
  }
}

std::string fetched(runnel_node* node) {
  std::string all;
  fetch(node, all);
  return all;
}

std::string rest(runnel_node* node, const std::vector<float>& samples, std::size_t from, std::size_t block) {
  std::string all;
  for (std::size_t at = from; at < samples.size(); at += block) {
    EXPECT_EQ(runnel_push_float(node, samples.data() + at, std::min(block, samples.size() - at)), RUNNEL_OK)
        << runnel_last_failure();
    fetch(node, all);
  }
  EXPECT_EQ(runnel_end(node), RUNNEL_OK) << runnel_last_failure();
  fetch(node, all);
  return all;
}

// Leaves addresses in the library on the stack, where objects that are made next get their padding from.
[[gnu::noinline]] void soil_the_stack() {
  volatile std::uintptr_t words[16384];
  for (volatile std::uintptr_t& word : words) word = reinterpret_cast<std::uintptr_t>(&runnel_save);
}

// Files that the graphs name.
struct Files {
  explicit Files(const std::filesystem::path& in) : folder(in.string()) {
    std::filesystem::create_directories(in);
    std::ofstream(in / "words.txt") << "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    std::ofstream(in / "hotwords.txt") << "3 :1.5\n4 5 :2\n";
#ifdef MAKE_TRANSDUCER
    if (!std::filesystem::exists(in / "joiner.onnx")) {
      EXPECT_EQ(runnel::test::run_program({MAKE_TRANSDUCER, folder}).exit_code, 0);
    }
#endif
  }
  std::string folder;
};

// Chains that have every node of the library. {}: the folder of Files.
std::vector<std::string> graphs(const std::string& folder) {
  const std::string hearing = " blank=silence units=words silence_after=0.2 partials=0.05 max_tokens=7";
  std::vector<std::string> all = {
      kInfer + " ! detect threshold=0.2 release=0.1 smoothing_frames=5 refractory_frames=5 ignore=\"\"",
      kInfer + " ! detect threshold=0.6 release=0.3 smoothing_frames=25",
      kInfer +
          " ! detect threshold=0.2 release=0.1 smoothing=exponential refractory_frames=5 ignore=\"\" "
          "endpoint_frames=5 gate=silence gate_threshold=0.01",
      kInfer +
          " ! detect threshold=0.2 release=0.1 smoothing_frames=3 refractory_frames=3 ignore=\"\" "
          "sequence=silence,unknown sequence_frames=100",
      kInfer +
          " ! detect threshold=0.2 release=0.1 smoothing_frames=7 refractory_frames=3 ignore=\"\" "
          "veto=silence veto_frames=11 veto_threshold=0.9",
      kInfer + " ! detect mode=wake-word threshold=0.2 release=0.15 smoothing_frames=5 ignore=\"\"",
      kInfer + " ! detect mode=clip ignore=\"\"",
      kInfer + " chunk=4 dequantize=yes",
      kInfer + " ! ctc" + hearing,
      kInfer + " ! ctc mode=beam beam=4" + hearing + " hotwords='" + folder + "/hotwords.txt'",
      kInfer + " ! ctc mode=beam beam=4 reset_decoder=no" + hearing + " lexicon='" + folder + "/words.txt'",
      "gain db=-3 ! dither ! levels",
      "history seconds=0.5 ! highpass ! preemphasis ! fbank snip_edges=false",
      "resample rate=8000 ! fbank preset=kaldi",
      "resample rate=11025 ! gain",
      "fbank ! cmvn mean=1",
      "fbank ! cmvn mode=sliding window=20 min_window=7",
      "fbank ! cmvn mode=sliding window=20 center=true",
      "fbank ! cmvn mode=mirror window=11",
      "fbank ! cmvn mode=exponential frames=30",
      "fbank ! cmvn mode=utterance",
      "fbank preset=whisper",
      "fbank ! deltas ! stack",
      "fbank ! stack frames=3 step=5 pad=false",
      "microfrontend",
      "stft ! spectral_flux",
      "stft ! spectral_centroid",
      "stft ! spectral_rolloff",
      "fbank ! distance half=50",
      "stft n_fft=340 hop_length=85 ! log_power ! mask ! istft n_fft=340 hop_length=85",
      "stft n_fft=340 hop_length=85 ! mask ! istft n_fft=226 hop_length=56",
      "framing window=400 hop=500 ! statistics window=7 hop=3",
      "stft pairs=yes ! istft pairs=yes"};
#ifdef MAKE_TRANSDUCER
  for (const std::string mode : {"greedy", "beam"})
    all.push_back(kInfer + " dequantize=yes ! transducer mode=" + mode + " joiner='" + folder +
                  "/joiner.onnx' decoder='" + folder + "/decoder.onnx'" + hearing);
#endif
  return all;
}

struct Program {
  explicit Program(const std::string& graph, const std::string& settings = "frames=1000000") {
    const runnel_code code = runnel_load_graph(graph.c_str(), settings.c_str(), &program);
    EXPECT_EQ(code, RUNNEL_OK) << runnel_last_failure();
  }
  ~Program() { runnel_release(program); }
  runnel_program* program = nullptr;
};

void prepare(const Program& program, Handle& handle) {
  soil_the_stack();
  ASSERT_EQ(runnel_prepare(program.program, nullptr, &handle.node), RUNNEL_OK) << runnel_last_failure();
}

std::vector<std::byte> saved_state(runnel_node* node) {
  std::vector<std::byte> saved(runnel_saved_bytes(node));
  EXPECT_FALSE(saved.empty()) << runnel_last_failure();
  EXPECT_EQ(runnel_save(node, saved.data(), saved.size()), RUNNEL_OK) << runnel_last_failure();
  return saved;
}

runnel_code restored(runnel_node* node, const std::vector<std::byte>& saved) {
  return runnel_restore(node, saved.data(), saved.size());
}

// A stream of odd blocks with a gap, an end and a restart. Step `index` of it; what comes out.
constexpr std::size_t kBlocks[] = {1, 37, 160, 1600, 1, 4096, 511, 160, 3, 1111, 2000, 6000};
constexpr int kSteps = 30;
std::string step(runnel_node* node, int index, const std::vector<float>& samples) {
  runnel_code code = RUNNEL_OK;
  if (index == 11)
    code = runnel_lost(node, 777);
  else if (index == 19)
    code = runnel_end(node);
  else if (index == 20)
    code = runnel_reset(node);
  else if (index == kSteps - 1)
    code = runnel_end(node);
  else
    code = runnel_push_float(node, samples.data() + index * 1000,
                             kBlocks[static_cast<std::size_t>(index) % std::size(kBlocks)]);
  EXPECT_EQ(code, RUNNEL_OK) << runnel_last_failure();
  return fetched(node);
}

class SavedState : public testing::Test {
 protected:
  void SetUp() override {
    // A process that another one has started takes its files.
    const char* const given = std::getenv("RUNNEL_SAVED_STATE");
    folder_ = given != nullptr ? std::filesystem::path(given) : own_.path();
    files_.emplace(folder_);
    graphs_ = graphs(folder_.string());
  }
  // Where graph `g` was saved after step `index`.
  [[nodiscard]] std::string file(std::size_t g, int index) const {
    return (folder_ / (std::to_string(g) + "-" + std::to_string(index))).string();
  }
  runnel::test::TemporaryFolder own_;
  std::filesystem::path folder_;
  std::optional<Files> files_;
  std::vector<std::string> graphs_;
  const std::vector<float> samples_ = noise(48000);
};

// At every block, in a new node, in one that was elsewhere, and in a clone.
TEST_F(SavedState, GoesOnWhereItWas) {
  for (const std::string& graph : graphs_) {
    SCOPED_TRACE(graph);
    const Program program(graph);
    ASSERT_NE(program.program, nullptr);
    Handle undisturbed, twin, elsewhere;
    ASSERT_NO_FATAL_FAILURE(prepare(program, undisturbed));
    ASSERT_NO_FATAL_FAILURE(prepare(program, twin));
    ASSERT_NO_FATAL_FAILURE(prepare(program, elsewhere));
    std::vector<std::string> outputs;
    std::vector<std::vector<std::byte>> states;
    for (int i = 0; i < kSteps; ++i) {
      SCOPED_TRACE(i);
      outputs.push_back(step(undisturbed.node, i, samples_));
      EXPECT_TRUE(step(twin.node, i, samples_) == outputs.back());
      states.push_back(saved_state(undisturbed.node));
      EXPECT_TRUE(saved_state(twin.node) == states.back()) << "equal streams have equal bytes";
    }
    std::size_t given = 0;
    for (const std::string& output : outputs) given += output.size();
    EXPECT_GT(given, 0U) << "nothing came out";
    for (int i = 0; i < kSteps; ++i) {
      SCOPED_TRACE(i);
      Handle fresh, clone;
      ASSERT_NO_FATAL_FAILURE(prepare(program, fresh));
      ASSERT_EQ(restored(fresh.node, states[static_cast<std::size_t>(i)]), RUNNEL_OK)
          << runnel_last_failure();
      EXPECT_TRUE(saved_state(fresh.node) == states[static_cast<std::size_t>(i)]);
      ASSERT_EQ(runnel_push_float(elsewhere.node, samples_.data(), 5000), RUNNEL_OK);
      ASSERT_EQ(restored(elsewhere.node, states[static_cast<std::size_t>(i)]), RUNNEL_OK);
      ASSERT_EQ(runnel_clone(fresh.node, &clone.node), RUNNEL_OK) << runnel_last_failure();
      for (runnel_node* const node : {fresh.node, elsewhere.node, clone.node}) {
        for (int k = i + 1; k < kSteps && !HasFailure(); ++k) {
          EXPECT_TRUE(step(node, k, samples_) == outputs[static_cast<std::size_t>(k)]) << "step " << k;
        }
      }
      ASSERT_EQ(runnel_reset(elsewhere.node), RUNNEL_OK);
    }
    if (HasFailure()) return;
  }
}

// Another process may go on: its addresses differ.
TEST_F(SavedState, MovesToAnotherProcess) {
  constexpr int kAt[] = {0, 2, 5, 11, 12, 16, 25};
  const bool child = std::getenv("RUNNEL_SAVED_STATE") != nullptr;
  std::vector<std::string> expected;
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    SCOPED_TRACE(graphs_[g]);
    const Program program(graphs_[g]);
    ASSERT_NE(program.program, nullptr);
    Handle node;
    ASSERT_NO_FATAL_FAILURE(prepare(program, node));
    if (child) {
      for (const int at : kAt) {
        ASSERT_EQ(restored(node.node, runnel::test::read_file(file(g, at))), RUNNEL_OK)
            << runnel_last_failure();
        std::string rest;
        for (int i = at + 1; i < kSteps; ++i) rest += step(node.node, i, samples_);
        std::ofstream(file(g, at) + ".rest", std::ios::binary) << rest;
      }
      continue;
    }
    std::vector<std::string> outputs;
    for (int i = 0; i < kSteps; ++i) {
      outputs.push_back(step(node.node, i, samples_));
      if (std::find(std::begin(kAt), std::end(kAt), i) == std::end(kAt)) continue;
      const std::vector<std::byte> saved = saved_state(node.node);
      std::ofstream(file(g, i), std::ios::binary)
          .write(reinterpret_cast<const char*>(saved.data()), static_cast<std::streamsize>(saved.size()));
    }
    for (const int at : kAt) {
      std::string& rest = expected.emplace_back();
      for (int i = at + 1; i < kSteps; ++i) rest += outputs[static_cast<std::size_t>(i)];
    }
  }
  if (child) return;
  setenv("RUNNEL_SAVED_STATE", folder_.c_str(), 1);
  const runnel::test::Output run =
      runnel::test::run_program({std::filesystem::read_symlink("/proc/self/exe").string(),
                                 "--gtest_filter=SavedState.MovesToAnotherProcess"});
  unsetenv("RUNNEL_SAVED_STATE");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  std::size_t next = 0;
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    for (const int at : kAt) {
      const std::vector<std::byte> there = runnel::test::read_file(file(g, at) + ".rest");
      const std::string& here = expected[next++];
      EXPECT_TRUE(std::string(reinterpret_cast<const char*>(there.data()), there.size()) == here)
          << graphs_[g] << " after step " << at;
    }
  }
}

// What waits is saved, too: decisions with their words, and texts.
TEST_F(SavedState, KeepsWhatWaits) {
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    if (graphs_[g].find("detect") == std::string::npos && graphs_[g].find("ctc") == std::string::npos)
      continue;
    SCOPED_TRACE(graphs_[g]);
    const Program program(graphs_[g], "");
    Handle one, other;
    ASSERT_NO_FATAL_FAILURE(prepare(program, one));
    ASSERT_NO_FATAL_FAILURE(prepare(program, other));
    ASSERT_EQ(runnel_push_float(one.node, samples_.data(), 40000), RUNNEL_OK);
    ASSERT_EQ(runnel_end(one.node), RUNNEL_OK);
    ASSERT_EQ(restored(other.node, saved_state(one.node)), RUNNEL_OK) << runnel_last_failure();
    const runnel_counters a = runnel_counters_of(one.node), b = runnel_counters_of(other.node);
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_EQ(a.events, b.events);
    EXPECT_EQ(fetched(one.node), fetched(other.node));
  }
}

// Bytes that somebody made up, with a right checksum: a sentence, or a stream like others.
TEST_F(SavedState, MadeUpBytesAreRefusedOrAState) {
  std::uint32_t state = 1;
  const auto random = [&state](std::size_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
  };
  int refused = 0, taken = 0;
  const int each = 20000 / static_cast<int>(graphs_.size()) + 1;
  for (const std::string& graph : graphs_) {
    SCOPED_TRACE(graph);
    const Program program(graph, "frames=100");
    Handle node, fresh;
    ASSERT_NO_FATAL_FAILURE(prepare(program, node));
    ASSERT_NO_FATAL_FAILURE(prepare(program, fresh));
    std::vector<std::vector<std::byte>> states;
    for (int i = 0; i < 19; ++i) {
      ASSERT_EQ(runnel_push_float(node.node, samples_.data() + i * 1000,
                                  kBlocks[static_cast<std::size_t>(i) % std::size(kBlocks)]),
                RUNNEL_OK);
      if (i % 4 == 3) states.push_back(saved_state(node.node));
    }
    const std::vector<std::byte> nothing = saved_state(fresh.node);
    for (int i = 0; i < each; ++i) {
      std::vector<std::byte> bytes = states[static_cast<std::size_t>(i) % states.size()];
      // Most numbers that select something stand at the start or at the end of what belongs together.
      const std::size_t body = bytes.size() - 24, near = std::min<std::size_t>(body, i % 3 == 0 ? body : 400);
      for (std::size_t k = 0; k <= random(3); ++k) {
        const std::size_t from = i % 2 == 0 ? 24 : 24 + body - near, at = from + random(near);
        const std::size_t kind = random(4),
                          length = std::min<std::size_t>(kind < 2 ? 1 : 8, bytes.size() - at);
        for (std::size_t b = 0; b < length; ++b)
          bytes[at + b] = kind == 0   ? bytes[at + b] ^ std::byte{1} << random(8)
                          : kind == 1 ? static_cast<std::byte>(random(256))
                          : kind == 2 ? std::byte{0xFF}
                                      : static_cast<std::byte>(b == 7 ? 0x3F : 0xF0 + random(16));
      }
      if (random(16) == 0) bytes.resize(24 + random(body));
      if (random(16) == 0) bytes.resize(bytes.size() + random(100));
      const std::uint64_t size = bytes.size() - 24;
      std::memcpy(bytes.data() + 12, &size, sizeof size);
      const std::span<const std::byte> all(bytes);
      const std::uint32_t crc = crc32c(all.subspan(24), crc32c(all.first(20)));
      std::memcpy(bytes.data() + 20, &crc, sizeof crc);
      if (restored(node.node, bytes) == RUNNEL_OK) {
        ++taken;
      } else {
        ++refused;
        ASSERT_THAT(runnel_last_failure(), HasSubstr("the node was reset"));
        if (i % 50 == 0) {
          EXPECT_EQ(runnel_counters_of(node.node).samples, 0U);
        }
      }
      // Whatever it says, it stays within its memory.
      static_cast<void>(runnel_push_float(node.node, samples_.data() + i % 1000, 700));
      static_cast<void>(runnel_push_float(node.node, samples_.data(), i % 8 == 0 ? 5000 : 161));
      fetched(node.node);
      if (i % 8 == 1) static_cast<void>(runnel_lost(node.node, 100));
      if (i % 8 == 1) static_cast<void>(runnel_push_float(node.node, samples_.data(), 500));
      if (i % 4 == 0) static_cast<void>(runnel_end(node.node));
      fetched(node.node);
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(taken, 1000);
}

TEST(SavedBytes, AreRefusedWhenDamagedAndTheNodeStaysAsItWas) {
  runnel_program *program = nullptr, *other = nullptr;
  ASSERT_EQ(runnel_load_graph("fbank ! cmvn", "frames=100000", &program), RUNNEL_OK);
  ASSERT_EQ(runnel_load_graph("fbank ! deltas", "frames=100000", &other), RUNNEL_OK);
  Handle node, stranger;
  soil_the_stack();
  ASSERT_EQ(runnel_prepare(program, nullptr, &node.node), RUNNEL_OK);
  soil_the_stack();
  ASSERT_EQ(runnel_prepare(other, nullptr, &stranger.node), RUNNEL_OK);
  const std::vector<float> samples = noise(16000);
  std::string before;
  ASSERT_EQ(runnel_push_float(node.node, samples.data(), 8000), RUNNEL_OK);
  fetch(node.node, before);
  std::vector<std::byte> saved(runnel_saved_bytes(node.node)), foreign(runnel_saved_bytes(stranger.node));
  EXPECT_EQ(runnel_save(node.node, saved.data(), saved.size() - 1), RUNNEL_OUT_OF_MEMORY);
  ASSERT_EQ(runnel_save(node.node, saved.data(), saved.size()), RUNNEL_OK);
  ASSERT_EQ(runnel_save(stranger.node, foreign.data(), foreign.size()), RUNNEL_OK);
  EXPECT_EQ(runnel_restore(node.node, foreign.data(), foreign.size()), RUNNEL_MISMATCH);
  EXPECT_THAT(runnel_last_failure(), HasSubstr("another program"));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{50}, saved.size() / 2, saved.size() - 1})
    EXPECT_NE(runnel_restore(node.node, saved.data(), size), RUNNEL_OK) << size;
  // Every byte matters.
  for (std::size_t at = 0; at < saved.size(); at += at < 200 ? 1 : saved.size() / 61) {
    saved[at] ^= std::byte{0x10};
    EXPECT_NE(runnel_restore(node.node, saved.data(), saved.size()), RUNNEL_OK) << at;
    saved[at] ^= std::byte{0x10};
  }
  Handle undisturbed;
  soil_the_stack();
  ASSERT_EQ(runnel_prepare(program, nullptr, &undisturbed.node), RUNNEL_OK);
  ASSERT_EQ(runnel_push_float(undisturbed.node, samples.data(), 8000), RUNNEL_OK);
  fetch(undisturbed.node, before);
  EXPECT_TRUE(rest(node.node, samples, 8000, 160) == rest(undisturbed.node, samples, 8000, 160));
  runnel_release(program);
  runnel_release(other);
}

// The words of a decoder lie in files: of other words there is no place in the middle of one.
TEST(SavedBytes, OtherWordsAreRefused) {
  const runnel::test::TemporaryFolder folder;
  const std::string lexicon = (folder.path() / "words.txt").string();
  const std::string graph =
      kInfer + " ! ctc mode=beam beam=4 blank=silence units=words lexicon='" + lexicon + "'";
  std::vector<std::byte> saved;
  for (const char* const words : {"0\n1\n2 3\n", "0\n1\n2 3\n", "0\n1\n2 4\n"}) {
    std::ofstream(lexicon) << words;
    runnel_program* program = nullptr;
    ASSERT_EQ(runnel_load_graph(graph.c_str(), nullptr, &program), RUNNEL_OK) << runnel_last_failure();
    Handle node;
    ASSERT_EQ(runnel_prepare(program, nullptr, &node.node), RUNNEL_OK);
    const std::vector<float> samples = noise(16000);
    ASSERT_EQ(runnel_push_float(node.node, samples.data(), samples.size()), RUNNEL_OK);
    const bool others = std::string_view(words).ends_with("4\n");
    if (!saved.empty()) {
      EXPECT_EQ(runnel_restore(node.node, saved.data(), saved.size()), others ? RUNNEL_MISMATCH : RUNNEL_OK)
          << runnel_last_failure();
    }
    saved.resize(runnel_saved_bytes(node.node));
    ASSERT_EQ(runnel_save(node.node, saved.data(), saved.size()), RUNNEL_OK) << runnel_last_failure();
    runnel_release(program);
  }
}

}  // namespace
}  // namespace runnel::library::test
