#include "compiler/write/espdl/streaming_form.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "compiler/ir/numbering.h"
#include "compiler/ir/shapes.h"
#include "compiler/passes/stream_analysis.h"
#include "compiler/passes/streamify.h"
#include "compiler/write/writer.h"
#include "inference/host/operator_traits.h"

namespace runnel::compiler {
namespace {

// How a tensor of the stream relates to that of the offline graph.
struct Place {
  bool streams = false;
  int axis = -1;
  std::int64_t frames = 0;  // per call
  std::int64_t lag =
      0;              // frame n is the offline frame n - lag; below 0 only where all frames before are zeros
  bool zero = false;  // zeros wherever the inputs were zeros only
  // So many frames at the start and at the end of the offline result are none of the stream's, because of
  // padding that the stream does not have.
  std::int64_t head = 0, tail = 0;
};

// Frame by frame, zeros give zeros.
bool keeps_zero(const Graph& graph, const Node& node) {
  const auto data = [&](std::size_t position) -> const std::vector<std::byte>* {
    if (position >= node.inputs.size() || node.inputs[position] == kAbsent) return nullptr;
    const auto& tensor = graph.tensors[static_cast<std::size_t>(node.inputs[position])];
    return tensor.data ? &*tensor.data : nullptr;
  };
  const auto all_zero = [](const std::vector<std::byte>& bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
  };
  switch (traits_of(node.code).zeros) {
    case Zeros::unknown:
      return false;
    case Zeros::zero:
      return true;
    case Zeros::zero_with_zero_constants:
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (data(i) != nullptr && !all_zero(*data(i))) return false;
      }
      return true;
    case Zeros::of_constants:
      break;
  }
  if (node.code == OpCode::lut) {
    // The entry in the middle belongs to 0.
    const auto* const table = data(1);
    if (table == nullptr) return false;
    const std::size_t element = size_of(graph.tensors[static_cast<std::size_t>(node.inputs[1])].dtype),
                      middle = table->size() / element / 2 * element;
    return std::all_of(table->begin() + static_cast<std::ptrdiff_t>(middle),
                       table->begin() + static_cast<std::ptrdiff_t>(middle + element),
                       [](std::byte byte) { return byte == std::byte{0}; });
  }
  return data(2) == nullptr ? node.inputs.size() < 3 || node.inputs[2] == kAbsent : all_zero(*data(2));
}

class Former {
 public:
  Former(const Graph& graph, int chunk, std::int64_t warm_up)
      : given_(graph), chunk_(chunk), warm_up_(warm_up) {}

  Result<StreamingForm> run() {
    form_.graph = given_;
    Graph& graph = form_.graph;
    graph.nodes.clear();
    graph.vectors.clear();
    graph.time_axes.clear();
    graph.pipeline.usage = UsageKind::step;
    RUNNEL_TRY(analyse());
    if (form_.refusals.empty()) {
      for (std::size_t i = 0; i < given_.nodes.size(); ++i) RUNNEL_TRY(form(given_.nodes[i], steps_[i].rule));
    }
    if (form_.refusals.empty()) finish();
    if (!form_.refusals.empty()) {
      form_.graph = {};
      return std::move(form_);
    }
    RUNNEL_TRY(infer_shapes(graph));
    return std::move(form_);
  }

 private:
  Place& place(TensorId id) { return places_[static_cast<std::size_t>(id)]; }
  Tensor& tensor(TensorId id) { return form_.graph.tensors[static_cast<std::size_t>(id)]; }
  void refuse(const Node& node, const std::string& why) {
    form_.refusals.push_back("node \"" + node.name + "\" (" + name_of(node.code) + "): " + why);
  }

  // Time axes, rates and rules, as runnel streams the graph.
  Status analyse() {
    Numbering numbering(given_);
    RUNNEL_TRY(numbering.number());
    RUNNEL_ASSIGN(const auto bytes, graph_bytes(given_, numbering));
    RUNNEL_ASSIGN(const Model model, Model::open(bytes));
    RUNNEL_TRY(check_operators(model, all_operators()));
    RUNNEL_ASSIGN(const auto axes, input_time_axes(model, given_.time_axes));
    RUNNEL_ASSIGN(StreamAnalysis analysis, analyse_streams(model, all_operators(), axes));
    form_.refusals = analysis.refusals;
    if (!form_.refusals.empty()) return {};
    if (chunk_ % analysis.block_multiple != 0) {
      return Status(Code::invalid_argument) << "a chunk of " << chunk_ << " frames, expected a multiple of "
                                            << analysis.block_multiple << ", the product of the strides";
    }
    steps_ = std::move(analysis.steps);
    places_.resize(given_.tensors.size());
    for (std::size_t id = 0; id < given_.tensors.size(); ++id) {
      const std::int32_t index = numbering.of(static_cast<TensorId>(id));
      if (index < 0) continue;
      const StreamTensor& known = analysis.tensors[static_cast<std::size_t>(index)];
      if (known.stream.constant()) continue;
      places_[id] = {true, known.time_axis, chunk_ * known.stream.up / known.stream.down, 0, false, 0, 0};
      if (known.time_axis < 0) continue;
      form_.graph.tensors[id].shape[static_cast<std::size_t>(known.time_axis)] =
          static_cast<std::int32_t>(places_[id].frames);
    }
    for (const TensorId id : given_.inputs) {
      place(id).zero = true;
      if (!place(id).streams)
        form_.refusals.push_back("input \"" + tensor(id).name +
                                 "\": it does not follow the stream, expected inputs of one clock");
    }
    return {};
  }

  TensorId added(TensorId like, std::int64_t frames, const std::string& name) {
    Tensor copy = tensor(like);
    copy.name = name;
    copy.shape[static_cast<std::size_t>(place(like).axis)] = static_cast<std::int32_t>(frames);
    form_.graph.tensors.push_back(std::move(copy));
    Place at = place(like);
    at.frames = frames;
    places_.push_back(at);
    return static_cast<TensorId>(form_.graph.tensors.size() - 1);
  }

  // x preceded by `frames` earlier frames: one cache for all readers that need as many.
  TensorId cached(TensorId x, std::int64_t frames, const Node& reader) {
    const auto known = caches_.find({x, frames});
    if (known != caches_.end()) return known->second;
    Node node;
    node.name = tensor(x).name + "_" + reader.name + "_SCache";
    node.code = OpCode::streaming_cache;
    const TensorId out = added(x, place(x).frames + frames, node.name);
    node.inputs = {x};
    node.outputs = {out};
    node.options = StreamingCacheOptions{static_cast<int>(frames), place(x).axis};
    node.rounding = reader.rounding;
    form_.graph.nodes.push_back(std::move(node));
    caches_.emplace(std::pair(x, frames), out);
    form_.context += frames * (chunk_ / std::max<std::int64_t>(place(x).frames, 1) + 1);
    return out;
  }

  // x, `frames` frames late: a cache, of which the first frames are read.
  TensorId delayed(TensorId x, std::int64_t frames, const Node& reader) {
    if (frames == 0) return x;
    const auto known = delays_.find({x, frames});
    if (known != delays_.end()) return known->second;
    const TensorId kept = cached(x, frames, reader);
    Node node;
    node.name = tensor(x).name + "_" + reader.name + "_delay";
    node.code = OpCode::slice;
    const TensorId out = added(x, place(x).frames, node.name);
    place(out).lag += frames;
    node.inputs = {kept};
    node.outputs = {out};
    const std::size_t rank = tensor(x).shape.size();
    node.options = SliceOptions{std::vector<std::int32_t>(rank, 0), std::vector<std::int32_t>(rank, 1)};
    node.rounding = reader.rounding;
    form_.graph.nodes.push_back(std::move(node));
    delays_.emplace(std::pair(x, frames), out);
    return out;
  }

  void settle(const Node& node, std::int64_t lag, bool zero, std::int64_t head, std::int64_t tail) {
    for (const TensorId id : node.outputs) {
      if (id == kAbsent) continue;
      place(id).lag = lag;
      place(id).zero = zero;
      place(id).head = head;
      place(id).tail = tail;
    }
  }

  // Padding that the stream does not have: refused, or part of the warm-up.
  bool allows(const Node& node, const std::string& why) {
    if (warm_up_ >= 0) return true;
    refuse(node, why + " (--warm-up lets such frames differ)");
    return false;
  }

  Status form(const Node& node, const streaming::NodeRule& rule) {
    bool streams = false;
    for (const TensorId id : node.inputs) streams = streams || (id != kAbsent && place(id).streams);
    for (const TensorId id : node.outputs) {
      if (id == kAbsent || !place(id).streams || place(id).axis >= 0) continue;
      refuse(node, "its result follows the stream without being one, expected a frame for each frame");
      return {};
    }
    if (!streams || rule.kind == streaming::Kind::constant) {
      form_.graph.nodes.push_back(node);
      return {};
    }
    switch (rule.kind) {
      case streaming::Kind::pointwise:
        join(node);
        break;
      case streaming::Kind::window:
        window(node, rule);
        break;
      case streaming::Kind::recurrent:
        refuse(node,
               "state of its own, which StreamingCache does not keep: ESP-DL starts it anew with every call");
        break;
      case streaming::Kind::attention:
        refuse(node, "attention over a window, which StreamingCache does not keep");
        break;
      default:
        refuse(node, "more frames than it reads, which ESP-DL's streaming does not have");
        break;
    }
    return {};
  }

  // Frame by frame: all operands equally late.
  void join(const Node& node) {
    std::int64_t latest = 0;
    bool first = true, zero = keeps_zero(given_, node);
    std::int64_t head = 0, tail = 0;
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || !place(id).streams) continue;
      head = std::max(head, place(id).head);
      tail = std::max(tail, place(id).tail);
      latest = first ? place(id).lag : std::max(latest, place(id).lag);
      first = false;
      zero = zero && place(id).zero;
    }
    // Frames before the first one must be zeros, which this operator makes something else of.
    if (!zero) latest = std::max<std::int64_t>(latest, 0);
    Node out = node;
    for (TensorId& id : out.inputs) {
      if (id != kAbsent && place(id).streams) id = delayed(id, latest - place(id).lag, node);
    }
    form_.graph.nodes.push_back(std::move(out));
    settle(node, latest, zero, head, tail);
  }

  // Padding in time away from the options of a window. False: an operator that has none.
  static bool without_padding(Node& node, bool height) {
    const auto clear = [&](auto& o) {
      (height ? o.pad_top : o.pad_left) = (height ? o.pad_bottom : o.pad_right) = 0;
    };
    if (auto* const conv = std::get_if<ConvOptions>(&node.options)) return clear(*conv), true;
    if (auto* const pool = std::get_if<PoolOptions>(&node.options)) return clear(*pool), !pool->global;
    return false;
  }

  void window(const Node& node, const streaming::NodeRule& rule) {
    const TensorId x = node.inputs[0];
    const Place at = place(x);
    const bool crop = node.code == OpCode::slice, pad = node.code == OpCode::pad;
    // Zeros before the first frame and after the last one: there are some, if what is in front is zeros
    // or nothing.
    bool at_start = at.head > 0, at_end = at.tail > 0;
    if (rule.left > 0 && !at.zero && at.lag > 0) {
      at_start = true;
      if (!allows(node, "zeros before the first frame of \"" + tensor(x).name + "\", where the stream has " +
                            std::to_string(at.lag) + " frames of warm-up"))
        return;
    }
    if (rule.right > 0 && !at.zero) {
      at_end = true;
      if (!allows(node, "zeros after the last frame of \"" + tensor(x).name +
                            "\", where the stream has what zeros at the input give"))
        return;
    }
    if ((crop || pad) && rule.stride == 1 && rule.extent() == 1) {
      shift(node, rule.left, lost(at_start, at.head + rule.left, 1), lost(at_end, at.tail + rule.right, 1));
      return;
    }
    Node out = node;
    const bool height = tensor(x).shape.size() == 4 && at.axis == 1;
    if (crop || pad || !without_padding(out, height)) {
      refuse(node, crop ? "a slice in steps, expected one that cuts frames at the ends"
                        : "a window without a StreamingCache");
      return;
    }
    if (node.code == OpCode::max_pool && (rule.left > 0 || rule.right > 0) &&
        !given_.tensors[static_cast<std::size_t>(x)].non_negative) {
      at_start = at_start || rule.left > 0;
      at_end = at_end || rule.right > 0;
      if (!allows(node, "padding of a maximum over values below 0; the cache starts with zeros")) return;
    }
    // The one number of frames that keeps the windows where they are.
    const bool zero = keeps_zero(given_, node) && at.zero;
    std::int64_t context = std::max<std::int64_t>(rule.extent() - rule.stride, 0);
    const auto rest = [&](std::int64_t frames) {
      return ((frames + at.lag - rule.left) % rule.stride + rule.stride) % rule.stride;
    };
    while (rest(context) != 0) ++context;
    std::int64_t lag = (context + at.lag - rule.left) / rule.stride;
    TensorId from = x;
    if (lag < 0 && !zero) {
      from = delayed(x, -lag * rule.stride, node);
      lag = 0;
    }
    out.inputs[0] = context > 0 ? cached(from, context, node) : from;
    form_.graph.nodes.push_back(std::move(out));
    settle(node, lag, zero, lost(at_start, at.head + rule.left, rule.stride),
           lost(at_end, at.tail + rule.right, rule.stride));
  }

  // Results whose windows reach into `frames` frames at an end, if those are not the offline ones. A crop
  // removes some, which counts as padding below 0.
  static std::int64_t lost(bool any, std::int64_t frames, std::int64_t stride) {
    return any && frames > 0 ? (frames + stride - 1) / stride : 0;
  }

  // Frames removed or prepended: nothing is computed, the rest comes earlier or later.
  void shift(const Node& node, std::int64_t left, std::int64_t head, std::int64_t tail) {
    if (node.code == OpCode::pad) {
      const auto& o = std::get<PadOptions>(node.options);
      bool others = false;
      for (std::size_t i = 0; i < o.before.size(); ++i)
        others = others ||
                 (static_cast<int>(i) != place(node.inputs[0]).axis && (o.before[i] != 0 || o.after[i] != 0));
      if (o.value != 0 || o.mode != PadMode::zero || others) {
        refuse(node, "padding in time that is not zeros alone");
        return;
      }
    } else {
      const auto& o = std::get<SliceOptions>(node.options);
      const auto &before = given_.tensors[static_cast<std::size_t>(node.inputs[0])].shape,
                 &after = given_.tensors[static_cast<std::size_t>(node.outputs[0])].shape;
      bool others = false;
      for (std::size_t i = 0; i < before.size(); ++i)
        others = others || (static_cast<int>(i) != place(node.inputs[0]).axis &&
                            (o.step[i] != 1 || before[i] != after[i]));
      if (others) {
        refuse(node, "a slice in time and along another axis at once");
        return;
      }
    }
    // A copy; readers may be delayed by what is missing.
    Node copy;
    copy.name = node.name;
    copy.code = OpCode::reshape;
    copy.inputs = {node.inputs[0]};
    copy.outputs = node.outputs;
    copy.rounding = node.rounding;
    const Place at = place(node.inputs[0]);
    const bool same = tensor(node.inputs[0]).exponents == tensor(node.outputs[0]).exponents;
    if (!same) copy.code = OpCode::requantize;
    form_.graph.nodes.push_back(std::move(copy));
    settle(node, at.lag - left, at.zero, head, tail);
  }

  void finish() {
    for (TensorId& id : form_.graph.outputs) {
      if (!place(id).streams) {
        form_.refusals.push_back("output \"" + tensor(id).name + "\": it does not follow the stream");
        continue;
      }
      if (place(id).lag < 0) {
        Node reader;
        reader.name = "output";
        id = delayed(id, -place(id).lag, reader);
      }
      form_.output_axes.push_back(place(id).axis);
      const Place& at = place(id);
      if (warm_up_ >= 0 && at.lag + at.head > warm_up_ && at.head > 0)
        form_.refusals.push_back("output \"" + tensor(id).name + "\": a warm-up of " +
                                 std::to_string(at.lag + at.head) + " frames, expected at most " +
                                 std::to_string(warm_up_));
      form_.lags.push_back(at.lag);
      form_.heads.push_back(at.head);
      form_.tails.push_back(at.tail);
    }
    for (const TensorId id : form_.graph.inputs) form_.input_axes.push_back(place(id).axis);
  }

  const Graph& given_;
  int chunk_;
  std::int64_t warm_up_;
  StreamingForm form_;
  std::vector<StreamStep> steps_;
  std::vector<Place> places_;
  std::map<std::pair<TensorId, std::int64_t>, TensorId> caches_, delays_;
};

}  // namespace

Result<StreamingForm> streaming_form(const Graph& graph, int chunk, std::int64_t warm_up) {
  if (chunk < 1)
    return Status(Code::invalid_argument) << "a chunk of " << chunk << " frames, expected at least 1";
  return Former(graph, chunk, warm_up).run();
}

}  // namespace runnel::compiler
