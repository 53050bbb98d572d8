// A model in a partition whose program has counters and is for two cores: the figures are those of that
// model, and the bits stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "counted.h"
#include "embed/measure/runnel_measure.h"
#include "embed/partition/profile.h"
#include "embed/program.h"
#include "services/device/report.h"
#include "tests/support/data.h"
#include "toldapart.h"

namespace runnel {
namespace {

constexpr std::size_t kRoom = std::size_t{512} << 10;  // hosts pack weights for their vector units
struct Aligned {
  alignas(64) unsigned char bytes[kRoom];
};

std::uint32_t ticks = 0;
std::uint32_t count(void*) { return ticks += 7; }
void add_line(void* user, const char* line) { static_cast<std::vector<std::string>*>(user)->push_back(line); }

class ToldPartition : public testing::Test {
 protected:
  static void keep(void* user, runnel_stage stage, const void* frames, std::size_t number,
                   std::size_t frame_bytes, std::int64_t) {
    const auto* from = static_cast<const unsigned char*>(frames);
    auto& out = *static_cast<std::vector<unsigned char>*>(user);
    if (stage == RUNNEL_OUTPUT) out.insert(out.end(), from, from + number * frame_bytes);
  }
  // A node with the digits model in a partition.
  runnel_node* prepare() {
    const std::vector<std::byte> bytes = test::read_file(TOLD_IMAGE);
    EXPECT_LE(bytes.size(), kRoom);
    std::memcpy(flash_->bytes, bytes.data(), std::min(bytes.size(), kRoom));
    runnel_partition partition = {};
    partition.address = flash_->bytes;
    partition.bytes = static_cast<std::uint32_t>(bytes.size());
    const runnel_options options = {memory_->bytes, kRoom, nullptr, 0, keep, &output_};
    runnel_node* node = nullptr;
    EXPECT_EQ(runnel_prepare_partition(&runnel_toldapart, &partition, &options, &node), RUNNEL_OK)
        << runnel_last_failure();
    return node;
  }
  // The same model in a program.
  runnel_node* prepare_in_rom() {
    const runnel_options options = {memory_->bytes, kRoom, nullptr, 0, keep, &output_};
    runnel_node* node = nullptr;
    EXPECT_EQ(runnel_prepare(&runnel_counted, &options, &node), RUNNEL_OK) << runnel_last_failure();
    return node;
  }
  std::vector<unsigned char> push(runnel_node* node) {
    output_.clear();
    std::vector<std::int16_t> samples(8000);
    std::uint32_t state = 3;
    for (std::int16_t& one : samples) {
      state = state * 1664525U + 1013904223U;
      one = static_cast<std::int16_t>(static_cast<int>(state >> 16) % 8000 - 4000);
    }
    for (std::size_t at = 0; at < samples.size(); at += 160)
      EXPECT_EQ(runnel_push_int16(node, samples.data() + at, 160), RUNNEL_OK);
    return output_;
  }
  std::unique_ptr<Aligned> memory_ = std::make_unique<Aligned>(), flash_ = std::make_unique<Aligned>();
  std::vector<unsigned char> output_;
};

TEST_F(ToldPartition, ReportsTheModelOfThePartition) {
  runnel_node* const node = prepare();
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(runnel_toldapart.program.infer->model_sum, 0U) << "the profile knows no model";
  EXPECT_EQ(runnel_program_of(node)->infer->model_sum, runnel_counted.infer->model_sum);
  const runnel_board board = {count, 1000000, nullptr, nullptr};
  ASSERT_EQ(runnel_measure(node, &board), RUNNEL_OK) << runnel_last_failure();
  push(node);
  std::vector<std::string> lines;
  ASSERT_EQ(runnel_tell(node, add_line, &lines), RUNNEL_OK) << runnel_last_failure();
  device::ReportReader reader(false);
  for (const std::string& line : lines) ASSERT_TRUE(reader.line(line).ok()) << line;
  ASSERT_TRUE(reader.end().ok()) << reader.end().text();
  EXPECT_EQ(reader.report()->model_sum, runnel_counted.infer->model_sum);
  EXPECT_EQ(reader.report()->program, "toldapart");
  EXPECT_GT(reader.report()->operators.size(), 3U);
  // The program's header says what a device needs; this machine's packed weights come on top.
  EXPECT_GT(reader.report()->memory_used, 1000U);
  EXPECT_LE(reader.report()->memory_used, static_cast<std::uint64_t>(kRoom));
}

TEST_F(ToldPartition, SplitsOperatorsAndKeepsTheBits) {
  const std::vector<unsigned char> expected = push(prepare_in_rom());
  ASSERT_GT(expected.size(), 200U);
  runnel_node* const node = prepare();
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(push(node), expected);
  static_assert(RUNNEL_TOLDAPART_CORES == 2);
  // The second core works before this one waits for it: which one does it first changes nothing.
  static int jobs;
  jobs = 0;
  const runnel_cores cores = {2,
                              [](void*, const runnel_job* job, std::uint32_t index) {
                                ++jobs;
                                runnel_do(job, index);
                              },
                              [](void*, std::uint32_t) {}, nullptr};
  ASSERT_EQ(runnel_use_cores(node, &cores), RUNNEL_OK) << runnel_last_failure();
  ASSERT_EQ(runnel_reset(node), RUNNEL_OK);
  EXPECT_EQ(push(node), expected);
  EXPECT_GT(jobs, 20);
}

}  // namespace
}  // namespace runnel
