#include "npu/host/encoder/generation.h"

#include "npu/bounds.h"
#include "npu/host/cycles/cycles.h"
#include "npu/host/encoder/block_choice.h"
#include "npu/host/encoder/u85/generation.h"
#include "npu/host/encoder/weight_encoder.h"

namespace runnel::npu {
namespace {

// Ethos-U55 and U65, in whose terms steps are written.
class FirstGeneration final : public Generation {
 public:
  FirstGeneration(const ProgramOptions& options, const CycleModel& model)
      : Generation(options), model_(model) {}

  Status adapt(Step& step, std::span<const std::byte> /*second*/) const override {
    step.op.cores = convolves(step.op) ? accelerator().cores : 1;
    step.op.has_scales = convolves(step.op);
    return {};
  }
  Status choose_block(Operation& op) const override { return npu::choose_block(op, model_); }
  std::int64_t scale_bytes(const Operation& op) const override { return kScaleRecord * op.ofm.depth; }
  Estimate estimate(std::span<const Operation> operations) const override {
    return npu::estimate(operations, model_);
  }

  bool looks_up_results() const override { return false; }
  bool expects_cache() const override { return false; }

  // Scales, then weights, core by core.
  PackedStreams pack(Step& step) const override {
    const Operation& op = step.op;
    PackedStreams out;
    const std::size_t each = step.weights.size() / static_cast<std::size_t>(op.ofm.depth);
    for (std::int32_t core = 0; core < op.cores; ++core) {
      const std::int32_t outs = channels_of(op.ofm.depth, core, op.cores);
      Bytes& own_scales = out.scales.emplace_back();
      Bytes& own_weights = out.weights.emplace_back();
      if (outs == 0) continue;
      std::vector<std::int16_t> own;
      std::vector<std::byte> scales;
      // Channels are dealt to the cores in turn.
      for (std::int32_t i = 0; i < outs; ++i) {
        const auto channel = static_cast<std::size_t>(core + i * op.cores);
        const auto first = step.weights.begin() + static_cast<std::ptrdiff_t>(channel * each);
        own.insert(own.end(), first, first + static_cast<std::ptrdiff_t>(each));
        append_scale_record(step.scales[channel], scales);
      }
      scales.resize(align_stream(scales.size()));
      const std::vector<std::byte> weights = pack_weights(weight_order(op, accelerator(), core), own);
      own_scales = {static_cast<std::int64_t>(out.bytes.size()), static_cast<std::int64_t>(scales.size())};
      out.bytes.insert(out.bytes.end(), scales.begin(), scales.end());
      own_weights = {static_cast<std::int64_t>(out.bytes.size()), static_cast<std::int64_t>(weights.size())};
      out.bytes.insert(out.bytes.end(), weights.begin(), weights.end());
    }
    return out;
  }

 private:
  CycleModel model_;
};

}  // namespace

Result<std::shared_ptr<const Generation>> Generation::make(const ProgramOptions& options) {
  if (options.accelerator->product == Product::u85) return u85::make_generation(options);
  RUNNEL_ASSIGN(const CycleModel model,
                CycleModel::make(*options.accelerator, *options.system, *options.mode));
  return std::shared_ptr<const Generation>(std::make_shared<FirstGeneration>(options, model));
}

}  // namespace runnel::npu
