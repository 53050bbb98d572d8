#include "pipeline/nodes/decide/distance.h"

#include <cstdint>

#include "kernels/arithmetic/requantize.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Distance::of>(
        "of", "frame|halves",
        "frame: all values, which are 0 where nothing is unusual; halves: the first "
        "half from the second one, as a join gives a frame and its reconstruction"),
    parameter<&Distance::half>("half", "", 0, 1e30,
                               "mean square d whose score is one half, d / (d + half); 0: d itself"),
};

// Squares of up to 17 bits; a frame has fewer than 2^31 values.
template <class T>
std::int64_t sum_of_squares(const T* x, std::size_t count) noexcept {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::int64_t{x[i]} * x[i];
  return sum;
}

template <class T>
std::int64_t sum_of_squares(const T* x, const T* y, std::size_t count) noexcept {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t difference = std::int64_t{x[i]} - y[i];
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

const NodeType Distance::type = {
    .name = "distance",
    .help =
        "How unusual a frame is: the mean square of its values (what an autoencoder leaves over), or of the "
        "difference of its halves, also as a score between 0 and 1.",
    .input = {static_cast<Kinds>(Kind::frames), "float32 or integers with an exponent"},
    .output = {static_cast<Kinds>(Kind::frames), "float32, 1 value"},
    .parameters = kParameters,
    .make = make_node<Distance>,
};

Status Distance::prepare(NodeContext& context) noexcept {
  const Format& input = context.input;
  dtype_ = input.dtype;
  if (input.codes || (dtype_ != DType::float32 && dtype_ != DType::int8 && dtype_ != DType::int16)) {
    return Status(Code::mismatch) << context.input_label << " gives " << describe(input).view() << ", "
                                  << context.label << " wants float32, int8 or int16";
  }
  halves_ = of == "halves";
  if (halves_ && input.channels % 2 != 0) {
    return Status(Code::mismatch) << context.input_label << " gives " << describe(input).view() << ", "
                                  << context.label << " of=halves wants an even number of values";
  }
  frame_bytes_ = input.frame_bytes();
  values_ = static_cast<std::size_t>(input.channels) / (halves_ ? 2 : 1);
  scale_ = dtype_ == DType::float32 ? 1.0F : kernels::power_of_two(2 * input.exponent);
  context.output.dtype = DType::float32;
  context.output.channels = 1;
  context.output.exponent = 0;
  context.output.labels = {};
  context.output.non_negative = true;
  context.max_output = context.max_input;
  return {};
}

float Distance::mean_square(const std::byte* frame) const noexcept {
  const auto count = static_cast<float>(values_);
  const auto of_integers = [&](const auto* x) {
    const std::int64_t sum = halves_ ? sum_of_squares(x, x + values_, values_) : sum_of_squares(x, values_);
    return static_cast<float>(sum) * scale_ / count;
  };
  if (dtype_ == DType::int8) return of_integers(reinterpret_cast<const std::int8_t*>(frame));
  if (dtype_ == DType::int16) return of_integers(reinterpret_cast<const std::int16_t*>(frame));
  const auto* const x = reinterpret_cast<const float*>(frame);
  float sum = 0;
  for (std::size_t i = 0; i < values_; ++i) {
    const float value = halves_ ? x[i] - x[values_ + i] : x[i];
    sum += value * value;
  }
  return sum / count;
}

Status Distance::process(const Block& in, Output& out) noexcept {
  for (std::int64_t i = 0; i < in.count; ++i) {
    const float d = mean_square(in.data + static_cast<std::size_t>(i) * frame_bytes_);
    // Where d is as large as a float can be, or its sum with half would not be a number: the limit.
    const float score = half > 0 ? (d > 1e30F ? 1.0F : d / (d + half)) : d;
    out.as<float>()[i] = score;
  }
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
