// A convolution that computes the sum or the clip after it along gives what the two operators give one after
// the other.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/non_negative.h"
#include "compiler/write/writer.h"
#include "inference/host/engine.h"

namespace runnel {
namespace {

constexpr int kFrames = 23;

struct Case {
  int channels = 64, kernel = 1,
      ahead = 0;  // ahead: right padding, so that the addend is older than the sum's frame
  bool addend_first = false, relu = true, conv_relu = false;
  bool other_reader = false;  // the convolution's result is needed elsewhere too
  bool other_scale = false;   // the sum has to round
  bool in_place = false;      // the addend is what the convolution reads
};

std::string text_of(const Case& c) {
  return "channels " + std::to_string(c.channels) + " kernel " + std::to_string(c.kernel) + " ahead " +
         std::to_string(c.ahead) + (c.addend_first ? " addend first" : "") + (c.relu ? " relu" : "") +
         (c.conv_relu ? " convolution with relu" : "") + (c.other_reader ? " other reader" : "") +
         (c.other_scale ? " other scale" : "") + (c.in_place ? " in place" : "");
}

// x -> relu -> (convolution, addend) -> sum -> output; the addend is a second convolution of x, or what the
// first one reads.
compiler::Graph graph_of(const Case& c) {
  std::mt19937 random(7);
  compiler::Graph graph;
  const auto activation = [&](std::string name, int exponent) {
    compiler::Tensor tensor;
    tensor.name = std::move(name);
    tensor.shape = {1, kFrames, c.channels};
    tensor.dtype = DType::int8;
    tensor.exponents = {static_cast<std::int8_t>(exponent)};
    graph.tensors.push_back(tensor);
    return static_cast<compiler::TensorId>(graph.tensors.size() - 1);
  };
  const auto conv = [&](const std::string& name, compiler::TensorId x, compiler::TensorId y, int kernel,
                        int ahead, bool relu) {
    compiler::Tensor weights;
    weights.name = name + " weights";
    weights.shape = {c.channels, 1, kernel, c.channels};
    weights.dtype = DType::int8;
    weights.exponents = {-8};
    weights.data.emplace(static_cast<std::size_t>(c.channels * kernel * c.channels));
    for (auto& w : *weights.data) w = static_cast<std::byte>(random());
    graph.tensors.push_back(weights);
    compiler::ConvOptions options;
    options.pad_left = kernel - 1 - ahead;
    options.pad_right = ahead;
    options.activation = relu ? Activation::relu : Activation::none;
    graph.nodes.push_back({name,
                           OpCode::conv,
                           Arithmetic::espdl,
                           {x, static_cast<compiler::TensorId>(graph.tensors.size() - 1)},
                           {y},
                           options,
                           kernels::Rounding::half_up});
  };
  const auto x = activation("x", -4), positive = activation("positive", -4), mixed = activation("mixed", -4),
             addend = activation("addend", -4);
  const auto y = activation("y", c.other_scale ? -3 : -4), z = activation("z", -4);
  graph.nodes.push_back({"relu",
                         OpCode::relu,
                         Arithmetic::espdl,
                         {x},
                         {positive},
                         std::monostate{},
                         kernels::Rounding::half_up});
  const auto beside = c.in_place ? positive : addend;
  if (!c.in_place) conv("beside", x, addend, 1, 0, false);
  conv("convolution", positive, mixed, c.kernel, c.ahead, c.conv_relu);
  const std::vector<compiler::TensorId> operands =
      c.addend_first ? std::vector{beside, mixed} : std::vector{mixed, beside};
  graph.nodes.push_back({"sum",
                         OpCode::add,
                         Arithmetic::espdl,
                         operands,
                         {y},
                         compiler::BinaryOptions{c.relu ? Activation::relu : Activation::none},
                         kernels::Rounding::half_up});
  graph.inputs = {x};
  graph.outputs = {y};
  if (c.other_reader) {
    graph.nodes.push_back({"again",
                           OpCode::max,
                           Arithmetic::espdl,
                           {mixed, y},
                           {z},
                           compiler::BinaryOptions{},
                           kernels::Rounding::half_up});
    graph.outputs = {y, z};
  }
  compiler::mark_non_negative(graph);
  return graph;
}

// Every output of the whole clip (block 0) or streamed in blocks.
std::vector<std::byte> outputs_of(const std::shared_ptr<const OwnedModel>& model, std::int64_t block, Isa isa,
                                  const std::vector<std::byte>& x) {
  PrepareOptions options;
  options.mode = block == 0 ? RunMode::whole : RunMode::stream;
  options.frames = block;
  options.isa = isa;
  const auto engine = Engine::make(model, options);
  EXPECT_TRUE(engine.ok()) << engine.status().text();
  const auto runner = Runner::make(*engine);
  Session& session = (*runner)->session();
  std::vector<std::vector<std::byte>> outputs(model->model().outputs().size());
  const auto gather = [&] {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const OutputFrames out = session.output(static_cast<int>(i));
      const std::size_t frame = (*runner)->prepared().placement(model->model().outputs()[i]).frame_bytes;
      outputs[i].insert(outputs[i].end(), out.data, out.data + static_cast<std::size_t>(out.count) * frame);
    }
  };
  const std::size_t frame = x.size() / kFrames;
  const std::int64_t step = block == 0 ? kFrames : block;
  for (std::int64_t at = 0; at < kFrames; at += step) {
    const std::int64_t count = std::min<std::int64_t>(step, kFrames - at);
    std::memcpy(session.input(0).data(), x.data() + static_cast<std::size_t>(at) * frame,
                static_cast<std::size_t>(count) * frame);
    session.run(count);
    gather();
  }
  if (block != 0 && kFrames % block == 0) {
    session.run(0);
    gather();
  }
  while (session.flush_calls_left() > 0) {
    session.run(0);
    gather();
  }
  std::vector<std::byte> all;
  for (const auto& output : outputs) all.insert(all.end(), output.begin(), output.end());
  return all;
}

TEST(Absorbed, SumsEqualTheOperatorsOneAfterTheOther) {
  const std::vector<Case> cases = {{},
                                   {.channels = 12, .addend_first = true},
                                   {.channels = 100, .relu = false, .conv_relu = true},
                                   {.channels = 100, .in_place = true},
                                   {.channels = 200, .addend_first = true, .in_place = true},
                                   {.kernel = 5},
                                   {.kernel = 5, .ahead = 2},
                                   {.kernel = 5, .ahead = 4, .in_place = true},
                                   {.other_reader = true},
                                   {.other_scale = true}};
  for (const Case& c : cases) {
    const auto written = compiler::write_model(graph_of(c));
    ASSERT_TRUE(written.ok()) << text_of(c) << ": " << written.status().text();
    const auto model = OwnedModel::from_bytes(written->bytes);
    ASSERT_TRUE(model.ok()) << model.status().text();
    std::mt19937 random(8);
    std::vector<std::byte> x(static_cast<std::size_t>(kFrames) * static_cast<std::size_t>(c.channels));
    for (auto& value : x) value = static_cast<std::byte>(random());
    const std::vector<std::byte> expected = outputs_of(*model, 0, Isa::reference, x);
    for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512vnni}) {
      if (!runs_here(isa)) continue;
      for (const std::int64_t block : {0, 1, 2, 5, 23}) {
        EXPECT_EQ(outputs_of(*model, block, isa, x), expected)
            << text_of(c) << ", block " << block << ", " << name_of(isa);
      }
    }
  }
}

struct ClipCase {
  bool depthwise = false, conv_relu = false, relu = false;
  float low = 0, high = 6;
  int kernel = 1, ahead = 0;
  bool other_reader = false;
};

std::string text_of(const ClipCase& c) {
  return std::string(c.depthwise ? "depthwise" : "dense") + (c.conv_relu ? " with relu" : "") +
         (c.relu ? " then relu" : " then " + std::to_string(c.low) + " .. " + std::to_string(c.high)) +
         " kernel " + std::to_string(c.kernel) + " ahead " + std::to_string(c.ahead) +
         (c.other_reader ? " other reader" : "");
}

// x -> convolution -> clip or relu -> output, float32.
compiler::Graph graph_of(const ClipCase& c, int channels) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  compiler::Graph graph;
  const auto tensor = [&](std::string name, std::vector<std::int32_t> dims, bool constant) {
    compiler::Tensor t;
    t.name = std::move(name);
    t.shape = std::move(dims);
    t.dtype = DType::float32;
    if (constant) {
      std::vector<float> values;
      for (std::size_t i = 0; i < compiler::element_count(t.shape); ++i) values.push_back(normal(random));
      t.data.emplace(values.size() * sizeof(float));
      std::memcpy(t.data->data(), values.data(), t.data->size());
    }
    graph.tensors.push_back(t);
    return static_cast<compiler::TensorId>(graph.tensors.size() - 1);
  };
  const auto x = tensor("x", {1, kFrames, channels}, false),
             own = tensor("own", {1, kFrames, channels}, false),
             y = tensor("y", {1, kFrames, channels}, false),
             weights = tensor("weights", {channels, 1, c.kernel, c.depthwise ? 1 : channels}, true),
             bias = tensor("bias", {channels}, true);
  compiler::ConvOptions conv;
  conv.groups = c.depthwise ? channels : 1;
  conv.pad_left = c.kernel - 1 - c.ahead;
  conv.pad_right = c.ahead;
  conv.activation = c.conv_relu ? Activation::relu : Activation::none;
  const auto up = kernels::Rounding::half_up;
  graph.nodes.push_back({"conv", OpCode::conv, Arithmetic::espdl, {x, weights, bias}, {own}, conv, up});
  if (c.relu) {
    graph.nodes.push_back({"relu", OpCode::relu, Arithmetic::espdl, {own}, {y}, std::monostate{}, up});
  } else {
    compiler::ClipOptions clip;
    clip.low_value = c.low;
    clip.high_value = c.high;
    graph.nodes.push_back({"clip", OpCode::clip, Arithmetic::espdl, {own}, {y}, clip, up});
  }
  graph.inputs = {x};
  graph.outputs = {y};
  if (c.other_reader) graph.outputs.push_back(own);
  return graph;
}

TEST(Absorbed, ClipsEqualTheOperatorsOneAfterTheOther) {
  const float none = std::numeric_limits<float>::infinity();
  const std::vector<ClipCase> cases = {{},
                                       {.conv_relu = true, .low = -1, .high = 1},
                                       {.conv_relu = true, .low = -3, .high = -1},
                                       {.low = -0.0f, .high = none, .kernel = 5},
                                       {.low = -none, .high = 2, .kernel = 3, .ahead = 2},
                                       {.relu = true, .kernel = 3},
                                       {.depthwise = true, .kernel = 3},
                                       {.depthwise = true, .relu = true, .kernel = 5, .ahead = 1},
                                       {.depthwise = true, .conv_relu = true, .low = 1, .high = 1},
                                       {.other_reader = true}};
  for (const ClipCase& c : cases) {
    for (const int channels : {3, 40}) {
      const auto written = compiler::write_model(graph_of(c, channels));
      ASSERT_TRUE(written.ok()) << text_of(c) << ": " << written.status().text();
      const auto model = OwnedModel::from_bytes(written->bytes);
      ASSERT_TRUE(model.ok()) << model.status().text();
      std::mt19937 random(8);
      std::normal_distribution<float> normal(0, 3);
      std::vector<float> values;
      for (int i = 0; i < kFrames * channels; ++i) values.push_back(normal(random));
      values[static_cast<std::size_t>(7 * channels)] = std::numeric_limits<float>::quiet_NaN();
      values[static_cast<std::size_t>(15 * channels + 2)] = none;
      std::vector<std::byte> x(values.size() * sizeof(float));
      std::memcpy(x.data(), values.data(), x.size());
      const std::vector<std::byte> expected = outputs_of(*model, 0, Isa::reference, x);
      for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) {
        if (!runs_here(isa)) continue;
        for (const std::int64_t block : {0, 1, 5, 23}) {
          EXPECT_EQ(outputs_of(*model, block, isa, x), expected)
              << text_of(c) << ", " << channels << " channels, block " << block << ", " << name_of(isa);
        }
        if (isa < Isa::avx2) continue;
        const auto engine = Engine::make(*model, {.isa = isa});
        EXPECT_EQ((*engine)->prepared().step_count(), c.other_reader ? 2 : 1) << text_of(c);
      }
    }
  }
}

}  // namespace
}  // namespace runnel
