#include "compiler/import/tflite/importer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "base/host/out_of_memory.h"
#include "compiler/import/obstacles.h"
#include "compiler/import/tflite/builder.h"
#include "compiler/import/tflite/open_shapes.h"
#include "compiler/import/tflite/source.h"
#include "compiler/write/writer.h"

namespace runnel::compiler {
namespace tflite_source {
namespace {

struct Conversion {
  Builtin code;
  std::string_view name;
  Status (*convert)(Builder& builder, const Operator& op);
  std::string_view types;
};
constexpr std::string_view kFloat = "f32", kByte = "f32 i8 u8", kAll = "f32 i8 u8 i16", kAny = "any",
                           kState = "i8 i16 f32: frames that a stream keeps";
constexpr std::string_view kLayer = "f32 i8 u8 i16, i8 weights beside f32",
                           kChoice = "f32; i8 u8 i16 of one scale";

// Without a function: part of what surrounds it (variables.h).
constexpr std::array kConversions = {
    Conversion{Builtin::CONV_2D, "CONV_2D", convert_conv, kLayer},
    Conversion{Builtin::DEPTHWISE_CONV_2D, "DEPTHWISE_CONV_2D", convert_depthwise, kLayer},
    Conversion{Builtin::FULLY_CONNECTED, "FULLY_CONNECTED", convert_fully_connected, kLayer},
    Conversion{Builtin::BATCH_MATMUL, "BATCH_MATMUL", convert_batch_matmul, kByte},
    Conversion{Builtin::AVERAGE_POOL_2D, "AVERAGE_POOL_2D", convert_pool, kAll},
    Conversion{Builtin::MAX_POOL_2D, "MAX_POOL_2D", convert_pool, kAll},
    Conversion{Builtin::ADD, "ADD", convert_binary, kAll},
    Conversion{Builtin::SUB, "SUB", convert_binary, kAll},
    Conversion{Builtin::MUL, "MUL", convert_binary, kAll},
    Conversion{Builtin::DIV, "DIV", convert_binary, kFloat},
    Conversion{Builtin::MAXIMUM, "MAXIMUM", convert_binary, kChoice},
    Conversion{Builtin::MINIMUM, "MINIMUM", convert_binary, kChoice},
    Conversion{Builtin::SQUARED_DIFFERENCE, "SQUARED_DIFFERENCE", convert_squared_difference, kAll},
    Conversion{Builtin::LOGISTIC, "LOGISTIC", convert_function, kAll},
    Conversion{Builtin::TANH, "TANH", convert_function, kAll},
    Conversion{Builtin::HARD_SWISH, "HARD_SWISH", convert_function, kByte},
    Conversion{Builtin::LEAKY_RELU, "LEAKY_RELU", convert_function, kAll},
    Conversion{Builtin::EXP, "EXP", convert_function, kByte},
    Conversion{Builtin::LOG, "LOG", convert_function, kByte},
    Conversion{Builtin::SQRT, "SQRT", convert_function, kByte},
    Conversion{Builtin::ABS, "ABS", convert_function, kByte},
    Conversion{Builtin::NEG, "NEG", convert_function, kByte},
    Conversion{Builtin::RSQRT, "RSQRT", convert_rsqrt, kByte},
    Conversion{Builtin::RELU, "RELU", convert_relu, kAll},
    Conversion{Builtin::RELU6, "RELU6", convert_relu, kAll},
    Conversion{Builtin::RELU_N1_TO_1, "RELU_N1_TO_1", convert_relu, kAll},
    Conversion{Builtin::SOFTMAX, "SOFTMAX", convert_softmax, kAll},
    Conversion{Builtin::MEAN, "MEAN", convert_reduce, kAll},
    Conversion{Builtin::SUM, "SUM", convert_reduce, kAll},
    Conversion{Builtin::REDUCE_MAX, "REDUCE_MAX", convert_reduce, kChoice},
    Conversion{Builtin::REDUCE_MIN, "REDUCE_MIN", convert_reduce, kChoice},
    Conversion{Builtin::QUANTIZE, "QUANTIZE", convert_quantize, "f32 i8 u8 i16 i32"},
    Conversion{Builtin::DEQUANTIZE, "DEQUANTIZE", convert_quantize, "i8 u8 i16 i32 to f32"},
    Conversion{Builtin::RESHAPE, "RESHAPE", convert_reshape, kAny},
    Conversion{Builtin::SQUEEZE, "SQUEEZE", convert_squeeze, kAny},
    Conversion{Builtin::EXPAND_DIMS, "EXPAND_DIMS", convert_expand_dims, kAny},
    Conversion{Builtin::TRANSPOSE, "TRANSPOSE", convert_transpose, kAny},
    Conversion{Builtin::PAD, "PAD", convert_pad, kAny},
    Conversion{Builtin::STRIDED_SLICE, "STRIDED_SLICE", convert_strided_slice, kAny},
    Conversion{Builtin::CONCATENATION, "CONCATENATION", convert_concatenation, kAll},
    Conversion{Builtin::SPLIT, "SPLIT", convert_split, kAny},
    Conversion{Builtin::SPLIT_V, "SPLIT_V", convert_split, kAny},
    Conversion{Builtin::PACK, "PACK", convert_pack, kAny},
    Conversion{Builtin::UNPACK, "UNPACK", convert_unpack, kAny},
    Conversion{Builtin::SVDF, "SVDF", convert_svdf, "f32 i8"},
    Conversion{Builtin::UNIDIRECTIONAL_SEQUENCE_LSTM, "UNIDIRECTIONAL_SEQUENCE_LSTM", convert_lstm, "f32 i8"},
    Conversion{Builtin::CALL_ONCE, "CALL_ONCE", nullptr, kState},
    Conversion{Builtin::VAR_HANDLE, "VAR_HANDLE", nullptr, kState},
    Conversion{Builtin::READ_VARIABLE, "READ_VARIABLE", nullptr, kState},
    Conversion{Builtin::ASSIGN_VARIABLE, "ASSIGN_VARIABLE", nullptr, kState},
};

const Conversion* find_conversion(Builtin code) {
  const auto* const found = std::ranges::find(kConversions, code, &Conversion::code);
  return found == kConversions.end() ? nullptr : found;
}

// Operators of other makers, by name.
const Conversion* find_conversion(const Operator& op) {
  static constexpr Conversion kEthosU{Builtin::CUSTOM, "ethos-u", convert_ethos_u, kAny};
  if (op.code != Builtin::CUSTOM) return find_conversion(op.code);
  return op.custom == kEthosU.name ? &kEthosU : nullptr;
}

Status check_operators(const Subgraph& graph) {
  std::map<std::string, int> obstacles;
  for (const Operator& op : graph.operators) {
    if (find_conversion(op) != nullptr) continue;
    ++obstacles[op.code == Builtin::CUSTOM ? "custom operator \"" + op.custom + "\"" : name_of(op.code)];
  }
  return obstacle_status(obstacles, "operators", "times");
}

// An output that is an input or stands twice gets a copy, so that every output is computed. One of uint8
// becomes that again.
Result<TensorId> output_of(Builder& builder, std::int32_t tensor) {
  TensorId id = builder.find(tensor);
  const std::string& name = builder.source().tensors[static_cast<std::size_t>(tensor)].name;
  if (id != kAbsent && is_shifted(builder.source().tensors[static_cast<std::size_t>(tensor)])) {
    RUNNEL_ASSIGN(id, builder.emit_uint8(tensor));
  }
  if (id == kAbsent)
    return Status(Code::invalid_data) << "output \"" << name << "\" is not computed by any operator";
  const bool taken = std::ranges::find(builder.graph.inputs, id) != builder.graph.inputs.end() ||
                     builder.at(id).data ||
                     std::ranges::find(builder.graph.outputs, id) != builder.graph.outputs.end();
  if (!taken) return id;
  Operator pass;
  pass.code = Builtin::RESHAPE;
  pass.name = name;
  const TensorId own = builder.intermediate(id, pass);
  builder.at(own).name = name;
  RUNNEL_TRY(builder.emit_reshape(pass, id, own, builder.at(id).shape));
  return own;
}

Result<Graph> build(const Model& model, const Windows& windows, OperatorTable operators) {
  const Subgraph& source = model.subgraphs[0];
  Builder builder(source, windows);
  for (const std::int32_t tensor : source.inputs) RUNNEL_TRY(builder.add_input(tensor));
  for (std::size_t i = 0; i < source.operators.size(); ++i) {
    const Operator& op = source.operators[i];
    if (!windows.absorbed.contains(i)) RUNNEL_TRY(find_conversion(op)->convert(builder, op));
  }
  for (const std::int32_t tensor : source.outputs) {
    RUNNEL_ASSIGN(const TensorId id, output_of(builder, tensor));
    builder.graph.outputs.push_back(id);
  }
  Graph graph = std::move(builder.graph);
  graph.metadata.emplace_back("source.format", "tflite");
  if (!model.description.empty()) graph.metadata.emplace_back("tflite.description", model.description);
  graph.pipeline.usage = builder.stateful               ? UsageKind::step
                         : can_stream(graph, operators) ? UsageKind::stream
                                                        : UsageKind::whole;
  return graph;
}

Result<Graph> import(std::span<const std::byte> bytes, OperatorTable operators, const InputShapes& shapes,
                     std::vector<std::string>& notes) {
  // Aligned, wherever the caller's bytes lie.
  const std::vector<std::byte> file(bytes.begin(), bytes.end());
  RUNNEL_ASSIGN(Model model, read_model(file));
  RUNNEL_TRY(check_operators(model.subgraphs[0]));
  RUNNEL_ASSIGN(const Windows windows, find_windows(model));
  // Open axes: the first length that fits; in the end 1, as the file says.
  const std::vector<Tensor> tensors = model.subgraphs[0].tensors;
  std::vector<std::int64_t> lengths(std::begin(kOpenLengths), std::end(kOpenLengths));
  lengths.push_back(1);
  Status first;
  for (const std::int64_t length : lengths) {
    model.subgraphs[0].tensors = tensors;
    std::vector<std::string> said;
    RUNNEL_ASSIGN(const bool chosen, settle_shapes(model.subgraphs[0], shapes, length, said));
    auto graph = build(model, windows, operators);
    if (graph.ok()) notes.insert(notes.end(), said.begin(), said.end());
    if (graph.ok() || !chosen) return graph;
    if (first.ok()) first = graph.status();
  }
  return first;
}

}  // namespace

std::string name_of(Builtin code) {
  if (code == Builtin::CUSTOM) return "CUSTOM";
  const Conversion* const known = find_conversion(code);
  return known != nullptr ? std::string(known->name)
                          : "operator code " + std::to_string(static_cast<int>(code));
}

}  // namespace tflite_source

bool is_tflite(std::span<const std::byte> bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0;
}

std::vector<std::pair<std::string_view, std::string_view>> tflite_operators() {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const auto& entry : tflite_source::kConversions) all.emplace_back(entry.name, entry.types);
  std::ranges::sort(all);
  return all;
}

Result<Graph> import_tflite(std::span<const std::byte> bytes, OperatorTable operators,
                            const InputShapes& shapes, std::vector<std::string>* notes) {
  return catching_bad_alloc("importing the model", [&] {
    std::vector<std::string> said;
    return tflite_source::import(bytes, operators, shapes, notes != nullptr ? *notes : said);
  });
}

}  // namespace runnel::compiler
