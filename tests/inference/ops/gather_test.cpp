// Gather, scatter and reverse by index: values, streams, and indices that lie outside.
#include "tests/inference/ops/stream_case.h"

namespace runnel {
namespace {

using test::Bytes;
using test::StreamCase;
using Id = compiler::TensorId;
using Values = std::vector<std::int8_t>;

std::vector<std::int8_t> values(const Bytes& bytes) { return test::from_bytes<std::int8_t>(bytes); }

TEST(Gather, PicksSlices) {
  StreamCase test;
  const Id x = test.input(DType::int8, {1, 2, 3, 2}, -5),
           indices = test.constant<std::int64_t>(DType::int64, {2, 2}, {2, 0, -1, 1});
  const Id y = test.tensor(DType::int8, {1, 2, 2, 2, 2}, -5);
  test.node(OpCode::gather, {x, indices}, {y}, compiler::AxisOptions{2});
  test.graph.outputs = {y};
  EXPECT_EQ(values(test.whole({test::to_bytes(Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})})[0]),
            (Values{4, 5, 0, 1, 4, 5, 2, 3, 10, 11, 6, 7, 10, 11, 8, 9}));
  test.check({0, 1, 9}, "gather");
}

TEST(Gather, LooksUpATable) {
  StreamCase test;
  const Id indices = test.input(DType::int32, {1, 5}),
           table = test.constant<std::int8_t>(DType::int8, {3, 2}, {1, 2, 3, 4, 5, 6}, -5),
           y = test.tensor(DType::int8, {1, 5, 2}, -5);
  test.node(OpCode::gather, {table, indices}, {y}, compiler::AxisOptions{0});
  test.graph.outputs = {y};
  // Computed indices outside are clamped.
  EXPECT_EQ(values(test.whole({test::to_bytes(std::vector<std::int32_t>{0, 2, -2, 99, -99})})[0]),
            (Values{1, 2, 5, 6, 3, 4, 5, 6, 1, 2}));
  test.check({0, 1, 9}, "table");
}

TEST(Gather, Refuses) {
  StreamCase test;
  const Id x = test.input(DType::int8, {1, 4, 2}, -5),
           indices = test.constant<std::int64_t>(DType::int64, {1}, {3}),
           y = test.tensor(DType::int8, {1, 1, 2}, -5);
  test.node(OpCode::gather, {x, indices}, {y}, compiler::AxisOptions{1});
  test.graph.outputs = {y};
  EXPECT_NE(test.refusal().find("picks frames of the recording by index"), std::string::npos)
      << test.refusal();
  test.graph.tensors[static_cast<std::size_t>(indices)].data = test::to_bytes(std::vector<std::int64_t>{4});
  EXPECT_NE(test.refusal().find("index 4, expected -4 to 3"), std::string::npos) << test.refusal();
}

TEST(ScatterNd, EveryReduction) {
  const std::vector<std::pair<ScatterReduction, Values>> cases = {
      {ScatterReduction::none, {1, 2, 30, 40, 5, 6}},
      {ScatterReduction::add, {1, 2, 127, 44, 5, 6}},
      {ScatterReduction::mul, {1, 2, 97, 5, 5, 6}},
      {ScatterReduction::max, {1, 2, 103, 40, 5, 6}},
      {ScatterReduction::min, {1, 2, 30, 4, 5, 6}}};
  for (const auto& [reduction, expected] : cases) {
    StreamCase test;
    const Id x = test.input(DType::int8, {3, 2}, -5),
             indices = test.constant<std::int64_t>(DType::int64, {1, 1}, {-2});
    const Id updates = test.input(DType::int8, {1, 2}, -5), y = test.tensor(DType::int8, {3, 2}, -5);
    test.node(OpCode::scatter_nd, {x, indices, updates}, {y}, compiler::ScatterOptions{reduction});
    test.graph.outputs = {y};
    // At 2^-5: 103 * 30 / 32 = 96.6, 4 * 40 / 32 = 5.
    EXPECT_EQ(
        values(test.whole({test::to_bytes(Values{1, 2, 103, 4, 5, 6}), test::to_bytes(Values{30, 40})})[0]),
        expected)
        << name_of(reduction);
    EXPECT_NE(test.refusal().find("writes to frames by index"), std::string::npos) << test.refusal();
  }
}

TEST(ScatterNd, UpdatesComeToTheOutputsScale) {
  StreamCase test;
  const Id x = test.input(DType::int16, {4}, -8),
           indices = test.constant<std::int32_t>(DType::int32, {2, 1}, {3, 3});
  const Id updates = test.input(DType::int16, {2}, -9), y = test.tensor(DType::int16, {4}, -7);
  test.node(OpCode::scatter_nd, {x, indices, updates}, {y}, compiler::ScatterOptions{ScatterReduction::add});
  test.graph.outputs = {y};
  const auto found = test.whole({test::to_bytes(std::vector<std::int16_t>{2, 4, 6, 8}),
                                 test::to_bytes(std::vector<std::int16_t>{400, 40})});
  EXPECT_EQ(test::from_bytes<std::int16_t>(found[0]), (std::vector<std::int16_t>{1, 2, 3, 114}));
}

// Neighbours are moved together; a later update of the same element wins, and negative indices count from the
// end.
TEST(ScatterNd, FloatsOfConstantIndicesMoveInPieces) {
  StreamCase test;
  const Id x = test.input(DType::float32, {3, 4}, 0);
  const Id indices =
      test.constant<std::int64_t>(DType::int64, {7, 2}, {0, 1, 0, 2, 0, 3, 1, 0, 2, 3, 0, 2, -1, -4});
  const Id updates = test.input(DType::float32, {7}, 0), y = test.tensor(DType::float32, {3, 4}, 0);
  test.node(OpCode::scatter_nd, {x, indices, updates}, {y}, compiler::ScatterOptions{ScatterReduction::none});
  test.graph.outputs = {y};
  const auto found = test.whole(
      {test::to_bytes(std::vector<float>(12, 9)), test::to_bytes(std::vector<float>{1, 2, 3, 4, 5, 6, 7})});
  EXPECT_EQ(test::from_bytes<float>(found[0]), (std::vector<float>{9, 1, 6, 3, 4, 9, 9, 9, 7, 9, 9, 5}));
}

TEST(ReverseSequence, ReversesTheFirstFrames) {
  StreamCase test;
  const Id x = test.input(DType::int8, {4, 3}, -5),
           lengths = test.constant<std::int64_t>(DType::int64, {3}, {1, 2, 4}),
           y = test.tensor(DType::int8, {4, 3}, -5);
  test.node(OpCode::reverse_sequence, {x, lengths}, {y}, compiler::ReverseOptions{0, 1});
  test.graph.outputs = {y};
  const Bytes data = test::to_bytes(Values{1, 2, 3, 11, 12, 13, 21, 22, 23, 31, 32, 33});
  EXPECT_EQ(values(test.whole({data})[0]), (Values{1, 12, 33, 11, 2, 23, 21, 22, 13, 31, 32, 3}));
  EXPECT_NE(test.refusal().find("reverses the recording; it needs its end first"), std::string::npos)
      << test.refusal();
  // Time and batch change places: rows are reversed, and lengths belong to rows.
  test.graph.tensors[static_cast<std::size_t>(lengths)].shape = {4};
  test.graph.tensors[static_cast<std::size_t>(lengths)].data =
      test::to_bytes(std::vector<std::int64_t>{3, 2, 0, 3});
  std::get<compiler::ReverseOptions>(test.graph.nodes[0].options) = {1, 0};
  EXPECT_EQ(values(test.whole({data})[0]), (Values{3, 2, 1, 12, 11, 13, 21, 22, 23, 33, 32, 31}));
  EXPECT_NE(test.refusal().find("reverses each frame by a length of its own"), std::string::npos)
      << test.refusal();
}

TEST(ReverseSequence, StreamsBesideTime) {
  StreamCase test;
  const Id x = test.input(DType::int8, {5, 2, 3}, -5),
           lengths = test.constant<std::int32_t>(DType::int32, {3}, {2, 1, 2}),
           y = test.tensor(DType::int8, {5, 2, 3}, -5);
  test.node(OpCode::reverse_sequence, {x, lengths}, {y}, compiler::ReverseOptions{1, 2});
  test.graph.outputs = {y};
  test.check({0, 1, 8}, "reverse beside time");
}

}  // namespace
}  // namespace runnel
