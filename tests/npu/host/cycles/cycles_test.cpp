// The estimate equals, operation by operation, the report of Arm's compiler for its own streams.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "npu/host/cycles/block_config.h"
#include "tests/npu/host/cycles/compiled.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;

struct Row {
  std::string name;
  double total = 0, npu = 0, sram = 0, dram = 0, macs = 0, utilisation = 0;
};

// Columns up to the name, which is the last one and may contain anything.
std::vector<Row> rows_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::vector<Row> rows;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    if (cells.size() < 14 || cells[0] == "TFLite_operator") continue;
    const auto number = [&](std::size_t i) { return std::stod(cells[i]); };
    rows.push_back({cells[1], number(4), number(6), number(7), number(8), number(11), number(13)});
  }
  return rows;
}

// The only row of a summary, by the names of its columns.
std::map<std::string, double> summary_of(const fs::path& path) {
  std::ifstream file(path);
  std::string names, values;
  std::getline(file, names);
  std::getline(file, values);
  std::istringstream name_in(names), value_in(values);
  std::map<std::string, double> out;
  std::string name, value;
  while (std::getline(name_in, name, ',') && std::getline(value_in, value, ',')) {
    for (std::string* text : {&name, &value}) text->erase(text->find_last_not_of('\r') + 1);
    if (!value.empty() && value.find_first_not_of("0123456789.e-+") == std::string::npos)
      out[name] = std::stod(value);
  }
  return out;
}

// Both targets were compiled with the memories of the larger system.
npu::CycleModel recorded_model(const npu::Accelerator& accelerator) {
  const auto system = npu::find_system("Ethos_U65_High_End");
  const auto mode =
      npu::find_memory_mode(accelerator.product == npu::Product::u55 ? "Shared_Sram" : "Dedicated_Sram");
  return *npu::CycleModel::make(accelerator, **system, **mode);
}

struct Recorded {
  const char* target;
  const char* network;
};
std::ostream& operator<<(std::ostream& out, const Recorded& recorded) {
  return out << recorded.target << '/' << recorded.network;
}

// Bytes of the uncut weights of convolutions with cut channels, by Arm's encoder, which produced the bytes of
// all slices in the same files.
struct Uncut {
  const char* target;
  const char* network;
  npu::UncutWeights weights;
};
const Uncut kUncut[] = {
    {"u55-128", "kws_ref_model", {2, 4416}},      {"u55-128", "person_detect", {44, 9248}},
    {"u55-128", "person_detect", {55, 17072}},    {"u55-128", "person_detect", {66, 17232}},
    {"u55-128", "person_detect", {76, 17104}},    {"u55-128", "person_detect", {86, 17232}},
    {"u55-128", "person_detect", {98, 17216}},    {"u55-128", "person_detect", {110, 34032}},
    {"u55-128", "person_detect", {122, 5248}},    {"u55-128", "person_detect", {128, 65824}},
    {"u55-128", "str_ww_ref_model", {2, 576}},    {"u55-128", "str_ww_ref_model", {8, 7488}},
    {"u55-128", "str_ww_ref_model", {28, 2064}},  {"u55-128", "str_ww_ref_model", {35, 17296}},
    {"u55-128", "str_ww_ref_model", {47, 2736}},  {"u55-128", "str_ww_ref_model", {55, 17616}},
    {"u55-128", "str_ww_ref_model", {67, 3344}},  {"u65-256", "kws_ref_model", {2, 4416}},
    {"u65-256", "person_detect", {44, 9248}},     {"u65-256", "person_detect", {52, 2640}},
    {"u65-256", "person_detect", {58, 17072}},    {"u65-256", "person_detect", {74, 17232}},
    {"u65-256", "person_detect", {84, 17104}},    {"u65-256", "person_detect", {93, 17232}},
    {"u65-256", "person_detect", {105, 17216}},   {"u65-256", "person_detect", {117, 34032}},
    {"u65-256", "person_detect", {129, 5248}},    {"u65-256", "person_detect", {135, 65824}},
    {"u65-256", "str_ww_ref_model", {2, 576}},    {"u65-256", "str_ww_ref_model", {9, 7488}},
    {"u65-256", "str_ww_ref_model", {20, 17296}}, {"u65-256", "str_ww_ref_model", {32, 17616}},
};

class RecordedFigures : public testing::TestWithParam<Recorded> {
 protected:
  [[nodiscard]] static fs::path file(const char* suffix) {
    return data_folder() / "ethosu/vela" / GetParam().target / (std::string(GetParam().network) + suffix);
  }
};

TEST_P(RecordedFigures, AreTheEstimates) {
  RUNNEL_NEEDS_DATA();
  const Compiled compiled = open_compiled(file("_vela.tflite"));
  ASSERT_FALSE(compiled.segments.empty());
  const npu::CycleModel model = recorded_model(*compiled.segments[0].accelerator);
  std::vector<npu::OperationEstimate> found;
  std::vector<npu::UncutWeights> uncut;
  for (const Uncut& entry : kUncut) {
    if (std::string_view(entry.target) == GetParam().target &&
        std::string_view(entry.network) == GetParam().network)
      uncut.push_back(entry.weights);
  }
  for (const npu::Segment& segment : compiled.segments) {
    for (const auto& one : npu::estimate(decoded(segment), model, uncut).operations) found.push_back(one);
  }
  std::size_t at = 0;
  double total = 0, sram = 0, dram = 0;
  for (const Row& row : rows_of(file("_per-layer.csv"))) {
    // A copy that was optimised away.
    if (row.name == "Memcpy" && row.total == 0) continue;
    ASSERT_LT(at, found.size()) << row.name;
    const npu::OperationEstimate& one = found[at++];
    SCOPED_TRACE(row.name + ", operations " + std::to_string(one.first) + " to " + std::to_string(one.last));
    const auto access = [&](npu::MemoryArea area) { return one.access[static_cast<std::size_t>(area)]; };
    EXPECT_DOUBLE_EQ(one.npu, row.npu);
    EXPECT_DOUBLE_EQ(access(npu::MemoryArea::sram), row.sram);
    EXPECT_DOUBLE_EQ(access(npu::MemoryArea::dram), row.dram);
    EXPECT_DOUBLE_EQ(one.total, row.total);
    EXPECT_EQ(static_cast<double>(one.macs), row.macs);
    EXPECT_NEAR(row.total > 0 ? one.utilisation * 100 : row.utilisation, row.utilisation, 1e-9);
  }
  EXPECT_EQ(at, found.size());
  for (const npu::OperationEstimate& one : found) {
    const auto bytes = [&](npu::MemoryArea area) {
      return one.traffic[static_cast<std::size_t>(area)].read +
             one.traffic[static_cast<std::size_t>(area)].written;
    };
    total += one.total;
    sram += bytes(npu::MemoryArea::sram);
    dram += bytes(npu::MemoryArea::dram);
  }
  auto summary = summary_of(file("_summary_internal-default.csv"));
  EXPECT_NEAR(total, summary["cycles_total"], 1e-6);
  EXPECT_NEAR(sram, summary["sram_total_bytes"], 1e-6);
  EXPECT_NEAR(dram, summary["dram_total_bytes"], 1e-6);
}

INSTANTIATE_TEST_SUITE_P(
    All, RecordedFigures,
    testing::Values(Recorded{"u55-128", "ad01_int8"}, Recorded{"u55-128", "hello_world_int8"},
                    Recorded{"u55-128", "keyword_scrambled_8bit"}, Recorded{"u55-128", "kws_ref_model"},
                    Recorded{"u55-128", "micro_speech_quantized"}, Recorded{"u55-128", "person_detect"},
                    Recorded{"u55-128", "seanet_add0_int16"}, Recorded{"u55-128", "str_ww_ref_model"},
                    Recorded{"u65-256", "ad01_int8"}, Recorded{"u65-256", "hello_world_int8"},
                    Recorded{"u65-256", "keyword_scrambled_8bit"}, Recorded{"u65-256", "kws_ref_model"},
                    Recorded{"u65-256", "micro_speech_quantized"}, Recorded{"u65-256", "person_detect"},
                    Recorded{"u65-256", "seanet_add0_int16"}, Recorded{"u65-256", "str_ww_ref_model"},
                    Recorded{"u65-256", "dtln_noise_suppression"}));

}  // namespace
}  // namespace runnel::test
