#include "compiler/quantize/choose/quantization_noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace runnel::compiler::quantizer {
namespace {

// Per slice, added in their order, so that results do not depend on threads.
using Slices = std::array<std::vector<QuantizationNoise>, ClipRunner::kSlices>;

std::vector<QuantizationNoise> total(const Slices& slices, std::size_t outputs) {
  std::vector<QuantizationNoise> sum(outputs);
  for (const auto& slice : slices) {
    for (std::size_t o = 0; o < outputs; ++o) sum[o].add(slice[o]);
  }
  return sum;
}

}  // namespace

QuantizationNoise quantization_noise(std::span<const float> expected, std::span<const float> found) {
  QuantizationNoise noise;
  for (std::size_t i = 0; i < expected.size() && i < found.size(); ++i) {
    const double a = static_cast<double>(expected[i]), b = static_cast<double>(found[i]);
    noise.noise += (a - b) * (a - b);
    noise.signal += a * a;
    noise.largest = std::max(noise.largest, std::abs(a - b));
  }
  noise.values = expected.size();
  return noise;
}

Result<std::vector<QuantizationNoise>> compare_forms(const Graph& graph, const Graph& quantized,
                                                     const Clips& clips, std::span<const std::size_t> which,
                                                     int threads) {
  const Graph* const forms[] = {&graph, &quantized};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, threads));
  Slices slices;
  slices.fill(std::vector<QuantizationNoise>(graph.outputs.size()));
  RUNNEL_TRY(
      runner.run(clips, which, [&](std::size_t, std::size_t slice, const ClipRunner::Outputs& outputs) {
        for (std::size_t o = 0; o < outputs[0].size(); ++o)
          slices[slice][o].add(quantization_noise(outputs[0][o], outputs[1][o]));
      }));
  return total(slices, graph.outputs.size());
}

Result<ReferenceOutputs> ReferenceOutputs::make(const Graph& graph, const Clips& clips,
                                                std::span<const std::size_t> which, int threads) {
  ReferenceOutputs made;
  made.clips_ = &clips;
  made.threads_ = threads;
  std::size_t values = 1;
  for (const TensorId id : graph.outputs) {
    std::size_t count = 1;
    for (const std::int32_t dim : graph.tensors[static_cast<std::size_t>(id)].shape)
      count *= static_cast<std::size_t>(dim);
    values += count;
  }
  made.which_.assign(which.begin(),
                     which.begin() + static_cast<std::ptrdiff_t>(std::min(
                                         which.size(), std::max<std::size_t>(1, kMaxValues / values))));
  made.expected_.resize(made.which_.size());
  std::map<std::size_t, std::size_t> place;
  for (std::size_t i = 0; i < made.which_.size(); ++i) place[made.which_[i]] = i;
  const Graph* const forms[] = {&graph};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, threads));
  RUNNEL_TRY(
      runner.run(clips, made.which_, [&](std::size_t clip, std::size_t, const ClipRunner::Outputs& outputs) {
        auto& kept = made.expected_[place.at(clip)];
        for (const auto& output : outputs[0]) kept.emplace_back(output.begin(), output.end());
      }));
  return made;
}

namespace {

// The noise of outputs, whoever computes them.
class NoiseSum {
 public:
  NoiseSum(const std::vector<std::size_t>& which, std::size_t outputs) : outputs_(outputs) {
    for (std::size_t i = 0; i < which.size(); ++i) place_[which[i]] = i;
    slices_.fill(std::vector<QuantizationNoise>(outputs));
  }
  void add(const std::vector<std::vector<std::vector<float>>>& all, std::size_t clip, std::size_t slice,
           const ClipRunner::Outputs& outputs) {
    const auto& expected = all[place_.at(clip)];
    for (std::size_t o = 0; o < outputs[0].size(); ++o)
      slices_[slice][o].add(quantization_noise(expected[o], outputs[0][o]));
  }
  [[nodiscard]] double ratio() const {
    double sum = 0;
    for (const QuantizationNoise& noise : total(slices_, outputs_)) sum += noise.ratio();
    return sum / static_cast<double>(outputs_);
  }

 private:
  std::size_t outputs_;
  std::map<std::size_t, std::size_t> place_;
  Slices slices_;
};

}  // namespace

Result<double> ReferenceOutputs::error(const Graph& quantized) const {
  const Graph* const forms[] = {&quantized};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, threads_));
  NoiseSum sum(which_, quantized.outputs.size());
  RUNNEL_TRY(runner.run(*clips_, which_,
                        [&](std::size_t clip, std::size_t slice, const ClipRunner::Outputs& outputs) {
                          sum.add(expected_, clip, slice, outputs);
                        }));
  return sum.ratio();
}

Result<double> RepeatedErrors::error(Graph quantized, bool becomes_base) {
  const ReferenceOutputs& reference = reference_;
  if (!runs_ && keeps_) {
    keeps_ = RepeatedRuns::can_keep(quantized, reference.which_.size(), RepeatedRuns::Keep::all);
    if (keeps_)
      runs_.emplace(*reference.clips_, reference.which_, reference.threads_, RepeatedRuns::Keep::all);
  }
  if (!runs_) return reference.error(quantized);
  NoiseSum sum(reference.which_, quantized.outputs.size());
  const std::vector<TensorId> wanted = quantized.outputs;
  RUNNEL_TRY(runs_->run(std::move(quantized), wanted, becomes_base,
                        [&](std::size_t clip, std::size_t slice, const ClipRunner::Outputs& outputs) {
                          sum.add(reference.expected_, clip, slice, outputs);
                        }));
  return sum.ratio();
}

}  // namespace runnel::compiler::quantizer
