// GRU and LSTM against equations written down here, in every form that is imported.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/compiler/import/onnx/graph_maker.h"

namespace runnel {
namespace {

using test::Dims;
using test::Floats;
using test::OnnxMaker;
using test::set;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr std::size_t kInputs = 2, kHidden = 3;

Floats wave(std::size_t count, float phase) {
  Floats values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(0.6f * std::sin(phase + 1.3f * static_cast<float>(i)));
  return values;
}
float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

struct Layer {
  std::size_t gates = 3, directions = 1, batch = 1, steps = 4;
  bool reset_last = true, lstm = false;
  std::string direction = "forward";

  [[nodiscard]] Floats weights() const { return wave(directions * gates * kHidden * kInputs, 0.1f); }
  [[nodiscard]] Floats hidden() const { return wave(directions * gates * kHidden * kHidden, 0.7f); }
  [[nodiscard]] Floats bias() const { return wave(directions * 2 * gates * kHidden, 2.0f); }
  [[nodiscard]] Floats x() const { return wave(steps * batch * kInputs, 0.4f); }
  [[nodiscard]] Floats h0() const { return wave(directions * batch * kHidden, 1.1f); }
  [[nodiscard]] Floats c0() const { return wave(directions * batch * kHidden, 1.9f); }

  // Every h [T][D][B][H], then the last h and c [D][B][H].
  [[nodiscard]] std::vector<Floats> expected() const {
    const Floats w = weights(), r = hidden(), b = bias(), frames = x(), first_h = h0(), first_c = c0();
    std::vector<Floats> out = {Floats(steps * directions * batch * kHidden),
                               Floats(directions * batch * kHidden), Floats(directions * batch * kHidden)};
    for (std::size_t d = 0; d < directions; ++d) {
      for (std::size_t n = 0; n < batch; ++n) {
        const std::size_t state = (d * batch + n) * kHidden;
        Floats h(first_h.begin() + static_cast<std::ptrdiff_t>(state),
                 first_h.begin() + static_cast<std::ptrdiff_t>(state + kHidden)),
            c(kHidden, 0.0f);
        if (lstm)
          c.assign(first_c.begin() + static_cast<std::ptrdiff_t>(state),
                   first_c.begin() + static_cast<std::ptrdiff_t>(state + kHidden));
        for (std::size_t i = 0; i < steps; ++i) {
          const std::size_t t = d == 1 || direction == "reverse" ? steps - 1 - i : i;
          const auto of_x = [&](std::size_t gate, std::size_t k) {
            const std::size_t row = d * gates * kHidden + gate * kHidden + k;
            float sum = b[d * 2 * gates * kHidden + gate * kHidden + k];
            for (std::size_t j = 0; j < kInputs; ++j)
              sum += w[row * kInputs + j] * frames[(t * batch + n) * kInputs + j];
            return sum;
          };
          const auto of_h = [&](std::size_t gate, std::size_t k, const Floats& from) {
            const std::size_t row = d * gates * kHidden + gate * kHidden + k;
            float sum = b[d * 2 * gates * kHidden + (gates + gate) * kHidden + k];
            for (std::size_t j = 0; j < kHidden; ++j) sum += r[row * kHidden + j] * from[j];
            return sum;
          };
          Floats next(kHidden), masked(kHidden);
          for (std::size_t k = 0; k < kHidden && !lstm; ++k)
            masked[k] = sigmoid(of_x(1, k) + of_h(1, k, h)) * h[k];
          for (std::size_t k = 0; k < kHidden; ++k) {
            if (lstm) {  // input, output, forget, cell
              c[k] = sigmoid(of_x(2, k) + of_h(2, k, h)) * c[k] +
                     sigmoid(of_x(0, k) + of_h(0, k, h)) * std::tanh(of_x(3, k) + of_h(3, k, h));
              next[k] = sigmoid(of_x(1, k) + of_h(1, k, h)) * std::tanh(c[k]);
            } else {  // update, reset, hidden
              const float z = sigmoid(of_x(0, k) + of_h(0, k, h)),
                          reset = sigmoid(of_x(1, k) + of_h(1, k, h));
              const float fresh =
                  std::tanh(of_x(2, k) + (reset_last ? reset * of_h(2, k, h) : of_h(2, k, masked)));
              next[k] = (1 - z) * fresh + z * h[k];
            }
          }
          h = next;
          std::copy(
              h.begin(), h.end(),
              out[0].begin() + static_cast<std::ptrdiff_t>(((t * directions + d) * batch + n) * kHidden));
        }
        std::copy(h.begin(), h.end(), out[1].begin() + static_cast<std::ptrdiff_t>(state));
        std::copy(c.begin(), c.end(), out[2].begin() + static_cast<std::ptrdiff_t>(state));
      }
    }
    return out;
  }

  [[nodiscard]] OnnxMaker maker() const {
    const auto dim = [](std::size_t size) { return static_cast<std::int64_t>(size); };
    OnnxMaker made;
    made.input("x", {dim(steps), dim(batch), dim(kInputs)})
        .input("h0", {dim(directions), dim(batch), dim(kHidden)});
    if (lstm) made.input("c0", {dim(directions), dim(batch), dim(kHidden)});
    made.floats("w", {dim(directions), dim(gates * kHidden), dim(kInputs)}, weights())
        .floats("r", {dim(directions), dim(gates * kHidden), dim(kHidden)}, hidden());
    made.floats("b", {dim(directions), dim(2 * gates * kHidden)}, bias());
    made.output("every").output("last");
    if (lstm) made.output("cell");
    auto& node = lstm ? made.node("LSTM", {"x", "w", "r", "b", "", "h0", "c0"}, {"every", "last", "cell"})
                      : made.node("GRU", {"x", "w", "r", "b", "", "h0"}, {"every", "last"});
    set(node, "hidden_size", dim(kHidden));
    set(node, "direction", direction);
    if (!lstm) set(node, "linear_before_reset", std::int64_t{reset_last ? 1 : 0});
    return made;
  }

  void check() const {
    std::vector<Floats> inputs = {x(), h0()};
    if (lstm) inputs.push_back(c0());
    const auto found = maker().run(inputs);
    const auto wanted = expected();
    ASSERT_EQ(found.size(), lstm ? 3u : 2u);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_THAT(found[i], Pointwise(FloatNear(1e-5f), wanted[i])) << "output " << i;
  }
};

TEST(OnnxRecurrent, Gru) { Layer{}.check(); }
TEST(OnnxRecurrent, GruBackwards) { Layer{.direction = "reverse"}.check(); }
TEST(OnnxRecurrent, GruBothDirections) { Layer{.directions = 2, .direction = "bidirectional"}.check(); }
TEST(OnnxRecurrent, GruBatch) { Layer{.batch = 3}.check(); }
TEST(OnnxRecurrent, GruResetInFront) {
  Layer{.directions = 2, .reset_last = false, .direction = "bidirectional"}.check();
}
TEST(OnnxRecurrent, Lstm) { Layer{.gates = 4, .lstm = true}.check(); }
TEST(OnnxRecurrent, LstmBothDirections) {
  Layer{.gates = 4, .directions = 2, .lstm = true, .direction = "bidirectional"}.check();
}
TEST(OnnxRecurrent, LstmBatchBackwards) {
  Layer{.gates = 4, .batch = 2, .lstm = true, .direction = "reverse"}.check();
}

TEST(OnnxRecurrent, LongBatchesAreRefused) {
  const auto imported = Layer{.batch = 2, .steps = 65}.maker().import();
  ASSERT_FALSE(imported.ok());
  EXPECT_THAT(std::string(imported.status().text()), HasSubstr("a batch of 2 over 65 steps"));
}

TEST(OnnxRecurrent, OtherActivationsAreRefused) {
  OnnxMaker maker = Layer{}.maker();
  auto* attribute = maker.model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("activations");
  attribute->set_type(::onnx::AttributeProto::STRINGS);
  attribute->add_strings("HardSigmoid");
  attribute->add_strings("Tanh");
  const auto imported = maker.import();
  ASSERT_FALSE(imported.ok());
  EXPECT_THAT(std::string(imported.status().text()), HasSubstr("HardSigmoid"));
}

}  // namespace
}  // namespace runnel
