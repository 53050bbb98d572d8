// A program whose model is computed by an Ethos-U, through the functions of C, on the fake device: the bytes
// of the program for the CPU, and every failure as a code.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "blocks.h"
#include "digits.h"
#include "npu/host/simulator/fake_device.h"
#include "npudigits.h"

namespace runnel {
namespace {

// The bytes that observers of one stage see, and the decisions.
struct Heard {
  std::vector<unsigned char> output;
  std::vector<std::string> events;
  std::vector<runnel_code> failures;
  std::string sentence;  // of the last failure
  runnel_counters counters = {};
};
void hear(void* user, runnel_stage stage, const void* frames, size_t count, size_t frame_bytes, int64_t) {
  if (stage != RUNNEL_OUTPUT) return;
  const auto* const bytes = static_cast<const unsigned char*>(frames);
  auto& output = static_cast<Heard*>(user)->output;
  output.insert(output.end(), bytes, bytes + count * frame_bytes);
}

// Tones of changing pitch with pauses.
std::vector<int16_t> sound(double seconds) {
  std::vector<int16_t> samples(static_cast<std::size_t>(16000 * seconds));
  double phase = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double t = static_cast<double>(i) / 16000;
    phase += 0.05 + 0.3 * (1 + std::sin(7 * t)) / 2;
    samples[i] =
        static_cast<int16_t>(std::fmod(t, 1.0) < 0.7 ? 9000 * std::sin(phase) : 20 * std::sin(phase));
  }
  return samples;
}

struct Memory {
  RUNNEL_ALIGNED unsigned char bytes[256 * 1024];
};

// `size`: 0 for all there is, as kernels of the CPU pack their weights here.
Heard run(const runnel_program& program, std::size_t size, const std::vector<int16_t>& samples) {
  static Memory memory;
  Heard heard;
  runnel_options options = {
      memory.bytes, size == 0 ? sizeof memory.bytes : size + RUNNEL_OBSERVE_BYTES, nullptr, 0, hear, &heard};
  runnel_node* node = nullptr;
  EXPECT_EQ(runnel_prepare(&program, &options, &node), RUNNEL_OK) << runnel_last_failure();
  if (node == nullptr) return heard;
  const auto note = [&](runnel_code code) {
    if (code == RUNNEL_OK) return;
    heard.failures.push_back(code);
    heard.sentence = runnel_last_failure();
  };
  runnel_event event;
  const auto fetch = [&] {
    while (runnel_poll(node, &event) == 1)
      heard.events.push_back(std::string(event.label) + " " + std::to_string(event.frame) + " " +
                             std::to_string(event.score));
  };
  for (std::size_t at = 0; at < samples.size(); at += 160) {
    note(runnel_push_int16(node, samples.data() + at, std::min<std::size_t>(160, samples.size() - at)));
    fetch();
  }
  note(runnel_end(node));
  fetch();
  heard.counters = runnel_counters_of(node);
  return heard;
}

// The functions of a board, around the fake device.
npu::FakeDevice& device() {
  static npu::FakeDevice one([] {
    npu::FakeDeviceOptions options;
    options.learns_memory = true;
    return options;
  }());
  return one;
}
runnel_npu the_npu;
int power = 0, switched = 0;
bool add() {
  static const bool added = [] {
    runnel_npu_port port = {};
    port.read = [](void*, uint32_t offset) { return device().read(offset); };
    port.write = [](void*, uint32_t offset, uint32_t value) { device().write(offset, value); };
    port.wait = [](void*) { return device().wait() ? 1 : 0; };
    port.flush = [](void*, const void* memory, size_t bytes) {
      device().flush({static_cast<const std::byte*>(memory), bytes});
    };
    port.address = [](void*, const void* memory) { return device().address_of(memory); };
    port.power = [](void*, int on) {
      power = on;
      ++switched;
    };
    port.sleeps = 1;
    device().on_interrupt([] { runnel_npu_interrupt(&the_npu); });
    EXPECT_EQ(runnel_npu_name(&the_npu), nullptr);
    EXPECT_EQ(runnel_npu_add(&the_npu, &port), RUNNEL_OK) << runnel_last_failure();
    EXPECT_EQ(runnel_npu_add(&the_npu, &port), RUNNEL_INVALID_ARGUMENT) << "twice";
    return true;
  }();
  return added;
}

TEST(NpuProgram, WithoutADeviceTheCpuComputesTheSame) {
  static Memory memory;
  runnel_options options = {memory.bytes, sizeof memory.bytes, nullptr, 0, nullptr, nullptr};
  runnel_node* node = nullptr;
  EXPECT_EQ(runnel_prepare(&runnel_npudigits, &options, &node), RUNNEL_NOT_FOUND);
  EXPECT_NE(std::string(runnel_last_failure()).find("no NPU is free"), std::string::npos)
      << runnel_last_failure();
  EXPECT_EQ(node, nullptr);
  runnel_npu_port nothing = {};
  runnel_npu other;
  std::memset(&other, 0, sizeof other);
  EXPECT_EQ(runnel_npu_add(&other, &nothing), RUNNEL_INVALID_ARGUMENT);
  // The program for the CPU is in the same image.
  EXPECT_EQ(runnel_prepare(&runnel_digits, &options, &node), RUNNEL_OK) << runnel_last_failure();
}

TEST(NpuProgram, GivesTheBytesOfTheCpu) {
  ASSERT_TRUE(add());
  EXPECT_STREQ(runnel_npu_name(&the_npu), RUNNEL_NPUDIGITS_NPU);
  const auto samples = sound(4.3);
  const Heard cpu = run(runnel_digits, 0, samples);
  ASSERT_GT(cpu.output.size(), 4000u);
  EXPECT_EQ(cpu.counters.npu_runs, 0u);
  const std::uint64_t before = static_cast<std::uint64_t>(device().runs());
  const Heard npu = run(runnel_npudigits, RUNNEL_NPUDIGITS_MEMORY_BYTES, samples);
  EXPECT_EQ(npu.output, cpu.output);
  EXPECT_EQ(npu.events, cpu.events);
  EXPECT_TRUE(npu.failures.empty()) << npu.sentence;
  EXPECT_EQ(npu.counters.npu_runs, static_cast<std::uint64_t>(device().runs()));
  EXPECT_GT(npu.counters.npu_runs, before + 400);
  EXPECT_EQ(npu.counters.npu_failures, 0u);
  EXPECT_GT(npu.counters.npu_cycles, 400u * 100);
  EXPECT_GT(npu.counters.npu_near_read_beats, 0u);
  EXPECT_GT(npu.counters.npu_far_read_beats, 0u) << "weights are read from flash";
  EXPECT_EQ(power, 0) << "it sleeps between runs";
  EXPECT_GT(switched, 800);
  // Four frames in one run: the same bytes, with a quarter of the runs.
  const std::uint64_t single = npu.counters.npu_runs - before;
  const Heard blocks = run(runnel_blocks, RUNNEL_BLOCKS_MEMORY_BYTES, samples);
  EXPECT_EQ(blocks.output, cpu.output);
  EXPECT_EQ(blocks.events, cpu.events);
  EXPECT_LT(blocks.counters.npu_runs - npu.counters.npu_runs, single / 3);
}

TEST(NpuProgram, FailuresAreCodesWithTheDevicesReport) {
  ASSERT_TRUE(add());
  const auto samples = sound(0.5);
  namespace bits = npu::device_status;
  struct Case {
    std::uint32_t fault;
    runnel_code code;
    const char* sentence;
  };
  for (const Case& one :
       {Case{bits::kBusError | 2u << bits::kFaultChannel, RUNNEL_INVALID_DATA, "a bus error"},
        Case{bits::kParseError, RUNNEL_INVALID_DATA, "a command that it does not know"},
        Case{bits::kWeightError, RUNNEL_INVALID_DATA, "weights that it cannot decode"},
        Case{bits::kMemoryError, RUNNEL_INVALID_DATA, "a fault of its own memory"}}) {
    device().options().fault = one.fault;
    const int resets = device().resets();
    const Heard heard = run(runnel_npudigits, RUNNEL_NPUDIGITS_MEMORY_BYTES, samples);
    device().options().fault = 0;
    EXPECT_GT(device().resets(), resets);
    ASSERT_FALSE(heard.failures.empty());
    EXPECT_EQ(heard.failures[0], one.code);
    EXPECT_NE(heard.sentence.find(one.sentence), std::string::npos) << heard.sentence;
    EXPECT_GT(heard.counters.npu_failures, 0u);
  }
  device().options().silent = true;
  device().on_interrupt(nullptr);
  const Heard silent = run(runnel_npudigits, RUNNEL_NPUDIGITS_MEMORY_BYTES, samples);
  device().options().silent = false;
  device().on_interrupt([] { runnel_npu_interrupt(&the_npu); });
  ASSERT_FALSE(silent.failures.empty());
  EXPECT_EQ(silent.failures[0], RUNNEL_IO_ERROR);
  EXPECT_NE(silent.sentence.find("did not answer in time"), std::string::npos) << silent.sentence;
  // It recovers.
  const Heard after = run(runnel_npudigits, RUNNEL_NPUDIGITS_MEMORY_BYTES, samples);
  EXPECT_TRUE(after.failures.empty()) << after.sentence;
  EXPECT_EQ(after.output, run(runnel_digits, 0, samples).output);
}

}  // namespace
}  // namespace runnel
