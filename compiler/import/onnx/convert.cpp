#include "compiler/import/onnx/convert.h"

#include <algorithm>
#include <set>

#include "compiler/import/onnx/builder.h"
#include "compiler/import/onnx/fold/fold.h"
#include "compiler/import/onnx/inputs.h"
#include "compiler/import/onnx/integers/integer_form.h"
#include "compiler/passes/fuse.h"

namespace runnel::compiler::onnx_source {
namespace {

using Conversion = Status (*)(Builder&, const Node&);
constexpr int kMaxBranches = 32;  // of If in If

const std::map<std::string, Conversion, std::less<>>& conversions() {
  static const std::map<std::string, Conversion, std::less<>> table = [] {
    std::map<std::string, Conversion, std::less<>> all = {{"Conv", convert_conv},
                                                          {"ConvTranspose", convert_transposed_conv},
                                                          {"AveragePool", convert_pool},
                                                          {"MaxPool", convert_pool},
                                                          {"GlobalAveragePool", convert_global_pool},
                                                          {"GlobalMaxPool", convert_global_pool},
                                                          {"Pad", convert_pad},
                                                          {"Gemm", convert_gemm},
                                                          {"MatMul", convert_matmul},
                                                          {"BatchNormalization", convert_batch_norm},
                                                          {"Pow", convert_power},
                                                          {"Reciprocal", convert_reciprocal},
                                                          {"Clip", convert_clip},
                                                          {"PRelu", convert_prelu},
                                                          {"Where", convert_where},
                                                          {"Cast", convert_cast},
                                                          {"Softmax", convert_softmax},
                                                          {"LogSoftmax", convert_softmax},
                                                          {"LayerNormalization", convert_layer_norm},
                                                          {"ArgMax", convert_arg_max},
                                                          {"ArgMin", convert_arg_max},
                                                          {"TopK", convert_top_k},
                                                          {"CumSum", convert_cumulative_sum},
                                                          {"InstanceNormalization", convert_group_norm},
                                                          {"GroupNormalization", convert_group_norm},
                                                          {"LpNormalization", convert_lp_norm},
                                                          {"Resize", convert_resize},
                                                          {"Upsample", convert_resize},
                                                          {"DepthToSpace", convert_blocks},
                                                          {"SpaceToDepth", convert_blocks},
                                                          {"Identity", convert_identity},
                                                          {"Dropout", convert_identity},
                                                          {"Reshape", convert_reshape},
                                                          {"Flatten", convert_reshape},
                                                          {"Squeeze", convert_reshape},
                                                          {"Unsqueeze", convert_reshape},
                                                          {"Transpose", convert_transpose},
                                                          {"Slice", convert_slice},
                                                          {"Concat", convert_concat},
                                                          {"Split", convert_split},
                                                          {"Gather", convert_gather},
                                                          {"ScatterND", convert_scatter},
                                                          {"Expand", convert_expand},
                                                          {"GRU", convert_recurrent},
                                                          {"LSTM", convert_recurrent},
                                                          {"DynamicQuantizeLinear", convert_dynamic_quantize},
                                                          {"QuantizeLinear", convert_quantize},
                                                          {"DequantizeLinear", convert_dequantize}};
    for (const char* name : {"Selu", "Celu", "Softsign", "ThresholdedRelu", "Sign", "Floor", "Ceil", "Mean"})
      all.emplace(name, convert_composed);
    for (const char* name :
         {"QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu",
          "QLinearSoftmax", "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearConcat", "QGemm",
          "ConvInteger", "MatMulInteger"}) {
      all.emplace(name, convert_integer_operator);
    }
    for (const char* name : {"Add", "Sum", "Sub", "Mul", "Div", "Max", "Min", "Mod", "Equal", "Less",
                             "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor"}) {
      all.emplace(name, convert_binary);
    }
    for (const char* name : {"Abs", "Neg", "Exp", "Log", "Sqrt", "Relu", "Sigmoid", "Tanh", "Erf", "Mish",
                             "Softplus", "HardSigmoid", "HardSwish", "Elu", "LeakyRelu", "Gelu", "Not"}) {
      all.emplace(name, convert_function);
    }
    for (const char* name : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                             "ReduceProd", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
      all.emplace(name, convert_reduce);
    }
    return all;
  }();
  return table;
}

const std::map<std::string_view, std::string_view>& remarks() {
  static const std::map<std::string_view, std::string_view> table = {
      {"Conv", "one or two axes, constant weights"},
      {"ConvTranspose", "one or two axes, constant weights, padding in numbers"},
      {"AveragePool", "one or two axes"},
      {"MaxPool", "one or two axes, no indices"},
      {"BatchNormalization", "constant parameters"},
      {"LayerNormalization", "constant parameters, no statistics as outputs"},
      {"InstanceNormalization", "constant parameters"},
      {"GroupNormalization", "constant parameters"},
      {"GRU", "all directions, initial states; own activations"},
      {"LSTM", "all directions, initial states; own activations, no peepholes"},
      {"Mod", "fmod"},
      {"Resize",
       "constant scales or sizes; nearest in every way, linear by half_pixel, asymmetric or align_corners"},
      {"Upsample", "constant scales; nearest or linear"},
      {"TopK", "constant k; of equals the first"},
      {"ArgMax", "the first of equals"},
      {"ArgMin", "the first of equals"},
      {"CumSum", "float32, up to 1024 elements"},
      {"Pad", "constant, reflect or edge; constant pads"},
      {"Slice", "constant limits"},
      {"Reshape", "a constant shape"},
      {"Expand", "a constant shape"},
      {"DynamicQuantizeLinear", "the integers stay whole numbers in float32"},
      {"QuantizeLinear", "one scale; int8, uint8 or int16"},
      {"DequantizeLinear", "one scale; weights one per channel, too"},
      {"ConvInteger", "in float32: exact up to 2^24"},
      {"MatMulInteger", "in float32: exact up to 2^24"}};
  return table;
}

void count_readers(const ::onnx::GraphProto& graph, Builder& builder) {
  for (const auto& node : graph.node()) {
    for (const auto& input : node.input()) builder.count_reader(input);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) count_readers(attribute.g(), builder);
    }
  }
  for (const auto& output : graph.output()) builder.count_reader(output.name());
}

class Walk {
 public:
  Walk(Builder& builder, int opset) : builder_(builder), opset_(opset) {}

  Status run(const ::onnx::GraphProto& graph, int depth) {
    if (depth > kMaxBranches)
      return Status(Code::unsupported) << "branches of If in more than " << kMaxBranches << " layers";
    if (graph.sparse_initializer_size() > 0)
      return Status(Code::unsupported) << "sparse initializers, expected dense ones";
    for (const auto& tensor : graph.initializer()) {
      RUNNEL_ASSIGN(Constant value, read_tensor(tensor));
      builder_.define(tensor.name(), constant_value(std::move(value)));
    }
    for (const auto& proto : graph.node()) {
      RUNNEL_ASSIGN(const Node node, read_node(proto, opset_));
      RUNNEL_TRY(step(node, depth));
    }
    return {};
  }

  // All that is missing, at once: operators by kind and then by node, and what is asked of others in vain.
  [[nodiscard]] Status missing() const {
    if (missing_.empty() && refused_.empty()) return {};
    Status status(Code::unsupported);
    status << "opset " << opset_ << ": ";
    if (!missing_.empty()) status << "operators that are not supported: ";
    bool first = true;
    for (const auto& [op, nodes] : missing_) {
      status << (first ? "" : ", ") << op << " (" << nodes.size() << ')';
      first = false;
    }
    first = true;
    for (const auto& [op, nodes] : missing_) {
      for (const std::string& name : nodes) {
        status << (first ? ": nodes " : ", ") << '"' << name << '"';
        first = false;
      }
    }
    first = missing_.empty();
    for (const std::string& refusal : refused_) {
      status << (first ? "" : "; ") << refusal;
      first = false;
    }
    return status;
  }

 private:
  Status step(const Node& node, int depth) {
    bool broken = false, known = true;
    std::vector<const Constant*> constants;
    for (const std::string& name : node.inputs) {
      const Value* value = name.empty() ? nullptr : builder_.find(name);
      if (!name.empty() && value == nullptr)
        return node.fail() << "reads \"" << name << "\", which nothing in front of it defines";
      broken = broken || (value != nullptr && value->missing);
      known = known && (value == nullptr || (value->constant != nullptr && value->padding.empty()));
      constants.push_back(value != nullptr && known ? value->constant.get() : nullptr);
    }
    if (node.op == "If" && !broken) return branch(node, depth);
    if ((node.op == "Shape" || node.op == "Size") && !broken) return shape(node);
    const auto conversion = conversions().find(node.op);
    if (known && !broken) {
      auto folded = fold(node, constants);
      if (!folded.ok()) return refused(node, folded.status());
      if (*folded) {
        for (std::size_t i = 0; i < (*folded)->size(); ++i)
          builder_.result(node, constant_value(std::move((**folded)[i])), i);
        return {};
      }
    }
    if (conversion == conversions().end() || broken) {
      if (conversion == conversions().end()) missing_[node.op].push_back(node.name);
      define_as_missing(node);
      return {};
    }
    const Status status = conversion->second(builder_, node);
    return status.ok() ? status : refused(node, status);
  }

  // What cannot be done is remembered, so that the rest is looked at too; what is wrong ends it.
  Status refused(const Node& node, const Status& status) {
    if (status.code() != Code::unsupported) return status;
    refused_.emplace_back(status.text());
    define_as_missing(node);
    return {};
  }

  void define_as_missing(const Node& node) {
    Value none;
    none.missing = true;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) builder_.result(node, none, i);
  }

  Status shape(const Node& node) {
    if (node.inputs.size() != 1) return node.fail() << node.inputs.size() << " inputs, expected 1";
    RUNNEL_ASSIGN(const Value x, builder_.padded_value(node, 0));
    Dims dims = x.dims;
    for (std::size_t i = 0; i < dims.size() && !x.padding.empty(); ++i)
      dims[i] += x.padding[0].before[i] + x.padding[0].after[i];
    if (node.op == "Size") {
      RUNNEL_ASSIGN(const std::int64_t count, checked_count(dims));
      builder_.result(node,
                      constant_value(make_integers(DType::int64, {}, std::vector<std::int64_t>{count})));
      return {};
    }
    const auto rank = static_cast<std::int64_t>(dims.size());
    const auto inside = [rank](std::int64_t axis) {
      return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
    };
    const std::int64_t first = inside(node.integer("start", 0)),
                       last = std::max(first, inside(node.integer("end", rank)));
    const Dims part(dims.begin() + first, dims.begin() + last);
    builder_.result(node, constant_value(make_integers(DType::int64, {last - first}, part)));
    return {};
  }

  // The branch that a known condition takes stands in the place of the node.
  Status branch(const Node& node, int depth) {
    RUNNEL_ASSIGN(const Value condition, builder_.padded_value(node, 0));
    if (condition.constant == nullptr || condition.constant->count() != 1) {
      return node.fail(Code::unsupported)
             << "its condition is computed at run time, expected one that is known while importing; an input "
                "of integers that it depends on can "
                "be fixed with a value";
    }
    const auto* taken =
        node.attribute(integers_of(*condition.constant)[0] != 0 ? "then_branch" : "else_branch");
    if (taken == nullptr || !taken->has_g() ||
        taken->g().output_size() != static_cast<int>(node.outputs.size()))
      return node.fail() << "a branch without graph, or with other outputs";
    builder_.enter();
    Status status = run(taken->g(), depth + 1);
    std::vector<Value> values;
    for (const auto& output : taken->g().output()) {
      const Value* value = builder_.find(output.name());
      if (status.ok() && value == nullptr)
        status = node.fail() << "nothing defines the output \"" << output.name() << "\" of its branch";
      values.push_back(value == nullptr ? Value() : *value);
    }
    builder_.leave();
    RUNNEL_TRY(status);
    for (std::size_t i = 0; i < values.size(); ++i) builder_.result(node, std::move(values[i]), i);
    return {};
  }

  Builder& builder_;
  int opset_;
  std::map<std::string, std::vector<std::string>> missing_;  // names of nodes by kind
  std::vector<std::string> refused_;
};

// Whether what reads an input [1, A, B] takes A for time: it turns it to [1, B, A], as networks do before a
// convolution, or to [A, 1, B], as before a recurrent layer, or multiplies it with a matrix. A convolution of
// the input itself takes B for time; other operators say nothing.
bool features_are_last(const ::onnx::GraphProto& graph, const std::string& name) {
  bool said = false;
  for (const auto& node : graph.node()) {
    if (node.input_size() == 0 || node.input(0) != name) continue;
    if (node.op_type() == "Conv" || node.op_type() == "ConvTranspose") return false;
    if (node.op_type() == "MatMul") said = true;
    if (node.op_type() != "Transpose" || node.attribute_size() != 1 || node.attribute(0).ints_size() != 3)
      continue;
    const auto& perm = node.attribute(0).ints();
    said = said || (perm[0] == 0 && perm[1] == 2) || (perm[0] == 1 && perm[1] == 0);
  }
  return said;
}

// Where time is: the axis that the file leaves open, else for a single input the first axis behind batch and
// channels.
int time_axis_of(const ::onnx::GraphProto& graph, const Input& input, bool single) {
  if (input.open_axis >= 0) return input.open_axis;
  if (!single || input.dims.empty()) return -1;
  // [1, time, features, 1]: channels last after all.
  if (input.dims.size() == 4 && input.dims[3] == 1 && input.dims[1] > 1) return 1;
  if (input.dims.size() == 3 && features_are_last(graph, input.name)) return 1;
  return std::min<int>(2, static_cast<int>(input.dims.size()) - 1);
}

Status add_inputs(const ::onnx::GraphProto& graph, const std::vector<Input>& inputs, Builder& builder) {
  const auto single =
      std::count_if(inputs.begin(), inputs.end(), [](const Input& input) { return !input.fixed; }) == 1;
  Node node;
  for (const Input& input : inputs) {
    if (input.fixed) {
      builder.define(input.name, constant_value(make_integers(input.dtype, input.dims, input.values)));
      continue;
    }
    node.name = input.name;
    node.op = "input";
    Tensor tensor;
    tensor.name = input.name;
    tensor.dtype = input.dtype;
    RUNNEL_ASSIGN(tensor.shape, shape_of(node, input.dims, identity_perm(input.dims.size())));
    const TensorId id = builder.add(std::move(tensor));
    builder.graph.inputs.push_back(id);
    builder.graph.time_axes.push_back(time_axis_of(graph, input, single));
    builder.define(input.name, builder.computed(id, identity_perm(input.dims.size())));
  }
  return {};
}

// Outputs in the layout of the file, each a tensor of its own that something computes.
Status add_outputs(const ::onnx::GraphProto& graph, Builder& builder) {
  std::set<TensorId> taken(builder.graph.inputs.begin(), builder.graph.inputs.end());
  for (const auto& output : graph.output()) {
    Node node;
    node.name = output.name();
    node.op = "output";
    node.inputs = node.outputs = {output.name()};
    RUNNEL_ASSIGN(const Value value, builder.value(node, 0));
    RUNNEL_ASSIGN(TensorId id, builder.plain(node, value));
    if (taken.contains(id) || builder.at(id).data) {
      RUNNEL_ASSIGN(id, builder.emit(node, OpCode::reshape, {id}, {}, builder.at(id).shape));
    }
    taken.insert(id);
    builder.at(id).name = output.name();
    builder.graph.outputs.push_back(id);
  }
  // A value that was also used in another order has the name twice.
  for (std::size_t i = 0; i < builder.graph.tensors.size(); ++i) {
    Tensor& tensor = builder.graph.tensors[i];
    if (taken.contains(static_cast<TensorId>(i))) continue;
    const bool clash = std::any_of(taken.begin(), taken.end(),
                                   [&](TensorId id) { return builder.at(id).name == tensor.name; });
    if (clash) tensor.name += ".stored";
  }
  return {};
}

}  // namespace

Result<Converted> convert(const ::onnx::ModelProto& model, const OnnxOptions& options,
                          std::int64_t otherwise) {
  const ::onnx::GraphProto& graph = model.graph();
  if (graph.output_size() == 0) return Status(Code::invalid_data) << "a graph without outputs";
  Converted out;
  RUNNEL_ASSIGN(const std::vector<Input> inputs, read_inputs(graph, options, otherwise, out.notes));
  Builder builder;
  count_readers(graph, builder);
  RUNNEL_TRY(add_inputs(graph, inputs, builder));
  Walk walk(builder, opset_of(model));
  RUNNEL_TRY(walk.run(graph, 0));
  RUNNEL_TRY(walk.missing());
  RUNNEL_TRY(add_outputs(graph, builder));
  fuse(builder.graph);
  RUNNEL_TRY(to_integers(builder.graph, builder.grids));
  out.graph = std::move(builder.graph);
  out.graph.name = graph.name();
  out.graph.metadata.emplace_back("source.format", "onnx");
  for (const Input& input : inputs) {
    std::string values;
    for (const std::int64_t value : input.values)
      values += (values.empty() ? "" : ",") + std::to_string(value);
    if (input.fixed) out.graph.metadata.emplace_back("onnx.fixed." + input.name, values);
  }
  if (!model.producer_name().empty())
    out.graph.metadata.emplace_back("onnx.producer", model.producer_name() + " " + model.producer_version());
  for (const auto& entry : model.metadata_props())
    out.graph.metadata.emplace_back(entry.key(), entry.value());
  return out;
}

}  // namespace runnel::compiler::onnx_source

namespace runnel::compiler {

std::vector<ListedOperator> onnx_operators() {
  std::vector<ListedOperator> all;
  for (const auto& [name, conversion] : onnx_source::conversions()) {
    const auto found = onnx_source::remarks().find(name);
    all.push_back({name, found == onnx_source::remarks().end() ? std::string_view() : found->second});
  }
  return all;
}

}  // namespace runnel::compiler
