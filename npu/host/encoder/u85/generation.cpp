#include "npu/host/encoder/u85/generation.h"

#include <algorithm>

#include "base/checked.h"
#include "npu/bounds.h"
#include "npu/host/encoder/u85/adapt.h"
#include "npu/host/encoder/u85/block_choice.h"
#include "npu/host/encoder/u85/weight_encoder.h"
#include "npu/u85/blocks.h"

namespace runnel::npu::u85 {
namespace {

class NewestGeneration final : public Generation {
 public:
  explicit NewestGeneration(const ProgramOptions& options) : Generation(options) {}

  Status adapt(Step& step, std::span<const std::byte> second) const override {
    return u85::adapt(step, second);
  }
  Status choose_block(Operation& op) const override {
    return u85::choose_block(op, accelerator(), [&](const Operation& tried) { return cycles(tried); });
  }
  Estimate estimate(std::span<const Operation> operations) const override {
    Estimate out;
    for (const Operation& op : operations) out.total += cycles(op);
    return out;
  }

  // Scales of all channels, then weights, decoder by decoder.
  PackedStreams pack(Step& step) const override {
    Operation& op = step.op;
    PackedStreams out;
    const WeightOrder order = weight_order(op, accelerator());
    for (const ScaleRecord& record : step.scales) append_scale_record(record, op.acc_format != 0, out.bytes);
    const auto together = static_cast<std::size_t>(records_together(order));
    out.bytes.resize(align_stream((step.scales.size() + together - 1) / together * together *
                                  static_cast<std::size_t>(kScaleRecord)));
    out.scales = {{0, static_cast<std::int64_t>(out.bytes.size())}};
    const PackedWeights packed = pack_weights(order, step.weights);
    op.u85.fast_weights = packed.fast;
    for (const std::vector<std::byte>& bytes : packed.streams) {
      out.weights.push_back(
          {static_cast<std::int64_t>(out.bytes.size()), static_cast<std::int64_t>(bytes.size())});
      out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
    }
    return out;
  }

 private:
  // A rough one: products or outputs of all blocks, and the bytes of weights.
  [[nodiscard]] double cycles(const Operation& op) const {
    if (!op.computes()) return 0;
    const double elements = static_cast<double>(op.ofm.height) * op.ofm.width * op.ofm.depth * op.ofm.element;
    const double out = 64.0 * elements / accelerator().macs;
    if (!has_window(op)) return out;
    const MicroBlock micro = microblock(accelerator(), op.microblock);
    const auto blocks = [](std::int32_t size, std::int32_t block) {
      return static_cast<double>(ceil_div(size, block));
    };
    const double positions = blocks(op.ofm.height, micro.height) * blocks(op.ofm.width, micro.width) *
                             blocks(op.ofm.depth, micro.depth);
    const double taps = static_cast<double>(op.kernel.taps_y()) * op.kernel.taps_x();
    double products = positions * std::max(taps, 4.0) * 4;
    if (op.kind == OperationKind::depthwise) products = positions * blocks(static_cast<int>(taps), 4) * 4;
    if (sums_channels(op)) {
      const std::int32_t depth = input_depth(op, accelerator());
      products =
          op.kernel.part_kernel
              ? positions * blocks(static_cast<int>(taps), 4) * 4 * blocks(op.ifm.depth, 8)
              : positions * taps * blocks(op.ifm.depth, depth) * (std::min(depth, op.ifm.depth) + 7) / 8;
      if (op.u85.sparse_weights) products /= 2;
    }
    const double around = blocks(op.ofm.height, op.block_height) * blocks(op.ofm.width, op.block_width) *
                          blocks(op.ofm.depth, op.block_depth);
    return std::max(products, out) + 40 * around + static_cast<double>(op.weights[0].length) / 12;
  }
};

}  // namespace

Result<std::shared_ptr<const Generation>> make_generation(const ProgramOptions& options) {
  return std::shared_ptr<const Generation>(std::make_shared<NewestGeneration>(options));
}

}  // namespace runnel::npu::u85
