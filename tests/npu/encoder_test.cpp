// Round trip: recorded streams, decoded and encoded again, are the same operations; their weights survive in
// streams that are no longer.
#include <gtest/gtest.h>

#include <random>

#include "compiler/import/load.h"
#include "npu/decoder.h"
#include "npu/host/encoder/stream_encoder.h"
#include "npu/host/encoder/weight_encoder.h"
#include "npu/host/segment.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

const char* const kCompiled[] = {"u55-128/ad01_int8",
                                 "u55-128/hello_world_int8",
                                 "u55-128/kws_ref_model",
                                 "u55-128/micro_speech_quantized",
                                 "u55-128/person_detect",
                                 "u55-128/str_ww_ref_model",
                                 "u65-256/ad01_int8",
                                 "u65-256/kws_ref_model",
                                 "u65-256/micro_speech_quantized",
                                 "u65-256/person_detect",
                                 "u65-256/str_ww_ref_model"};

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

class RecordedStreams : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    RUNNEL_NEEDS_DATA();
    const auto loaded =
        compiler::load_model(data_folder() / "ethosu/vela" / (std::string(GetParam()) + "_vela.tflite"));
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

TEST_P(RecordedStreams, HaveWeightsThatTakeNoMoreBytesHere) {
  std::size_t recorded = 0, own = 0;
  for (const npu::Segment& segment : segments_) {
    // Copies determine which of the constants' weights an operation reads.
    std::vector<npu::Dma> copies;
    for (const npu::Operation& op : decoded(segment.payload.commands, *segment.accelerator)) {
      if (op.kind == npu::OperationKind::dma) copies.push_back(op.dma);
      if (op.kind != npu::OperationKind::conv && op.kind != npu::OperationKind::depthwise) continue;
      std::int64_t base = op.weights[0].base;
      if (op.weight_region != npu::kConstants) {
        for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
          if (base < copy->target.address || base >= copy->target.address + copy->length ||
              copy->target.region != op.weight_region)
            continue;
          base += copy->source.address - copy->target.address;
          break;
        }
      }
      const auto stream = segment.constants.subspan(static_cast<std::size_t>(base),
                                                    static_cast<std::size_t>(op.weights[0].length));
      const auto weights = npu::decode_weights(stream, std::size_t{1} << 24);
      ASSERT_TRUE(weights.ok()) << weights.status().text();
      const std::vector<std::byte> encoded = npu::encode_weights(*weights);
      const auto back = npu::decode_weights(encoded, weights->size());
      ASSERT_TRUE(back.ok()) << back.status().text();
      EXPECT_EQ(*back, *weights);
      recorded += stream.size();
      own += encoded.size();
    }
  }
  EXPECT_LE(static_cast<double>(own), 1.05 * static_cast<double>(recorded))
      << own << " bytes, recorded " << recorded;
  RecordProperty("own", static_cast<int>(own));
  RecordProperty("recorded", static_cast<int>(recorded));
}

INSTANTIATE_TEST_SUITE_P(All, RecordedStreams, testing::ValuesIn(kCompiled));

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

}  // namespace
}  // namespace runnel::test
