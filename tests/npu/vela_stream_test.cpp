// Vela streams: refuses every fault that ExecuTorch's own reader accepts.
#include "npu/host/vela_stream.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/compiler/import/pte/program_maker.h"
#include "tests/robustness/mutate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using npu::NamedData;
using npu::read_vela_stream;

// Offsets in tiny_vela_stream().
constexpr std::size_t kCommands = 32, kWeights = kCommands + 48, kScratch = kWeights + 48,
                      kInputs = kScratch + 48, kOutputs = kInputs + 80, kEnd = kOutputs + 80;
constexpr std::size_t kSize = 16, kExternal = 20, kData = 32;
constexpr std::size_t kFirst = kInputs + kData + 4;  // the first tensor

std::string refusal(const Bytes& payload, const std::vector<NamedData>& named = {}) {
  const auto read = read_vela_stream(payload, named);
  EXPECT_FALSE(read.ok()) << "taken";
  return read.ok() ? "" : std::string(read.status().text());
}
std::string refusal_with(std::size_t at, std::uint64_t value, std::size_t bytes = 4) {
  Bytes payload = tiny_vela_stream();
  put(payload, at, value, bytes);
  return refusal(payload);
}

TEST(VelaStream, IsRead) {
  const auto read = read_vela_stream(tiny_vela_stream(), {});
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->commands.size(), 16u);
  EXPECT_EQ(read->weights.size(), 16u);
  EXPECT_EQ(read->scratch, 64u);
  ASSERT_EQ(read->inputs.size(), 1u);
  EXPECT_EQ(read->inputs[0].offset, 16);
  EXPECT_EQ(read->outputs[0].offset, 0);
}

TEST(VelaStream, EveryTruncationIsRefused) {
  const Bytes payload = tiny_vela_stream();
  for (std::size_t size = 0; size < payload.size(); ++size) {
    // Exactly this long, so that reads past the end show.
    const Bytes cut(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal(cut), "") << size;
  }
}

TEST(VelaStream, LessThanABlockHead) {
  EXPECT_EQ(refusal(Bytes(31)), "block \"vela_bin_stream\": 31 bytes left, expected 32 for its head");
}

TEST(VelaStream, HeadAndFootOnly) {
  Bytes payload = tiny_vela_stream();
  payload.erase(payload.begin() + kCommands, payload.begin() + kEnd);
  EXPECT_EQ(refusal(payload), "block \"cmd_data\" is missing; found another one");
}

TEST(VelaStream, BlockIsThereTwice) {
  Bytes payload = tiny_vela_stream();
  const Bytes commands(payload.begin() + kCommands, payload.begin() + kWeights);
  payload.insert(payload.begin() + kCommands, commands.begin(), commands.end());
  EXPECT_EQ(refusal(payload), "block \"weight_data\" is missing; found another one");
}

TEST(VelaStream, NameIsOnlyAPrefix) {
  Bytes payload = tiny_vela_stream();
  std::memcpy(payload.data() + kCommands, "cmd_data_x", 10);
  EXPECT_EQ(refusal(payload), "block \"cmd_data\" is missing; found another one");
  payload = tiny_vela_stream();
  payload[kCommands + 12] = std::byte{'x'};
  EXPECT_EQ(refusal(payload), "block \"cmd_data\": a name with bytes after its end");
}

TEST(VelaStream, BlockIsLargerThanThePayload) {
  EXPECT_NE(refusal_with(kWeights + kSize, 0xfffffff1)
                .find("block \"weight_data\": 4294967281 bytes of data, but "),
            std::string::npos);
}

TEST(VelaStream, NoCommandStream) {
  EXPECT_NE(refusal_with(kCommands + kData, 0).find("bytes that are no command stream"), std::string::npos);
  EXPECT_NE(refusal_with(kCommands + kSize, 0).find("0 bytes that are no command stream"), std::string::npos);
  EXPECT_NE(refusal_with(kCommands + kSize, 13).find("13 bytes that are no command stream"),
            std::string::npos);
}

TEST(VelaStream, ScratchOfOneByteWithInputAt16) {
  EXPECT_EQ(refusal_with(kScratch + kData, 1),
            "block \"inputs\", tensor 0: 1 bytes at 16, outside of the scratch memory of 1");
}

TEST(VelaStream, OffsetIsNegative) {
  EXPECT_EQ(refusal_with(kFirst + 28, static_cast<std::uint32_t>(-4096)),
            "block \"inputs\", tensor 0: 1 bytes at -4096, outside of the scratch memory of 64");
}

TEST(VelaStream, CountIsAMillion) {
  EXPECT_EQ(refusal_with(kInputs + kData, 1000000),
            "block \"inputs\": 1000000 tensors in 40 bytes, expected 4 and 36 for each");
}
TEST(VelaStream, CountIsNegative) {
  EXPECT_EQ(refusal_with(kInputs + kData, 0xffffffff),
            "block \"inputs\": -1 tensors in 40 bytes, expected 4 and 36 for each");
}

TEST(VelaStream, RegionDoesNotExist) {
  EXPECT_EQ(refusal_with(kFirst + 32, 3), "block \"inputs\", tensor 0: region 3, expected 0 to 2");
}
TEST(VelaStream, ElementSizeIsUnknown) {
  EXPECT_EQ(refusal_with(kFirst + 24, 3),
            "block \"inputs\", tensor 0: elements of 3 bytes, expected 1, 2 or 4");
}
TEST(VelaStream, ShapeIsEmpty) {
  EXPECT_EQ(refusal_with(kFirst, 0), "block \"inputs\", tensor 0: a shape with a 0 in it");
}

TEST(VelaStream, ShapeOverflows) {
  Bytes payload = tiny_vela_stream();
  for (std::size_t axis = 0; axis < 6; ++axis) put(payload, kFirst + 4 * axis, 0x10001, 4);
  EXPECT_EQ(refusal(payload), "block \"inputs\", tensor 0: more than 2147483648 bytes");
}

TEST(VelaStream, BytesPastTheEnd) {
  Bytes payload = tiny_vela_stream();
  payload.resize(payload.size() + 16);
  EXPECT_EQ(refusal(payload), "block \"vela_end_stream\": 16 bytes in it and after it, expected none");
}

TEST(VelaStream, NamedDataIsFoundByItsWholeKey) {
  Bytes payload = tiny_vela_stream();
  const std::string key(64, 'a');
  Bytes block(32 + 64);
  std::memcpy(block.data(), "weight_data", 11);
  put(block, kSize, 64, 4);
  block[kExternal] = std::byte{1};
  std::memcpy(block.data() + kData, key.data(), key.size());
  payload.erase(payload.begin() + kWeights, payload.begin() + kScratch);
  payload.insert(payload.begin() + kWeights, block.begin(), block.end());
  EXPECT_EQ(refusal(payload), "block \"weight_data\": a key that the program has no data for");
  const Bytes weights(5);
  const std::vector<NamedData> named{{key, weights}};
  const auto read = read_vela_stream(payload, named);
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->weights.size(), 5u);
  EXPECT_EQ(refusal_with(kWeights + kExternal, 2, 1),
            "block \"weight_data\": external is 2, expected 0 or 1");
}

// The test that the format's own reader failed: everything in an accepted stream is inside it.
TEST(VelaStream, MutationsAreRefusedOrInside) {
  RUNNEL_NEEDS_DATA();
  for (const char* name : {"armex_ethosu_minimal_0ff7865c", "armex_ethosu_minimal_278c8132"}) {
    const Bytes payload = read_file(data_folder() / "executorch" / (std::string(name) + ".vela_bin_stream"));
    ASSERT_TRUE(read_vela_stream(payload, {}).ok());
    Mutator mutator(payload, 3);
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
      const Bytes mutated = mutator.next();
      const auto read = read_vela_stream(mutated, {});
      if (!read.ok()) {
        EXPECT_NE(read.status().text(), "");
        ++refused;
        continue;
      }
      for (const auto* list : {&read->inputs, &read->outputs}) {
        for (const auto& tensor : *list)
          EXPECT_LE(static_cast<std::uint64_t>(tensor.offset) + tensor.bytes, read->scratch);
      }
      const auto inside = [&](std::span<const std::byte> part) {
        return part.empty() || (part.data() >= mutated.data() &&
                                part.data() + part.size() <= mutated.data() + mutated.size());
      };
      EXPECT_TRUE(inside(read->commands) && inside(read->weights));
    }
    EXPECT_GT(refused, 400) << name;
  }
}

}  // namespace
}  // namespace runnel::test
