// Compiled models against their interpreted files, bit for bit: every operator that has a compiled form,
// random graphs and small attention networks, in blocks of several sizes; and what is refused.
#include "tests/compiler/embed/compiled_cases.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "inference/host/engine.h"
#include "inference/ops/definitions.h"
#include "inference/prepared.h"
#include "inference/session.h"

namespace runnel::test {
namespace {

std::vector<CompiledCase> all_cases() {
  std::vector<CompiledCase> all;
  for (const auto some : {compiled_cases_0(), compiled_cases_1(), compiled_cases_2(), compiled_cases_3()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::vector<std::byte> bytes_of(const char* file) {
  std::ifstream in(std::string(COMPILED_CASES "/") + file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// A session with its memory.
class Running {
 public:
  explicit Running(const Prepared& prepared) : state_(prepared.state_bytes() + 64) {
    const auto workspace = Workspace::make(prepared, memory_, memory_);
    EXPECT_TRUE(workspace.ok()) << workspace.status().text();
    auto* const at =
        reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(state_.data()) + 63) / 64 * 64);
    auto made = Session::make(prepared, **workspace, {at, prepared.state_bytes()});
    EXPECT_TRUE(made.ok()) << made.status().text();
    session = *made;
  }
  Session session;

 private:
  HeapMemory memory_;
  std::vector<std::byte> state_;
};

struct Given {
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> places;
  bool operator==(const Given&) const = default;
};

// What one block gives. `random`: the input.
void step(const Prepared& prepared, Session& session, std::int64_t valid, std::mt19937 random, Given& out) {
  for (const std::span<std::byte> to = session.input(0); std::byte & byte : to)
    byte = static_cast<std::byte>(random());
  session.run(valid);
  for (std::size_t i = 0; i < prepared.tables().outputs.size(); ++i) {
    const OutputFrames frames = session.output(static_cast<int>(i));
    const Placement& at = prepared.tables().placements[prepared.tables().outputs[i]];
    out.places.push_back(frames.first);
    out.places.push_back(frames.count);
    out.bytes.insert(out.bytes.end(), frames.data,
                     frames.data + static_cast<std::size_t>(frames.count) * at.frame_bytes);
  }
}

// A recording of some blocks and a part of one, its flush, and one after a reset; in between the session goes
// on in a restored copy.
Given run(const Prepared& prepared) {
  Running first(prepared), second(prepared);
  Given out;
  const std::int64_t block = prepared.tables().block;
  std::vector<std::byte> saved(first.session.saved_bytes());
  Session* session = &first.session;
  const auto whole = static_cast<std::uint32_t>(4 + 24 / block);
  for (std::uint32_t i = 0; i <= whole; ++i) {
    step(prepared, *session, i < whole ? block : block / 2, std::mt19937(i), out);
    if (i != 1) continue;
    EXPECT_TRUE(session->save(saved).ok());
    EXPECT_TRUE(second.session.restore(saved).ok());
    session = &second.session;
  }
  for (int i = 0; session->flush_calls_left() > 0 && i < 100; ++i)
    step(prepared, *session, 0, std::mt19937(999), out);
  session->reset();
  for (std::uint32_t i = 100; i < 102; ++i) step(prepared, *session, block, std::mt19937(i), out);
  return out;
}

TEST(CompiledCases, GiveTheBitsOfTheInterpretedModel) {
  const std::vector<CompiledCase> cases = all_cases();
  ASSERT_GT(cases.size(), 200u);
  for (const CompiledCase& one : cases) {
    SCOPED_TRACE(std::string(one.name) + ", blocks of " + std::to_string(one.block));
    const auto model = OwnedModel::from_bytes(bytes_of(one.file));
    ASSERT_TRUE(model.ok()) << model.status().text();
    HeapMemory memory;
    PrepareOptions options;
    options.frames = one.block;
    const auto interpreted = Prepared::make((*model)->model(), all_operators(), options, memory);
    ASSERT_TRUE(interpreted.ok()) << interpreted.status().text();
    const Given expected = run(**interpreted), found = run(one.model->prepared);
    ASSERT_FALSE(expected.bytes.empty());
    ASSERT_TRUE(found == expected);
  }
}

// "operator add tflite int8" and so on.
std::set<std::string> compiled_operators() {
  std::set<std::string> names;
  for (const CompiledCase& one : all_cases()) names.insert(one.name);
  return names;
}

TEST(CompiledCases, AreAllOperatorsOfStreamingAttention) {
  const std::set<std::string> names = compiled_operators();
  for (const std::string type : {"int8", "int16"}) {
    for (const char* name : {"attention espdl",
                             "attention fixed_point",
                             "layer_norm espdl",
                             "layer_norm fixed_point",
                             "rms_norm espdl",
                             "lp_norm espdl",
                             "softmax espdl",
                             "softmax tflite",
                             "log_softmax espdl",
                             "matmul espdl",
                             "matmul tflite",
                             "add espdl",
                             "add exact",
                             "add tflite",
                             "sub tflite",
                             "mul espdl",
                             "mul exact",
                             "mul tflite",
                             "max tflite",
                             "min espdl",
                             "squared_difference tflite",
                             "lut espdl",
                             "sigmoid tflite",
                             "tanh tflite",
                             "swish espdl",
                             "swoosh espdl",
                             "gelu espdl",
                             "relu tflite",
                             "clip espdl",
                             "requantize espdl",
                             "requantize tflite",
                             "dequantize espdl",
                             "dequantize tflite",
                             "reshape espdl",
                             "transpose espdl",
                             "slice espdl",
                             "concat espdl",
                             "split espdl",
                             "expand espdl",
                             "conv espdl",
                             "conv multipliers",
                             "fully_connected espdl"})
      EXPECT_TRUE(names.count(std::string("operator ") + name + " " + type) > 0) << name << ' ' << type;
  }
  for (const char* network :
       {"network affine int8", "network affine int16", "network pow2 int8", "network pow2 int16"})
    EXPECT_TRUE(names.count(network) > 0) << network;
}

// Whatever has no compiled form is named.
TEST(CompiledCases, RefusalsNameTheOperator) {
  std::ifstream in(COMPILED_CASES "/refused.txt");
  ASSERT_TRUE(in.good());
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    if (line.rfind("random", 0) == 0) continue;
    std::istringstream words(line);
    std::string kind, name;
    words >> kind >> name;
    EXPECT_THAT(
        line, testing::AnyOf(testing::HasSubstr(name + " version"), testing::HasSubstr("inputs, expected 1"),
                             testing::HasSubstr("is not a stream"), testing::HasSubstr("cannot be streamed"),
                             testing::HasSubstr("an input of")));
  }
  EXPECT_GT(lines, 10);
}

}  // namespace
}  // namespace runnel::test
