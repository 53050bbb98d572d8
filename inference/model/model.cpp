#include "inference/model/model.h"

#include "inference/model/verify.h"

namespace runnel {
namespace {

std::string_view view(const flatbuffers::String* text) noexcept {
  return text == nullptr ? std::string_view{} : std::string_view(text->data(), text->size());
}

template <class T>
std::span<const T> span_of(const flatbuffers::Vector<T>* vector) noexcept {
  return vector == nullptr ? std::span<const T>{} : std::span<const T>(vector->data(), vector->size());
}

std::string_view name_at(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* names,
                         int index) noexcept {
  if (names == nullptr || index < 0 || static_cast<flatbuffers::uoffset_t>(index) >= names->size()) return {};
  return view(names->Get(static_cast<flatbuffers::uoffset_t>(index)));
}

}  // namespace

Result<Model> Model::open(std::span<const std::byte> bytes, const ModelOptions& options) noexcept {
  RUNNEL_ASSIGN(const Sections sections, read_container(bytes, options.check_crc));
  Model model;
  model.bytes_ = bytes;
  model.weights_ = sections.weights;
  model.graph_ = sections.graph;
  model.plan_ = sections.plan;
  model.names_ = sections.names;
  model.pipeline_ = sections.pipeline;
  model.vectors_ = sections.vectors;
  model.metadata_ = sections.metadata;
  model.arenas_ = sections.arenas;
  RUNNEL_TRY(verify_graph(*sections.graph, sections.weights));
  model.inputs_ = span_of(model.graph_->inputs());
  model.outputs_ = span_of(model.graph_->outputs());
  model.tensor_count_ = static_cast<int>(model.graph_->tensors()->size());
  model.operator_count_ = static_cast<int>(model.graph_->operators()->size());
  RUNNEL_TRY(verify_side_sections(sections));
  return model;
}

TensorView Model::tensor(int index) const noexcept {
  const fb::Tensor& in = *graph_->tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  TensorView out;
  out.shape.rank = static_cast<int>(in.shape()->size());
  for (int axis = 0; axis < out.shape.rank; ++axis)
    out.shape[axis] = in.shape()->Get(static_cast<flatbuffers::uoffset_t>(axis));
  out.dtype = static_cast<DType>(in.dtype());
  out.exponents = span_of(in.exponents());
  out.scales = span_of(in.scales());
  out.zero_points = span_of(in.zero_points());
  out.channel_axis = in.channel_axis();
  out.non_negative = in.non_negative();
  if (in.data() != nullptr) {
    out.constant = true;
    out.data = weights_.subspan(in.data()->offset(), in.data()->size());
  }
  return out;
}

std::string_view Model::name() const noexcept {
  return names_ == nullptr ? std::string_view{} : view(names_->model());
}
std::string_view Model::tensor_name(int index) const noexcept {
  return names_ == nullptr ? std::string_view{} : name_at(names_->tensors(), index);
}
std::string_view Model::operator_name(int index) const noexcept {
  return names_ == nullptr ? std::string_view{} : name_at(names_->operators(), index);
}

int Model::find_tensor(std::string_view name) const noexcept {
  for (int index = 0; index < tensor_count_; ++index) {
    if (!name.empty() && tensor_name(index) == name) return index;
  }
  return -1;
}

std::string_view Model::metadata(std::string_view key) const noexcept {
  if (metadata_ == nullptr || metadata_->entries() == nullptr) return {};
  for (const fb::Entry* entry : *metadata_->entries()) {
    if (view(entry->key()) == key) return view(entry->value());
  }
  return {};
}

}  // namespace runnel
