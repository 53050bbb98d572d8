#include "inference/model/verify.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/checked.h"
#include "base/crc32c.h"
#include "base/dtype.h"
#include "base/limits.h"
#include "inference/model/model.h"
#include "inference/model/verify_lists.h"

namespace runnel {
namespace {

constexpr std::uint32_t kFormatVersion = 1;
constexpr std::size_t kMaxFile = static_cast<std::size_t>(limits::kModelBytes);
constexpr std::uint32_t kMaxTensors = limits::kModelTensors, kMaxOperators = limits::kModelOperators,
                        kMaxOperands = limits::kModelOperands, kMaxCustomName = limits::kCustomNameBytes;
constexpr std::int32_t kMaxDimension = limits::kModelDimension;
constexpr std::int64_t kMaxTensorBytes = limits::kTensorBytes;
constexpr std::uint32_t kMaxEntries = limits::kModelQuantizationEntries;

Status bad() noexcept { return Status(Code::invalid_data); }

template <class Table>
Result<const Table*> nested(std::span<const std::byte> data, std::string_view name) noexcept {
  const auto* start = reinterpret_cast<const std::uint8_t*>(data.data());
  // Depth and table count bound the work; both are far above what a writer produces.
  flatbuffers::Verifier verifier(start, data.size(), 16, 4 * (kMaxTensors + kMaxOperators));
  if (data.size() < 8 || !verifier.VerifyBuffer<Table>(nullptr)) {
    return bad() << "section " << name << ": " << data.size() << " bytes that are not a valid FlatBuffer";
  }
  return flatbuffers::GetRoot<Table>(start);
}

// `entries`: what the tensors so far have; in a file they may all name one long list.
Status verify_quantization(const fb::Tensor& tensor, const Shape& shape, std::uint32_t index,
                           std::uint32_t& entries) noexcept {
  const std::uint32_t exponents = tensor.exponents() == nullptr ? 0 : tensor.exponents()->size();
  const std::uint32_t scales = tensor.scales() == nullptr ? 0 : tensor.scales()->size();
  const std::uint32_t zeros = tensor.zero_points() == nullptr ? 0 : tensor.zero_points()->size();
  const int axis = tensor.channel_axis();
  if (axis < -1 || axis >= shape.rank)
    return bad() << "tensor " << index << ": channel axis " << axis << ", expected -1 to " << shape.rank - 1;
  const std::uint32_t channels = axis < 0 ? 1 : static_cast<std::uint32_t>(shape[axis]);
  if (exponents != 0 && scales != 0)
    return bad() << "tensor " << index << ": both exponents and scales, expected one of them";
  for (const std::uint32_t count : {exponents, scales, zeros}) {
    if (count != 0 && count != 1 && count != channels) {
      return bad() << "tensor " << index << ": " << count << " quantization entries, expected 1 or "
                   << channels;
    }
    if (count > kMaxEntries - entries) {
      return bad() << "tensor " << index << ": " << count << " quantization entries after " << entries
                   << " of other tensors, expected at most " << kMaxEntries << " in all";
    }
    entries += count;
  }
  for (std::uint32_t i = 0; i < exponents; ++i) {
    const int exponent = tensor.exponents()->Get(i);
    if (exponent < -60 || exponent > 60)
      return bad() << "tensor " << index << ": exponent " << exponent << ", expected -60 to 60";
  }
  for (std::uint32_t i = 0; i < scales; ++i) {
    const float scale = tensor.scales()->Get(i);
    if (!std::isfinite(scale) || scale <= 0)
      return bad() << "tensor " << index << ": a scale that is not a positive number";
  }
  return {};
}

Status verify_tensor(const fb::Tensor& tensor, std::uint32_t index, std::span<const std::byte> weights,
                     std::uint32_t& entries) noexcept {
  if (tensor.shape() == nullptr || tensor.shape()->size() > static_cast<std::uint32_t>(kMaxRank)) {
    return bad() << "tensor " << index << ": rank "
                 << (tensor.shape() == nullptr ? 0 : tensor.shape()->size()) << ", expected at most "
                 << kMaxRank;
  }
  if (tensor.dtype() == 0 || tensor.dtype() > static_cast<std::uint8_t>(DType::float64)) {
    return bad() << "tensor " << index << ": unknown element type " << tensor.dtype();
  }
  const std::size_t element = size_of(static_cast<DType>(tensor.dtype()));
  Shape shape;
  shape.rank = static_cast<int>(tensor.shape()->size());
  auto bytes = static_cast<std::int64_t>(element);
  for (int axis = 0; axis < shape.rank; ++axis) {
    shape[axis] = tensor.shape()->Get(static_cast<std::uint32_t>(axis));
    if (shape[axis] < 1 || shape[axis] > kMaxDimension) {
      return bad() << "tensor " << index << ": dimension " << axis << " is " << shape[axis]
                   << ", expected 1 to " << kMaxDimension;
    }
    if (!checked_mul<std::int64_t>(bytes, shape[axis], bytes) || bytes > kMaxTensorBytes) {
      return bad() << "tensor " << index << ": more than " << kMaxTensorBytes << " bytes";
    }
  }
  if (const fb::Range* range = tensor.data(); range != nullptr) {
    if (!range_inside(range->offset(), range->size(), weights.size())) {
      return bad() << "tensor " << index << ": data at " << range->offset() << " of " << range->size()
                   << " bytes, outside the weights section of " << weights.size();
    }
    if (range->size() != static_cast<std::uint64_t>(bytes)) {
      return bad() << "tensor " << index << ": " << range->size() << " bytes of data, expected " << bytes;
    }
    if (range->offset() % element != 0)
      return bad() << "tensor " << index << ": data offset " << range->offset() << " is not a multiple of "
                   << element;
  }
  return verify_quantization(tensor, shape, index, entries);
}

// The tensors that are not constants, in the order in which they come to be.
class Production {
 public:
  explicit Production(const fb::Graph& graph) noexcept : graph_(graph) {}

  Status produce(std::int32_t tensor, std::string_view what, std::uint32_t which) noexcept {
    if (tensor < 0 || static_cast<std::uint32_t>(tensor) >= graph_.tensors()->size()) {
      return bad() << what << ' ' << which << ": tensor " << tensor << " does not exist, the graph has "
                   << graph_.tensors()->size();
    }
    if (constant(tensor))
      return bad() << what << ' ' << which << ": tensor " << tensor
                   << " is a constant, expected one that is computed";
    if (tensor <= highest_) {
      return bad() << what << ' ' << which << ": tensor " << tensor << " follows " << highest_
                   << ", expected increasing indices";
    }
    highest_ = tensor;
    ++count_;
    return {};
  }
  [[nodiscard]] bool constant(std::int32_t tensor) const noexcept {
    return graph_.tensors()->Get(static_cast<std::uint32_t>(tensor))->data() != nullptr;
  }
  [[nodiscard]] std::int32_t highest() const noexcept { return highest_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

 private:
  const fb::Graph& graph_;
  std::int32_t highest_ = -1;
  std::uint32_t count_ = 0;
};

Status verify_name(const flatbuffers::String* name, std::string_view what, std::uint32_t index) noexcept {
  const std::uint32_t bytes = name == nullptr ? 0 : name->size();
  if (bytes != 0 && bytes <= kMaxCustomName) return {};
  return bad() << "operator " << index << ": " << what << " has " << bytes << " bytes, expected 1 to "
               << kMaxCustomName;
}

// That every attribute has a name and one value, so that readers need not look again.
Status verify_attributes(const flatbuffers::Vector<flatbuffers::Offset<fb::CustomAttribute>>* attributes,
                         std::uint32_t index) noexcept {
  if (attributes == nullptr) return {};
  for (std::uint32_t i = 0; i < attributes->size(); ++i) {
    const fb::CustomAttribute& attribute = *attributes->Get(i);
    const int values = (attribute.integers() != nullptr ? 1 : 0) + (attribute.numbers() != nullptr ? 1 : 0) +
                       (attribute.text() != nullptr ? 1 : 0);
    if (attribute.name() == nullptr || attribute.name()->size() == 0 || values != 1) {
      return bad() << "operator " << index << ": attribute " << i << " has no name or " << values
                   << " values, expected a name and one value";
    }
    // FlatBuffers checks the position of a vector's length, not that eight-byte elements after it are
    // aligned; without elements none are.
    const bool any = attribute.integers() != nullptr && attribute.integers()->size() > 0;
    if (any && reinterpret_cast<std::uintptr_t>(attribute.integers()->Data()) % alignof(std::int64_t) != 0) {
      return bad() << "operator " << index << ": attribute " << i << " has integers that are not aligned to "
                   << alignof(std::int64_t) << " bytes";
    }
  }
  return {};
}

Status verify_custom(const fb::Operator& op, std::uint32_t index) noexcept {
  const fb::CustomOptions* const options = op.options_as_CustomOptions();
  if (options == nullptr) {
    if (code_of(op) != OpCode::custom) return {};
    return bad() << "operator " << index << ": a custom operator without its options";
  }
  RUNNEL_TRY(verify_name(options->name(), "a custom operator whose name", index));
  return verify_attributes(options->attributes(), index);
}

// That the parts have names and are the constants before the other inputs.
Status verify_delegate(const fb::Operator& op, std::uint32_t index, const Production& production) noexcept {
  const fb::DelegateOptions* const options = op.options_as_DelegateOptions();
  if (options == nullptr) {
    if (code_of(op) != OpCode::delegate) return {};
    return bad() << "operator " << index << ": a delegate without its options";
  }
  RUNNEL_TRY(verify_name(options->kind(), "a delegate whose kind", index));
  RUNNEL_TRY(verify_attributes(options->attributes(), index));
  const std::uint32_t parts = options->parts() == nullptr ? 0 : options->parts()->size();
  if (parts > op.inputs()->size())
    return bad() << "operator " << index << ": a delegate of " << parts << " parts with "
                 << op.inputs()->size() << " inputs";
  for (std::uint32_t i = 0; i < parts; ++i) {
    RUNNEL_TRY(verify_name(options->parts()->Get(i), "a delegate's part whose name", index));
    if (op.inputs()->Get(i) < 0 || !production.constant(op.inputs()->Get(i))) {
      return bad() << "operator " << index << ": part " << i << " of a delegate is no constant";
    }
  }
  return {};
}

Status verify_operator(const fb::Operator& op, std::uint32_t index, const fb::Graph& graph,
                       Production& production) noexcept {
  if (op.inputs() == nullptr || op.outputs() == nullptr || op.inputs()->size() > kMaxOperands ||
      op.outputs()->size() == 0 || op.outputs()->size() > kMaxOperands) {
    return bad() << "operator " << index << ": expected up to " << kMaxOperands << " inputs and 1 to "
                 << kMaxOperands << " outputs";
  }
  RUNNEL_TRY(verify_custom(op, index));
  if (op.rounding() > 3) return bad() << "operator " << index << ": unknown rounding " << op.rounding();
  for (const std::int32_t input : *op.inputs()) {
    if (input == -1) continue;
    if (input < 0 || static_cast<std::uint32_t>(input) >= graph.tensors()->size()) {
      return bad() << "operator " << index << ": input tensor " << input << " does not exist, the graph has "
                   << graph.tensors()->size();
    }
    if (!production.constant(input) && input > production.highest()) {
      return bad() << "operator " << index << ": reads tensor " << input << " before it is computed";
    }
  }
  RUNNEL_TRY(verify_delegate(op, index, production));
  for (const std::int32_t output : *op.outputs()) RUNNEL_TRY(production.produce(output, "operator", index));
  return {};
}

}  // namespace

Result<Sections> read_container(std::span<const std::byte> bytes, bool check_crc) noexcept {
  if (bytes.empty()) return bad() << "empty, expected a model file";
  if (bytes.size() < 16 || bytes.size() > kMaxFile)
    return bad() << bytes.size() << " bytes, expected 16 to " << kMaxFile;
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 16 != 0) {
    return Status(Code::invalid_argument) << "the bytes of a model must start at a multiple of 16";
  }
  const auto* start = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (std::memcmp(start, kEncryptedMagic.data(), kEncryptedMagic.size()) == 0) {
    return Status(Code::unsupported) << "an encrypted model file (" << kEncryptedMagic
                                     << "), expected a plain one: hosts decrypt with a key, devices do not";
  }
  if (!flatbuffers::BufferHasIdentifier(start, fb::ModelIdentifier()))
    return bad() << "no RNL1 identifier at byte 4: not a runnel model file";
  flatbuffers::Verifier verifier(start, bytes.size(), 8, 64);
  if (!fb::VerifyModelBuffer(verifier))
    return bad() << "the container of " << bytes.size() << " bytes is damaged or cut short";
  const fb::Model& model = *fb::GetModel(start);
  if (model.version() != kFormatVersion) {
    return Status(Code::unsupported) << "format version " << model.version() << ", this reader knows "
                                     << kFormatVersion;
  }
  if (model.bytes() != bytes.size())
    return bad() << bytes.size() << " bytes, but the file says that it has " << model.bytes()
                 << ": it is cut short or damaged";
  if (model.sections() == nullptr) return bad() << "no sections";

  Sections sections;
  std::uint32_t seen = 0;
  for (std::uint32_t i = 0; i < model.sections()->size(); ++i) {
    const fb::Section& section = *model.sections()->Get(i);
    const auto kind = static_cast<std::uint32_t>(section.kind());
    if (kind == 0 || section.kind() > fb::SectionKind::MAX) {
      return Status(Code::unsupported)
             << "section " << i << ": unknown kind " << kind << "; the file needs a newer reader";
    }
    const std::string_view name = fb::EnumNameSectionKind(section.kind());
    if ((seen & (1u << kind)) != 0) return bad() << "section " << name << " appears twice";
    seen |= 1u << kind;
    if (section.data() == nullptr) return bad() << "section " << name << ": no data";
    const auto data = std::as_bytes(std::span(section.data()->data(), section.data()->size()));
    if (reinterpret_cast<std::uintptr_t>(data.data()) % 16 != 0)
      return bad() << "section " << name << ": data not aligned to 16 bytes";
    if (check_crc) {
      if (const std::uint32_t crc = crc32c(data); crc != section.crc32c()) {
        return bad() << "section " << name << ": checksum " << crc << ", expected " << section.crc32c()
                     << ": the file is damaged";
      }
    }
    switch (section.kind()) {
      case fb::SectionKind::graph: {
        RUNNEL_TRY(verify_lists_of_parts(data));
        RUNNEL_ASSIGN(sections.graph, nested<fb::Graph>(data, name));
        break;
      }
      case fb::SectionKind::weights:
        sections.weights = data;
        break;
      case fb::SectionKind::plan: {
        RUNNEL_ASSIGN(sections.plan, nested<fb::StreamPlan>(data, name));
        break;
      }
      case fb::SectionKind::names: {
        RUNNEL_ASSIGN(sections.names, nested<fb::Names>(data, name));
        break;
      }
      case fb::SectionKind::pipeline: {
        RUNNEL_ASSIGN(sections.pipeline, nested<fb::Pipeline>(data, name));
        break;
      }
      case fb::SectionKind::vectors: {
        RUNNEL_ASSIGN(sections.vectors, nested<fb::Vectors>(data, name));
        break;
      }
      case fb::SectionKind::metadata: {
        RUNNEL_ASSIGN(sections.metadata, nested<fb::Metadata>(data, name));
        break;
      }
      case fb::SectionKind::arenas: {
        RUNNEL_ASSIGN(sections.arenas, nested<fb::Arenas>(data, name));
        break;
      }
      case fb::SectionKind::none:
        break;
    }
  }
  if (sections.graph == nullptr) return bad() << "no graph section";
  return sections;
}

Status verify_graph(const fb::Graph& graph, std::span<const std::byte> weights) noexcept {
  if (graph.tensors() == nullptr || graph.operators() == nullptr || graph.inputs() == nullptr ||
      graph.outputs() == nullptr) {
    return bad() << "graph: tensors, operators, inputs or outputs are missing";
  }
  if (graph.tensors()->size() > kMaxTensors || graph.operators()->size() > kMaxOperators) {
    return bad() << "graph: " << graph.tensors()->size() << " tensors and " << graph.operators()->size()
                 << " operators, expected at most " << kMaxTensors << " and " << kMaxOperators;
  }
  if (graph.inputs()->size() == 0 || graph.outputs()->size() == 0)
    return bad() << "graph: expected at least one input and one output";
  std::uint32_t computed = 0, entries = 0;
  for (std::uint32_t i = 0; i < graph.tensors()->size(); ++i) {
    RUNNEL_TRY(verify_tensor(*graph.tensors()->Get(i), i, weights, entries));
    computed += graph.tensors()->Get(i)->data() == nullptr ? 1 : 0;
  }
  Production production(graph);
  for (std::uint32_t i = 0; i < graph.inputs()->size(); ++i)
    RUNNEL_TRY(production.produce(graph.inputs()->Get(i), "graph input", i));
  for (std::uint32_t i = 0; i < graph.operators()->size(); ++i) {
    RUNNEL_TRY(verify_operator(*graph.operators()->Get(i), i, graph, production));
  }
  if (production.count() != computed) {
    return bad() << "graph: " << computed << " tensors are not constants, but inputs and operators make "
                 << production.count();
  }
  for (std::uint32_t i = 0; i < graph.outputs()->size(); ++i) {
    const std::int32_t tensor = graph.outputs()->Get(i);
    if (tensor < 0 || static_cast<std::uint32_t>(tensor) >= graph.tensors()->size() ||
        production.constant(tensor)) {
      return bad() << "graph output " << i << ": tensor " << tensor << " is not one that is computed";
    }
  }
  return {};
}

Status verify_side_sections(const Sections& sections) noexcept {
  const std::uint32_t tensors = sections.graph->tensors()->size();
  const std::uint32_t operators = sections.graph->operators()->size();
  if (sections.plan != nullptr &&
      (sections.plan->tensors() == nullptr || sections.plan->tensors()->size() != tensors)) {
    return bad() << "section plan: expected one entry per tensor";
  }
  // FlatBuffers checks the position of a vector's length, not that eight-byte elements after it are aligned.
  if (sections.plan != nullptr &&
      reinterpret_cast<std::uintptr_t>(sections.plan->tensors()->Data()) % alignof(fb::StreamTensor) != 0) {
    return bad() << "section plan: entries that are not aligned to " << alignof(fb::StreamTensor) << " bytes";
  }
  if (sections.names != nullptr) {
    if (sections.names->tensors() != nullptr && sections.names->tensors()->size() != tensors)
      return bad() << "section names: expected one name per tensor";
    if (sections.names->operators() != nullptr && sections.names->operators()->size() != operators) {
      return bad() << "section names: expected one name per operator";
    }
  }
  if (sections.pipeline != nullptr &&
      (sections.pipeline->usage() > fb::Usage::MAX || sections.pipeline->sample_rate() < 0)) {
    return bad() << "section pipeline: unknown usage or negative sample rate";
  }
  if (sections.metadata != nullptr && sections.metadata->entries() != nullptr) {
    for (const fb::Entry* entry : *sections.metadata->entries()) {
      if (entry->key() == nullptr || entry->value() == nullptr)
        return bad() << "section metadata: an entry without key or value";
    }
  }
  if (sections.vectors != nullptr && sections.vectors->cases() != nullptr) {
    std::uint32_t index = 0;
    for (const fb::VectorCase* test : *sections.vectors->cases()) {
      for (const auto* list : {test->inputs(), test->outputs()}) {
        if (list == nullptr)
          return bad() << "section vectors: case " << index << " has no inputs or no outputs";
        for (const fb::VectorTensor* value : *list) {
          if (value->tensor() < 0 || static_cast<std::uint32_t>(value->tensor()) >= tensors ||
              value->data() == nullptr || value->shape() == nullptr ||
              value->shape()->size() > static_cast<std::uint32_t>(kMaxRank)) {
            return bad() << "section vectors: case " << index << " names tensor " << value->tensor()
                         << " or lacks data or shape";
          }
          auto bytes = static_cast<std::int64_t>(size_of(static_cast<DType>(
              sections.graph->tensors()->Get(static_cast<std::uint32_t>(value->tensor()))->dtype())));
          for (const std::int32_t dim : *value->shape()) {
            if (dim < 1 || !checked_mul<std::int64_t>(bytes, dim, bytes))
              return bad() << "section vectors: case " << index << " has dimension " << dim;
          }
          if (static_cast<std::uint64_t>(bytes) != value->data()->size()) {
            return bad() << "section vectors: case " << index << " has " << value->data()->size()
                         << " bytes for a shape of " << bytes;
          }
        }
      }
      ++index;
    }
  }
  return {};
}

}  // namespace runnel
