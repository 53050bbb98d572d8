#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "compiler/ir/graph_editor.h"
#include "compiler/passes/windowed_statistics.h"

namespace runnel::compiler {
namespace {

// product -> (scaled) -> softmax -> product, as indices of nodes.
struct Pattern {
  std::size_t scores = 0, softmax = 0, sum = 0;
  std::optional<std::size_t> scaled;
  TensorId factor = kAbsent;
};

class Attention {
 public:
  Attention(Graph& graph, const std::vector<int>& time_axes, const AttentionWindow& window)
      : graph_(graph), time_axes_(time_axes), window_(window), editor_(graph) {}

  WindowedGraph run() {
    std::vector<Pattern> patterns;
    std::set<std::size_t> replaced;
    for (std::size_t i = 0; i < editor_.old().size(); ++i) {
      if (const auto pattern = match(i)) {
        patterns.push_back(*pattern);
        replaced.insert({pattern->scores, pattern->softmax});
        if (pattern->scaled) replaced.insert(*pattern->scaled);
      }
    }
    WindowedGraph out;
    for (std::size_t i = 0; i < editor_.old().size(); ++i) {
      const Node node = editor_.old()[i];
      if (replaced.contains(i)) continue;
      const auto pattern =
          std::find_if(patterns.begin(), patterns.end(), [&](const Pattern& p) { return p.sum == i; });
      if (pattern == patterns.end()) {
        editor_.add(node);
        continue;
      }
      rewrite(*pattern);
      out.same_clip = false;
      out.notes.push_back(node.name + ": attention to " + std::to_string(window_.left) +
                          " frames before and " + std::to_string(window_.right) + " after chunks of " +
                          std::to_string(window_.chunk));
    }
    return out;
  }

 private:
  [[nodiscard]] int time_axis(TensorId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < time_axes_.size()
               ? time_axes_[static_cast<std::size_t>(id)]
               : -1;
  }
  // The only reader of a tensor.
  [[nodiscard]] std::optional<std::size_t> only_reader(TensorId id) const {
    std::optional<std::size_t> found;
    if (std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end()) return found;
    for (std::size_t k = 0; k < editor_.old().size(); ++k) {
      const auto& inputs = editor_.old()[k].inputs;
      if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) continue;
      if (found) return std::nullopt;
      found = k;
    }
    return found;
  }
  [[nodiscard]] bool integers(TensorId id) { return editor_.tensor(id).dtype != DType::float32; }

  std::optional<Pattern> match(std::size_t i) {
    const Node& product = editor_.old()[i];
    if (product.code != OpCode::matmul) return std::nullopt;
    const TensorId q = product.inputs[0], k = product.inputs[1];
    const int rank = static_cast<int>(editor_.shape(product.outputs[0]).size());
    const auto rank_of = [&](TensorId id) { return static_cast<int>(editor_.shape(id).size()); };
    if (rank < 3 || rank > 4 || rank_of(q) != rank || rank_of(k) != rank || time_axis(q) != rank - 2 ||
        time_axis(k) != rank - 1)
      return std::nullopt;
    if (const auto* options = std::get_if<FullyConnectedOptions>(&product.options);
        options != nullptr && options->activation != Activation::none)
      return std::nullopt;
    if (rank == 4 && editor_.shape(q)[0] != 1) return std::nullopt;
    Pattern pattern;
    pattern.scores = i;
    auto reader = only_reader(product.outputs[0]);
    if (!reader) return std::nullopt;
    const Node& next = editor_.old()[*reader];
    if (next.code == OpCode::mul || (next.code == OpCode::div && !integers(q))) {
      const TensorId other = next.inputs[0] == product.outputs[0] ? next.inputs[1] : next.inputs[0];
      const Tensor& factor = editor_.tensor(other);
      if (!factor.data || factor.data->size() != size_of(factor.dtype) ||
          factor.dtype != editor_.tensor(q).dtype || next.inputs[0] != product.outputs[0])
        return std::nullopt;
      pattern.scaled = reader;
      pattern.factor = other;
      reader = only_reader(next.outputs[0]);
      if (!reader) return std::nullopt;
    }
    const Node& softmax = editor_.old()[*reader];
    if (softmax.code != OpCode::softmax || softmax.arithmetic != Arithmetic::espdl ||
        std::get<AxisOptions>(softmax.options).axis != rank - 1)
      return std::nullopt;
    pattern.softmax = *reader;
    reader = only_reader(softmax.outputs[0]);
    if (!reader) return std::nullopt;
    const Node& sum = editor_.old()[*reader];
    if (sum.code != OpCode::matmul || sum.inputs[0] != softmax.outputs[0] ||
        time_axis(sum.inputs[1]) != rank - 2 || rank_of(sum.inputs[1]) != rank)
      return std::nullopt;
    if (editor_.tensor(sum.outputs[0]).dtype != editor_.tensor(q).dtype ||
        editor_.tensor(sum.inputs[1]).exponents.size() > 1)
      return std::nullopt;
    pattern.sum = *reader;
    return pattern;
  }

  // [heads, time, C], with or without a leading batch: [1, time, heads, C].
  TensorId laid_out(TensorId x, bool keys, const Node& origin) {
    const bool batch = editor_.shape(x).size() == 4;
    const std::vector<std::uint8_t> perm =
        batch ? (keys ? std::vector<std::uint8_t>{0, 3, 1, 2} : std::vector<std::uint8_t>{0, 2, 1, 3})
              : (keys ? std::vector<std::uint8_t>{2, 0, 1} : std::vector<std::uint8_t>{1, 0, 2});
    const TensorId turned = editor_.transpose(x, perm, origin);
    std::vector<std::int32_t> shape = editor_.shape(turned);
    if (!batch) shape.insert(shape.begin(), 1);
    return editor_.reshape(turned, shape, origin);
  }

  void rewrite(const Pattern& pattern) {
    const Node scores = editor_.old()[pattern.scores], softmax = editor_.old()[pattern.softmax],
               sum = editor_.old()[pattern.sum];
    const auto exponent = [&](TensorId id) {
      return editor_.tensor(id).exponents.empty() ? 0 : static_cast<int>(editor_.tensor(id).exponents[0]);
    };
    AttentionOptions options;
    options.left = window_.left;
    options.right = window_.right;
    options.chunk = window_.chunk;
    options.score_exponent = exponent(scores.outputs[0]);
    options.weight_exponent = exponent(softmax.outputs[0]);
    if (pattern.scaled) {
      const Node& scaled = editor_.old()[*pattern.scaled];
      const Tensor& factor = editor_.tensor(pattern.factor);
      if (integers(scores.inputs[0])) {
        options.scale = factor.dtype == DType::int8
                            ? static_cast<int>(std::to_integer<std::int8_t>((*factor.data)[0]))
                            : 0;
        if (factor.dtype == DType::int16) {
          std::int16_t value = 0;
          std::memcpy(&value, factor.data->data(), sizeof value);
          options.scale = value;
        }
        options.scale_exponent = exponent(pattern.factor);
        options.scaled_exponent = exponent(scaled.outputs[0]);
      } else {
        float value = 1;
        std::memcpy(&value, factor.data->data(), sizeof value);
        options.real_scale = scaled.code == OpCode::div ? 1.0f / value : value;
      }
    }
    const TensorId q = laid_out(scores.inputs[0], false, scores),
                   k = laid_out(scores.inputs[1], true, scores), v = laid_out(sum.inputs[1], false, sum);
    const TensorId y = sum.outputs[0];
    Node node = sum;
    node.code = OpCode::attention;
    node.arithmetic = Arithmetic::espdl;
    node.inputs = {q, k, v};
    node.options = options;
    const std::vector<std::int32_t> shape = editor_.shape(v), wanted = editor_.shape(y);
    node.outputs = {editor_.like(y, shape, "/frames")};
    editor_.add(node);
    TensorId made = node.outputs[0];
    if (wanted.size() == 4) {
      editor_.transpose(made, {0, 2, 1, 3}, sum, y);
    } else {
      made = editor_.reshape(made, {shape[1], shape[2], shape[3]}, sum);
      editor_.transpose(made, {1, 0, 2}, sum, y);
    }
  }

  Graph& graph_;
  const std::vector<int>& time_axes_;
  AttentionWindow window_;
  GraphEditor editor_;
};

}  // namespace

WindowedGraph window_attention(Graph& graph, const std::vector<int>& time_axes,
                               const AttentionWindow& window) {
  return Attention(graph, time_axes, window).run();
}

}  // namespace runnel::compiler
