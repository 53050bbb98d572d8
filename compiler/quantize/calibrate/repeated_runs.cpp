#include "compiler/quantize/calibrate/repeated_runs.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "compiler/ir/file_options.h"

namespace runnel::compiler::quantizer {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;

// All of a node but its operands' values, as bytes.
std::string key_of(const Node& node) {
  flatbuffers::FlatBufferBuilder builder;
  const WrittenOptions options = write_options(builder, node.options);
  std::string key;
  const auto add = [&key](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(node.code);
  add(node.arithmetic);
  add(node.rounding);
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    add(ids->size());
    for (const TensorId id : *ids) add(id);
  }
  add(options.type);
  if (options.type == fb::Options::NONE) return key;
  builder.Finish(options.value);
  return key.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

std::vector<std::string> keys_of(const Graph& graph) {
  std::vector<std::string> keys;
  keys.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) keys.push_back(key_of(node));
  return keys;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.exponents == b.exponents && a.scales == b.scales &&
         a.zero_points == b.zero_points && a.channel_axis == b.channel_axis &&
         a.non_negative == b.non_negative && a.data == b.data;
}

// Whether numbers as floats say exactly what the tensor holds.
bool is_kept_exactly(const Tensor& tensor) {
  if (tensor.data) return false;
  if (tensor.dtype == DType::float32) return true;
  if (tensor.dtype != DType::int8 && tensor.dtype != DType::int16) return false;
  return tensor.exponents.size() + tensor.scales.size() == 1;
}

bool keeps_state(const Node& node) {
  return node.code == OpCode::read_variable || node.code == OpCode::assign_variable ||
         node.code == OpCode::custom || node.code == OpCode::delegate;
}

// These nodes, and only the constants that they need. What comes in goes out as a copy.
Graph part_of(const Graph& graph, const std::vector<bool>& computed, const std::vector<TensorId>& inputs,
              const std::vector<TensorId>& outputs) {
  Graph part;
  part.inputs = inputs;
  for (const Tensor& tensor : graph.tensors) part.tensors.push_back(without_data(tensor));
  std::set<TensorId> made;
  for (std::size_t n = 0; n < computed.size(); ++n) {
    if (!computed[n]) continue;
    const Node& node = graph.nodes[n];
    part.nodes.push_back(node);
    made.insert(node.outputs.begin(), node.outputs.end());
    for (const TensorId id : node.inputs) {
      if (id < 0) continue;
      const auto& data = graph.tensors[static_cast<std::size_t>(id)].data;
      auto& copy = part.tensors[static_cast<std::size_t>(id)].data;
      if (data && !copy) copy = data;
    }
  }
  for (const TensorId id : outputs) {
    if (made.contains(id)) {
      part.outputs.push_back(id);
      continue;
    }
    Node pass;
    pass.code = OpCode::reshape;
    pass.inputs = {id};
    pass.outputs = {static_cast<TensorId>(part.tensors.size())};
    part.outputs.push_back(pass.outputs[0]);
    part.tensors.push_back(without_data(graph.tensors[static_cast<std::size_t>(id)]));
    part.nodes.push_back(std::move(pass));
  }
  return part;
}

// What the graph that is left takes, of one clip: values that are known, then its own inputs.
class KnownClips final : public Clips {
 public:
  using Values = std::vector<std::vector<float>>;
  KnownClips(const Clips& clips, std::span<const std::size_t> which, std::vector<const Values*> known)
      : clips_(clips), known_(std::move(known)) {
    for (std::size_t i = 0; i < which.size(); ++i) place_[which[i]] = i;
  }
  [[nodiscard]] std::size_t size() const override { return clips_.size(); }
  [[nodiscard]] std::string name(std::size_t index) const override { return clips_.name(index); }
  Status read(std::size_t index, Clip& clip) const override {
    clip.clear();
    for (const Values* values : known_) clip.push_back((*values)[place_.at(index)]);
    if (!takes_inputs_) return {};
    Clip own;
    RUNNEL_TRY(clips_.read(index, own));
    for (std::vector<float>& input : own) clip.push_back(std::move(input));
    return {};
  }
  void take_inputs() { takes_inputs_ = true; }
  [[nodiscard]] std::size_t place(std::size_t index) const { return place_.at(index); }

 private:
  const Clips& clips_;
  std::vector<const Values*> known_;
  std::map<std::size_t, std::size_t> place_;
  bool takes_inputs_ = false;
};

}  // namespace

bool RepeatedRuns::can_keep(const Graph& graph, std::size_t clips, Keep keep) {
  if (!graph.pipeline.states.empty() || std::any_of(graph.nodes.begin(), graph.nodes.end(), keeps_state))
    return false;
  std::map<TensorId, std::size_t> last_use;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const TensorId id : graph.nodes[n].inputs) last_use[id] = n;
  }
  // At each node: the values that are kept there.
  std::vector<std::size_t> ends(graph.nodes.size() + 1);
  std::size_t values = 0, most = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const TensorId id : graph.nodes[n].outputs) {
      if (id < 0) continue;
      const std::size_t count = element_count(graph.tensors[static_cast<std::size_t>(id)].shape);
      const auto used = last_use.find(id);
      values += count;
      ends[used == last_use.end() ? n : used->second] += count;
    }
    most = std::max(most, values);
    if (keep == Keep::following) values -= ends[n];
  }
  return most < kMostBytes / sizeof(float) / std::max<std::size_t>(clips, 1);
}

std::size_t RepeatedRuns::first_difference(const Graph& graph, std::span<const std::string> keys) const {
  const auto differs = [&](TensorId id) {
    if (id < 0) return false;
    const auto at = static_cast<std::size_t>(id);
    return at >= base_.tensors.size() || at >= graph.tensors.size() ||
           !same(base_.tensors[at], graph.tensors[at]);
  };
  if (base_.inputs != graph.inputs || std::any_of(graph.inputs.begin(), graph.inputs.end(), differs))
    return 0;
  std::size_t n = 0;
  for (; n < std::min(keys.size(), keys_.size()); ++n) {
    const Node& node = graph.nodes[n];
    if (keys[n] != keys_[n] || std::any_of(node.inputs.begin(), node.inputs.end(), differs) ||
        std::any_of(node.outputs.begin(), node.outputs.end(), differs))
      break;
  }
  return n;
}

Status RepeatedRuns::run(Graph graph, std::span<const TensorId> wanted, bool becomes_base,
                         const ClipRunner::Visit& visit) {
  std::vector<std::string> keys = keys_of(graph);
  const std::size_t first = first_difference(graph, keys);
  std::map<TensorId, std::size_t> maker;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const TensorId id : graph.nodes[n].outputs) {
      if (id >= 0) maker[id] = n;
    }
  }
  const auto still_known = [&](TensorId id) {
    const auto made = maker.find(id);
    return made != maker.end() && made->second < first && known_.contains(id);
  };

  // Back from what is wanted to what is known.
  std::set<TensorId> needed(wanted.begin(), wanted.end()), taken;
  std::vector<bool> computed(graph.nodes.size(), false);
  bool takes_inputs = false;
  const auto settle = [&](TensorId id) {
    if (id < 0) return;
    if (still_known(id))
      taken.insert(id);
    else if (maker.contains(id))
      needed.insert(id);
    else if (!graph.tensors[static_cast<std::size_t>(id)].data)
      takes_inputs = true;
  };
  for (const TensorId id : wanted) settle(id);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    computed[n] = std::any_of(node.outputs.begin(), node.outputs.end(),
                              [&](TensorId id) { return needed.contains(id) && !taken.contains(id); });
    if (!computed[n]) continue;
    for (const TensorId id : node.inputs) settle(id);
  }

  // What is kept of what is computed.
  std::size_t last = 0;
  for (const TensorId id : wanted) {
    if (const auto made = maker.find(id); made != maker.end()) last = std::max(last, made->second);
  }
  std::set<TensorId> followed;  // what is needed from there on
  for (std::size_t n = last; n < graph.nodes.size(); ++n)
    followed.insert(graph.nodes[n].inputs.begin(), graph.nodes[n].inputs.end());
  const auto is_kept = [&](TensorId id) {
    return id >= 0 && is_kept_exactly(graph.tensors[static_cast<std::size_t>(id)]) &&
           (keep_ == Keep::all || followed.contains(id));
  };
  std::vector<TensorId> outputs(wanted.begin(), wanted.end());
  for (std::size_t n = 0; n < graph.nodes.size() && becomes_base; ++n) {
    if (!computed[n]) continue;
    for (const TensorId id : graph.nodes[n].outputs) {
      if (is_kept(id) && std::find(outputs.begin(), outputs.end(), id) == outputs.end())
        outputs.push_back(id);
    }
  }

  std::vector<TensorId> inputs(taken.begin(), taken.end());
  std::vector<const Values*> values;
  for (const TensorId id : inputs) values.push_back(&known_.at(id));
  KnownClips clips(clips_, which_, std::move(values));
  if (takes_inputs) {
    inputs.insert(inputs.end(), graph.inputs.begin(), graph.inputs.end());
    clips.take_inputs();
  }
  const Graph left = part_of(graph, computed, inputs, outputs);
  const Graph* const forms[] = {&left};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, threads_));
  std::vector<Values> found(outputs.size() - wanted.size(), Values(which_.size()));
  std::vector<Values> also(wanted.size());
  for (std::size_t i = 0; i < wanted.size() && becomes_base; ++i) {
    if (is_kept(wanted[i]) && !still_known(wanted[i]) && maker.contains(wanted[i]))
      also[i].resize(which_.size());
  }
  RUNNEL_TRY(
      runner.run(clips, which_, [&](std::size_t clip, std::size_t slice, const ClipRunner::Outputs& all) {
        const std::size_t place = clips.place(clip);
        for (std::size_t i = 0; i < all[0].size(); ++i) {
          if (i >= wanted.size())
            found[i - wanted.size()][place].assign(all[0][i].begin(), all[0][i].end());
          else if (!also[i].empty())
            also[i][place].assign(all[0][i].begin(), all[0][i].end());
        }
        const ClipRunner::Outputs shown = {{all[0].begin(), all[0].begin() + wanted.size()}};
        visit(clip, slice, shown);
      }));
  if (!becomes_base) return {};
  std::erase_if(known_, [&](const auto& one) { return !still_known(one.first) || !is_kept(one.first); });
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i >= wanted.size())
      known_[outputs[i]] = std::move(found[i - wanted.size()]);
    else if (!also[i].empty())
      known_[outputs[i]] = std::move(also[i]);
  }
  base_ = std::move(graph);
  keys_ = std::move(keys);
  return {};
}

}  // namespace runnel::compiler::quantizer
