// What a quantization can be told: for which chip, with which widths, and which methods are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::compiler::quantizer {

// pow2: value = integer * 2^exponent. affine: value = (integer - zero point) * scale.
enum class Scheme : std::uint8_t { pow2, affine };

// What a chip (or runnel itself) prescribes.
struct TargetRules {
  std::string_view name;
  kernels::Rounding rounding = kernels::Rounding::half_even;
  bool per_channel =
      true;  // weights of convolutions and fully connected layers have one scale per output channel
  int bias_bits_int8 = 32, bias_bits_int16 = 64;
  // The arithmetic of ESP-DL: operands of sums are rounded to the result's scale first, functions are tables,
  // shifts never go to the left.
  bool esp_dl = false;
  // Weights of 16 bits cannot be expressed: those for values of int16 are integers of 8 bits, and scales of
  // sums that are no powers of two have 15.
  bool int8_weights = false;

  // Whose integers the weights for values of this type are.
  [[nodiscard]] DType weight_type(DType type) const { return int8_weights ? DType::int8 : type; }
};
// generic, esp32 (c), esp32s3, esp32p4, ethos-u and the names of its accelerators (npu/accelerator.h).
// Errors: invalid_argument naming the targets that there are.
Result<TargetRules> target_rules(std::string_view name);

// How the range of a tensor follows from what was seen of it.
enum class Calibration : std::uint8_t { min_max, percentile, kl, mse };
std::string_view name_of(Calibration calibration);
Result<Calibration> calibration_named(std::string_view name);

// Methods that make the result more accurate, each on its own switch.
struct Methods {
  bool equalize = true;  // factors move between neighbouring layers so that channels use their range alike
  bool round = true;     // weights are rounded for the layer's result, not each to its nearest integer
  bool correct_bias = true;  // biases take over the mean error of their layer
  bool search = true;        // ranges of activations are searched jointly, by the error of the outputs
  bool split = false;        // layers with few large weights become two whose sum is the layer
  bool sums = false;  // the operands of sums and their result share one scale, so that nothing is rescaled
                      // a convolution
  bool blocks =
      false;  // the weights of several layers are trained together, for the float results of the last one
  bool tqt = false;  // the same, and with them the scales of weights and activations (trained thresholds)
  // How strongly `round` holds weights at their float values, as a share of the mean square of what they
  // multiply: directions that the clips say little about stay as trained. Chosen by the error on clips held
  // back where the methods are.
  double hold = 0.2;
  // By how much of the outputs' error a single sum may make it worse to get one scale. Chosen by the error on
  // clips held back where the methods are.
  double sum_slack = 1e30;
};
// The names are those of the fields, "bias" for correct_bias. Errors: invalid_argument with the list.
Status set_method(Methods& methods, std::string_view name, bool on);
std::string names_of(const Methods& methods);
// What names_of said. Errors: those of set_method.
Result<Methods> methods_named(std::string_view names);

// The methods that are tried by default: equalize, round, bias, search and sums.
Methods usual_methods();

// Settings of `blocks` and `tqt`, by the names that ESP-PPQ has for them.
struct TrainingSettings {
  int steps = 240;  // of each block, at least 1
  // Adam's rate at the start, which falls to zero: the log2 of a scale moves by about this in a step, weights
  // and biases by twice this share of an integer step.
  double lr = 0.01;
  int block_size = 2;  // layers with weights in a block, where it can have as many
  // Weight of the mean square distance of log2 scales from the middle between two exponents, next to the mean
  // square error of the block's results: scales that are undecided decide themselves.
  double int_lambda = 0;
  // Weight of the mean square difference between quantized and float weights: they stay close to the trained
  // ones where the clips say little.
  double gamma = 0;
  bool is_scale_trainable = true;              // of `tqt`; without it it trains what `blocks` trains
  std::vector<std::string> interested_layers;  // layers whose weights are trained, by name; empty: all
};

// Settings of `equalize`, by the names that ESP-PPQ has for them.
struct EqualizationSettings {
  int iterations = 1;          // times that all layers are visited; ends early where nothing changes
  double value_threshold = 0;  // channels whose largest weights before and after add up to less stay
  int opt_level = 2;           // 1: factors pass ReLU and pools only; 2: sums and differences, too
  std::vector<std::string> interested_layers;  // only factors next to one of these move; empty: all
};

// How far something has come; for people.
using Progress = std::function<void(std::string_view stage, double fraction)>;

struct Options {
  TargetRules target;
  Scheme scheme = Scheme::pow2;
  DType type = DType::int8;            // int8 or int16
  std::map<std::string, DType> types;  // of single operators by name: int8, int16 or float32
  // Scales of the results of single operators by name, as exponents of 2: these stay whatever the clips and
  // the methods say (pow2 only).
  std::map<std::string, int> exponents;
  Calibration calibration = Calibration::mse;
  std::optional<Methods> methods;  // exactly these; absent: chosen among those on offer by the error on clips
                                   // that were held back
  Methods offered = usual_methods();
  TrainingSettings training;
  EqualizationSettings equalization;
  double max_error = 0;  // > 0: operators become int16, the most sensitive first, and float where that is not
                         // enough, until the error is below this
  double budget =
      0;  // > 0: at most this share of the multiply-adds may become int16 or float for it (default: all)
  std::size_t most_clips = 128;  // for everything but ranges, which all clips give
  std::uint32_t seed = 1;
  int threads = 2;
  Progress progress;
};

}  // namespace runnel::compiler::quantizer
