// runnel_measure.h on this machine, with a counter of the test's own: figures, lines, and what reads them.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/model_graph.h"
#include "compiler/write/writer.h"
#include "counted.h"
#include "countedstep.h"
#include "digits.h"
#include "embed/measure/runnel_measure.h"
#include "embed/program.h"
#include "services/device/report.h"

namespace {

using namespace runnel;

constexpr std::size_t kRoom = std::size_t{256} << 10;  // hosts pack weights for their vector units
struct Aligned {
  alignas(64) unsigned char bytes[kRoom];
};

// Seven cycles for each reading.
std::uint32_t ticks = 0;
std::uint32_t count(void*) { return ticks += 7; }
std::size_t stack(void*) { return 1234; }
void add_line(void* user, const char* line) { static_cast<std::vector<std::string>*>(user)->push_back(line); }

std::vector<std::int16_t> noise(std::size_t size) {
  std::vector<std::int16_t> out(size);
  std::uint32_t state = 99;
  for (std::int16_t& one : out) {
    state = state * 1664525U + 1013904223U;
    one = static_cast<std::int16_t>(static_cast<int>(state >> 16) % 8000 - 4000);
  }
  return out;
}

void keep(void* user, runnel_stage stage, const void* frames, std::size_t number, std::size_t frame_bytes,
          std::int64_t) {
  if (stage != RUNNEL_OUTPUT) return;
  const auto* from = static_cast<const unsigned char*>(frames);
  static_cast<std::vector<unsigned char>*>(user)->insert(
      static_cast<std::vector<unsigned char>*>(user)->end(), from, from + number * frame_bytes);
}

class Measured : public testing::TestWithParam<const runnel_program*> {
 protected:
  runnel_node* prepare(const runnel_program& program = *GetParam()) {
    const runnel_options options = {memory_->bytes, kRoom, nullptr, 0, keep, &output_};
    runnel_node* node = nullptr;
    EXPECT_EQ(runnel_prepare(&program, &options, &node), RUNNEL_OK) << runnel_last_failure();
    return node;
  }
  void push(runnel_node* node, std::size_t size = 16000) {
    const std::vector<std::int16_t> samples = noise(size);
    for (std::size_t at = 0; at < size; at += 160)
      ASSERT_EQ(runnel_push_int16(node, samples.data() + at, 160), RUNNEL_OK);
  }
  static std::vector<std::string> lines_of(const runnel_node* node) {
    std::vector<std::string> lines;
    EXPECT_EQ(runnel_tell(node, add_line, &lines), RUNNEL_OK) << runnel_last_failure();
    return lines;
  }
  std::unique_ptr<Aligned> memory_ = std::make_unique<Aligned>();
  std::vector<unsigned char> output_;
};

TEST_P(Measured, EveryNodeAndEveryOperatorHasItsTime) {
  runnel_node* node = prepare();
  const runnel_board board = {count, 1000000, stack, nullptr};
  ASSERT_EQ(runnel_measure(node, &board), RUNNEL_OK) << runnel_last_failure();
  push(node);
  const runnel_measures all = runnel_measures_of(node);
  EXPECT_EQ(all.steps, 100U);
  EXPECT_EQ(all.stack_used, 1234U);
  EXPECT_GT(all.memory_used, all.arena + all.state);
  std::uint64_t sum = 0;
  runnel_stage_time stage;
  std::vector<std::string> names;
  for (std::uint32_t i = 0; runnel_stage_time_of(node, i, &stage) == 1; ++i) {
    names.emplace_back(stage.name);
    sum += stage.cycles;
    EXPECT_LE(stage.most, stage.cycles);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"source", "fbank", "infer", "detect", "events"}));
  EXPECT_EQ(sum, all.cycles);
  // Operators follow each other, and each was run as often.
  std::uint64_t in_operators = 0, next = 0, runs = 0;
  runnel_operator_time step;
  for (std::uint32_t i = 0; runnel_operator_time_of(node, i, &step) == 1; ++i) {
    EXPECT_EQ(step.first, next);
    next = step.first + step.count;
    if (i == 0) runs = step.runs;
    EXPECT_EQ(step.runs, runs);
    in_operators += step.cycles;
  }
  EXPECT_GT(next, 3U);
  EXPECT_GE(runs, 90U);
  ASSERT_EQ(runnel_stage_time_of(node, 2, &stage), 1);
  // A reading inside of the node for each beginning and end of an operator.
  EXPECT_GT(stage.cycles, in_operators);
}

TEST_P(Measured, ResultsAreThoseOfThePlainProgram) {
  runnel_node* node = prepare(runnel_digits);
  push(node);
  ASSERT_EQ(runnel_end(node), RUNNEL_OK);
  const std::vector<unsigned char> plain = output_;
  ASSERT_GT(plain.size(), 1000U);
  for (const bool measured : {false, true}) {
    output_.clear();
    node = prepare();
    const runnel_board board = {count, 0, nullptr, nullptr};
    if (measured) {
      ASSERT_EQ(runnel_measure(node, &board), RUNNEL_OK);
    }
    push(node);
    ASSERT_EQ(runnel_end(node), RUNNEL_OK);
    EXPECT_EQ(output_, plain) << measured;
  }
}

// The same figures whatever the counter shows at the start.
TEST_P(Measured, CountersMayWrap) {
  std::vector<std::string> expected;
  for (const std::uint32_t start : {0U, 0xFFFFFFF0U, 0xFFFFF000U}) {
    runnel_node* node = prepare();
    const runnel_board board = {count, 0, nullptr, nullptr};
    ticks = start;
    ASSERT_EQ(runnel_measure(node, &board), RUNNEL_OK);
    push(node);
    if (expected.empty())
      expected = lines_of(node);
    else
      EXPECT_EQ(lines_of(node), expected);
  }
  EXPECT_LT(ticks, 0x80000000U) << "it did wrap";
}

TEST_P(Measured, MeasuringAgainRestarts) {
  runnel_node* node = prepare();
  const runnel_board board = {count, 0, nullptr, nullptr};
  ASSERT_EQ(runnel_measure(node, &board), RUNNEL_OK);
  const std::size_t used = runnel_measures_of(node).memory_used;
  push(node);
  const std::uint64_t cycles = runnel_measures_of(node).cycles;
  ASSERT_EQ(runnel_measure(node, &board), RUNNEL_OK);
  EXPECT_EQ(runnel_measures_of(node).steps, 0U);
  EXPECT_EQ(runnel_measures_of(node).memory_used, used);
  ASSERT_EQ(runnel_reset(node), RUNNEL_OK);
  push(node);
  EXPECT_EQ(runnel_measures_of(node).cycles, cycles);
}

// Samples last 10 ms; the counter says how long that is.
TEST_P(Measured, LatenessIsCounted) {
  const auto measured = [&](std::uint32_t hz) {
    runnel_node* node = prepare();
    const runnel_board board = {count, hz, nullptr, nullptr};
    EXPECT_EQ(runnel_measure(node, &board), RUNNEL_OK);
    push(node);
    return runnel_measures_of(node);
  };
  const runnel_measures unknown = measured(0), fast = measured(1000000000), slow = measured(100);
  EXPECT_EQ(unknown.late, 0U);
  EXPECT_EQ(unknown.behind, 0U);
  EXPECT_EQ(fast.late, 0U);
  EXPECT_EQ(fast.behind, 0U);
  // The first two steps fill a window and take nothing; of the others one cycle each is in time.
  EXPECT_EQ(slow.late, 98U);
  EXPECT_EQ(slow.behind, slow.cycles - 98);
}

TEST_P(Measured, TheReaderReadsTheLines) {
  runnel_node* node = prepare();
  const runnel_board board = {count, 25000000, stack, nullptr};
  ASSERT_EQ(runnel_measure(node, &board), RUNNEL_OK);
  push(node, 8000);
  ASSERT_EQ(runnel_lost(node, 1600), RUNNEL_OK);
  push(node, 8000);
  device::ReportReader reader(false);
  for (const std::string& line : lines_of(node)) {
    EXPECT_LT(line.size(), std::size_t{RUNNEL_LINE_BYTES});
    ASSERT_TRUE(reader.line(line).ok()) << line << ": " << reader.line(line).text();
  }
  ASSERT_TRUE(reader.end().ok()) << reader.end().text();
  const device::Report& report = *reader.report();
  const runnel_measures all = runnel_measures_of(node);
  EXPECT_EQ(report.program, GetParam()->name);
  EXPECT_EQ(report.model_sum, GetParam()->infer->model_sum);
  EXPECT_EQ(report.hz, 25000000U);
  EXPECT_EQ(report.stages.size(), 5U);
  EXPECT_EQ(report.cycles, all.cycles);
  EXPECT_EQ(report.memory_used, all.memory_used);
  EXPECT_EQ(report.memory_planned, GetParam()->memory_bytes);
  EXPECT_EQ(report.stack_used, 1234U);
  EXPECT_EQ(report.samples, 16000U);
  EXPECT_EQ(report.lost, 1600U);
  EXPECT_EQ(report.gaps, 1U);
  EXPECT_FALSE(report.npu.has_value());
}

TEST_P(Measured, WrongCallsHaveTheirCodes) {
  const runnel_board board = {count, 0, nullptr, nullptr}, without = {nullptr, 0, nullptr, nullptr};
  runnel_node* plain = prepare(runnel_digits);
  EXPECT_EQ(runnel_measure(plain, &board), RUNNEL_NOT_FOUND);
  EXPECT_NE(std::string(runnel_last_failure()).find("--counters"), std::string::npos);
  EXPECT_EQ(runnel_measures_of(plain).memory_used, 0U);
  runnel_node* node = prepare();
  EXPECT_EQ(runnel_measure(nullptr, &board), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_measure(node, nullptr), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_measure(node, &without), RUNNEL_UNSUPPORTED) << "a host has no counter of its own";
  std::vector<std::string> lines;
  EXPECT_EQ(runnel_tell(node, add_line, &lines), RUNNEL_NOT_FOUND);
  EXPECT_TRUE(lines.empty());
  runnel_stage_time stage;
  EXPECT_EQ(runnel_stage_time_of(node, 0, &stage), 0);
  runnel_operator_time step;
  EXPECT_EQ(runnel_operator_time_of(node, 0, &step), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Measured, testing::Values(&runnel_counted, &runnel_countedstep),
                         [](const auto& program) { return std::string(program.param->name); });

device::SelfTest self_test(const runnel_program& program, runnel_code expected) {
  auto memory = std::make_unique<Aligned>();
  const runnel_options options = {memory->bytes, kRoom, nullptr, 0, nullptr, nullptr};
  std::vector<std::string> lines;
  EXPECT_EQ(runnel_tell_self_test(&program, &options, add_line, &lines), expected) << runnel_last_failure();
  device::ReportReader reader(false);
  EXPECT_EQ(lines.size(), 1U);
  for (const std::string& line : lines) EXPECT_TRUE(reader.line(line).ok()) << line;
  return reader.self_test().value_or(device::SelfTest{});
}

TEST(SelfTest, IsALine) {
  const device::SelfTest passed = self_test(runnel_counted, RUNNEL_OK);
  EXPECT_EQ(passed.program, "counted");
  EXPECT_EQ(passed.code, 0U);
  EXPECT_EQ(passed.said, "ok");
  const device::SelfTest none = self_test(runnel_countedstep, RUNNEL_NOT_FOUND);
  EXPECT_NE(none.said.find("without --step"), std::string::npos) << none.said;
}

// Vectors that say something else: the first value that differs is named, with both numbers.
TEST(SelfTest, NamesTheFirstValueThatDiffers) {
  const auto model = Model::open(runnel_counted.model.bytes());
  ASSERT_TRUE(model.ok());
  compiler::Graph graph = compiler::graph_of(*model);
  ASSERT_FALSE(graph.vectors.empty());
  auto& bytes = graph.vectors.back().outputs.front().data;
  const std::size_t values = 12, at = 5 * values + 7;
  ASSERT_GT(bytes.size(), at);
  const int right = static_cast<std::int8_t>(bytes[at]);
  bytes[at] ^= std::byte{1};
  bytes[at + 3] ^= std::byte{1};
  const auto written = compiler::write_model(graph, {});
  ASSERT_TRUE(written.ok()) << written.status().text();
  std::vector<unsigned char> room(written->bytes.size() + 64);
  unsigned char* const first = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
  std::memcpy(first, written->bytes.data(), written->bytes.size());
  runnel_program program = runnel_counted;
  program.model = {first, written->bytes.size()};
  const device::SelfTest found = self_test(program, RUNNEL_SELF_TEST_FAILED);
  EXPECT_EQ(found.code, 11U);
  EXPECT_EQ(found.said, "vector " + std::to_string(graph.vectors.size() - 1) +
                            ": output 0 differs at frame 5, value 7: " + std::to_string(right) +
                            ", expected " + std::to_string(right ^ 1));
}

}  // namespace
