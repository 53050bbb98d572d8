#include "compiler/espdl/source.h"

#include <cmath>
#include <cstring>
#include <set>

#include "base/checked.h"
#include "compiler/copy_budget.h"
#include "compiler/espdl/espdl_generated.h"

namespace runnel::compiler::espdl_source {
namespace {

std::string text_of(const flatbuffers::String* text, CopyBudget& budget) {
  return text == nullptr || !budget.spend(text->size()) ? std::string() : text->str();
}

std::vector<std::string> texts_of(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts,
                                  CopyBudget& budget) {
  std::vector<std::string> result;
  if (texts == nullptr || !budget.spend(texts->size() * sizeof(flatbuffers::uoffset_t))) return result;
  for (const flatbuffers::String* text : *texts) result.push_back(text_of(text, budget));
  return result;
}

// The numbers of a vector. FlatBuffers' verifier checks the position of the vector's length, not that
// eight-byte elements after it are aligned: they are copied instead of read in place.
template <class T>
std::vector<T> numbers_in(const flatbuffers::Vector<T>* from, CopyBudget& budget) {
  const std::size_t size = from == nullptr ? 0 : from->size();
  std::vector<T> numbers(budget.spend(size * sizeof(T)) ? size : 0);
  if (!numbers.empty()) std::memcpy(numbers.data(), from->Data(), numbers.size() * sizeof(T));
  return numbers;
}

DType dtype_of(espdl::TensorDataType type) {
  switch (type) {
    case espdl::TensorDataType::FLOAT:
      return DType::float32;
    case espdl::TensorDataType::UINT8:
      return DType::uint8;
    case espdl::TensorDataType::INT8:
      return DType::int8;
    case espdl::TensorDataType::UINT16:
      return DType::uint16;
    case espdl::TensorDataType::INT16:
      return DType::int16;
    case espdl::TensorDataType::INT32:
      return DType::int32;
    case espdl::TensorDataType::INT64:
      return DType::int64;
    case espdl::TensorDataType::BOOL:
      return DType::boolean;
    case espdl::TensorDataType::DOUBLE:
      return DType::float64;
    default:
      return DType::none;
  }
}

// Exponents have a meaning for quantized integers only; files carry [0] on everything else.
Status read_exponents(const std::string& name, DType dtype, const flatbuffers::Vector<std::int64_t>* from,
                      std::vector<std::int8_t>& to, CopyBudget& budget) {
  if (from == nullptr || dtype == DType::float32 || dtype == DType::float64 || dtype == DType::boolean)
    return {};
  for (const std::int64_t exponent : numbers_in(from, budget)) {
    if (exponent < -100 || exponent > 100) {
      return Status(Code::invalid_data)
             << "tensor \"" << name << "\": exponent " << exponent << ", expected -100 to 100";
    }
    to.push_back(static_cast<std::int8_t>(exponent));
  }
  return {};
}

template <class T>
void append(std::vector<std::byte>& to, T value) {
  const std::size_t at = to.size();
  to.resize(at + sizeof(T));
  std::memcpy(to.data() + at, &value, sizeof(T));
}

// Integers that are stored one by one instead of as raw bytes, converted to the tensor's type.
template <class Vector>
void append_integers(const Vector& from, DType dtype, std::vector<std::byte>& to) {
  for (const auto value : from) {
    switch (dtype) {
      case DType::int8:
        append(to, static_cast<std::int8_t>(value));
        break;
      case DType::uint8:
      case DType::boolean:
        append(to, static_cast<std::uint8_t>(value));
        break;
      case DType::int16:
        append(to, static_cast<std::int16_t>(value));
        break;
      case DType::uint16:
        append(to, static_cast<std::uint16_t>(value));
        break;
      case DType::int32:
        append(to, static_cast<std::int32_t>(value));
        break;
      case DType::int64:
        append(to, static_cast<std::int64_t>(value));
        break;
      default:
        break;
    }
  }
}

// Data without raw bytes: ONNX's typed fields.
void append_typed(const espdl::Tensor& from, DType dtype, std::vector<std::byte>& to, CopyBudget& budget) {
  if (dtype == DType::float32) {
    for (const float value : numbers_in(from.float_data(), budget)) append(to, value);
  } else if (dtype == DType::float64) {
    for (const double value : numbers_in(from.double_data(), budget)) append(to, value);
  } else if (from.int32_data() != nullptr && from.int32_data()->size() > 0) {
    append_integers(numbers_in(from.int32_data(), budget), dtype, to);
  } else {
    append_integers(numbers_in(from.int64_data(), budget), dtype, to);
  }
}

Result<Constant> read_tensor(const espdl::Tensor& from, CopyBudget& budget) {
  budget.spend(sizeof(Constant));
  Constant tensor;
  tensor.name = text_of(from.name(), budget);
  const auto fail = [&] { return Status(Code::invalid_data) << "tensor \"" << tensor.name << "\": "; };
  tensor.dtype = dtype_of(from.data_type());
  if (tensor.dtype == DType::none)
    return fail() << "data type " << static_cast<int>(from.data_type()) << " is not known";
  if (from.data_location() != espdl::DataLocation::DEFAULT)
    return fail() << "its data is in another file, expected it inside";
  tensor.count = 1;
  for (const std::int64_t dim : numbers_in(from.dims(), budget)) {
    if (dim < 0) return fail() << "dimension " << tensor.dims.size() << " is " << dim;
    if (!checked_mul(tensor.count, dim, tensor.count) || tensor.count > kMaxElements) {
      return fail() << "more than " << kMaxElements << " elements";
    }
    tensor.dims.push_back(dim);
  }
  if (tensor.dims.size() > 8) return fail() << "rank " << tensor.dims.size() << ", expected at most 8";
  RUNNEL_TRY(read_exponents(tensor.name, tensor.dtype, from.exponents(), tensor.exponents, budget));

  // kMaxElements * 8 bytes fits easily.
  const std::size_t bytes = static_cast<std::size_t>(tensor.count) * size_of(tensor.dtype);
  if (const auto* raw = from.raw_data(); raw != nullptr && raw->size() > 0) {
    const std::size_t stored = std::size_t{raw->size()} * 16;
    if (stored < bytes)
      return fail() << stored << " bytes of data, expected " << bytes << " for " << tensor.count << " x "
                    << name_of(tensor.dtype);
    const auto* first = reinterpret_cast<const std::byte*>(raw->Data());
    if (budget.spend(bytes)) tensor.data.assign(first, first + bytes);
  } else {
    append_typed(from, tensor.dtype, tensor.data, budget);
    if (tensor.data.size() != bytes)
      return fail() << tensor.data.size() << " bytes of data, expected " << bytes;
  }

  constexpr std::string_view mark = "layout ==> ";
  const std::string doc = text_of(from.doc_string(), budget);
  if (const std::size_t at = doc.find(mark); at != std::string::npos) {
    const std::size_t start = at + mark.size();
    tensor.layout = doc.substr(start, doc.find_first_of(" \t\r\n", start) - start);
  } else {
    tensor.doc = doc;
  }
  return tensor;
}

Result<Value> read_value(const std::string& name, const espdl::ValueInfo& from, CopyBudget& budget) {
  Value value;
  const espdl::TypeInfo* type = from.value_info_type();
  const espdl::TensorTypeAndShape* tensor = type == nullptr ? nullptr : type->value_as_TensorTypeAndShape();
  if (tensor == nullptr) return Status(Code::invalid_data) << "value \"" << name << "\": no tensor type";
  value.dtype = dtype_of(tensor->elem_type());
  if (value.dtype == DType::none) {
    return Status(Code::invalid_data) << "value \"" << name << "\": data type "
                                      << static_cast<int>(tensor->elem_type()) << " is not known";
  }
  if (tensor->shape() != nullptr) {
    value.shape.emplace();
    for (flatbuffers::uoffset_t i = 0;
         tensor->shape()->dim() != nullptr && i < tensor->shape()->dim()->size(); ++i) {
      const espdl::DimensionValue* dim = tensor->shape()->dim()->Get(i)->value();
      value.shape->push_back(dim == nullptr ? 0 : dim->dim_value());
    }
  }
  RUNNEL_TRY(read_exponents(name, value.dtype, from.exponents(), value.exponents, budget));
  return value;
}

Attribute read_attribute(const espdl::Attribute& from, CopyBudget& budget) {
  switch (from.attr_type()) {
    case espdl::AttributeType::FLOAT:
      return from.f() == nullptr ? Attribute() : Attribute(from.f()->f());
    case espdl::AttributeType::INT:
      return from.i() == nullptr ? Attribute() : Attribute(static_cast<std::int64_t>(from.i()->i()));
    case espdl::AttributeType::STRING: {
      std::string text;
      if (from.s() != nullptr && budget.spend(from.s()->size()))
        text.assign(reinterpret_cast<const char*>(from.s()->Data()), from.s()->size());
      return text;
    }
    case espdl::AttributeType::FLOATS:
      return numbers_in(from.floats(), budget);
    case espdl::AttributeType::INTS:
      return numbers_in(from.ints(), budget);
    default:
      return {};
  }
}

Status read_values(const flatbuffers::Vector<flatbuffers::Offset<espdl::ValueInfo>>* from, Model& model,
                   std::vector<std::string>* names, CopyBudget& budget) {
  for (flatbuffers::uoffset_t i = 0; from != nullptr && i < from->size(); ++i) {
    const std::string name = text_of(from->Get(i)->name(), budget);
    RUNNEL_TRY(budget.status());
    if (name.empty()) {  // absent optional operands leave such entries after
      if (names == nullptr) continue;
      return Status(Code::invalid_data) << "a graph input or output without name (number " << i << ")";
    }
    if (names != nullptr) names->push_back(name);
    auto value = read_value(name, *from->Get(i), budget);
    RUNNEL_TRY(budget.status());
    if (!value.ok()) return value.status();
    model.values.insert_or_assign(name, std::move(value).value());
  }
  return {};
}

Status read_nodes(const espdl::Graph& graph, Model& model, CopyBudget& budget) {
  std::set<std::string, std::less<>> known(model.inputs.begin(), model.inputs.end());
  const auto* nodes = graph.node();
  if (nodes == nullptr || nodes->size() == 0) return Status(Code::invalid_data, "the graph has no nodes");
  if (nodes->size() > kMaxNodes)
    return Status(Code::invalid_data) << nodes->size() << " nodes, expected at most " << kMaxNodes;
  for (flatbuffers::uoffset_t i = 0; i < nodes->size(); ++i) {
    const espdl::Node& from = *nodes->Get(i);
    budget.spend(sizeof(Node));
    Node node;
    node.op = text_of(from.op_type(), budget);
    node.name = text_of(from.name(), budget);
    if (node.name.empty()) node.name = node.op + " #" + std::to_string(i);
    node.inputs = texts_of(from.input(), budget);
    node.outputs = texts_of(from.output(), budget);
    RUNNEL_TRY(budget.status());
    const auto fail = [&] {
      return Status(Code::invalid_data) << "node \"" << node.name << "\" (" << node.op << "): ";
    };
    if (node.op.empty()) return fail() << "no operator type";
    for (const std::string& input : node.inputs) {
      if (!input.empty() && !known.contains(input) && model.constant(input) == nullptr) {
        return fail() << "its input \"" << input
                      << "\" is made by no earlier node, is no input of the graph and no constant";
      }
    }
    if (node.outputs.empty()) return fail() << "no outputs";
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;
      if (!known.insert(output).second || model.constant(output) != nullptr)
        return fail() << "its output \"" << output << "\" exists already";
      if (!model.values.contains(output))
        return fail() << "nothing says what its output \"" << output << "\" is (value_info)";
    }
    for (flatbuffers::uoffset_t k = 0; from.attribute() != nullptr && k < from.attribute()->size(); ++k) {
      const espdl::Attribute& attribute = *from.attribute()->Get(k);
      node.attributes.insert_or_assign(text_of(attribute.name(), budget), read_attribute(attribute, budget));
    }
    RUNNEL_TRY(budget.status());
    model.nodes.push_back(std::move(node));
  }
  for (const std::string& output : model.outputs) {
    if (!known.contains(output))
      return Status(Code::invalid_data) << "output \"" << output << "\" of the graph is made by no node";
  }
  return {};
}

Status read_tensors(const flatbuffers::Vector<flatbuffers::Offset<espdl::Tensor>>* from,
                    std::vector<Constant>& to, CopyBudget& budget) {
  for (flatbuffers::uoffset_t i = 0; from != nullptr && i < from->size(); ++i) {
    auto tensor = read_tensor(*from->Get(i), budget);
    RUNNEL_TRY(budget.status());
    if (!tensor.ok()) return tensor.status();
    to.push_back(std::move(tensor).value());
  }
  return {};
}

template <class T>
T element(const Constant& constant, std::int64_t index) {
  T value;
  std::memcpy(&value, constant.data.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

const Constant* Model::constant(std::string_view constant_name) const {
  const auto found = constants.find(constant_name);
  return found == constants.end() ? nullptr : &found->second;
}

Result<Model> read_model(const EspdlPayload& payload) {
  const espdl::Model& file = payload.model();
  if (file.graph() == nullptr) return Status(Code::invalid_data, "the file has no graph");
  const espdl::Graph& graph = *file.graph();
  CopyBudget budget(payload.bytes());
  Model model;
  model.name = text_of(graph.name(), budget);
  RUNNEL_TRY(read_values(graph.value_info(), model, nullptr, budget));
  RUNNEL_TRY(read_values(graph.input(), model, &model.inputs, budget));
  RUNNEL_TRY(read_values(graph.output(), model, &model.outputs, budget));
  std::vector<Constant> constants;
  RUNNEL_TRY(read_tensors(graph.initializer(), constants, budget));
  for (Constant& constant : constants) {
    const std::string name = constant.name;
    if (name.empty()) return Status(Code::invalid_data, "a constant without name");
    if (!model.constants.try_emplace(name, std::move(constant)).second) {
      return Status(Code::invalid_data) << "constant \"" << name << "\" occurs twice";
    }
  }
  // Old files list constants among the inputs.
  std::erase_if(model.inputs, [&](const std::string& name) { return model.constant(name) != nullptr; });
  if (model.inputs.empty()) return Status(Code::invalid_data, "the graph has no inputs");
  if (model.outputs.empty()) return Status(Code::invalid_data, "the graph has no outputs");
  RUNNEL_TRY(read_nodes(graph, model, budget));
  RUNNEL_TRY(read_tensors(graph.test_inputs_value(), model.test_inputs, budget));
  RUNNEL_TRY(read_tensors(graph.test_outputs_value(), model.test_outputs, budget));
  for (flatbuffers::uoffset_t i = 0; file.metadata_props() != nullptr && i < file.metadata_props()->size();
       ++i) {
    const auto* entry = file.metadata_props()->Get(i);
    model.metadata.emplace_back(text_of(entry->key(), budget), text_of(entry->value(), budget));
  }
  RUNNEL_TRY(budget.status());
  return model;
}

Result<std::vector<std::int64_t>> integers_of(const Constant& constant) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < constant.count; ++i) {
    switch (constant.dtype) {
      case DType::int8:
        values.push_back(element<std::int8_t>(constant, i));
        break;
      case DType::uint8:
      case DType::boolean:
        values.push_back(element<std::uint8_t>(constant, i));
        break;
      case DType::int16:
        values.push_back(element<std::int16_t>(constant, i));
        break;
      case DType::uint16:
        values.push_back(element<std::uint16_t>(constant, i));
        break;
      case DType::int32:
        values.push_back(element<std::int32_t>(constant, i));
        break;
      case DType::int64:
        values.push_back(element<std::int64_t>(constant, i));
        break;
      default:
        return Status(Code::invalid_data) << "constant \"" << constant.name
                                          << "\": " << name_of(constant.dtype) << ", expected integers";
    }
  }
  return values;
}

Result<std::vector<double>> numbers_of(const Constant& constant) {
  std::vector<double> values;
  if (constant.dtype == DType::float32 || constant.dtype == DType::float64) {
    for (std::int64_t i = 0; i < constant.count; ++i) {
      values.push_back(constant.dtype == DType::float32 ? element<float>(constant, i)
                                                        : element<double>(constant, i));
    }
    return values;
  }
  RUNNEL_ASSIGN(const std::vector<std::int64_t> integers, integers_of(constant));
  const int exponent = constant.exponents.empty() ? 0 : constant.exponents[0];
  for (const std::int64_t value : integers)
    values.push_back(std::ldexp(static_cast<double>(value), exponent));
  return values;
}

namespace {

template <class T>
Result<T> attribute_as(const Node& node, std::string_view key, T fallback, std::string_view expected) {
  const auto found = node.attributes.find(key);
  if (found == node.attributes.end() || std::holds_alternative<std::monostate>(found->second))
    return fallback;
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  return Status(Code::invalid_data) << "node \"" << node.name << "\" (" << node.op << "): attribute \"" << key
                                    << "\" is not " << expected;
}

}  // namespace

Result<std::int64_t> Node::integer(std::string_view key, std::int64_t fallback) const {
  return attribute_as<std::int64_t>(*this, key, fallback, "an integer");
}
Result<float> Node::number(std::string_view key, float fallback) const {
  return attribute_as<float>(*this, key, fallback, "a number");
}
Result<std::string> Node::text(std::string_view key, std::string_view fallback) const {
  return attribute_as<std::string>(*this, key, std::string(fallback), "text");
}
Result<std::vector<std::int64_t>> Node::integers(std::string_view key,
                                                 std::vector<std::int64_t> fallback) const {
  return attribute_as<std::vector<std::int64_t>>(*this, key, std::move(fallback), "a list of integers");
}

}  // namespace runnel::compiler::espdl_source
