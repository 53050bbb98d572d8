#include "compiler/import/onnx/convert.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "base/limits.h"
#include "compiler/import/onnx/builder.h"
#include "compiler/import/onnx/fold/fold.h"
#include "compiler/import/onnx/inputs.h"
#include "compiler/import/onnx/integers/integer_form.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/streaming_metadata.h"
#include "compiler/passes/fuse.h"

namespace runnel::compiler::onnx_source {
namespace {

constexpr int kMaxBranches = limits::kBranchNesting;  // of If in If

// Computed here alone: after an operator that is missing, they are not missing themselves.
constexpr std::string_view kFoldedOnly[] = {"Constant", "ConstantOfShape", "If", "Range", "Shape", "Size",
                                            "Tile"};

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
        return node.fail() << "reads \"" << name << "\", which nothing before it defines";
      broken = broken || (value != nullptr && value->missing);
      known = known && (value == nullptr || (value->constant != nullptr && value->padding.empty()));
      constants.push_back(value != nullptr && known ? value->constant.get() : nullptr);
    }
    if (node.op == "If" && !broken) return branch(node, depth);
    if ((node.op == "Shape" || node.op == "Size") && !broken) return shape(node);
    const OperatorRow* const row = find_operator(node.op);
    if (known && !broken) {
      auto folded = fold(node, constants);
      if (!folded.ok()) return refused(node, folded.status());
      if (*folded) {
        for (std::size_t i = 0; i < (*folded)->size(); ++i)
          builder_.result(node, constant_value(std::move((**folded)[i])), i);
        return {};
      }
    }
    if (row == nullptr || broken) {
      const bool folded =
          std::find(std::begin(kFoldedOnly), std::end(kFoldedOnly), node.op) != std::end(kFoldedOnly);
      if (row == nullptr && !(broken && folded)) missing_[node.op].push_back(node.name);
      define_as_missing(node);
      return {};
    }
    const Status status = row->convert(builder_, node);
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

  // The branch that a known condition takes replaces the node.
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

// Where time is: the axis that the file leaves open, else for a single input the first axis after batch and
// channels.
int time_axis_of(const ::onnx::GraphProto& graph, const Input& input, bool single, std::string& reason) {
  if (input.open_axis >= 0) {
    reason = "the one that the file leaves open";
    return input.open_axis;
  }
  if (!single || input.dims.empty()) return -1;
  // [1, time, features, 1]: channels last after all.
  if (input.dims.size() == 4 && input.dims[3] == 1 && input.dims[1] > 1) {
    reason = "the first one before channels of 1";
    return 1;
  }
  if (input.dims.size() == 3 && features_are_last(graph, input.name)) {
    reason = "before the features that its first operator takes";
    return 1;
  }
  reason = "as PyTorch has it, after batch and channels";
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
    builder.graph.time_axes.push_back(time_axis_of(graph, input, single, builder.graph.time_axis_reason));
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
  read_streaming_metadata(out.graph, out.notes);
  return out;
}

}  // namespace runnel::compiler::onnx_source
