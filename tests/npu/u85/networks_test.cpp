// Compiled networks and single operators for the Ethos-U85: the simulator's results equal the recorded ones,
// byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "compiler/import/tflite/source.h"
#include "npu/decoder.h"
#include "npu/host/disassemble.h"
#include "npu/host/simulator/simulator.h"
#include "npu/validate.h"
#include "tests/npu/simulate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;
using compiler::tflite_source::Builtin;

// What a stream computes is not what the recording of the original has: the compiler's tables and scales are
// not those of the recorded runtime. Values that differ in both cases together, by name.
struct Miss {
  int values;
  const char* why;
};
const std::map<std::string, Miss> kMisses = {
    {"resize_nearest_odd",
     {2423, "the compiler maps half-pixel centres, the recording rounds positions down"}},
    {"softmax_i16", {1, "one table is made with doubles, the recorded one with floats"}},
    {"sum_c", {24, "the compiler's scale is rounded to a float, which decides ties"}},
    {"logistic_i16_all_2048", {1, "input -21760 gives 0, in the recording 1"}},
};

struct Folder {
  const char* compiled;
  std::vector<const char*> recorded;
};
const Folder kFolders[] = {
    {"ethosu85/u85-128", {"ethosu/io", "ethosu85/io"}},
    {"ethosu85/u85-256", {"ethosu/io", "ethosu85/io"}},
    {"ethosu85/u85-256-flash", {"ethosu/io", "ethosu85/io"}},
    {"ethosu85/u85-512", {"ethosu/io", "ethosu85/io"}},
    {"ethosu85/u85-1024", {"ethosu/io", "ethosu85/io"}},
    {"ethosu85/u85-2048", {"ethosu/io", "ethosu85/io"}},
    {"ethosu85/arm/u85-128", {"ethosu85/arm"}},
    {"ethosu85/arm/u85-256", {"ethosu85/arm"}},
    {"ethosu85/arm/u85-512", {"ethosu85/arm"}},
    {"ethosu85/arm/u85-1024", {"ethosu85/arm"}},
    {"ethosu85/arm/u85-2048", {"ethosu85/arm"}},
    {"ethosu85/cases/u85-256", {"ethosu85/cases/io"}},
    {"ethosu85/cases/u85-512-fwd", {"ethosu85/cases/io"}},
    {"ethosu85/cases/u85-1024", {"ethosu85/cases/io"}},
};

// Elements that differ in all recorded cases of a network; counts the cases.
int differences(const fs::path& file, const std::string& name, const fs::path& io, int& cases) {
  const auto model = open_model(file);
  if (model == nullptr) return -1;
  int different = 0;
  for (int number = 0;; ++number, ++cases) {
    const auto recorded = [&](const char* what, std::size_t i) {
      return io / (name + "." + what + std::to_string(i) + "." + std::to_string(number) + ".bin");
    };
    if (!fs::exists(recorded("in", 0))) return different;
    std::vector<Bytes> inputs;
    for (std::size_t i = 0; i < model->model().inputs().size(); ++i)
      inputs.push_back(read_file(recorded("in", i)));
    const auto outputs = simulate(model, inputs);
    EXPECT_EQ(outputs.size(), model->model().outputs().size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Bytes expected = read_file(recorded("out", i));
      EXPECT_EQ(outputs[i].size(), expected.size());
      if (outputs[i].size() != expected.size()) return -1;
      const std::size_t element = size_of(model->model().tensor(model->model().outputs()[i]).dtype);
      for (std::size_t at = 0; at < expected.size(); at += element)
        different += std::equal(expected.begin() + static_cast<std::ptrdiff_t>(at),
                                expected.begin() + static_cast<std::ptrdiff_t>(at + element),
                                outputs[i].begin() + static_cast<std::ptrdiff_t>(at))
                         ? 0
                         : 1;
    }
  }
}

class U85Networks : public testing::TestWithParam<Folder> {};

TEST_P(U85Networks, GiveTheRecordedBytes) {
  RUNNEL_NEEDS_DATA();
  constexpr std::string_view kEnd = "_vela.tflite";
  int files = 0, cases = 0;
  for (const auto& entry : fs::directory_iterator(data_folder() / GetParam().compiled)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(kEnd)) continue;
    const std::string name = file.substr(0, file.size() - kEnd.size());
    for (const char* folder : GetParam().recorded) {
      const fs::path io = data_folder() / folder;
      if (!fs::exists(io / (name + ".in0.0.bin"))) continue;
      SCOPED_TRACE(file);
      const int different = differences(entry.path(), name, io, cases);
      const auto miss = kMisses.find(name);
      if (miss == kMisses.end())
        EXPECT_EQ(different, 0);
      else
        EXPECT_EQ(different, miss->second.values) << miss->second.why;
      ++files;
    }
  }
  std::printf("%d files, %d cases\n", files, cases);
  EXPECT_GE(files, 2);
  EXPECT_GE(cases, files);
}

INSTANTIATE_TEST_SUITE_P(All, U85Networks, testing::ValuesIn(kFolders));

// ---- listing and judging

class Findings final : public npu::ViolationSink {
 public:
  void report(const npu::Operation& op, std::string_view rule, std::string_view what) noexcept override {
    ADD_FAILURE() << "operation " << op.index << ' ' << npu::name_of(op) << ": " << rule << ": " << what;
  }
};

TEST_P(U85Networks, AreListedAndValid) {
  RUNNEL_NEEDS_DATA();
  int operations = 0;
  for (const auto& entry : fs::directory_iterator(data_folder() / GetParam().compiled)) {
    if (entry.path().extension() != ".tflite") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto owned = open_model(entry.path());
    ASSERT_NE(owned, nullptr);
    for (int i = 0; i < owned->model().operator_count(); ++i) {
      if (code_of(owned->model().op(i)) != runnel::OpCode::delegate) continue;
      const auto segment = npu::read_segment(owned->model(), owned->model().op(i));
      ASSERT_TRUE(segment.ok()) << segment.status().text();
      Findings findings;
      const auto sizes = segment->region_sizes();
      npu::ValidatorLimits limits;
      limits.regions = sizes;
      npu::Validator validator(*segment->accelerator, limits, findings);
      npu::Decoder decoder(segment->payload.commands, *segment->accelerator);
      for (npu::Operation op;; ++operations) {
        const auto more = decoder.next(op);
        ASSERT_TRUE(more.ok()) << more.status().text();
        if (!*more) break;
        EXPECT_FALSE(npu::to_text(op).empty());
        EXPECT_EQ(npu::to_json(op).front(), '{');
        validator.check(op);
      }
    }
  }
  EXPECT_GE(operations, 10);
}

// ---- weights

// The weights of a source network, operator by operator: rows of output channels.
struct Source {
  std::size_t row = 0;
  std::vector<std::int16_t> values;
};
std::vector<Source> sources_of(const fs::path& path) {
  const Bytes file = read_file(path);
  const auto model = compiler::tflite_source::read_model(file);
  EXPECT_TRUE(model.ok()) << model.status().text();
  std::vector<Source> sources;
  if (!model.ok()) return sources;
  const auto& graph = model->subgraphs[0];
  for (const auto& op : graph.operators) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] < 0) continue;
      const auto& tensor = graph.tensors[static_cast<std::size_t>(op.inputs[i])];
      const bool bytes = tensor.dtype == DType::int8 || tensor.dtype == DType::uint8;
      if (!tensor.data || !bytes || tensor.shape.empty()) continue;
      std::vector<std::int16_t> values;
      for (const std::byte byte : *tensor.data)
        values.push_back(static_cast<std::int16_t>(
            tensor.dtype == DType::int8 ? static_cast<std::int8_t>(byte)
                                        : std::to_integer<int>(byte) - tensor.zero_points.at(0)));
      // The channels of depthwise weights are innermost.
      const auto outs = static_cast<std::size_t>(
          op.code == Builtin::DEPTHWISE_CONV_2D ? tensor.shape.back() : tensor.shape.front());
      Source source{values.size() / outs, values};
      if (op.code == Builtin::DEPTHWISE_CONV_2D) {
        for (std::size_t at = 0; at < values.size(); ++at)
          source.values[at % outs * source.row + at / outs] = values[at];
      }
      sources.push_back(std::move(source));
    }
  }
  return sources;
}
// Whether the rows are consecutive ones of a source.
bool is_part(const std::vector<std::int16_t>& weights, std::size_t row, const Source& source) {
  if (row != source.row) return false;
  for (std::size_t first = 0; first + weights.size() <= source.values.size(); first += row) {
    if (std::equal(weights.begin(), weights.end(),
                   source.values.begin() + static_cast<std::ptrdiff_t>(first)))
      return true;
  }
  return false;
}

// Weights that the compiler arranges itself, and why.
const std::map<std::string, const char*> kMadeWeights = {
    {"conv3x1_d4", "zeros between the taps of a dilation above 2"},
    {"conv3x3_d3", "zeros between the taps of a dilation above 2"},
    {"dw3x3_m4", "every fourth channel at a time"},
    {"mean_hw", "ones, for a sum"},
    {"tconv2x2_s2_valid", "a kernel for each phase of a transposed convolution"},
    {"tconv3x3_s2", "a kernel for each phase of a transposed convolution"},
};

TEST(U85Weights, AreThoseOfTheSource) {
  RUNNEL_NEEDS_DATA();
  int sets = 0, equal = 0;
  std::size_t values = 0;
  for (const Folder& folder : kFolders) {
    for (const auto& entry : fs::directory_iterator(data_folder() / folder.compiled)) {
      const std::string file = entry.path().filename().string();
      if (!file.ends_with("_vela.tflite")) continue;
      const std::string name = file.substr(0, file.size() - 12);
      fs::path source = data_folder() / "ethosu85/cases/source" / (name + ".tflite");
      if (!fs::exists(source)) source = data_folder() / "ethosu/models" / (name + ".tflite");
      if (!fs::exists(source)) continue;
      const std::vector<Source> sources = sources_of(source);
      const auto owned = open_model(entry.path());
      ASSERT_NE(owned, nullptr);
      for (int i = 0; i < owned->model().operator_count(); ++i) {
        if (code_of(owned->model().op(i)) != runnel::OpCode::delegate) continue;
        const auto segment = npu::read_segment(owned->model(), owned->model().op(i));
        ASSERT_TRUE(segment.ok()) << segment.status().text();
        const auto simulator = npu::Simulator::make(*segment);
        ASSERT_TRUE(simulator.ok()) << simulator.status().text();
        const Status status = (*simulator)->run([&](const npu::Operation& op, std::span<const std::int32_t>) {
          if (!npu::convolves(op) || op.u85.second_weights) return;
          const auto weights = (*simulator)->weights_of(op);
          ASSERT_TRUE(weights.ok()) << weights.status().text();
          const std::size_t row = (*weights)->size() / static_cast<std::size_t>(op.ofm.depth);
          ++sets;
          const bool found = std::any_of(sources.begin(), sources.end(),
                                         [&](const Source& one) { return is_part(**weights, row, one); });
          equal += found ? 1 : 0;
          values += found ? (*weights)->size() : 0;
          EXPECT_TRUE(found || kMadeWeights.contains(name)) << file << ", operation " << op.index;
        });
        EXPECT_TRUE(status.ok()) << file << ": " << status.text();
      }
    }
  }
  EXPECT_EQ(sets, 485);
  EXPECT_EQ(equal, 452);
  EXPECT_EQ(values, 4071626u);
}

}  // namespace
}  // namespace runnel::test
