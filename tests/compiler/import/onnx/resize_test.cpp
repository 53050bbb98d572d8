// Sizes, orders, normalization and functions that are put together from others, against numbers that were
// worked out apart.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/compiler/import/onnx/graph_maker.h"

namespace runnel {
namespace {

using test::Dims;
using test::Floats;
using test::OnnxMaker;
using test::ramp;
using test::set;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

Floats resized(const std::string& mode, const std::string& coordinates, const std::string& nearest,
               const Dims& dims, const Floats& scales, const Floats& x) {
  OnnxMaker maker(13);
  maker.input("x", dims).output("y").floats("scales", {static_cast<std::int64_t>(scales.size())}, scales);
  auto& node = maker.node("Resize", {"x", "", "scales"}, {"y"});
  set(node, "mode", mode);
  set(node, "coordinate_transformation_mode", coordinates);
  if (!nearest.empty()) set(node, "nearest_mode", nearest);
  return maker.run({x})[0];
}

TEST(OnnxResize, NearestRepeatsOrPicks) {
  EXPECT_THAT(resized("nearest", "half_pixel", "", {1, 1, 3}, {1, 1, 2}, {1, 2, 3}),
              ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_THAT(resized("nearest", "asymmetric", "floor", {1, 2, 2}, {1, 1, 3}, {1, 2, 3, 4}),
              ElementsAre(1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4));
  // Positions 0, 2/3, 4/3 of two elements, upwards.
  EXPECT_THAT(resized("nearest", "asymmetric", "ceil", {1, 1, 2}, {1, 1, 1.5f}, {1, 2}),
              ElementsAre(1, 2, 2));
  // Positions 0, 4/3, 8/3, 4 of five.
  EXPECT_THAT(
      resized("nearest", "align_corners", "round_prefer_floor", {1, 1, 5}, {1, 1, 0.8f}, {1, 2, 3, 4, 5}),
      ElementsAre(1, 2, 4, 5));
}

TEST(OnnxResize, LinearBetweenTwo) {
  EXPECT_THAT(resized("linear", "half_pixel", "", {1, 1, 2}, {1, 1, 2}, {0, 4}),
              Pointwise(FloatNear(1e-6f), Floats{0, 1, 3, 4}));
  EXPECT_THAT(resized("linear", "align_corners", "", {1, 1, 2}, {1, 1, 2}, {0, 3}),
              Pointwise(FloatNear(1e-6f), Floats{0, 1, 2, 3}));
  EXPECT_THAT(resized("linear", "asymmetric", "", {1, 1, 2, 2}, {1, 1, 2, 1}, {0, 1, 4, 5}),
              Pointwise(FloatNear(1e-6f), Floats{0, 1, 2, 3, 4, 5, 4, 5}));
}

// Upsample: scales are an attribute up to opset 8, then an input.
TEST(OnnxResize, UpsampleOfOldOpsets) {
  for (const int opset : {7, 8, 9}) {
    OnnxMaker maker(opset);
    maker.input("x", {1, 1, 1, 2}).output("y");
    auto& node = maker.node("Upsample", {"x"}, {"y"});
    set(node, "mode", std::string("nearest"));
    if (opset < 9) {
      auto* const scales = node.add_attribute();
      scales->set_name("scales");
      scales->set_type(::onnx::AttributeProto::FLOATS);
      for (const float scale : {1.0f, 1.0f, 2.0f, 3.0f}) scales->add_floats(scale);
    } else {
      node.add_input("s");
      maker.floats("s", {4}, {1, 1, 2, 3});
    }
    const auto found = maker.run({{4, 5}});
    ASSERT_EQ(found.size(), 1u) << opset;
    EXPECT_THAT(found[0], ElementsAre(4, 4, 4, 5, 5, 5, 4, 4, 4, 5, 5, 5)) << opset;
  }
}

TEST(OnnxResize, RefusesWhatItCannot) {
  OnnxMaker maker(13);
  maker.input("x", {1, 1, 4}).output("y").floats("scales", {3}, {1, 1, 2});
  set(maker.node("Resize", {"x", "", "scales"}, {"y"}), "mode", std::string("cubic"));
  EXPECT_THAT(std::string(maker.import().status().text()),
              HasSubstr("mode \"cubic\", expected nearest or linear"));
}

TEST(OnnxBlocks, DepthBecomesSpaceAndBack) {
  for (const char* mode : {"DCR", "CRD"}) {
    OnnxMaker maker(13);
    maker.input("x", {1, 8, 1, 1}).output("y");
    auto& node = maker.node("DepthToSpace", {"x"}, {"y"});
    set(node, "blocksize", std::int64_t{2});
    set(node, "mode", std::string(mode));
    // Channels 0 and 1 of a 2 x 2 block: block major, or channel major.
    EXPECT_EQ(maker.run({ramp(8)})[0], std::string(mode) == "DCR" ? (Floats{0, 2, 4, 6, 1, 3, 5, 7})
                                                                  : (Floats{0, 1, 2, 3, 4, 5, 6, 7}))
        << mode;
  }
  OnnxMaker maker(13);
  maker.input("x", {1, 1, 2, 4}).output("y");
  set(maker.node("SpaceToDepth", {"x"}, {"y"}), "blocksize", std::int64_t{2});
  EXPECT_THAT(maker.run({ramp(8)})[0], ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(OnnxOrder, LargestSmallestAndSums) {
  OnnxMaker maker(13);
  maker.input("x", {2, 4})
      .output("v")
      .output("s")
      .output("c")
      .integers("k", {1}, {2})
      .integers("axis", {}, {1});
  maker.node("TopK", {"x", "k"}, {"v", "i"});
  maker.node("TopK", {"x", "k"}, {"s", "j"}).add_attribute()->CopyFrom([] {
    ::onnx::AttributeProto made;
    made.set_name("largest");
    made.set_type(::onnx::AttributeProto::INT);
    made.set_i(0);
    return made;
  }());
  set(maker.node("CumSum", {"x", "axis"}, {"c"}), "reverse", std::int64_t{1});
  const auto outputs = maker.run({{3, 1, 4, 1, 5, 9, 2, 6}});
  EXPECT_THAT(outputs[0], ElementsAre(4, 3, 9, 6));
  EXPECT_THAT(outputs[1], ElementsAre(1, 1, 2, 5));
  EXPECT_THAT(outputs[2], ElementsAre(9, 6, 5, 1, 22, 17, 8, 6));
}

TEST(OnnxOrder, SumsAlongAnyAxisWithoutTheElementItself) {
  OnnxMaker maker(13);
  maker.input("x", {1, 3, 2}).output("c").integers("axis", {}, {1});
  set(maker.node("CumSum", {"x", "axis"}, {"c"}), "exclusive", std::int64_t{1});
  EXPECT_THAT(maker.run({{1, 2, 3, 4, 5, 6}})[0], ElementsAre(0, 0, 1, 2, 4, 6));
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias over groups of channels.
Floats normalized(const Floats& x, std::size_t channels, std::size_t groups, const Floats& scale,
                  const Floats& bias, double epsilon) {
  Floats y;
  const std::size_t each = x.size() / groups, channel = x.size() / channels;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t first = i / each * each;
    double mean = 0, variance = 0;
    for (std::size_t k = first; k < first + each; ++k)
      mean += static_cast<double>(x[k]) / static_cast<double>(each);
    for (std::size_t k = first; k < first + each; ++k)
      variance += std::pow(static_cast<double>(x[k]) - mean, 2) / static_cast<double>(each);
    const std::size_t entry = scale.size() == channels ? i / channel : i / each;
    y.push_back(static_cast<float>((static_cast<double>(x[i]) - mean) / std::sqrt(variance + epsilon) *
                                       static_cast<double>(scale[entry]) +
                                   static_cast<double>(bias[entry])));
  }
  return y;
}

TEST(OnnxNorm, InstancesAndGroups) {
  const Floats x{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, scale{1, 2, 3, 4}, bias{0.5f, 0, -1, 2};
  OnnxMaker instance(17);
  instance.input("x", {1, 4, 3}).output("y").floats("s", {4}, scale).floats("b", {4}, bias);
  set(instance.node("InstanceNormalization", {"x", "s", "b"}, {"y"}), "epsilon", 0.01f);
  EXPECT_THAT(instance.run({x})[0], Pointwise(FloatNear(1e-5f), normalized(x, 4, 4, scale, bias, 0.01)));
  OnnxMaker group(21);
  group.input("x", {1, 4, 3}).output("y").floats("s", {4}, scale).floats("b", {4}, bias);
  set(group.node("GroupNormalization", {"x", "s", "b"}, {"y"}), "num_groups", std::int64_t{2});
  EXPECT_THAT(group.run({x})[0], Pointwise(FloatNear(1e-5f), normalized(x, 4, 2, scale, bias, 1e-5)));
}

TEST(OnnxFunctions, PutTogetherFromOthers) {
  const Floats x{-2.5f, -1, -0.25f, 0, 0.5f, 1, 3.75f};
  const auto of = [&](const char* op) {
    OnnxMaker maker(17);
    maker.input("x", {7}).output("y");
    maker.node(op, {"x"}, {"y"});
    return maker.run({x})[0];
  };
  const auto expected = [&](double (*f)(double)) {
    Floats y;
    for (const float value : x) y.push_back(static_cast<float>(f(static_cast<double>(value))));
    return y;
  };
  EXPECT_THAT(of("Floor"), Pointwise(FloatNear(0), expected([](double v) { return std::floor(v); })));
  EXPECT_THAT(of("Ceil"), Pointwise(FloatNear(0), expected([](double v) { return std::ceil(v); })));
  EXPECT_THAT(of("Sign"), Pointwise(FloatNear(0), expected([](double v) {
                                      return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0;
                                    })));
  EXPECT_THAT(of("Softsign"),
              Pointwise(FloatNear(1e-6f), expected([](double v) { return v / (1 + std::fabs(v)); })));
  EXPECT_THAT(of("ThresholdedRelu"),
              Pointwise(FloatNear(0), expected([](double v) { return v > 1 ? v : 0; })));
  EXPECT_THAT(of("Celu"),
              Pointwise(FloatNear(1e-6f), expected([](double v) { return v > 0 ? v : std::expm1(v); })));
  EXPECT_THAT(of("Selu"), Pointwise(FloatNear(1e-5f), expected([](double v) {
                                      return 1.0507009873554805 *
                                             (v > 0 ? v : 1.6732632423543772 * std::expm1(v));
                                    })));
}

}  // namespace
}  // namespace runnel
