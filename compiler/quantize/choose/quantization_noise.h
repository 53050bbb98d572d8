// How far a quantized form of a model is from the float one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/quantize/calibrate/clip_runner.h"
#include "compiler/quantize/calibrate/repeated_runs.h"

namespace runnel::compiler::quantizer {

// Sums of squares of the difference and of the float values.
struct QuantizationNoise {
  double noise = 0, signal = 0, largest = 0;  // largest: of the differences
  std::uint64_t values = 0,
                saturated = 0;  // saturated: at an end of the integers' range, above what the values need

  [[nodiscard]] double ratio() const { return noise / (signal + 1e-12); }
  void add(const QuantizationNoise& other) {
    noise += other.noise;
    signal += other.signal;
    largest = std::max(largest, other.largest);
    values += other.values;
    saturated += other.saturated;
  }
};
QuantizationNoise quantization_noise(std::span<const float> expected, std::span<const float> found);

// Per output: the noise of `quantized` against `graph`, which have the same outputs, over clips.
Result<std::vector<QuantizationNoise>> compare_forms(const Graph& graph, const Graph& quantized,
                                                     const Clips& clips, std::span<const std::size_t> which,
                                                     int threads);

// The float model's outputs on some clips, kept, so that many forms can be compared with them.
class ReferenceOutputs {
 public:
  // At most this many values are kept; clips beyond them are left out.
  static constexpr std::size_t kMaxValues = std::size_t{24} << 20;

  static Result<ReferenceOutputs> make(const Graph& graph, const Clips& clips,
                                       std::span<const std::size_t> which, int threads);
  // QuantizationNoise-to-signal ratio of the outputs, the mean over outputs.
  Result<double> error(const Graph& quantized) const;

 private:
  friend class RepeatedErrors;
  const Clips* clips_ = nullptr;
  std::vector<std::size_t> which_;
  std::vector<std::vector<std::vector<float>>> expected_;  // per entry of which_, per output
  int threads_ = 1;
};

// The same for many forms that begin alike (RepeatedRuns), with the same results.
class RepeatedErrors {
 public:
  // `reference` must stay.
  explicit RepeatedErrors(const ReferenceOutputs& reference) : reference_(reference) {}
  // `becomes_base`: the forms that follow begin as this one does.
  Result<double> error(Graph quantized, bool becomes_base);

 private:
  const ReferenceOutputs& reference_;
  std::optional<RepeatedRuns> runs_;
  bool keeps_ = true;
};

}  // namespace runnel::compiler::quantizer
