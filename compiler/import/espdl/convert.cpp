#include "compiler/import/espdl/convert.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "compiler/espdl/tables.h"
#include "compiler/espdl/test_values.h"
#include "compiler/import/espdl/builder.h"
#include "compiler/import/espdl/warm_up_crop.h"
#include "compiler/import/obstacles.h"
#include "compiler/passes/transposed.h"
#include "compiler/write/writer.h"

namespace runnel::compiler::espdl_source {

// The conversions, by kind: convert/*.cpp.
Status convert_conv(Builder& builder, const Node& node);
Status convert_pool(Builder& builder, const Node& node);
Status convert_cache(Builder& builder, const Node& node);
Status convert_gemm(Builder& builder, const Node& node);
Status convert_matmul(Builder& builder, const Node& node);
Status convert_binary(Builder& builder, const Node& node);
Status convert_function(Builder& builder, const Node& node);
Status convert_relu(Builder& builder, const Node& node);
Status convert_clip(Builder& builder, const Node& node);
Status convert_prelu(Builder& builder, const Node& node);
Status convert_softmax(Builder& builder, const Node& node);
Status convert_reduce(Builder& builder, const Node& node);
Status convert_mod(Builder& builder, const Node& node);
Status convert_comparison(Builder& builder, const Node& node);
Status convert_where(Builder& builder, const Node& node);
Status convert_cast(Builder& builder, const Node& node);
Status convert_not(Builder& builder, const Node& node);
Status convert_arg_max(Builder& builder, const Node& node);
Status convert_top_k(Builder& builder, const Node& node);
Status convert_reshape(Builder& builder, const Node& node);
Status convert_transpose(Builder& builder, const Node& node);
Status convert_slice(Builder& builder, const Node& node);
Status convert_concat(Builder& builder, const Node& node);
Status convert_split(Builder& builder, const Node& node);
Status convert_pad(Builder& builder, const Node& node);
Status convert_depth_to_space(Builder& builder, const Node& node);
Status convert_space_to_depth(Builder& builder, const Node& node);
Status convert_insert_zeros(Builder& builder, const Node& node);
Status convert_resize(Builder& builder, const Node& node);
Status convert_recurrent(Builder& builder, const Node& node);
Status convert_norm(Builder& builder, const Node& node);
Status convert_gather(Builder& builder, const Node& node);
Status convert_scatter(Builder& builder, const Node& node);
Status convert_reverse(Builder& builder, const Node& node);
Status convert_expand(Builder& builder, const Node& node);
namespace {

struct Conversion {
  std::string_view op;
  Status (*convert)(Builder& builder, const Node& node);
};

constexpr std::array kConversions = {
    Conversion{"Conv", convert_conv},
    Conversion{"AveragePool", convert_pool},
    Conversion{"GlobalAveragePool", convert_pool},
    Conversion{"MaxPool", convert_pool},
    Conversion{"StreamingCache", convert_cache},
    Conversion{"Gemm", convert_gemm},
    Conversion{"MatMul", convert_matmul},
    Conversion{"Add", convert_binary},
    Conversion{"Sub", convert_binary},
    Conversion{"Mul", convert_binary},
    Conversion{"Div", convert_binary},
    Conversion{"Max", convert_binary},
    Conversion{"Min", convert_binary},
    Conversion{"LUT", convert_function},
    Conversion{"Relu", convert_relu},
    Conversion{"Clip", convert_clip},
    Conversion{"PRelu", convert_prelu},
    Conversion{"QuantizeLinear", convert_quantize},
    Conversion{"DequantizeLinear", convert_quantize},
    Conversion{"RequantizeLinear", convert_quantize},
    Conversion{"Softmax", convert_softmax},
    Conversion{"LogSoftmax", convert_softmax},
    Conversion{"ReduceMean", convert_reduce},
    Conversion{"ReduceSum", convert_reduce},
    Conversion{"ReduceMax", convert_reduce},
    Conversion{"ReduceMin", convert_reduce},
    Conversion{"ReduceL1", convert_reduce},
    Conversion{"ReduceL2", convert_reduce},
    Conversion{"ReduceProd", convert_reduce},
    Conversion{"ReduceLogSum", convert_reduce},
    Conversion{"ReduceLogSumExp", convert_reduce},
    Conversion{"ReduceSumSquare", convert_reduce},
    Conversion{"Pow", convert_binary},
    Conversion{"Mod", convert_mod},
    Conversion{"Equal", convert_comparison},
    Conversion{"Greater", convert_comparison},
    Conversion{"GreaterOrEqual", convert_comparison},
    Conversion{"Less", convert_comparison},
    Conversion{"LessOrEqual", convert_comparison},
    Conversion{"And", convert_comparison},
    Conversion{"Or", convert_comparison},
    Conversion{"Xor", convert_comparison},
    Conversion{"Not", convert_not},
    Conversion{"Where", convert_where},
    Conversion{"Cast", convert_cast},
    Conversion{"ArgMax", convert_arg_max},
    Conversion{"TopK", convert_top_k},
    Conversion{"HardTanh", convert_clip},
    Conversion{"Reshape", convert_reshape},
    Conversion{"Flatten", convert_reshape},
    Conversion{"Squeeze", convert_reshape},
    Conversion{"Unsqueeze", convert_reshape},
    Conversion{"Identity", convert_reshape},
    Conversion{"Transpose", convert_transpose},
    Conversion{"Slice", convert_slice},
    Conversion{"Concat", convert_concat},
    Conversion{"Split", convert_split},
    Conversion{"Pad", convert_pad},
    Conversion{"DepthToSpace", convert_depth_to_space},
    Conversion{"SpaceToDepth", convert_space_to_depth},
    Conversion{"InsertZeros", convert_insert_zeros},
    Conversion{"Resize", convert_resize},
    Conversion{"GRU", convert_recurrent},
    Conversion{"LSTM", convert_recurrent},
    Conversion{"LayerNormalization", convert_norm},
    Conversion{"RMSNormalization", convert_norm},
    Conversion{"LpNormalization", convert_norm},
    Conversion{"Gather", convert_gather},
    Conversion{"ScatterND", convert_scatter},
    Conversion{"ReverseSequence", convert_reverse},
    Conversion{"Expand", convert_expand},
};

const Conversion* find_conversion(const std::string& op) {
  const auto* found = std::find_if(kConversions.begin(), kConversions.end(),
                                   [&](const Conversion& entry) { return entry.op == op; });
  if (found != kConversions.end()) return found;
  static constexpr Conversion kFunction{"", convert_function};
  return is_function(op) ? &kFunction : nullptr;
}

const CustomOperator* find_custom(std::span<const CustomOperator> custom, const Node& node) {
  const auto found = std::find_if(custom.begin(), custom.end(),
                                  [&](const CustomOperator& entry) { return entry.op_type == node.op; });
  return found == custom.end() ? nullptr : &*found;
}

// Recorded float64 values of a float32 tensor, rounded: the quantizer records some outputs before it rounds
// them.
std::vector<std::byte> rounded_to_float32(const std::vector<std::byte>& data) {
  std::vector<std::byte> out(data.size() / 2);
  for (std::size_t i = 0; i < data.size() / sizeof(double); ++i) {
    double value = 0;
    std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
    const auto rounded = static_cast<float>(value);
    std::memcpy(out.data() + i * sizeof rounded, &rounded, sizeof rounded);
  }
  return out;
}

// Both directions of a GRU, [T, 2, 1, H], are also recorded as [T, 1, 1, 2H], which is the same bytes.
bool same_shape(const std::vector<std::int32_t>& shape, const std::vector<std::int64_t>& dims) {
  if (std::equal(shape.begin(), shape.end(), dims.begin(), dims.end())) return true;
  return shape.size() == 4 && dims.size() == 4 && dims[0] == shape[0] && shape[1] == 2 && dims[1] == 1 &&
         shape[2] == 1 && dims[2] == 1 && dims[3] == 2 * std::int64_t{shape[3]};
}

// One vector case from the recorded values, when every value fits its tensor and every input has one. Where
// the caches became padding, consecutive calls are joined to one recording; a model that runs call by call
// gets the first call only.
void add_vectors(Builder& builder, const Model& model) {
  const bool stepped = builder.cache_form() == CacheForm::explicit_operators;
  VectorCase recorded;
  const auto add = [&](const std::vector<Constant>& given, std::vector<VectorTensor>& to) {
    const auto values = stepped ? first_calls(given) : joined_calls(given);
    if (!values) return false;
    for (const Constant& value : *values) {
      const TensorId id = builder.find(value.name);
      if (id == kAbsent) return false;
      const Tensor& tensor = builder.at(id);
      const bool wide = tensor.dtype == DType::float32 && value.dtype == DType::float64;
      // A recording of several calls is longer than one.
      const bool joined =
          values->size() != given.size() && !stepped && value.dims.size() == tensor.shape.size();
      if ((tensor.dtype != value.dtype && !wide) || (!joined && !same_shape(tensor.shape, value.dims)))
        return false;
      std::vector<std::int32_t> shape = tensor.shape;
      if (joined) shape.assign(value.dims.begin(), value.dims.end());
      to.push_back({id, std::move(shape), wide ? rounded_to_float32(value.data) : value.data});
    }
    return !values->empty();
  };
  if (!add(model.test_inputs, recorded.inputs) || !add(model.test_outputs, recorded.outputs)) return;
  for (const TensorId input : builder.graph.inputs) {
    if (std::none_of(recorded.inputs.begin(), recorded.inputs.end(),
                     [&](const VectorTensor& value) { return value.tensor == input; }))
      return;
  }
  builder.graph.vectors.push_back(std::move(recorded));
}

}  // namespace

Status check_operators(const Model& model, std::span<const CustomOperator> custom) {
  for (const CustomOperator& mine : custom) {
    if (find_conversion(mine.op_type) != nullptr) {
      return Status(Code::invalid_argument)
             << "custom operator \"" << mine.op_type
             << "\": runnel imports this type itself, expected one that it does not know";
    }
    if (mine.version < 1 || mine.version > 255) {
      return Status(Code::invalid_argument) << "custom operator \"" << mine.op_type << "\": version "
                                            << mine.version << ", expected 1 to 255";
    }
  }
  std::map<std::string, int> obstacles;  // unknown types, with the number of their nodes
  for (const Node& node : model.nodes) {
    if (find_conversion(node.op) == nullptr && find_custom(custom, node) == nullptr) ++obstacles[node.op];
  }
  return obstacle_status(obstacles, "operators", "nodes");
}

namespace {

Result<Graph> convert_with(const Model& model, EspdlTarget target, CacheForm caches,
                           std::span<const CustomOperator> custom) {
  Builder builder(model, target, caches);
  builder.graph.name = model.name;
  for (const std::string& input : model.inputs) RUNNEL_TRY(builder.add_input(input));
  const std::set<std::string> crops =
      caches == CacheForm::absorbed ? warm_up_crops(model) : std::set<std::string>{};
  for (const Node& node : model.nodes) {
    if (node.op == "Slice" && crops.contains(node.outputs[0])) {
      RUNNEL_ASSIGN(const TensorId input, builder.operand(node, 0));
      builder.rename(node.outputs[0], input);
    } else {
      const Conversion* const known = find_conversion(node.op);
      RUNNEL_TRY(known != nullptr ? known->convert(builder, node)
                                  : convert_custom(builder, node, *find_custom(custom, node)));
    }
  }
  for (const std::string& name : model.outputs) {
    TensorId id = builder.find(name);
    if (id == kAbsent) {
      return Status(Code::unsupported)
             << "output \"" << name
             << "\" of the graph is a StreamingCache, expected a value that is computed";
    }
    const bool copy = std::find(builder.graph.inputs.begin(), builder.graph.inputs.end(), id) !=
                          builder.graph.inputs.end() ||
                      builder.at(id).data;
    if (copy) {
      // Passed through: an output of its own, so that every output is computed.
      const TensorId own = builder.intermediate(id, name, builder.at(id).shape);
      builder.at(own).name = name;
      Node pass;
      pass.name = name;
      pass.op = "Identity";
      RUNNEL_TRY(builder.emit(pass, OpCode::reshape, {id}, {own}));
      id = own;
    }
    builder.graph.outputs.push_back(id);
  }
  add_vectors(builder, model);
  fold_inserted_zeros(builder.graph);
  return std::move(builder.graph);
}

// Left padding is what a cache does only where the graph is streamed.
bool streams(const Graph& graph, OperatorTable operators) {
  WriteOptions options;
  options.operators = operators;
  options.blocks.clear();
  const auto written = write_model(graph, options);
  return written.ok() && written->refusals.empty();
}

}  // namespace

Result<Graph> convert(const Model& model, EspdlTarget target, const EspdlOptions& options) {
  RUNNEL_TRY(check_operators(model, options.custom_operators));
  auto graph = convert_with(model, target, CacheForm::absorbed, options.custom_operators);
  const bool cached = std::any_of(model.nodes.begin(), model.nodes.end(),
                                  [](const Node& node) { return node.op == "StreamingCache"; });
  if (!cached || (!graph.ok() && graph.status().code() != Code::unsupported)) return graph;
  // Padding replaces a cache in a stream only. Where something reads a cache other than as the left context
  // of a window, or makes one result of each call, the model runs call by call, as the file says.
  if (graph.ok() && streams(*graph, options.operators)) return graph;
  auto stepped = convert_with(model, target, CacheForm::explicit_operators, options.custom_operators);
  if (!stepped.ok()) return stepped;
  stepped->pipeline.usage = UsageKind::step;
  return stepped;
}

}  // namespace runnel::compiler::espdl_source
