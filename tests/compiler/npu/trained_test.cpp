// Trained networks, quantized for the NPU, compiled, and compared with the CPU: whole clips, and streams
// where they have one.
#include <gtest/gtest.h>

#include <random>

#include "compiler/import/load.h"
#include "compiler/ir/model_graph.h"
#include "compiler/quantize/quantize.h"
#include "compiler/write/writer.h"
#include "tests/compiler/npu/on_npu.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace quantizer = compiler::quantizer;

struct Case {
  const char* file;
  quantizer::Scheme scheme;
  bool streams;
  DType type = DType::int8;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.file << (c.scheme == quantizer::Scheme::affine ? " affine" : " pow2")
             << (c.type == DType::int16 ? " int16" : "");
}

// With ranges from noise: accuracy is not what is looked at here. As the program writes and reads it.
compiler::Graph quantized(const Case& c) {
  const auto imported = compiler::import_file(data_folder() / c.file, {});
  EXPECT_TRUE(imported.ok()) << imported.status().text();
  if (!imported.ok()) return {};
  std::mt19937 random(2);
  std::normal_distribution<float> noise(0, 1);
  std::vector<quantizer::Clip> clips(4);
  for (quantizer::Clip& clip : clips) {
    for (const compiler::TensorId id : imported->graph.inputs) {
      std::size_t count = 1;
      for (const std::int32_t size : imported->graph.tensors[static_cast<std::size_t>(id)].shape)
        count *= static_cast<std::size_t>(size);
      clip.emplace_back(count);
      for (float& value : clip.back()) value = noise(random);
    }
  }
  quantizer::Options options;
  options.target = *quantizer::target_rules("ethos-u");
  options.scheme = c.scheme;
  options.type = c.type;
  options.methods = quantizer::Methods{false, false, false, false, false};
  options.threads = 1;
  const auto made = quantizer::quantize(imported->graph, quantizer::MemoryClips(clips), options);
  EXPECT_TRUE(made.ok()) << made.status().text();
  if (!made.ok()) return {};
  compiler::WriteOptions write;
  write.blocks.clear();
  const auto written = compiler::write_model(made->graph, write);
  EXPECT_TRUE(written.ok()) << written.status().text();
  if (!written.ok()) return {};
  const auto owned = OwnedModel::from_bytes(written->bytes);
  return owned.ok() ? compiler::graph_of((*owned)->model()) : compiler::Graph();
}

class TrainedNetworks : public testing::TestWithParam<Case> {};

TEST_P(TrainedNetworks, GiveTheBytesOfTheCpu) {
  RUNNEL_NEEDS_DATA();
  const compiler::Graph graph = quantized(GetParam());
  ASSERT_FALSE(graph.nodes.empty());
  std::vector<const char*> all = kU55AndU65.accelerators;
  all.insert(all.end(), kU85.accelerators.begin(), kU85.accelerators.end());
  for (const char* accelerator : all) {
    compiler::ethos_u::CompiledGraph compiled;
    const Status status = compare_whole(graph, npu_options(accelerator), 3, 1, &compiled);
    EXPECT_TRUE(status.ok()) << accelerator << ": " << status.text();
    for (const auto& node : compiled.nodes)
      EXPECT_TRUE(node.segment >= 0 || node.multiply_adds == 0) << node.name << ": " << node.reason;
  }
  if (!GetParam().streams) return;
  for (const char* accelerator : {"ethos-u55-128", "ethos-u85-512"}) {
    auto options = npu_options(accelerator);
    options.block = compiler::ethos_u::Options::kSmallestBlock;
    const Status status = compare_streamed(graph, options, 61, 4);
    EXPECT_TRUE(status.ok()) << accelerator << ": " << status.text();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TrainedNetworks,
    testing::Values(Case{"digits/digits.onnx", quantizer::Scheme::pow2, true},
                    Case{"digits/digits.onnx", quantizer::Scheme::affine, true},
                    Case{"digits/digits.onnx", quantizer::Scheme::pow2, true, DType::int16},
                    Case{"digits/digits.onnx", quantizer::Scheme::affine, true, DType::int16},
                    Case{"trained/M1.onnx", quantizer::Scheme::pow2, true},
                    Case{"trained/M1.onnx", quantizer::Scheme::affine, true},
                    Case{"trained/M1s.onnx", quantizer::Scheme::pow2, true},
                    Case{"trained/M1s.onnx", quantizer::Scheme::affine, true},
                    Case{"trained/M2.onnx", quantizer::Scheme::pow2, false},
                    Case{"trained/M2.onnx", quantizer::Scheme::affine, false},
                    Case{"trained/M3.onnx", quantizer::Scheme::pow2, true},
                    Case{"trained/M3.onnx", quantizer::Scheme::affine, true}));

}  // namespace
}  // namespace runnel::test
