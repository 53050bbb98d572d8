#include "npu/host/cycles/u85/what_if.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/checked.h"
#include "npu/host/cycles/u85/cycle_model.h"
#include "npu/host/cycles/u85/uncut_weights.h"
#include "npu/u85/chains.h"
#include "npu/u85/configuration.h"
#include "npu/u85/validate.h"
#include "npu/validate.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::string_view kConfigurations[] = {"ethos-u85-128", "ethos-u85-256", "ethos-u85-512",
                                                "ethos-u85-1024", "ethos-u85-2048"};
constexpr std::uint8_t kMicroBlocks = 6;
constexpr std::int32_t kWidest = 128, kDeepest = 1024, kDepthStep = 16;
// A bound on time: the choice of a block takes half a millisecond.
constexpr std::size_t kMostOperations = 4096;

// Whether the rules of the hardware allow a block.
class BlockRules final : ViolationSink {
 public:
  explicit BlockRules(const Accelerator& accelerator) noexcept : accelerator_(accelerator) {}

  bool allow(const Operation& op) noexcept {
    allowed_ = true;
    Chains chains;
    check_rules(op, accelerator_, chains, *this);
    return allowed_;
  }

 private:
  void report(const Operation&, std::string_view rule, std::string_view) noexcept override {
    if (rule == rule::kBlock || rule == rule::kShram) allowed_ = false;
  }

  const Accelerator& accelerator_;
  bool allowed_ = true;
};

// Sizes along an axis, from the whole one down.
std::vector<std::int32_t> sizes(std::int32_t whole, std::int32_t step, std::int32_t most) {
  const std::int32_t rounded =
      std::min(static_cast<std::int32_t>(ceil_div(std::max(whole, 1), step)) * step, most / step * step);
  std::vector<std::int32_t> out{rounded};
  for (std::int32_t parts = 2; out.back() > step; parts *= 2) {
    const auto size = static_cast<std::int32_t>(ceil_div(ceil_div(rounded, parts), step)) * step;
    if (size < out.back()) out.push_back(size);
  }
  return out;
}

// Whether two blocks of the input and two of the accumulators fit, of which one is filled while the other is
// used; elements of the output have a memory, too.
bool fits_twice(const Operation& op, const Accelerator& accelerator) noexcept {
  const double positions = static_cast<double>(op.block_height) * op.block_width;
  if (op.kind == OperationKind::elementwise)
    return static_cast<double>(op.block_width) * op.block_depth * op.ofm.element <=
           blocks_of(accelerator).output_bytes;
  const Block input =
      smaller(input_block_shape(op, accelerator),
              {op.ifm.height + kDepthStep, op.ifm.width + kDepthStep, op.ifm.depth + kDepthStep});
  return 2 * elements(input) * op.ifm.element <= blocks_of(accelerator).ifm_bytes &&
         2 * positions * op.block_depth * (op.acc_format == 1 ? 8 : 4) <=
             blocks_of(accelerator).accumulator_bytes;
}

// Columns that a block is worth having. Elements are issued in blocks, which may be larger than the map.
std::int32_t columns(const Operation& op, std::int32_t depth, const Accelerator& accelerator) noexcept {
  if (op.kind != OperationKind::elementwise) return op.ofm.width;
  return blocks_of(accelerator).output_bytes / (depth * std::max<std::int32_t>(op.ofm.element, 1));
}

struct Choice {
  Block block;
  std::uint8_t microblock = 0;
};

void set(Operation& op, const Choice& choice) noexcept {
  op.block_height = choice.block.height;
  op.block_width = choice.block.width;
  op.block_depth = choice.block.depth;
  op.microblock = choice.microblock;
}

// The quickest of the blocks tried; one that fits twice is better than one that does not.
Result<Choice> quickest(Layer layer, const CycleModel& model) {
  const Accelerator& accelerator = model.accelerator();
  BlockRules rules(accelerator);
  Operation& op = layer.first;
  using Cost = std::tuple<bool, double, double>;
  Cost least{true, std::numeric_limits<double>::infinity(), 0};
  Choice best;
  for (std::uint8_t number = 0; number < kMicroBlocks; ++number) {
    const MicroBlock micro = microblock(accelerator, number);
    if (micro.depth == 0) continue;
    const std::int32_t step = std::max(kDepthStep, micro.depth);
    for (const std::int32_t depth : sizes(op.ofm.depth, step, kDeepest)) {
      for (const std::int32_t height : sizes(op.ofm.height, micro.height, kWidest)) {
        for (const std::int32_t width : sizes(columns(op, depth, accelerator), micro.width, kWidest)) {
          const Choice choice{{height, width, depth}, number};
          set(op, choice);
          if (!rules.allow(op)) continue;
          const OperationEstimate cost = estimate_layer(layer, model, 0, true).cost;
          const Cost found{!fits_twice(op, accelerator), cost.total, cost.npu};
          if (found >= least) continue;
          least = found;
          best = choice;
        }
      }
    }
  }
  if (best.block.height == 0)
    return Status(Code::not_found) << "operation " << op.index << ": no block fits into the memory of "
                                   << accelerator.name;
  return best;
}

// Sets blocks for another configuration.
Status reblock(std::span<Operation> operations, const CycleModel& model) {
  const std::vector<Operation> originals(operations.begin(), operations.end());
  LayerReader reader(originals);
  for (Layer layer; reader.next(layer);) {
    const Unit unit = unit_of(layer.first);
    if (unit == Unit::copy || unit == Unit::resize) continue;
    RUNNEL_ASSIGN(const Choice choice, quickest(layer, model));
    for (const Operations* part : {&layer.slices, &layer.chained}) {
      for (const Operation* op : *part)
        set(operations[static_cast<std::size_t>(op - originals.data())], choice);
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Alternative>> what_if(std::span<const Operation> operations,
                                         const Accelerator& accelerator, const SystemConfiguration& system,
                                         const MemoryMode& mode, std::span<const std::byte> constants) {
  if (operations.size() > kMostOperations)
    return Status(Code::unsupported) << operations.size() << " operations, expected at most "
                                     << kMostOperations << " for other configurations";
  RUNNEL_ASSIGN(const CycleModel own, CycleModel::make(accelerator, system, mode));
  const std::vector<UncutWeights> uncut = uncut_weights(operations, accelerator, constants);
  std::vector<Alternative> out;
  for (const std::string_view name : kConfigurations) {
    RUNNEL_ASSIGN(const Accelerator* const target, find_accelerator(name));
    if (target->macs == accelerator.macs) {
      out.push_back({target, true, estimate(operations, own, uncut)});
      continue;
    }
    RUNNEL_ASSIGN(const CycleModel model, CycleModel::make(*target, system, mode));
    std::vector<Operation> changed(operations.begin(), operations.end());
    RUNNEL_TRY(reblock(changed, model));
    out.push_back({target, false, estimate(changed, model, uncut)});
  }
  return out;
}

}  // namespace runnel::npu::u85
