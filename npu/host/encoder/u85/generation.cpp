#include "npu/host/encoder/u85/generation.h"

#include "npu/host/cycles/u85/cycle_model.h"
#include "npu/host/encoder/u85/adapt.h"
#include "npu/host/encoder/u85/block_choice.h"
#include "npu/host/encoder/u85/weight_encoder.h"

namespace runnel::npu::u85 {
namespace {

class NewestGeneration final : public Generation {
 public:
  NewestGeneration(const ProgramOptions& options, const CycleModel& model)
      : Generation(options), model_(model) {}

  Status adapt(Step& step, std::span<const std::byte> second) const override {
    return u85::adapt(step, second);
  }
  Status choose_block(Operation& op) const override { return u85::choose_block(op, model_); }
  std::int64_t scale_bytes(const Operation& op) const override { return u85::scale_bytes(op, accelerator()); }
  Estimate estimate(std::span<const Operation> operations) const override {
    return u85::estimate(operations, model_);
  }

  bool looks_up_results() const override { return true; }
  bool expects_cache() const override { return true; }

  // Scales of all channels, then weights, decoder by decoder.
  PackedStreams pack(Step& step) const override {
    Operation& op = step.op;
    PackedStreams out;
    const WeightOrder order = weight_order(op, accelerator());
    for (const ScaleRecord& record : step.scales) append_scale_record(record, op.acc_format != 0, out.bytes);
    out.bytes.resize(static_cast<std::size_t>(scale_bytes(op)));
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
  CycleModel model_;
};

}  // namespace

Result<std::shared_ptr<const Generation>> make_generation(const ProgramOptions& options) {
  RUNNEL_ASSIGN(const CycleModel model,
                CycleModel::make(*options.accelerator, *options.system, *options.mode));
  return std::shared_ptr<const Generation>(std::make_shared<NewestGeneration>(options, model));
}

}  // namespace runnel::npu::u85
