// Rules of the Ethos-U85, broken one at a time: recorded networks and operators notice each.
#include <gtest/gtest.h>

#include "npu/host/simulator/simulated_npu.h"
#include "tests/npu/simulate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;
using npu::u85::Fault;

// A recorded input of a compiled file.
struct Recording {
  std::shared_ptr<const OwnedModel> model;
  std::string name;
  std::vector<Bytes> inputs, outputs;
};

void add_recordings(const fs::path& file, const std::string& name, std::vector<Recording>& to) {
  const auto model = open_model(file);
  if (model == nullptr) return;
  for (const char* folder : {"ethosu/io", "ethosu85/io", "ethosu85/cases/io"}) {
    for (int number = 0;; ++number) {
      const auto recorded = [&](const char* what, std::size_t i) {
        return data_folder() / folder /
               (name + "." + what + std::to_string(i) + "." + std::to_string(number) + ".bin");
      };
      if (!fs::exists(recorded("in", 0))) break;
      Recording one{model, name, {}, {}};
      for (std::size_t i = 0; i < model->model().inputs().size(); ++i)
        one.inputs.push_back(read_file(recorded("in", i)));
      for (std::size_t i = 0; i < model->model().outputs().size(); ++i)
        one.outputs.push_back(read_file(recorded("out", i)));
      to.push_back(std::move(one));
    }
  }
}

// Of U85-256, and of U85-512 with fast weights.
std::vector<Recording> recordings() {
  constexpr std::string_view kEnd = "_vela.tflite";
  std::vector<Recording> all;
  for (const char* folder : {"ethosu85/u85-256", "ethosu85/cases/u85-256", "ethosu85/cases/u85-512-fwd"}) {
    for (const auto& entry : fs::directory_iterator(data_folder() / folder)) {
      const std::string file = entry.path().filename().string();
      if (file.ends_with(kEnd)) add_recordings(entry.path(), file.substr(0, file.size() - kEnd.size()), all);
    }
  }
  return all;
}

// Bytes that differ from the recording; all of them if the stream is refused.
std::size_t differences(const Recording& recording, Fault fault) {
  npu::SimulatorOptions options;
  options.fault = fault;
  npu::SimulatedNpu npu(recording.model->model(), options);
  const auto outputs = run_model(recording.model, npu.table(), recording.inputs);
  std::size_t different = 0;
  for (std::size_t i = 0; i < recording.outputs.size(); ++i) {
    const Bytes& expected = recording.outputs[i];
    for (std::size_t at = 0; at < expected.size(); ++at)
      different += !npu.status().ok() || i >= outputs.size() || at >= outputs[i].size() ||
                           outputs[i][at] != expected[at]
                       ? 1
                       : 0;
  }
  return different;
}

struct Broken {
  Fault fault;
  int at_least;  // recordings that notice it
};
constexpr Broken kBroken[] = {
    {Fault::rounds_once, 109},       {Fault::full_first_rounding, 6},  {Fault::ties_away, 2},
    {Fault::blocks_in_sequence, 24}, {Fault::rows_in_sequence, 74},    {Fault::sub_kernels_by_rows, 2},
    {Fault::fast_by_decoder, 14},    {Fault::sparse_as_dense, 16},     {Fault::words_are_multiplied, 12},
    {Fault::averages_round_up, 8},   {Fault::true_is_one, 2},          {Fault::tables_are_cut, 2},
    {Fault::narrow_functions, 10},   {Fault::states_start_at_zero, 2},
};
static_assert(std::size(kBroken) + 1 == npu::u85::kFaults);

class U85Faults : public testing::TestWithParam<Broken> {};

TEST_P(U85Faults, AreNoticed) {
  RUNNEL_NEEDS_DATA();
  int noticed = 0;
  std::string names;
  const auto all = recordings();
  for (const Recording& recording : all) {
    if (differences(recording, GetParam().fault) <= differences(recording, Fault::none)) continue;
    ++noticed;
    if (names.find(recording.name) == std::string::npos) names += " " + recording.name;
  }
  std::printf("%d of %zu recordings notice it:%s\n", noticed, all.size(), names.c_str());
  EXPECT_GE(noticed, GetParam().at_least);
}

INSTANTIATE_TEST_SUITE_P(All, U85Faults, testing::ValuesIn(kBroken), [](const auto& broken) {
  return std::string(npu::u85::name_of(broken.param.fault));
});

}  // namespace
}  // namespace runnel::test
