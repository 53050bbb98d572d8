// Float graphs to integer graphs: the arithmetic that comes out, what every method changes, what is refused.
#include "compiler/quantize/quantize.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "compiler/quantize/calibrate/calibrate.h"
#include "compiler/quantize/choose/evaluate.h"
#include "compiler/quantize/choose/search_ranges.h"
#include "compiler/quantize/choose/unify_sum_ranges.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/report.h"
#include "compiler/quantize/round/equalize.h"
#include "compiler/run_whole.h"
#include "tests/compiler/quantize/small_graph.h"
#include "tests/compiler/run_graph.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using compiler::Graph;
using compiler::Node;
using compiler::Tensor;
using testing::HasSubstr;

const Tensor& at(const Graph& graph, compiler::TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)];
}
const Node& named(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes) {
    if (node.name == name) return node;
  }
  ADD_FAILURE() << "no node " << name;
  return graph.nodes[0];
}
std::string text_of(const Status& status) { return std::string(status.text()); }

Methods none() {
  Methods methods;
  methods.equalize = methods.round = methods.correct_bias = methods.search = false;
  return methods;
}

Quantized made(SmallGraph& small, Options options, int clips = 16) {
  const MemoryClips data(small.clips(clips));
  auto quantized = quantize(small.graph, data, options);
  EXPECT_TRUE(quantized.ok()) << quantized.status().text();
  return std::move(quantized).value();
}

TEST(QuantizeGrid, PowersOfTwoHoldTheRangeAndNoneFinerDoes) {
  for (const double high : {0.3, 1.0, 0.99, 127.0, 127.5, 3e-4, 7e5}) {
    const Grid grid = grid_of({0, high}, DType::int8, Scheme::pow2);
    EXPECT_GE(127 * grid.step, high);
    EXPECT_LT(127 * grid.step / 2, high);
    EXPECT_EQ(grid.step, std::ldexp(1.0, grid.exponent));
  }
}

TEST(QuantizeGrid, AffineUsesAllIntegersAndHoldsZero) {
  const Grid grid = grid_of({-1, 3}, DType::int8, Scheme::affine);
  EXPECT_NEAR(grid.step, 4.0 / 255, 1e-7);
  EXPECT_EQ(rounded(grid, kernels::Rounding::half_even, 0), 0);
  EXPECT_NEAR(rounded(grid, kernels::Rounding::half_even, 3), 3, grid.step);
  EXPECT_NEAR(rounded(grid, kernels::Rounding::half_even, -1), -1, grid.step);
}

TEST(QuantizeRanges, OutliersAreCutByAllButMinMax) {
  Histogram histogram;
  histogram.range = {0, 64};
  histogram.bins.assign(Histogram::kBins, 0);
  for (std::size_t b = 0; b < 300; ++b)
    histogram.bins[b] = static_cast<std::uint64_t>(
        1e5 * std::exp(-0.5 * std::pow(static_cast<double>(b) / 60, 2)));  // most below 3
  histogram.bins.back() = 1;                                               // one at 64
  for (const std::uint64_t count : histogram.bins) histogram.count += count;
  EXPECT_EQ(range_of(histogram, Calibration::min_max, DType::int8, Scheme::pow2).high, 64);
  for (const Calibration method : {Calibration::percentile, Calibration::kl, Calibration::mse}) {
    const Grid grid =
        grid_of(range_of(histogram, method, DType::int8, Scheme::pow2), DType::int8, Scheme::pow2);
    EXPECT_LE(grid.exponent, -3) << name_of(method);
    EXPECT_GE(127 * grid.step, 2) << name_of(method);
  }
}

// What the integers must be, from nothing but the definition: sum of products and bias, one shift with the
// target's rounding, ReLU, saturation.
TEST(QuantizeEmit, ConvolutionIsTheTargetsArithmetic) {
  for (const char* target : {"esp32", "esp32s3", "esp32p4"}) {
    SmallGraph small;
    Options options = options_for(target);
    options.methods = none();
    Quantized quantized = made(small, options);
    const Node& node = named(quantized.graph, "first");
    const Tensor &x = at(quantized.graph, node.inputs[0]), &w = at(quantized.graph, node.inputs[1]),
                 &b = at(quantized.graph, node.inputs[2]), &y = at(quantized.graph, node.outputs[0]);
    const bool p4 = std::string(target) == "esp32p4";
    EXPECT_EQ(w.exponents.size(), p4 ? 6u : 1u) << target;
    EXPECT_EQ(node.rounding, p4 ? kernels::Rounding::half_even : kernels::Rounding::half_up) << target;
    EXPECT_EQ(b.dtype, DType::int32);
    ASSERT_EQ(x.shape, (std::vector<std::int32_t>{1, 24, 4}));

    Graph first = quantized.graph;
    first.nodes = {node};
    first.outputs = node.outputs;
    std::vector<std::byte> input(24 * 4);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i * 37 + 11);
    const auto results = compiler::run_whole(first, {{input}});
    ASSERT_TRUE(results.ok()) << results.status().text();
    for (int t = 0; t < 24; ++t) {
      for (int n = 0; n < 6; ++n) {
        std::int32_t bias = 0;
        std::memcpy(&bias, b.data->data() + n * 4, 4);
        std::int64_t sum = bias;
        for (int k = 0; k < 3; ++k) {
          for (int c = 0; c < 4 && t + k >= 2; ++c) {
            sum += static_cast<std::int8_t>(input[static_cast<std::size_t>((t + k - 2) * 4 + c)]) *
                   static_cast<std::int8_t>((*w.data)[static_cast<std::size_t>((n * 3 + k) * 4 + c)]);
          }
        }
        const int exponent = w.exponents[p4 ? static_cast<std::size_t>(n) : 0];
        ASSERT_EQ(b.exponents[p4 ? static_cast<std::size_t>(n) : 0], x.exponents[0] + exponent) << target;
        const double scaled =
            std::ldexp(static_cast<double>(sum), x.exponents[0] + exponent - y.exponents[0]);
        const double expected =
            std::clamp(p4 ? std::nearbyint(scaled) : std::floor(scaled + 0.5), 0.0, 127.0);
        ASSERT_EQ(static_cast<std::int8_t>((*results)[0][0][static_cast<std::size_t>(t * 6 + n)]), expected)
            << target << " frame " << t << " channel " << n;
      }
    }
  }
}

TEST(QuantizeEmit, EspDlTargetsHaveTablesAndNoLeftShifts) {
  for (const char* target : {"esp32", "esp32p4"}) {
    SmallGraph small;
    Quantized quantized = made(small, options_for(target));
    EXPECT_EQ(named(quantized.graph, "gate").code, OpCode::lut);
    EXPECT_EQ(named(quantized.graph, "sum").arithmetic, Arithmetic::espdl);
    for (const Node& node : quantized.graph.nodes) {
      if (node.code != OpCode::conv && node.code != OpCode::fully_connected) continue;
      for (const int exponent : at(quantized.graph, node.inputs[1]).exponents) {
        EXPECT_GE(at(quantized.graph, node.outputs[0]).exponents[0] -
                      at(quantized.graph, node.inputs[0]).exponents[0] - exponent,
                  0)
            << node.name;
      }
    }
  }
  SmallGraph small;
  EXPECT_EQ(named(made(small, options_for("generic")).graph, "sum").arithmetic, Arithmetic::exact);
}

TEST(QuantizeEmit, SchemesAndWidthsStayCloseToTheFloatModel) {
  struct Case {
    Scheme scheme;
    DType type;
    double most;
  };
  for (const Case& c : {Case{Scheme::pow2, DType::int8, 1e-2}, Case{Scheme::affine, DType::int8, 5e-3},
                        Case{Scheme::pow2, DType::int16, 1e-6}, Case{Scheme::affine, DType::int16, 1e-5}}) {
    SmallGraph small;
    Options options = options_for("generic");
    options.scheme = c.scheme;
    options.type = c.type;
    const Quantized quantized = made(small, options);
    EXPECT_LT(quantized.error, c.most) << static_cast<int>(c.scheme) << ' ' << runnel::name_of(c.type);
    EXPECT_GT(quantized.error, 0);
    EXPECT_EQ(at(quantized.graph, quantized.graph.inputs[0]).dtype, c.type);
    const auto runnable = RunnableGraph::make(quantized.graph);
    ASSERT_TRUE(runnable.ok()) << runnable.status().text();
    EXPECT_TRUE((*runnable)->streams());
  }
}

TEST(QuantizeMethods, EveryOneLowersTheErrorOfClipsItHasNotSeen) {
  SmallGraph small(64);
  const MemoryClips data(small.clips(24)), others(small.clips(24));
  const auto error_with = [&](const Methods& methods) {
    Options options = options_for("esp32");
    options.methods = methods;
    const auto quantized = quantize(small.graph, data, options);
    EXPECT_TRUE(quantized.ok()) << quantized.status().text();
    const auto noise = compare_forms(quantized->real, quantized->graph, others, all_of(24), 1);
    EXPECT_TRUE(noise.ok());
    return (*noise)[0].ratio();
  };
  const double plain = error_with(none());
  for (const char* method : {"equalize", "round", "bias", "search"}) {
    Methods methods = none();
    ASSERT_TRUE(set_method(methods, method, true).ok());
    EXPECT_LT(error_with(methods), plain * 1.02) << method;
  }
  EXPECT_LT(error_with(Methods{}), 0.7 * plain);
}

TEST(QuantizeMethods, EqualizationAndSplittingKeepTheFunction) {
  SmallGraph small;
  const MemoryClips data(small.clips(8));
  const Options options = options_for("esp32");
  Graph equal = small.graph, split = small.graph;
  double next = 1;  // every change is an improvement
  ASSERT_TRUE(equalize(
                  data, all_of(8), options, [&](const Graph&) -> Result<double> { return next /= 2; }, equal)
                  .ok());
  EXPECT_NE(floats_of(at(equal, named(equal, "deep").inputs[1])),
            floats_of(at(small.graph, named(small.graph, "deep").inputs[1])));
  // One large weight, so that there is something to split.
  const auto w = static_cast<std::size_t>(named(split, "first").inputs[1]);
  const float large = 40;
  std::memcpy(split.tensors[w].data->data(), &large, sizeof large);
  const Graph unsplit = split;
  split_layers(split, options);
  EXPECT_EQ(split.nodes.size(), unsplit.nodes.size() + 2);
  EXPECT_EQ(named(split, "first.large").inputs.size(), 2u);
  using Forms = std::pair<const Graph*, const Graph*>;
  for (const Forms& forms : {Forms(&small.graph, &equal), Forms(&unsplit, &split)}) {
    const auto noise = compare_forms(*forms.first, *forms.second, data, all_of(8), 1);
    ASSERT_TRUE(noise.ok()) << noise.status().text();
    EXPECT_LT((*noise)[0].ratio(), 1e-10);
  }
}

TEST(QuantizeMethods, SumsGetOneScaleWhereItCostsNothing) {
  SmallGraph small;
  const MemoryClips data(small.clips(8));
  const Options plain = options_for("esp32");
  Plan plan = *make_plan(small.graph, plain);
  const auto histograms = observe(small.graph, plan, data, all_of(8), plain);
  ASSERT_TRUE(histograms.ok());
  set_ranges(small.graph, *histograms, Calibration::min_max, tensor_types(small.graph, plan), plan);
  const auto reference = ReferenceOutputs::make(small.graph, data, all_of(8), 1);
  ASSERT_TRUE(reference.ok());
  const Node& sum = named(small.graph, "sum");
  const auto grid_of_sum = [&](compiler::TensorId id) { return plan.grid(id, DType::int8).exponent; };
  // An operand at half the scale of the others: next to nothing is lost.
  compiler::quantizer::Range& first = plan.range(sum.inputs[0]);
  first = {first.low, plan.range(sum.outputs[0]).high};
  plan.range(sum.inputs[1]) = plan.range(sum.outputs[0]);
  plan.range(sum.inputs[0]).high *= 2;
  ASSERT_NE(grid_of_sum(sum.inputs[0]), grid_of_sum(sum.outputs[0])) << "nothing to do";
  const Plan apart = plan;
  const double before = *reference->error(*emit_integer_graph(small.graph, plan));
  const auto tied = unify_sum_ranges(small.graph, *reference, 0.02, {}, plan);
  ASSERT_TRUE(tied.ok()) << tied.status().text();
  EXPECT_EQ(*tied, 1);
  for (const compiler::TensorId id : sum.inputs) EXPECT_EQ(grid_of_sum(id), grid_of_sum(sum.outputs[0]));
  EXPECT_LE(*reference->error(*emit_integer_graph(small.graph, plan)), 1.02 * before);

  // Whatever the scales are, what costs more than a little is not done.
  plan = apart;
  plan.range(sum.inputs[0]).high /= 2;
  plan.range(sum.inputs[1]) = plan.range(sum.inputs[0]);
  plan.range(sum.outputs[0]) = {-16, 16};
  const double fine = *reference->error(*emit_integer_graph(small.graph, plan));
  ASSERT_TRUE(unify_sum_ranges(small.graph, *reference, 0.02, {}, plan).ok());
  EXPECT_LE(*reference->error(*emit_integer_graph(small.graph, plan)), 1.02 * fine);
  // All the same if asked.
  EXPECT_EQ(*unify_sum_ranges(small.graph, *reference, 1e30, {}, plan), 1);
  for (const compiler::TensorId id : sum.inputs) EXPECT_EQ(grid_of_sum(id), grid_of_sum(sum.outputs[0]));
}

TEST(QuantizeMixed, OperatorsByNameAndByError) {
  SmallGraph small;
  Options options = options_for("esp32p4");
  options.methods = none();
  options.types = {{"point", DType::int16}, {"gate", DType::float32}};
  Quantized quantized = made(small, options);
  EXPECT_EQ(at(quantized.graph, named(quantized.graph, "point").outputs[0]).dtype, DType::int16);
  EXPECT_EQ(named(quantized.graph, "gate").code, OpCode::sigmoid);
  EXPECT_EQ(real_operators(quantized), "sigmoid (gate)");
  EXPECT_TRUE(RunnableGraph::make(quantized.graph).ok());

  options = options_for("generic");
  options.methods = none();
  const double eight = made(small, options).error;
  options.max_error = eight / 8;
  quantized = made(small, options);
  EXPECT_LE(quantized.error, options.max_error);
  EXPECT_EQ(quantized.notes.size(), 1u);

  options.max_error = 1e-15;
  const MemoryClips data(small.clips(16));
  EXPECT_THAT(text_of(quantize(small.graph, data, options).status()), HasSubstr("more than 1e-15"));
  options.max_error = 0;
  options.types = {{"nothing", DType::int16}};
  EXPECT_THAT(text_of(quantize(small.graph, data, options).status()), HasSubstr("no operator \"nothing\""));
}

TEST(QuantizeMixed, InputsAreAsWideAsWhatReadsThemBehindWhatMovesThem) {
  SmallGraph small;
  Graph& graph = small.graph;
  compiler::TensorId from = graph.inputs[0];
  for (const char* name : {"moved", "moved again"}) {
    Tensor tensor = at(graph, graph.inputs[0]);
    tensor.name = name;
    graph.tensors.push_back(tensor);
    Node node;
    node.name = name;
    node.code = OpCode::reshape;
    node.inputs = {from};
    node.outputs = {from = static_cast<compiler::TensorId>(graph.tensors.size()) - 1};
    graph.nodes.insert(graph.nodes.begin() + (std::string(name) == "moved" ? 0 : 1), node);
  }
  for (Node& node : graph.nodes) {
    if (node.name == "first") node.inputs[0] = from;
  }
  Options options = options_for("generic");
  options.methods = none();
  for (const DType type : {DType::int16, DType::float32}) {
    options.types = {{"first", type}};
    const Quantized quantized = made(small, options);
    EXPECT_EQ(at(quantized.graph, quantized.graph.inputs[0]).dtype, type);
    EXPECT_EQ(at(quantized.graph, from).dtype, type);
  }
}

// ESP-DL's tables have 257 entries for 16 bits: what they lose, no integer form of the operator gives back.
TEST(QuantizeMixed, FloatsWhereSixteenBitsAreNotEnough) {
  SmallGraph small;
  Options options = options_for("esp32p4");
  options.methods = none();
  options.type = DType::int16;
  const double sixteen = made(small, options).error;
  options.type = DType::int8;
  options.max_error = sixteen / 4;
  const Quantized quantized = made(small, options);
  EXPECT_LE(quantized.error, options.max_error);
  EXPECT_EQ(named(quantized.graph, "gate").code, OpCode::sigmoid);
  EXPECT_EQ(at(quantized.graph, named(quantized.graph, "gate").outputs[0]).dtype, DType::float32);
  EXPECT_EQ(real_operators(quantized), "sigmoid (gate)");
  EXPECT_THAT(quantized.notes,
              testing::Contains(HasSubstr("1 operators became float because 16 bits leave more than the "
                                          "error asked for, with 0 % of the multiply-adds: gate")));
  // Layers have no float form there.
  for (const char* layer : {"first", "deep", "point", "dense"})
    EXPECT_NE(at(quantized.graph, named(quantized.graph, layer).outputs[0]).dtype, DType::float32) << layer;
  const auto runnable = RunnableGraph::make(quantized.graph);
  ASSERT_TRUE(runnable.ok()) << runnable.status().text();
  EXPECT_TRUE((*runnable)->streams());

  // From 16 bits on too.
  options.type = DType::int16;
  EXPECT_EQ(real_operators(made(small, options)), "sigmoid (gate)");
}

TEST(QuantizeMethods, MoreOnOfferNeverLeaveALargerErrorOnClipsHeldBack) {
  for (const char* target : {"esp32", "esp32p4"}) {
    SmallGraph small(48);
    const MemoryClips data(small.clips(16));
    Options options = options_for(target);
    const auto least = [&] {
      const auto quantized = quantize(small.graph, data, options);
      EXPECT_TRUE(quantized.ok()) << quantized.status().text();
      double error = 1;
      for (const Trial& trial : quantized->trials) error = std::min(error, trial.error);
      // What is used is what did best.
      EXPECT_TRUE(std::any_of(quantized->trials.begin(), quantized->trials.end(), [&](const Trial& trial) {
        return trial.error == error && names_of(trial.methods) == names_of(quantized->methods);
      }));
      return std::pair(error, quantized->trials.size());
    };
    const auto usual = least();
    options.offered.split = options.offered.blocks = options.offered.tqt = true;
    const auto all = least();
    EXPECT_LE(all.first, usual.first) << target;
    EXPECT_GE(all.second, usual.second + 2) << target;
    options.offered = none();
    EXPECT_GT(least().first, all.first) << target;
  }
}

TEST(QuantizeReport, NamesEveryOperatorAndItsNoise) {
  SmallGraph small;
  const MemoryClips data(small.clips(16));
  const Options options = options_for("generic");
  const auto quantized = quantize(small.graph, data, options);
  ASSERT_TRUE(quantized.ok());
  EXPECT_GE(quantized->trials.size(), 4u);  // three sets, and the best of them with equal scales at the sum
  const auto report = report_on(*quantized, data, all_of(16), options);
  ASSERT_TRUE(report.ok()) << report.status().text();
  ASSERT_EQ(report->operators.size(), 6u);
  for (const OperatorReport& entry : report->operators) {
    EXPECT_GT(entry.alone, 0) << entry.name;
    EXPECT_LT(entry.alone, 0.05) << entry.name;
    EXPECT_GT(entry.accumulated, 0) << entry.name;
  }
  EXPECT_EQ(report->operators[0].products, 24 * 6 * 12);
  EXPECT_NEAR(report->outputs[0].ratio, quantized->error, 1e-12);
  EXPECT_THAT(make_function_table(*report), HasSubstr("gate"));
}

TEST(QuantizeErrors, BadDataIsRefusedByName) {
  SmallGraph small;
  const Options options = options_for("generic");
  const auto status_of = [&](std::vector<Clip> clips) {
    return text_of(quantize(small.graph, MemoryClips(std::move(clips)), options).status());
  };
  EXPECT_THAT(status_of({}), HasSubstr("no calibration data"));
  EXPECT_THAT(status_of({{std::vector<float>(95)}}), HasSubstr("95 values, expected 96 for input x"));
  EXPECT_THAT(status_of({{std::vector<float>(96)}, {std::vector<float>(96)}}),
              HasSubstr("clip 0: the same value throughout, as all 2 clips"));
  std::vector<Clip> clips = small.clips(2);
  clips[1][0][7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(status_of(clips), HasSubstr("clip 1: value 7 of input x is not a finite number"));
}

TEST(QuantizeErrors, SilentClipsAreLeftOutAndCounted) {
  SmallGraph small;
  const std::vector<Clip> speaking = small.clips(4);
  std::vector<Clip> most(9, Clip{std::vector<float>(96, 0.0f)});
  for (std::size_t i = 0; i < 4; ++i) most[2 * i + 1] = speaking[i];
  Options options = options_for("generic");
  options.methods = none();
  const auto with = quantize(small.graph, MemoryClips(most), options),
             without = quantize(small.graph, MemoryClips(speaking), options);
  ASSERT_TRUE(with.ok()) << with.status().text();
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(with->clips, (std::vector<std::size_t>{1, 3, 5, 7}));
  ASSERT_EQ(with->notes.size(), 1u);
  EXPECT_EQ(with->notes[0], "5 of 9 clips hold one value throughout and were left out");
  EXPECT_EQ(with->error, without->error);
}

TEST(QuantizeErrors, WeightsThatAreNoNumbersAreNamedAllAtOnce) {
  SmallGraph small;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* name : {"first", "dense"}) {
    std::memcpy(
        small.graph.tensors[static_cast<std::size_t>(named(small.graph, name).inputs[1])].data->data() + 8,
        &nan, sizeof nan);
  }
  const MemoryClips data(small.clips(4));
  const std::string text = text_of(quantize(small.graph, data, options_for("generic")).status());
  EXPECT_THAT(text, HasSubstr("element 2 of \"first.w\" (node \"first\")"));
  EXPECT_THAT(text, HasSubstr("element 2 of \"dense.w\" (node \"dense\")"));
}

TEST(QuantizeErrors, ScalesThatCannotBeAreNamedWithTheirOperator) {
  SmallGraph small;
  Options options = options_for("esp32");
  Plan plan = *make_plan(small.graph, options);
  for (compiler::quantizer::Range& range : plan.ranges) range = {-1, 1};
  plan.range(named(small.graph, "point").outputs[0]) = {0, 1e-4};
  const auto emitted = emit_integer_graph(small.graph, plan);
  EXPECT_THAT(text_of(emitted.status()), HasSubstr("node \"point\": a shift of -"));
  avoid_left_shifts(small.graph, plan);
  EXPECT_TRUE(emit_integer_graph(small.graph, plan).ok());
}

}  // namespace
}  // namespace runnel::test
