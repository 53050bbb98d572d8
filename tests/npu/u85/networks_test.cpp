// Compiled networks and single operators for the Ethos-U85: the simulator's results equal the recorded ones,
// byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/npu/simulate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;

// What a stream computes is not what the recording of the original has: the compiler's tables and scales are
// not those of the recorded runtime. Values that differ in both cases together, by name.
struct Miss {
  int values;
  const char* why;
};
const std::map<std::string, Miss> kMisses = {
    {"resize_nearest_odd", {2423, "the compiler maps half-pixel centres, the recording rounds positions down"}},
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

}  // namespace
}  // namespace runnel::test
