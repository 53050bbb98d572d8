// Every .espdl file of the test data read, written and read again (espdl_round_trip_test.cpp takes a sample).
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "compiler/espdl/target.h"
#include "tests/compiler/espdl_files.h"
#include "tests/compiler/json_files.h"
#include "tests/compiler/round_trip.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

namespace fs = std::filesystem;
using compiler::EspdlTarget;
using test::round_trip;

EspdlTarget target_of(const std::string& name) { return compiler::espdl_source::target_named(name); }
std::string folder_target(const fs::path& file) {
  return fs::relative(file, test::data_folder() / "espdl/models").begin()->string();
}

TEST(EspdlRoundTripLong, EveryConformanceFile) {
  RUNNEL_NEEDS_DATA();
  const char* filter = std::getenv("RUNNEL_CONFORMANCE_FILTER");
  int count = 0;
  const nlohmann::json all = test::conformance_manifest();
  for (const auto& entry : all["entries"]) {
    const std::string file = entry["file"];
    if (filter != nullptr && file.find(filter) == std::string::npos) continue;
    round_trip(test::data_folder() / "conformance" / file, target_of(entry["target"]));
    ++count;
  }
  if (filter == nullptr) {
    EXPECT_GE(count, 1152);
  }
}

TEST(EspdlRoundTripLong, EveryPublishedModel) {
  RUNNEL_NEEDS_DATA();
  const auto files = test::espdl_files("espdl/models");
  EXPECT_GE(files.size(), 30u);
  for (const fs::path& file : files) round_trip(file, target_of(folder_target(file)));
}

TEST(EspdlRoundTripLong, SmallStreamingAndDigitsModels) {
  RUNNEL_NEEDS_DATA();
  for (const char* folder : {"espdl/tcn", "digits"}) {
    for (const fs::path& file : test::espdl_files(folder)) {
      const std::string name = file.filename().string();
      const char* target = name.find("esp32p4") != std::string::npos   ? "esp32p4"
                           : name.find("esp32s3") != std::string::npos ? "esp32s3"
                                                                       : "c";
      round_trip(file, target_of(target));
    }
  }
}

}  // namespace
}  // namespace runnel
