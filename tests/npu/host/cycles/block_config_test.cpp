// Blocks: those of recorded streams are legal, equal the result of Arm's search, and are no quicker than
// the best one.
#include "npu/host/cycles/block_config.h"

#include <gtest/gtest.h>

#include "compiler/import/load.h"
#include "npu/decoder.h"
#include "npu/host/segment.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

class Violations final : public npu::ViolationSink {
 public:
  void report(const npu::Operation&, std::string_view rule, std::string_view what) noexcept override {
    text += std::string(rule) + ": " + std::string(what) + "\n";
  }
  std::string text;
};

const npu::Accelerator& accelerator(std::string_view name) { return **npu::find_accelerator(name); }
npu::CycleModel model_of(const npu::Accelerator& accelerator) {
  return *npu::CycleModel::make(accelerator, npu::default_system(accelerator.product),
                                npu::default_memory_mode(accelerator.product));
}
npu::FeatureMap map(std::int32_t height, std::int32_t width, std::int32_t depth,
                    npu::Layout layout = npu::Layout::nhcwb16) {
  npu::FeatureMap out;
  out.height = height;
  out.width = out.width0 = width;
  out.depth = depth;
  out.is_signed = true;
  out.layout = layout;
  out.region = npu::kScratch;
  out.stride_x = layout == npu::Layout::nhcwb16 ? 16 : depth;
  out.stride_c = 16 * width;
  out.stride_y = 16 * ((depth + 15) / 16) * width;
  out.height0 = out.height1 = height;
  return out;
}
npu::Operation convolution(std::int32_t size, std::int32_t in, std::int32_t out, std::int32_t kernel) {
  npu::Operation op;
  op.kind = npu::OperationKind::conv;
  op.ifm = map(size, size, in);
  op.ofm = map(size, size, out);
  op.kernel.height = op.kernel.width = kernel;
  op.kernel.top = op.kernel.left = kernel / 2;
  op.has_scales = true;
  op.weights[0].length = 16;
  op.activation.low = -128;
  op.activation.high = 127;
  return op;
}

const char* const kAccelerators[] = {"ethos-u55-32",  "ethos-u55-64",  "ethos-u55-128",
                                     "ethos-u55-256", "ethos-u65-256", "ethos-u65-512"};

TEST(LegalBlocks, AreThoseThatTheValidatorTakes) {
  for (const char* name : kAccelerators) {
    const npu::Accelerator& target = accelerator(name);
    npu::Operation op = convolution(24, 40, 72, 3);
    const auto legal = npu::legal_blocks(op, target);
    ASSERT_FALSE(legal.empty()) << name;
    for (const npu::BlockConfig& config : legal) {
      npu::set_block(op, config);
      Violations found;
      npu::Validator validator(target, {}, found);
      validator.check(op);
      ASSERT_EQ(found.text, "") << name << ' ' << config.block.height << ' ' << config.block.width << ' '
                                << config.block.depth;
      // One bank less for the input does not suffice.
      op.ib_end -= 1;
      validator.check(op);
      ASSERT_NE(found.text, "");
    }
  }
}

TEST(LegalBlocks, DoNotExceedTheLimits) {
  npu::Operation op = convolution(64, 16, 16, 1);
  const auto judge = [&](std::int32_t height, std::int32_t width, std::int32_t depth) {
    op.block_height = height;
    op.block_width = width;
    op.block_depth = depth;
    return npu::layout_of(op, accelerator("ethos-u55-128")).ok();
  };
  EXPECT_TRUE(judge(1, 2, 8));
  EXPECT_FALSE(judge(1, 1, 8)) << "half a micro-block";
  EXPECT_FALSE(judge(1, 2, 12));
  EXPECT_FALSE(judge(1, 66, 8));
  EXPECT_FALSE(judge(33, 2, 8));
  EXPECT_FALSE(judge(32, 64, 128)) << "more than there is memory";
  const auto u85 = npu::layout_of(op, accelerator("ethos-u85-256"));
  EXPECT_EQ(u85.status().code(), Code::unsupported);
  EXPECT_TRUE(npu::legal_blocks(op, accelerator("ethos-u85-256")).empty());
}

TEST(BestBlock, IsNoSlowerThanAnyOther) {
  for (const char* name : kAccelerators) {
    const npu::CycleModel model = model_of(accelerator(name));
    npu::Operation op = convolution(20, 24, 48, 3);
    const auto best = npu::best_block(op, model);
    ASSERT_TRUE(best.ok()) << best.status().text();
    npu::set_block(op, *best);
    const double least = npu::estimate({&op, 1}, model).total;
    for (const npu::BlockConfig& config : npu::legal_blocks(op, model.accelerator())) {
      npu::set_block(op, config);
      EXPECT_LE(least, npu::estimate({&op, 1}, model).total);
    }
  }
}

TEST(CycleModel, FollowsTheHandCheck) {
  // 25 x 5 x 64 through 3 x 3 taps in blocks of 14 x 6 x 16: 8 blocks of 3 steps of max(32, 4 * 3 * 14)
  // cycles in two halves, and one output of 560.
  npu::Operation op = convolution(25, 64, 64, 3);
  op.kind = npu::OperationKind::depthwise;
  op.ifm = op.ofm = map(25, 5, 64);
  op.block_height = 14;
  op.block_width = 6;
  op.block_depth = 16;
  op.weight_region = npu::kScratch;
  EXPECT_EQ(model_of(accelerator("ethos-u55-128")).cycles(op), 8 * 1008 + 560);
}

TEST(CycleModel, MapsRegionsToMemories) {
  const npu::Accelerator& target = accelerator("ethos-u65-256");
  const auto make = [&](const char* mode) {
    return *npu::CycleModel::make(target, **npu::find_system("Ethos_U65_High_End"),
                                  **npu::find_memory_mode(mode));
  };
  EXPECT_EQ(make("Sram_Only").area_of(npu::kConstants), npu::MemoryArea::on_chip_flash);
  EXPECT_EQ(make("Sram_Only").bytes_per_cycle(npu::MemoryArea::on_chip_flash), 16);
  EXPECT_EQ(make("Shared_Sram").area_of(npu::kConstants), npu::MemoryArea::dram);
  EXPECT_EQ(make("Shared_Sram").area_of(npu::kScratch), npu::MemoryArea::sram);
  EXPECT_EQ(make("Dedicated_Sram").area_of(npu::kScratch), npu::MemoryArea::dram);
  EXPECT_EQ(make("Dedicated_Sram").area_of(npu::kFastScratch), npu::MemoryArea::sram);
  EXPECT_EQ(make("Dedicated_Sram").bytes_per_cycle(npu::MemoryArea::dram), 3.75);
  EXPECT_EQ(npu::find_system("Ethos_U55").status().code(), Code::not_found);
  EXPECT_EQ(npu::find_memory_mode("Dram_Only").status().code(), Code::not_found);
  const npu::Accelerator& u85 = accelerator("ethos-u85-512");
  EXPECT_EQ(
      npu::CycleModel::make(u85, npu::default_system(u85.product), npu::default_memory_mode(u85.product))
          .status()
          .code(),
      Code::unsupported);
}

TEST(RecordedBlocks, AreThoseOfTheSearchAndNoQuickerThanTheBest) {
  RUNNEL_NEEDS_DATA();
  int compared = 0;
  for (const char* file : {"u55-128/kws_ref_model", "u55-128/person_detect", "u55-128/micro_speech_quantized",
                           "u65-256/kws_ref_model", "u65-256/person_detect", "u55-128/ad01_int8",
                           "u65-256/ad01_int8", "u55-128/seanet_add0_int16"}) {
    const auto loaded =
        compiler::load_model(data_folder() / "ethosu/vela" / (std::string(file) + "_vela.tflite"));
    ASSERT_TRUE(loaded.ok());
    const Model& model = loaded->model->model();
    for (int i = 0; i < model.operator_count(); ++i) {
      if (code_of(model.op(i)) != runnel::OpCode::delegate) continue;
      const auto segment = npu::read_segment(model, model.op(i));
      ASSERT_TRUE(segment.ok());
      const npu::CycleModel cycles = model_of(*segment->accelerator);
      npu::Decoder decoder(segment->payload.commands, *segment->accelerator);
      for (npu::Operation op;;) {
        const auto more = decoder.next(op);
        ASSERT_TRUE(more.ok());
        if (!*more) break;
        if (!op.computes()) continue;
        SCOPED_TRACE(std::string(file) + ", operation " + std::to_string(op.index));
        const double recorded = npu::estimate({&op, 1}, cycles).total;
        const auto search = npu::compilers_block(op, *segment->accelerator);
        ASSERT_TRUE(search.ok()) << search.status().text();
        // For a cut convolution the search saw all channels.
        if (op.weight_region == npu::kConstants || op.kind == npu::OperationKind::pool ||
            op.kind == npu::OperationKind::elementwise) {
          EXPECT_EQ(search->block.height, op.block_height);
          EXPECT_EQ(search->block.width, op.block_width);
          EXPECT_EQ(search->block.depth, op.block_depth);
          ++compared;
        }
        npu::Operation tried = op;
        const auto best = npu::best_block(op, cycles);
        ASSERT_TRUE(best.ok()) << best.status().text();
        npu::set_block(tried, *best);
        EXPECT_LE(npu::estimate({&tried, 1}, cycles).total, recorded);
      }
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace runnel::test
