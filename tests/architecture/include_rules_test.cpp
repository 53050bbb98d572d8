#include "tests/architecture/include_rules.h"

#include <gtest/gtest.h>

#include "tests/architecture/planted_tree.h"

namespace runnel::test {
namespace {

TEST(Architecture, TheProjectKeepsTheDependencyRule) {
  const Report report = check_includes(RUNNEL_SOURCE_FOLDER);
  // A checker that reads nothing finds nothing.
  EXPECT_GT(report.files, 20U);
  EXPECT_GT(report.includes, 50U);
  for (const Violation& violation : report.violations) ADD_FAILURE() << violation.message();
}

class IncludeRules : public PlantedTree {
 protected:
  [[nodiscard]] Report report() const { return check_includes(root()); }
  // The one violation of this tree, as file:line: text.
  [[nodiscard]] std::string only(Rule rule) const {
    const Report found = report();
    if (found.violations.size() != 1) {
      ADD_FAILURE() << found.violations.size()
                    << " violations, expected one: " << ::testing::PrintToString(found.violations);
      return {};
    }
    EXPECT_EQ(static_cast<int>(found.violations[0].rule), static_cast<int>(rule))
        << found.violations[0].message();
    return found.violations[0].message();
  }
};

TEST_F(IncludeRules, AcceptsWhatGoesDown) {
  plant("base/status.h", "#pragma once\n#include <cstdint>\n");
  plant("base/host/heap.h", "#pragma once\n#include <vector>\n#include \"base/status.h\"\n");
  plant("kernels/conv.cpp",
        "#include \"kernels/conv/conv.h\"\n#include <cmath>\n#include \"base/status.h\"\n");
  plant("kernels/conv/conv.h", "// A comment first.\n#pragma once\n");
  plant("pipeline/host/live.cpp",
        "#include <thread>\n#include \"base/host/heap.h\"\n#include \"inference/session.h\"\n");
  plant("compiler/fold.cpp",
        "#include <vector>\n#include \"inference/session.h\"\n#include \"npu/host/compile.h\"\n");
  plant("apps/main.cpp",
        "#include <iostream>\n#include \"pipeline/graph.h\"\n#include \"compiler/fold.h\"\n");
  plant("tests/any_test.cpp", "#include <string>\n#include \"apps/main.h\"\n#include \"base/host/heap.h\"\n");
  const Report found = report();
  EXPECT_EQ(found.files, 8U);
  EXPECT_EQ(found.includes, 18U);
  EXPECT_TRUE(found.violations.empty()) << ::testing::PrintToString(found.violations);
}

TEST_F(IncludeRules, RefusesAnIncludeThatGoesUp) {
  plant("kernels/conv.cpp", "#include <cmath>\n\n  #  include \"features/fft/fft.h\"  // a look upstairs\n");
  EXPECT_EQ(only(Rule::upward),
            "kernels/conv.cpp:3: includes \"features/fft/fft.h\": kernels may not use features");
}

TEST_F(IncludeRules, RefusesEveryStepUp) {
  const char* const folders[] = {"base",     "kernels",   "streaming", "decoding",
                                 "features", "inference", "npu",       "pipeline"};
  for (std::size_t low = 0; low < std::size(folders); ++low) {
    for (std::size_t high = 0; high < std::size(folders); ++high) {
      plant(std::string(folders[low]) + "/uses_" + folders[high] + ".cpp",
            std::string("#include \"") + folders[high] + "/x.h\"\n");
    }
  }
  const Report found = report();
  EXPECT_EQ(found.includes, 64U);
  // Kernels, streaming, decoding and features stand side by side: neither of a pair may use the other.
  EXPECT_EQ(found.violations.size(), 22U + 2 * 6U);
}

TEST_F(IncludeRules, RefusesPipelineAndCompilerInEachOther) {
  plant("pipeline/host/load.cpp", "#include \"compiler/import.h\"\n");
  EXPECT_EQ(only(Rule::upward),
            "pipeline/host/load.cpp:1: includes \"compiler/import.h\": pipeline may not use compiler");
}

TEST_F(IncludeRules, RefusesTheCompilerThatUsesThePipeline) {
  plant("compiler/import.cpp", "#include <vector>\n#include <pipeline/graph.h>\n");
  EXPECT_EQ(only(Rule::upward),
            "compiler/import.cpp:2: includes \"pipeline/graph.h\": compiler may not use pipeline");
}

TEST_F(IncludeRules, RefusesAHostHeaderInDeviceCode) {
  plant("inference/session.cpp", "#include \"inference/session.h\"\n#include \"base/host/heap_memory.h\"\n");
  EXPECT_EQ(only(Rule::host_header),
            "inference/session.cpp:2: device code includes \"base/host/heap_memory.h\", which is host code");
}

TEST_F(IncludeRules, RefusesAHostHeaderNamedFromItsNeighbour) {
  plant("base/host/heap_memory.h", "#pragma once\n");
  plant("base/memory.cpp", "#include \"host/heap_memory.h\"\n");
  EXPECT_EQ(only(Rule::host_header),
            "base/memory.cpp:1: device code includes \"host/heap_memory.h\", which is host code");
}

TEST_F(IncludeRules, RefusesAHostFolderInFirmware) {
  plant("firmware/node.cpp", "#include \"features/fbank/fbank.h\"\n#include \"compiler/import.h\"\n");
  EXPECT_EQ(only(Rule::host_header),
            "firmware/node.cpp:2: device code includes \"compiler/import.h\", which is host code");
}

TEST_F(IncludeRules, RefusesTestsInTheCode) {
  plant("apps/main.cpp", "#include \"tests/support/data.h\"\n");
  EXPECT_EQ(only(Rule::upward),
            "apps/main.cpp:1: includes \"tests/support/data.h\": nothing in apps may use tests");
}

TEST_F(IncludeRules, RefusesTheHostedLibraryInDeviceCode) {
  plant("streaming/ring.h", "#pragma once\n#include <span>\n#include <vector>\n");
  EXPECT_EQ(only(Rule::hosted_library),
            "streaming/ring.h:3: device code includes <vector>; it belongs below a folder host/");
}

TEST_F(IncludeRules, KnowsTheHostedLibrary) {
  const char* const names[] = {"vector",        "string",   "iostream", "thread", "functional", "map",
                               "unordered_map", "memory",   "fstream",  "mutex",  "sstream",    "stdexcept",
                               "filesystem",    "deque",    "set",      "list",   "atomic",     "cstdio",
                               "stdio.h",       "unistd.h", "future",   "any",    "queue"};
  std::string text;
  for (const char* name : names) text += std::string("#include <") + name + ">\n";
  plant("features/fft/fft.cpp", text);
  plant("features/host/fftw.cpp", text);
  plant("compiler/fold.cpp", text);
  const Report found = report();
  EXPECT_EQ(found.violations.size(), std::size(names) - 1) << "all but <atomic>, in device code only";
  for (const Violation& violation : found.violations) {
    EXPECT_EQ(violation.file, "features/fft/fft.cpp");
    EXPECT_NE(violation.line, 17U) << "<atomic> is allowed";
  }
}

TEST_F(IncludeRules, RefusesAHeaderWithoutPragmaOnce) {
  plant("kernels/pool.h", "// #pragma once\n#include \"base/status.h\"\n");
  EXPECT_EQ(only(Rule::pragma_once), "kernels/pool.h:1: a header without #pragma once");
}

TEST_F(IncludeRules, WantsPragmaOnceInTestHeadersToo) {
  plant("tests/support/shapes.h", "struct Shape {};\n");
  EXPECT_EQ(only(Rule::pragma_once), "tests/support/shapes.h:1: a header without #pragma once");
}

TEST_F(IncludeRules, RefusesPathsThatClimb) {
  plant("features/mel.cpp", "#include \"../base/status.h\"\n");
  EXPECT_EQ(only(Rule::spelling),
            "features/mel.cpp:1: includes \"../base/status.h\"; write the path from the project's root");
}

TEST_F(IncludeRules, OrdersByFileAndLine) {
  plant("base/b.cpp", "#include <string>\n#include \"apps/x.h\"\n");
  plant("base/a.h", "#include <map>\n");
  const Report found = report();
  ASSERT_EQ(found.violations.size(), 5U);
  EXPECT_EQ(found.violations[0].file, "base/a.h");
  EXPECT_EQ(found.violations[2].message(),
            "base/b.cpp:1: device code includes <string>; it belongs below a folder host/");
  EXPECT_EQ(found.violations[3].line, 2U);
  EXPECT_EQ(found.violations[4].line, 2U);
}

}  // namespace
}  // namespace runnel::test
