#include "compiler/ir/model_graph.h"

#include <string>

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

std::vector<CustomAttribute> attributes(
    const flatbuffers::Vector<flatbuffers::Offset<fb::CustomAttribute>>* from) {
  std::vector<CustomAttribute> out;
  for (flatbuffers::uoffset_t i = 0; from != nullptr && i < from->size(); ++i) {
    const fb::CustomAttribute& one = *from->Get(i);
    CustomAttribute attribute;
    attribute.name = text(one.name());
    if (one.text() != nullptr)
      attribute.value = text(one.text());
    else if (one.numbers() != nullptr)
      attribute.value = list<float>(one.numbers());
    else
      attribute.value = list<std::int64_t>(one.integers());
    out.push_back(std::move(attribute));
  }
  return out;
}

template <class Window, class From>
Window window(const From& o) {
  Window out;
  out.stride_height = o.stride_height();
  out.stride_width = o.stride_width();
  out.dilation_height = o.dilation_height();
  out.dilation_width = o.dilation_width();
  return out;
}

template <class Window, class From>
Window padded(const From& o) {
  auto out = window<Window>(o);
  out.pad_top = o.pad_top();
  out.pad_left = o.pad_left();
  out.pad_bottom = o.pad_bottom();
  out.pad_right = o.pad_right();
  return out;
}

ConvOptions from(const fb::ConvOptions& o) {
  auto out = padded<ConvOptions>(o);
  out.groups = o.groups();
  out.activation = native(o.activation());
  return out;
}
PoolOptions from(const fb::PoolOptions& o) {
  auto out = padded<PoolOptions>(o);
  out.kernel_height = o.kernel_height();
  out.kernel_width = o.kernel_width();
  out.count_padding = o.count_padding();
  out.global = o.global();
  return out;
}
TransposedConvOptions from(const fb::TransposedConvOptions& o) {
  auto out = window<TransposedConvOptions>(o);
  out.crop_top = o.crop_top();
  out.crop_left = o.crop_left();
  out.crop_bottom = o.crop_bottom();
  out.crop_right = o.crop_right();
  out.groups = o.groups();
  out.activation = native(o.activation());
  return out;
}
PadOptions from(const fb::PadOptions& o) {
  return {list<std::int32_t>(o.before()), list<std::int32_t>(o.after()), native(o.mode()), o.value(),
          o.real_value()};
}
AttentionOptions from(const fb::AttentionOptions& o) {
  return {o.left(),           o.right(),           o.chunk(),           o.score_exponent(), o.scale(),
          o.scale_exponent(), o.scaled_exponent(), o.weight_exponent(), o.real_scale()};
}

Options options_of(const fb::Operator& op) {
  switch (op.options_type()) {
    case fb::Options::NONE:
      return {};
    case fb::Options::ConvOptions:
      return from(*op.options_as_ConvOptions());
    case fb::Options::FullyConnectedOptions:
      return FullyConnectedOptions{native(op.options_as_FullyConnectedOptions()->activation())};
    case fb::Options::BinaryOptions:
      return BinaryOptions{native(op.options_as_BinaryOptions()->activation())};
    case fb::Options::PoolOptions:
      return from(*op.options_as_PoolOptions());
    case fb::Options::LutOptions:
      return LutOptions{op.options_as_LutOptions()->linear()};
    case fb::Options::ClipOptions: {
      const auto& o = *op.options_as_ClipOptions();
      return ClipOptions{o.low(), o.high(), o.low_value(), o.high_value()};
    }
    case fb::Options::TransposeOptions:
      return TransposeOptions{list<std::uint8_t>(op.options_as_TransposeOptions()->perm())};
    case fb::Options::SliceOptions: {
      const auto& o = *op.options_as_SliceOptions();
      return SliceOptions{list<std::int32_t>(o.begin()), list<std::int32_t>(o.step())};
    }
    case fb::Options::AxisOptions:
      return AxisOptions{op.options_as_AxisOptions()->axis()};
    case fb::Options::PadOptions:
      return from(*op.options_as_PadOptions());
    case fb::Options::ReduceOptions: {
      const auto& o = *op.options_as_ReduceOptions();
      return ReduceOptions{list<std::uint8_t>(o.axes()), o.window(), o.hop(), o.before(), o.time_axis()};
    }
    case fb::Options::FunctionOptions: {
      const auto& o = *op.options_as_FunctionOptions();
      return FunctionOptions{o.alpha(), o.beta(), o.tanh_form()};
    }
    case fb::Options::TopKOptions:
      return TopKOptions{op.options_as_TopKOptions()->axis(), op.options_as_TopKOptions()->smallest()};
    case fb::Options::RecurrentOptions: {
      const auto& o = *op.options_as_RecurrentOptions();
      return RecurrentOptions{native(o.direction()), o.gate_exponent(), o.outputs()};
    }
    case fb::Options::NormOptions: {
      const auto& o = *op.options_as_NormOptions();
      return NormOptions{o.axis(), o.epsilon(), o.p()};
    }
    case fb::Options::ResizeOptions:
      return ResizeOptions{native(op.options_as_ResizeOptions()->mode()),
                           native(op.options_as_ResizeOptions()->coordinates())};
    case fb::Options::BlockOptions:
      return BlockOptions{op.options_as_BlockOptions()->size(),
                          op.options_as_BlockOptions()->channel_major()};
    case fb::Options::ScatterOptions:
      return ScatterOptions{native(op.options_as_ScatterOptions()->reduction())};
    case fb::Options::ReverseOptions:
      return ReverseOptions{op.options_as_ReverseOptions()->time_axis(),
                            op.options_as_ReverseOptions()->batch_axis()};
    case fb::Options::InsertZerosOptions: {
      const auto& o = *op.options_as_InsertZerosOptions();
      return InsertZerosOptions{o.stride_height(), o.stride_width(), o.after_height(), o.after_width()};
    }
    case fb::Options::TransposedConvOptions:
      return from(*op.options_as_TransposedConvOptions());
    case fb::Options::StreamingCacheOptions:
      return StreamingCacheOptions{op.options_as_StreamingCacheOptions()->frames(),
                                   op.options_as_StreamingCacheOptions()->axis()};
    case fb::Options::CustomOptions:
      return CustomOptions{text(op.options_as_CustomOptions()->name()),
                           attributes(op.options_as_CustomOptions()->attributes())};
    case fb::Options::SequenceLstmOptions: {
      const auto& o = *op.options_as_SequenceLstmOptions();
      return SequenceLstmOptions{o.time_major(), o.cell_clip(), o.cell_exponent()};
    }
    case fb::Options::SvdfOptions: {
      const auto& o = *op.options_as_SvdfOptions();
      return SvdfOptions{o.rank(), native(o.activation()), static_cast<DType>(o.state_dtype()),
                         o.state_scale(), o.state_zero_point()};
    }
    case fb::Options::DelegateOptions: {
      const auto& o = *op.options_as_DelegateOptions();
      DelegateOptions out;
      out.kind = text(o.kind());
      for (flatbuffers::uoffset_t i = 0; o.parts() != nullptr && i < o.parts()->size(); ++i)
        out.parts.push_back(text(o.parts()->Get(i)));
      out.attributes = attributes(o.attributes());
      return out;
    }
    case fb::Options::VariableOptions:
      return VariableOptions{op.options_as_VariableOptions()->variable()};
    case fb::Options::AttentionOptions:
      return from(*op.options_as_AttentionOptions());
  }
  return {};
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
    node.options = options_of(op);
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
