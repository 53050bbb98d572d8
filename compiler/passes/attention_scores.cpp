#include "compiler/passes/attention_scores.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "compiler/passes/graph_piece.h"
#include "inference/host/operator_traits.h"

namespace runnel::compiler {
namespace {

using Shape = std::vector<std::int32_t>;

constexpr int kMaxTerms = 64;                             // operators between product and softmax
constexpr std::size_t kMaxScores = std::size_t{1} << 26;  // of a product with a table, while it is read

Shape without_ones(const Shape& shape) {
  Shape out;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(out),
               [](std::int32_t dim) { return dim != 1; });
  return out;
}

// Moves elements as they are, to places that do not depend on them.
bool moves(const Node& node) {
  return traits_of(node.code).moves || node.code == OpCode::gather || node.code == OpCode::pad;
}

// Per tensor: does it come from an input of the graph, or from what a session keeps?
std::vector<bool> known_at_run_time(const Graph& graph) {
  std::vector<bool> known(graph.tensors.size(), false);
  for (const TensorId id : graph.inputs) known[static_cast<std::size_t>(id)] = true;
  for (const Node& node : graph.nodes) {
    bool any = std::none_of(node.inputs.begin(), node.inputs.end(), [](TensorId id) { return id >= 0; }) ||
               node.code == OpCode::read_variable || node.code == OpCode::custom ||
               node.code == OpCode::delegate;
    for (const TensorId id : node.inputs) any = any || (id >= 0 && known[static_cast<std::size_t>(id)]);
    for (const TensorId id : node.outputs) known[static_cast<std::size_t>(id)] = any;
  }
  return known;
}

class Reader {
 public:
  Reader(const Graph& graph, const std::vector<int>& time_axes, std::size_t product)
      : graph_(graph), time_axes_(time_axes), makers_(makers_of(graph)), depends_(known_at_run_time(graph)) {
    out_.scores = product;
    const Shape& shape = shape_of(graph.nodes[product].outputs[0]);
    rank_ = static_cast<int>(shape.size());
    frames_ = shape.back();
    heads_ = shape[shape.size() - 3];
  }

  Result<AttentionPattern> run() {
    RUNNEL_TRY(find_softmax());
    RUNNEL_TRY(find_sum());
    const TensorId scores = node(out_.softmax).inputs[0];
    if (integers()) {
      RUNNEL_TRY(read_integers(scores));
    } else {
      scale_ = 1;
      RUNNEL_TRY(read(scores, 1));
      if (!found_) return fail(out_.softmax) << "is not of the products of queries and keys";
      out_.scale = scale_;
      if (out_.positions) out_.positions->factor /= scale_;
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const Node& node(std::size_t index) const { return graph_.nodes[index]; }
  [[nodiscard]] const Tensor& tensor(TensorId id) const {
    return graph_.tensors[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const Shape& shape_of(TensorId id) const { return tensor(id).shape; }
  [[nodiscard]] bool integers() const { return tensor(node(out_.scores).inputs[0]).dtype != DType::float32; }
  [[nodiscard]] Status fail(std::size_t index) const {
    return Status(Code::unsupported) << name_of(node(index).code) << " '" << node(index).name << "' ";
  }
  [[nodiscard]] int maker(TensorId id) const { return makers_[static_cast<std::size_t>(id)]; }

  // The only reader of what a node computes. Errors: naming the node.
  [[nodiscard]] Result<std::size_t> reader_of(std::size_t index) const {
    const TensorId id = node(index).outputs[0];
    std::optional<std::size_t> found;
    int readers = std::count(graph_.outputs.begin(), graph_.outputs.end(), id) > 0 ? 1 : 0;
    for (std::size_t k = 0; k < graph_.nodes.size(); ++k) {
      const auto& inputs = node(k).inputs;
      if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) continue;
      ++readers;
      found = k;
    }
    if (readers == 1 && found) return *found;
    return fail(index) << "is read " << readers << " times, expected once, on the way to a softmax";
  }

  // Forwards from the product: what may be in between keeps the shape.
  Status find_softmax() {
    std::size_t at = out_.scores;
    for (int steps = 0; steps < 16; ++steps) {
      RUNNEL_ASSIGN(at, reader_of(at));
      if (node(at).code == OpCode::softmax) {
        const Node& softmax = node(at);
        if (softmax.arithmetic != Arithmetic::espdl ||
            std::get<AxisOptions>(softmax.options).axis !=
                static_cast<int>(shape_of(softmax.inputs[0]).size()) - 1 ||
            shape_of(softmax.inputs[0]).size() != static_cast<std::size_t>(rank_))
          return fail(at) << "is not over the keys, the last axis of " << rank_;
        out_.softmax = at;
        return {};
      }
      const OpCode code = node(at).code;
      const bool may_be = code == OpCode::add || code == OpCode::sub || code == OpCode::mul ||
                          code == OpCode::div || code == OpCode::where || code == OpCode::reshape;
      if (!may_be)
        return fail(at) << "is between the product of queries and keys and a softmax, expected sums, "
                           "factors and masks";
    }
    return fail(out_.scores) << "leads to no softmax";
  }

  Status find_sum() {
    RUNNEL_ASSIGN(std::size_t at, reader_of(out_.softmax));
    TensorId weights = node(out_.softmax).outputs[0];
    // Weights of hidden keys, which are zero already, are set to zero.
    if (node(at).code == OpCode::where) {
      const Node& zeroed = node(at);
      const auto zero = scalar(zeroed.inputs[1]);
      if (zeroed.inputs[2] != node(out_.softmax).outputs[0] || !zero || *zero != 0)
        return fail(at) << "is between the softmax and the product with values";
      RUNNEL_TRY(hide(at, zeroed.inputs[0], true));
      weights = zeroed.outputs[0];
      RUNNEL_ASSIGN(at, reader_of(at));
    }
    const Node& sum = node(at);
    if (sum.code != OpCode::matmul || sum.inputs[0] != weights)
      return fail(at) << "is between the softmax and the product with values";
    const TensorId values = sum.inputs[1];
    if (static_cast<int>(shape_of(values).size()) != rank_ ||
        time_axes_[static_cast<std::size_t>(values)] != rank_ - 2 ||
        tensor(sum.outputs[0]).dtype != tensor(node(out_.scores).inputs[0]).dtype ||
        tensor(values).exponents.size() > 1)
      return fail(at) << "is no product with values of rank " << rank_
                      << " and one scale, with time before channels";
    out_.sum = at;
    return {};
  }

  // A constant of one element.
  [[nodiscard]] std::optional<float> scalar(TensorId id) const {
    const Tensor& of = tensor(id);
    if (!of.data || of.dtype != DType::float32 || of.data->size() != sizeof(float)) return std::nullopt;
    float value = 0;
    std::memcpy(&value, of.data->data(), sizeof value);
    return value;
  }

  // Integers: the product, and at most one factor.
  Status read_integers(TensorId id) {
    const int at = maker(id);
    const auto index = static_cast<std::size_t>(at);
    const TensorId product = node(out_.scores).outputs[0];
    if (id == product) return {};
    const Node& scaled = node(index);
    const TensorId factor = scaled.inputs.size() > 1 ? scaled.inputs[1] : kAbsent;
    if (scaled.code != OpCode::mul || scaled.inputs[0] != product || factor < 0 || !tensor(factor).data ||
        tensor(factor).dtype != tensor(node(out_.scores).inputs[0]).dtype ||
        tensor(factor).data->size() != size_of(tensor(factor).dtype))
      return fail(index) << "of integers is between the product of queries and keys and a softmax, expected "
                            "one constant factor at most; quantize after the window is given";
    out_.scaled = index;
    out_.factor = factor;
    return {};
  }

  // The terms that `id` is the sum of, each times `factor`.
  Status read(TensorId id, float factor) {
    const int at = maker(id);
    if (at < 0) return fail(out_.softmax) << "reads the model's input \"" << tensor(id).name << "\"";
    const auto index = static_cast<std::size_t>(at);
    const Node& here = node(index);
    if (++depth_ > kMaxTerms)
      return fail(out_.softmax) << "is of more than " << kMaxTerms << " operators, expected a few";
    if (index == out_.scores) {
      if (found_) return fail(index) << "is counted twice in the scores, expected once";
      scale_ = factor;
      found_ = true;
      return {};
    }
    switch (here.code) {
      case OpCode::add:
      case OpCode::sub: {
        if (const auto* options = std::get_if<BinaryOptions>(&here.options);
            options != nullptr && options->activation != Activation::none)
          break;
        const float sign = here.code == OpCode::sub ? -1.0f : 1.0f;
        const bool first = depends_on_time(here.inputs[0]), second = depends_on_time(here.inputs[1]);
        if (first && second) {
          RUNNEL_TRY(read(here.inputs[0], factor));
          return read(here.inputs[1], sign * factor);
        }
        if (!first) {
          RUNNEL_TRY(add_bias(index, here.inputs[0], factor));
          return read(here.inputs[1], sign * factor);
        }
        RUNNEL_TRY(add_bias(index, here.inputs[1], sign * factor));
        return read(here.inputs[0], factor);
      }
      case OpCode::mul:
      case OpCode::div: {
        const bool turned = here.code == OpCode::mul && scalar(here.inputs[0]).has_value();
        const auto value = scalar(here.inputs[turned ? 0 : 1]);
        if (!value || *value == 0 || !std::isfinite(*value)) break;
        return read(here.inputs[turned ? 1 : 0],
                    here.code == OpCode::mul ? factor * *value : factor * (1.0f / *value));
      }
      case OpCode::where: {
        const auto yes = scalar(here.inputs[1]), no = scalar(here.inputs[2]);
        if (yes.has_value() == no.has_value() || (yes ? *yes : *no) * factor > kHidden) break;
        RUNNEL_TRY(hide(index, here.inputs[0], yes.has_value()));
        return read(here.inputs[yes ? 2 : 1], factor);
      }
      case OpCode::reshape:
        if (without_ones(shape_of(here.inputs[0])) != without_ones(shape_of(id))) break;
        return read(here.inputs[0], factor);
      default:
        break;
    }
    if (moves(here) || here.code == OpCode::matmul || here.code == OpCode::fully_connected)
      return read_positions(id, factor);
    return fail(index) << "is between the product of queries and keys and a softmax, expected sums, factors "
                          "and masks";
  }

  [[nodiscard]] bool depends_on_time(TensorId id) const { return depends_[static_cast<std::size_t>(id)]; }

  // Whether `shape` broadcasts to [.., heads or 1, frames, frames], and its strides there.
  bool strides_in_scores(const Shape& shape, std::int64_t (&strides)[3], int& heads) const {
    const Shape full = rank_ == 4 ? Shape{1, heads_, frames_, frames_} : Shape{heads_, frames_, frames_};
    if (shape.size() > full.size()) return false;
    std::int64_t step = 1;
    std::fill_n(strides, 3, 0);
    heads = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::int32_t dim = shape[shape.size() - 1 - i];
      if (dim != 1 && dim != full[full.size() - 1 - i]) return false;
      if (dim != 1 && i < 3) strides[2 - i] = step;
      if (i == 2) heads = dim;
      step *= dim;
    }
    return true;
  }

  Status add_bias(std::size_t index, TensorId id, float factor) {
    auto values = values_inside(graph_, makers_, id);
    if (!values.ok()) return fail(index) << values.status().text();
    std::int64_t strides[3];
    AttentionPattern::Bias bias;
    if (!strides_in_scores(shape_of(id), strides, bias.heads))
      return fail(index) << "adds a constant that does not fit scores of " << heads_ << " heads over "
                         << frames_ << " frames";
    bias.node = index;
    const auto frames = static_cast<std::size_t>(frames_);
    std::vector<bool> hidden(frames * frames, true);
    bool any = false;
    for (int h = 0; h < bias.heads; ++h) {
      for (std::size_t i = 0; i < frames; ++i) {
        for (std::size_t j = 0; j < frames; ++j) {
          const float value =
              factor *
              (*values)[static_cast<std::size_t>(h * strides[0] + static_cast<std::int64_t>(i) * strides[1] +
                                                 static_cast<std::int64_t>(j) * strides[2])];
          if (std::isnan(value)) return fail(index) << "adds a constant with elements that are no numbers";
          bias.values.push_back(value);
          if (value > kHidden) hidden[i * frames + j] = false;
        }
      }
    }
    for (const bool key : hidden) any = any || key;
    if (any) join(hidden);
    // A mask is no bias: what it adds to the keys that are seen is nothing.
    bool more = false;
    for (std::size_t i = 0; i < bias.values.size(); ++i)
      more = more || (!hidden[i % hidden.size()] && bias.values[i] != 0);
    if (more) out_.biases.push_back(std::move(bias));
    return {};
  }

  void join(const std::vector<bool>& hidden) {
    if (out_.hidden.empty()) out_.hidden.assign(hidden.size(), false);
    for (std::size_t i = 0; i < hidden.size(); ++i) out_.hidden[i] = out_.hidden[i] || hidden[i];
  }

  // Keys that a constant condition hides where it is `when`.
  Status hide(std::size_t index, TensorId condition, bool when) {
    const Tensor& of = tensor(condition);
    std::int64_t strides[3];
    int heads = 1;
    if (!of.data || size_of(of.dtype) != 1 || !strides_in_scores(of.shape, strides, heads) || heads != 1)
      return fail(index) << "has a condition that is no constant mask of queries and keys";
    const auto frames = static_cast<std::size_t>(frames_);
    std::vector<bool> hidden(frames * frames);
    for (std::size_t i = 0; i < frames; ++i) {
      for (std::size_t j = 0; j < frames; ++j) {
        const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(i) * strides[1] +
                                                 static_cast<std::int64_t>(j) * strides[2]);
        hidden[i * frames + j] = ((*of.data)[at] != std::byte{0}) == when;
      }
    }
    join(hidden);
    return {};
  }

  // A product of queries with a table over positions, and movement that turns it so that each key finds the
  // row of its distance (Transformer-XL's relative shift, however it is written). Which element comes from
  // where is found by moving numbers.
  Status read_positions(TensorId moved, float factor) {
    if (out_.positions) return fail(out_.softmax) << "is of two products with tables, expected one";
    TensorId id = moved;
    while (moves(node(static_cast<std::size_t>(maker(id))))) {
      const auto index = static_cast<std::size_t>(maker(id));
      const auto& inputs = node(index).inputs;
      // What else it reads, a column of zeros for example, is constant.
      const auto at_run_time = [&](TensorId x) { return x >= 0 && depends_on_time(x); };
      const auto x = std::find_if(inputs.begin(), inputs.end(), at_run_time);
      if (x == inputs.end() || std::find_if(x + 1, inputs.end(), at_run_time) != inputs.end() ||
          maker(*x) < 0)
        return fail(index) << "is between a product with a table of positions and a softmax";
      id = *x;
    }
    const auto index = static_cast<std::size_t>(maker(id));
    AttentionPattern::Positions positions;
    positions.factor = factor;
    RUNNEL_TRY(read_table(index, positions));
    RUNNEL_TRY(follow(index, moved, positions));
    out_.positions = std::move(positions);
    return {};
  }

  // Which column each score comes from: numbers in place of the product, 1 + column, 1 + row, 1 + head, are
  // moved as it is. Padding is 0.
  Status follow(std::size_t index, TensorId moved, AttentionPattern::Positions& positions) const {
    const auto columns = static_cast<std::size_t>(positions.columns),
               frames = static_cast<std::size_t>(frames_), heads = static_cast<std::size_t>(heads_),
               pairs = frames * frames, count = heads * frames * columns;
    if (count > kMaxScores || heads * pairs > kMaxScores)
      return fail(index) << "gives " << count << " scores, expected at most " << kMaxScores
                         << "; export a shorter clip";
    const auto moved_numbers = [&](auto number) {
      std::vector<float> source;
      source.reserve(count);
      for (std::size_t i = 0; i < count; ++i) source.push_back(static_cast<float>(number(i)));
      return values_inside(graph_, makers_, moved, {{node(index).outputs[0], std::move(source)}});
    };
    RUNNEL_ASSIGN(const std::vector<float> column,
                  moved_numbers([&](std::size_t i) { return i % columns + 1; }));
    RUNNEL_ASSIGN(const std::vector<float> row,
                  moved_numbers([&](std::size_t i) { return i / columns % frames + 1; }));
    RUNNEL_ASSIGN(const std::vector<float> head,
                  moved_numbers([&](std::size_t i) { return i / columns / frames + 1; }));
    if (column.size() != heads * pairs)
      return fail(index) << "gives " << column.size() << " scores, expected " << heads << " times " << frames
                         << " times " << frames;
    for (std::size_t i = 0; i < column.size(); ++i) {
      const bool own = row[i] == static_cast<float>(i / frames % frames + 1) &&
                       head[i] == static_cast<float>(i / pairs + 1);
      auto from = static_cast<std::int32_t>(column[i]) - 1;
      if (from >= 0 && !own) from = -2;  // of another query: the shift ran over an edge
      if (i < pairs)
        positions.column.push_back(from);
      else if (positions.column[i % pairs] != from)
        return fail(index) << "is moved differently for heads 0 and " << i / pairs;
    }
    return {};
  }

  Status read_table(std::size_t index, AttentionPattern::Positions& positions) {
    const Node& product = node(index);
    const bool dense = product.code == OpCode::fully_connected;
    if ((product.code != OpCode::matmul && !dense) || product.arithmetic != Arithmetic::espdl ||
        std::get<FullyConnectedOptions>(product.options).activation != Activation::none ||
        product.inputs[0] < 0 || (dense && product.inputs.size() > 2 && product.inputs[2] >= 0) ||
        depends_on_time(product.inputs[1]))
      return fail(index) << "is between the product of queries and keys and a softmax, expected a product of "
                            "queries with a constant table over positions";
    const TensorId queries = product.inputs[0], table = product.inputs[1];
    const Shape &x = shape_of(queries), &t = shape_of(table), &y = shape_of(product.outputs[0]);
    if (static_cast<int>(x.size()) != rank_ || time_axes_[static_cast<std::size_t>(queries)] != rank_ - 2 ||
        x[x.size() - 2] != frames_ || x[x.size() - 3] != heads_ || static_cast<int>(y.size()) != rank_)
      return fail(index) << "is no product of the queries of " << heads_ << " heads over " << frames_
                         << " frames";
    auto values = values_inside(graph_, makers_, table);
    if (!values.ok()) return fail(index) << values.status().text();
    positions.queries = queries;
    positions.channels = x.back();
    positions.columns = y.back();
    const auto columns = static_cast<std::size_t>(positions.columns),
               channels = static_cast<std::size_t>(positions.channels);
    positions.heads = static_cast<int>(values->size() / (columns * channels));
    if (positions.heads != 1 && (positions.heads != heads_ || t.size() < 3 || t[t.size() - 3] != heads_))
      return fail(index) << "has a table for " << positions.heads << " heads, expected 1 or " << heads_;
    if (dense) {  // [columns][channels]
      positions.table = std::move(*values);
      return {};
    }
    for (std::size_t h = 0; h < static_cast<std::size_t>(positions.heads); ++h) {
      for (std::size_t n = 0; n < columns; ++n) {
        for (std::size_t c = 0; c < channels; ++c)
          positions.table.push_back((*values)[(h * channels + c) * columns + n]);
      }
    }
    return {};
  }

  const Graph& graph_;
  const std::vector<int>& time_axes_;
  std::vector<int> makers_;
  std::vector<bool> depends_;  // per tensor: known only at run time
  int depth_ = 0;
  AttentionPattern out_;
  int rank_ = 0;
  std::int32_t frames_ = 0, heads_ = 0;
  float scale_ = 1;
  bool found_ = false;
};

}  // namespace

bool multiplies_queries_and_keys(const Graph& graph, const std::vector<int>& time_axes, std::size_t product) {
  const Node& node = graph.nodes[product];
  if (node.code != OpCode::matmul) return false;
  const auto shape = [&](TensorId id) -> const Shape& {
    return graph.tensors[static_cast<std::size_t>(id)].shape;
  };
  const auto time = [&](TensorId id) { return time_axes[static_cast<std::size_t>(id)]; };
  const TensorId q = node.inputs[0], k = node.inputs[1];
  const auto rank = static_cast<int>(shape(node.outputs[0]).size());
  if (rank < 3 || rank > 4 || static_cast<int>(shape(q).size()) != rank ||
      static_cast<int>(shape(k).size()) != rank || time(q) != rank - 2 || time(k) != rank - 1)
    return false;
  if (const auto* options = std::get_if<FullyConnectedOptions>(&node.options);
      options != nullptr && options->activation != Activation::none)
    return false;
  return rank == 3 || shape(q)[0] == 1;
}

Result<AttentionPattern> read_attention(const Graph& graph, const std::vector<int>& time_axes,
                                        std::size_t product) {
  return Reader(graph, time_axes, product).run();
}

}  // namespace runnel::compiler
