// Models on Cortex-M boards in QEMU give the bytes that this machine gives. Run by scripts/firmware_tests.sh,
// which builds the images.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "inference/host/engine.h"
#include "tests/firmware/image.h"
#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using namespace test;
using Bytes = std::vector<std::byte>;

struct ModelCase {
  const char* path;        // in the test data
  std::int64_t blocks;     // of the recording
  std::int64_t block = 0;  // frames; 0: the smallest
  bool whole = false;
};

std::filesystem::path import(const TemporaryFolder& folder, const std::string& path) {
  const std::filesystem::path model = folder.path() / "model.rnl";
  const Output output =
      run_program({program(), "import", (data_folder() / path).string(), "-o", model.string()});
  EXPECT_EQ(output.exit_code, 0) << path << ": " << output.err;
  return model;
}

Bytes random_input(const TensorView& tensor, std::size_t bytes, std::mt19937& random) {
  Bytes out(bytes);
  if (tensor.dtype == DType::float32) {
    std::normal_distribution<float> numbers(0, 3);
    for (std::size_t i = 0; i + sizeof(float) <= bytes; i += sizeof(float)) {
      const float value = numbers(random);
      std::memcpy(out.data() + i, &value, sizeof value);
    }
  } else {
    for (std::byte& one : out) one = static_cast<std::byte>(random());
  }
  return out;
}

std::shared_ptr<const Engine> prepare(const std::filesystem::path& model, const ModelCase& one, bool whole,
                                      std::int64_t frames) {
  auto owned = OwnedModel::from_file(model);
  EXPECT_TRUE(owned.ok()) << one.path << ": " << owned.status().text();
  PrepareOptions options;
  options.mode = whole ? RunMode::whole : RunMode::stream;
  options.frames = frames;
  auto engine = Engine::make(*owned, options);
  EXPECT_TRUE(engine.ok()) << one.path << ": " << engine.status().text();
  return engine.ok() ? *engine : nullptr;
}

// As model_image: whole blocks, then the flush.
Bytes run_here(const std::shared_ptr<const Engine>& engine, const Bytes& input) {
  auto runner = *Runner::make(engine);
  Session& session = runner->session();
  const Model& model = engine->model();
  const bool whole = engine->prepared().mode() == RunMode::whole;
  Bytes out;
  const auto collect = [&] {
    for (int i = 0; i < static_cast<int>(model.outputs().size()); ++i) {
      const OutputFrames frames = session.output(i);
      const std::size_t frame =
          engine->prepared().placement(model.outputs()[static_cast<std::size_t>(i)]).frame_bytes;
      out.insert(out.end(), frames.data, frames.data + static_cast<std::size_t>(frames.count) * frame);
    }
  };
  std::size_t at = 0;
  while (at < input.size()) {
    std::int64_t valid = engine->prepared().block();
    for (int i = 0; i < static_cast<int>(model.inputs().size()); ++i) {
      const std::span<std::byte> block = session.input(i);
      const std::size_t size = std::min(block.size(), input.size() - at);
      std::memcpy(block.data(), input.data() + at, size);
      if (size < block.size())
        valid = static_cast<std::int64_t>(size / engine->prepared().placement(model.inputs()[0]).frame_bytes);
      at += size;
    }
    session.run(valid);
    collect();
  }
  if (whole) return out;
  if (session.flush_calls_left() == 0) {
    session.run(0);
    collect();
  }
  for (; session.flush_calls_left() > 0; collect()) session.run(0);
  return out;
}

std::size_t input_bytes(const Engine& engine) {
  std::size_t bytes = 0;
  for (const std::int32_t input : engine.model().inputs()) bytes += engine.prepared().placement(input).bytes;
  return bytes;
}

ImageOutput run_there(const char* board, const std::filesystem::path& model, const Bytes& input, Bytes& out,
                      std::vector<std::string> options) {
  const TemporaryFolder folder;
  write_file(folder.path() / "in", input);
  options.insert(options.begin(),
                 {model.string(), (folder.path() / "in").string(), (folder.path() / "out").string()});
  const ImageOutput output = run_image(board, "model_image", options);
  EXPECT_EQ(output.exit_code, 0) << board << ": " << output.said;
  out = output.exit_code == 0 ? read_file(folder.path() / "out") : Bytes();
  return output;
}

void compare(const std::filesystem::path& model, const ModelCase& one,
             const std::vector<const char*>& boards) {
  const auto engine = prepare(model, one, one.whole, one.block);
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(1);
  const Bytes input = random_input(engine->model().tensor(engine->model().inputs()[0]),
                                   input_bytes(*engine) * static_cast<std::size_t>(one.blocks), random);
  const Bytes expected = run_here(engine, input);
  ASSERT_FALSE(expected.empty());
  std::vector<std::string> options = {one.whole ? "whole=1" : "save=" + std::to_string(one.blocks / 2)};
  if (one.block != 0) options.push_back("block=" + std::to_string(one.block));
  for (const char* board : boards) {
    Bytes found;
    const ImageOutput output = run_there(board, model, input, found, options);
    EXPECT_EQ(found, expected) << board << ": " << output.said;
  }
}

void compare(const ModelCase& one, const std::vector<const char*>& boards) {
  SCOPED_TRACE(one.path);
  const TemporaryFolder folder;
  compare(import(folder, one.path), one, boards);
}

// Attention of two heads over a window, with tables of distances, and a normalization, in fixed point.
Bytes attention_model(DType dtype) {
  GraphBuilder b(6, dtype);
  const auto x = b.input({1, 40, 8});
  const std::int8_t exponent = dtype == DType::int8 ? -4 : -11;
  const auto heads = [&](int channels) {
    return b.reshape(b.conv(x, 2 * channels, {}), {1, 40, 2, channels});
  };
  const auto q = heads(13), k = heads(10), v = heads(9), y = b.tensor({1, 40, 2, 9}, exponent);
  compiler::AttentionOptions options;
  options.left = 9;
  options.right = 1;
  options.chunk = 2;
  options.real_scale = 0.3f;
  b.node(OpCode::attention,
         {q, k, v, b.constant({2, 13}, DType::int32, {}, -1, 20000),
          b.constant({13, 2, 3}, dtype, {static_cast<std::int8_t>(exponent)}, -1, 100)},
         {y}, options, Arithmetic::fixed_point);
  compiler::NormOptions norm;
  norm.axis = 2;
  norm.epsilon = 1e-5f;
  const auto flat = b.reshape(y, {1, 40, 18}), z = b.tensor({1, 40, 18}, exponent - 1);
  b.node(
      OpCode::layer_norm,
      {flat, b.constant({18}, DType::int16, {-14}, -1, 20000), b.constant({18}, DType::int32, {}, -1, 5000)},
      {z}, norm, Arithmetic::fixed_point);
  b.output(z);
  const auto written = compiler::write_model(b.graph());
  EXPECT_TRUE(written.ok()) << written.status().text();
  return written.ok() ? written->bytes : Bytes();
}

TEST(Firmware, AttentionInFixedPointGivesTheBytesOfThisMachine) {
  if (without_images()) GTEST_SKIP() << "SKIPPED WITHOUT IMAGES: run scripts/firmware_tests.sh";
  for (const DType dtype : {DType::int8, DType::int16}) {
    SCOPED_TRACE(name_of(dtype));
    const TemporaryFolder folder;
    write_file(folder.path() / "model.rnl", attention_model(dtype));
    compare(folder.path() / "model.rnl", {"attention", 60}, {kM4F, kM55});
  }
}

TEST(Firmware, KernelsGiveTheBitsOfTheirDefinition) {
  if (without_images()) GTEST_SKIP() << "SKIPPED WITHOUT IMAGES: run scripts/firmware_tests.sh";
  for (const char* board : {kM3, kM4F, kM55}) {
    const ImageOutput output = run_image(board, "kernels_image", {});
    EXPECT_EQ(output.exit_code, 0) << board << ": " << output.said;
    EXPECT_GT(output.number("convolutions"), 250) << board;
  }
}

TEST(Firmware, StreamedModelsGiveTheBytesOfThisMachine) {
  RUNNEL_NEEDS_IMAGES();
  const ModelCase cases[] = {
      {"digits/digits_c_s8.espdl", 150},  // half up
      {"digits/digits_c_s8.espdl", 30, 4},
      {"digits/digits_esp32p4_s8.espdl", 150},  // half even
      {"espdl/tcn/tcn3_c_s16.espdl", 60},       // int16
      {"espdl/tcn/tcn3_esp32p4_s16hp.espdl", 20, 3},
      {"models/mlperf-tiny/str_ww_ref_model.tflite", 60},  // multipliers
      {"trained/M1_T98.onnx", 40},                         // float32
      {"trained/M1s_T98.onnx", 30},                        // two frames a block
  };
  for (const ModelCase& one : cases) compare(one, {kM4F, kM55});
  compare(cases[0], {kM7F});
  compare(cases[5], {kM7F});
}

TEST(Firmware, WholeModelsGiveTheBytesOfThisMachine) {
  RUNNEL_NEEDS_IMAGES();
  const ModelCase cases[] = {
      {"models/mww/okay_nabu.tflite", 40, 0, true},  // state in variables
      {"models/mlperf-tiny/kws_ref_model.tflite", 2, 0, true},
      {"models/tflm/micro_speech_quantized.tflite", 2, 0, true},
      {"peers/M1_s8sym_T100.onnx", 1, 0, true},
      {"peers/M2_s8sym.onnx", 1, 0, true},
  };
  for (const ModelCase& one : cases) compare(one, {kM4F, kM55});
}

// The stream on the board equals the whole recording here.
TEST(Firmware, StreamsEqualTheWholeRecording) {
  RUNNEL_NEEDS_IMAGES();
  for (const char* path : {"digits/digits_c_s8.espdl", "models/mlperf-tiny/str_ww_ref_model.tflite",
                           "espdl/tcn/tcn3_c_s16.espdl"}) {
    SCOPED_TRACE(path);
    const TemporaryFolder folder;
    const std::filesystem::path model = import(folder, path);
    constexpr std::int64_t kFrames = 75;
    const auto engine = prepare(model, {path, 1, 0, true}, true, kFrames);
    ASSERT_NE(engine, nullptr);
    std::mt19937 random(2);
    const Bytes input =
        random_input(engine->model().tensor(engine->model().inputs()[0]), input_bytes(*engine), random);
    const Bytes expected = run_here(engine, input);
    for (const char* block : {"block=1", "block=4"}) {  // 75 frames end inside a block of 4
      Bytes found;
      run_there(kM4F, model, input, found, {block});
      EXPECT_EQ(found, expected) << block;
    }
  }
}

TEST(Firmware, DamageIsRefused) {
  RUNNEL_NEEDS_IMAGES();
  const TemporaryFolder folder;
  const std::filesystem::path model = import(folder, "digits/digits_c_s8.espdl");
  const Bytes good = read_file(model);
  write_file(folder.path() / "in", Bytes(400));
  std::mt19937 random(3);
  for (int i = 0; i < 12; ++i) {
    Bytes bad = good;
    // Anywhere but in the padding between sections, which no checksum covers.
    const std::size_t at = i == 0 ? 4 : good.size() / 3 + random() % (good.size() / 3);
    bad[at] ^= static_cast<std::byte>(1U << random() % 8);
    write_file(folder.path() / "bad.rnl", bad);
    const ImageOutput output = run_image(kM4F, "model_image",
                                         {(folder.path() / "bad.rnl").string(),
                                          (folder.path() / "in").string(), (folder.path() / "out").string()});
    EXPECT_EQ(output.exit_code, 1) << "byte " << at << ": " << output.said;
  }
}

// Instructions are counted, not cycles; the same in every run. The limits are a little above what it takes.
TEST(Firmware, InstructionsPerMultiplyAdd) {
  RUNNEL_NEEDS_IMAGES();
  const TemporaryFolder folder;
  const std::filesystem::path model = import(folder, "digits/digits_c_s8.espdl");
  const Bytes input(40 * 200, std::byte{17});
  constexpr double kMultiplyAdds = 23424;  // per frame
  for (const auto& [board, at_most] : {std::pair(kM4F, 4.0), std::pair(kM7F, 4.0), std::pair(kM55, 1.0)}) {
    Bytes found;
    const ImageOutput output = run_there(board, model, input, found, {});
    const double each = static_cast<double>(output.number("instructions_per_run")) / kMultiplyAdds;
    std::printf("| digits | %s | %.2f |\n", board, each);
    EXPECT_GT(each, 0.1) << board << ": " << output.said;
    EXPECT_LE(each, at_most) << board;
  }
}

// A 32 ms frame of the streamed wake word against recomputing the clip of 30 frames.
TEST(Firmware, StreamingSavesInstructions) {
  RUNNEL_NEEDS_IMAGES();
  const TemporaryFolder folder;
  const std::filesystem::path model = import(folder, "models/mlperf-tiny/str_ww_ref_model.tflite");
  const Bytes clip(30 * 40, std::byte{9}), stream(200 * 40, std::byte{9});
  for (const char* board : {kM4F, kM55}) {
    Bytes found;
    const long whole = run_there(board, model, clip, found, {"whole=1"}).number("instructions_per_run");
    const long streamed = run_there(board, model, stream, found, {}).number("instructions_per_run");
    std::printf("| wake word | %s | %ld whole | %ld streamed | %.1f |\n", board, whole, streamed,
                static_cast<double>(whole) / static_cast<double>(streamed));
    EXPECT_GE(whole, 10 * streamed) << board;
  }
}

}  // namespace
}  // namespace runnel
