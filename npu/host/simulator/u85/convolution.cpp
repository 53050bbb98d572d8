// Convolutions, with weights from a stream or from the second map.
#include <algorithm>

#include "npu/host/simulator/convolution_sums.h"
#include "npu/host/simulator/feature_map.h"
#include "npu/host/simulator/u85/executor.h"
#include "npu/host/u85/weights.h"

namespace runnel::npu::u85 {

Result<const std::vector<std::int16_t>*> Executor::weights_of(const Operation& op) {
  const std::span<const std::byte> region = memory_->read(op.weight_region);
  DecodedWeights::Streams streams;
  for (std::size_t i = 0; i < streams.size(); ++i)
    streams[i] = region.subspan(static_cast<std::size_t>(op.weights[i].base),
                                static_cast<std::size_t>(op.weights[i].length));
  DecodedWeights& known = weights_[op.index];
  if (known.made_of(streams)) return &known.values;
  kernels_[op.index] = {};
  WeightOrder order = weight_order(op, accelerator_);
  order.alternates = fault_ != Fault::blocks_in_sequence;
  order.serpentine = fault_ != Fault::rows_in_sequence;
  order.columns_first = fault_ != Fault::sub_kernels_by_rows;
  order.in_turns = fault_ != Fault::fast_by_decoder;
  if (fault_ == Fault::sparse_as_dense) order.sparse = false;
  return known.decode(streams, [&] { return unpack_weights(order, op.u85.fast_weights, streams); });
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

KernelConvolution* Executor::kernel_of(const Operation& op, const std::vector<std::int16_t>& weights,
                                       const KernelOutput& stored) {
  std::vector<ScaleRecord> scales = scales_of(op, *memory_);
  if (op.u85.second_weights) {
    product_ = KernelConvolution::make(op, weights, scales, stored, isa_);
    return product_.get();
  }
  OnKernel& kernel = kernels_[op.index];
  if (!kernel.made || kernel.of != scales) {
    kernel = {true, std::move(scales), nullptr};
    kernel.convolution = KernelConvolution::make(op, weights, kernel.of, stored, isa_);
  }
  return kernel.convolution.get();
}

bool Executor::convolution_on_kernel(const Operation& op, const std::vector<std::int16_t>& weights) {
  // Accumulators that others left or will need are not in a kernel, nor chained maps.
  if (isa_ == Isa::reference || op.u85.start != AccumulatorStart::zero || op.u85.kept || op.u85.silent ||
      op.ifm.storage == Storage::chained)
    return false;
  const OutputStage output(op, tables_, fault_);
  KernelOutput stored;
  if (!output.of_kernel(op, stored)) return false;
  KernelConvolution* const kernel = kernel_of(op, weights, stored);
  if (kernel == nullptr) return false;
  kernel->run(memory_->read(op.ifm.region));
  store(op, output, stored, kernel->results());
  return true;
}

Status Executor::convolution(const Operation& op) {
  std::vector<std::int16_t> made;
  const std::vector<std::int16_t>* weights = &made;
  if (op.u85.second_weights) {
    RUNNEL_ASSIGN(made, second_weights(op));
  } else {
    RUNNEL_ASSIGN(weights, weights_of(op));
  }
  if (convolution_on_kernel(op, *weights)) return {};
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
