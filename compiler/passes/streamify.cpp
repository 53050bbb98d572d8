#include "compiler/passes/streamify.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/numbering.h"
#include "compiler/passes/stream_analysis.h"
#include "compiler/passes/time_first.h"
#include "compiler/passes/windowed_statistics.h"
#include "compiler/write/writer.h"
#include "inference/model/model.h"

namespace runnel::compiler {
namespace {

// An analysis in terms of the graph.
struct View {
  std::vector<int> time_axes;       // per tensor, -1: no stream
  std::vector<bool> after_refusal;  // per tensor
  std::vector<int> refused;         // nodes
  std::vector<std::string> refusals;
  std::vector<std::int8_t> input_axes;
  std::vector<std::int64_t> lengths;  // per tensor, for a recording of `length` frames; 0: no stream
};

Result<View> view_of(const Graph& graph, const std::vector<int>& given, OperatorTable operators,
                     std::int64_t length = 0) {
  Numbering numbering(graph);
  RUNNEL_TRY(numbering.number());
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, graph_bytes(graph, numbering));
  RUNNEL_ASSIGN(const Model model, Model::open(bytes));
  RUNNEL_TRY(check_operators(model, operators));
  RUNNEL_ASSIGN(const std::vector<std::int8_t> axes, input_time_axes(model, given));
  RUNNEL_ASSIGN(StreamAnalysis analysis, analyse_streams(model, operators, axes));
  View out;
  out.time_axes.assign(graph.tensors.size(), -1);
  out.after_refusal.assign(graph.tensors.size(), false);
  out.lengths.assign(graph.tensors.size(), 0);
  std::vector<std::int64_t> lengths(analysis.tensors.size());
  if (length > 0) plan_lengths(model, analysis.tensors, analysis.steps, length, lengths);
  for (std::size_t i = 0; i < numbering.order().size(); ++i) {
    const auto id = static_cast<std::size_t>(numbering.order()[i]);
    out.time_axes[id] = analysis.tensors[i].time_axis;
    out.lengths[id] = analysis.tensors[i].time_axis < 0 ? 0 : lengths[i];
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    bool after = std::find(analysis.refused.begin(), analysis.refused.end(), static_cast<int>(n)) !=
                 analysis.refused.end();
    for (const TensorId input : node.inputs)
      after = after || (input >= 0 && out.after_refusal[static_cast<std::size_t>(input)]);
    for (const TensorId output : node.outputs) out.after_refusal[static_cast<std::size_t>(output)] = after;
  }
  out.input_axes = axes;
  out.refused = std::move(analysis.refused);
  out.refusals = std::move(analysis.refusals);
  return out;
}

// Frames of the clip in the file.
int clip_frames(const Graph& graph, const View& view) {
  for (const TensorId input : graph.inputs) {
    const int axis = view.time_axes[static_cast<std::size_t>(input)];
    if (axis >= 0)
      return graph.tensors[static_cast<std::size_t>(input)].shape[static_cast<std::size_t>(axis)];
  }
  return 0;
}

// Gives the graph a clip of another length: before what prevents streaming all shapes follow, after it
// there is one result.
Status set_clip(Graph& graph, const std::vector<int>& axes, std::int64_t frames, OperatorTable operators) {
  RUNNEL_ASSIGN(const View view, view_of(graph, axes, operators, frames));
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    Tensor& tensor = graph.tensors[id];
    if (view.time_axes[id] < 0 || view.after_refusal[id] || tensor.data) continue;
    if (view.lengths[id] < 1 || view.lengths[id] > (1 << 24)) {
      return Status(Code::invalid_argument) << "a window of " << frames << " frames: tensor \"" << tensor.name
                                            << "\" would have " << view.lengths[id];
    }
    tensor.shape[static_cast<std::size_t>(view.time_axes[id])] = static_cast<std::int32_t>(view.lengths[id]);
  }
  graph.vectors.clear();
  return {};
}

Status apply_windows(Graph& graph, const StreamOptions& options, const std::vector<int>& axes,
                     OperatorTable operators, std::vector<std::string>& notes) {
  RUNNEL_ASSIGN(View view, view_of(graph, axes, operators));
  WindowedGraph done;
  if (options.attention) {
    RUNNEL_ASSIGN(done, window_attention(graph, view.time_axes, options.attention));
    notes.insert(notes.end(), done.notes.begin(), done.notes.end());
    if (done.notes.empty())
      return Status(Code::invalid_argument) << time_axis_note(graph, options, view.input_axes)
                                            << "an attention window, but no product of queries and keys over "
                                               "all frames, with time as rows of "
                                               "the first and columns of the second";
    if (!done.same_clip) graph.vectors.clear();
  }
  if (options.pool_window == 0) return {};
  if (options.pool_hop < 1)
    return Status(Code::invalid_argument)
           << "windows every " << options.pool_hop << " frames, expected at least 1";
  const bool so_far = options.pool_window == StreamOptions::kSoFar;
  RUNNEL_ASSIGN(view, view_of(graph, axes, operators));
  if (options.pool_window > 0 && options.pool_window != clip_frames(graph, view)) {
    RUNNEL_TRY(set_clip(graph, axes, options.pool_window, operators));
    RUNNEL_ASSIGN(view, view_of(graph, axes, operators));
  }
  done = window_statistics(graph, view.time_axes, options.pool_hop, so_far);
  notes.insert(notes.end(), done.notes.begin(), done.notes.end());
  if (done.notes.empty())
    return Status(Code::invalid_argument)
           << "a pooling window, but the model has no statistics over all time";
  if (!done.same_clip) graph.vectors.clear();
  return {};
}

}  // namespace

std::string time_axis_note(const Graph& graph, const StreamOptions& options,
                           std::span<const std::int8_t> input_axes) {
  if (options.time_axis) return {};
  for (std::size_t i = 0; i < graph.inputs.size() && i < input_axes.size(); ++i) {
    const Tensor& tensor = graph.tensors[static_cast<std::size_t>(graph.inputs[i])];
    const auto wide =
        std::count_if(tensor.shape.begin(), tensor.shape.end(), [](std::int32_t dim) { return dim > 1; });
    if (input_axes[i] < 0 || wide < 2) continue;  // there is no choice
    std::string shape;
    for (const std::int32_t dim : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(dim);
    return "time is taken to be axis " + std::to_string(input_axes[i]) + " of input '" + tensor.name + "' [" +
           shape + "], " +
           (!graph.time_axis_reason.empty() ? graph.time_axis_reason
            : input_axes[i] == 0            ? "the first one"
                                            : "the first one after a batch of 1") +
           " (--time-axis says otherwise); ";
  }
  return {};
}

std::vector<int> chosen_time_axes(const Graph& graph, const StreamOptions& options,
                                  const std::vector<int>& given) {
  if (!options.time_axis) return given.empty() ? graph.time_axes : given;
  std::vector<int> axes;
  const auto axis = static_cast<std::size_t>(*options.time_axis);
  std::int32_t length = 0;
  for (const TensorId input : graph.inputs) {
    const auto& shape = graph.tensors[static_cast<std::size_t>(input)].shape;
    const bool fits = axis < shape.size() && (axes.empty() || shape[axis] == length);
    if (axes.empty()) length = fits ? shape[axis] : 0;
    // The reader of the axes reports an axis that the first input lacks.
    axes.push_back(fits || axes.empty() ? *options.time_axis : -1);
  }
  return axes;
}

Result<std::vector<std::string>> give_windows(Graph& graph, const StreamOptions& options,
                                              const std::vector<int>& time_axes, OperatorTable operators) {
  std::vector<std::string> notes;
  if (options.attention) {
    StreamOptions windows = options;
    windows.pool_window = 0;
    RUNNEL_TRY(apply_windows(graph, windows, time_axes, operators, notes));
    return notes;
  }
  RUNNEL_ASSIGN(const View view, view_of(graph, time_axes, operators));
  if (view.refusals.empty()) return notes;
  Graph masked = graph;
  RUNNEL_ASSIGN(WindowedGraph done, window_attention(masked, view.time_axes, {}));
  if (done.notes.empty()) return notes;
  masked.vectors.clear();
  graph = std::move(masked);
  return std::move(done.notes);
}

Result<Streamified> streamify(const Graph& graph, const StreamOptions& options,
                              const std::vector<int>& time_axes, OperatorTable operators) {
  Streamified out;
  if (options.pool_window != 0 || options.attention) {
    out.graph = graph;
    RUNNEL_TRY(apply_windows(*out.graph, options, time_axes, operators, out.notes));
  }
  const Graph& current = out.graph ? *out.graph : graph;
  RUNNEL_ASSIGN(View view, view_of(current, time_axes, operators));
  if (view.refusals.empty()) return out;
  // Masks of the file may be windows already.
  Graph turned = current;
  std::vector<std::string> notes;
  if (!options.attention) {
    RUNNEL_ASSIGN(WindowedGraph masked, window_attention(turned, view.time_axes, {}));
    if (!masked.notes.empty()) {
      notes = std::move(masked.notes);
      turned.vectors.clear();
      RUNNEL_ASSIGN(view, view_of(turned, time_axes, operators));
    }
  }
  if (!view.refusals.empty()) {
    if (!put_time_first(turned, view.time_axes, view.refused)) return out;
    RUNNEL_ASSIGN(const View again, view_of(turned, time_axes, operators));
    if (!again.refusals.empty()) return out;
    notes.emplace_back(
        "tensors with time after other axes are transposed, so that their frames are contiguous");
  }
  out.graph = std::move(turned);
  out.notes.insert(out.notes.end(), notes.begin(), notes.end());
  return out;
}

}  // namespace runnel::compiler
