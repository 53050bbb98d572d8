#include "npu/host/disassemble.h"

#include <cstdio>

#include "npu/host/listing.h"
#include "npu/host/u85/disassemble.h"

namespace runnel::npu {
namespace {

const char* rounding_text(Rounding rounding) {
  return rounding == Rounding::tfl ? "tfl" : rounding == Rounding::truncate ? "truncate" : "natural";
}
std::string scale_text(const Scale& scale) { return number(scale.multiplier) + ">>" + number(scale.shift); }
Json scale_json(const Scale& scale) { return {{"multiplier", scale.multiplier}, {"shift", scale.shift}}; }

std::string activation_name(const Activation& activation) {
  if (activation.table()) return "table " + number(activation.slot());
  return activation.function == Activation::kTanh      ? "tanh"
         : activation.function == Activation::kSigmoid ? "sigmoid"
                                                       : "none";
}
const char* accumulator_text(std::uint8_t format) {
  return format == 0 ? "int32" : format == 1 ? "int40" : format == 2 ? "fp16" : "?";
}

bool uses_opa(const Operation& op) { return op.is(ElementwiseMode::add) || op.is(ElementwiseMode::sub); }
bool uses_ofm_scale(const Operation& op) {
  return op.kind == OperationKind::elementwise
             ? uses_opa(op) || op.is(ElementwiseMode::mul) || op.is(ElementwiseMode::abs) ||
                   op.is(ElementwiseMode::leaky_relu)
             : op.global_scale;
}

std::string weights_text(const Operation& op) {
  std::string text = op.kernel.part_kernel ? "  weights part-kernel" : "  weights depth-first";
  for (const Bytes& stream : op.weights) {
    if (stream.length > 0)
      text += " " + place_text(op.weight_region, stream.base) + ":" + number(stream.length);
  }
  text += "  scales";
  for (const Bytes& stream : op.scales) {
    if (stream.length > 0)
      text += " " + place_text(op.scale_region, stream.base) + ":" + number(stream.length);
  }
  return text;
}

std::string scaling_text(const Operation& op) {
  std::string text = std::string("  round ") + rounding_text(op.rounding);
  if (uses_ofm_scale(op)) text += " scale " + scale_text(op.ofm_scale);
  if (uses_opa(op)) {
    text += " a " + scale_text(op.opa_scale);
    text += op.operand_to_scale == 0   ? " b " + scale_text(op.opb_scale)
            : op.operand_to_scale == 1 ? " on ifm"
                                       : " on ifm2";
  }
  if (!op.raw_output()) text += "  clamp " + number(op.activation.low) + ".." + number(op.activation.high);
  if (op.activation.function != Activation::kNone) text += " activation " + activation_name(op.activation);
  return text;
}

std::string block_text(const Operation& op) {
  return "  block " + number(op.block_height) + "x" + number(op.block_width) + "x" + number(op.block_depth) +
         " ib " + number(op.ib_end) + " ab " + number(op.ab_start) + " acc " +
         accumulator_text(op.acc_format) + " blockdep " + number(op.block_dependency);
}

std::string dma_place_text(const DmaPlace& place) {
  return (place.internal ? "shram+" : "r" + number(place.region) + "+") +
         place_text(0, place.address).substr(3) +
         (place.dimensions > 1 ? " " + number(place.dimensions) + "d" : "");
}
std::string dma_text(const Dma& dma) {
  std::string text = "  " + dma_place_text(dma.source) + " -> " + dma_place_text(dma.target) + " length " +
                     number(dma.length);
  if (dma.rows > 1 || dma.planes > 1)
    text += " rows " + number(dma.rows) + " skip " + number(dma.skip0) + " planes " + number(dma.planes) +
            " skip " + number(dma.skip1);
  return text;
}
Json dma_json(const Dma& dma) {
  const auto place = [](const DmaPlace& at) {
    return Json{{"internal", at.internal},
                {"region", at.region},
                {"address", at.address},
                {"dimensions", at.dimensions}};
  };
  return {{"source", place(dma.source)}, {"target", place(dma.target)},
          {"length", dma.length},        {"rows", dma.rows},
          {"planes", dma.planes},        {"skip0", dma.skip0},
          {"skip1", dma.skip1}};
}

void add_computation(const Operation& op, Json& out) {
  out["ifm"] = map_json(op.ifm);
  if (op.has_ifm2 && op.scalar) {
    out["ifm2"] = {{"scalar", op.ifm2_scalar}, {"zero_point", op.ifm2.zero_point}};
  } else if (op.has_ifm2) {
    out["ifm2"] = map_json(op.ifm2);
    out["ifm2"]["broadcast"] = op.broadcast;
  }
  if (op.has_ifm2) out["reversed"] = op.reversed;
  out["ofm"] = map_json(op.ofm);
  if (has_window(op)) add_kernel(op, out);
  if (convolves(op)) {
    out["traversal"] = op.kernel.part_kernel ? "part-kernel" : "depth-first";
    out["weights"] = streams_json(op.weights, 4, op.weight_region);
    out["scales"] = streams_json(op.scales, 2, op.scale_region);
  }
  out["rounding"] = rounding_text(op.rounding);
  if (uses_ofm_scale(op)) out["ofm_scale"] = scale_json(op.ofm_scale);
  if (uses_opa(op)) {
    out["opa_scale"] = scale_json(op.opa_scale);
    if (op.operand_to_scale == 0) out["opb_scale"] = scale_json(op.opb_scale);
    out["operand_to_scale"] = op.operand_to_scale;
  }
  out["activation"] = {{"function", activation_name(op.activation)}};
  if (!op.raw_output()) {
    out["activation"]["low"] = op.activation.low;
    out["activation"]["high"] = op.activation.high;
  }
  out["block"] = {{"shape", {op.block_height, op.block_width, op.block_depth}},
                  {"ib_end", op.ib_end},
                  {"ab_start", op.ab_start},
                  {"ifm2_ib_start", op.ifm2_ib_start},
                  {"accumulator", accumulator_text(op.acc_format)},
                  {"dependency", op.block_dependency},
                  {"cores", op.cores}};
}

}  // namespace

std::string to_text(const Operation& op) {
  char head[40];
  std::snprintf(head, sizeof head, "%5u %-12s", op.word, std::string(name_of(op)).c_str());
  std::string text = head;
  if (op.product == Product::u85 && !waits(op)) return text + u85::details_text(op);
  if (op.kind == OperationKind::dma) return text + dma_text(op.dma);
  if (waits(op)) return text + "  outstanding " + number(op.param);
  if (!op.computes()) return text + "  " + number(op.param);
  text += map_text("ifm", op.ifm);
  if (op.has_ifm2)
    text += op.scalar ? "  ifm2 scalar " + number(op.ifm2_scalar) + " zero " + number(op.ifm2.zero_point)
                      : map_text("ifm2", op.ifm2);
  if (op.reversed) text += " reversed";
  text += map_text("ofm", op.ofm);
  if (has_window(op)) text += kernel_text(op);
  if (convolves(op)) text += weights_text(op);
  return text + scaling_text(op) + block_text(op);
}

std::string to_json(const Operation& op) {
  Json out{{"word", op.word}, {"index", op.index}, {"operation", name_of(op)}};
  if (op.product == Product::u85 && !waits(op))
    u85::add_details(op, out);
  else if (op.kind == OperationKind::dma)
    out["dma"] = dma_json(op.dma);
  else if (waits(op))
    out["outstanding"] = op.param;
  else if (!op.computes())
    out["parameter"] = op.param;
  else
    add_computation(op, out);
  return out.dump();
}

}  // namespace runnel::npu
