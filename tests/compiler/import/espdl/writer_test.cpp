// Written files, decoded with nothing but the schema: every rule of the format, one by one. And what is
// refused.
#include "compiler/write/espdl/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <string>

#include "base/host/crypto.h"
#include "compiler/espdl/espdl_generated.h"
#include "compiler/espdl/package.h"
#include "compiler/import/espdl/importer.h"
#include "compiler/ir/model_graph.h"
#include "compiler/write/espdl/package_writer.h"
#include "compiler/write/writer.h"
#include "inference/host/engine.h"
#include "tests/compiler/import/espdl/decoded.h"
#include "tests/compiler/import/espdl/graph_maker.h"

namespace runnel {
namespace {

using compiler::EspdlTarget;
using compiler::Graph;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace test;  // NOLINT(google-build-using-namespace)

compiler::EspdlWritten write(const Graph& graph, EspdlTarget target) {
  auto written = compiler::write_espdl(graph, {.target = target});
  EXPECT_TRUE(written.ok()) << written.status().text();
  EXPECT_THAT(written->refusals, ElementsAre());
  return written.ok() ? *written : compiler::EspdlWritten();
}

std::int64_t weight(const Graph& graph, compiler::TensorId id, std::size_t index) {
  const compiler::Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
  std::int64_t value = 0;
  if (tensor.dtype == DType::int8)
    value = static_cast<std::int8_t>((*tensor.data)[index]);
  else
    std::memcpy(&value, tensor.data->data() + index * 2, 2), value = static_cast<std::int16_t>(value);
  return value;
}

// Where element (n, t, c) of [N][taps][C] weights stands, from the format's own description. align: 0 for
// target c.
std::int64_t place_of(std::int64_t n, std::int64_t t, std::int64_t c, std::int64_t N, std::int64_t taps,
                      std::int64_t C, bool depthwise, int align) {
  const std::int64_t aligned = align > 0 ? N / align * align : 0;
  if (align == 0) return depthwise ? t * N + n : (n * taps + t) * C + c;         // WCN, NWC
  if (n < aligned) return ((n / align * taps + t) * C + c) * align + n % align;  // (N/A)WC<A>
  if (depthwise) return aligned * taps + t * (N - aligned) + (n - aligned);      // tail [1][W][n]
  return (n * taps + t) * C + c;                                                 // tail [n][W][C]
}

compiler::TensorId find_tensor(const Graph& graph, const std::string& name) {
  const auto source = std::find_if(graph.tensors.begin(), graph.tensors.end(),
                                   [&](const compiler::Tensor& tensor) { return tensor.name == name; });
  return static_cast<compiler::TensorId>(source - graph.tensors.begin());
}

// Every element of [N][kh][kw][C] weights at the place that the layout gives it.
void expect_layout(const Decoded& file, const Graph& graph, const std::string& node, bool depthwise,
                   int align, const std::string& name, std::vector<std::int64_t> dims) {
  const espdl::Tensor& stored = file.constant(node + ".weight");
  EXPECT_EQ(stored.doc_string()->str(), "layout ==> " + name);
  EXPECT_EQ(numbers(stored.dims()), dims);
  const compiler::TensorId id = find_tensor(graph, node + ".weight");
  const compiler::Tensor& source = graph.tensors[static_cast<std::size_t>(id)];
  const std::int64_t N = source.shape[0],
                     taps = source.shape.size() == 4 ? source.shape[1] * source.shape[2] : 1,
                     C = source.shape.back();
  const std::size_t element = size_of(source.dtype);
  EXPECT_EQ(stored.raw_data()->size(), (static_cast<std::size_t>(N * taps * C) * element + 15) / 16);
  for (std::int64_t n = 0; n < N; ++n) {
    for (std::int64_t t = 0; t < taps; ++t) {
      for (std::int64_t c = 0; c < C; ++c) {
        const std::int64_t at = place_of(n, t, c, N, taps, C, depthwise, align);
        ASSERT_EQ(raw(stored, static_cast<std::size_t>(at), element),
                  weight(graph, id, static_cast<std::size_t>((n * taps + t) * C + c)))
            << name << " " << n << " " << t << " " << c;
      }
    }
  }
}

Graph network(DType type, EspdlTarget target, int channels) {
  const bool p4 = target == EspdlTarget::esp32p4;
  GraphMaker maker(type, p4 ? kernels::Rounding::half_even : kernels::Rounding::half_up);
  const auto x = maker.input({1, 10, channels}, type == DType::int8 ? -5 : -12);
  const auto a = maker.conv("conv", x, channels, 3, {.pad_left = 2, .activation = Activation::relu}, p4);
  const auto b =
      maker.conv("depthwise", a, channels, 5, {.dilation_width = 2, .pad_left = 8, .groups = channels}, p4);
  return maker.graph({maker.fully_connected("gemm", b, 7, p4)});
}

TEST(EspdlWriter, LayoutsOfEveryTargetAndWidth) {
  for (const int channels : {16, 20, 5}) {
    for (const DType type : {DType::int8, DType::int16}) {
      const int align = type == DType::int8 ? 16 : 8;
      const std::string a = std::to_string(align), tail = channels % align != 0 ? "_UNALIGNED" : "";
      const Graph plain = network(type, EspdlTarget::c, channels);
      const Decoded c(write(plain, EspdlTarget::c).bytes);
      expect_layout(c, plain, "conv", false, 0, "NWC", {3, channels, channels});
      expect_layout(c, plain, "depthwise", true, 0, "WCN", {5, channels, 1});
      expect_layout(c, plain, "gemm", false, 0, "NHWC", {1, 1, channels, 7});
      for (const EspdlTarget target : {EspdlTarget::esp32s3, EspdlTarget::esp32p4}) {
        const Graph graph = network(type, target, channels);
        const Decoded file(write(graph, target).bytes);
        expect_layout(file, graph, "conv", false, align, "(N/" + a + ")WC" + a + tail,
                      {3, channels, channels});
        expect_layout(file, graph, "depthwise", true, align, "(N/" + a + ")WC" + a + tail, {5, channels, 1});
        expect_layout(file, graph, "gemm", false, align, "(N/" + a + ")HWC" + a + "_UNALIGNED",
                      {1, 1, channels, 7});
      }
    }
  }
}

TEST(EspdlWriter, TwoDimensionalLayouts) {
  for (const int channels : {16, 20}) {
    GraphMaker maker(DType::int8, kernels::Rounding::half_up);
    const auto x = maker.input({1, 6, 7, channels}, -5);
    const auto a =
        maker.conv("conv", x, channels, 3, {.pad_top = 1, .pad_left = 2, .pad_bottom = 0, .pad_right = 1});
    const Graph graph = maker.graph({maker.conv("depthwise", a, channels, 3, {.groups = channels})});
    const std::string tail = channels % 16 != 0 ? "_UNALIGNED" : "";
    const Decoded c(write(graph, EspdlTarget::c).bytes), s3(write(graph, EspdlTarget::esp32s3).bytes);
    expect_layout(c, graph, "conv", false, 0, "NHWC", {3, 3, channels, channels});
    expect_layout(c, graph, "depthwise", true, 0, "HWCN", {3, 3, channels, 1});
    expect_layout(s3, graph, "conv", false, 16, "(N/16)HWC16" + tail, {3, 3, channels, channels});
    expect_layout(s3, graph, "depthwise", true, 16, "(N/16)HWC16" + tail, {3, 3, channels, 1});
    // ONNX's order: top, left, bottom, right.
    EXPECT_THAT(numbers(attribute(s3.node("conv"), "pads")->ints()), ElementsAre(1, 2, 0, 1));
  }
}

// [C, N] after an input of three axes, where there is no bias, and [2, C, N]: the layout of convolutions for
// every matrix, under the sizes of the product.
TEST(EspdlWriter, ConstantOperandsOfMatMulHaveTheLayoutOfWeights) {
  constexpr std::int64_t kInputs = 6;
  for (const std::int32_t outputs : {16, 20, 5}) {
    for (const DType type : {DType::int8, DType::int16}) {
      GraphMaker maker(type);
      const auto x = maker.input({2, 3, kInputs}, -5);
      const auto one = maker.fully_connected("one", x, outputs),
                 several = maker.matmul("several", x, maker.constant("matrices", {2, kInputs, outputs}, -6));
      Graph graph = maker.graph({one, several});
      graph.nodes[0].inputs.pop_back();  // its bias
      std::get<compiler::FullyConnectedOptions>(graph.nodes[0].options).activation = Activation::relu;
      const std::size_t element = size_of(type);
      for (const EspdlTarget target : {EspdlTarget::c, EspdlTarget::esp32s3}) {
        const int align = target == EspdlTarget::c ? 0 : type == DType::int8 ? 16 : 8;
        const std::string a = std::to_string(align),
                          layout = align == 0
                                       ? "NHWC"
                                       : "(N/" + a + ")HWC" + a + (outputs % align != 0 ? "_UNALIGNED" : "");
        const Decoded file(write(graph, target).bytes);
        for (const auto* const name : {"one", "several"}) {
          EXPECT_EQ(file.node(name).op_type()->str(), "MatMul");
          EXPECT_EQ(file.node(name).input()->size(), 2u) << "no bias";
        }
        EXPECT_EQ(text_of(file.node("one"), "activation"), "Relu");
        EXPECT_EQ(text_of(file.node("several"), "activation"), "Linear");
        expect_layout(file, graph, "one", false, align, layout, {kInputs, outputs});
        const espdl::Tensor& stored = file.constant("matrices");
        EXPECT_EQ(stored.doc_string()->str(), "layout ==> " + layout);
        EXPECT_THAT(numbers(stored.dims()), ElementsAre(2, kInputs, outputs));
        EXPECT_THAT(numbers(stored.exponents()), ElementsAre(-6));
        const compiler::TensorId id = find_tensor(graph, "matrices");
        for (std::int64_t matrix = 0; matrix < 2; ++matrix) {
          const std::int64_t first = matrix * kInputs * outputs;
          for (std::int64_t n = 0; n < outputs; ++n) {
            for (std::int64_t c = 0; c < kInputs; ++c) {
              const std::int64_t at = first + place_of(n, 0, c, outputs, 1, kInputs, false, align);
              ASSERT_EQ(raw(stored, static_cast<std::size_t>(at), element),
                        weight(graph, id, static_cast<std::size_t>(first + c * outputs + n)))
                  << layout << " " << matrix << " " << n << " " << c;
            }
          }
        }
      }
    }
  }
}

// The nodes before a product of two values, done to the numbers of the places: what arrives stands in
// the layout.
class Places {
 public:
  Places(const Decoded& file, const std::string& name) : file_(file) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(count(shape(name))));
    std::iota(places.begin(), places.end(), 0);
    values_[name] = std::move(places);
    for (const espdl::Node* node : *file.graph->node()) run(*node);
  }
  const std::vector<std::int64_t>& at(const std::string& name) { return values_[name]; }

 private:
  static std::int64_t count(const std::vector<std::int64_t>& dims) {
    return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  }
  std::vector<std::int64_t> shape(const std::string& name) const { return shape_of(file_.value(name)); }
  std::int64_t integer(const espdl::Node& node, int input) const {
    return raw(file_.constant(node.input()->Get(static_cast<std::uint32_t>(input))->str()), 0, 8);
  }
  void run(const espdl::Node& node) {
    const std::string op = node.op_type()->str(), from = node.input()->Get(0)->str(),
                      to = node.output()->Get(0)->str();
    if (op == "MatMul" || !values_.contains(from)) return;
    const std::vector<std::int64_t>& x = values_[from];
    std::vector<std::int64_t> y, dims = shape(from);
    if (op == "Reshape") {
      y = x;
    } else if (op == "Transpose") {
      const auto perm = numbers(attribute(node, "perm")->ints());
      std::vector<std::int64_t> stride(dims.size(), 1), out = shape(to);
      for (std::size_t i = dims.size(); i-- > 1;) stride[i - 1] = stride[i] * dims[i];
      for (std::int64_t i = 0; i < count(out); ++i) {
        std::int64_t rest = i, place = 0;
        for (std::size_t axis = out.size(); axis-- > 0; rest /= out[axis])
          place += rest % out[axis] * stride[static_cast<std::size_t>(perm[axis])];
        y.push_back(x[static_cast<std::size_t>(place)]);
      }
    } else if (op == "Slice") {  // of the last axis
      EXPECT_EQ(integer(node, 3), static_cast<std::int64_t>(dims.size()) - 1);
      for (std::int64_t row = 0; row < count(dims) / dims.back(); ++row) {
        for (std::int64_t i = integer(node, 1); i < integer(node, 2); ++i)
          y.push_back(x[static_cast<std::size_t>(row * dims.back() + i)]);
      }
    } else if (op == "Concat") {  // of the last axis
      const std::int64_t rows = count(dims) / dims.back();
      EXPECT_EQ(attribute(node, "axis")->i()->i(), static_cast<std::int64_t>(dims.size()) - 1);
      for (std::int64_t row = 0; row < rows; ++row) {
        for (const auto* name : *node.input()) {
          const std::vector<std::int64_t>& part = values_[name->str()];
          const auto size = static_cast<std::ptrdiff_t>(static_cast<std::int64_t>(part.size()) / rows);
          y.insert(y.end(), part.begin() + row * size, part.begin() + (row + 1) * size);
        }
      }
    } else {
      ADD_FAILURE() << op;
    }
    values_[to] = std::move(y);
  }

  const Decoded& file_;
  std::map<std::string, std::vector<std::int64_t>> values_;
};

TEST(EspdlWriter, ComputedOperandsOfMatMulAreBroughtIntoTheLayout) {
  constexpr std::int64_t kInputs = 6;
  for (const std::int32_t outputs : {16, 20, 5}) {
    GraphMaker maker;
    const auto x = maker.input({2, 3, kInputs}, -5), right = maker.input({2, kInputs, outputs}, -5);
    const Graph graph = maker.graph({maker.matmul("product", x, right)});
    for (const EspdlTarget target : {EspdlTarget::c, EspdlTarget::esp32s3}) {
      const int align = target == EspdlTarget::c ? 0 : 16;
      const Decoded file(write(graph, target).bytes);
      const std::string stored = file.node("product").input()->Get(1)->str();
      EXPECT_THAT(shape_of(file.value(stored)), ElementsAre(2, kInputs, outputs));
      const std::vector<std::int64_t> places = Places(file, "x1").at(stored);
      ASSERT_EQ(places.size(), static_cast<std::size_t>(2 * kInputs * outputs));
      for (std::int64_t i = 0; i < 2 * kInputs * outputs; ++i) {
        const std::int64_t first = i / (kInputs * outputs) * kInputs * outputs, c = (i - first) / outputs,
                           n = (i - first) % outputs;
        ASSERT_EQ(
            places[static_cast<std::size_t>(first + place_of(n, 0, c, outputs, 1, kInputs, false, align))], i)
            << outputs << " for " << align;
      }
    }
  }
}

TEST(EspdlWriter, ExponentsBiasesAndAttributes) {
  const Graph graph = network(DType::int8, EspdlTarget::esp32p4, 20);
  const Decoded file(write(graph, EspdlTarget::esp32p4).bytes);
  const auto w = numbers(file.constant("conv.weight").exponents()),
             b = numbers(file.constant("conv.bias").exponents());
  ASSERT_EQ(w.size(), 20u);
  ASSERT_EQ(b.size(), 20u);
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_EQ(b[i], w[i] + -5) << i;
  EXPECT_EQ(file.constant("conv.bias").data_type(), espdl::TensorDataType::INT32);
  EXPECT_EQ(file.constant("conv.bias").doc_string()->str(), "layout ==> UNK");
  EXPECT_THAT(numbers(file.value("x0").exponents()), ElementsAre(-5));
  EXPECT_THAT(shape_of(file.value("x0")), ElementsAre(1, 10, 20));
  EXPECT_THAT(shape_of(file.value("conv_out")), ElementsAre(1, 10, 20));
  const espdl::Node &conv = file.node("conv"), &gemm = file.node("gemm"), &depthwise = file.node("depthwise");
  EXPECT_EQ(conv.op_type()->str(), "Conv");
  EXPECT_EQ(text_of(conv, "quant_type"), "S8");
  EXPECT_EQ(text_of(conv, "activation"), "Relu");
  EXPECT_THAT(numbers(attribute(conv, "pads")->ints()), ElementsAre(2, 0));
  EXPECT_THAT(numbers(attribute(conv, "kernel_shape")->ints()), ElementsAre(3));
  EXPECT_THAT(numbers(attribute(depthwise, "dilations")->ints()), ElementsAre(2));
  EXPECT_EQ(attribute(depthwise, "group")->i()->i(), 20);
  EXPECT_EQ(text_of(depthwise, "activation"), "Linear");
  EXPECT_EQ(gemm.op_type()->str(), "Gemm");
  EXPECT_EQ(attribute(gemm, "alpha")->f()->f(), 1.0f);
  EXPECT_EQ(attribute(gemm, "transB")->i()->i(), 0);
  // 16 bits: biases of 64, attributes say so.
  const Decoded wide(write(network(DType::int16, EspdlTarget::esp32s3, 16), EspdlTarget::esp32s3).bytes);
  EXPECT_EQ(wide.constant("conv.bias").data_type(), espdl::TensorDataType::INT64);
  EXPECT_EQ(text_of(wide.node("conv"), "quant_type"), "S16");
  EXPECT_EQ(numbers(wide.constant("conv.weight").exponents()).size(), 1u);
}

TEST(EspdlWriter, WhatTheExporterLeavesOutIsThere) {
  const Decoded file(write(network(DType::int8, EspdlTarget::c, 16), EspdlTarget::c).bytes);
  ASSERT_NE(file.model->opset_import(), nullptr);
  EXPECT_EQ(file.model->opset_import()->Get(0)->version(), 18);
  EXPECT_EQ(file.model->producer_name()->str(), "runnel");
  std::map<std::string, std::string> metadata;
  for (const auto* entry : *file.model->metadata_props())
    metadata[entry->key()->str()] = entry->value()->str();
  EXPECT_EQ(metadata["target"], "c");
  // Bytes can be used in place: weights stand at multiples of 16 from the start of the FlatBuffer.
  for (const espdl::Tensor* tensor : *file.graph->initializer()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->raw_data()->Data()) % 16, 0u) << tensor->name()->str();
  }
}

TEST(EspdlWriter, TablesHaveTheirLengthsAndTheOutputsExponent) {
  for (const DType type : {DType::int8, DType::int16}) {
    GraphMaker maker(type);
    const auto x = maker.input({1, 4, 8}, -4);
    const Decoded file(write(maker.graph({maker.lut("swish", x)}), EspdlTarget::c).bytes);
    const espdl::Node& node = file.node("swish");
    EXPECT_EQ(node.op_type()->str(), "LUT");
    EXPECT_EQ(node.input()->size(), 1u);
    const espdl::Tensor& table = file.constant(text_of(node, "lut"));
    EXPECT_EQ(table.doc_string(), nullptr);
    EXPECT_THAT(numbers(table.exponents()), ElementsAre(-7));
    EXPECT_THAT(numbers(table.dims()), ElementsAre(type == DType::int8 ? 256 : 257));
    if (type == DType::int16) {
      EXPECT_EQ(attribute(node, "int16_lut_step")->i()->i(), 256);
    }
  }
}

TEST(EspdlWriter, TestValuesAreThereAndShapesAreRecomputedForChunks) {
  const Graph graph = network(DType::int8, EspdlTarget::c, 16);
  const Decoded whole(write(graph, EspdlTarget::c).bytes);
  ASSERT_EQ(whole.graph->test_inputs_value()->size(), 1u);
  ASSERT_EQ(whole.graph->test_outputs_value()->size(), 1u);
  EXPECT_EQ(whole.graph->test_inputs_value()->Get(0)->name()->str(), "x0");
  EXPECT_THAT(numbers(whole.graph->test_outputs_value()->Get(0)->dims()), ElementsAre(1, 10, 7));

  const auto written = compiler::write_espdl(graph, {.target = EspdlTarget::c, .chunk = 2});
  ASSERT_TRUE(written.ok()) << written.status().text();
  const Decoded stream(written->bytes);
  EXPECT_THAT(shape_of(*stream.graph->input()->Get(0)), ElementsAre(1, 2, 16));
  EXPECT_THAT(shape_of(*stream.graph->output()->Get(0)), ElementsAre(1, 2, 7));
  const espdl::Node& cache = *stream.graph->node()->Get(0);
  EXPECT_EQ(cache.op_type()->str(), "StreamingCache");
  EXPECT_EQ(attribute(cache, "window_size")->i()->i(), 3);
  EXPECT_EQ(attribute(cache, "frame_axis")->i()->i(), 1);
  EXPECT_THAT(shape_of(stream.value(cache.output()->Get(0)->str())), ElementsAre(1, 4, 16));
  EXPECT_THAT(numbers(attribute(stream.node("conv"), "pads")->ints()), ElementsAre(0, 0));
  // The first call under the names of the values, then the others.
  const auto& inputs = *stream.graph->test_inputs_value();
  ASSERT_GE(inputs.size(), 4u);
  EXPECT_EQ(inputs.Get(0)->name()->str(), "x0");
  EXPECT_EQ(inputs.Get(1)->name()->str(), "x0#1");
  EXPECT_EQ(inputs.Get(1)->doc_string()->str(), "call 1, frames along axis 1");
  EXPECT_THAT(numbers(inputs.Get(1)->dims()), ElementsAre(1, 2, 16));
  EXPECT_EQ(stream.graph->test_outputs_value()->size(), inputs.size());
}

TEST(EspdlWriter, RefusesEverythingThatCannotBeSaidByName) {
  GraphMaker maker;
  const auto x = maker.input({1, 8, 4}, -4);
  const auto a = maker.conv("grouped", x, 4, 3, {.groups = 2});
  const auto b = maker.node("exactly", OpCode::add, {a, a}, compiler::BinaryOptions{}, Arithmetic::exact);
  const auto c = maker.lut("interpolated", b, true);
  const auto d = maker.node("free", OpCode::relu, {c});
  maker.at(d).exponents.clear();
  maker.at(d).scales = {0.3f};
  maker.at(d).zero_points = {3};
  const auto e = maker.conv("channels", x, 4, 3, {}, true);
  const auto f = maker.conv("even", x, 4, 3, {});
  Graph graph = maker.graph({d, e, f});
  for (auto& node : graph.nodes) {
    if (node.name == "even") node.rounding = kernels::Rounding::half_even;
  }
  const auto written = compiler::write_espdl(graph, {.target = EspdlTarget::esp32s3});
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_TRUE(written->bytes.empty());
  EXPECT_THAT(written->refusals,
              testing::UnorderedElementsAre(HasSubstr("\"grouped\""), HasSubstr("\"exactly\""),
                                            HasSubstr("\"interpolated\""), HasSubstr("\"free\""),
                                            HasSubstr("\"channels\""), HasSubstr("\"even\"")));
  EXPECT_THAT(written->refusals, testing::Contains(HasSubstr("2 groups over 4 channels")));
  EXPECT_THAT(written->refusals, testing::Contains(HasSubstr("free scale")));
  EXPECT_FALSE(compiler::write_espdl(graph).ok()) << "no target";
}

// The quantizer's entry counts as the importer's does; a model for another target has none.
TEST(EspdlWriter, TheTargetIsThatOfTheQuantizer) {
  GraphMaker maker;
  const auto x = maker.input({1, 8, 4}, -4);
  Graph graph = maker.graph({maker.conv("c", x, 4, 3, {})});
  graph.metadata.emplace_back("quantize.target", "esp32");
  auto written = compiler::write_espdl(graph);
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_EQ(written->target, EspdlTarget::c);
  graph.metadata.emplace_back("espdl.target", "esp32s3");
  written = compiler::write_espdl(graph);
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_EQ(written->target, EspdlTarget::esp32s3) << "of the file that was imported last";
  graph.metadata = {{"quantize.target", "generic"}};
  written = compiler::write_espdl(graph);
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(std::string(written.status().text()),
              HasSubstr("no target, because the model was made for \"generic\": expected c (or esp32)"));
}

TEST(EspdlWriter, BiasesMustFitTheTargetsAccumulators) {
  GraphMaker maker;
  const auto x = maker.input({1, 8, 4}, -4);
  Graph graph = maker.graph({maker.conv("c", x, 4, 3, {})});
  for (auto& tensor : graph.tensors) {
    if (tensor.name == "c.bias") (*tensor.data)[2] = std::byte{0x20};  // 2^21
  }
  const auto s3 = compiler::write_espdl(graph, {.target = EspdlTarget::esp32s3}),
             c = compiler::write_espdl(graph, {.target = EspdlTarget::c});
  ASSERT_TRUE(s3.ok() && c.ok());
  EXPECT_THAT(s3->refusals, ElementsAre(HasSubstr("20 bits")));
  EXPECT_THAT(c->refusals, ElementsAre());
}

TEST(EspdlWriter, PipelineSettingsTravelInTheMetadata) {
  Graph graph = network(DType::int8, EspdlTarget::c, 16);
  graph.pipeline.front_end = "fbank preset=kaldi num_mel_bins=16";
  graph.pipeline.sample_rate = 16000;
  graph.pipeline.decision = "detect threshold=0.6";
  graph.pipeline.labels = {"a", "b c", "d", "e", "f", "g", "h"};
  graph.metadata.emplace_back("author", "someone");
  const auto again = compiler::import_espdl(write(graph, EspdlTarget::c).bytes);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(again->graph.pipeline.front_end, graph.pipeline.front_end);
  EXPECT_EQ(again->graph.pipeline.sample_rate, 16000);
  EXPECT_EQ(again->graph.pipeline.decision, graph.pipeline.decision);
  EXPECT_EQ(again->graph.pipeline.labels, graph.pipeline.labels);
  EXPECT_THAT(again->graph.metadata, testing::Contains(testing::Pair("author", "someone")));
}

TEST(EspdlWriter, EncryptedFilesNeedTheirKey) {
  if (!crypto::available()) GTEST_SKIP() << "SKIPPED: this build has no mbedTLS";
  const Graph graph = network(DType::int8, EspdlTarget::c, 16);
  const auto key = crypto::Key::from_hex("000102030405060708090a0b0c0d0e0f"),
             other = crypto::Key::from_hex("100102030405060708090a0b0c0d0e0f");
  ASSERT_TRUE(key.ok() && other.ok());
  compiler::EspdlWriteOptions options;
  options.target = EspdlTarget::c;
  options.key = &*key;
  const auto secret = compiler::write_espdl(graph, options);
  ASSERT_TRUE(secret.ok()) << secret.status().text();
  EXPECT_EQ(u32(secret->bytes, 4), 1u);
  EXPECT_FALSE(compiler::import_espdl(secret->bytes).ok());
  compiler::EspdlOptions read;
  read.key = *other;
  EXPECT_FALSE(compiler::import_espdl(secret->bytes, read).ok());
  read.key = *key;
  EXPECT_TRUE(compiler::import_espdl(secret->bytes, read).ok());
}

// The same graph comes back from its model file.
TEST(EspdlWriter, ModelFilesGiveTheirGraphBack) {
  Graph graph = network(DType::int8, EspdlTarget::esp32p4, 20);
  graph.metadata.emplace_back("espdl.target", "esp32p4");
  graph.pipeline.labels = {"a", "b", "c", "d", "e", "f", "g"};
  compiler::WriteOptions options;
  options.blocks.clear();
  const auto first = compiler::write_model(graph, options);
  ASSERT_TRUE(first.ok()) << first.status().text();
  const auto model = OwnedModel::from_bytes(first->bytes);
  ASSERT_TRUE(model.ok());
  const Graph back = compiler::graph_of((*model)->model());
  const auto second = compiler::write_model(back, options);
  ASSERT_TRUE(second.ok()) << second.status().text();
  EXPECT_TRUE(first->bytes == second->bytes);
  EXPECT_EQ(write(back, EspdlTarget::automatic).bytes, write(graph, EspdlTarget::automatic).bytes);
}

TEST(EspdlPackageWriter, EveryKindIsReadBack) {
  const auto a = write(network(DType::int8, EspdlTarget::c, 16), EspdlTarget::c).bytes,
             b = write(network(DType::int16, EspdlTarget::c, 5), EspdlTarget::c).bytes;
  const std::vector<compiler::PackedModel> models = {{"first.espdl", a}, {"second.espdl", b}};
  for (const std::string kind : {"PDL1", "PDL2", "PDL3"}) {
    if (kind == "PDL3" && !crypto::available()) continue;
    const auto package = compiler::write_espdl_package(models, {.kind = kind, .version = "2.1"});
    ASSERT_TRUE(package.ok()) << package.status().text();
    EXPECT_EQ(std::memcmp(package->data(), kind.data(), 4), 0);
    const auto read = compiler::read_espdl_package(*package);
    ASSERT_TRUE(read.ok()) << read.status().text();
    ASSERT_EQ(read->members.size(), 2u);
    EXPECT_EQ(read->members[1].name, "second.espdl");
    if (kind != "PDL1") {
      EXPECT_EQ(read->members[1].offset % 16, 0u);
    }
    if (kind == "PDL3") {
      EXPECT_EQ(read->version, "2.1");
    }
    const auto member = compiler::espdl_member(*package, "second.espdl");
    ASSERT_TRUE(member.ok());
    EXPECT_TRUE(std::equal(member->begin(), member->end(), b.begin(), b.end()));
    auto damaged = *package;
    damaged[damaged.size() / 2] ^= std::byte{1};
    if (kind == "PDL3") {
      EXPECT_FALSE(compiler::read_espdl_package(damaged).ok());
    }
  }
}

TEST(EspdlPackageWriter, RefusesWhatCannotBePacked) {
  const auto a = write(network(DType::int8, EspdlTarget::c, 16), EspdlTarget::c).bytes;
  const std::vector<std::byte> none(20);
  const auto fails = [](std::vector<compiler::PackedModel> models, const compiler::PackOptions& options,
                        const char* text) {
    const auto package = compiler::write_espdl_package(models, options);
    ASSERT_FALSE(package.ok());
    EXPECT_THAT(std::string(package.status().text()), HasSubstr(text));
  };
  fails({}, {}, "0 models");
  fails({{"a", a}, {"a", a}}, {}, "several models are called");
  fails({{"", a}}, {}, "name of model 0");
  fails({{"a", a}}, {.kind = "PDL4"}, "PDL4");
  fails({{"a", a}}, {.version = "a version of many characters"}, "at most 15");
  fails({{"bad", none}}, {}, "\"bad\"");
}

}  // namespace
}  // namespace runnel
