// The ready-made program for vibration: its graph as it stands in examples/, on a table of signals outside
// the training data.
#include <gtest/gtest.h>

#include <set>

#include "models/vibration/signal.h"
#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

TEST(VibrationProgram, TellsFaultsAndKeepsQuietAboutTheRest) {
  const runnel::test::TemporaryFolder folder;
  const fs::path graph = fs::path(RUNNEL_SOURCE_FOLDER) / "examples/vibration.rnlg",
                 table = folder.path() / "vibration.csv";
  const std::string model =
      fs::path(runnel::test::program()).parent_path() / "models/vibration/vibration.rnl";
  for (std::size_t state = 0; state < vibration::kStates.size(); ++state) {
    std::string text = "x\n";
    for (const std::int16_t sample : vibration::signal(state, 7'000'000 + state, 4.0))
      text += std::to_string(sample / 32768.0) + "\n";
    write_text(table, text);
    std::set<std::string> labels;
    for (const Json& event : events_of(call_well({"run", graph, "--model", model, "--source",
                                                  "csv path=" + table.string() + " rate=4000"})
                                           .out))
      labels.insert(event["label"]);
    const std::string name(vibration::kStates[state]);
    const bool fault = name != "stopped" && name != "balanced";
    EXPECT_EQ(labels, fault ? std::set<std::string>{name} : std::set<std::string>{}) << name;
  }
  refusal({"run", graph, "--model", model, "--source",
           "csv path=" + (folder.path() / "none.csv").string() + " rate=4000"},
          "none.csv");
}

}  // namespace
}  // namespace runnel::apps::test
