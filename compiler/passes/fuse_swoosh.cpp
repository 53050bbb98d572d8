#include "compiler/passes/fuse_swoosh.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "compiler/passes/graph_piece.h"

namespace runnel::compiler {
namespace {

class Swooshes {
 public:
  explicit Swooshes(Graph& graph) : graph_(graph), makers_(makers_of(graph)) {}

  void run() {
    for (Node& node : graph_.nodes) {
      if (const auto found = match(node)) {
        node.code = OpCode::swoosh;
        node.arithmetic = Arithmetic::espdl;
        node.inputs = {found->x};
        node.options = found->options;
      }
    }
  }

 private:
  struct Found {
    TensorId x = kAbsent;
    FunctionOptions options;
  };

  // The operator that computes `id`, if it is this one without an activation.
  const Node* made_by(TensorId id, OpCode code) const {
    const int maker = id < 0 ? -1 : makers_[static_cast<std::size_t>(id)];
    return maker < 0 ? nullptr : plain(graph_.nodes[static_cast<std::size_t>(maker)], code);
  }
  static const Node* plain(const Node& node, OpCode code) {
    const auto* options = std::get_if<BinaryOptions>(&node.options);
    const bool activated = options != nullptr && options->activation != Activation::none;
    return node.code == code && !activated && node.arithmetic == Arithmetic::espdl ? &node : nullptr;
  }
  std::optional<float> scalar(TensorId id) const {
    const Tensor& tensor = graph_.tensors[static_cast<std::size_t>(id)];
    if (!tensor.data || tensor.dtype != DType::float32 || tensor.data->size() != sizeof(float))
      return std::nullopt;
    float value = 0;
    std::memcpy(&value, tensor.data->data(), sizeof value);
    return value;
  }
  bool is(TensorId id, float value) const { return scalar(id) == value; }

  // The operand beside a scalar, of a sum or a product.
  struct Beside {
    TensorId x = kAbsent;
    float value = 0;
  };
  std::optional<Beside> beside(const Node* node) const {
    if (node == nullptr) return std::nullopt;
    for (const std::size_t which : {0, 1}) {
      const auto value = scalar(node->inputs[which]);
      if (value) return Beside{node->inputs[1 - which], *value};
    }
    return std::nullopt;
  }
  // x - value; x + (-value) is the same.
  std::optional<Beside> less(const Node* node) const {
    if (node == nullptr) return std::nullopt;
    const auto value = scalar(node->inputs[1]);
    if (!value || !std::isfinite(*value)) return std::nullopt;
    return Beside{node->inputs[0], *value};
  }

  std::optional<Found> match(const Node& node) const {
    if (graph_.tensors[static_cast<std::size_t>(node.outputs[0])].dtype != DType::float32)
      return std::nullopt;
    const auto outer = less(plain(node, OpCode::sub));
    if (!outer) return std::nullopt;
    const Node* const inner = made_by(outer->x, OpCode::sub);
    if (inner == nullptr) return std::nullopt;
    const auto slope = beside(made_by(inner->inputs[1], OpCode::mul));
    const TensorId t = softplus_of(inner->inputs[0]);
    if (!slope || t == kAbsent || !std::isfinite(slope->value)) return std::nullopt;
    Found found;
    found.x = slope->x;
    found.options.beta = slope->value;
    found.options.gamma = outer->value;
    if (t == slope->x) return found;
    const auto shifted = less(made_by(t, OpCode::sub));
    if (!shifted || shifted->x != slope->x) return std::nullopt;
    found.options.alpha = shifted->value;
    return found;
  }

  // t of log(1 + exp(t)).
  TensorId softplus_of(TensorId id) const {
    if (const Node* const where = made_by(id, OpCode::where)) {
      const Node* const equal = made_by(where->inputs[0], OpCode::equal);
      const TensorId t = log_of_sum(where->inputs[2]);
      const bool infinite =
          equal != nullptr && equal->inputs[0] == where->inputs[2] && is(equal->inputs[1], HUGE_VALF);
      return infinite && t == where->inputs[1] ? t : kAbsent;
    }
    if (const Node* const sum = made_by(id, OpCode::add)) {
      const auto above = beside(made_by(sum->inputs[0], OpCode::max));
      const TensorId below = log_of_sum(sum->inputs[1]);
      if (!above || above->value != 0 || below == kAbsent) return kAbsent;
      const Node* const negative = made_by(below, OpCode::neg);
      const Node* const size = negative == nullptr ? nullptr : made_by(negative->inputs[0], OpCode::abs);
      if (size == nullptr) return kAbsent;
      if (size->inputs[0] == above->x) return above->x;
      const Node* const turned = made_by(size->inputs[0], OpCode::sub);  // |0 - t|
      return turned != nullptr && is(turned->inputs[0], 0) && turned->inputs[1] == above->x ? above->x
                                                                                            : kAbsent;
    }
    if (const Node* const softplus = made_by(id, OpCode::softplus)) return softplus->inputs[0];
    return log_of_sum(id);
  }

  // u of log(1 + exp(u)).
  TensorId log_of_sum(TensorId id) const {
    const Node* const log = made_by(id, OpCode::log);
    const auto sum = log == nullptr ? std::nullopt : beside(made_by(log->inputs[0], OpCode::add));
    const Node* const exp = sum && sum->value == 1 ? made_by(sum->x, OpCode::exp) : nullptr;
    return exp == nullptr ? kAbsent : exp->inputs[0];
  }

  Graph& graph_;
  std::vector<int> makers_;
};

}  // namespace

void fuse_swoosh(Graph& graph) { Swooshes(graph).run(); }

}  // namespace runnel::compiler
