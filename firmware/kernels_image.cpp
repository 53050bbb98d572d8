// Compares this processor's integer kernels with their reference loops on random shapes. Prints the first
// difference and ends with 1.
#include <cstring>

#include "firmware/feature_runner.h"
#include "firmware/startup/image.h"
#include "kernels/conv/conv.h"
#include "kernels/elementwise/elementwise.h"

namespace {

using namespace runnel;
using namespace runnel::firmware;
using namespace runnel::kernels;

// Margins before and after every buffer detect writes there.
constexpr std::int32_t kMax = 4096, kMargin = 64, kChannels = 80;
alignas(16) std::byte x_memory[2 * kMax + 2 * kMargin], w_memory[8 * kMax],
    y_memory[2][2 * kMax + 2 * kMargin];
alignas(16) std::int32_t multipliers[kChannels], shifts[kChannels], narrow_bias[kChannels];
alignas(16) std::int64_t wide_bias[kChannels];
alignas(16) std::byte kernel_memory[1024];

class Random {
 public:
  std::uint32_t next() noexcept {
    state_ = state_ * 1664525U + 1013904223U;
    return state_ >> 8;
  }
  std::int32_t in(std::int32_t low, std::int32_t high) noexcept {
    return low + static_cast<std::int32_t>(next() % static_cast<std::uint32_t>(high - low + 1));
  }
  // Mostly ordinary values, sometimes the ends of the range.
  void fill(std::byte* to, std::size_t bytes) noexcept {
    const std::uint32_t kind = next() % 8;
    for (std::size_t i = 0; i < bytes; ++i)
      to[i] = static_cast<std::byte>(kind == 0 ? 0x80 : kind == 1 ? 0x7F : static_cast<int>(next() >> 4));
  }

 private:
  std::uint32_t state_ = 12345;
};
Random random;

std::int32_t out_size(std::int32_t in, std::int32_t pad, std::int32_t kernel, std::int32_t dilation,
                      std::int32_t stride) noexcept {
  const std::int32_t room = in + 2 * pad - ((kernel - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

// False for an impossible convolution.
bool make_conv(ConvSpec& spec) noexcept {
  spec.dtype = random.next() % 4 == 0 ? DType::int16 : DType::int8;
  const std::uint32_t kind = random.next() % 5;  // dense in a row, pointwise, depthwise, grouped, any
  spec.groups = kind == 2 ? random.in(2, 70) : kind == 3 ? random.in(2, 4) : 1;
  spec.in_channels = kind == 2 ? spec.groups : spec.groups * random.in(1, kind == 3 ? 12 : 70);
  spec.out_channels = kind == 2 ? spec.groups : spec.groups * random.in(1, kind == 3 ? 12 : 70);
  const bool column = kind != 0 && random.next() % 3 == 0;  // everything in one column
  if (kind != 1) {
    spec.kernel_width = random.in(1, 6);
    spec.dilation_width = random.in(1, 3);
    spec.kernel_height = kind == 0 ? 1 : random.in(1, 3);
    spec.dilation_height = random.in(1, 2);
    spec.pad_left = random.in(0, 2);
    spec.pad_top = kind == 0 ? 0 : random.in(0, 2);
    spec.stride_width = random.in(1, 2);
    spec.stride_height = random.in(1, 2);
    if (column) spec.kernel_width = 1, spec.pad_left = 0;
  }
  spec.in_width = kind == 0 ? (spec.kernel_width - 1) * spec.dilation_width + 1 + random.in(0, 2)
                  : column  ? 1
                            : random.in(1, 6);
  spec.in_height = kind == 0 || kind == 1 ? 1 : random.in(1, 7);
  spec.out_width =
      out_size(spec.in_width, spec.pad_left, spec.kernel_width, spec.dilation_width, spec.stride_width);
  spec.out_height =
      out_size(spec.in_height, spec.pad_top, spec.kernel_height, spec.dilation_height, spec.stride_height);
  const std::int32_t inputs = spec.in_height * spec.in_width * spec.in_channels,
                     outputs = spec.out_height * spec.out_width * spec.out_channels;
  const std::int32_t weights =
      spec.out_channels * spec.kernel_height * spec.kernel_width * (spec.in_channels / spec.groups);
  if (spec.out_channels > kChannels || spec.out_width < 1 || spec.out_height < 1 || inputs > kMax ||
      outputs > kMax)
    return false;
  return weights * static_cast<std::int32_t>(size_of(spec.dtype)) <=
         static_cast<std::int32_t>(sizeof w_memory) - 8;
}

void make_requant(ConvSpec& spec) noexcept {
  Requant& how = spec.requant;
  const bool narrow = spec.dtype == DType::int8;
  const std::int32_t highest = narrow ? 127 : 32767;
  how.rounding = static_cast<Rounding>(random.next() % 4);
  const bool scaled = how.rounding == Rounding::tflite_double || how.rounding == Rounding::single;
  how.count = random.next() % 2 == 0 ? 1 : spec.out_channels;
  const bool odd = random.next() % 4 == 0;  // shifts that ordinary models do not have
  for (std::int32_t i = 0; i < kChannels; ++i) {
    multipliers[i] = random.next() % 50 == 0
                         ? 0
                         : static_cast<std::int32_t>((1U << 30) + (random.next() << 6 & 0x3FFFFFFFU));
    shifts[i] = odd ? random.in(-31, random.next() % 4 == 0 ? 62 : 33) : random.in(0, narrow ? 12 : 20);
    narrow_bias[i] = random.in(-(1 << 16), 1 << 16);
    wide_bias[i] = (static_cast<std::int64_t>(random.in(-(1 << 20), 1 << 20)) << (odd ? 20 : 4));
  }
  how.shift = shifts;
  how.multiplier = scaled ? multipliers : nullptr;
  how.zero_point = scaled && narrow ? random.in(-128, 127) : 0;
  spec.in_zero_point = scaled && narrow && random.next() % 2 == 0 ? random.in(-128, 127) : 0;
  how.low = random.next() % 2 == 0 ? -highest - 1 : random.in(-highest - 1, 0);
  how.high = random.next() % 2 == 0 ? highest : random.in(0, highest);
  spec.bias = random.next() % 4 == 0 ? nullptr
              : narrow               ? static_cast<const void*>(narrow_bias)
                                     : static_cast<const void*>(wide_bias);
}

// Runs one random convolution both ways.
bool compare_conv(int number, int& compared) noexcept {
  ConvSpec spec;
  if (!make_conv(spec)) return true;
  make_requant(spec);
  const std::size_t element = size_of(spec.dtype);
  // Aligned as the type needs, and no more.
  std::byte* const x = x_memory + kMargin + element * (random.next() % 4);
  spec.weights = w_memory + element * (random.next() % 4);
  random.fill(x_memory, sizeof x_memory);
  random.fill(w_memory, sizeof w_memory);
  FixedMemory memory(kernel_memory);
  Conv conv;
  const Status status = prepare_conv(spec, best_isa(), memory, conv);
  if (!status.ok()) return true;  // accumulators that could overflow
  const std::size_t at = kMargin + element * (random.next() % 4);
  std::memset(y_memory, 0x5C, sizeof y_memory);
  conv_reference(spec, x, y_memory[0] + at);
  conv.run(conv, x, y_memory[1] + at, nullptr);
  ++compared;
  if (std::memcmp(y_memory[0], y_memory[1], sizeof y_memory[0]) == 0) return true;
  std::size_t where = 0;
  while (y_memory[0][where] == y_memory[1][where]) ++where;
  Text line;
  line << "case " << number << " " << name_of(spec.dtype) << " groups " << spec.groups << " rounding "
       << static_cast<int>(spec.requant.rounding) << " byte " << (where - at);
  print(line.view());
  print("\n");
  return false;
}

bool compare_elementwise() noexcept {
  const std::size_t count = static_cast<std::size_t>(random.in(1, 200)), at = random.next() % 4;
  random.fill(x_memory, sizeof x_memory);
  random.fill(w_memory, sizeof w_memory);
  std::memset(y_memory, 0x5C, sizeof y_memory);
  BinarySpec spec;
  spec.op = static_cast<BinaryOp>(random.next() % 5);
  spec.count = spec.a_count = spec.b_count = count;
  spec.a_exponent = random.in(-3, 3);
  spec.b_exponent = random.next() % 2 == 0 ? spec.a_exponent : random.in(-3, 3);
  spec.y_exponent = random.next() % 2 == 0 ? spec.a_exponent : random.in(-3, 3);
  spec.rounding = static_cast<Rounding>(random.next() % 2);
  spec.low = random.in(-128, 0);
  spec.high = random.in(0, 127);
  const int shift = random.in(-15, 30);
  for (const bool sum : {true, false}) {
    for (int k = 0; k < 2; ++k) {
      const Elementwise& table = elementwise(k == 0 ? Isa::reference : best_isa());
      if (sum)
        table.binary(spec, x_memory + at, w_memory, y_memory[k] + at);
      else
        table.requantize(DType::int8, DType::int8, count, x_memory + at, y_memory[k] + at, shift,
                         spec.rounding, spec.low, spec.high);
    }
    if (std::memcmp(y_memory[0], y_memory[1], sizeof y_memory[0]) != 0) {
      print(sum ? "a binary operation differs\n" : "a change of scale differs\n");
      return false;
    }
  }
  return true;
}

}  // namespace

int runnel::firmware::image_main() noexcept {
  constexpr int kCases = 500;
  int compared = 0;
  for (int i = 0; i < kCases; ++i) {
    if (!compare_conv(i, compared) || !compare_elementwise()) return 1;
  }
  Text line;
  line << "convolutions " << compared;
  print(line.view());
  print("\n");
  return 0;
}
