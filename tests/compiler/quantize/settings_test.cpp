// Settings of single methods: each changes what it says, and nothing else.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/quantize/calibrate/calibration_table.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/round/equalize.h"
#include "compiler/quantize/train/block_net.h"
#include "tests/compiler/quantize/small_graph.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using compiler::Graph;
using testing::HasSubstr;

std::vector<std::size_t> first_clips(std::size_t count) {
  std::vector<std::size_t> which(count);
  std::iota(which.begin(), which.end(), std::size_t{0});
  return which;
}

class MethodSettings : public testing::Test {
 protected:
  // The small network with one method, or none.
  Quantized made(const char* method, const TrainingSettings& training = {}) const {
    Options options = options_for("esp32");
    options.training = training;
    options.methods = *methods_named(method);
    SmallGraph small(32);
    const MemoryClips data(small.clips(16));
    auto quantized = quantize(small.graph, data, options);
    EXPECT_TRUE(quantized.ok()) << quantized.status().text();
    return std::move(*quantized);
  }
  // The integers and the exponent of a layer's weights.
  static std::pair<std::vector<std::byte>, std::vector<int>> layer(const Quantized& quantized,
                                                                   const std::string& name) {
    for (const compiler::Node& node : quantized.graph.nodes) {
      if (node.name != name) continue;
      const auto& tensor = quantized.graph.tensors[static_cast<std::size_t>(node.inputs[1])];
      return {*tensor.data, {tensor.exponents.begin(), tensor.exponents.end()}};
    }
    ADD_FAILURE() << "no layer " << name;
    return {};
  }
  static std::vector<std::string> changed(const Quantized& a, const Quantized& b) {
    std::vector<std::string> names;
    for (const char* name : {"first", "deep", "point", "dense"}) {
      if (layer(a, name) != layer(b, name)) names.emplace_back(name);
    }
    return names;
  }
  static std::vector<int> exponents(const Quantized& quantized) {
    std::vector<int> all;
    for (const auto& tensor : quantized.graph.tensors)
      all.insert(all.end(), tensor.exponents.begin(), tensor.exponents.end());
    return all;
  }
};

TEST_F(MethodSettings, StepsRateAndBlocksOfTheTraining) {
  const Quantized plain = made("none"), usual = made("blocks");
  EXPECT_FALSE(changed(plain, usual).empty()) << "training does nothing";
  EXPECT_TRUE(
      changed(usual, made("blocks", {.steps = 240, .lr = 0.01, .block_size = 2, .interested_layers = {}}))
          .empty())
      << "these are the defaults";
  EXPECT_FALSE(changed(usual, made("blocks", {.steps = 12, .interested_layers = {}})).empty());
  EXPECT_FALSE(changed(usual, made("blocks", {.lr = 0.03, .interested_layers = {}})).empty());
  EXPECT_FALSE(changed(usual, made("blocks", {.block_size = 1, .interested_layers = {}})).empty());
  EXPECT_TRUE(changed(plain, made("blocks", {.lr = 1e-9, .interested_layers = {}})).empty())
      << "nothing moves";
}

TEST_F(MethodSettings, ScalesAreTrainedOrNot) {
  const Quantized plain = made("none");
  EXPECT_EQ(exponents(made("tqt", {.is_scale_trainable = false, .interested_layers = {}})), exponents(plain));
  // The same as without scales.
  EXPECT_TRUE(
      changed(made("tqt", {.is_scale_trainable = false, .interested_layers = {}}), made("blocks")).empty());
}

TEST_F(MethodSettings, OnlyLayersOfInterestAreTrained) {
  const Quantized plain = made("none");
  int moved = 0;
  for (const std::string& name : changed(plain, made("blocks"))) {
    const std::vector<std::string> only = changed(plain, made("blocks", {.interested_layers = {name}}));
    if (only.empty()) continue;  // alone it does not make the outputs better
    EXPECT_EQ(only, std::vector<std::string>{name});
    ++moved;
  }
  EXPECT_GT(moved, 0);
  Options options = options_for("esp32");
  options.training.interested_layers = {"gate"};
  SmallGraph small;
  const MemoryClips data(small.clips(8));
  EXPECT_THAT(std::string(quantize(small.graph, data, options).status().text()),
              HasSubstr("there is no layer with weights \"gate\""));
}

// Derivatives of both terms, against differences.
TEST_F(MethodSettings, RestraintsAreTheMeanSquaresThatTheySay) {
  const SmallGraph small;
  Options options = options_for("generic");
  Plan plan = *make_plan(small.graph, options);
  for (Range& range : plan.ranges) range = {-4, 4};
  const Block whole = blocks_of(small.graph, plan, 100)[0];
  for (const TrainingSettings& settings : {TrainingSettings{.int_lambda = 2, .interested_layers = {}},
                                           TrainingSettings{.gamma = 3, .interested_layers = {}}}) {
    const BlockNet net(small.graph, plan, whole, true, settings);
    std::vector<float> parameters = net.parameters(), gradient(parameters.size(), 0.0f);
    const double loss = net.restrain(net.ready(parameters), parameters, 10, &gradient);
    EXPECT_GT(loss, 0);
    EXPECT_EQ(net.restrain(net.ready(parameters), parameters, 20, nullptr), 2 * loss);
    EXPECT_TRUE(std::any_of(gradient.begin(), gradient.end(), [](float value) { return value != 0; }));
    if (settings.gamma > 0) {  // in terms of rounded weights, which have no differences: by the formula
      const BlockNet::Ready ready = net.ready(parameters);
      double expected = 0;
      std::size_t layer = 0;
      for (const compiler::Node& node : small.graph.nodes) {
        if (node.inputs.size() < 3) continue;
        const std::vector<float> given =
            floats_of(small.graph.tensors[static_cast<std::size_t>(node.inputs[1])]);
        const std::vector<float>& rounded = ready.layers[layer++].rows;
        ASSERT_EQ(rounded.size(), given.size());
        double sum = 0;
        for (std::size_t i = 0; i < given.size(); ++i)
          sum += std::pow(static_cast<double>(rounded[i]) - static_cast<double>(given[i]), 2);
        expected += 3 * 10 * sum / static_cast<double>(given.size());
      }
      EXPECT_NEAR(loss, expected, 1e-9 * expected);
      continue;
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (gradient[i] == 0) continue;
      std::vector<float> moved = parameters;
      moved[i] += 1e-3f;
      EXPECT_NEAR((net.restrain(net.ready(moved), moved, 10, nullptr) - loss) / 1e-3,
                  static_cast<double>(gradient[i]), 0.02)
          << i;
    }
  }
  const BlockNet free(small.graph, plan, whole, true);
  std::vector<float> parameters = free.parameters(), gradient(parameters.size(), 0.0f);
  EXPECT_EQ(free.restrain(free.ready(parameters), parameters, 10, &gradient), 0);
}

TEST_F(MethodSettings, StrongRestraintsKeepScalesAndChangeWeights) {
  const Quantized plain = made("none");
  EXPECT_FALSE(changed(made("blocks"), made("blocks", {.gamma = 1e3, .interested_layers = {}})).empty());
  EXPECT_EQ(exponents(made("tqt", {.int_lambda = 1e6, .interested_layers = {}})), exponents(plain));
}

// The small network with ReLU where a table was, so that factors may pass the sum.
class EqualizationSettingsTest : public testing::Test {
 protected:
  EqualizationSettingsTest() { small_.graph.nodes[4].code = OpCode::relu; }
  std::vector<Scaling> changes(const EqualizationSettings& settings) {
    Options options = options_for("esp32");
    options.equalization = settings;
    const MemoryClips data(small_.clips(8));
    Graph graph = small_.graph;
    double next = 1;  // every change is an improvement
    auto made = equalize(
        data, first_clips(8), options, [&](const Graph&) -> Result<double> { return next *= 0.99; }, graph);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return *made;
  }
  static std::vector<std::string> makers(const std::vector<Scaling>& changes) {
    std::vector<std::string> names;
    for (const Scaling& change : changes) {
      for (const std::string& name : change.makers) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    return names;
  }
  static bool uniform(const Scaling& change) {
    return std::all_of(change.factors.begin(), change.factors.end(),
                       [&](double factor) { return factor == change.factors[0]; });
  }
  SmallGraph small_;
};

TEST_F(EqualizationSettingsTest, LevelsSayWhetherSumsArePassed) {
  EXPECT_THAT(makers(changes({})), testing::UnorderedElementsAre("first", "deep", "point"));
  EXPECT_THAT(makers(changes({.opt_level = 1, .interested_layers = {}})),
              testing::UnorderedElementsAre("deep"));
}

TEST_F(EqualizationSettingsTest, IterationsVisitAllLayersAgain) {
  const std::size_t once = changes({}).size();
  ASSERT_GT(once, 0u);
  EXPECT_EQ(changes({.iterations = 3, .interested_layers = {}}).size(), 3 * once);
}

TEST_F(EqualizationSettingsTest, SmallChannelsStayAsTheyAre) {
  const auto all = changes({}), none = changes({.value_threshold = 1000, .interested_layers = {}});
  EXPECT_FALSE(std::all_of(all.begin(), all.end(), uniform));
  EXPECT_TRUE(std::all_of(none.begin(), none.end(), uniform)) << "no channel has a factor of its own";
}

TEST_F(EqualizationSettingsTest, OnlyFactorsNextToLayersOfInterestMove) {
  EXPECT_THAT(makers(changes({.interested_layers = {"deep"}})),
              testing::UnorderedElementsAre("first", "deep", "point"))
      << "it reads the sum's family and makes its own";
  EXPECT_THAT(makers(changes({.opt_level = 1, .interested_layers = {"dense"}})), testing::IsEmpty());
}

// A scale that is stated stays, whatever ranges and methods say, and goes into the table.
TEST(StatedScales, NothingChangesThem) {
  SmallGraph small;
  const MemoryClips data(small.clips(16));
  Options options = options_for("esp32");
  options.exponents["first"] = -1;
  options.exponents["dense"] = 0;
  options.offered.blocks = options.offered.tqt = true;
  const auto made = quantize(small.graph, data, options);
  ASSERT_TRUE(made.ok()) << made.status().text();
  const auto exponent_of = [&](const Graph& graph, const std::string& tensor) {
    for (const auto& one : graph.tensors) {
      if (one.name == tensor && one.exponents.size() == 1) return static_cast<int>(one.exponents[0]);
    }
    ADD_FAILURE() << tensor;
    return 99;
  };
  EXPECT_EQ(exponent_of(made->graph, "first"), -1);
  EXPECT_EQ(exponent_of(made->graph, "dense"), 0);
  Options free = options;
  free.exponents.clear();
  const auto chosen = quantize(small.graph, data, free);
  ASSERT_TRUE(chosen.ok());
  EXPECT_NE(exponent_of(chosen->graph, "first"), -1) << "it would have been chosen anyway";

  const auto text = table_text(small.graph, *made, options, "", 16);
  ASSERT_TRUE(text.ok()) << text.status().text();
  const auto table = CalibrationTable::from_text(*text);
  ASSERT_TRUE(table.ok()) << table.status().text();
  const auto again = table->quantize(small.graph);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(exponent_of(again->graph, "first"), -1);
  EXPECT_EQ(exponent_of(again->graph, "dense"), 0);
}

TEST(StatedScales, WhatHasNoneIsRefusedByName) {
  SmallGraph small;
  const MemoryClips data(small.clips(8));
  const auto refusal = [&](const std::string& name, int exponent, Scheme scheme) {
    Options options = options_for("generic");
    options.scheme = scheme;
    options.exponents[name] = exponent;
    return std::string(quantize(small.graph, data, options).status().text());
  };
  EXPECT_THAT(refusal("other", -3, Scheme::pow2), HasSubstr("there is no operator \"other\""));
  EXPECT_THAT(refusal("first", -300, Scheme::pow2),
              HasSubstr("2^-300 for \"first\", expected 2^-60 to 2^60"));
  EXPECT_THAT(refusal("first", -3, Scheme::affine), HasSubstr("expected scales of powers of two"));
}

}  // namespace
}  // namespace runnel::test
