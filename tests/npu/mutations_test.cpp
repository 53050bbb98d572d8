// Damaged command streams are refused with a sentence, or executed inside their regions (sanitizers check).
#include <gtest/gtest.h>

#include "npu/decoder.h"
#include "tests/npu/feed.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/mutate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

std::vector<Program> programs() {
  std::vector<Program> all = made_programs();
  for (Program& program : real_programs(data_folder())) all.push_back(std::move(program));
  for (Program& program : u85_programs(data_folder())) all.push_back(std::move(program));
  return all;
}

TEST(NpuMutations, OriginalsRun) {
  for (const Program& program : made_programs()) {
    const Status status = feed_payload(program, program.payload);
    EXPECT_TRUE(status.ok()) << program.name << ": " << status.text();
  }
}

TEST(NpuMutations, OriginalsOfTheU85Run) {
  RUNNEL_NEEDS_DATA();
  const std::vector<Program> all = u85_programs(data_folder());
  EXPECT_EQ(all.size(), 18u);
  for (const Program& program : all) {
    const Status status = feed_payload(program, program.payload);
    EXPECT_TRUE(status.ok()) << program.name << ": " << status.text();
  }
}

// Else the tests below would damage neither.
TEST(NpuMutations, OriginalsHaveBricksAndRegionsOfTheCpu) {
  bool written = false, read = false;
  std::uint32_t own = 0;
  for (const Program& program : made_programs()) {
    const auto payload = npu::read_payload(program.payload);
    ASSERT_TRUE(payload.ok()) << program.name;
    npu::Decoder decoder(payload->commands, **npu::find_accelerator(payload->config));
    for (npu::Operation op;;) {
      const auto more = decoder.next(op);
      ASSERT_TRUE(more.ok()) << program.name;
      if (!*more) break;
      if (!op.computes()) continue;
      written = written || (op.ofm.layout == npu::Layout::nhcwb16 && op.ofm.depth > 16);
      read = read || (op.ifm.layout == npu::Layout::nhcwb16 && op.ifm.depth > 16);
      own |= 1u << op.ifm.region | 1u << op.ofm.region;
    }
  }
  EXPECT_TRUE(written && read);
  EXPECT_EQ(own >> npu::kFirstOwn & 3, 3u);
}

TEST(NpuMutations, AreRefusedOrRun) {
  for (const Program& program : programs()) {
    Mutator mutator(program.payload, 11);
    int refused = 0;
    constexpr int kCount = 400;
    for (int i = 0; i < kCount; ++i) {
      const Status status = feed_payload(program, mutator.next());
      if (status.ok()) continue;
      ++refused;
      EXPECT_FALSE(status.text().empty());
    }
    EXPECT_GT(refused, 0) << program.name;
  }
}

TEST(NpuMutations, EveryTruncationIsRefused) {
  for (const Program& program : programs()) {
    for (std::size_t size = 0; size < program.payload.size(); ++size) {
      const std::vector<std::byte> cut(program.payload.begin(),
                                       program.payload.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_FALSE(feed_payload(program, cut).ok()) << program.name << " of " << size << " bytes";
    }
  }
}

TEST(NpuMutations, EveryTruncationOfLargeStreamsIsRefused) {
  RUNNEL_NEEDS_DATA();
  const std::vector<Program> large = large_programs(data_folder());
  ASSERT_GE(large.size(), 10u);
  for (const Program& program : large) {
    for (std::size_t size = 0; size < program.payload.size(); ++size) {
      ASSERT_FALSE(feed_payload(program, std::span(program.payload).first(size)).ok())
          << program.name << " of " << size << " bytes";
    }
    // The stream cut, in a payload that states its length: the end without STOP.
    const auto read = npu::read_payload(program.payload);
    ASSERT_TRUE(read.ok());
    const auto accelerator = npu::find_accelerator(read->config);
    for (std::size_t words = 0; words < read->commands.size(); ++words) {
      npu::Decoder decoder(read->commands.part(0, words), **accelerator);
      npu::Operation op;
      Result<bool> more = true;
      while (more.ok() && *more) more = decoder.next(op);
      ASSERT_FALSE(more.ok()) << program.name << " of " << words << " words";
    }
  }
}

// The fuzzer's seeds, and payloads that once took another path (tests/corpus/npu).
TEST(NpuMutations, CorpusIsRefusedOrRun) {
  const Program beside = made_programs().front();
  int run = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(RUNNEL_SOURCE_FOLDER) /
                                                               "tests/corpus/npu")) {
    SCOPED_TRACE(entry.path().filename().string());
    ++(failed_with_a_sentence(feed_payload(beside, read_file(entry.path()))) ? refused : run);
  }
  EXPECT_GT(run, 0);
  EXPECT_GT(refused, 0);
}

// Constants are damaged, too: weight streams and scales.
TEST(NpuMutations, DamagedConstantsAreRefusedOrRun) {
  std::vector<Program> all = made_programs();
  for (Program& program : u85_programs(data_folder())) {
    if (!program.constants.empty()) all.push_back(std::move(program));
  }
  for (const Program& program : all) {
    Mutator mutator(program.constants, 12);
    Program damaged = program;
    for (int i = 0; i < 2000; ++i) {
      damaged.constants = mutator.next();
      const Status status = feed_payload(damaged, program.payload);
      EXPECT_TRUE(status.ok() || !status.text().empty());
    }
  }
}

}  // namespace
}  // namespace runnel::test
