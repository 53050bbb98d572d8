#include "npu/host/cycles/cycles.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "npu/validate.h"

namespace runnel::npu {
namespace {

constexpr std::int32_t kMaxSubKernel = 8;  // taps of a kernel processed at a time along an axis
constexpr double kScaleBurst = 256;        // bytes of scales per latency

// Cycles per output element, by what computes it and by its activation function.
enum OutputKind : std::uint8_t {
  kBinary32,
  kUnary32,
  kProductTo32,
  kProduct,
  kSimpleSum,
  kSum,
  kMaximum,
  kOther,
  kOutputKinds
};
enum FunctionKind : std::uint8_t { kTable, kLimits, kNothing, kFunctionKinds };
struct Pace {
  std::string_view accelerator;
  double output[kOutputKinds], function[kFunctionKinds];
};
constexpr Pace kPaces[] = {
    {"ethos-u55-32", {2, 3, 3, 3, 4, 6, 1, 2}, {1, 1, 0}},
    {"ethos-u55-64", {1, 1.5, 1.5, 1.5, 2, 3, 0.5, 1}, {1, 1, 0}},
    {"ethos-u55-128", {0.75, 1.25, 0.75, 0.75, 1, 1.5, 0.25, 0.5}, {1, 0.5, 0}},
    {"ethos-u55-256", {0.625, 1.125, 0.5, 0.375, 0.5, 0.75, 0.125, 0.25}, {1, 0.25, 0}},
    {"ethos-u65-256", {0.625, 1.125, 0.5, 0.375, 0.5, 0.75, 0.125, 0.25}, {1, 0.25, 0}},
    {"ethos-u65-512", {0.3125, 0.5625, 0.25, 0.1875, 0.25, 0.375, 0.0625, 0.125}, {0.5, 0.125, 0}},
};
const Pace& pace_of(const Accelerator& accelerator) noexcept {
  return *std::find_if(std::begin(kPaces), std::end(kPaces),
                       [&](const Pace& pace) { return pace.accelerator == accelerator.name; });
}

bool acc40(const Operation& op) noexcept { return op.acc_format == 1; }
bool depth_by_depth(const Operation& op) noexcept {
  return op.kind == OperationKind::depthwise ||
         (op.kind == OperationKind::pool && !op.is(PoolMode::reduce_sum));
}

OutputKind output_kind(const Operation& op) noexcept {
  if (op.kind == OperationKind::elementwise && op.ifm.element == 4) return op.has_ifm2 ? kBinary32 : kUnary32;
  if (op.is(ElementwiseMode::mul)) return op.ofm.element == 4 ? kProductTo32 : kProduct;
  if (op.kind != OperationKind::elementwise && acc40(op)) return kProduct;
  if (op.is(ElementwiseMode::add) || op.is(ElementwiseMode::sub)) return kSum;
  return op.is(PoolMode::max) ? kMaximum : kOther;
}
FunctionKind function_kind(const Operation& op) noexcept {
  if (op.activation.function != Activation::kNone) return kTable;
  if (op.ofm.element > 2) return kNothing;
  const std::int32_t low = op.ofm.is_signed ? -(1 << (8 * op.ofm.element - 1)) : 0,
                     high = low + (1 << 8 * op.ofm.element) - 1;
  return op.activation.low > low || op.activation.high < std::min(high, INT16_MAX + 0) ? kLimits : kNothing;
}

Block shape_of(const FeatureMap& map) noexcept { return {map.height, map.width, map.depth}; }
Block block_of(const Operation& op) noexcept { return {op.block_height, op.block_width, op.block_depth}; }
Block smaller(const Block& a, const Block& b) noexcept {
  return {std::min(a.height, b.height), std::min(a.width, b.width), std::min(a.depth, b.depth)};
}
double elements(const Block& block) noexcept {
  return static_cast<double>(block.height) * block.width * block.depth;
}
// Elements including the channels that pad bricks.
double stored(const Block& shape, Layout layout) noexcept {
  return static_cast<double>(shape.height) * shape.width *
         (layout == Layout::nhcwb16 ? static_cast<double>(ceil_div(shape.depth, 16) * 16) : shape.depth);
}

}  // namespace

Result<CycleModel> CycleModel::make(const Accelerator& accelerator, const SystemConfiguration& system,
                                    const MemoryMode& mode) {
  if (accelerator.product == Product::u85)
    return Status(Code::unsupported) << accelerator.name << ": its cycles have another model";
  return CycleModel(accelerator, system, mode);
}

double CycleModel::copy_cycles(MemoryArea from, MemoryArea to, double bytes) const noexcept {
  return std::max(std::floor(bytes / bytes_per_cycle(from)) + memories_.timing(from).read_latency,
                  std::floor(bytes / bytes_per_cycle(to)));
}

double CycleModel::with_bursts(const FeatureMap& map, const Operation& op, bool read, MemoryArea area,
                               double bytes) const noexcept {
  const Block block = read ? ifm_block_of(op, *accelerator_) : block_of(op);
  const std::int64_t element = map.element, brick = 16 * element * block.width,
                     row = element * block.depth * block.width;
  std::int64_t burst = 0;
  if (map.layout == Layout::nhcwb16) {
    burst = 16 * element * map.width == block.depth ? row : read ? brick : brick * accelerator_->cores;
  } else if (element == block.depth && (read || block.depth <= 16)) {
    burst = row;
  } else {
    burst = element * block.depth;
    if (!read) burst = std::min<std::int64_t>({64, 16 * element * accelerator_->cores, burst});
  }
  const int full = memories_.timing(area).burst;
  return bytes * (static_cast<double>(full) /
                  static_cast<double>(std::min<std::int64_t>(full, std::max<std::int64_t>(burst, 1))));
}

// Reading one block and writing one.
double CycleModel::block_memory_cycles(const Operation& op) const noexcept {
  const auto cycles = [&](const FeatureMap& map, const Block& block, bool read) {
    const MemoryArea area = area_of(map.region);
    const int latency = read ? memories_.timing(area).read_latency : memories_.timing(area).write_latency;
    return latency +
           with_bursts(map, op, read, area, elements(smaller(shape_of(map), block))) / bytes_per_cycle(area);
  };
  return cycles(op.ifm, ifm_block_of(op, *accelerator_), true) + cycles(op.ofm, block_of(op), false);
}

// Of one element.
double CycleModel::output_cycles(const Operation& op) const noexcept {
  const Pace& pace = pace_of(*accelerator_);
  const double cycles = std::max(pace.output[output_kind(op)], pace.function[function_kind(op)]);
  if (op.kind != OperationKind::elementwise) return cycles;
  const double block = elements(block_of(op));
  return std::max(cycles, (block_memory_cycles(op) + cycles * block) / 4 / block);
}

double CycleModel::convolution(const Operation& op, MemoryArea scales) const noexcept {
  const Block input = smaller(shape_of(op.ifm), ifm_block_of(op, *accelerator_));
  Block output = smaller(shape_of(op.ofm), block_of(op));
  Block ublock{accelerator_->ublock_height, accelerator_->ublock_width, accelerator_->ublock_depth};
  const bool convolves = op.kind == OperationKind::conv || op.kind == OperationKind::depthwise;
  const bool wide = op.ifm.element == 2, u55_32 = accelerator_->name == "ethos-u55-32";
  const bool by_part = op.kind == OperationKind::conv && op.kernel.part_kernel;
  const std::int32_t taps_y = op.kernel.taps_y(), taps_x = op.kernel.taps_x();
  // A row of an even number of columns is computed four columns at a time.
  if (ublock.height == 2 && convolves && op.ofm.height == 1 && op.ofm.width % 2 == 0 && taps_y == 1) {
    ublock.height = 1;
    ublock.width = 4;
    output.height = 1;
  }
  const auto x = ceil_div(output.width, ublock.width), y = ceil_div(output.height, ublock.height),
             z = ceil_div(output.depth, ublock.depth);
  const std::int64_t weights = 4 * ublock.depth, products = 4 * x * y;
  const std::int64_t bricks = ceil_div(input.depth, 8);
  std::int64_t delay = u55_32 ? (acc40(op) ? 7 : 3) : acc40(op) && accelerator_->banks <= 24 ? 3 : 2;

  std::int64_t sum = 0;
  for (std::int32_t top = 0; top < taps_y; top += kMaxSubKernel) {
    for (std::int32_t left = 0; left < taps_x; left += kMaxSubKernel) {
      const std::int64_t taps =
          std::int64_t{std::min(taps_y - top, kMaxSubKernel)} * std::min(taps_x - left, kMaxSubKernel);
      std::int64_t steps = 1, cycles = 0;
      if (op.is(PoolMode::max) || op.is(PoolMode::average)) {
        cycles = std::max<std::int64_t>(4, taps) * x * y * z * (wide && !u55_32 ? 2 : 1);
      } else if (op.kind == OperationKind::depthwise) {
        steps = ceil_div(taps, 4);
        cycles = std::max(weights, products * (wide ? 2 : 1)) * steps * z;
      } else if (by_part) {
        steps = ceil_div(taps, wide ? 2 : 4);
        cycles = std::max(weights, products) * steps * bricks * z;
      } else {
        steps = taps;
        cycles = std::max(weights, products) * steps * z;
      }
      std::int64_t waiting = 0;
      if (x == 1 && y == 1) waiting = z == 1 ? delay * steps : delay * (steps - 1) * z;
      if (u55_32 && (x == 1 || y == 1) && z > 1 && acc40(op)) waiting += delay * z;
      sum += cycles + waiting * (by_part ? bricks : 1);
    }
  }
  if (!depth_by_depth(op)) sum *= ceil_div(op.ifm.depth, input.depth);

  double arithmetic = static_cast<double>(sum) / accelerator_->cores;
  double out = std::ceil(output_cycles(op) * elements(output));
  if (op.has_scales)
    out = std::max(
        out, static_cast<double>(10 * output.depth) * memories_.timing(scales).read_latency / kScaleBurst);
  const double least = (block_memory_cycles(op) + out + arithmetic) / 4;
  arithmetic = std::max(arithmetic, least);
  out = std::max(out, least);
  const double blocks =
      static_cast<double>(ceil_div(op.ofm.height, output.height) * ceil_div(op.ofm.width, output.width) *
                          ceil_div(op.ofm.depth, output.depth));
  return std::trunc(std::max(arithmetic, out) * blocks + std::min(arithmetic, out));
}

std::int64_t CycleModel::cycles(const Operation& op) const noexcept {
  if (!op.computes()) return 0;
  if (op.kind != OperationKind::elementwise) return whole_count(convolution(op, area_of(op.weight_region)));
  return whole_count(std::ceil(output_cycles(op) * stored(shape_of(op.ofm), op.ofm.layout)));
}

std::int64_t CycleModel::macs(const Operation& op) const noexcept {
  if (!op.computes() || op.kind == OperationKind::elementwise) return 0;
  return whole_count(static_cast<double>(op.kernel.taps_y()) * op.kernel.taps_x() *
                     (depth_by_depth(op) ? 1 : op.ifm.depth) * op.ofm.height * op.ofm.width * op.ofm.depth);
}

ElementAccess CycleModel::access(const Operation& op) const noexcept {
  ElementAccess out;
  if (!op.computes()) return out;
  out.ofm = stored(shape_of(op.ofm), op.ofm.layout);
  if (op.kind == OperationKind::elementwise) {
    const double whole = stored(shape_of(op.ofm), op.ifm.layout);
    const auto single = [&](const FeatureMap& map) { return elements(shape_of(map)) <= 1; };
    const auto one = [&](const FeatureMap& map) {
      return map.element > 1 ? stored({1, 1, 1}, op.ifm.layout) : 0;
    };
    if (single(op.ifm)) {
      out.ifm = one(op.ifm);
      if (op.has_ifm2) out.ifm2 = whole;
    } else {
      out.ifm = whole;
      if (op.has_ifm2) out.ifm2 = single(op.ifm2) ? one(op.ifm2) : whole;
    }
    return out;
  }
  const Block input = smaller(shape_of(op.ifm), ifm_block_of(op, *accelerator_)),
              output = smaller(shape_of(op.ofm), block_of(op));
  const double across =
      static_cast<double>(ceil_div(op.ofm.height, output.height) * ceil_div(op.ofm.width, output.width));
  const bool once = depth_by_depth(op);
  const double blocks = across * (once ? 1 : static_cast<double>(ceil_div(op.ofm.depth, output.depth)));
  const std::int32_t taps_y = op.kernel.taps_y(), taps_x = op.kernel.taps_x();
  const double parts = static_cast<double>(ceil_div(taps_y, kMaxSubKernel) * ceil_div(taps_x, kMaxSubKernel));
  out.ifm = stored({input.height, input.width, op.ifm.depth}, op.ifm.layout) * parts * blocks;
  if (op.kind == OperationKind::pool) return out;
  const double kernel = static_cast<double>(taps_y) * taps_x * (once ? 1 : op.ifm.depth);
  out.weights = kernel * (once ? op.ifm.depth : output.depth) * blocks;
  out.scales = op.ofm.depth;
  return out;
}

}  // namespace runnel::npu
