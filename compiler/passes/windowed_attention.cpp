#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compiler/ir/graph_editor.h"
#include "compiler/passes/attention_band.h"
#include "compiler/passes/attention_scores.h"
#include "compiler/passes/simplify/tidy.h"
#include "compiler/passes/windowed_statistics.h"

namespace runnel::compiler {
namespace {

class Attention {
 public:
  Attention(Graph& graph, const std::vector<int>& time_axes, const std::optional<AttentionWindow>& window)
      : graph_(graph), time_axes_(time_axes), window_(window) {}

  Result<WindowedGraph> run() {
    WindowedGraph out;
    std::vector<Found> all;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!multiplies_queries_and_keys(graph_, time_axes_, i)) continue;
      auto found = find(i);
      if (!found.ok()) {
        const Status why = Status(found.status().code()) << "attention '" << graph_.nodes[i].name
                                                         << "' takes no window: " << found.status().text();
        if (window_) return why;
        continue;  // without a window asked for, those whose masks are windows
      }
      all.push_back(std::move(*found));
    }
    if (all.empty()) return out;
    const std::set<std::size_t> gone = unread(all);
    GraphEditor editor(graph_);
    editor_ = &editor;
    for (std::size_t i = 0; i < editor.old().size(); ++i) {
      const Node node = editor.old()[i];
      if (gone.contains(i)) continue;
      const auto found =
          std::find_if(all.begin(), all.end(), [&](const Found& f) { return f.pattern.sum == i; });
      if (found == all.end()) {
        editor.add(node);
        continue;
      }
      rewrite(*found);
      out.same_clip = false;
      out.notes.push_back(note(*found, node.name));
    }
    cancel_transpositions(graph_);
    return out;
  }

 private:
  struct Found {
    AttentionPattern pattern;
    AttentionWindow window;
    bool of_mask = false;         // the window is that of the file
    std::vector<double> bias;     // [heads][distances]
    int bias_heads = 0;           // 0: no bias
    std::vector<double> columns;  // of the table of positions, per distance
  };

  Result<Found> find(std::size_t product) {
    Found found;
    RUNNEL_ASSIGN(found.pattern, read_attention(graph_, time_axes_, product));
    const AttentionPattern& pattern = found.pattern;
    const int frames =
        graph_.tensors[static_cast<std::size_t>(graph_.nodes[product].outputs[0])].shape.back();
    std::optional<AttentionBand> band;
    if (!pattern.hidden.empty()) {
      RUNNEL_ASSIGN(band, band_of(pattern.hidden, frames));
    }
    RUNNEL_ASSIGN(found.window, window_within(band, window_));
    found.of_mask = band && band->left == found.window.left && band->right == found.window.right;
    for (const AttentionPattern::Bias& bias : pattern.biases) RUNNEL_TRY(add_bias(found, bias, frames));
    if (pattern.positions) {
      const auto& column = pattern.positions->column;
      auto columns = by_distance(found.window, pattern.hidden, frames, [&](int query, int key) {
        return static_cast<double>(column[static_cast<std::size_t>(query) * static_cast<std::size_t>(frames) +
                                          static_cast<std::size_t>(key)]);
      });
      if (!columns.ok()) return columns.status();
      if (std::any_of(columns->begin(), columns->end(), [](double at) { return at < -1; }))
        return Status(Code::unsupported,
                      "its product with a table of positions gives keys the scores of other queries");
      found.columns = std::move(*columns);
    }
    return found;
  }

  // What nothing reads once these take windows: scores, weights, and what tables are computed from.
  [[nodiscard]] std::set<std::size_t> unread(const std::vector<Found>& all) const {
    std::set<std::size_t> sums, gone;
    std::set<TensorId> read(graph_.outputs.begin(), graph_.outputs.end());
    for (const Found& found : all) {
      sums.insert(found.pattern.sum);
      const std::vector<TensorId>& operands = graph_.nodes[found.pattern.scores].inputs;
      read.insert(operands.begin(), operands.end());
      if (found.pattern.positions) read.insert(found.pattern.positions->queries);
    }
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      const bool acts = node.code == OpCode::assign_variable || node.code == OpCode::custom ||
                        node.code == OpCode::delegate;
      if (!acts && std::none_of(node.outputs.begin(), node.outputs.end(),
                                [&](TensorId id) { return read.contains(id); })) {
        gone.insert(i);
        continue;
      }
      // Of the product with values, the weights come from elsewhere now.
      read.insert(node.inputs.begin() + (sums.contains(i) ? 1 : 0), node.inputs.end());
    }
    return gone;
  }

  // Several biases are summed.
  Status add_bias(Found& found, const AttentionPattern::Bias& bias, int frames) const {
    const Node& node = graph_.nodes[bias.node];
    const auto size = static_cast<std::size_t>(frames) * static_cast<std::size_t>(frames);
    const auto rows = static_cast<std::size_t>(distances_of(found.window));
    if (found.bias_heads < bias.heads) {
      if (found.bias_heads == 0) found.bias.assign(rows, 0);
      std::vector<double> wide;
      for (int h = 0; h < bias.heads; ++h)
        wide.insert(wide.end(), found.bias.begin(), found.bias.begin() + static_cast<std::ptrdiff_t>(rows));
      found.bias = std::move(wide);
      found.bias_heads = bias.heads;
    }
    for (int h = 0; h < found.bias_heads; ++h) {
      const std::size_t from = bias.heads == 1 ? 0 : static_cast<std::size_t>(h) * size;
      const auto values = by_distance(found.window, found.pattern.hidden, frames, [&](int query, int key) {
        return static_cast<double>(
            bias.values[from + static_cast<std::size_t>(query) * static_cast<std::size_t>(frames) +
                        static_cast<std::size_t>(key)]);
      });
      if (!values.ok())
        return Status(values.status().code())
               << name_of(node.code) << " '" << node.name << "': " << values.status().text();
      for (std::size_t d = 0; d < rows; ++d)
        found.bias[static_cast<std::size_t>(h) * rows + d] += (*values)[d];
    }
    return {};
  }

  static std::string note(const Found& found, const std::string& name) {
    std::string text = name + ": attention to " + std::to_string(found.window.left) + " frames before and " +
                       std::to_string(found.window.right) + " after chunks of " +
                       std::to_string(found.window.chunk);
    if (found.of_mask) text += ", the file's mask";
    if (found.bias_heads > 0 || !found.columns.empty())
      text += ", with a table of " + std::to_string(distances_of(found.window)) + " distances";
    return text;
  }

  [[nodiscard]] bool integers(TensorId id) { return editor_->tensor(id).dtype != DType::float32; }

  TensorId constant(const Node& origin, const char* suffix, std::vector<std::int32_t> shape,
                    const std::vector<float>& values) {
    Tensor made;
    made.name = origin.name + suffix;
    made.dtype = DType::float32;
    made.shape = std::move(shape);
    made.data.emplace(values.size() * sizeof(float));
    std::memcpy(made.data->data(), values.data(), made.data->size());
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }

  TensorId bias_table(const Found& found, const Node& origin) {
    if (found.bias_heads == 0) return kAbsent;
    const std::vector<float> values(found.bias.begin(), found.bias.end());
    return constant(origin, ".bias", {found.bias_heads, distances_of(found.window)}, values);
  }

  TensorId distance_table(const Found& found, const Node& origin) {
    const AttentionPattern::Positions& positions = *found.pattern.positions;
    const auto channels = static_cast<std::size_t>(positions.channels),
               columns = static_cast<std::size_t>(positions.columns);
    std::vector<float> values;
    for (const double column : found.columns) {
      for (std::size_t h = 0; h < static_cast<std::size_t>(positions.heads); ++h) {
        for (std::size_t c = 0; c < channels; ++c)
          values.push_back(
              column < 0
                  ? 0.0f
                  : positions.factor *
                        positions.table[(h * columns + static_cast<std::size_t>(column)) * channels + c]);
      }
    }
    return constant(origin, ".distances", {distances_of(found.window), positions.heads, positions.channels},
                    values);
  }

  // [heads, time, C], with or without a leading batch: [1, time, heads, C].
  TensorId laid_out(TensorId x, bool keys, const Node& origin) {
    GraphEditor& editor = *editor_;
    const bool batch = editor.shape(x).size() == 4;
    const std::vector<std::uint8_t> perm =
        batch ? (keys ? std::vector<std::uint8_t>{0, 3, 1, 2} : std::vector<std::uint8_t>{0, 2, 1, 3})
              : (keys ? std::vector<std::uint8_t>{2, 0, 1} : std::vector<std::uint8_t>{1, 0, 2});
    const TensorId turned = editor.transpose(x, perm, origin);
    std::vector<std::int32_t> shape = editor.shape(turned);
    if (!batch) shape.insert(shape.begin(), 1);
    return editor.reshape(turned, shape, origin);
  }

  void rewrite(const Found& found) {
    const AttentionPattern& pattern = found.pattern;
    GraphEditor& editor = *editor_;
    const Node scores = editor.old()[pattern.scores], softmax = editor.old()[pattern.softmax],
               sum = editor.old()[pattern.sum];
    const auto exponent = [&](TensorId id) {
      return editor.tensor(id).exponents.empty() ? 0 : static_cast<int>(editor.tensor(id).exponents[0]);
    };
    AttentionOptions options;
    options.left = found.window.left;
    options.right = found.window.right;
    options.chunk = found.window.chunk;
    options.score_exponent = exponent(scores.outputs[0]);
    options.weight_exponent = exponent(softmax.outputs[0]);
    if (pattern.scaled) {
      const Tensor& factor = editor.tensor(pattern.factor);
      options.scale =
          factor.dtype == DType::int8 ? static_cast<int>(std::to_integer<std::int8_t>((*factor.data)[0])) : 0;
      if (factor.dtype == DType::int16) {
        std::int16_t value = 0;
        std::memcpy(&value, factor.data->data(), sizeof value);
        options.scale = value;
      }
      options.scale_exponent = exponent(pattern.factor);
      options.scaled_exponent = exponent(editor.old()[*pattern.scaled].outputs[0]);
    }
    options.real_scale = pattern.scale;
    TensorId q = laid_out(scores.inputs[0], false, scores);
    const TensorId k = laid_out(scores.inputs[1], true, scores), v = laid_out(sum.inputs[1], false, sum);
    const TensorId y = sum.outputs[0];
    Node node = sum;
    node.code = OpCode::attention;
    node.arithmetic = Arithmetic::espdl;
    TensorId bias = bias_table(found, scores), distances = kAbsent;
    if (pattern.positions) {  // the two kinds of queries side by side
      distances = distance_table(found, scores);
      Node both = scores;
      both.name += "/queries";
      both.code = OpCode::concat;
      both.arithmetic = Arithmetic::espdl;
      both.options = AxisOptions{3};
      both.inputs = {q, laid_out(pattern.positions->queries, false, scores)};
      std::vector<std::int32_t> shape = editor.shape(q);
      shape[3] += pattern.positions->channels;
      both.outputs = {editor.like(q, shape, "/queries")};
      q = both.outputs[0];
      editor.add(both);
    }
    node.inputs = {q, k, v};
    if (bias != kAbsent || distances != kAbsent) node.inputs.push_back(bias);
    if (distances != kAbsent) node.inputs.push_back(distances);
    node.options = options;
    const std::vector<std::int32_t> shape = editor.shape(v), wanted = editor.shape(y);
    node.outputs = {editor.like(y, shape, "/frames")};
    editor.add(node);
    TensorId made = node.outputs[0];
    if (wanted.size() == 4) {
      editor.transpose(made, {0, 2, 1, 3}, sum, y);
    } else {
      made = editor.reshape(made, {shape[1], shape[2], shape[3]}, sum);
      editor.transpose(made, {1, 0, 2}, sum, y);
    }
  }

  Graph& graph_;
  const std::vector<int>& time_axes_;
  std::optional<AttentionWindow> window_;
  GraphEditor* editor_ = nullptr;
};

}  // namespace

Result<WindowedGraph> window_attention(Graph& graph, const std::vector<int>& time_axes,
                                       const std::optional<AttentionWindow>& window) {
  return Attention(graph, time_axes, window).run();
}

}  // namespace runnel::compiler
