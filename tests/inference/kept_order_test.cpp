// A transposition that only moves axes of one element, such as that of single frames, moves no bytes: it is a
// view.
#include <gtest/gtest.h>

#include "tests/inference/ops/stream_case.h"

namespace runnel::test {
namespace {

// Time is last before the transposition, in the middle after it.
struct ChannelFirst : StreamCase {
  Id x, turned, y;

  explicit ChannelFirst(int exponent = 0) {
    x = input(DType::int8, {1, 3, 20});
    turned = tensor(DType::int8, {1, 20, 3}, exponent);
    node(OpCode::transpose, {x}, {turned}, compiler::TransposeOptions{{0, 2, 1}});
    y = tensor(DType::int8, {1, 20, 3}, exponent);
    node(OpCode::relu, {turned}, {y});
    graph.outputs = {y};
  }
  [[nodiscard]] std::shared_ptr<const Engine> engine(RunMode mode, std::int64_t frames) const {
    compiler::WriteOptions options;
    options.time_axes = {2};
    const auto written = compiler::write_model(graph, options);
    EXPECT_TRUE(written.ok()) << written.status().text();
    PrepareOptions prepare;
    prepare.mode = mode;
    prepare.frames = frames;
    auto made = Engine::make(*OwnedModel::from_bytes(written->bytes), prepare);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return *made;
  }
};

// Whether two tensors lie at the same place, in memory of the arena.
bool together(const Prepared& prepared, int a, int b) {
  const Placement &first = prepared.placement(a), &second = prepared.placement(b);
  return first.capacity == 0 && second.capacity == 0 && first.offset == second.offset;
}

TEST(KeptOrder, SingleFramesAreTransposedInPlace) {
  const ChannelFirst test;
  EXPECT_TRUE(together(test.engine(RunMode::stream, 1)->prepared(), test.x, test.turned));
  test.check({1, 7, 20}, "channels first", {2});
}

TEST(KeptOrder, SeveralFramesAreMoved) {
  const ChannelFirst test;
  EXPECT_FALSE(together(test.engine(RunMode::stream, 4)->prepared(), test.x, test.turned));
  EXPECT_FALSE(together(test.engine(RunMode::whole, 20)->prepared(), test.x, test.turned));
  EXPECT_TRUE(together(test.engine(RunMode::whole, 1)->prepared(), test.x, test.turned));
}

// Other numbers after it: not the same bytes, although in the same order.
TEST(KeptOrder, RequantizesWhereExponentsDiffer) {
  ChannelFirst test(1);
  test.check({1, 7, 20}, "other exponent", {2});
  const Bytes input = test.random_values(DType::int8, 60, 127);
  const auto whole = from_bytes<std::int8_t>(test.whole({input})[0]);
  const auto x = from_bytes<std::int8_t>(input);
  for (int t = 0; t < 20; ++t) {
    for (int c = 0; c < 3; ++c)
      EXPECT_EQ(whole[static_cast<std::size_t>(t * 3 + c)],
                std::max(0, (x[static_cast<std::size_t>(c * 20 + t)] + 1) >> 1))
          << t << " " << c;
  }
}

// Axes of one element between others change nothing; axes that pass each other do.
TEST(KeptOrder, LooksAtTheAxesThatHoldSomething) {
  for (const bool kept : {true, false}) {
    StreamCase test;
    const auto x = test.input(DType::int8, {1, 4, 1, 5});
    const auto turned = test.tensor(
        DType::int8, kept ? std::vector<std::int32_t>{4, 1, 5, 1} : std::vector<std::int32_t>{5, 4, 1, 1});
    test.node(OpCode::transpose, {x}, {turned},
              compiler::TransposeOptions{kept ? std::vector<std::uint8_t>{1, 2, 3, 0}
                                              : std::vector<std::uint8_t>{3, 1, 0, 2}});
    test.graph.outputs = {turned};
    const Bytes input = test.random_values(DType::int8, 20, 127);
    EXPECT_EQ(test.whole({input})[0] == input, kept);
  }
}

}  // namespace
}  // namespace runnel::test
