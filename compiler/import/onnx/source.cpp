#include "compiler/import/onnx/source.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "base/limits.h"

namespace runnel::compiler::onnx_source {
namespace {

using ::onnx::AttributeProto;
using ::onnx::TensorProto;

constexpr int kMaxNesting = limits::kMessageNesting;  // of messages in messages

float from_half(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = (half >> 10) & 31u, fraction = half & 1023u;
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

template <class T, class List>
void append(const List& list, std::vector<std::byte>& data) {
  data.resize(static_cast<std::size_t>(list.size()) * sizeof(T));
  std::size_t at = 0;
  for (const auto entry : list) {
    const auto value = static_cast<T>(entry);
    std::memcpy(data.data() + at, &value, sizeof value);
    at += sizeof value;
  }
}

// Elements in the list of their type instead of raw_data.
void read_list(const TensorProto& tensor, DType type, std::vector<std::byte>& data) {
  switch (type) {
    case DType::float32:
      return append<float>(tensor.float_data(), data);
    case DType::float64:
      return append<double>(tensor.double_data(), data);
    case DType::int64:
      return append<std::int64_t>(tensor.int64_data(), data);
    case DType::int32:
      return append<std::int32_t>(tensor.int32_data(), data);
    case DType::int16:
      return append<std::int16_t>(tensor.int32_data(), data);
    case DType::uint16:
      return append<std::uint16_t>(tensor.int32_data(), data);
    case DType::int8:
      return append<std::int8_t>(tensor.int32_data(), data);
    case DType::uint8:
    case DType::boolean:
      return append<std::uint8_t>(tensor.int32_data(), data);
    case DType::none:
      break;
  }
}

struct TypedName {
  std::string_view name;
  AttributeProto::AttributeType type;
};
// The attributes that are read, with their types; others are not looked at.
constexpr std::array kAttributes = {
    TypedName{"alpha", AttributeProto::FLOAT},
    TypedName{"antialias", AttributeProto::INT},
    TypedName{"approximate", AttributeProto::STRING},
    TypedName{"auto_pad", AttributeProto::STRING},
    TypedName{"axes", AttributeProto::INTS},
    TypedName{"axis", AttributeProto::INT},
    TypedName{"beta", AttributeProto::FLOAT},
    TypedName{"block_size", AttributeProto::INT},
    TypedName{"blocksize", AttributeProto::INT},
    TypedName{"ceil_mode", AttributeProto::INT},
    TypedName{"coordinate_transformation_mode", AttributeProto::STRING},
    TypedName{"count_include_pad", AttributeProto::INT},
    TypedName{"dilations", AttributeProto::INTS},
    TypedName{"direction", AttributeProto::STRING},
    TypedName{"else_branch", AttributeProto::GRAPH},
    TypedName{"end", AttributeProto::INT},
    TypedName{"ends", AttributeProto::INTS},
    TypedName{"epsilon", AttributeProto::FLOAT},
    TypedName{"exclusive", AttributeProto::INT},
    TypedName{"gamma", AttributeProto::FLOAT},
    TypedName{"group", AttributeProto::INT},
    TypedName{"hidden_size", AttributeProto::INT},
    TypedName{"k", AttributeProto::INT},
    TypedName{"keepdims", AttributeProto::INT},
    TypedName{"kernel_shape", AttributeProto::INTS},
    TypedName{"largest", AttributeProto::INT},
    TypedName{"layout", AttributeProto::INT},
    TypedName{"linear_before_reset", AttributeProto::INT},
    TypedName{"max", AttributeProto::FLOAT},
    TypedName{"min", AttributeProto::FLOAT},
    TypedName{"mode", AttributeProto::STRING},
    TypedName{"nearest_mode", AttributeProto::STRING},
    TypedName{"noop_with_empty_axes", AttributeProto::INT},
    TypedName{"num_groups", AttributeProto::INT},
    TypedName{"num_outputs", AttributeProto::INT},
    TypedName{"output_dtype", AttributeProto::INT},
    TypedName{"output_padding", AttributeProto::INTS},
    TypedName{"output_shape", AttributeProto::INTS},
    TypedName{"p", AttributeProto::INT},
    TypedName{"pads", AttributeProto::INTS},
    TypedName{"perm", AttributeProto::INTS},
    TypedName{"reduction", AttributeProto::STRING},
    TypedName{"reverse", AttributeProto::INT},
    TypedName{"select_last_index", AttributeProto::INT},
    TypedName{"split", AttributeProto::INTS},
    TypedName{"start", AttributeProto::INT},
    TypedName{"starts", AttributeProto::INTS},
    TypedName{"strides", AttributeProto::INTS},
    TypedName{"then_branch", AttributeProto::GRAPH},
    TypedName{"to", AttributeProto::INT},
    TypedName{"transA", AttributeProto::INT},
    TypedName{"transB", AttributeProto::INT},
};

}  // namespace

DType dtype_of(std::int64_t onnx_type) {
  switch (onnx_type) {
    case TensorProto::FLOAT:
    case TensorProto::FLOAT16:
      return DType::float32;
    case TensorProto::DOUBLE:
      return DType::float64;
    case TensorProto::UINT8:
      return DType::uint8;
    case TensorProto::INT8:
      return DType::int8;
    case TensorProto::UINT16:
      return DType::uint16;
    case TensorProto::INT16:
      return DType::int16;
    case TensorProto::INT32:
      return DType::int32;
    case TensorProto::INT64:
      return DType::int64;
    case TensorProto::BOOL:
      return DType::boolean;
    default:
      return DType::none;
  }
}

int opset_of(const ::onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return static_cast<int>(import.version());
  }
  return 0;
}

Result<std::unique_ptr<::onnx::ModelProto>> read_model(std::span<const std::byte> bytes) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Status(Code::unsupported) << bytes.size()
                                     << " bytes, expected fewer than 2^31: protobuf reads no larger messages";
  }
  auto model = std::make_unique<::onnx::ModelProto>();
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetRecursionLimit(kMaxNesting);
  if (!model->ParsePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return Status(Code::invalid_data) << "not an ONNX model: the protobuf message ends early or is damaged";
  }
  if (!model->has_graph() || model->opset_import_size() == 0)
    return Status(Code::invalid_data) << "not an ONNX model: without a graph or opset";
  for (const auto& import : model->opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
    if (import.version() < kOldestOpset || import.version() > kNewestOpset) {
      return Status(Code::unsupported)
             << "opset " << import.version() << ", expected " << kOldestOpset << " to " << kNewestOpset;
    }
  }
  if (opset_of(*model) == 0)
    return Status(Code::unsupported) << "no operators of ONNX itself, expected opset " << kOldestOpset
                                     << " to " << kNewestOpset;
  if (model->functions_size() > 0)
    return Status(Code::unsupported) << "model functions (\"" << model->functions(0).name()
                                     << "\"), expected a plain graph";
  return model;
}

Result<Constant> read_tensor(const TensorProto& tensor) {
  const auto fail = [&](Code code = Code::invalid_data) {
    return Status(code) << "tensor \"" << tensor.name() << "\": ";
  };
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    std::string file;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") file = entry.value();
    }
    return fail(Code::unsupported) << "its data is in another file (\"" << file
                                   << "\"); save the model as one file";
  }
  if (tensor.has_segment()) return fail(Code::unsupported) << "stored in segments";
  Constant out;
  out.dims.assign(tensor.dims().begin(), tensor.dims().end());
  out.dtype = dtype_of(tensor.data_type());
  if (out.dtype == DType::none) return fail(Code::unsupported) << "type " << tensor.data_type() << " of ONNX";
  const auto count = checked_count(out.dims);
  if (!count.ok()) return fail() << count.status().text();
  const bool half = tensor.data_type() == TensorProto::FLOAT16;
  std::vector<std::byte> data;
  if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    data.resize(raw.size());
    if (!raw.empty()) std::memcpy(data.data(), raw.data(), raw.size());
  } else {
    read_list(tensor, half ? DType::uint16 : out.dtype, data);
  }
  const std::size_t expected = static_cast<std::size_t>(count.value()) * (half ? 2 : size_of(out.dtype));
  if (data.size() != expected)
    return fail() << data.size() << " bytes for shape " << text_of(out.dims) << " of " << name_of(out.dtype)
                  << ", expected " << expected;
  if (half) {
    out.data.resize(data.size() * 2);
    for (std::size_t i = 0; i < data.size() / 2; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, data.data() + 2 * i, 2);
      const float value = from_half(bits);
      std::memcpy(out.data.data() + 4 * i, &value, 4);
    }
  } else {
    out.data = std::move(data);
  }
  return out;
}

const AttributeProto* Node::attribute(std::string_view wanted) const {
  for (const auto& attribute : proto->attribute()) {
    if (attribute.name() == wanted) return &attribute;
  }
  return nullptr;
}
std::int64_t Node::integer(std::string_view wanted, std::int64_t otherwise) const {
  const auto* found = attribute(wanted);
  return found == nullptr ? otherwise : found->i();
}
float Node::real(std::string_view wanted, float otherwise) const {
  const auto* found = attribute(wanted);
  return found == nullptr ? otherwise : found->f();
}
std::string Node::text(std::string_view wanted, std::string_view otherwise) const {
  const auto* found = attribute(wanted);
  return found == nullptr ? std::string(otherwise) : found->s();
}
std::vector<std::int64_t> Node::integers(std::string_view wanted) const {
  const auto* found = attribute(wanted);
  if (found == nullptr) return {};
  return {found->ints().begin(), found->ints().end()};
}

Result<Node> read_node(const ::onnx::NodeProto& proto, int opset) {
  Node node;
  node.proto = &proto;
  node.op = proto.domain().empty() || proto.domain() == "ai.onnx" ? proto.op_type()
                                                                  : proto.domain() + "." + proto.op_type();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  node.name = !proto.name().empty() ? proto.name() : node.outputs.empty() ? "" : node.outputs[0];
  node.opset = opset;
  if (node.outputs.empty()) return node.fail() << "no outputs";
  for (const auto& attribute : proto.attribute()) {
    if (!attribute.ref_attr_name().empty())
      return node.fail(Code::unsupported)
             << "attribute \"" << attribute.name() << "\" refers to a function's attribute";
    for (const TypedName& known : kAttributes) {
      if (attribute.name() != known.name || attribute.type() == known.type) continue;
      return node.fail() << "attribute \"" << attribute.name() << "\" of type "
                         << static_cast<int>(attribute.type()) << ", expected "
                         << static_cast<int>(known.type);
    }
  }
  return node;
}

Result<int> axis_of(const Node& node, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) return node.fail() << "axis " << axis << " of a value of rank " << rank;
  return static_cast<int>(axis < 0 ? axis + count : axis);
}

}  // namespace runnel::compiler::onnx_source
