// Convolutions, with weights from a stream or from the second map.
#include <algorithm>

#include "npu/host/simulator/convolution_sums.h"
#include "npu/host/simulator/feature_map.h"
#include "npu/host/simulator/u85/executor.h"
#include "npu/host/u85/weights.h"

namespace runnel::npu::u85 {

Result<const std::vector<std::int16_t>*> Executor::weights_of(const Operation& op) {
  const std::span<const std::byte> region = memory_->read(op.weight_region);
  std::vector<std::byte> bytes;
  std::array<std::span<const std::byte>, 4> streams;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i] = region.subspan(static_cast<std::size_t>(op.weights[i].base),
                                static_cast<std::size_t>(op.weights[i].length));
    bytes.insert(bytes.end(), streams[i].begin(), streams[i].end());
  }
  Weights& known = weights_[op.index];
  if (!known.values.empty() && known.made_of == bytes) return &known.values;
  known.values.clear();
  RUNNEL_ASSIGN(known.values, unpack_weights(weight_order(op, accelerator_), op.u85.fast_weights, streams));
  known.made_of = std::move(bytes);
  return &known.values;
}

Result<std::vector<std::int16_t>> Executor::second_weights(const Operation& op) {
  read_operand(op.ifm2, second_);
  std::vector<std::int16_t> weights(second_.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (second_[i] < INT16_MIN || second_[i] > INT16_MAX)
      return Status(Code::unsupported) << "weights of more than 16 bits from IFM2";
    weights[i] = static_cast<std::int16_t>(second_[i]);
  }
  return weights;
}

Status Executor::convolution(const Operation& op) {
  std::vector<std::int16_t> made;
  const std::vector<std::int16_t>* weights = &made;
  if (op.u85.second_weights) {
    RUNNEL_ASSIGN(made, second_weights(op));
  } else {
    RUNNEL_ASSIGN(weights, weights_of(op));
  }
  read_operand(op.ifm, first_);
  narrow_.resize(first_.size());
  std::transform(first_.begin(), first_.end(), narrow_.begin(),
                 [](std::int64_t value) { return static_cast<std::int32_t>(value); });
  std::vector<std::int64_t> biases(static_cast<std::size_t>(op.ofm.depth));
  if (!op.global_scale) {
    const std::vector<ScaleRecord> scales = records(op);
    for (std::size_t i = 0; i < biases.size(); ++i) biases[i] = scales[i].bias;
  }
  result_.resize(elements_of(op.ofm));
  convolution_sums(op, narrow_, *weights, [&](std::size_t position, std::span<const std::int64_t> sums) {
    for (std::size_t i = 0; i < sums.size(); ++i) result_[position * sums.size() + i] = sums[i] + biases[i];
  });
  if (accumulate(op))
    scale(op);
  else
    result_.clear();
  return {};
}

}  // namespace runnel::npu::u85
