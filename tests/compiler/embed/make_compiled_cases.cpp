// make_compiled_cases FOLDER [MODEL.rnl]...: compiles models of every operator, random graphs and small
// attention networks into constants, or the given models instead. Writes the models, C++ with their compiled
// forms, and the list of both that compiled_cases_test.cpp reads; and what was refused.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "compiler/embed/compiled_model.h"
#include "compiler/ir/shapes.h"
#include "compiler/quantize/integer_form.h"
#include "compiler/quantize/quantize.h"
#include "compiler/write/writer.h"
#include "inference/host/operator_traits.h"
#include "inference/ops/definitions.h"
#include "tests/inference/graph_builder.h"
#include "tests/inference/ops/operator_cases.h"
#include "tests/inference/random_graph.h"

namespace runnel {
namespace {

using compiler::TensorId;
using test::GraphBuilder;
namespace fs = std::filesystem;

constexpr int kFiles = 4;
constexpr std::int64_t kBlocks[] = {1, 3};  // times the model's smallest

class Writer {
 public:
  explicit Writer(fs::path folder) : folder_(std::move(folder)) { fs::create_directories(folder_); }

  // For every size of blocks.
  void add(const std::string& name, const compiler::Graph& graph,
           const compiler::StreamOptions& stream = {}) {
    compiler::WriteOptions write;
    write.stream = stream;
    write.stream.required = true;
    const auto written = compiler::write_model(graph, write);
    if (!written.ok()) return refuse(name, written.status());
    add(name, written->bytes);
  }

  void add(const std::string& name, const std::vector<std::byte>& bytes) {
    const auto model = OwnedModel::from_bytes(bytes);
    if (!model.ok()) return refuse(name, model.status());
    const std::string file = fmt::format("{}.rnl", number_);
    std::ofstream(folder_ / file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const Model& of = (*model)->model();
    for (const std::int64_t times : kBlocks) {
      compiler::CompileOptions options;
      options.scope = fmt::format("Model{}x{}", number_, times);
      options.array = fmt::format("kBytes{}x{}", number_, times);
      options.chunk = times * of.plan()->block_multiple();
      options.output = std::string(of.tensor_name(of.outputs()[0]));
      options.given = of.tensor(of.inputs()[0]).dtype;
      options.given_exponent = of.tensor(of.inputs()[0]).exponent();
      const auto compiled = compiler::compile_model(of, options);
      if (!compiled.ok()) return refuse(name, compiled.status());
      std::string& source = sources_[static_cast<std::size_t>(number_ % kFiles)];
      source += constants(options.array, compiled->constants) + compiled->definitions;
      rows_[static_cast<std::size_t>(number_ % kFiles)] +=
          fmt::format("    {{\"{}\", \"{}\", {}, &{}::kModel}},\n", name, file, options.chunk, options.scope);
    }
    ++number_;
  }

  void finish() const {
    for (int i = 0; i < kFiles; ++i) {
      const auto at = static_cast<std::size_t>(i);
      std::ofstream(folder_ / fmt::format("cases{}.cpp", i))
          << "#include \"inference/ops/bound.h\"\n#include \"kernels/elementwise/rom_elementwise.h\"\n"
             "#include \"kernels/rom_kernels.h\"\n#include \"tests/compiler/embed/compiled_cases.h\"\n\n"
             "namespace {\n\nusing namespace runnel;\nusing namespace runnel::pipeline;\n\n"
          << sources_[at] << "\n}  // namespace\n\n"
          << fmt::format(
                 "std::span<const runnel::test::CompiledCase> runnel::test::compiled_cases_{}() {{\n"
                 "  static const CompiledCase kCases[] = {{\n{}  }};\n  return kCases;\n}}\n",
                 i, rows_[at]);
    }
    std::ofstream(folder_ / "refused.txt") << refused_;
  }

 private:
  static std::string constants(const std::string& array, const std::vector<std::byte>& bytes) {
    std::string out = fmt::format("alignas(16) constexpr unsigned char {}[] = {{", array);
    for (const std::byte byte : bytes) out += fmt::format("{},", std::to_integer<int>(byte));
    return out + (bytes.empty() ? "0};\n" : "};\n");
  }
  void refuse(const std::string& name, const Status& status) {
    refused_ += name + ": " + std::string(status.text()) + '\n';
  }

  fs::path folder_;
  int number_ = 0;
  std::string sources_[kFiles], rows_[kFiles], refused_;
};

// Compiled models have one input: the streams of `graph` become slices of one. Other graphs stay.
compiler::Graph with_one_input(compiler::Graph graph) {
  if (graph.inputs.size() < 2) return graph;
  const auto tensor = [&](TensorId id) -> compiler::Tensor& {
    return graph.tensors[static_cast<std::size_t>(id)];
  };
  std::int32_t channels = 0;
  for (const TensorId id : graph.inputs) {
    const compiler::Tensor& x = tensor(id);
    if (x.dtype != tensor(graph.inputs[0]).dtype || x.shape.size() < 3 || x.shape[0] != 1 ||
        x.shape[1] != test::kCaseFrames)
      return graph;
    std::int32_t values = 1;
    for (std::size_t axis = 2; axis < x.shape.size(); ++axis) values *= x.shape[axis];
    channels += values;
  }
  compiler::Tensor all = tensor(graph.inputs[0]);
  all.name = "all";
  all.shape = {1, test::kCaseFrames, channels};
  graph.tensors.push_back(all);
  const auto whole = static_cast<TensorId>(graph.tensors.size() - 1);
  std::vector<compiler::Node> nodes;
  std::int32_t begin = 0;
  for (const TensorId id : graph.inputs) {
    std::int32_t values = 1;
    for (std::size_t axis = 2; axis < tensor(id).shape.size(); ++axis) values *= tensor(id).shape[axis];
    compiler::Tensor part = tensor(id);
    part.name += "_part";
    part.shape = {1, test::kCaseFrames, values};
    graph.tensors.push_back(part);
    const auto made = static_cast<TensorId>(graph.tensors.size() - 1);
    nodes.push_back({"cut",
                     OpCode::slice,
                     Arithmetic::espdl,
                     {whole},
                     {made},
                     compiler::SliceOptions{{0, 0, begin}, {1, 1, 1}}});
    nodes.push_back({"shape", OpCode::reshape, Arithmetic::espdl, {made}, {id}, {}});
    begin += values;
  }
  graph.nodes.insert(graph.nodes.begin(), nodes.begin(), nodes.end());
  graph.inputs = {whole};
  return graph;
}

// Normalization, attention of two heads over a window, GLU and a residual sum, quantized.
void add_networks(Writer& out) {
  using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
  constexpr int kFrames = 24, kHeads = 2, kChannels = 4, kWidth = 8;
  for (const auto& window : {compiler::AttentionWindow{6, 1, 1}, compiler::AttentionWindow{5, 0, 2}}) {
    for (const Scheme scheme : {Scheme::affine, Scheme::pow2}) {
      for (const DType type : {DType::int8, DType::int16}) {
        GraphBuilder b(21, DType::float32);
        const TensorId x = b.input({1, kFrames, kWidth});
        const auto like = [&](std::vector<std::int32_t> shape) { return b.tensor(std::move(shape), 0); };
        compiler::NormOptions norm;
        norm.axis = 2;
        norm.epsilon = 1e-5f;
        const TensorId normal = like({1, kFrames, kWidth});
        b.node(OpCode::layer_norm,
               {x, b.constant({kWidth}, DType::float32, {}, -1, 100),
                b.constant({kWidth}, DType::float32, {}, -1, 100)},
               {normal}, norm);
        const auto heads = [&](bool keys) {
          return b.transpose(
              b.reshape(b.conv(normal, kWidth, {}), {1, kFrames, kHeads, kChannels}),
              keys ? std::vector<std::uint8_t>{0, 2, 3, 1} : std::vector<std::uint8_t>{0, 2, 1, 3});
        };
        const TensorId q = heads(false), k = heads(true), v = heads(false);
        const TensorId scores = like({1, kHeads, kFrames, kFrames}),
                       weights = like({1, kHeads, kFrames, kFrames}),
                       sum = like({1, kHeads, kFrames, kChannels});
        b.node(OpCode::matmul, {q, k}, {scores}, compiler::FullyConnectedOptions{});
        b.node(OpCode::softmax, {scores}, {weights}, compiler::AxisOptions{3});
        b.node(OpCode::matmul, {weights, v}, {sum}, compiler::FullyConnectedOptions{});
        const TensorId joined = b.reshape(b.transpose(sum, {0, 2, 1, 3}), {1, kFrames, kWidth});
        const TensorId more = b.binary(OpCode::add, joined, x), dense = b.conv(more, 2 * kWidth, {}),
                       left = like({1, kFrames, kWidth}), right = like({1, kFrames, kWidth}),
                       gate = like({1, kFrames, kWidth}), glu = like({1, kFrames, kWidth}),
                       y = like({1, kFrames, kWidth});
        b.node(OpCode::split, {dense}, {left, right}, compiler::AxisOptions{2});
        b.node(OpCode::sigmoid, {right}, {gate}, {});
        b.node(OpCode::mul, {left, gate}, {glu}, compiler::BinaryOptions{});
        b.node(OpCode::swish, {glu}, {y}, {});
        b.output(y);
        compiler::Graph graph = b.graph();
        std::mt19937 random(4);
        std::normal_distribution<float> normals;
        std::vector<Clip> clips;
        for (int i = 0; i < 6; ++i) {
          std::vector<float> clip(kFrames * kWidth);
          for (float& value : clip) value = normals(random);
          clips.push_back({std::move(clip)});
        }
        compiler::StreamOptions stream;
        stream.attention = window;
        Options options;
        options.target = *target_rules("generic");
        options.scheme = scheme;
        options.type = type;
        options.methods = Methods{};
        options.methods->equalize = options.methods->search = options.methods->round = false;
        options.methods->correct_bias = false;
        const std::string name = fmt::format("network {} {}", scheme == Scheme::affine ? "affine" : "pow2",
                                             type == DType::int8 ? "int8" : "int16");
        if (const auto notes = take_integer_form(options.target, stream, graph); !notes.ok()) {
          std::cerr << notes.status().text() << '\n';
          std::exit(1);
        }
        const auto made = quantize(graph, MemoryClips(std::move(clips)), options);
        if (!made.ok()) {
          std::cerr << made.status().text() << '\n';
          std::exit(1);
        }
        out.add(name, made->graph, stream);
      }
    }
  }
}

}  // namespace
}  // namespace runnel

int main(int count, char** arguments) {
  using namespace runnel;  // NOLINT(google-build-using-namespace)
  Writer out(arguments[1]);
  for (int i = 2; i < count; ++i) {
    std::ifstream in(arguments[i], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    out.add(fs::path(arguments[i]).stem().string(), bytes);
  }
  if (count > 2) {
    out.finish();
    return 0;
  }
  for (const OperatorDefinition* const definition : all_operators()) {
    for (test::OperatorCase& one : test::operator_cases(*definition)) {
      if (!one.steps) out.add("operator " + one.name, with_one_input(std::move(one.graph)));
    }
  }
  add_networks(out);
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    for (const DType type : {DType::int8, DType::int16}) {
      test::RandomGraph random(seed, type);
      if (random.legal())
        out.add(fmt::format("random {} {}{}", seed, type == DType::int8 ? "int8" : "int16", random.story()),
                random.builder().graph());
    }
  }
  out.finish();
  return 0;
}
