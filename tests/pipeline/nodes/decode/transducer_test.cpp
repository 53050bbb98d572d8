#include "pipeline/nodes/decode/transducer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "compiler/import/load.h"
#include "tests/compiler/import/onnx/graph_maker.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

using runnel::test::Dims;
using runnel::test::Floats;
using runnel::test::OnnxMaker;
using Tokens = std::vector<std::int64_t>;

constexpr std::int64_t kClasses = 6, kWide = 4;
constexpr float kBlankBias = 1;

// A transducer with random weights: the decoder is an embedding of two tokens and a product, the joiner tanh
// of the sum and a product.
class TransducerNode : public testing::Test {
 protected:
  TransducerNode() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 1.2F);
    for (Floats* weights : {&embedding_, &decoder_, &joiner_, &frames_})
      for (std::size_t i = 0; i < size_of_weights(weights); ++i) weights->push_back(normal(random));
    save("dec.onnx", decoder_model().bytes());
    save("join.onnx", joiner_model(false).bytes());
    save("both.onnx", joiner_model(true).bytes());
    std::ofstream(folder_.path() / "tokens.txt") << "<blk>\n▁a\nb\n▁c\nd\n▁e\n";
  }

  std::size_t size_of_weights(const Floats* weights) const {
    if (weights == &embedding_) return kClasses * kWide;
    if (weights == &decoder_) return 2 * kWide * kWide;
    return weights == &joiner_ ? kWide * kClasses : 300 * kWide;
  }
  void save(const std::string& name, const auto& bytes) {
    std::ofstream(folder_.path() / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  void add_decoder(OnnxMaker& maker) const {
    maker.floats("embedding", {kClasses, kWide}, embedding_)
        .floats("dw", {2 * kWide, kWide}, decoder_)
        .integers("flat", {2}, {1, 2 * kWide});
    maker.node("Gather", {"embedding", "y"}, {"e"});
    maker.node("Reshape", {"e", "flat"}, {"f"});
    maker.node("MatMul", {"f", "dw"}, {"d"});
  }
  OnnxMaker decoder_model() const {
    OnnxMaker maker;
    maker.input("y", {1, 2}, ::onnx::TensorProto::INT64);
    add_decoder(maker);
    maker.output("d");
    return maker;
  }
  OnnxMaker joiner_model(bool with_decoder) const {
    OnnxMaker maker;
    maker.input("x", {1, kWide});
    if (with_decoder) {
      maker.input("y", {1, 2}, ::onnx::TensorProto::INT64);
      add_decoder(maker);
    } else {
      maker.input("d", {1, kWide});
    }
    maker.floats("jw", {kWide, kClasses}, joiner_);
    maker.node("Add", {"x", "d"}, {"s"});
    maker.node("Tanh", {"s"}, {"t"});
    maker.node("MatMul", {"t", "jw"}, {"p"});
    maker.floats("bias", {kClasses}, {kBlankBias, 0, 0, 0, 0, 0});
    maker.node("Add", {"p", "bias"}, {"logits"});
    maker.output("logits");
    return maker;
  }

  [[nodiscard]] std::vector<double> logits(std::size_t frame, std::int64_t older, std::int64_t newer) const {
    std::vector<double> hidden(kWide), out(kClasses);
    for (std::size_t i = 0; i < kWide; ++i) {
      double sum = static_cast<double>(frames_[frame * kWide + i]);
      for (std::size_t k = 0; k < 2 * kWide; ++k) {
        const auto token = static_cast<std::size_t>(k < kWide ? older : newer);
        sum += static_cast<double>(embedding_[token * kWide + k % kWide]) *
               static_cast<double>(decoder_[k * kWide + i]);
      }
      hidden[i] = std::tanh(sum);
    }
    out[0] = static_cast<double>(kBlankBias);
    for (std::size_t c = 0; c < kClasses; ++c)
      for (std::size_t i = 0; i < kWide; ++i)
        out[c] += hidden[i] * static_cast<double>(joiner_[i * kClasses + c]);
    return out;
  }

  std::string run(const std::string& models, const std::string& parameters, std::int64_t tick = 7) {
    Rows::dims = kWide;
    Rows::values = frames_;
    const std::string path = (folder_.path() / "out.jsonl").string();
    run_graph("rows ! transducer " + models + " tokens=" + (folder_.path() / "tokens.txt").string() + " " +
                  parameters + " ! jsonl path=" + path,
              options(tick));
    return read_text(path);
  }
  GraphOptions options(std::int64_t tick) {
    GraphOptions result;
    result.nodes = test_nodes();
    result.tick = tick;
    result.models = &loader_;
    result.operators = all_operators();
    return result;
  }
  std::string model(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string apart() const { return "joiner=" + model("join.onnx") + " decoder=" + model("dec.onnx"); }

  runnel::test::TemporaryFolder folder_;
  compiler::FileLoader loader_;
  Floats embedding_, decoder_, joiner_, frames_;
};

TEST_F(TransducerNode, GreedyEqualsTheArithmeticByHand) {
  const char* const pieces[] = {"", "▁a", "b", "▁c", "d", "▁e"};
  std::vector<std::string> expected;
  Tokens tokens = {0, 0};
  for (std::size_t t = 0; t < frames_.size() / kWide; ++t) {
    const std::vector<double> out = logits(t, tokens[tokens.size() - 2], tokens.back());
    const auto best = std::max_element(out.begin(), out.end()) - out.begin();
    if (best == 0) continue;
    tokens.push_back(best);
    expected.emplace_back(pieces[best]);
  }
  ASSERT_GT(expected.size(), 50U);
  ASSERT_LT(expected.size(), 300U);
  for (const std::string& models : {apart(), "joiner=" + model("both.onnx")}) {
    std::istringstream lines(run(models, "endpoint=none longest=0 partials=0 max_tokens=1000"));
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);) {
      const auto record = nlohmann::json::parse(line);
      for (const auto& token : record["tokens"]) found.push_back(token["token"].get<std::string>());
    }
    const auto differ = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
    EXPECT_EQ(found.size(), expected.size());
    EXPECT_TRUE(differ.first == found.end()) << models << ": token " << differ.first - found.begin();
  }
}

TEST_F(TransducerNode, AnyBlockSizeGivesTheSameRecords) {
  std::ofstream(folder_.path() / "hot.txt") << "a :2\nc e :1\n";
  for (const std::string& mode : {std::string("mode=greedy"), std::string("mode=beam"),
                                  "mode=beam beam=7 hotwords=" + model("hot.txt")}) {
    const std::string parameters =
        mode + " silence_after=20ms partials=20ms reset_decoder=false longest=300ms";
    const std::string expected = run(apart(), parameters, 1);
    EXPECT_NE(expected.find("\"partial\""), std::string::npos);
    EXPECT_NE(expected.find("\"final\""), std::string::npos);
    for (const std::int64_t tick : {2, 8, 50, 1000})
      EXPECT_EQ(run(apart(), parameters, tick), expected) << mode << " in blocks of " << tick;
  }
  EXPECT_NE(run(apart(), "mode=beam"), run(apart(), "mode=beam hotwords=" + model("hot.txt")));
}

TEST_F(TransducerNode, SaysWhatDoesNotFit) {
  const auto failure = [&](const std::string& parameters, std::int32_t dims = kWide) {
    Rows::dims = dims;
    Rows::values.assign(static_cast<std::size_t>(dims), 0);
    return failure_of("rows ! transducer tokens=" + model("tokens.txt") + " " + parameters + " ! keep",
                      options(7));
  };
  EXPECT_EQ(failure(apart(), 5),
            "rows gives frames of 5 values, the first input of " + model("join.onnx") + " takes 4");
  EXPECT_EQ(failure("joiner=" + model("dec.onnx")),
            model("dec.onnx") + ": has 1 inputs and 1 outputs, expected 2 and 1");
  EXPECT_EQ(failure("joiner=" + model("join.onnx")),
            model("join.onnx") + ": input 1 is float32, expected tokens (int64 or int32)");
  EXPECT_EQ(failure("joiner=" + model("both.onnx") + " decoder=" + model("dec.onnx")),
            model("both.onnx") + ": input 1 is int64, expected float32");
  EXPECT_NE(failure("joiner=/no/such/model").find("/no/such/model"), std::string::npos);
  std::ofstream(folder_.path() / "five.txt") << "<blk>\na\nb\nc\nd\n";
  Rows::values.assign(kWide, 0);
  EXPECT_EQ(
      failure_of("rows ! transducer tokens=" + model("five.txt") + " " + apart() + " ! keep", options(7)),
      model("five.txt") + ": 5 tokens, but " + model("join.onnx") + " gives 6 classes");
}

TEST_F(TransducerNode, RunsThePublishedShapes) {
  RUNNEL_NEEDS_DATA();
  // A stateless decoder and a joiner of 500 tokens with random weights, as recognisers have them.
  const auto folder = runnel::test::data_folder() / "speech/conformer";
  std::string tokens = "<blk>\n";
  for (int i = 1; i < 500; ++i) tokens += "▁t" + std::to_string(i) + "\n";
  std::ofstream(folder_.path() / "tokens.txt") << tokens;
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 1);
  Rows::dims = 320;
  Rows::values.clear();
  for (int i = 0; i < 20 * 320; ++i) Rows::values.push_back(normal(random));
  run_graph("rows ! transducer partials=0 joiner=" + (folder / "join.onnx").string() + " decoder=" +
                (folder / "dec.onnx").string() + " mode=beam tokens=" + model("tokens.txt") + " ! keep",
            options(7));
  EXPECT_FALSE(Keep::events.empty());
}

}  // namespace
}  // namespace runnel::pipeline::test
