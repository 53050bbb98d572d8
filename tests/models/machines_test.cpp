// The bundled models of machines by their names, on machines.wav: one machine stopped, healthy, out of
// balance, misaligned, loose, and with damage on the outer and inner race of its bearing, three seconds each
// (training/machines/recording.py). How good they are is in docs/accuracy.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/apps/support.h"
#include "tests/support/npy.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

const std::string kMachines = RUNNEL_SOURCE_FOLDER "/tests/models/machines.wav";
constexpr double kSeconds = 3;  // of each state
const std::vector<std::string> kStates = {"stopped",   "healthy",    "imbalance", "misalignment",
                                          "looseness", "outer_race", "inner_race"};

class MachineModels : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string bundled(const std::string& name) {
    return (fs::path(runnel::test::program()).parent_path() / "models" / name / (name + ".rnl")).string();
  }
  // What `runnel inspect` says after a key.
  static std::string stored(const std::string& name, const std::string& key) {
    const std::string facts = call_well({"inspect", name}).out, mark = "  " + key + "  ";
    const std::size_t at = facts.find(mark);
    if (at == std::string::npos) {
      ADD_FAILURE() << "no " << key << ": " << facts;
      return {};
    }
    const std::size_t first = facts.find_first_not_of(' ', at + mark.size());
    return facts.substr(first, facts.find('\n', first) - first);
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_P(MachineModels, StreamsExactlyWithoutLookAhead) {
  const Json last = json_lines(call_well({"check", GetParam()}).out).back();
  EXPECT_EQ(last["exact"], true);
  EXPECT_EQ(last["streamed"], true);
  EXPECT_EQ(last["lookahead_frames"], 0.0);
}

TEST_P(MachineModels, CompilesForTheNpu) {
  for (const std::string accelerator : {"ethos-u55-128", "ethos-u85-256"}) {
    const std::string compiled = file(accelerator + ".rnl");
    call_well(
        {"npu", "compile", bundled(GetParam()), "-o", compiled, "--accelerator", accelerator, "--quiet"});
    call_well({"npu", "validate", compiled});
    call_well({"npu", "compare", bundled(GetParam()), compiled});
  }
}

TEST_P(MachineModels, IsListedWithItsCard) {
  for (const Json& model : json_lines(call_well({"models", "--json"}).out)) {
    if (model["name"] != GetParam()) continue;
    EXPECT_EQ(model["licence"], "Apache-2.0");
    EXPECT_NE(model["front_end"].get<std::string>().find("sample_frequency=4000"), std::string::npos);
    return;
  }
  ADD_FAILURE() << "`runnel models` does not list " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Bundled, MachineModels, testing::Values("machine", "anomaly"));

using Machine = MachineModels;

TEST_F(Machine, NamesTheStateOfEachPart) {
  // The labels that begin in each part; the first second of a part may still be that of the one before.
  std::vector<std::set<std::string>> labels(kStates.size());
  for (const Json& event : events_of(call_well({"listen", "machine", "--wav", kMachines}).out)) {
    const auto part = static_cast<std::size_t>((event["end"].get<double>() - 0.01) / kSeconds);
    ASSERT_LT(part, labels.size());
    labels[part].insert(event["label"]);
  }
  EXPECT_EQ(labels[0], std::set<std::string>{});
  EXPECT_EQ(labels[1], std::set<std::string>{});
  for (std::size_t i = 2; i < kStates.size(); ++i) EXPECT_EQ(labels[i].count(kStates[i]), 1U) << kStates[i];
}

using Anomaly = MachineModels;

TEST_F(Anomaly, IsQuietUntilSomethingIsUnusual) {
  const auto events = events_of(call_well({"listen", "anomaly", "--wav", kMachines}).out);
  ASSERT_GE(events.size(), 1U);
  for (const Json& event : events) EXPECT_EQ(event["label"], "anomaly");
  EXPECT_GT(events[0]["end"].get<double>(), 2 * kSeconds);
  EXPECT_LT(events[0]["end"].get<double>(), 2 * kSeconds + 1.5);
}

TEST_F(Anomaly, EveryFaultIsFurtherAwayThanTheHealthyMachine) {
  const std::string chain = "wav path='" + kMachines + "' ! " + stored("anomaly", "front end") +
                            " ! infer model=anomaly ! distance ! npy path='" + file("d.npy") + "'";
  call_well({"run", chain});
  const auto distances = runnel::test::read_npy(file("d.npy")).as<float>();
  ASSERT_GT(distances.size(), 300U);
  const auto mean = [&](std::size_t part) {  // of the frames that lie within, without the first ones
    double sum = 0;
    const auto first = static_cast<std::size_t>(static_cast<double>(part) * kSeconds / 0.064) + 8;
    for (std::size_t i = first; i < first + 32; ++i) sum += distances.at(i);
    return sum / 32;
  };
  for (std::size_t i = 2; i < kStates.size(); ++i) EXPECT_GT(mean(i), 1.5 * mean(1)) << kStates[i];
}

// A pair of streams instead of a network that subtracts: the same distances, but for the rounding of
// integers.
TEST_F(Anomaly, TheDistanceOfTwoStreamsIsThatOfTheirDifference) {
  const std::string front = stored("anomaly", "front end");
  call_well({"run", "wav path='" + kMachines + "' ! " + front +
                        " name=f ! join method=exact name=both ! npy path='" + file("both.npy") +
                        "'\nboth. ! distance of=halves ! npy path='" + file("zero.npy") + "'\nwav path='" +
                        kMachines + "' ! " + front + " ! both."});
  const auto zero = runnel::test::read_npy(file("zero.npy")).as<float>();
  ASSERT_GT(zero.size(), 300U);
  EXPECT_EQ(*std::ranges::max_element(zero), 0.0F);
}

}  // namespace
}  // namespace runnel::apps::test
