// Round trip: recorded streams, decoded and encoded again, are the same operations; their weights survive in
// streams that are no longer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "compiler/import/load.h"
#include "npu/decoder.h"
#include "npu/host/encoder/stream_encoder.h"
#include "npu/host/encoder/u85/weight_encoder.h"
#include "npu/host/encoder/weight_encoder.h"
#include "npu/host/segment.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

std::vector<std::string> compiled_files() {
  std::vector<std::string> all;
  const char* const kNetworks[] = {"ad01_int8",     "hello_world_int8",
                                   "kws_ref_model", "micro_speech_quantized",
                                   "person_detect", "str_ww_ref_model"};
  for (const char* folder :
       {"ethosu/vela/u55-128/", "ethosu/vela/u65-256/", "ethosu85/u85-128/", "ethosu85/u85-256/",
        "ethosu85/u85-256-flash/", "ethosu85/u85-512/", "ethosu85/u85-1024/", "ethosu85/u85-2048/"}) {
    for (const char* network : kNetworks) all.push_back(folder + std::string(network));
  }
  return all;
}

std::vector<npu::Operation> decoded(npu::Words words, const npu::Accelerator& accelerator) {
  std::vector<npu::Operation> all;
  npu::Decoder decoder(words, accelerator);
  for (npu::Operation op;;) {
    const auto more = decoder.next(op);
    EXPECT_TRUE(more.ok()) << more.status().text();
    if (!more.ok() || !*more) return all;
    if (op.kind != npu::OperationKind::stop) all.push_back(op);
  }
}

class RecordedStreams : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    RUNNEL_NEEDS_DATA();
    const auto path = data_folder() / (GetParam() + "_vela.tflite");
    // Not every network is there for every device.
    if (!std::filesystem::exists(path)) return;
    const auto loaded = compiler::load_model(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status().text();
    owned_ = loaded->model;
    for (int i = 0; i < owned_->model().operator_count(); ++i) {
      if (code_of(owned_->model().op(i)) != runnel::OpCode::delegate) continue;
      auto segment = npu::read_segment(owned_->model(), owned_->model().op(i));
      ASSERT_TRUE(segment.ok()) << segment.status().text();
      segments_.push_back(*std::move(segment));
    }
    ASSERT_FALSE(segments_.empty());
  }
  std::shared_ptr<const OwnedModel> owned_;
  std::vector<npu::Segment> segments_;
};

TEST_P(RecordedStreams, AreWrittenAsTheSameOperations) {
  for (const npu::Segment& segment : segments_) {
    const std::vector<npu::Operation> before = decoded(segment.payload.commands, *segment.accelerator);
    npu::StreamEncoder first(*segment.accelerator);
    for (const npu::Operation& op : before) first.add(op);
    // Encoded twice, because the first decoding may lack fields that the second one lacks too.
    const std::vector<std::byte> payload = first.payload();
    const auto again = npu::read_payload(payload);
    ASSERT_TRUE(again.ok()) << again.status().text();
    EXPECT_EQ(again->config, segment.payload.config);
    const std::vector<npu::Operation> after = decoded(again->commands, *segment.accelerator);
    ASSERT_EQ(after.size(), before.size());
    npu::StreamEncoder second(*segment.accelerator);
    for (const npu::Operation& op : after) second.add(op);
    EXPECT_EQ(second.words(), first.words());
  }
}

// Where an operation's weights are among the constants: copies determine what was there before.
std::span<const std::byte> in_constants(const npu::Segment& segment, const npu::Operation& op,
                                        const npu::Bytes& stream, const std::vector<npu::Dma>& copies) {
  std::int64_t base = stream.base;
  if (op.weight_region != npu::kConstants) {
    for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
      if (base < copy->target.address || base >= copy->target.address + copy->length ||
          copy->target.region != op.weight_region)
        continue;
      base += copy->source.address - copy->target.address;
      break;
    }
  }
  return segment.constants.subspan(static_cast<std::size_t>(base), static_cast<std::size_t>(stream.length));
}

// Of U55 and U65; of the U85, whose streams are for several decoders or in another format, below.
TEST_P(RecordedStreams, HaveWeightsThatTakeNoMoreBytesHere) {
  std::size_t recorded = 0, own = 0;
  for (const npu::Segment& segment : segments_) {
    const bool newest = segment.accelerator->product == npu::Product::u85;
    std::vector<npu::Dma> copies;
    for (const npu::Operation& op : decoded(segment.payload.commands, *segment.accelerator)) {
      if (op.kind == npu::OperationKind::dma) copies.push_back(op.dma);
      if (!npu::reads_weights(op)) continue;
      std::vector<std::span<const std::byte>> streams;
      for (const npu::Bytes& stream : op.weights) {
        if (stream.length > 0) streams.push_back(in_constants(segment, op, stream, copies));
      }
      for (const auto& stream : streams) recorded += stream.size();
      if (!newest) {
        const auto weights = npu::decode_weights(streams[0], std::size_t{1} << 24);
        ASSERT_TRUE(weights.ok()) << weights.status().text();
        const std::vector<std::byte> encoded = npu::encode_weights(*weights);
        const auto back = npu::decode_weights(encoded, weights->size());
        ASSERT_TRUE(back.ok()) << back.status().text();
        EXPECT_EQ(*back, *weights);
        own += encoded.size();
        continue;
      }
      const npu::u85::WeightOrder order = npu::u85::weight_order(op, *segment.accelerator);
      const auto weights = npu::u85::unpack_weights(order, op.u85.fast_weights, streams);
      ASSERT_TRUE(weights.ok()) << weights.status().text();
      const npu::u85::PackedWeights packed = npu::u85::pack_weights(order, *weights);
      std::vector<std::span<const std::byte>> again(packed.streams.begin(), packed.streams.end());
      const auto back = npu::u85::unpack_weights(order, packed.fast, again);
      ASSERT_TRUE(back.ok()) << back.status().text();
      EXPECT_EQ(*back, *weights);
      own += packed.bytes();
    }
  }
  EXPECT_LE(static_cast<double>(own), 1.02 * static_cast<double>(recorded))
      << own << " bytes, recorded " << recorded;
  std::printf("%s: %zu bytes, recorded %zu\n", GetParam().c_str(), own, recorded);
}

INSTANTIATE_TEST_SUITE_P(All, RecordedStreams, testing::ValuesIn(compiled_files()));

TEST(WeightEncoder, GivesBackWhatItGot) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    // Few or many values, small or large, with zeros or without.
    const std::size_t count = 1 + random() % (round % 50 == 0 ? 70000 : 300);
    const int most = 1 + static_cast<int>(random() % 255), zeros = static_cast<int>(random() % 5);
    std::vector<std::int16_t> weights(count);
    for (std::int16_t& weight : weights) {
      if (static_cast<int>(random() % 4) < zeros) continue;
      weight =
          static_cast<std::int16_t>(static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most);
    }
    const std::vector<std::byte> stream = npu::encode_weights(weights);
    EXPECT_EQ(stream.size() % 16, 0u);
    const auto back = npu::decode_weights(stream, count);
    ASSERT_TRUE(back.ok()) << "round " << round << ": " << back.status().text();
    ASSERT_EQ(*back, weights) << "round " << round;
  }
}

// Every order of weights of every configuration, in both formats.
TEST(U85WeightEncoder, GivesBackWhatItGot) {
  std::mt19937 random(2);
  const auto of = [&](int count) {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(count));
  };
  int fast = 0, sparse = 0;
  for (int round = 0; round < 400; ++round) {
    npu::u85::WeightOrder order;
    order.depthwise = of(4) == 0;
    order.decoders = 1 << of(3);
    order.unit = order.decoders * (of(2) == 0 ? 8 : 16);
    order.outs = 1 + of(70);
    order.depth = order.depthwise ? 1 : 1 + of(of(3) == 0 ? 150 : 20);
    order.height = 1 + of(of(3) == 0 ? 10 : 3);
    order.width = 1 + of(of(3) == 0 ? 10 : 3);
    order.stride_y = 1 + of(3);
    order.stride_x = 1 + of(3);
    order.dilation_y = 1 + of(2);
    order.dilation_x = 1 + of(2);
    order.block_depth = order.unit * (1 + of(4));
    order.part_kernel = !order.depthwise && of(2) == 0;
    order.wide = of(3) == 0;
    order.sparse = !order.depthwise && of(3) == 0;
    order.input_depth = order.part_kernel ? 16 : order.sparse ? 128 : of(2) == 0 ? 32 : 64;
    order.depthwise_filler = order.depthwise ? 2 * of(4) : 0;
    std::vector<std::int16_t> weights(static_cast<std::size_t>(order.outs * order.height * order.width) *
                                      static_cast<std::size_t>(order.depth));
    const int values = of(3) == 0 ? 1 + of(6) : 127;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      // Of four channels two have weights where they must be sparse.
      const bool none = order.sparse ? i % static_cast<std::size_t>(order.depth) % 4 >= 2 : of(4) == 0;
      if (!none) weights[i] = static_cast<std::int16_t>(of(2 * values + 1) - values);
    }
    EXPECT_TRUE(!order.sparse || npu::u85::fits_sparse(weights, order.depth));
    const npu::u85::PackedWeights plain = npu::u85::pack_plain_weights(order, weights),
                                  quick = npu::u85::pack_fast_weights(order, weights),
                                  smallest = npu::u85::pack_weights(order, weights);
    EXPECT_EQ(smallest.bytes(),
              quick.streams.empty() ? plain.bytes() : std::min(plain.bytes(), quick.bytes()));
    for (const npu::u85::PackedWeights* packed : {&plain, &quick}) {
      std::vector<std::span<const std::byte>> streams(packed->streams.begin(), packed->streams.end());
      if (streams.empty()) continue;
      for (const auto& stream : streams) EXPECT_EQ(stream.size() % (packed->fast ? 32 : 16), 0u);
      const auto back = npu::u85::unpack_weights(order, packed->fast, streams);
      ASSERT_TRUE(back.ok()) << "round " << round << ": " << back.status().text();
      ASSERT_EQ(*back, weights) << "round " << round;
      fast += packed->fast ? 1 : 0;
    }
    sparse += order.sparse ? 1 : 0;
  }
  EXPECT_GT(fast, 200);
  EXPECT_GT(sparse, 50);
}

TEST(U85WeightEncoder, WritesFastStreamsInEveryForm) {
  std::mt19937 random(3);
  const std::pair<int, int> ranges[] = {{-1, 2}, {-7, 7}, {-128, 127}, {-200, 20}, {0, 255}};
  for (const auto& [low, high] : ranges) {
    std::vector<std::int16_t> weights(1 + random() % 500);
    for (std::int16_t& weight : weights)
      weight =
          static_cast<std::int16_t>(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
    for (const bool sparse : {false, true}) {
      const std::vector<std::byte> stream = npu::u85::encode_fast_weights(weights, sparse);
      ASSERT_FALSE(stream.empty());
      const auto back = npu::u85::decode_fast_weights(stream);
      ASSERT_TRUE(back.ok()) << back.status().text();
      ASSERT_GE(back->size(), weights.size());
      EXPECT_TRUE(std::equal(weights.begin(), weights.end(), back->begin())) << low << " to " << high;
      EXPECT_EQ(std::count(back->begin() + static_cast<std::ptrdiff_t>(weights.size()), back->end(), 0),
                static_cast<std::ptrdiff_t>(back->size() - weights.size()));
    }
  }
  // More than a byte can tell.
  const std::int16_t wide[] = {-200, 200, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_TRUE(npu::u85::encode_fast_weights(wide, false).empty());
}

TEST(U85WeightEncoder, RecordsScalesOfBothWidths) {
  for (const bool wide : {false, true}) {
    const npu::ScaleRecord record{wide ? -(std::int64_t{1} << 40) - 5 : -123456789,
                                  wide ? 0x7123u : 0x7fffff01u, 37};
    std::vector<std::byte> bytes;
    npu::u85::append_scale_record(record, wide, bytes);
    ASSERT_EQ(bytes.size(), 10u);
    EXPECT_EQ(npu::u85::read_scale_record(bytes.data(), wide), record);
  }
}

}  // namespace
}  // namespace runnel::test
