// What the conversions of single operators share: the graph that grows, and where its tensors come from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/status.h"
#include "compiler/espdl/source.h"
#include "compiler/import/espdl/importer.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::espdl_source {

inline constexpr std::int64_t kMaxValues = limits::kComputedElements;  // of one computed tensor

// A StreamingCache before a value: reading the cache's output is reading `source` with `frames` zero
// frames before it.
struct Cache {
  std::string node, source;
  std::int64_t frames = 0;
  int axis = 1;
};

// What becomes of StreamingCache nodes. `absorbed`: the left padding of whatever reads them, so that the
// graph can be streamed. `explicit_operators`: operators with frames of their own, for graphs that do
// something else with their calls.
enum class CacheForm : std::uint8_t { absorbed, explicit_operators };

class Builder {
 public:
  Builder(const Model& model, EspdlTarget target, CacheForm caches = CacheForm::absorbed);

  [[nodiscard]] const Model& source() const { return model_; }
  [[nodiscard]] EspdlTarget target() const { return target_; }
  [[nodiscard]] kernels::Rounding rounding() const { return rounding_; }
  [[nodiscard]] CacheForm cache_form() const { return cache_form_; }
  Graph graph;

  // ---- errors that name the node
  static Status fail(const Node& node, Code code = Code::invalid_data);

  // ---- operands
  // Input `position` of the node, a constant or a computed value. Errors: invalid_data when it is absent,
  // unsupported when it comes out of a StreamingCache (only windows can read those).
  Result<TensorId> operand(const Node& node, std::size_t position);
  // The constant after input `position`, or null; errors only when `required` and it is not there.
  Result<const Constant*> constant(const Node& node, std::size_t position, bool required) const;
  // Integers of an optional constant input; empty when absent. Errors: unsupported when it is computed at run
  // time.
  Result<std::vector<std::int64_t>> integers(const Node& node, std::size_t position) const;
  // What the file says about output `position`. Errors: invalid_data for an output without name.
  Result<const Value*> value_of_output(const Node& node, std::size_t position) const;

  // ---- tensors
  [[nodiscard]] Tensor& at(TensorId id) { return graph.tensors[static_cast<std::size_t>(id)]; }
  TensorId add(Tensor tensor);
  // An input of the graph, with the shape that the file gives.
  Status add_input(const std::string& name);
  // A new tensor for output `position`; the shape follows when the node is emitted.
  Result<TensorId> output(const Node& node, std::size_t position = 0);
  // A tensor between two nodes that the file does not know: type and scale of `like`; its name counts those
  // of its node.
  TensorId intermediate(TensorId like, std::string_view name_of_node, std::vector<std::int32_t> shape = {});
  // A constant operand, unchanged from the file.
  Result<TensorId> constant_tensor(const Constant& constant);
  // Names a tensor as the result of a node without computing anything.
  void rename(const std::string& name, TensorId id) { tensors_.insert_or_assign(name, id); }
  // The tensor of a computed value; kAbsent when there is none.
  [[nodiscard]] TensorId find(std::string_view name) const;

  // ---- nodes
  // Appends a node: shapes of its outputs, non_negative and rounding are filled in.
  Status emit(const Node& from, OpCode code, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
              Options options = {}, Arithmetic arithmetic = Arithmetic::espdl);
  Status emit_reshape(const Node& from, TensorId input, TensorId output, std::vector<std::int32_t> shape);
  // The same data in another shape, between two nodes.
  Result<TensorId> reshaped(const Node& from, TensorId input, std::vector<std::int32_t> shape);

  // ---- caches
  void add_cache(const std::string& output, Cache cache) {
    caches_.insert_or_assign(output, std::move(cache));
  }
  [[nodiscard]] const Cache* cache_behind(std::string_view name) const;
  // The value that a window node reads: after a cache its source.
  Result<TensorId> window_operand(const Node& node, const Cache*& cache);

  // Tensors whose last axis holds channels although ONNX has them on axis 1: made by windows and what follows
  // element by element.
  [[nodiscard]] bool channels_last(TensorId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < channels_last_.size() &&
           channels_last_[static_cast<std::size_t>(id)];
  }

 private:
  const Model& model_;
  EspdlTarget target_;
  kernels::Rounding rounding_;
  CacheForm cache_form_;
  std::map<std::string, TensorId, std::less<>> tensors_;
  std::map<std::string, Cache, std::less<>> caches_;
  std::map<std::string, int, std::less<>> intermediates_;
  std::vector<bool> channels_last_;
};

// ---- conversions that others build on; the rest are declared where they are listed
Status convert_quantize(Builder& builder, const Node& node);

Status convert_custom(Builder& builder, const Node& node, const CustomOperator& custom);

// ---- helpers
// A negative axis counts from the end. Errors: invalid_data when it is outside.
Result<int> normalize_axis(const Node& node, std::int64_t axis, std::size_t rank);
// Bias of a convolution or fully connected layer as int32 (int8 data) or int64 (int16 data); kAbsent when
// there is none.
Result<TensorId> convert_bias(Builder& builder, const Node& node, DType data, std::int64_t outputs,
                              int input_exponent, const std::vector<std::int8_t>& weight_exponents);
// "Linear" or "Relu".
Result<Activation> activation_of(const Node& node);

}  // namespace runnel::compiler::espdl_source
