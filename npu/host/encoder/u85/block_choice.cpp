#include "npu/host/encoder/u85/block_choice.h"

#include <algorithm>
#include <tuple>

#include "base/checked.h"
#include "npu/host/encoder/u85/weight_encoder.h"
#include "npu/u85/blocks.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::uint8_t kMicroBlocks = 6;

std::int32_t up_to(std::int32_t size, std::int32_t step, std::int32_t most) {
  return std::min(static_cast<std::int32_t>(ceil_div(size, step)) * step, most / step * step);
}

class Search {
 public:
  Search(const Operation& op, const CycleModel& model)
      : op_(op),
        accelerator_(model.accelerator()),
        memories_(blocks_of(model.accelerator())),
        model_(model) {}

  Status run(Operation& out) {
    // Twice each, or once.
    for (const int times : {2, 1}) {
      forms(times);
      if (!found_) continue;
      out = best_;
      return {};
    }
    return Status(Code::not_found) << "no block of " << name_of(op_) << " fits into " << accelerator_.name;
  }

 private:
  void forms(int times) {
    const bool weighted = op_.kind == OperationKind::conv && !op_.u85.second_weights;
    for (const bool part_kernel : {false, true}) {
      if (part_kernel && !weighted) break;
      for (const bool sparse : {false, true}) {
        if (sparse && !op_.u85.sparse_weights) break;
        Operation tried = op_;
        tried.kernel.part_kernel = part_kernel;
        tried.u85.sparse_weights = sparse;
        for (std::uint8_t number = 0; number < kMicroBlocks; ++number) {
          tried.microblock = number;
          if (microblock(accelerator_, number).depth == 0 ||
              (usable_microblocks(tried, accelerator_) >> number & 1) == 0)
            continue;
          blocks(tried, times);
        }
      }
    }
  }

  void blocks(Operation op, int times) {
    const MicroBlock micro = microblock(accelerator_, op.microblock);
    if (op.kind == OperationKind::resize) return resize(op);
    if (reads_weights(op)) set_lengths(op);
    // Bricks of the stored output begin with whole bricks of the block.
    const bool bricks = op.ofm.layout == Layout::nhcwb16;
    const Transpose as = op.u85.transpose;
    const std::int32_t row_step = bricks && (as == Transpose::wch || as == Transpose::cwh)
                                      ? std::max(micro.height, kBrick)
                                      : micro.height,
                       column_step = bricks && (as == Transpose::hcw || as == Transpose::chw)
                                         ? std::max(micro.width, kBrick)
                                         : micro.width,
                       depth_step = std::max(micro.depth, kBrick);
    const std::int32_t rows = up_to(op.ofm.height, row_step, kMaxBlock),
                       columns = up_to(op.ofm.width, column_step, kMaxBlock),
                       depth = op.u85.reversed == Axis::depth
                                   ? kBrick
                                   : up_to(op.ofm.depth, depth_step, kMaxBlockDepth);
    for (op.block_depth = depth_step; op.block_depth <= depth; op.block_depth += depth_step) {
      for (op.block_height = row_step; op.block_height <= rows; op.block_height += row_step) {
        for (op.block_width = column_step; op.block_width <= columns; op.block_width += column_step) {
          // A block that does not fit does not fit when wider.
          if (!fits(op, times)) break;
          offer(op);
        }
      }
    }
  }
  // Zeros that fill micro-blocks up take about an eighth of a bit each.
  void set_lengths(Operation& op) const {
    constexpr std::int64_t kZerosInByte = 64;
    op.block_depth = std::max(microblock(accelerator_, op.microblock).depth, kBrick);
    const std::int64_t depth = op.kind == OperationKind::depthwise ? 1 : op.ifm.depth,
                       weights = depth * op.ofm.depth * op.kernel.taps_y() * op.kernel.taps_x();
    op.weights[0].length += (streamed_weights(op, accelerator_) - weights) / kZerosInByte;
    op.scales[0].length = scale_bytes(op, accelerator_);
  }

  void resize(Operation op) {
    op.block_height = 1;
    op.block_depth = kBrick;
    const std::int64_t most = most_resized_columns(op, accelerator_);
    op.block_width = most == 0 ? kMaxBlock : static_cast<std::int32_t>(most);
    offer(op);
  }

  [[nodiscard]] bool fits(const Operation& op, int times) const {
    if (op.kind == OperationKind::elementwise) {
      const std::int64_t row = std::int64_t{op.block_width} * op.block_depth;
      if (row * op.ofm.element > memories_.output_bytes) return false;
      if (op.broadcast == 0 && op.u85.first_broadcast == 0) return true;
      const std::int32_t element = std::max(op.ifm.element, op.ifm2.element);
      return op.block_height * row <= kBrick * chaining_bricks(accelerator_, element);
    }
    return times * accumulator_bytes(op) <= memories_.accumulator_bytes &&
           (!has_window(op) || times * input_bytes(op, accelerator_) <= memories_.ifm_bytes);
  }

  void offer(const Operation& op) {
    // Copies of weights are hidden or not, whatever the block is.
    const OperationEstimate found = model_.cost({&op, 1});
    const double arithmetic = model_.cycles(op);
    double most = arithmetic, bytes = 0;
    for (const double access : found.access) most = std::max(most, access);
    for (const Traffic& traffic : found.traffic) bytes += traffic.read + traffic.written;
    const Cost cost{most, arithmetic, bytes,
                    -(std::int64_t{op.block_height} * op.block_width * op.block_depth)};
    if (found_ && cost >= least_) return;
    found_ = true;
    least_ = cost;
    best_ = op;
  }

  using Cost = std::tuple<double, double, double, std::int64_t>;
  const Operation& op_;
  const Accelerator& accelerator_;
  const Blocks& memories_;
  const CycleModel& model_;
  Operation best_;
  bool found_ = false;
  Cost least_;
};

}  // namespace

Status choose_block(Operation& op, const CycleModel& model) {
  const Operation asked = op;
  return Search(asked, model).run(op);
}

}  // namespace runnel::npu::u85
