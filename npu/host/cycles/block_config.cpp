#include "npu/host/cycles/block_config.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked.h"

namespace runnel::npu {
namespace {

constexpr std::int32_t kFirstBank = 2, kDepthStep = 16;
constexpr Block kMax{32, 64, 128};

std::int32_t round_up(std::int32_t value, std::int32_t step) noexcept {
  return static_cast<std::int32_t>(ceil_div(value, step)) * step;
}
bool equal_depth(const Operation& op) noexcept {
  return op.kind != OperationKind::conv && !op.is(PoolMode::reduce_sum);
}

// The largest block worth trying.
Block search_space(const Operation& op, const Accelerator& accelerator) noexcept {
  const auto limit = [](std::int32_t size, std::int32_t most, std::int32_t ublock) {
    return round_up(std::min(size, most), ublock);
  };
  return {limit(op.ofm.height, kMax.height, accelerator.ublock_height),
          limit(op.ofm.width, kMax.width, accelerator.ublock_width),
          limit(op.ofm.depth, kMax.depth, accelerator.ublock_depth)};
}
// Depths in order; where channels are cut, multiples of 16.
std::int32_t first_depth(const Operation& op, const Accelerator& accelerator, const Block& space) noexcept {
  const std::int32_t depth = std::max(accelerator.ublock_depth, std::min(space.depth, kDepthStep));
  return depth < op.ofm.depth ? round_up(depth, kDepthStep) : depth;
}
std::int32_t next_depth(std::int32_t depth, const Operation& op, const Accelerator& accelerator) noexcept {
  depth += accelerator.ublock_depth;
  return depth < op.ofm.depth ? round_up(depth, kDepthStep) : depth;
}

}  // namespace

void set_block(Operation& op, const BlockConfig& config) noexcept {
  op.block_height = config.block.height;
  op.block_width = config.block.width;
  op.block_depth = config.block.depth;
  op.ib_end = config.ib_end;
  op.ab_start = config.ab_start;
  op.ifm2_ib_start = config.ifm2_ib_start;
}

Result<BlockConfig> layout_of(const Operation& op, const Accelerator& accelerator) noexcept {
  if (accelerator.product == Product::u85)
    return Status(Code::unsupported) << accelerator.name << ": its blocks are not known";
  const auto legal = [](std::int32_t size, std::int32_t most, std::int32_t ublock) {
    return size > 0 && size <= most && size % ublock == 0;
  };
  const auto fail = [&] {
    return Status(Code::invalid_argument)
           << "block of " << op.block_height << " x " << op.block_width << " x " << op.block_depth << ": ";
  };
  if (!legal(op.block_height, kMax.height, accelerator.ublock_height) ||
      !legal(op.block_width, kMax.width, accelerator.ublock_width) ||
      !legal(op.block_depth, kMax.depth, accelerator.ublock_depth)) {
    return fail() << "expected multiples of " << accelerator.ublock_height << " x "
                  << accelerator.ublock_width << " x " << accelerator.ublock_depth << " up to 32 x 64 x 128";
  }
  const BankUse use = banks_of(op, accelerator);
  const bool elementwise = op.kind == OperationKind::elementwise;
  const std::int32_t inputs = elementwise && op.has_ifm2 && !op.scalar ? 2 : 1;
  BlockConfig config;
  config.block = {op.block_height, op.block_width, op.block_depth};
  config.ifm2_ib_start = kFirstBank + use.ifm;
  config.ab_start = use.usable - use.accumulators;
  const std::int32_t end = kFirstBank + inputs * use.ifm;
  config.ib_end = elementwise ? config.ab_start : end;
  if (end > config.ab_start)
    return fail() << "buffers take " << end << " and accumulators " << use.accumulators
                  << " banks, expected at most " << use.usable << " together";
  return config;
}

std::vector<BlockConfig> legal_blocks(const Operation& op, const Accelerator& accelerator) {
  std::vector<BlockConfig> out;
  if (accelerator.product == Product::u85) return out;
  const Block space = search_space(op, accelerator);
  Operation tried = op;
  for (std::int32_t depth = first_depth(op, accelerator, space); depth <= space.depth;
       depth = next_depth(depth, op, accelerator)) {
    for (std::int32_t height = accelerator.ublock_height; height <= space.height;
         height += accelerator.ublock_height) {
      for (std::int32_t width = accelerator.ublock_width; width <= space.width;
           width += accelerator.ublock_width) {
        tried.block_height = height;
        tried.block_width = width;
        tried.block_depth = depth;
        // A block that does not fit does not fit when wider.
        const auto config = layout_of(tried, accelerator);
        if (!config.ok()) break;
        out.push_back(*config);
      }
    }
  }
  return out;
}

Result<BlockConfig> best_block(const Operation& op, const CycleModel& model) {
  using Cost = std::tuple<double, double, double, std::int64_t>;
  Cost least{std::numeric_limits<double>::infinity(), 0, 0, 0};
  BlockConfig best;
  Operation tried = op;
  for (const BlockConfig& config : legal_blocks(op, model.accelerator())) {
    set_block(tried, config);
    const Estimate found = estimate({&tried, 1}, model);
    double bytes = 0;
    for (const Traffic& traffic : found.traffic) bytes += traffic.read + traffic.written;
    const Block& block = config.block;
    const Cost cost{found.total, found.npu, bytes, -(std::int64_t{block.height} * block.width * block.depth)};
    if (cost >= least) continue;
    least = cost;
    best = config;
  }
  if (best.block.height == 0)
    return Status(Code::not_found) << name_of(op) << ": no block fits into the memory of "
                                   << model.accelerator().name;
  return best;
}

Result<BlockConfig> compilers_block(const Operation& op, const Accelerator& accelerator) {
  if (accelerator.product == Product::u85)
    return Status(Code::unsupported) << accelerator.name << ": its blocks are not known";
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const bool elementwise = op.kind == OperationKind::elementwise,
             convolves = op.kind == OperationKind::conv || op.kind == OperationKind::depthwise;
  const FeatureMap& ifm = elementwise && op.has_ifm2 &&
                                  std::int64_t{op.ifm2.height} * op.ifm2.width * op.ifm2.depth >
                                      std::int64_t{op.ifm.height} * op.ifm.width * op.ifm.depth
                              ? op.ifm2
                              : op.ifm;
  const double ifm_elements = static_cast<double>(ifm.height) * ifm.width * ifm.depth,
               ofm_elements = static_cast<double>(op.ofm.height) * op.ofm.width * op.ofm.depth;
  const double repeats = static_cast<double>(ceil_div(op.kernel.width, 8) * ceil_div(op.kernel.height, 8));
  const double taps = convolves ? static_cast<double>(op.kernel.width) * op.kernel.height : 0;
  const Block space = search_space(op, accelerator);
  double best_cost = kNone, best_coverage = kNone;
  BlockConfig best;
  Operation tried = op;
  for (std::int32_t depth = first_depth(op, accelerator, space); depth <= space.depth;
       depth = next_depth(depth, op, accelerator)) {
    // Blocks that did not fit are not tried with height and width exchanged.
    std::set<std::pair<std::int32_t, std::int32_t>> not_tried;
    for (std::int32_t height = accelerator.ublock_height; height <= space.height;
         height += accelerator.ublock_height) {
      for (std::int32_t width = accelerator.ublock_width; width <= space.width;
           width += accelerator.ublock_width) {
        if (not_tried.count({height, width}) != 0) continue;
        tried.block_height = height;
        tried.block_width = width;
        tried.block_depth = depth;
        const auto config = layout_of(tried, accelerator);
        if (!config.ok()) {
          not_tried.insert({width, height});
          continue;
        }
        const Block input = ifm_block_of(tried, accelerator);
        // Rows that do not exist are not fetched.
        const std::int32_t rows =
            op.ofm.height == 1 && op.kernel.height == 1 && accelerator.ublock_height == 2 ? 1 : height;
        const double across =
            static_cast<double>(ceil_div(op.ofm.height, rows) * ceil_div(op.ofm.width, width));
        const double parts = static_cast<double>(op.ofm.height) / rows *
                             (static_cast<double>(op.ofm.width) / width),
                     deep = static_cast<double>(op.ofm.depth) / depth;
        double weights = taps * ifm.depth * across;
        if (op.kind != OperationKind::depthwise) weights *= depth * deep;
        double fetched = static_cast<double>(input.height) * input.width * ifm.depth * repeats * parts;
        if (!equal_depth(op)) fetched *= static_cast<double>(ceil_div(op.ofm.depth, depth));
        double cost = elementwise
                          ? std::max(ofm_elements / (static_cast<double>(height) * width * depth), 1.0)
                          : (fetched + weights) / ofm_elements;
        if (ifm_elements < static_cast<double>(input.height) * input.width * input.depth * 2) cost /= 2;
        if (cost > best_cost) continue;
        if (cost == best_cost) {
          const double coverage =
              static_cast<double>(ifm.height) * ifm.width /
              (static_cast<double>(std::min(ifm.height, input.height)) * std::min(ifm.width, input.width));
          if (coverage > best_coverage || height > 4 || width > 4) continue;
          best_coverage = coverage;
        } else {
          best_coverage = kNone;
        }
        best_cost = cost;
        best = *config;
      }
    }
  }
  if (best_cost == kNone)
    return Status(Code::not_found) << name_of(op) << ": no block fits into the memory of "
                                   << accelerator.name;
  return best;
}

bool prefers_part_kernel(const Operation& op) noexcept {
  if (op.ifm.depth <= 8) return true;
  const bool wide = op.ifm.element == 2;
  const std::int64_t taps = std::int64_t{op.kernel.taps_y()} * op.kernel.taps_x();
  const double by_depth = static_cast<double>(op.ifm.depth) / round_up(op.ifm.depth, wide ? 16 : 32);
  const double by_part = static_cast<double>(op.ifm.depth) * static_cast<double>(taps) /
                         (static_cast<double>(round_up(op.ifm.depth, 8)) *
                          static_cast<double>(ceil_div(taps, wide ? 2 : 4) * (wide ? 2 : 4)));
  return by_part > by_depth;
}

}  // namespace runnel::npu
