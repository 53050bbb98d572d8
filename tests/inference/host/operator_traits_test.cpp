// docs/operators.md is what the table of operators says. RUNNEL_UPDATE_DOCS=1 writes it anew.
#include "inference/host/operator_traits.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "inference/operator.h"

namespace runnel {
namespace {

TEST(OperatorTraits, ThePageIsUpToDate) {
  const std::string path = RUNNEL_SOURCE_FOLDER "/docs/operators.md";
  std::string missing;
  const std::string page = operators_markdown(all_operators(), missing);
  EXPECT_EQ(missing, "") << "operators without an entry in inference/host/operator_traits.cpp";
  if (std::getenv("RUNNEL_UPDATE_DOCS") != nullptr) std::ofstream(path) << page;
  std::ifstream file(path);
  const std::string found((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(found == page) << path << " is out of date: run this test with RUNNEL_UPDATE_DOCS=1";
}

TEST(OperatorTraits, EveryOperatorIsListedOnceAndComplete) {
  std::set<std::pair<int, int>> seen;
  for (const OperatorDefinition* definition : all_operators()) {
    EXPECT_TRUE(
        seen.emplace(static_cast<int>(definition->code), static_cast<int>(definition->arithmetic)).second)
        << definition->name;
    EXPECT_EQ(definition->name, name_of(definition->code));
    EXPECT_NE(definition->check, nullptr) << definition->name;
    EXPECT_NE(definition->stream, nullptr) << definition->name;
    EXPECT_NE(definition->prepare, nullptr) << definition->name;
  }
  // Every code of the format has an operator, but for that of the applications' own.
  for (int code = 1; code < kOpCodes; ++code) {
    EXPECT_EQ(seen.contains({code, 1}), static_cast<OpCode>(code) != OpCode::custom)
        << name_of(static_cast<OpCode>(code));
  }
}

}  // namespace
}  // namespace runnel
