// Operations of the Ethos-U85 that no recorded network has, or that few notice, from hand-made streams.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "npu/host/disassemble.h"
#include "npu/host/simulator/simulator.h"
#include "npu/u85/registers.h"
#include "tests/npu/stream_maker.h"

namespace runnel::test {
namespace {

using npu::Long;
using npu::OpCode;
using npu::Short;
namespace reg = npu::u85::reg;
using npu::u85::ElementwiseMode;
using npu::u85::PoolMode;

constexpr std::uint32_t kU85 = 0x20000118;
constexpr int kNatural = 1 << 13;  // of a scale's fields
constexpr std::int64_t kSecond = 256, kResult = 512;
constexpr std::size_t kScratch = 2048;

using Values = std::vector<std::int32_t>;

// A stream whose maps are in the scratch memory.
class U85Operations : public testing::Test {
 protected:
  void put(std::int64_t at, const Values& values, int element = 4) {
    for (std::size_t i = 0; i < values.size(); ++i)
      std::memcpy(memory.data() + at + static_cast<std::int64_t>(i) * element, &values[i],
                  static_cast<std::size_t>(element));
  }
  Values get(std::int64_t at, std::size_t count, int element = 4) const {
    Values values(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, memory.data() + at + static_cast<std::int64_t>(i) * element,
                  static_cast<std::size_t>(element));
      values[i] = element == 1   ? static_cast<std::int8_t>(bits)
                  : element == 2 ? static_cast<std::int16_t>(bits)
                                 : static_cast<std::int32_t>(bits);
    }
    return values;
  }
  // Registers that every computation reads.
  StreamMaker& defaults() {
    maker.set(Short::ifm_broadcast, 0).set(Short::ifm2_broadcast, 0).set(Short::acc_format, 1 << 8);
    maker.set(Long::ofm_scale, 1, kNatural)
        .set(reg::ifm_scale, 1, kNatural)
        .set(reg::ifm2_scale, 1, kNatural);
    return maker;
  }
  // No limits, one scale for all.
  StreamMaker& output(const MapSpec& map, int fields = 0) {
    maker.ofm(map, npu::Rounding::tfl, true);
    maker.set(Short::activation, 1 << 12);
    const int log = map.element == 1 ? 0 : map.element == 2 ? 1 : 2;
    return maker.set(Short::ofm_precision,
                     (map.is_signed ? 1 : 0) | log << 1 | (map.blocked ? 1 : 0) << 6 | 1 << 8 | fields);
  }
  Status run() {
    const auto payload = maker.payload();
    const auto segment = segment_of(payload, {}, kScratch);
    if (!segment.ok()) return segment.status();
    auto simulator = npu::Simulator::make(*segment);
    if (!simulator.ok()) return simulator.status();
    std::copy(memory.begin(), memory.end(), (*simulator)->region(npu::kScratch).begin());
    const Status status = (*simulator)->run();
    const auto after = (*simulator)->region(npu::kScratch);
    memory.assign(after.begin(), after.end());
    return status;
  }
  void run_well() {
    const Status status = run();
    EXPECT_TRUE(status.ok()) << status.text();
  }
  // 32-bit operands, of one channel each.
  Values elementwise(ElementwiseMode mode, const Values& a, const Values& b,
                     const std::function<void()>& more = {}) {
    maker = StreamMaker(kU85);
    put(0, a);
    put(kSecond, b);
    const auto row = [&](std::int64_t base, std::size_t count) {
      return MapSpec{1, static_cast<int>(count), 1, 4, true, false, 0, base};
    };
    output(row(kResult, a.size()));
    defaults().ifm(row(0, a.size())).ifm2(row(kSecond, b.size()));
    if (more) more();
    maker.op(OpCode::elementwise, static_cast<int>(mode));
    run_well();
    return get(kResult, a.size());
  }

  StreamMaker maker{kU85};
  std::vector<std::byte> memory = std::vector<std::byte>(kScratch);
};

TEST_F(U85Operations, ProductsOf32BitsIgnoreTheMultiplier) {
  const auto shifted = [&] { maker.set(Long::ofm_scale, 1 << 30, kNatural | 4); };
  EXPECT_EQ(elementwise(ElementwiseMode::mul, {16, -24, 1 << 20}, {3, 1, 1 << 10}, shifted),
            (Values{3, -1, 1 << 26}));
}
TEST_F(U85Operations, ComparisonsGiveAllOnes) {
  const Values a{1, 2, 3}, b{2, 2, 2};
  EXPECT_EQ(elementwise(ElementwiseMode::equal, a, b), (Values{0, -1, 0}));
  EXPECT_EQ(elementwise(ElementwiseMode::not_equal, a, b), (Values{-1, 0, -1}));
  EXPECT_EQ(elementwise(ElementwiseMode::greater_equal, a, b), (Values{0, -1, -1}));
  EXPECT_EQ(elementwise(ElementwiseMode::greater, a, b), (Values{0, 0, -1}));
}
TEST_F(U85Operations, Bits) {
  const Values a{12, -1, 7}, b{10, 5, 2};
  EXPECT_EQ(elementwise(ElementwiseMode::bit_and, a, b), (Values{8, 5, 2}));
  EXPECT_EQ(elementwise(ElementwiseMode::bit_or, a, b), (Values{14, -1, 7}));
  EXPECT_EQ(elementwise(ElementwiseMode::bit_xor, a, b), (Values{6, -6, 5}));
  EXPECT_EQ(elementwise(ElementwiseMode::bit_not, a, b), (Values{-13, 0, -8}));
  EXPECT_EQ(elementwise(ElementwiseMode::bit_and_not, a, b), (Values{4, -6, 5}));
  EXPECT_EQ(elementwise(ElementwiseMode::clz, {0, 1, -1}, b), (Values{32, 31, 0}));
}
TEST_F(U85Operations, ShiftsAndQuotients) {
  EXPECT_EQ(elementwise(ElementwiseMode::shr, {-5, 5, 7}, {1, 1, 40}), (Values{-2, 3, 0}));
  EXPECT_EQ(elementwise(ElementwiseMode::shl, {1, -1, 3}, {31, 4, 32}), (Values{INT32_MIN, -16, 0}));
  EXPECT_EQ(elementwise(ElementwiseMode::lsr, {-1, 8, -1}, {28, 2, 32}), (Values{15, 2, 0}));
  EXPECT_EQ(elementwise(ElementwiseMode::div, {-7, 7, 7}, {2, -2, 0}), (Values{-3, -3, 0}));
}
TEST_F(U85Operations, LeakyReluHasTwoScales) {
  const auto scales = [&] { maker.set(reg::ifm_scale, 3, kNatural).set(reg::ifm2_scale, 1, kNatural | 1); };
  EXPECT_EQ(elementwise(ElementwiseMode::leaky_relu, {4, -4, -3}, {0, 0, 0}, scales), (Values{12, -2, -1}));
}
TEST_F(U85Operations, EitherOperandIsBroadcastOrAScalar) {
  const Values a{1, 2, 3}, b{10, 20, 30};
  EXPECT_EQ(elementwise(ElementwiseMode::sub, a, b, [&] { maker.set(Short::ifm_broadcast, 2); }),
            (Values{-9, -19, -29}));
  EXPECT_EQ(elementwise(ElementwiseMode::sub, a, b, [&] { maker.set(Short::ifm2_broadcast, 2); }),
            (Values{-9, -8, -7}));
  const auto scalar = [&](Short flags) {
    return [this, flags] { maker.set(flags, 8).set(reg::scalar, -5, 0); };
  };
  EXPECT_EQ(elementwise(ElementwiseMode::sub, a, b, scalar(Short::ifm_broadcast)), (Values{-15, -25, -35}));
  EXPECT_EQ(elementwise(ElementwiseMode::sub, a, b, scalar(Short::ifm2_broadcast)), (Values{6, 7, 8}));
}

// ---- pooling

TEST_F(U85Operations, AveragesRoundTiesAwayFromZero) {
  put(0, {-1, -2, 1, 2}, 1);
  const MapSpec x{1, 4, 1, 1, true, false, 0, 0}, y{1, 2, 1, 1, true, false, 0, kResult};
  output(y);
  defaults().set(Long::ofm_scale, 1 << 30, 30).ifm(x).kernel({1, 2, 1, 2});
  maker.op(OpCode::pool, static_cast<int>(PoolMode::average));
  run_well();
  EXPECT_EQ(get(kResult, 2, 1), (Values{-2, 2}));
}
TEST_F(U85Operations, PositionsOfTheLargest) {
  // The first of equals.
  put(0, {1, 9, 3, 9}, 1);
  const MapSpec row{1, 4, 1, 1, true, false, 0, 0}, column{4, 1, 1, 1, true, false, 0, 0},
      y{1, 1, 1, 4, true, false, 0, kResult};
  output(y);
  defaults().set(Long::ofm_scale, 1, kNatural | 16).ifm(row).kernel({1, 4, 1, 1});
  maker.op(OpCode::pool, static_cast<int>(PoolMode::argmax_x));
  run_well();
  EXPECT_EQ(get(kResult, 1), (Values{1}));
  maker = StreamMaker(kU85);
  output(y);
  defaults().ifm(column).kernel({4, 1, 1, 1});
  maker.op(OpCode::pool, static_cast<int>(PoolMode::argmax_y));
  run_well();
  EXPECT_EQ(get(kResult, 1), (Values{1 << 16 | 9})) << "unscaled: the value in the lower half";
}
TEST_F(U85Operations, AccumulatorsAreKept) {
  put(0, {1, 2, 3}, 1);
  put(kSecond, {100, 200, 300});
  const MapSpec x{1, 3, 1, 1, true, false, 0, 0}, start{1, 3, 1, 4, true, false, 0, kSecond},
      y{1, 3, 1, 4, true, false, 0, kResult};
  output(y);
  defaults().ifm(x).ifm2(start).kernel({});
  // From IFM2 without output, then a sum on top of it.
  maker.set(Short::acc_format, 1 << 8 | 2 << 4 | 1 << 6).op(OpCode::pool, static_cast<int>(PoolMode::none));
  maker.set(Short::acc_format, 1 << 8 | 1 << 4).op(OpCode::pool, static_cast<int>(PoolMode::sum));
  run_well();
  EXPECT_EQ(get(kResult, 3), (Values{101, 202, 303}));
}
TEST_F(U85Operations, UpscaledInput) {
  put(0, {5, 7}, 1);
  const MapSpec x{1, 2, 1, 1, true, false, 0, 0}, y{1, 4, 1, 1, true, false, 0, kResult};
  for (const int upscale : {1, 2}) {
    maker = StreamMaker(kU85);
    output(y);
    defaults().ifm(x).kernel({}).set(Short::ifm_upscale, upscale);
    maker.op(OpCode::pool, static_cast<int>(PoolMode::sum));
    run_well();
    EXPECT_EQ(get(kResult, 4, 1), upscale == 1 ? (Values{5, 5, 7, 7}) : (Values{5, 0, 7, 0}));
  }
}

// ---- maps

TEST_F(U85Operations, ThreeTilesAboveEachOther) {
  put(0, {1}, 1);
  put(100, {2, 3}, 1);
  put(200, {4}, 1);
  const MapSpec x{4, 1, 1, 1, true, false, 0, 0}, y{4, 1, 1, 1, true, false, 0, kResult};
  output(y);
  defaults().ifm(x).kernel({});
  maker.set(Short::ifm_height0_m1, 0).set(Short::ifm_height1_m1, 1).set(Short::ifm_width0_m1, 0);
  maker.set(static_cast<Long>(1), 100).set(static_cast<Long>(2), 200).set(Short::ifm_precision, 1 | 1 << 14);
  maker.op(OpCode::pool, static_cast<int>(PoolMode::sum));
  run_well();
  EXPECT_EQ(get(kResult, 4, 1), (Values{1, 2, 3, 4}));
}
TEST_F(U85Operations, TransposedAndReversedOutputs) {
  // 2 x 3 x 2, numbered.
  put(0, {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}, 1);
  const MapSpec x{2, 3, 2, 1, true, false, 0, 0};
  const auto stored = [&](int transpose, const MapSpec& as, int reverse = 0) {
    maker = StreamMaker(kU85);
    output(as, transpose << 11 | reverse << 9);
    maker.set(Short::ofm_height_m1, 1).set(Short::ofm_width_m1, 2).set(Short::ofm_depth_m1, 1);
    defaults().ifm(x).kernel({});
    maker.op(OpCode::pool, static_cast<int>(PoolMode::sum));
    run_well();
    return get(kResult, 12, 1);
  };
  const auto map = [](int height, int width, int depth) {
    return MapSpec{height, width, depth, 1, true, false, 0, kResult};
  };
  EXPECT_EQ(stored(1, map(3, 2, 2)), (Values{0, 1, 100, 101, 10, 11, 110, 111, 20, 21, 120, 121}));
  EXPECT_EQ(stored(2, map(2, 2, 3)), (Values{0, 10, 20, 1, 11, 21, 100, 110, 120, 101, 111, 121}));
  EXPECT_EQ(stored(3, map(3, 2, 2)), (Values{0, 100, 1, 101, 10, 110, 11, 111, 20, 120, 21, 121}));
  EXPECT_EQ(stored(6, map(2, 2, 3)), (Values{0, 10, 20, 100, 110, 120, 1, 11, 21, 101, 111, 121}));
  EXPECT_EQ(stored(7, map(2, 3, 2)), (Values{0, 100, 10, 110, 20, 120, 1, 101, 11, 111, 21, 121}));
  EXPECT_EQ(stored(0, map(2, 3, 2), 1), (Values{100, 101, 110, 111, 120, 121, 0, 1, 10, 11, 20, 21}));
  EXPECT_EQ(stored(0, map(2, 3, 2), 2), (Values{20, 21, 10, 11, 0, 1, 120, 121, 110, 111, 100, 101}));
  EXPECT_EQ(stored(0, map(2, 3, 2), 3), (Values{1, 0, 11, 10, 21, 20, 101, 100, 111, 110, 121, 120}));
}
TEST_F(U85Operations, ChainedMaps) {
  put(0, {1, 2, 3});
  const MapSpec x{1, 3, 1, 4, true, false, 0, 0}, y{1, 3, 1, 4, true, false, 0, kResult};
  output(y, 2 << 14);
  defaults().set(Short::ofm_region, 3).ifm(x).ifm2(x).op(OpCode::elementwise, 1);
  output(y);
  maker.set(Short::ifm_precision, 1 | 2 << 2 | 2 << 14).set(Short::ifm_region, 3);
  maker.op(OpCode::elementwise, 0);
  run_well();
  EXPECT_EQ(get(kResult, 3), (Values{2, 8, 18}));
  // Another buffer, which nothing was written into.
  maker.set(Short::ifm_region, 2).op(OpCode::elementwise, 0);
  EXPECT_EQ(run().text(),
            "operation 2 (word 102), MUL: IFM reads chaining buffer 2, which nothing was written into");
}

TEST_F(U85Operations, Resizing) {
  put(0, {0, 100}, 1);
  const MapSpec x{1, 2, 1, 1, true, false, 0, 0}, y{1, 4, 1, 1, true, false, 0, kResult};
  const auto resized = [&](int mode, int shift) {
    maker = StreamMaker(kU85);
    output(y);
    defaults().ifm(x).kernel({1, 2, 1, 1}).set(Long::ofm_scale, 1, kNatural | shift);
    // Steps of one half from -1/4, in quarters.
    maker.set(reg::resize_x_scale, 3).set(reg::resize_y_scale, 0);
    maker.set(reg::resize_x_offset, -1 & 0xfff).set(reg::resize_y_offset, 0);
    maker.set(reg::resize_x, 2, 0).set(reg::resize_y, 0, 1).op(OpCode::resize, mode);
    run_well();
    return get(kResult, 4, 1);
  };
  EXPECT_EQ(resized(0, 18), (Values{0, 25, 75, 100}));
  EXPECT_EQ(resized(1, 16), (Values{0, 0, 0, 100}));
  EXPECT_EQ(resized(2, 16), (Values{0, 0, 100, 100}));
}

// ---- copies

TEST_F(U85Operations, CopiesOfRowsAndPlanes) {
  put(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 1);
  maker.set(Short::dma_source_region, 1 | 2 << 9).set(Short::dma_target_region, 1);
  maker.set(Long::dma_source, 0).set(Long::dma_target, kResult).set(Long::dma_length, 2, 0);
  maker.set(Short::dma_size0, 2).set(Short::dma_size1, 2);
  maker.set(reg::source_stride0, 3).set(reg::source_stride1, 6);
  maker.set(reg::target_stride0, 2).set(reg::target_stride1, 4).op(OpCode::dma_start);
  run_well();
  EXPECT_EQ(get(kResult, 8, 1), (Values{1, 2, 4, 5, 7, 8, 10, 11}));
}
TEST_F(U85Operations, GatherAndScatter) {
  put(0, {10, 11, 20, 21, 30, 31}, 1);
  put(kSecond, {2, 0, 2});
  const auto copy = [&](bool gather) {
    maker = StreamMaker(kU85);
    maker.set(Short::dma_source_region, 1 | 1 << 9 | (gather ? 1 << 11 : 0));
    maker.set(Short::dma_target_region, 1 | (gather ? 0 : 1 << 11));
    maker.set(Long::dma_source, 0).set(Long::dma_target, kResult).set(Long::dma_length, 2, 0);
    maker.set(Short::dma_size0, 3).set(reg::index_region, 1);
    maker.set(reg::source_stride0, 2).set(reg::target_stride0, 2);
    maker.set(reg::index, kSecond).set(reg::index_most, 2, 0).op(OpCode::dma_start);
    return run();
  };
  EXPECT_TRUE(copy(true).ok());
  EXPECT_EQ(get(kResult, 6, 1), (Values{30, 31, 10, 11, 30, 31}));
  put(kResult, {0, 0, 0, 0, 0, 0}, 1);
  EXPECT_TRUE(copy(false).ok());
  EXPECT_EQ(get(kResult, 6, 1), (Values{20, 21, 0, 0, 30, 31}));
  put(kSecond, {3});
  EXPECT_EQ(copy(true).text(), "operation 0 (word 18), DMA: index 3 of row 0, expected 0 to 2");
  put(kSecond, {-1});
  EXPECT_EQ(copy(true).text(), "operation 0 (word 18), DMA: index -1 of row 0, expected 0 to 2");
}
TEST_F(U85Operations, IndicesMayNotReachOutside) {
  maker.set(Short::dma_source_region, 1 | 1 << 9 | 1 << 11).set(Short::dma_target_region, 1);
  maker.set(Long::dma_source, 0).set(Long::dma_target, kResult).set(Long::dma_length, 2, 0);
  maker.set(Short::dma_size0, 3).set(reg::index_region, 1).set(reg::index, kSecond);
  maker.set(reg::source_stride0, 2).set(reg::target_stride0, 2);
  maker.set(reg::index_most, 1023, 0).op(OpCode::dma_start);
  run_well();
  maker.set(reg::index_most, 1024, 0).op(OpCode::dma_start);
  EXPECT_NE(run().text().find("the source reaches bytes 0 to 2050 of region 1, which has 2048"),
            std::string_view::npos);
}

// ---- streams that cannot be run: each a sentence

// Sizes whose products do not fit into 64 bits, in maps, copies and weights.
TEST_F(U85Operations, SizesThatOverflow) {
  const MapSpec y{65536, 65536, 65536, 4, true, false, 0, kResult};
  output(y);
  defaults().ifm(y).kernel({}).op(OpCode::pool, static_cast<int>(PoolMode::sum));
  EXPECT_NE(run().text().find("operation 0 (word "), std::string_view::npos) << run().text();
  // A map without memory, inside the accelerator.
  maker = StreamMaker(kU85);
  output(y, 2 << 14);
  defaults()
      .ifm({1, 1, 1, 1, true, false, 0, 0})
      .kernel({})
      .op(OpCode::pool, static_cast<int>(PoolMode::none));
  EXPECT_FALSE(run().ok());
  // One element in memory that all of a map names.
  maker = StreamMaker(kU85);
  output(y);
  defaults().ifm({1, 1, 1, 1, true, false, 0, 0}).kernel({});
  maker.set(Long::ofm_stride_x, 0).set(Long::ofm_stride_y, 0).set(Long::ofm_stride_c, 0);
  maker.op(OpCode::pool, static_cast<int>(PoolMode::none));
  EXPECT_FALSE(run().ok());
  // A copy.
  maker = StreamMaker(kU85);
  constexpr std::int64_t kMost = (std::int64_t{1} << 40) - 1;
  maker.set(Short::dma_source_region, 1 | 2 << 9).set(Short::dma_target_region, 1 | 2 << 9);
  maker.set(Long::dma_source, kMost & 0xffffffff, 0xff).set(Long::dma_target, kResult);
  maker.set(Long::dma_length, kMost & 0xffffffff, 0xff);
  maker.set(Short::dma_size0, 65535).set(Short::dma_size1, 65535);
  maker.set(reg::source_stride0, kMost & 0xffffffff, 0xff).set(reg::source_stride1, kMost & 0xffffffff, 0xff);
  maker.set(reg::target_stride0, 0, 0).set(reg::target_stride1, 0, 0).op(OpCode::dma_start);
  EXPECT_NE(run().text().find("operation 0 (word "), std::string_view::npos) << run().text();
}

// ---- jumps

TEST_F(U85Operations, JumpsAreFollowed) {
  // Over a copy that would fail; back to it without end.
  maker.set(reg::branch, 4 * 3, 0).op(OpCode::dma_start);
  run_well();
  maker = StreamMaker(kU85);
  maker.set(reg::branch, 0, 0);
  EXPECT_EQ(run().text(), "command stream, word 0: operation 1, BRANCH: it is repeated without end");
  maker = StreamMaker(kU85);
  // A long way back: the stream is followed a few times, not once for each of its words.
  maker = StreamMaker(kU85);
  constexpr std::uint32_t kLong = 20000;
  for (std::uint32_t i = 0; i < kLong; ++i) maker.op(OpCode::kernel_wait);
  maker.set(reg::branch, 0, 0);
  EXPECT_EQ(run().text(), "command stream, word 20000: operation 40001, BRANCH: it is repeated without end");
  // Two jumps to each other, after one that is met once.
  maker = StreamMaker(kU85);
  maker.set(reg::branch, 4 * 4, 0).set(reg::branch, 4 * 4, 0).set(reg::branch, 4 * 2, 0);
  EXPECT_NE(run().text().find("it is repeated without end"), std::string_view::npos);
  maker = StreamMaker(kU85);
  maker.set(reg::branch, 2, 0);
  EXPECT_EQ(run().text(),
            "command stream, word 0: operation 0, BRANCH: to byte 2, expected a multiple of 4 less than 12");
  maker = StreamMaker(kU85);
  maker.set(reg::branch, 8, 1);
  EXPECT_EQ(run().text(),
            "command stream, word 0: operation 0, BRANCH: a conditional one: what sets its "
            "condition is not public");
}

}  // namespace
}  // namespace runnel::test
