// Real compiled networks: the simulator's results equal, byte for byte, the recorded ones and those of the
// original on the CPU.
#include <gtest/gtest.h>

#include <random>

#include "npu/decoder.h"
#include "npu/host/disassemble.h"
#include "npu/host/simulator/simulator.h"
#include "npu/validate.h"
#include "tests/npu/simulate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;
struct Network {
  const char* folder;  // of the compiled file
  const char* name;
};
std::ostream& operator<<(std::ostream& out, const Network& network) {
  return out << network.folder << '/' << network.name;
}

fs::path compiled(const Network& network) {
  return data_folder() / network.folder / (std::string(network.name) + "_vela.tflite");
}
fs::path original(const Network& network) {
  return data_folder() / "ethosu/models" / (std::string(network.name) + ".tflite");
}

const Network kRecorded[] = {
    {"ethosu/vela/u55-128", "ad01_int8"},
    {"ethosu/vela/u55-128", "hello_world_int8"},
    {"ethosu/vela/u55-128", "kws_ref_model"},
    {"ethosu/vela/u55-128", "micro_speech_quantized"},
    {"ethosu/vela/u55-128", "person_detect"},
    {"ethosu/vela/u55-128", "seanet_add0_int16"},
    {"ethosu/vela/u55-128", "str_ww_ref_model"},
    {"ethosu/vela/u65-256", "ad01_int8"},
    {"ethosu/vela/u65-256", "hello_world_int8"},
    {"ethosu/vela/u65-256", "kws_ref_model"},
    {"ethosu/vela/u65-256", "micro_speech_quantized"},
    {"ethosu/vela/u65-256", "person_detect"},
    {"ethosu/vela/u65-256", "seanet_add0_int16"},
    {"ethosu/vela/u65-256", "str_ww_ref_model"},
    {"ethosu/models", "person_detect"},
};
// Without recordings. The first two have operators on the CPU; the last one is an LSTM: functions in
// hardware, states, the fast scratch memory.
const Network kOthers[] = {
    {"ethosu/vela/u55-128", "keyword_scrambled_8bit"},
    {"ethosu/vela/u65-256", "keyword_scrambled_8bit"},
    {"ethosu/vela/u65-256", "dtln_noise_suppression"},
};

class RecordedNetworks : public testing::TestWithParam<Network> {};

TEST_P(RecordedNetworks, GiveTheRecordedBytes) {
  RUNNEL_NEEDS_DATA();
  const auto model = open_model(compiled(GetParam()));
  ASSERT_NE(model, nullptr);
  const fs::path io = data_folder() / "ethosu/io";
  int cases = 0;
  for (;; ++cases) {
    const auto file = [&](const char* what, std::size_t i) {
      return io / (std::string(GetParam().name) + "." + what + std::to_string(i) + "." +
                   std::to_string(cases) + ".bin");
    };
    if (!fs::exists(file("in", 0))) break;
    std::vector<Bytes> inputs;
    for (std::size_t i = 0; i < model->model().inputs().size(); ++i)
      inputs.push_back(read_file(file("in", i)));
    const auto outputs = simulate(model, inputs);
    ASSERT_FALSE(outputs.empty());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      EXPECT_EQ(outputs[i], read_file(file("out", i))) << "case " << cases << ", output " << i;
  }
  EXPECT_GE(cases, 2);
}

INSTANTIATE_TEST_SUITE_P(All, RecordedNetworks, testing::ValuesIn(kRecorded));

class CompiledNetworks : public testing::TestWithParam<Network> {};

// Bytes of all values, so that limits are reached.
TEST_P(CompiledNetworks, GiveWhatTheOriginalGivesOnTheCpu) {
  RUNNEL_NEEDS_DATA();
  const auto model = open_model(compiled(GetParam())), cpu = open_model(original(GetParam()));
  ASSERT_NE(model, nullptr);
  ASSERT_NE(cpu, nullptr);
  std::mt19937 random(5);
  for (int round = 0; round < 2; ++round) {
    std::vector<Bytes> inputs;
    for (const std::int32_t tensor : cpu->model().inputs()) {
      Bytes bytes(cpu->model().tensor(tensor).bytes());
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      inputs.push_back(std::move(bytes));
    }
    const auto expected = run_model(cpu, all_operators(), inputs), found = simulate(model, inputs);
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i], expected[i]) << "round " << round << ", output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, CompiledNetworks, testing::ValuesIn(kRecorded));
INSTANTIATE_TEST_SUITE_P(Others, CompiledNetworks, testing::ValuesIn(kOthers));

// ---- listing and judging

class Count final : public npu::ViolationSink {
 public:
  void report(const npu::Operation& op, std::string_view rule, std::string_view what) noexcept override {
    ++count;
    ADD_FAILURE() << "operation " << op.index << ' ' << npu::name_of(op) << ": " << rule << ": " << what;
  }
  int count = 0;
};

// Lists and judges a segment without findings; returns its number of operations.
int list_and_judge(const npu::Segment& segment) {
  Count violations;
  const auto sizes = segment.region_sizes();
  npu::ValidatorLimits limits;
  limits.regions = sizes;
  npu::Validator validator(*segment.accelerator, limits, violations);
  npu::Decoder decoder(segment.payload.commands, *segment.accelerator);
  int count = 0;
  for (npu::Operation op;; ++count) {
    const auto more = decoder.next(op);
    EXPECT_TRUE(more.ok()) << more.status().text();
    if (!more.ok() || !*more) break;
    EXPECT_FALSE(npu::to_text(op).empty());
    EXPECT_EQ(npu::to_json(op).front(), '{');
    validator.check(op);
  }
  EXPECT_EQ(violations.count, 0);
  return count;
}
int list_and_judge(const fs::path& path) {
  const auto owned = open_model(path);
  if (owned == nullptr) return 0;
  int count = 0;
  for (int i = 0; i < owned->model().operator_count(); ++i) {
    const fb::Operator& op = owned->model().op(i);
    if (code_of(op) != runnel::OpCode::delegate) continue;
    const auto segment = npu::read_segment(owned->model(), op);
    EXPECT_TRUE(segment.ok()) << segment.status().text();
    if (segment.ok()) count += list_and_judge(*segment);
  }
  return count;
}

TEST_P(CompiledNetworks, AreListedAndValid) {
  RUNNEL_NEEDS_DATA();
  EXPECT_GE(list_and_judge(compiled(GetParam())), 2);
}

TEST(ExecuTorchPrograms, AreListedAndValid) {
  RUNNEL_NEEDS_DATA();
  for (const char* name :
       {"armex_ethosu_minimal_0ff7865c", "armex_ethosu_minimal_278c8132", "armex_ethosu_minimal_e647b35d"}) {
    const Bytes bytes = read_file(data_folder() / "executorch" / (std::string(name) + ".vela_bin_stream"));
    const auto segment = npu::read_segment(bytes);
    ASSERT_TRUE(segment.ok()) << segment.status().text();
    EXPECT_GE(list_and_judge(*segment), 2) << name;
  }
}

// 1 + 1 of one element each: scales and zero points are in the stream. The same network for three devices.
TEST(ExecuTorchPrograms, Add) {
  RUNNEL_NEEDS_DATA();
  std::vector<std::vector<Bytes::value_type>> sums;
  for (const char* name :
       {"armex_ethosu_minimal_0ff7865c", "armex_ethosu_minimal_278c8132", "armex_ethosu_minimal_e647b35d"}) {
    SCOPED_TRACE(name);
    const Bytes bytes = read_file(data_folder() / "executorch" / (std::string(name) + ".vela_bin_stream"));
    const auto segment = npu::read_segment(bytes);
    ASSERT_TRUE(segment.ok()) << segment.status().text();
    const auto simulator = npu::Simulator::make(*segment);
    ASSERT_TRUE(simulator.ok()) << simulator.status().text();
    auto& found = sums.emplace_back();
    for (int a = -128; a < 128; ++a) {
      int last = -1000;
      for (int b = -128; b < 128; ++b) {
        (*simulator)->input(0)[0] = static_cast<std::byte>(a);
        (*simulator)->input(1)[0] = static_cast<std::byte>(b);
        const Status status = (*simulator)->run();
        ASSERT_TRUE(status.ok()) << status.text();
        found.push_back((*simulator)->output(0)[0]);
        const int sum = static_cast<std::int8_t>(found.back());
        EXPECT_GE(sum, last) << a << " + " << b;
        last = sum;
      }
    }
  }
  EXPECT_EQ(sums[1], sums[0]);
  EXPECT_EQ(sums[2], sums[0]);
}

}  // namespace
}  // namespace runnel::test
