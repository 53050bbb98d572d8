// Layers: which operations of a stream count as one.
#include "npu/host/cycles/u85/layer.h"

#include <gtest/gtest.h>

namespace runnel::test {
namespace {

using npu::OperationKind;

npu::Operation of(OperationKind kind, std::uint32_t index) {
  npu::Operation op;
  op.product = npu::Product::u85;
  op.kind = kind;
  op.index = index;
  op.block_height = 2;
  op.block_width = 2;
  op.block_depth = 16;
  for (npu::FeatureMap* map : {&op.ifm, &op.ofm}) {
    map->height = map->width = 4;
    map->depth = 32;
    map->layout = npu::Layout::nhwc;
    map->stride_x = 64;
    map->stride_y = 256;
    map->region = 1;
  }
  return op;
}
// Channels [first, first + 32) of an output of 64.
npu::Operation slice(std::uint32_t index, std::int64_t first) {
  npu::Operation op = of(OperationKind::conv, index);
  op.ofm.base[0] = first;
  return op;
}

std::vector<npu::u85::Layer> layers_of(std::span<const npu::Operation> operations) {
  std::vector<npu::u85::Layer> out;
  npu::u85::LayerReader reader(operations);
  for (npu::u85::Layer layer; reader.next(layer);) out.push_back(layer);
  return out;
}

TEST(U85Layers, JoinSlicesOfAConvolution) {
  const npu::Operation operations[] = {slice(0, 0), of(OperationKind::dma, 1), of(OperationKind::dma_wait, 2),
                                       slice(3, 32)};
  const auto layers = layers_of(operations);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].slices.size(), 2U);
  EXPECT_EQ(layers[0].first.ofm.depth, 64);
}

TEST(U85Layers, KeepApartWhatFillsOtherMaps) {
  // As far apart as slices, but in maps of 32 channels.
  npu::Operation operations[] = {slice(0, 0), slice(1, 32)};
  for (npu::Operation& op : operations) op.ofm.stride_x = 32;
  EXPECT_EQ(layers_of(operations).size(), 2U);
}

TEST(U85Layers, JoinChains) {
  npu::Operation first = of(OperationKind::pool, 0), second = of(OperationKind::elementwise, 2),
                 third = of(OperationKind::elementwise, 3);
  first.ofm.storage = npu::Storage::chained;
  second.has_ifm2 = true;
  second.ifm2.storage = npu::Storage::chained;
  const npu::Operation operations[] = {first, of(OperationKind::dma, 1), second, third};
  const auto layers = layers_of(operations);
  ASSERT_EQ(layers.size(), 2U);
  ASSERT_EQ(layers[0].chained.size(), 1U);
  EXPECT_EQ(layers[0].chained[0]->index, 2U);
}

TEST(U85Layers, EndAtBranches) {
  const npu::Operation operations[] = {slice(0, 0), of(OperationKind::branch, 1), slice(2, 32)};
  EXPECT_EQ(layers_of(operations).size(), 2U);
}

TEST(U85Layers, CountCopiesWithIndicesOnly) {
  npu::Operation gather = of(OperationKind::dma, 1);
  gather.u85.source.indexed = true;
  const npu::Operation operations[] = {of(OperationKind::dma, 0), gather};
  const auto layers = layers_of(operations);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].first.index, 1U);
}

}  // namespace
}  // namespace runnel::test
