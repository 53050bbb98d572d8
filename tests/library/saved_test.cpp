// Saved states: a node that is restored or cloned in the middle of a stream gives what the one that was saved
// gives, bit for bit, for every node whose state lies in its memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

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
  runnel_event event;
  while (runnel_poll(node, &event) == 1) all += std::string(runnel_line(node)) + "\n";
  runnel_text text;
  while (runnel_poll_text(node, &text) == 1) {
    all += std::string(text.is_final != 0 ? "final " : "partial ") + text.text + " " +
           std::to_string(text.segment) + " " + std::to_string(text.begin) + " " + std::to_string(text.end) +
           " " + std::to_string(text.stable) + "\n";
    for (std::size_t i = 0; i < text.token_count; ++i)
      all += std::string(text.tokens[i].text) + " " + std::to_string(text.tokens[i].begin) + " " +
             std::to_string(text.tokens[i].confidence) + "\n";
  }
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

// Leaves addresses in the library on the stack, where objects that are made next get their padding from: the
// hardest of all values.
[[gnu::noinline]] void soil_the_stack() {
  volatile std::uintptr_t words[16384];
  for (volatile std::uintptr_t& word : words) word = reinterpret_cast<std::uintptr_t>(&runnel_save);
}

// Stops a graph's streams at several places and lets others go on with their states. `expected`: what the
// last one gave from there on.
void expect_it_goes_on(const std::string& graph, std::string& expected) {
  runnel_program* program = nullptr;
  ASSERT_EQ(runnel_load_graph(graph.c_str(), "frames=1000000", &program), RUNNEL_OK) << runnel_last_failure();
  const std::vector<float> samples = noise(48000);
  for (const std::size_t half : {0u, 1u, 7321u, 16000u, 30001u}) {
    SCOPED_TRACE(half);
    Handle one, other, copy, fresh;
    soil_the_stack();
    ASSERT_EQ(runnel_prepare(program, nullptr, &one.node), RUNNEL_OK);
    soil_the_stack();
    ASSERT_EQ(runnel_prepare(program, nullptr, &other.node), RUNNEL_OK);
    soil_the_stack();
    ASSERT_EQ(runnel_prepare(program, nullptr, &fresh.node), RUNNEL_OK);
    std::string before;
    ASSERT_EQ(runnel_push_float(one.node, samples.data(), half), RUNNEL_OK);
    if (half == 16000) {
      ASSERT_EQ(runnel_lost(one.node, 777), RUNNEL_OK);
    }
    fetch(one.node, before);
    // The other one is somewhere else in another stream.
    const std::vector<float> elsewhere = noise(5000, 99);
    ASSERT_EQ(runnel_push_float(other.node, elsewhere.data(), elsewhere.size()), RUNNEL_OK);
    const std::size_t bytes = runnel_saved_bytes(one.node);
    ASSERT_GT(bytes, 0u) << runnel_last_failure();
    std::vector<std::byte> saved(bytes);
    ASSERT_EQ(runnel_save(one.node, saved.data(), bytes), RUNNEL_OK) << runnel_last_failure();
    ASSERT_EQ(runnel_clone(one.node, &copy.node), RUNNEL_OK) << runnel_last_failure();
    std::string dropped;
    fetch(other.node, dropped);
    ASSERT_EQ(runnel_restore(other.node, saved.data(), bytes), RUNNEL_OK) << runnel_last_failure();
    expected = rest(one.node, samples, half, 160);
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(rest(copy.node, samples, half, 1111), rest(other.node, samples, half, 1111));
    // The one that was saved goes back, too.
    ASSERT_EQ(runnel_restore(one.node, saved.data(), bytes), RUNNEL_OK);
    EXPECT_EQ(rest(one.node, samples, half, 160), expected);
    ASSERT_EQ(runnel_restore(fresh.node, saved.data(), bytes), RUNNEL_OK);
    EXPECT_EQ(rest(fresh.node, samples, half, 160), expected);
  }
  runnel_release(program);
}

class Saved : public testing::TestWithParam<std::string> {};

TEST_P(Saved, GoesOnWhereItWas) {
  std::string expected;
  expect_it_goes_on(GetParam(), expected);
}

// Decoders of speech, in the middle of a word. Noise is silence to the digits model, or nothing it knows:
// here both are words.
class SavedDecoders : public testing::Test {
 protected:
  // With the words of a lexicon, so that other tables have another place.
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  static void expect_texts(const std::string& graph) {
    std::string expected;
    expect_it_goes_on(graph, expected);
    EXPECT_THAT(expected, HasSubstr("partial "));
    EXPECT_THAT(expected, HasSubstr("final "));
  }
  runnel::test::TemporaryFolder folder_;
};

constexpr const char* kOften = " units=words partials=0.02 silence_after=0.3 longest=0.7 max_tokens=6 ";

TEST_F(SavedDecoders, GreedySearchGoesOn) {
  for (const char* const blank : {"unknown", "7"})
    expect_texts(kInfer + " ! ctc" + kOften + "blank=" + blank);
}

TEST_F(SavedDecoders, BeamSearchGoesOn) {
  const std::string lexicon =
                        file("words", "nothing silence\nsomething unknown\nboth silence unknown\none 1\n"),
                    phrases = file("phrases", "unknown silence :1.5\n");
  expect_texts(kInfer + " ! ctc mode=beam blank=7" + kOften);
  expect_texts(kInfer + " ! ctc mode=beam blank=7 reset_decoder=no lexicon='" + lexicon + "'" + kOften);
  expect_texts(kInfer + " ! ctc mode=beam blank=7 hotwords='" + phrases + "'" + kOften);
}

// With random weights, of which every frame has a token.
TEST_F(SavedDecoders, TransducersGoOn) {
  RUNNEL_NEEDS_DATA();
  std::string tokens;
  for (int i = 0; i < 500; ++i) tokens += "t" + std::to_string(i) + "\n";
  const std::string parts = (runnel::test::data_folder() / "speech/conformer").string();
  const std::string models = " joiner='" + parts + "/join.onnx' decoder='" + parts + "/dec.onnx' tokens='" +
                             file("tokens", tokens) +
                             "' blank=t0 units=words partials=0.02 longest=0.7 max_tokens=6";
  for (const char* const mode : {"greedy", "beam beam=3"})
    expect_texts("fbank num_mel_bins=80 ! stack frames=4 ! transducer mode=" + std::string(mode) + models);
}

TEST_F(SavedDecoders, OtherWordsAreRefused) {
  const std::string lexicon = file("words", "nothing silence\nsomething unknown\n"),
                    graph = kInfer + " ! ctc mode=beam blank=7 lexicon='" + lexicon + "'" + kOften;
  runnel_program *program = nullptr, *later = nullptr;
  ASSERT_EQ(runnel_load_graph(graph.c_str(), nullptr, &program), RUNNEL_OK) << runnel_last_failure();
  Handle node, other;
  ASSERT_EQ(runnel_prepare(program, nullptr, &node.node), RUNNEL_OK);
  const std::vector<float> samples = noise(16000);
  ASSERT_EQ(runnel_push_float(node.node, samples.data(), samples.size()), RUNNEL_OK);
  std::vector<std::byte> saved(runnel_saved_bytes(node.node));
  ASSERT_EQ(runnel_save(node.node, saved.data(), saved.size()), RUNNEL_OK) << runnel_last_failure();
  file("words", "nothing silence\nsomething unknown silence\n");
  ASSERT_EQ(runnel_load_graph(graph.c_str(), nullptr, &later), RUNNEL_OK) << runnel_last_failure();
  ASSERT_EQ(runnel_prepare(later, nullptr, &other.node), RUNNEL_OK);
  EXPECT_EQ(runnel_restore(other.node, saved.data(), saved.size()), RUNNEL_MISMATCH);
  EXPECT_EQ(runnel_restore(node.node, saved.data(), saved.size()), RUNNEL_OK) << runnel_last_failure();
  runnel_release(program);
  runnel_release(later);
}

// Chains that have every device node with a state.
INSTANTIATE_TEST_SUITE_P(
    Nodes, Saved,
    testing::Values(
        kInfer + " ! detect threshold=0.2 release=0.1 smoothing_frames=5 refractory_frames=5 ignore=\"\"",
        kInfer + " ! detect threshold=0.2 release=0.1 smoothing=exponential refractory_frames=5 ignore=\"\" "
                 "endpoint_frames=5",
        kInfer + " ! detect mode=wake-word threshold=0.2 release=0.15 smoothing_frames=5 ignore=\"\"",
        kInfer + " ! detect mode=clip ignore=\"\"", kInfer + " chunk=4 dequantize=yes",
        "gain db=-3 ! dither ! levels", "highpass ! preemphasis ! fbank",
        "resample rate=8000 ! fbank preset=kaldi", "fbank ! cmvn", "fbank ! deltas ! stack", "microfrontend",
        "stft ! spectral_flux", "stft ! spectral_centroid", "stft ! spectral_rolloff", "framing ! statistics",
        "stft ! istft"));

// Another process may go on: its addresses differ.
// `test`: the caller. `waiting`: with the decisions that wait; texts do not move.
void expect_it_moves(const std::string& decision, const std::string& test, bool waiting) {
  runnel_program* program = nullptr;
  const std::string settings = "decision='" + decision + "'";
  ASSERT_EQ(runnel_load_file(kModel.c_str(), settings.c_str(), &program), RUNNEL_OK) << runnel_last_failure();
  const std::vector<float> samples = noise(48000);
  const runnel::test::TemporaryFolder folder;
  const std::string file = (folder.path() / "saved").string();
  // Run again by the child: the test program itself, which finds this test by its name.
  if (const char* const from = std::getenv("RUNNEL_SAVED_STATE"); from != nullptr) {
    const std::vector<std::byte> saved = runnel::test::read_file(from);
    Handle node;
    soil_the_stack();
    ASSERT_EQ(runnel_prepare(program, nullptr, &node.node), RUNNEL_OK);
    ASSERT_EQ(runnel_restore(node.node, saved.data(), saved.size()), RUNNEL_OK) << runnel_last_failure();
    std::ofstream(std::string(from) + ".rest", std::ios::binary) << rest(node.node, samples, 20000, 160);
    runnel_release(program);
    return;
  }
  Handle node;
  soil_the_stack();
  ASSERT_EQ(runnel_prepare(program, nullptr, &node.node), RUNNEL_OK);
  std::string before;
  ASSERT_EQ(runnel_push_float(node.node, samples.data(), 20000), RUNNEL_OK);
  if (!waiting) fetch(node.node, before);
  std::vector<std::byte> saved(runnel_saved_bytes(node.node));
  ASSERT_EQ(runnel_save(node.node, saved.data(), saved.size()), RUNNEL_OK) << runnel_last_failure();
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(saved.data()), static_cast<std::streamsize>(saved.size()));
  setenv("RUNNEL_SAVED_STATE", file.c_str(), 1);
  const runnel::test::Output child = runnel::test::run_program(
      {std::filesystem::read_symlink("/proc/self/exe").string(), "--gtest_filter=" + test});
  unsetenv("RUNNEL_SAVED_STATE");
  ASSERT_EQ(child.exit_code, 0) << child.out << child.err;
  const std::vector<std::byte> there = runnel::test::read_file(file + ".rest");
  const std::string here = rest(node.node, samples, 20000, 160);
  ASSERT_FALSE(here.empty());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(there.data()), there.size()), here);
  runnel_release(program);
}

TEST(SavedState, MovesToAnotherProcess) {
  expect_it_moves("detect threshold=0.2 release=0.1 smoothing_frames=5 ignore=\"\"",
                  "SavedState.MovesToAnotherProcess", true);
}
TEST(SavedState, OfADecoderMovesToAnotherProcess) {
  expect_it_moves("ctc mode=beam blank=7" + std::string(kOften), "SavedState.OfADecoderMovesToAnotherProcess",
                  false);
}

TEST(SavedState, RefusesOtherBytesAndStaysAsItWas) {
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
  EXPECT_EQ(rest(node.node, samples, 8000, 160), rest(undisturbed.node, samples, 8000, 160));
  runnel_release(program);
  runnel_release(other);
}

}  // namespace
}  // namespace runnel::library::test
