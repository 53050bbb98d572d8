#include "compiler/embed/compiled_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/crc32c.h"
#include "base/host/heap_memory.h"
#include "compiler/embed/compiled_operators.h"
#include "compiler/embed/constant_pool.h"
#include "compiler/embed/sources.h"
#include "inference/frames.h"
#include "inference/model/usage.h"
#include "inference/prepared.h"

namespace runnel::compiler {
namespace {

class ModelText {
 public:
  ModelText(const Prepared& prepared, const CompileOptions& options)
      : prepared_(prepared),
        t_(prepared.tables()),
        model_(prepared.model()),
        options_(options),
        pool_(options.array) {}

  Result<CompiledText> write() {
    RUNNEL_TRY(choose_output());
    // What is computed keeps its order.
    for (int t = 0; t < t_.tensor_count; ++t) {
      if (!t_.placements[t].constant) tensors_.of(t);
    }
    RUNNEL_TRY(steps());
    rings_and_gates();
    lengths();
    placements();
    RUNNEL_TRY(model());
    return CompiledText{"namespace " + options_.scope + " {\n" + pool_.arrays() + body_ + "}  // namespace " +
                            options_.scope + "\n",
                        pool_.all_bytes()};
  }

 private:
  Status choose_output() {
    const auto outputs = model_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (options_.output.empty() ? outputs.size() == 1 : model_.tensor_name(outputs[i]) == options_.output)
        position_ = static_cast<int>(i);
    }
    if (position_ >= 0) return {};
    return Status(Code::not_found) << "output \"" << options_.output << "\" of a model with "
                                   << outputs.size() << " outputs";
  }

  // One constant for each operator, or all refusals.
  Status steps() {
    Status refused(Code::unsupported, "operators without a compiled form: ");
    std::string list;
    int missing = 0;
    for (int i = 0; i < t_.step_count; ++i) {
      const PreparedTables::Step& step = t_.steps[i];
      const int op = t_.step_info[i].first;
      const auto compiled = compile_operator(prepared_, op, *step.bound, tensors_, pool_);
      if (!compiled.ok()) {
        refused << (missing++ > 0 ? ", " : "") << operator_type(model_.op(op)) << " version "
                << model_.op(op).version() << " (" << compiled.status().text() << ')';
        continue;
      }
      body_ += compiled->before;
      body_ += fmt::format("constinit const {} kOperator{} = {};\n", compiled->type, i, compiled->value);
      if (compiled->run.empty())
        list += fmt::format("    {{{{}}, &kOperator{}, {}, {}, 1, 1}},\n", i, step.first_gate, step.gates);
      else
        list += fmt::format("    {{{{{}, &kOperator{}, {}, {}, {}, {}, {}}}, nullptr, {}, {}, 1, 1}},\n",
                            compiled->run, i, compiled->x, compiled->addend, compiled->y, compiled->x_back,
                            compiled->addend_back, step.first_gate, step.gates);
    }
    if (missing > 0) return refused << "; without --step the model is interpreted";
    body_ += "constinit const PreparedTables::Step kSteps[] = {\n" + list + "};\n";
    if (!options_.steps) return {};
    std::string infos;
    for (int i = 0; i < t_.step_count; ++i)
      infos += fmt::format("{{{}, {}}}, ", t_.step_info[i].first, t_.step_info[i].operators);
    body_ += "constinit const PreparedTables::StepInfo kStepInfo[] = {" + infos + "};\n";
    return {};
  }

  void rings_and_gates() {
    std::string rings, gates;
    for (int i = 0; i < t_.ring_count; ++i) {
      const PreparedTables::RingMemory& ring = t_.rings[i];
      rings +=
          fmt::format("    {{{}, {}, {{{}, {}, {}}}, {}, {}}},\n", tensors_.of(ring.tensor), ring.fill,
                      ring.ring.history, ring.ring.frames, ring.ring.capacity, ring.frame_bytes, ring.offset);
    }
    for (int i = 0; i < t_.gate_count; ++i) gates += fmt::format("{}, ", tensors_.of(t_.gates[i]));
    if (!rings.empty()) body_ += "constinit const PreparedTables::RingMemory kRings[] = {\n" + rings + "};\n";
    if (!gates.empty()) body_ += "constinit const std::int32_t kGates[] = {" + gates + "};\n";
  }

  // Nothing where every tensor is as long as the source. Tensors of one length share a step: an operator that
  // keeps the length adds its outputs to that of its inputs.
  void lengths() {
    struct Lengths {
      streaming::NodeRule rule;
      std::string from, to;
    };
    std::vector<Lengths> steps(1);  // the source's length first, which the default rule keeps
    std::vector<int> step_of(static_cast<std::size_t>(t_.tensor_count), 0);
    for (const std::int32_t input : t_.inputs) steps[0].from += fmt::format("{}, ", tensors_.of(input));
    for (int i = 0; i < model_.operator_count(); ++i) {
      const fb::Operator& op = model_.op(i);
      std::string in;
      int step = -1;
      bool same = keeps_length(t_.stream_steps[i].rule);
      for (const std::int32_t input : *op.inputs()) {
        if (input < 0 || t_.streams[input].stream.constant()) continue;
        in += fmt::format("{}, ", tensors_.of(input));
        const int its = step_of[static_cast<std::size_t>(input)];
        same = same && (step < 0 || step == its);
        step = its;
      }
      if (in.empty()) continue;
      if (!same) {
        step = static_cast<int>(steps.size());
        steps.push_back({t_.stream_steps[i].rule, in, {}});
      }
      for (const std::int32_t output : *op.outputs()) {
        step_of[static_cast<std::size_t>(output)] = step;
        steps[static_cast<std::size_t>(step)].to += fmt::format("{}, ", tensors_.of(output));
      }
    }
    lengths_ = steps.size() > 1;
    if (!lengths_) return;
    std::string list;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].to.empty()) continue;  // nobody has the source's length
      body_ += fmt::format("constinit const std::int32_t kFrom{0}[] = {{{1}}}, kTo{0}[] = {{{2}}};\n", i,
                           steps[i].from, steps[i].to);
      const streaming::NodeRule& rule = steps[i].rule;
      list += fmt::format(
          "    {{{{static_cast<streaming::Kind>({}), {}, {}, {}, {}, {}, "
          "static_cast<streaming::Padding>({}), {}, {}}}, kFrom{}, kTo{}}},\n",
          static_cast<int>(rule.kind), rule.kernel, rule.stride, rule.dilation, rule.left, rule.right,
          static_cast<int>(rule.padding), rule.chunk, rule.own_history, i, i);
    }
    body_ += "constinit const LengthStep kLengths[] = {\n" + list + "};\n";
  }

  static bool keeps_length(const streaming::NodeRule& rule) {
    if (rule.kind == streaming::Kind::window)
      return rule.stride == 1 && rule.left + rule.right == rule.extent() - 1;
    return rule.kind != streaming::Kind::upsample;
  }

  void placements() {
    body_ += "constinit const Placement kPlacements[] = {\n";
    for (const int tensor : tensors_.kept()) {
      const Placement& p = t_.placements[tensor];
      const std::string data = p.constant ? pool_.operand({p.data, p.bytes}) : "nullptr";
      body_ += fmt::format(
          "    {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tier::{}, {}, ConstantUse::{}, {}, {}, DType::{}, "
          "{}}},\n",
          p.frames, p.delay, p.history, p.capacity, p.frame_bytes, p.bytes, p.offset, p.up, p.down,
          static_cast<int>(p.time_axis), name_of(p.tier), p.constant, p.constant ? "in_place" : "packed",
          data, p.fill, runnel::name_of(p.dtype), p.zero_point);
    }
    body_ += "};\n";
  }
  static std::string_view name_of(Tier tier) { return tier == Tier::fast ? "fast" : "slow"; }

  std::string tables() {
    std::string inputs, outputs;
    for (const std::int32_t input : t_.inputs) inputs += fmt::format("{}, ", tensors_.of(input));
    for (const std::int32_t output : t_.outputs) outputs += fmt::format("{}, ", tensors_.of(output));
    body_ += fmt::format("constinit const std::int32_t kInputs[] = {{{}}}, kOutputs[] = {{{}}};\n", inputs,
                         outputs);
    return fmt::format(
        "PreparedTables{{nullptr, RunMode::stream, {}, 1, {}, {}, {}, {}, {}, {}, {}, kInputs, kOutputs, "
        "kPlacements, kSteps, {}, nullptr, nullptr, {}, {}, {},\n"
        "        Tier::{}, Tier::{}, {{{}, {}}}, {}, {}, 0, {}, {}, {}, {}, {}u}}",
        t_.indexed, t_.block, t_.warm_blocks, tensors_.kept().size(), t_.step_count, t_.step_count,
        t_.ring_count, t_.gate_count, options_.steps ? "kStepInfo" : "nullptr", lengths_ ? "kLengths" : "{}",
        t_.ring_count > 0 ? "kRings" : "nullptr", t_.gate_count > 0 ? "kGates" : "nullptr",
        name_of(t_.scratch_tier), name_of(t_.state_tier), t_.arena_bytes[0], t_.arena_bytes[1],
        t_.arena_bound, t_.alignment, t_.scratch_bytes, t_.state_bytes, t_.operator_state_offset,
        t_.cursors_offset, t_.fingerprint);
  }

  // How values come and go: the names of functions of pipeline/nodes/model/rom_infer.h.
  static Result<std::string_view> input_converter(const TensorView& tensor, DType given, int exponent) {
    if (given == tensor.dtype && (given == DType::float32 || exponent == tensor.exponent()))
      return copier(given);
    if (given == DType::float32 && tensor.scales.empty() && tensor.dtype == DType::int8)
      return std::string_view("quantize_int8");
    if (given == DType::float32 && tensor.scales.empty() && tensor.dtype == DType::int16)
      return std::string_view("quantize_int16");
    if (given == DType::float32 && !tensor.scales.empty()) return std::string_view("quantize_affine");
    return Status(Code::unsupported) << "frames of " << runnel::name_of(given) << " for an input of "
                                     << runnel::name_of(tensor.dtype)
                                     << " have no compiled form; without --step the model is interpreted";
  }
  static std::string_view output_converter(const TensorView& tensor, bool dequantize) {
    if (!tensor.scales.empty()) return "dequantize_affine";
    if (!dequantize || tensor.dtype == DType::float32) return copier(tensor.dtype);
    return tensor.dtype == DType::int8 ? "dequantize_int8" : "dequantize_int16";
  }
  static std::string_view copier(DType type) {
    return type == DType::float32 ? "copy_floats" : type == DType::int16 ? "copy_wide_values" : "copy_values";
  }

  kernels::Rounding rounding_of(int tensor) const {
    for (int i = 0; i < model_.operator_count(); ++i) {
      const auto& inputs = *model_.op(i).inputs();
      if (std::find(inputs.begin(), inputs.end(), tensor) != inputs.end())
        return static_cast<kernels::Rounding>(model_.op(i).rounding());
    }
    return kernels::Rounding::half_up;
  }

  // Scale and zero point of a tensor that has them.
  static std::string affine_text(const TensorView& tensor) {
    if (tensor.scales.empty()) return "{}";
    return fmt::format("{{DType::{}, {:a}F, {}}}", runnel::name_of(tensor.dtype), tensor.scales[0],
                       tensor.zero_point());
  }

  Status model() {
    const int from = t_.inputs[0], to = t_.outputs[static_cast<std::size_t>(position_)];
    const TensorView x = model_.tensor(from), y = model_.tensor(to);
    const Placement &in = t_.placements[from], &out = t_.placements[to];
    if (in.time_axis < 0 || out.time_axis < 0)
      return Status(Code::unsupported, "input or output is not a stream");
    RUNNEL_ASSIGN(const std::string_view convert_in,
                  input_converter(x, options_.given, options_.given_exponent));
    const std::string_view convert_out = output_converter(y, options_.dequantize);
    const DType gives = options_.dequantize || !y.scales.empty() ? DType::float32 : y.dtype;
    const FrameLayout in_layout = FrameLayout::of(prepared_.shape(from), in.time_axis, x.dtype),
                      out_layout = FrameLayout::of(prepared_.shape(to), out.time_axis, y.dtype);
    const std::size_t in_values = in.frame_bytes / size_of(x.dtype),
                      out_values = out.frame_bytes / size_of(y.dtype);
    const std::string prepared = tables();
    std::string labels;
    for (const std::string& label : options_.labels) labels += compiler::quoted(label) + ", ";
    if (!labels.empty()) body_ += "constinit const std::string_view kLabels[] = {" + labels + "};\n";
    body_ += "constinit const CompiledModel::Constants kConstants[] = {" + pool_.checked() + "};\n";
    body_ += fmt::format(
        "extern const CompiledModel kModel;\nconstinit const CompiledModel kModel = {{Prepared({}),\n    "
        "{{{{{}, {}}}, {{{}, {}}}, {}, {}, {}, {}, {}, {}, {}, {}}},\n    DType::{}, {{{}, &kModel}}, {{{}, "
        "&kModel}}, {}, {}, "
        "static_cast<kernels::Rounding>({}), DType::{}, {}, {}, kConstants, {}, {}}};\n",
        prepared, in_layout.outer, in_layout.inner_bytes, out_layout.outer, out_layout.inner_bytes, in_values,
        out_values, in_values * size_of(options_.given), out_values * size_of(gives), out.frames, out.up,
        out.down, position_, runnel::name_of(options_.given), convert_in, convert_out, x.exponent(),
        y.exponent(), static_cast<int>(rounding_of(from)), runnel::name_of(gives), options_.given_exponent,
        labels.empty() ? "{}" : "kLabels", affine_text(x), affine_text(y));
    return {};
  }

  const Prepared& prepared_;
  const PreparedTables& t_;
  const Model& model_;
  const CompileOptions& options_;
  TensorNumbers tensors_;
  ConstantPool pool_;
  int position_ = -1;
  bool lengths_ = false;  // kLengths is there
  std::string body_;
};

}  // namespace

Result<const Prepared*> prepare_for_compiling(const Model& model, const CompileOptions& options,
                                              Memory& memory) {
  RUNNEL_ASSIGN(const ModelUsage usage, usage_of(model));
  if (usage.stepped())
    return Status(Code::unsupported) << "--step is for models that are streams, this one is of usage "
                                     << name_of(usage.kind) << "; without --step it is interpreted";
  if (model.inputs().size() != 1)
    return Status(Code::unsupported) << model.inputs().size() << " inputs, expected 1";
  PrepareOptions prepare{
      .mode = RunMode::stream, .frames = options.chunk, .isa = Isa::reference, .slack = false};
  prepare.alignment = 16;
  if (options.fast_bytes > 0) prepare.fast_bytes = options.fast_bytes;
  return Prepared::make(model, all_operators(), prepare, memory);
}

Result<CompiledText> compile_model(const Model& model, const CompileOptions& options) {
  HeapMemory memory;
  RUNNEL_ASSIGN(const Prepared* const prepared, prepare_for_compiling(model, options, memory));
  return ModelText(*prepared, options).write();
}

}  // namespace runnel::compiler
