#include "compiler/import/tflite/source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/limits.h"
#include "base/number_text.h"
#include "compiler/copy_budget.h"

namespace runnel::compiler::tflite_source {
namespace {

constexpr std::int64_t kMaxElements = limits::kImportedElements;  // of one tensor
constexpr std::size_t kMaxOperators = limits::kImportedOperators;

DType dtype_of(std::int8_t type) {
  switch (type) {
    case 0:
      return DType::float32;
    case 2:
      return DType::int32;
    case 3:
      return DType::uint8;
    case 4:
      return DType::int64;
    case 6:
      return DType::boolean;
    case 7:
      return DType::int16;
    case 9:
      return DType::int8;
    case 10:
      return DType::float64;
    case 16:
      return DType::uint16;
    default:
      return DType::none;
  }
}

std::string text_of(const flatbuffers::String* text, CopyBudget& budget) {
  return text == nullptr || !budget.spend(text->size()) ? std::string() : text->str();
}

// Copied, because the verifier does not promise that eight-byte elements are aligned.
template <class T>
std::vector<T> numbers_in(const flatbuffers::Vector<T>* from, CopyBudget& budget) {
  const std::size_t size = from == nullptr ? 0 : from->size();
  std::vector<T> numbers(budget.spend(size * sizeof(T)) ? size : 0);
  if (!numbers.empty()) std::memcpy(numbers.data(), from->Data(), numbers.size() * sizeof(T));
  return numbers;
}

// The integers of a type, among which its zero point is; of wider types none has one beyond 16 bits.
std::pair<std::int64_t, std::int64_t> zero_points_of(DType type) {
  if (type == DType::int8) return {-128, 127};
  if (type == DType::uint8) return {0, 255};
  return {-32768, 32767};
}

Status read_quantization(const tflite::QuantizationParameters& from, const std::string& place, Tensor& to,
                         CopyBudget& budget) {
  const auto fail = [&] { return Status(Code::invalid_data) << place << ": "; };
  if (from.details_type() != 0)
    return Status(Code::unsupported) << place << ": a quantization of kind "
                                     << static_cast<int>(from.details_type()) << ", expected scales";
  to.scales = numbers_in(from.scale(), budget);
  for (const float scale : to.scales) {
    if (!std::isfinite(scale) || scale <= 0) {
      // Scales of 0 stand on unused tensors: no scale then.
      if (to.scales.size() > 1 || scale != 0)
        return fail() << "scale " << shortest_text(scale).view() << ", expected a positive number";
      to.scales.clear();
      return {};
    }
  }
  const auto [least, most] = zero_points_of(to.dtype);
  for (const std::int64_t zero : numbers_in(from.zero_point(), budget)) {
    if (zero < least || zero > most)
      return fail() << "zero point " << zero << ", expected " << least << " to " << most;
    to.zero_points.push_back(static_cast<std::int32_t>(zero));
  }
  if (to.zero_points.size() > 1 && to.zero_points.size() != to.scales.size()) {
    return fail() << to.zero_points.size() << " zero points for " << to.scales.size() << " scales";
  }
  // Vectors have one axis, whatever older converters wrote.
  to.channel_axis = to.shape.size() == 1 ? 0 : from.quantized_dimension();
  const bool inside = to.channel_axis >= 0 && static_cast<std::size_t>(to.channel_axis) < to.shape.size();
  if (to.scales.size() > 1 &&
      (!inside ||
       static_cast<std::size_t>(to.shape[static_cast<std::size_t>(to.channel_axis)]) != to.scales.size())) {
    return fail() << to.scales.size() << " scales along axis " << to.channel_axis;
  }
  return {};
}

// The bytes of a buffer: inside the FlatBuffer, or after it in the file.
Result<std::span<const std::byte>> bytes_of(std::span<const std::byte> file, const tflite::Buffer& buffer,
                                            const std::string& place) {
  if (buffer.data() != nullptr && buffer.data()->size() > 0)
    return std::as_bytes(std::span(buffer.data()->data(), buffer.data()->size()));
  if (buffer.offset() <= 1) return std::span<const std::byte>();
  if (buffer.offset() > file.size() || buffer.size() > file.size() - buffer.offset()) {
    return Status(Code::invalid_data) << place << ": " << buffer.size() << " bytes at " << buffer.offset()
                                      << " of a file of " << file.size();
  }
  return file.subspan(static_cast<std::size_t>(buffer.offset()), static_cast<std::size_t>(buffer.size()));
}

Result<Tensor> read_tensor(std::span<const std::byte> file, const tflite::Model& model,
                           const tflite::Tensor& from, std::size_t index, CopyBudget& budget) {
  budget.spend(sizeof(Tensor));
  Tensor tensor;
  tensor.name = text_of(from.name(), budget);
  if (tensor.name.empty()) tensor.name = "tensor " + std::to_string(index);
  const std::string place = "tensor \"" + tensor.name + "\"";
  tensor.dtype = dtype_of(from.type());
  tensor.variable = from.is_variable();
  if (from.sparsity() != nullptr)
    return Status(Code::unsupported) << place << ": sparse, expected dense data";
  std::int64_t count = 1;
  for (const std::int32_t dim : numbers_in(from.shape(), budget)) {
    if (dim < 0 || !checked_mul<std::int64_t>(count, dim, count) || count > kMaxElements) {
      return Status(Code::invalid_data) << place << ": dimension " << tensor.shape.size() << " is " << dim
                                        << ", expected at most " << kMaxElements << " elements in all";
    }
    tensor.shape.push_back(dim);
  }
  if (tensor.shape.size() > 8)
    return Status(Code::invalid_data) << place << ": rank " << tensor.shape.size() << ", expected at most 8";
  const std::vector<std::int32_t> signature = numbers_in(from.shape_signature(), budget);
  if (signature.size() == tensor.shape.size() && std::ranges::find(signature, -1) != signature.end()) {
    for (const std::int32_t dim : signature) tensor.open.push_back(dim == -1);
  }
  if (from.quantization() != nullptr)
    RUNNEL_TRY(read_quantization(*from.quantization(), place, tensor, budget));
  const std::size_t buffers = model.buffers() == nullptr ? 0 : model.buffers()->size();
  if (from.buffer() >= buffers) {
    if (from.buffer() != 0)
      return Status(Code::invalid_data) << place << ": buffer " << from.buffer() << " of " << buffers;
    return tensor;
  }
  RUNNEL_ASSIGN(const auto bytes, bytes_of(file, *model.buffers()->Get(from.buffer()), place));
  if (bytes.empty() || tensor.dtype == DType::none) return tensor;
  const std::size_t expected = static_cast<std::size_t>(count) * size_of(tensor.dtype);
  if (bytes.size() != expected)
    return Status(Code::invalid_data)
           << place << ": " << bytes.size() << " bytes, expected " << expected << " for its shape and type";
  tensor.data = bytes;
  return tensor;
}

Status check_tensor(std::int32_t tensor, std::size_t tensors, bool optional, const std::string& place) {
  if ((optional && tensor == -1) || (tensor >= 0 && static_cast<std::size_t>(tensor) < tensors)) return {};
  return Status(Code::invalid_data) << place << ": tensor " << tensor << " of " << tensors;
}

Result<Operator> read_operator(const tflite::Model& model, const tflite::Operator& from, std::size_t index,
                               std::size_t tensors, CopyBudget& budget) {
  budget.spend(sizeof(Operator));
  Operator op;
  op.table = &from;
  const std::size_t codes = model.operator_codes() == nullptr ? 0 : model.operator_codes()->size();
  if (from.opcode_index() >= codes)
    return Status(Code::invalid_data)
           << "operator " << index << ": code " << from.opcode_index() << " of " << codes;
  const tflite::OperatorCode& code = *model.operator_codes()->Get(from.opcode_index());
  // Files of the first generation have only the small field, newer ones both: the larger is meant.
  op.code = static_cast<Builtin>(std::max<std::int32_t>(code.deprecated_builtin_code(), code.builtin_code()));
  op.custom = text_of(code.custom_code(), budget);
  op.name = std::to_string(index);
  op.inputs = numbers_in(from.inputs(), budget);
  op.outputs = numbers_in(from.outputs(), budget);
  const std::string place = "operator " + op.name;
  for (const std::int32_t tensor : op.inputs) RUNNEL_TRY(check_tensor(tensor, tensors, true, place));
  for (const std::int32_t tensor : op.outputs) RUNNEL_TRY(check_tensor(tensor, tensors, false, place));
  return op;
}

Result<Subgraph> read_subgraph(std::span<const std::byte> file, const tflite::Model& model,
                               const tflite::SubGraph& from, CopyBudget& budget) {
  Subgraph graph;
  for (flatbuffers::uoffset_t i = 0; from.tensors() != nullptr && i < from.tensors()->size(); ++i) {
    auto tensor = read_tensor(file, model, *from.tensors()->Get(i), i, budget);
    RUNNEL_TRY(budget.status());
    if (!tensor.ok()) return tensor.status();
    graph.tensors.push_back(std::move(tensor).value());
  }
  if (from.operators() != nullptr && from.operators()->size() > kMaxOperators) {
    return Status(Code::invalid_data)
           << from.operators()->size() << " operators, expected at most " << kMaxOperators;
  }
  for (flatbuffers::uoffset_t i = 0; from.operators() != nullptr && i < from.operators()->size(); ++i) {
    auto op = read_operator(model, *from.operators()->Get(i), i, graph.tensors.size(), budget);
    RUNNEL_TRY(budget.status());
    if (!op.ok()) return op.status();
    graph.operators.push_back(std::move(op).value());
  }
  graph.inputs = numbers_in(from.inputs(), budget);
  graph.outputs = numbers_in(from.outputs(), budget);
  RUNNEL_TRY(budget.status());
  for (const std::int32_t tensor : graph.inputs)
    RUNNEL_TRY(check_tensor(tensor, graph.tensors.size(), false, "the graph's inputs"));
  for (const std::int32_t tensor : graph.outputs)
    RUNNEL_TRY(check_tensor(tensor, graph.tensors.size(), false, "the graph's outputs"));
  return graph;
}

// Where tensors lie in the arena, for models that were compiled with a plan: version, graphs, count, and an
// offset for each tensor.
Status read_arena(std::span<const std::byte> file, const tflite::Model& from, Model& model) {
  for (flatbuffers::uoffset_t i = 0; from.metadata() != nullptr && i < from.metadata()->size(); ++i) {
    const tflite::Metadata& entry = *from.metadata()->Get(i);
    if (entry.name() == nullptr || entry.name()->string_view() != "OfflineMemoryAllocation") continue;
    const std::string place = "metadata OfflineMemoryAllocation";
    const std::size_t buffers = from.buffers() == nullptr ? 0 : from.buffers()->size();
    if (entry.buffer() >= buffers)
      return Status(Code::invalid_data) << place << ": buffer " << entry.buffer() << " of " << buffers;
    RUNNEL_ASSIGN(const auto bytes, bytes_of(file, *from.buffers()->Get(entry.buffer()), place));
    std::vector<std::int32_t> numbers(bytes.size() / sizeof(std::int32_t));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof numbers[0]);
    std::vector<Tensor>& tensors = model.subgraphs[0].tensors;
    // The second number is how many graphs there are, or which one is meant: 1 or 0 for the only one.
    if (numbers.size() != tensors.size() + 3 || (numbers[1] != 0 && numbers[1] != 1) ||
        numbers[2] != static_cast<std::int32_t>(tensors.size())) {
      return Status(Code::invalid_data)
             << place << ": " << bytes.size() << " bytes, expected three numbers and an offset for each of "
             << tensors.size() << " tensors";
    }
    for (std::size_t t = 0; t < tensors.size(); ++t) tensors[t].arena_offset = std::max(numbers[t + 3], -1);
  }
  return {};
}

}  // namespace

Result<Model> read_model(std::span<const std::byte> file) {
  constexpr auto kMax = static_cast<std::size_t>(limits::kModelBytes);
  if (file.size() >= kMax)
    return Status(Code::unsupported) << file.size() << " bytes, expected less than " << kMax;
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file.data()), file.size(), 16,
                                 4'000'000);
  if (file.size() < 8 || !tflite::VerifyModelBuffer(verifier)) {
    return Status(Code::invalid_data)
           << file.size() << " bytes that are not a valid FlatBuffer with identifier TFL3";
  }
  const tflite::Model& from = *tflite::GetModel(file.data());
  if (from.version() != 3)
    return Status(Code::unsupported) << "schema version " << from.version() << ", expected 3";
  CopyBudget budget(file.size());
  Model model;
  model.description = text_of(from.description(), budget);
  for (flatbuffers::uoffset_t i = 0; from.subgraphs() != nullptr && i < from.subgraphs()->size(); ++i) {
    RUNNEL_ASSIGN(Subgraph graph, read_subgraph(file, from, *from.subgraphs()->Get(i), budget));
    model.subgraphs.push_back(std::move(graph));
  }
  if (model.subgraphs.empty()) return Status(Code::invalid_data) << "no graph in it";
  RUNNEL_TRY(read_arena(file, from, model));
  return model;
}

Result<std::vector<std::int64_t>> integers_of(const Tensor& tensor) {
  if (!tensor.data || (tensor.dtype != DType::int32 && tensor.dtype != DType::int64)) {
    return Status(Code::unsupported) << "tensor \"" << tensor.name << "\" is no constant int32 or int64";
  }
  const std::size_t size = size_of(tensor.dtype);
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at + size <= tensor.data->size(); at += size) {
    std::int32_t narrow = 0;
    std::int64_t wide = 0;
    if (tensor.dtype == DType::int32)
      std::memcpy(&narrow, tensor.data->data() + at, size);
    else
      std::memcpy(&wide, tensor.data->data() + at, size);
    numbers.push_back(tensor.dtype == DType::int32 ? narrow : wide);
  }
  return numbers;
}

}  // namespace runnel::compiler::tflite_source
