// Every kernel equals the plain loops, over awkward shapes.
#include "kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "tests/kernels/conv_cases.h"

namespace runnel::kernels {
namespace {

using test::ConvCase;

std::string text_of(const ConvSpec& s, Isa isa) {
  std::string text(name_of(isa));
  for (const std::int64_t v :
       {s.in_height,       s.in_width,        s.in_channels,
        s.out_height,      s.out_width,       s.out_channels,
        s.kernel_height,   s.kernel_width,    s.stride_height,
        s.stride_width,    s.dilation_height, s.dilation_width,
        s.pad_top,         s.pad_left,        s.groups,
        s.in_zero_point,   s.requant.count,   s.requant.zero_point,
        s.requant.low,     s.requant.high,    static_cast<std::int32_t>(s.requant.rounding),
        s.requant.shift[0]}) {
    text += ' ';
    text += std::to_string(v);
  }
  if (s.input_non_negative) text += " non-negative";
  return text;
}

// The output in parts, of positions and of channels, each with its own scratch as if they ran at
// the same time.
void run_in_parts(const Conv& conv, const void* x, const void* addend, void* y, Memory& memory) {
  const ConvPart all = whole_of(conv.spec);
  const std::int64_t positions[] = {0, (all.last + 2) / 3, (2 * all.last + 2) / 3, all.last};
  const std::int32_t groups = (all.last_channel + conv.channel_group - 1) / conv.channel_group;
  const std::int32_t channels[] = {0, std::min(all.last_channel, (groups + 1) / 2 * conv.channel_group),
                                   all.last_channel};
  for (int p = 2; p >= 0; --p) {
    for (int c = 1; c >= 0; --c) {
      conv.run_part(conv, {positions[p], positions[p + 1], channels[c], channels[c + 1]}, x, addend, y,
                    memory.allocate(conv.scratch_bytes, 64));
    }
  }
}

// Copies of one run at unusual distances.
void expect_equal_rows(const Conv& conv, const std::vector<std::int8_t>& x,
                       const std::vector<std::int8_t>& addend, const std::vector<std::int8_t>& expected,
                       const std::string& what) {
  constexpr std::int64_t kRows = 37;  // two tiles of 16 and a rest
  const auto x_step = static_cast<std::int64_t>(x.size()) + 5,
             y_step = static_cast<std::int64_t>(expected.size()) + 3, addend_step = y_step + 8;
  std::vector<std::int8_t> many_x(static_cast<std::size_t>(x_step * kRows + 64), 99),
      many_y(static_cast<std::size_t>(y_step * kRows), 0x55),
      many_addends(static_cast<std::size_t>(addend_step * kRows));
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::copy(x.begin(), x.end(), many_x.begin() + row * x_step);
    std::copy(addend.begin(), addend.end(), many_addends.begin() + row * addend_step);
  }
  conv.run_rows(conv, {many_x.data(), x_step, addend.empty() ? nullptr : many_addends.data(), addend_step,
                       many_y.data(), y_step, kRows});
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t i = 0; i < y_step; ++i) {
      const int wanted =
          i < static_cast<std::int64_t>(expected.size()) ? expected[static_cast<std::size_t>(i)] : 0x55;
      ASSERT_EQ(int{many_y[static_cast<std::size_t>(row * y_step + i)]}, wanted)
          << what << ", row " << row << " at " << i;
    }
  }
}

// A sum fused with the convolution equals the two in sequence.
void expect_equal_with_sum(ConvCase c) {
  c.spec.add = true;
  c.spec.sum_low = c.x[0] % 3 == 0 ? 0 : -128;
  c.spec.sum_high = c.x[0] % 2 == 0 ? 100 : 127;
  const std::size_t count =
      static_cast<std::size_t>(c.spec.out_height) * c.spec.out_width * c.spec.out_channels;
  std::vector<std::int8_t> expected(count), addend(count), x(c.x);
  for (std::size_t i = 0; i < count; ++i) addend[i] = static_cast<std::int8_t>(i * 37 % 256);
  x.resize(x.size() + 64);
  conv_reference(c.spec, c.x.data(), expected.data());
  conv_add_reference(c.spec, addend.data(), expected.data());
  for (const Isa isa : ConvCase::levels()) {
    HeapMemory memory;
    Conv conv;
    ASSERT_TRUE(prepare_conv(c.spec, isa, memory, conv).ok());
    ASSERT_NE(conv.run_add, nullptr);
    std::vector<std::int8_t> y(count + 64, std::int8_t{0x55});
    conv.run_add(conv, x.data(), addend.data(), y.data(), memory.allocate(conv.scratch_bytes, 64));
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(int{y[i]}, int{expected[i]}) << text_of(c.spec, isa) << " with a sum at " << i;
    ASSERT_TRUE(std::all_of(y.begin() + static_cast<std::ptrdiff_t>(count), y.end(), [](std::int8_t v) {
      return v == 0x55;
    })) << text_of(c.spec, isa);
    std::fill(y.begin(), y.end(), std::int8_t{0x55});
    run_in_parts(conv, x.data(), addend.data(), y.data(), memory);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), y.begin()))
        << text_of(c.spec, isa) << " with a sum, in parts";
    ASSERT_TRUE(std::all_of(y.begin() + static_cast<std::ptrdiff_t>(count), y.end(), [](std::int8_t v) {
      return v == 0x55;
    })) << text_of(c.spec, isa);
    if (conv.run_rows != nullptr) expect_equal_rows(conv, c.x, addend, expected, text_of(c.spec, isa));
  }
}

// x and y at odd addresses; y, and the scratch of exactly scratch_bytes, between guards that must survive.
// After x come the 64 bytes that the kernel may read, with values that would change results.
void expect_equal(const ConvCase& c) {
  const std::size_t count =
      static_cast<std::size_t>(c.spec.out_height) * c.spec.out_width * c.spec.out_channels;
  std::vector<std::int8_t> expected(count);
  conv_reference(c.spec, c.x.data(), expected.data());
  std::vector<std::int8_t> x(c.x.size() + 65, std::int8_t{-77});
  std::copy(c.x.begin(), c.x.end(), x.begin() + 1);
  for (const Isa isa : ConvCase::levels()) {
    HeapMemory memory;
    Conv conv;
    const Status status = prepare_conv(c.spec, isa, memory, conv);
    ASSERT_TRUE(status.ok()) << status.text();
    constexpr std::size_t kGuard = 128;
    std::vector<std::int8_t> y(count + 2 * kGuard + 1, std::int8_t{0x55});
    auto* scratch = static_cast<std::int8_t*>(memory.allocate(conv.scratch_bytes + kGuard, 64));
    std::memset(scratch, 0x33, conv.scratch_bytes + kGuard);
    std::int8_t* out = y.data() + kGuard + 1;
    conv.run(conv, x.data() + 1, out, scratch);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(int{out[i]}, int{expected[i]}) << text_of(c.spec, isa) << " at " << i;
    }
    const auto intact = [](const std::int8_t* from, std::size_t n, int value) {
      return std::all_of(from, from + n, [=](std::int8_t v) { return v == value; });
    };
    ASSERT_TRUE(intact(y.data(), kGuard + 1, 0x55)) << text_of(c.spec, isa);
    ASSERT_TRUE(intact(out + count, kGuard, 0x55)) << text_of(c.spec, isa);
    ASSERT_TRUE(intact(scratch + conv.scratch_bytes, kGuard, 0x33)) << text_of(c.spec, isa);
    std::memset(out, 0x55, count);
    run_in_parts(conv, x.data() + 1, nullptr, out, memory);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out)) << text_of(c.spec, isa) << " in parts";
    ASSERT_TRUE(intact(y.data(), kGuard + 1, 0x55) && intact(out + count, kGuard, 0x55))
        << text_of(c.spec, isa) << " in parts";
    if (conv.run_rows != nullptr) expect_equal_rows(conv, c.x, {}, expected, text_of(c.spec, isa));
  }
  expect_equal_with_sum(c);
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  bool chance(int one_in) { return pick(1, one_in) == 1; }
  std::mt19937& engine() { return engine_; }

  // One of the four roundings with shifts that leave nonzero results; now and then left shifts and
  // shifts beyond 31.
  void requant(ConvCase& c) {
    const auto rounding = static_cast<Rounding>(pick(0, 3));
    const int low = chance(6) ? -3 : 0;
    const int high = chance(6) ? 40 : 12;
    c.set_requant(engine_, rounding, chance(2), low, high);
  }

 private:
  std::mt19937 engine_;
};

// Sizes of a one-dimensional convolution whose output has `length` positions.
void one_dimension(ConvSpec& s, int length, int kernel, int stride, int dilation, int pad_left,
                   int pad_right) {
  const int reach = (kernel - 1) * dilation + 1;
  s.kernel_width = kernel;
  s.stride_width = stride;
  s.dilation_width = dilation;
  s.in_width = std::max(1, (length - 1) * stride + reach - pad_left - pad_right);
  s.pad_left = pad_left;
  s.out_width = length;
}

void dense_case(Random& random, int in_channels, int out_channels, int length, int kernel) {
  ConvCase c;
  c.spec.in_channels = in_channels;
  c.spec.out_channels = out_channels;
  const bool padded = random.chance(2);
  one_dimension(c.spec, length, kernel, random.pick(1, 3), random.pick(1, 4), padded ? random.pick(0, 9) : 0,
                padded ? random.pick(0, 5) : 0);
  c.spec.input_non_negative = random.chance(2);
  c.spec.in_zero_point = random.chance(3) ? random.pick(-128, 127) : 0;
  c.fill(random.engine(), random.chance(4));
  random.requant(c);
  expect_equal(c);
}

TEST(Conv, PointwiseEqualsReferenceForAllInputChannels) {
  Random random(1);
  for (int channels = 1; channels <= 130; ++channels) {
    for (int repeat = 0; repeat < 4; ++repeat)
      dense_case(random, channels, random.pick(1, 130), (channels * 4 + repeat) % 40 + 1, 1);
  }
}

TEST(Conv, PointwiseEqualsReferenceForAllOutputChannels) {
  Random random(2);
  for (int channels = 1; channels <= 130; ++channels) {
    for (int repeat = 0; repeat < 4; ++repeat)
      dense_case(random, random.pick(1, 70), channels, (channels * 4 + repeat) % 40 + 1, 1);
  }
}

TEST(Conv, TemporalEqualsReferenceForAllKernelsAndLengths) {
  Random random(3);
  for (int kernel = 1; kernel <= 9; ++kernel) {
    for (int length = 1; length <= 40; ++length)
      dense_case(random, random.pick(1, 45), random.pick(1, 80), length, kernel);
  }
}

// The largest products, adjacent and with both signs, in short and long windows: 16-bit intermediate
// results must suffice.
TEST(Conv, ExtremePairsOfWeightsEqualReference) {
  Random random(30);
  const auto run = [&](ConvCase& c, bool opposites) {
    c.fill(random.engine(), true);
    // Two adjacent -128 are a separate case: here at most one of two neighbours is -128.
    for (std::size_t i = 0; i < c.weights.size(); ++i) {
      const bool pair = i > 0 && c.weights[i - 1] == -128;
      c.weights[i] = static_cast<std::int8_t>(random.chance(2) ? 127 : pair || opposites ? -127 : -128);
    }
    random.requant(c);
    expect_equal(c);
  };
  for (const int in : {1, 2, 3, 5, 8, 31, 40, 64, 223, 224, 225, 256}) {
    for (const int out : {1, 8, 12, 31, 32, 40, 64, 71, 96, 128}) {
      ConvCase dense;
      dense.spec.in_channels = in;
      dense.spec.out_channels = out;
      one_dimension(dense.spec, random.pick(1, 9), 1, 1, 1, 0, 0);
      run(dense, random.chance(2));
    }
  }
  for (int kernel = 1; kernel <= 13; ++kernel) {
    ConvCase depthwise;
    depthwise.spec.in_channels = depthwise.spec.out_channels = depthwise.spec.groups = random.pick(2, 70);
    one_dimension(depthwise.spec, 5, kernel, 1, random.pick(1, 3), random.pick(0, 3), 0);
    run(depthwise, random.chance(2));
  }
}

TEST(Conv, TwoDimensionsEqualReference) {
  Random random(4);
  for (int repeat = 0; repeat < 250; ++repeat) {
    ConvCase c;
    ConvSpec& s = c.spec;
    s.in_height = random.pick(1, 9);
    s.in_width = random.pick(1, 11);
    s.in_channels = random.pick(1, 20);
    s.out_height = random.pick(1, 6);
    s.out_width = random.pick(1, 12);
    s.out_channels = random.pick(1, 70);
    s.kernel_height = random.pick(1, 5);
    s.kernel_width = random.pick(1, 5);
    s.stride_height = random.pick(1, 3);
    s.stride_width = random.pick(1, 3);
    s.dilation_height = random.pick(1, 3);
    s.dilation_width = random.pick(1, 3);
    s.pad_top = random.pick(-1, 4);
    s.pad_left = random.pick(-1, 4);
    s.input_non_negative = random.chance(2);
    s.in_zero_point = random.chance(3) ? random.pick(-128, 127) : 0;
    if (random.chance(3)) s.groups = s.out_channels = s.in_channels;
    c.fill(random.engine(), random.chance(4));
    random.requant(c);
    expect_equal(c);
  }
}

TEST(Conv, DepthwiseEqualsReferenceForAllChannels) {
  Random random(5);
  for (int channels = 1; channels <= 130; ++channels) {
    for (int repeat = 0; repeat < 5; ++repeat) {
      ConvCase c;
      c.spec.in_channels = c.spec.out_channels = c.spec.groups = channels;
      const bool padded = random.chance(2);
      one_dimension(c.spec, (channels * 5 + repeat) % 40 + 1, (channels + repeat) % 9 + 1, random.pick(1, 3),
                    random.pick(1, 4), padded ? random.pick(0, 9) : 0, padded ? random.pick(0, 5) : 0);
      c.spec.input_non_negative = random.chance(2);
      c.spec.in_zero_point = random.chance(3) ? random.pick(-128, 127) : 0;
      c.fill(random.engine(), random.chance(4));
      random.requant(c);
      expect_equal(c);
    }
  }
}

// Signed inputs take other paths for long windows and, in separate channels, for weights without an opposite
// in 8 bits. Each path at its extremes: the least and greatest inputs and weights adjacent, in windows up to
// and beyond the longest that is folded (4096).
TEST(Conv, SignedInputsAreExactInEveryWay) {
  Random random(10);
  const auto extreme_or_any = [&](int low, int one_in) {
    return static_cast<std::int8_t>(random.chance(one_in) ? random.pick(low, 127)
                                    : random.chance(2)    ? low
                                                          : 127);
  };
  for (const bool depthwise : {false, true}) {
    for (const int lowest_weight : {-128, -127}) {
      for (const int channels : {3, 32, 40, 64, 100, 683, 1024, 1030}) {
        for (const int dilation : {1, 2}) {
          ConvCase c;
          c.spec.in_channels = channels;
          c.spec.out_channels = depthwise ? channels : 37;
          c.spec.groups = depthwise ? channels : 1;
          one_dimension(c.spec, random.pick(1, 3),
                        depthwise         ? 5
                        : channels == 683 ? 6
                                          : 4,
                        1, dilation, random.pick(0, 2), random.pick(0, 1));
          c.fill(random.engine(), false);
          const int one_in = random.pick(1, 20);
          for (auto& w : c.weights) w = extreme_or_any(lowest_weight, one_in);
          for (auto& x : c.x) x = extreme_or_any(-128, one_in);
          c.spec.in_zero_point = random.chance(2) ? random.pick(-128, 127) : 0;
          c.set_requant(random.engine(), static_cast<Rounding>(random.pick(0, 3)), random.chance(2), 8, 14);
          expect_equal(c);
          // All of them: the largest sums of two products.
          std::fill(c.weights.begin(), c.weights.end(),
                    static_cast<std::int8_t>(random.chance(2) ? lowest_weight : 127));
          for (const int x : {-128, 127}) {
            std::fill(c.x.begin(), c.x.end(), static_cast<std::int8_t>(x));
            expect_equal(c);
          }
        }
      }
    }
  }
}

TEST(Conv, GroupedEqualsReference) {
  Random random(6);
  for (int repeat = 0; repeat < 60; ++repeat) {
    ConvCase c;
    c.spec.groups = random.pick(2, 5);
    c.spec.in_channels = c.spec.groups * random.pick(1, 6);
    c.spec.out_channels = c.spec.groups * random.pick(1, 6);
    one_dimension(c.spec, random.pick(1, 12), random.pick(1, 5), random.pick(1, 3), random.pick(1, 4),
                  random.pick(0, 4), 0);
    c.fill(random.engine(), false);
    random.requant(c);
    expect_equal(c);
  }
}

// Accumulators beyond int32 must take the int64 path on every level.
TEST(Conv, WideAccumulatorsAreExact) {
  Random random(7);
  for (const std::int32_t edge : {0, 1, 1000, 300000}) {
    ConvCase c;
    c.spec.in_channels = 33;
    c.spec.out_channels = 21;
    c.spec.in_width = c.spec.out_width = 5;
    c.fill(random.engine(), true);
    for (auto& b : c.bias) b = 0x7fffffff - edge;
    c.spec.bias = c.bias.data();
    for (const int shift : {0, 3, 24, 31}) {
      for (int rounding = 0; rounding < 4; ++rounding) {
        c.set_requant(random.engine(), static_cast<Rounding>(rounding), false, shift, shift);
        expect_equal(c);
      }
    }
  }
}

// Channels that are always at a limit do not keep the others from the vector unit.
TEST(Conv, ABiasBeyondEverySumChangesNoKernel) {
  Random random(9);
  for (const int groups : {1, 21}) {
    for (int rounding = 0; rounding < 4; ++rounding) {
      ConvCase c;
      c.spec.in_channels = c.spec.out_channels = 21;
      c.spec.groups = groups;
      c.spec.in_width = c.spec.out_width = 5;
      c.fill(random.engine(), false);
      c.spec.bias = c.bias.data();
      c.set_requant(random.engine(), static_cast<Rounding>(rounding), true, 5, 12);
      const auto prepared = [&](Isa isa) {
        HeapMemory memory;
        Conv conv;
        EXPECT_TRUE(prepare_conv(c.spec, isa, memory, conv).ok());
        return std::pair(conv.run, conv.packed != nullptr);
      };
      std::vector<std::pair<decltype(Conv::run), bool>> usual;
      for (const Isa isa : ConvCase::levels()) usual.push_back(prepared(isa));
      c.bias[3] = 0x7fffffff;
      c.bias[20] = -0x7fffffff - 1;
      expect_equal(c);
      for (std::size_t i = 0; i < usual.size(); ++i)
        EXPECT_EQ(prepared(ConvCase::levels()[i]), usual[i]) << groups << ' ' << rounding;
    }
  }
}

// Channels whose sums do not fit, and are at no limit, are computed apart.
TEST(Conv, ABiasNearTheEndOfInt32KeepsOthersInTheKernel) {
  Random random(10);
  for (const int groups : {1, 21}) {
    for (int rounding = 0; rounding < 4; ++rounding) {
      ConvCase c;
      c.spec.in_channels = c.spec.out_channels = 21;
      c.spec.groups = groups;
      c.spec.in_width = c.spec.out_width = 5;
      c.fill(random.engine(), false);
      c.spec.bias = c.bias.data();
      c.set_requant(random.engine(), static_cast<Rounding>(rounding), true, 27, 31);
      c.bias[0] = 0x7fffffff;
      c.bias[7] = -0x7fffffff - 1;
      expect_equal(c);
      for (const Isa isa : ConvCase::levels()) {
        if (isa < Isa::avx2) continue;
        HeapMemory memory;
        Conv conv;
        ASSERT_TRUE(prepare_conv(c.spec, isa, memory, conv).ok());
        EXPECT_NE(kernel_choice(conv).isa, Isa::reference) << name_of(isa);
        EXPECT_NE(std::string(kernel_choice(conv).form).find("apart"), std::string::npos);
      }
    }
  }
}

// Ties and their neighbours at every shift, made by the bias alone, so that the test sets
// the accumulator exactly.
TEST(Conv, RoundsEveryTieAsTheSpecificationSays) {
  Random random(8);
  for (int rounding = 0; rounding < 4; ++rounding) {
    for (int shift = 0; shift <= 31; ++shift) {
      ConvCase c;
      c.spec.in_channels = 4;
      c.spec.out_channels = 96;
      c.fill(random.engine(), false);
      std::fill(c.x.begin(), c.x.end(), std::int8_t{0});
      for (int i = 0; i < 96; ++i) {
        const std::int64_t half = shift > 0 ? std::int64_t{1} << (shift - 1) : 0;
        const std::int64_t value = (std::int64_t{i / 6 - 8} << shift) + half + i % 3 - 1;
        c.bias[static_cast<std::size_t>(i)] =
            static_cast<std::int32_t>(std::clamp<std::int64_t>(value, -0x3fffffff, 0x3fffffff));
      }
      c.spec.bias = c.bias.data();
      c.set_requant(random.engine(), static_cast<Rounding>(rounding), false, shift, shift);
      if (shift % 2 == 0) c.multiplier[0] = 1 << 30;
      expect_equal(c);
    }
  }
}

template <class Fill>
void int16_case(Random& random, Fill fill) {
  ConvSpec s;
  s.dtype = DType::int16;
  s.in_channels = random.pick(1, 70);
  s.out_channels = random.pick(1, 40);
  if (random.chance(3)) s.groups = s.out_channels = s.in_channels;
  one_dimension(s, random.pick(1, 12), random.pick(1, 5), random.pick(1, 3), random.pick(1, 4),
                random.pick(0, 4), random.pick(0, 3));
  if (random.chance(2)) {
    s.kernel_height = random.pick(1, 3);
    s.dilation_height = random.pick(1, 2);
    s.stride_height = random.pick(1, 2);
    s.pad_top = random.pick(0, 2);
    const std::int32_t reach = (s.kernel_height - 1) * s.dilation_height + 1;
    s.in_height = std::max(random.pick(1, 6), reach - s.pad_top);
    s.out_height = (s.in_height + s.pad_top + random.pick(0, 2) - reach) / s.stride_height + 1;
  }
  s.in_zero_point = random.chance(4) ? random.pick(-32768, 32767) : 0;
  std::vector<std::int16_t> weights(
      static_cast<std::size_t>(s.in_channels / s.groups * s.kernel_height * s.kernel_width * s.out_channels));
  const auto inputs = static_cast<std::size_t>(s.in_height * s.in_width * s.in_channels);
  std::vector<std::int16_t> x(inputs + 32, 12345);
  // Small weights: long sums in int32. Now and then the two that overflow it at once.
  const int divisor = random.chance(2) ? random.pick(1, 2000) : 1;
  for (auto& w : weights) w = static_cast<std::int16_t>(fill() / divisor);
  for (std::size_t i = 0; i < inputs; ++i) x[i] = fill();
  std::vector<std::int64_t> bias(static_cast<std::size_t>(s.out_channels));
  for (auto& b : bias) b = random.pick(-2000000000, 2000000000) * std::int64_t{64};
  std::vector<std::int32_t> shift(random.chance(2) ? 1 : static_cast<std::size_t>(s.out_channels));
  for (auto& one : shift) one = random.pick(random.chance(8) ? -3 : 0, 34);
  s.weights = weights.data();
  s.bias = random.chance(5) ? nullptr : bias.data();
  s.requant = {random.chance(2) ? Rounding::half_up : Rounding::half_even,
               nullptr,
               shift.data(),
               static_cast<std::int32_t>(shift.size()),
               0,
               -32768,
               32767};
  if (random.chance(3)) s.requant.low = random.pick(-500, 0);
  if (random.chance(6)) s.requant.zero_point = random.pick(-100, 100);
  const auto count = static_cast<std::size_t>(s.out_height * s.out_width * s.out_channels);
  std::vector<std::int16_t> expected(count), y(count);
  conv_reference(s, x.data(), expected.data());
  for (const Isa isa : ConvCase::levels()) {
    HeapMemory memory;
    Conv conv;
    ASSERT_TRUE(prepare_conv(s, isa, memory, conv).ok());
    conv.run(conv, x.data(), y.data(), memory.allocate(conv.scratch_bytes, 64));
    ASSERT_EQ(y, expected) << text_of(s, isa);
    std::fill(y.begin(), y.end(), std::int16_t{0});
    run_in_parts(conv, x.data(), nullptr, y.data(), memory);
    ASSERT_EQ(y, expected) << text_of(s, isa) << " in parts";
    if (conv.run_rows == nullptr) continue;
    std::vector<std::int16_t> many_x, many_y(3 * count);
    for (int i = 0; i < 3; ++i) many_x.insert(many_x.end(), x.begin(), x.end());
    conv.run_rows(conv, {many_x.data(), static_cast<std::int64_t>(2 * x.size()), nullptr, 0, many_y.data(),
                         static_cast<std::int64_t>(2 * count), 3});
    for (std::size_t i = 0; i < 3; ++i)
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(),
                             many_y.begin() + static_cast<std::ptrdiff_t>(i * count)))
          << text_of(s, isa);
  }
}

TEST(Conv, Int16EqualsReference) {
  Random random(9);
  for (int repeat = 0; repeat < 400; ++repeat) {
    int16_case(random, [&] { return static_cast<std::int16_t>(random.pick(-32768, 32767)); });
    int16_case(random, [&] { return static_cast<std::int16_t>(random.chance(3) ? 32767 : -32768); });
  }
}

TEST(Conv, CountsMultiplyAdds) {
  ConvSpec s;
  s.out_width = 100;
  s.in_channels = s.out_channels = 64;
  EXPECT_EQ(macs(s), 409600);
  s.groups = 64;
  s.kernel_width = 9;
  EXPECT_EQ(macs(s), 57600);
}

}  // namespace
}  // namespace runnel::kernels
