// Compiled graphs as .tflite files: every field that TensorFlow Lite Micro and its kernel of the Ethos-U look
// at, and results after reading back.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler/import/load.h"
#include "compiler/import/tflite/importer.h"
#include "compiler/import/tflite/tflite_generated.h"
#include "compiler/ir/model_graph.h"
#include "compiler/write/same_results.h"
#include "compiler/write/tflite/writer.h"
#include "npu/host/simulator/simulated_npu.h"
#include "npu/payload.h"
#include "tests/compiler/npu/on_npu.h"
#include "tests/compiler/npu/random_network.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace ethos_u = compiler::ethos_u;
constexpr int kCustom = 32;

// The tables of a written file.
class File {
 public:
  explicit File(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
    flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes_.data()), bytes_.size());
    EXPECT_TRUE(tflite::VerifyModelBuffer(verifier));
  }
  [[nodiscard]] const tflite::Model& model() const { return *tflite::GetModel(bytes_.data()); }
  [[nodiscard]] const tflite::SubGraph& graph() const { return *model().subgraphs()->Get(0); }
  [[nodiscard]] const tflite::Tensor& tensor(std::int32_t id) const {
    return *graph().tensors()->Get(static_cast<flatbuffers::uoffset_t>(id));
  }
  [[nodiscard]] bool is_custom(const tflite::Operator& op) const {
    return model().operator_codes()->Get(op.opcode_index())->builtin_code() == kCustom;
  }
  [[nodiscard]] std::span<const std::byte> data(const tflite::Tensor& tensor) const {
    const auto* const data = model().buffers()->Get(tensor.buffer())->data();
    return data == nullptr ? std::span<const std::byte>()
                           : std::as_bytes(std::span(data->data(), data->size()));
  }
  [[nodiscard]] std::size_t place(std::span<const std::byte> part) const {
    return static_cast<std::size_t>(part.data() - bytes_.data());
  }
  [[nodiscard]] std::int64_t size(std::int32_t id) const {
    std::int64_t count = 1;
    for (const std::int32_t dim : *tensor(id).shape()) count *= dim;
    const auto type = tensor(id).type();
    return count * (type == 0 || type == 2 ? 4 : type == 7 ? 2 : type == 4 ? 8 : 1);
  }
  // The numbers of metadata OfflineMemoryAllocation.
  [[nodiscard]] std::vector<std::int32_t> arena() const {
    std::vector<std::int32_t> numbers;
    for (const tflite::Metadata* entry : *model().metadata()) {
      if (entry->name()->str() != "OfflineMemoryAllocation") continue;
      const auto* const bytes = model().buffers()->Get(entry->buffer())->data();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes->data()) % 16,
                reinterpret_cast<std::uintptr_t>(bytes_.data()) % 16);
      numbers.resize(bytes->size() / 4);
      std::memcpy(numbers.data(), bytes->data(), bytes->size());
    }
    return numbers;
  }

 private:
  std::vector<std::byte> bytes_;
};

struct Written {
  compiler::Graph original, compiled;
  compiler::WrittenTflite file;
};
Result<Written> write(const compiler::Graph& graph, ethos_u::Options options) {
  options.borders_in_scratch = true;
  RUNNEL_ASSIGN(auto compiled, ethos_u::compile(graph, options));
  RUNNEL_ASSIGN(auto file, compiler::write_tflite(compiled.graph));
  return Written{graph, std::move(compiled.graph), std::move(file)};
}
Result<compiler::Graph> network(const char* name) {
  RUNNEL_ASSIGN(auto imported,
                compiler::import_file(data_folder() / "ethosu/models" / (std::string(name) + ".tflite"), {}));
  return std::move(imported.graph);
}
Status same_after_reading(const Written& written) {
  RUNNEL_ASSIGN(const compiler::Graph read, compiler::import_tflite(written.file.bytes));
  return compiler::check_same_results(written.original, read, 1, 5, npu::simulating_operators());
}

// Memory of the arena is not needed by two at a time: what is alive while a segment runs is outside of its
// scratch memory, but for its own inputs and outputs.
void expect_arena(const File& file, std::size_t bytes) {
  const auto arena = file.arena();
  const auto count = static_cast<std::int32_t>(file.graph().tensors()->size());
  ASSERT_EQ(arena.size(), static_cast<std::size_t>(count) + 3);
  EXPECT_EQ(arena[0], 0) << "version";
  EXPECT_EQ(arena[1], 1) << "graphs";
  EXPECT_EQ(arena[2], count);
  const auto operators = static_cast<int>(file.graph().operators()->size());
  std::vector<int> first(static_cast<std::size_t>(count), operators + 1),
      last(static_cast<std::size_t>(count), -1);
  std::vector<bool> scratch(static_cast<std::size_t>(count));
  const auto use = [&](std::int32_t tensor, int step) {
    first[static_cast<std::size_t>(tensor)] = std::min(first[static_cast<std::size_t>(tensor)], step);
    last[static_cast<std::size_t>(tensor)] = std::max(last[static_cast<std::size_t>(tensor)], step);
  };
  for (const std::int32_t tensor : *file.graph().inputs()) use(tensor, -1);
  for (const std::int32_t tensor : *file.graph().outputs()) use(tensor, operators);
  for (int step = 0; step < operators; ++step) {
    const tflite::Operator& op = *file.graph().operators()->Get(static_cast<flatbuffers::uoffset_t>(step));
    for (const std::int32_t tensor : *op.inputs()) use(tensor, step);
    for (const std::int32_t tensor : *op.outputs()) use(tensor, step);
    if (file.is_custom(op))
      scratch[static_cast<std::size_t>(op.inputs()->Get(2))] =
          scratch[static_cast<std::size_t>(op.inputs()->Get(3))] = true;
  }
  const auto at = [&](std::int32_t tensor) {
    return std::int64_t{arena[static_cast<std::size_t>(tensor) + 3]};
  };
  const auto overlap = [&](std::int32_t a, std::int32_t b) {
    return at(a) < at(b) + file.size(b) && at(b) < at(a) + file.size(a);
  };
  for (std::int32_t t = 0; t < count; ++t) {
    const bool constant = !file.data(file.tensor(t)).empty();
    if (constant) {
      EXPECT_EQ(at(t), -1);
      continue;
    }
    EXPECT_GE(at(t), 0) << file.tensor(t).name()->str();
    EXPECT_EQ(at(t) % 16, 0) << file.tensor(t).name()->str();
    EXPECT_LE(at(t) + file.size(t), static_cast<std::int64_t>(bytes));
  }
  for (int step = 0; step < operators; ++step) {
    const tflite::Operator& op = *file.graph().operators()->Get(static_cast<flatbuffers::uoffset_t>(step));
    for (std::int32_t t = 0; t < count; ++t) {
      const auto i = static_cast<std::size_t>(t);
      if (at(t) < 0 || scratch[i] || first[i] >= step || last[i] <= step) continue;
      // Alive before and after this operator: nobody may write there.
      for (const std::int32_t y : *op.outputs()) EXPECT_FALSE(overlap(t, y)) << t << " and " << y;
      if (!file.is_custom(op)) continue;
      for (const flatbuffers::uoffset_t which : {2u, 3u})
        EXPECT_FALSE(overlap(t, op.inputs()->Get(which)))
            << file.tensor(t).name()->str() << " is needed after operator " << step;
    }
    if (file.is_custom(op)) continue;
    for (const std::int32_t x : *op.inputs()) {
      for (const std::int32_t y : *op.outputs()) {
        EXPECT_TRUE(at(x) < 0 || !overlap(x, y)) << "operator " << step;
      }
    }
  }
}

TEST(TfliteFiles, HaveWhatTheKernelLooksAt) {
  RUNNEL_NEEDS_DATA();
  const auto graph = network("kws_ref_model");
  ASSERT_TRUE(graph.ok());
  const auto written = write(*graph, npu_options("ethos-u55-128"));
  ASSERT_TRUE(written.ok()) << written.status().text();
  const auto& bytes = written->file.bytes;
  EXPECT_EQ(std::memcmp(bytes.data() + 4, "TFL3", 4), 0);
  const File file(bytes);
  EXPECT_EQ(file.model().version(), 3u);
  EXPECT_NE(file.model().description()->str().find("ethos-u55-128"), std::string::npos);
  ASSERT_EQ(file.model().operator_codes()->size(), 1u);
  const tflite::OperatorCode& code = *file.model().operator_codes()->Get(0);
  EXPECT_EQ(code.builtin_code(), kCustom);
  EXPECT_EQ(code.deprecated_builtin_code(), kCustom);
  EXPECT_EQ(code.custom_code()->str(), "ethos-u");
  EXPECT_EQ(code.version(), 1);
  ASSERT_EQ(file.graph().operators()->size(), 1u);
  const tflite::Operator& op = *file.graph().operators()->Get(0);
  const std::vector<std::uint8_t> options(op.custom_options()->begin(), op.custom_options()->end());
  EXPECT_EQ(options, (std::vector<std::uint8_t>{1, 4, 1})) << "the number 1 as a FlexBuffer";
  EXPECT_EQ(op.custom_options_format(), 0) << "FlexBuffers";
  ASSERT_EQ(op.inputs()->size(), 5u);
  const auto commands = file.data(file.tensor(op.inputs()->Get(0))),
             flash = file.data(file.tensor(op.inputs()->Get(1)));
  EXPECT_EQ(std::memcmp(commands.data(), "COP1", 4), 0);
  EXPECT_EQ(file.place(commands) % 16, 0u);
  EXPECT_EQ(file.place(flash) % 16, 0u);
  for (const flatbuffers::uoffset_t i : {0u, 1u, 2u, 3u})
    EXPECT_EQ(file.tensor(op.inputs()->Get(i)).type(), 3) << "uint8";
  for (const flatbuffers::uoffset_t i : {2u, 3u}) EXPECT_EQ(file.tensor(op.inputs()->Get(i)).buffer(), 0u);
  EXPECT_EQ(file.model().buffers()->Get(0)->data(), nullptr);
  // The network's own: order, types, scales, and places inside the scratch memory.
  EXPECT_EQ(op.inputs()->Get(4), file.graph().inputs()->Get(0));
  EXPECT_EQ(op.outputs()->Get(0), file.graph().outputs()->Get(0));
  const tflite::Tensor &in = file.tensor(op.inputs()->Get(4)), &out = file.tensor(op.outputs()->Get(0));
  EXPECT_EQ(in.name()->str(), "input_1");
  EXPECT_EQ(in.type(), 9) << "int8";
  EXPECT_FLOAT_EQ(in.quantization()->scale()->Get(0), 0.5847029f);
  EXPECT_EQ(in.quantization()->zero_point()->Get(0), 83);
  EXPECT_EQ(out.quantization()->zero_point()->Get(0), -128);
  const auto arena = file.arena();
  const auto at = [&](std::int32_t tensor) { return arena.at(static_cast<std::size_t>(tensor) + 3); };
  const std::int32_t scratch = op.inputs()->Get(2);
  for (const std::int32_t tensor : {op.inputs()->Get(4), op.outputs()->Get(0)}) {
    EXPECT_GE(at(tensor), at(scratch));
    EXPECT_LE(at(tensor) + file.size(tensor), at(scratch) + file.size(scratch));
  }
  EXPECT_EQ(at(op.inputs()->Get(3)), at(scratch)) << "no fast memory apart";
  expect_arena(file, written->file.arena);
}

// Two inputs of one type, for either generation: the operator has them in the order of the network, after its
// four own, and the payload names the device.
TEST(TfliteFiles, SeveralInputsKeepTheirOrder) {
  RUNNEL_NEEDS_DATA();
  for (const char* device : {"ethos-u55-128", "ethos-u65-256", "ethos-u85-256", "ethos-u85-2048"}) {
    SCOPED_TRACE(device);
    const auto graph = network("seanet_add0_int16");
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    ASSERT_EQ(graph->inputs.size(), 2u);
    const auto written = write(*graph, npu_options(device));
    ASSERT_TRUE(written.ok()) << written.status().text();
    const File file(written->file.bytes);
    ASSERT_EQ(file.graph().operators()->size(), 1u);
    const tflite::Operator& op = *file.graph().operators()->Get(0);
    ASSERT_EQ(op.inputs()->size(), 6u);
    const auto arena = file.arena();
    const auto at = [&](std::int32_t tensor) { return arena.at(static_cast<std::size_t>(tensor) + 3); };
    const std::int32_t scratch = op.inputs()->Get(2);
    for (flatbuffers::uoffset_t i = 0; i < 2; ++i) {
      const std::int32_t input = op.inputs()->Get(4 + i);
      EXPECT_EQ(input, file.graph().inputs()->Get(i));
      EXPECT_EQ(file.tensor(input).name()->str(),
                graph->tensors[static_cast<std::size_t>(graph->inputs[i])].name);
      EXPECT_EQ(file.tensor(input).type(), 7) << "int16";
      EXPECT_EQ(at(input) % 16, 0);
      EXPECT_GE(at(input), at(scratch));
      EXPECT_LE(at(input) + file.size(input), at(scratch) + file.size(scratch));
    }
    EXPECT_EQ(op.outputs()->Get(0), file.graph().outputs()->Get(0));
    const std::int32_t first = op.inputs()->Get(4), second = op.inputs()->Get(5);
    EXPECT_TRUE(at(first) + file.size(first) <= at(second) || at(second) + file.size(second) <= at(first));
    const auto payload = npu::read_payload(file.data(file.tensor(op.inputs()->Get(0))));
    ASSERT_TRUE(payload.ok()) << payload.status().text();
    const auto accelerator = npu::find_accelerator(payload->config);
    ASSERT_TRUE(accelerator.ok());
    EXPECT_EQ((*accelerator)->name, device);
    expect_arena(file, written->file.arena);
    const Status same = same_after_reading(*written);
    EXPECT_TRUE(same.ok()) << same.text();
  }
}

TEST(TfliteFiles, FastScratchMemoryHasAPlaceOfItsOwn) {
  RUNNEL_NEEDS_DATA();
  const auto graph = network("kws_ref_model");
  ASSERT_TRUE(graph.ok());
  const auto written = write(*graph, npu_options("ethos-u65-256", "Dedicated_Sram"));
  ASSERT_TRUE(written.ok()) << written.status().text();
  const File file(written->file.bytes);
  const auto& inputs = *file.graph().operators()->Get(0)->inputs();
  const auto arena = file.arena();
  EXPECT_NE(arena.at(static_cast<std::size_t>(inputs.Get(3)) + 3),
            arena.at(static_cast<std::size_t>(inputs.Get(2)) + 3));
  expect_arena(file, written->file.arena);
  const Status same = same_after_reading(*written);
  EXPECT_TRUE(same.ok()) << same.text();
}

// Networks of TensorFlow Lite, as a whole and with kinds of operators left to the CPU.
TEST(TfliteFiles, GiveTheBytesOfTheOriginal) {
  RUNNEL_NEEDS_DATA();
  for (const char* name : {"kws_ref_model", "person_detect", "str_ww_ref_model", "ad01_int8",
                           "micro_speech_quantized", "hello_world_int8", "seanet_add0_int16"}) {
    const auto graph = network(name);
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    for (const std::vector<std::string>& forbidden : {std::vector<std::string>{},
                                                      {"softmax"},
                                                      {"conv"},
                                                      {"average_pool", "fully_connected"},
                                                      {"reshape"}}) {
      auto options = npu_options(forbidden.size() % 2 == 0 ? "ethos-u55-128" : "ethos-u65-512");
      options.forbidden_operators = forbidden;
      const auto written = write(*graph, options);
      if (!written.ok() &&
          written.status().text().find("no operator can be computed") != std::string_view::npos)
        continue;
      ASSERT_TRUE(written.ok()) << name << ": " << written.status().text();
      const Status same = same_after_reading(*written);
      EXPECT_TRUE(same.ok()) << name << ": " << same.text();
      expect_arena(File(written->file.bytes), written->file.arena);
    }
  }
}

// Random networks of which random operators stay on the CPU: several segments, tensors that some of them
// need in different places.
TEST(TfliteFiles, GiveTheBytesOfRandomNetworks) {
  int written_files = 0, segments = 0, copies = 0, builtins = 0;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const compiler::Graph graph = random_network({true, false}, seed);
    auto options = npu_options((seed % 3 == 2 ? kU85 : kU55AndU65).of(seed / 3), kMemoryModes[seed / 6 % 3]);
    std::mt19937 random(seed);
    std::map<std::string, bool> stays;
    options.allow = [&](const compiler::Graph&, const compiler::Node& node) {
      return !stays.try_emplace(node.name, random() % 3 == 0).first->second;
    };
    const auto written = write(graph, options);
    if (!written.ok()) {
      EXPECT_EQ(written.status().code(), Code::unsupported) << written.status().text();
      continue;
    }
    ++written_files;
    const File file(written->file.bytes);
    for (const tflite::Operator* op : *file.graph().operators())
      (file.is_custom(*op) ? segments : builtins) += 1;
    copies += written->file.notes.empty() ? 0 : 1;
    expect_arena(file, written->file.arena);
    const Status same = same_after_reading(*written);
    EXPECT_TRUE(same.ok()) << same.text();
  }
  EXPECT_GT(written_files, 40);
  EXPECT_GT(segments, written_files);
  EXPECT_GT(builtins, written_files);
  EXPECT_GT(copies, 3);
}

TEST(TfliteFiles, WhatTensorFlowLiteDoesNotHaveIsRefusedByName) {
  int refused = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const compiler::Graph graph = random_network({false, false}, seed);  // powers of two
    auto options = npu_options("ethos-u55-128");
    const std::string name = graph.nodes.back().name;
    options.allow = [&](const compiler::Graph&, const compiler::Node& node) { return node.name != name; };
    const auto written = write(graph, options);
    if (written.ok()) {
      const Status same = same_after_reading(*written);
      EXPECT_TRUE(same.ok()) << same.text();
      continue;
    }
    refused += written.status().text().find("\"" + name + "\"") != std::string_view::npos ? 1 : 0;
  }
  EXPECT_GT(refused, 2);
  compiler::Graph plain = random_network({true, false}, 1);
  EXPECT_FALSE(compiler::write_tflite(plain).ok()) << "no segment";
}

}  // namespace
}  // namespace runnel::test
