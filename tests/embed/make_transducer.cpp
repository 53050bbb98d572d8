// make_transducer FOLDER: writes decoder.onnx and joiner.onnx there, which make a transducer of the bundled
// digits model: its twelve logits are the encoder's frame. The decoder lowers the tokens that were heard
// last, so that each is heard once; what else they do is a product with small random weights.
#include <cstdio>
#include <fstream>
#include <random>

#include "tests/compiler/import/onnx/graph_maker.h"

namespace {

using runnel::test::Floats;
using runnel::test::OnnxMaker;

constexpr std::int64_t kClasses = 12, kSilence = 10;

Floats random_weights(std::mt19937& random, float size) {
  Floats weights;
  for (std::int64_t i = 0; i < kClasses * kClasses; ++i)
    weights.push_back(size * (static_cast<float>(random() % 2001) / 1000 - 1));
  return weights;
}

bool save(const OnnxMaker& maker, const std::string& path) {
  const auto bytes = maker.bytes();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "make_transducer FOLDER\n");
    return 2;
  }
  std::mt19937 random(3);
  // A row for each token: what it takes from itself when it was heard. Silence is the blank.
  Floats embedding = random_weights(random, 0.3F);
  for (std::int64_t token = 0; token < kClasses; ++token)
    if (token != kSilence) embedding[static_cast<std::size_t>(token * kClasses + token)] = -12;
  OnnxMaker decoder;
  decoder.input("y", {1, 2}, ::onnx::TensorProto::INT64);
  decoder.floats("embedding", {kClasses, kClasses}, embedding);
  decoder.node("Gather", {"embedding", "y"}, {"e"});
  decoder.integers("axes", {1}, {1});
  auto& sum = decoder.node("ReduceSum", {"e", "axes"}, {"d"});
  runnel::test::set(sum, "keepdims", std::int64_t{0});
  decoder.output("d");

  OnnxMaker joiner;
  joiner.input("x", {1, kClasses}).input("d", {1, kClasses});
  joiner.floats("w", {kClasses, kClasses}, random_weights(random, 0.2F));
  joiner.node("Add", {"x", "d"}, {"s"});
  joiner.node("Tanh", {"s"}, {"t"});
  joiner.node("MatMul", {"t", "w"}, {"p"});
  joiner.node("Add", {"s", "p"}, {"logits"});
  joiner.output("logits");
  const std::string folder = arguments[1];
  return save(decoder, folder + "/decoder.onnx") && save(joiner, folder + "/joiner.onnx") ? 0 : 1;
}
