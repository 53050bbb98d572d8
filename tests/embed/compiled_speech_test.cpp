// The bundled recogniser compiled into constants, attention and all, against itself interpreted: features,
// output and texts; saved and restored in mid-word.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "compiledspeech.h"
#include "embed/program.h"
#include "interpretedspeech.h"

namespace {

using namespace runnel;

constexpr std::size_t kRoom = std::size_t{8} << 20;  // hosts pack weights for their vector units

std::vector<std::int16_t> recording() {
  std::ifstream in(COMMANDS_RECORDING, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  constexpr std::size_t kHeader = 44;
  std::vector<std::int16_t> samples(bytes.size() > kHeader ? (bytes.size() - kHeader) / 2 : 0);
  if (!samples.empty()) std::memcpy(samples.data(), bytes.data() + kHeader, 2 * samples.size());
  return samples;
}

struct Heard {
  std::vector<unsigned char> frames[2];
  std::vector<std::int64_t> first[2];
  std::vector<std::string> texts;
  std::vector<std::int64_t> places;
  std::size_t memory = 0;
};
void keep(void* user, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
          std::int64_t first) {
  auto& out = *static_cast<Heard*>(user);
  const auto* from = static_cast<const unsigned char*>(frames);
  out.frames[stage].insert(out.frames[stage].end(), from, from + count * frame_bytes);
  out.first[stage].push_back(first);
}

class Node {
 public:
  Node(const runnel_program& program, Heard* heard)
      : memory_(static_cast<unsigned char*>(::operator new[](kRoom, std::align_val_t(64)))) {
    const runnel_options options = {memory_, kRoom, nullptr, 0, heard == nullptr ? nullptr : keep, heard};
    EXPECT_EQ(runnel_prepare(&program, &options, &node), RUNNEL_OK) << runnel_last_failure();
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() { ::operator delete[](memory_, std::align_val_t(64)); }

  // In hops of 160 samples; before each of them `between` runs.
  template <class Between>
  void run(const std::vector<std::int16_t>& samples, Heard& heard, const Between& between) {
    ASSERT_NE(node, nullptr);
    heard.memory = runnel_counters_of(node).memory_used;
    for (std::size_t at = 0; at < samples.size(); at += 160) {
      between(at / 160);
      ASSERT_EQ(runnel_push_int16(node, samples.data() + at, std::min<std::size_t>(160, samples.size() - at)),
                RUNNEL_OK);
      take(heard);
    }
    ASSERT_EQ(runnel_end(node), RUNNEL_OK);
    take(heard);
  }
  runnel_node* node = nullptr;

 private:
  void take(Heard& heard) const {
    for (runnel_event event; runnel_poll(node, &event) == 1;) {
      heard.texts.emplace_back(event.label);
      heard.places.push_back(event.begin);
      heard.places.push_back(event.end);
    }
  }
  unsigned char* memory_;
};

Heard heard_by(const runnel_program& program) {
  Heard heard;
  Node node(program, &heard);
  node.run(recording(), heard, [](std::size_t) {});
  return heard;
}

TEST(CompiledSpeech, GivesTheBitsOfTheInterpretedOne) {
  ASSERT_FALSE(recording().empty());
  const Heard interpreted = heard_by(runnel_interpretedspeech), compiled = heard_by(runnel_compiledspeech);
  ASSERT_FALSE(interpreted.frames[RUNNEL_OUTPUT].empty());
  ASSERT_FALSE(interpreted.texts.empty());
  for (const runnel_stage stage : {RUNNEL_FEATURES, RUNNEL_OUTPUT}) {
    EXPECT_TRUE(compiled.frames[stage] == interpreted.frames[stage]);
    EXPECT_EQ(compiled.first[stage], interpreted.first[stage]);
  }
  EXPECT_EQ(compiled.texts, interpreted.texts);
  EXPECT_EQ(compiled.places, interpreted.places);
  EXPECT_LT(compiled.memory, interpreted.memory / 2);
}

TEST(CompiledSpeech, IsSavedAndRestoredInMidWord) {
  const Heard expected = heard_by(runnel_compiledspeech);
  Heard heard;
  Node node(runnel_compiledspeech, nullptr);
  ASSERT_NE(node.node, nullptr);
  std::vector<unsigned char> saved(runnel_saved_bytes(node.node));
  // Keys and values of earlier frames are part of the state: what comes in between must leave no trace.
  node.run(recording(), heard, [&](std::size_t hop) {
    if (hop % 37 != 5) return;
    ASSERT_EQ(runnel_save(node.node, saved.data(), saved.size()), RUNNEL_OK);
    std::vector<std::int16_t> other(4800);
    for (std::size_t i = 0; i < other.size(); ++i)
      other[i] = static_cast<std::int16_t>(static_cast<int>(i * i * 31 % 8192) - 4096);
    ASSERT_EQ(runnel_push_int16(node.node, other.data(), other.size()), RUNNEL_OK);
    ASSERT_EQ(runnel_restore(node.node, saved.data(), saved.size()), RUNNEL_OK);
  });
  EXPECT_EQ(heard.texts, expected.texts);
  EXPECT_EQ(heard.places, expected.places);
}

}  // namespace
