#include "npu/host/u85/disassemble.h"

#include "npu/host/disassemble.h"

namespace runnel::npu::u85 {
namespace {

constexpr const char* kRoundings[] = {"double", "natural", "double-up", "away", "zero", "lower"};
constexpr const char* kTransposes[] = {"hwc", "whc", "hcw", "wch", "", "", "chw", "cwh"};
constexpr const char* kAxes[] = {"none", "height", "width", "depth"};
constexpr const char* kStarts[] = {"zero", "kept", "ifm2"};
constexpr const char* kResizes[] = {"bilinear", "replicate", "nearest"};

const char* function_name(Function function) {
  switch (function) {
    case Function::none:
      return "none";
    case Function::u8_u8:
      return "u8->u8";
    case Function::s8_s8:
      return "s8->s8";
    case Function::s8_s16:
      return "s8->s16";
    case Function::s8_s32:
      return "s8->s32";
    case Function::s16_s16:
      return "s16->s16";
    case Function::s16_s32:
      return "s16->s32";
    case Function::tanh:
      return "tanh";
    case Function::sigmoid:
      return "sigmoid";
  }
  return "?";
}

template <class Value>
const char* name_in(const char* const* names, Value value) {
  return names[static_cast<std::size_t>(value)];
}

std::string scale_text(const Scale& scale) {
  std::string text =
      number(scale.multiplier) + ">>" + number(scale.shift) + " " + name_in(kRoundings, scale.rounding);
  if (scale.double_round != 0) text += "-" + number(scale.double_round);
  return text;
}
Json scale_json(const Scale& scale) {
  return {{"multiplier", scale.multiplier},
          {"shift", scale.shift},
          {"rounding", name_in(kRoundings, scale.rounding)},
          {"double_round", scale.double_round}};
}

bool scales_operands(const Operation& op) {
  const auto mode = static_cast<ElementwiseMode>(op.mode);
  return op.kind == OperationKind::elementwise &&
         (mode == ElementwiseMode::add || mode == ElementwiseMode::sub ||
          mode == ElementwiseMode::leaky_relu);
}
bool accumulates(const Operation& op) { return convolves(op) || op.kind == OperationKind::pool; }
bool pools_nothing(const Operation& op) {
  return op.kind == OperationKind::pool && static_cast<PoolMode>(op.mode) == PoolMode::none;
}

std::string axes_text(std::uint8_t broadcast) {
  std::string text;
  for (int axis = 0; axis < 3; ++axis) {
    if ((broadcast >> axis & 1) != 0) text += "hwc"[axis];
  }
  return text;
}
std::string operand_text(const char* name, const FeatureMap& map, bool scalar, std::uint8_t broadcast,
                         const Operation& op) {
  if (scalar) {
    std::string text = std::string("  ") + name + " scalar " + number(op.u85.scalar);
    return map.zero_point != 0 ? text + " zero " + number(map.zero_point) : text;
  }
  const std::string axes = axes_text(broadcast);
  return map_text(name, map) + (axes.empty() ? "" : " broadcast " + axes);
}
Json operand_json(const FeatureMap& map, bool scalar, std::uint8_t broadcast, const Operation& op) {
  if (scalar) return {{"scalar", op.u85.scalar}, {"zero_point", map.zero_point}};
  Json out = map_json(map);
  out["broadcast"] = axes_text(broadcast);
  return out;
}

// The output in memory has the axes of the stored map.
std::string output_text(const Operation& op) {
  std::string text = map_text("ofm", stored_output(op));
  if (op.u85.transpose != Transpose::hwc)
    text += std::string(" as ") + name_in(kTransposes, op.u85.transpose);
  if (op.u85.reversed != Axis::none) text += std::string(" reversed ") + name_in(kAxes, op.u85.reversed);
  return text;
}

std::string weights_text(const Operation& op) {
  std::string text = op.kernel.part_kernel && op.kind == OperationKind::conv ? "  weights part-kernel"
                                                                             : "  weights depth-first";
  text += op.u85.fast_weights ? " fast" : "";
  text += op.u85.sparse_weights ? " sparse" : "";
  for (const Bytes& stream : op.weights) {
    if (stream.length > 0)
      text += " " + place_text(op.weight_region, stream.base) + ":" + number(stream.length);
  }
  return text;
}

std::string resize_text(const char* name, const ResizeAxis& axis) {
  return std::string(" ") + name + " " + number(axis.whole * axis.denominator + axis.part) + "/" +
         number(axis.denominator) + " from " + number(axis.offset);
}
Json resize_json(const ResizeAxis& axis) {
  return {{"step", axis.whole * axis.denominator + axis.part},
          {"denominator", axis.denominator},
          {"offset", axis.offset}};
}

std::string computation_text(const Operation& op) {
  const Fields& u85 = op.u85;
  std::string text;
  if (!pools_nothing(op)) text += operand_text("ifm", op.ifm, u85.first_scalar, u85.first_broadcast, op);
  if (op.has_ifm2) text += operand_text("ifm2", op.ifm2, op.scalar, op.broadcast, op);
  text += output_text(op);
  if (op.kind == OperationKind::resize)
    text += std::string("  ") + name_in(kResizes, op.mode) + resize_text("y", u85.rows) +
            resize_text("x", u85.columns);
  else if (has_window(op) && !pools_nothing(op))
    text += kernel_text(op);
  if (u85.second_weights) text += "  weights ifm2";
  if (reads_weights(op)) text += weights_text(op);
  if (op.has_scales)
    text += "  scales " + place_text(op.scale_region, op.scales[0].base) + ":" + number(op.scales[0].length);
  if (!u85.silent) text += "  scale " + scale_text(u85.ofm_scale);
  if (scales_operands(op)) text += " a " + scale_text(u85.ifm_scale) + " b " + scale_text(u85.ifm2_scale);
  if (u85.clips) text += "  clamp " + number(op.activation.low) + ".." + number(op.activation.high);
  if (u85.function != Function::none)
    text += std::string(" table ") + number(u85.table) + " " + function_name(u85.function);
  text += "  block " + number(op.block_height) + "x" + number(op.block_width) + "x" + number(op.block_depth);
  if (accumulates(op)) {
    text +=
        std::string(" micro ") + number(op.microblock) + " acc " + (op.acc_format == 0 ? "int32" : "int48");
    if (u85.start != AccumulatorStart::zero) text += std::string(" from ") + name_in(kStarts, u85.start);
    if (u85.silent) text += " silent";
  }
  return text + " blockdep " + number(op.block_dependency);
}

void add_computation(const Operation& op, Json& out) {
  const Fields& u85 = op.u85;
  if (!pools_nothing(op)) out["ifm"] = operand_json(op.ifm, u85.first_scalar, u85.first_broadcast, op);
  if (op.has_ifm2) out["ifm2"] = operand_json(op.ifm2, op.scalar, op.broadcast, op);
  out["ofm"] = map_json(stored_output(op));
  out["ofm"]["transpose"] = name_in(kTransposes, u85.transpose);
  out["ofm"]["reversed"] = name_in(kAxes, u85.reversed);
  if (op.kind == OperationKind::resize)
    out["resize"] = {{"mode", name_in(kResizes, op.mode)},
                     {"rows", resize_json(u85.rows)},
                     {"columns", resize_json(u85.columns)}};
  else if (has_window(op) && !pools_nothing(op))
    add_kernel(op, out);
  if (u85.second_weights) out["weights"] = "ifm2";
  if (reads_weights(op)) {
    out["traversal"] =
        op.kernel.part_kernel && op.kind == OperationKind::conv ? "part-kernel" : "depth-first";
    out["weight_format"] = {{"fast", u85.fast_weights}, {"sparse", u85.sparse_weights}};
    out["weights"] = streams_json(op.weights, 4, op.weight_region);
  }
  if (op.has_scales) out["scales"] = streams_json(op.scales, 1, op.scale_region);
  if (!u85.silent) out["ofm_scale"] = scale_json(u85.ofm_scale);
  if (scales_operands(op)) {
    out["ifm_scale"] = scale_json(u85.ifm_scale);
    out["ifm2_scale"] = scale_json(u85.ifm2_scale);
  }
  out["activation"] = {{"function", function_name(u85.function)}, {"table", u85.table}};
  if (u85.clips) {
    out["activation"]["low"] = op.activation.low;
    out["activation"]["high"] = op.activation.high;
  }
  out["block"] = {{"shape", {op.block_height, op.block_width, op.block_depth}},
                  {"micro", op.microblock},
                  {"accumulator", op.acc_format == 0 ? "int32" : "int48"},
                  {"start", name_in(kStarts, u85.start)},
                  {"silent", u85.silent},
                  {"dependency", op.block_dependency}};
}

std::string end_text(const DmaPlace& place, const CopyEnd& end, const Dma& dma) {
  std::string text = place.internal ? "tables+" + place_text(0, place.address).substr(3)
                                    : place_text(place.region, place.address);
  if (dma.rows > 1 || end.row != 0) text += " row " + number(end.row);
  if (dma.planes > 1) text += " plane " + number(end.plane);
  return end.indexed ? text + " indexed" : text;
}
Json end_json(const DmaPlace& place, const CopyEnd& end) {
  return {{"internal", place.internal}, {"region", place.region},
          {"address", place.address},   {"row", end.row},
          {"plane", end.plane},         {"indexed", end.indexed}};
}
bool indexed(const Operation& op) { return op.u85.source.indexed || op.u85.target.indexed; }

}  // namespace

std::string details_text(const Operation& op) {
  if (op.kind == OperationKind::branch)
    return "  to byte " + number(op.u85.jump) + ((op.param & 1) != 0 ? " if" : "");
  if (op.kind == OperationKind::dma) {
    std::string text = "  " + end_text(op.dma.source, op.u85.source, op.dma) + " -> " +
                       end_text(op.dma.target, op.u85.target, op.dma) + " length " + number(op.dma.length);
    if (op.dma.rows > 1 || op.dma.planes > 1)
      text += " rows " + number(op.dma.rows) + " planes " + number(op.dma.planes);
    if (indexed(op))
      text += " indices " + place_text(op.u85.index_region, op.u85.index_address) + " up to " +
              number(op.u85.index_most);
    return text;
  }
  return op.computes() ? computation_text(op) : "  " + number(op.param);
}

void add_details(const Operation& op, Json& out) {
  if (op.kind == OperationKind::branch) {
    out["target"] = op.u85.jump;
    out["conditional"] = (op.param & 1) != 0;
  } else if (op.kind == OperationKind::dma) {
    out["dma"] = {{"source", end_json(op.dma.source, op.u85.source)},
                  {"target", end_json(op.dma.target, op.u85.target)},
                  {"length", op.dma.length},
                  {"rows", op.dma.rows},
                  {"planes", op.dma.planes}};
    if (indexed(op))
      out["dma"]["indices"] = {{"region", op.u85.index_region},
                               {"address", op.u85.index_address},
                               {"most", op.u85.index_most},
                               {"skip", op.u85.index_skip}};
  } else if (op.computes()) {
    add_computation(op, out);
  } else {
    out["parameter"] = op.param;
  }
}

}  // namespace runnel::npu::u85
