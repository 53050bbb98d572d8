#include "compiler/ir/model_graph.h"

#include <string>

#include "compiler/ir/file_options.h"

namespace runnel::compiler {
namespace {

std::string text(const flatbuffers::String* from) { return from == nullptr ? std::string() : from->str(); }

template <class T, class From>
std::vector<T> list(const From* from) {
  std::vector<T> out;
  for (flatbuffers::uoffset_t i = 0; from != nullptr && i < from->size(); ++i)
    out.push_back(static_cast<T>(from->Get(i)));
  return out;
}

std::vector<std::byte> bytes(const flatbuffers::Vector<std::uint8_t>* from) {
  if (from == nullptr) return {};
  const auto* const first = reinterpret_cast<const std::byte*>(from->data());
  return {first, first + from->size()};
}

Tensor tensor_of(const Model& model, int index) {
  const TensorView view = model.tensor(index);
  Tensor out;
  out.name = model.tensor_name(index);
  if (out.name.empty()) out.name = "t" + std::to_string(index);
  out.shape.assign(view.shape.dims.begin(), view.shape.dims.begin() + view.shape.rank);
  out.dtype = view.dtype;
  out.exponents.assign(view.exponents.begin(), view.exponents.end());
  out.scales.assign(view.scales.begin(), view.scales.end());
  out.zero_points.assign(view.zero_points.begin(), view.zero_points.end());
  out.channel_axis = view.channel_axis;
  out.non_negative = view.non_negative;
  if (view.constant) out.data.emplace(view.data.begin(), view.data.end());
  return out;
}

PipelineSettings settings_of(const fb::Pipeline& from) {
  PipelineSettings out;
  out.usage = native(from.usage());
  out.sample_rate = from.sample_rate();
  out.front_end = text(from.front_end());
  out.decision = text(from.decision());
  for (flatbuffers::uoffset_t i = 0; from.labels() != nullptr && i < from.labels()->size(); ++i)
    out.labels.push_back(text(from.labels()->Get(i)));
  out.window = from.window();
  out.hop = from.hop();
  out.context = from.context();
  out.step = from.step();
  out.look_ahead = from.look_ahead();
  out.output_frames = from.output_frames();
  for (flatbuffers::uoffset_t i = 0; from.states() != nullptr && i < from.states()->size(); ++i) {
    out.states.emplace_back(from.states()->Get(i)->output(), from.states()->Get(i)->input());
  }
  return out;
}

std::vector<VectorTensor> values_of(const flatbuffers::Vector<flatbuffers::Offset<fb::VectorTensor>>* from) {
  std::vector<VectorTensor> out;
  for (flatbuffers::uoffset_t i = 0; from != nullptr && i < from->size(); ++i) {
    const fb::VectorTensor& value = *from->Get(i);
    out.push_back({value.tensor(), list<std::int32_t>(value.shape()), bytes(value.data())});
  }
  return out;
}

}  // namespace

Graph graph_of(const Model& model) {
  Graph graph;
  graph.name = model.name();
  for (int i = 0; i < model.tensor_count(); ++i) graph.tensors.push_back(tensor_of(model, i));
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    Node node;
    node.name = model.operator_name(i);
    if (node.name.empty()) node.name = name_of(code_of(op)) + std::to_string(i);
    node.code = code_of(op);
    node.arithmetic = arithmetic_of(op);
    node.inputs = list<TensorId>(op.inputs());
    node.outputs = list<TensorId>(op.outputs());
    node.options = read_options(op);
    node.rounding = static_cast<kernels::Rounding>(op.rounding());
    graph.nodes.push_back(std::move(node));
  }
  graph.inputs.assign(model.inputs().begin(), model.inputs().end());
  graph.outputs.assign(model.outputs().begin(), model.outputs().end());
  if (model.plan() != nullptr) {
    for (const TensorId id : graph.inputs)
      graph.time_axes.push_back(
          model.plan()->tensors()->Get(static_cast<flatbuffers::uoffset_t>(id))->time_axis());
  }
  if (model.vectors() != nullptr && model.vectors()->cases() != nullptr) {
    for (const fb::VectorCase* one : *model.vectors()->cases())
      graph.vectors.push_back({values_of(one->inputs()), values_of(one->outputs())});
  }
  if (model.metadata() != nullptr && model.metadata()->entries() != nullptr) {
    for (const fb::Entry* entry : *model.metadata()->entries())
      graph.metadata.emplace_back(text(entry->key()), text(entry->value()));
  }
  if (model.pipeline() != nullptr) graph.pipeline = settings_of(*model.pipeline());
  return graph;
}

}  // namespace runnel::compiler
