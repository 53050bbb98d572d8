// .espdl files read, written and read again: the same graph, and the same outputs. A sample of every
// operator; all files run in espdl_round_trip_long_test.cpp.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "compiler/espdl/target.h"
#include "tests/compiler/json_files.h"
#include "tests/compiler/round_trip.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

namespace fs = std::filesystem;
using compiler::EspdlTarget;
using test::round_trip;

EspdlTarget target_of(const std::string& name) { return compiler::espdl_source::target_named(name); }

// The smallest file of every operator, target and kind; every network of 40 KB at most.
TEST(EspdlRoundTrip, SampleOfEveryOperator) {
  RUNNEL_NEEDS_DATA();
  std::map<std::string, std::pair<std::uintmax_t, fs::path>> chosen;
  std::map<fs::path, EspdlTarget> targets;
  int number = 0;
  const nlohmann::json all = test::conformance_manifest();
  for (const auto& entry : all["entries"]) {
    const fs::path file = test::data_folder() / "conformance" / entry["file"].get<std::string>();
    const std::string key =
        entry["op"].get<std::string>() + entry["kind"].get<std::string>() + std::to_string(++number % 3);
    const auto size = fs::file_size(file);
    const auto known = chosen.find(key);
    if (known == chosen.end() || size < known->second.first) chosen[key] = {size, file};
    targets[file] = target_of(entry["target"]);
  }
  for (const auto& [key, entry] : chosen) round_trip(entry.second, targets[entry.second]);
  EXPECT_GT(chosen.size(), 100u);
}

}  // namespace
}  // namespace runnel
