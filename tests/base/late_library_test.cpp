// Libraries and modules that are opened when they are used.
#include "base/host/late_library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace runnel {
namespace {

#define RUNNEL_TEST_MATH(F) F(cos) F(sin)
struct Math {
  static constexpr const char* kFile = "libm.so.6";
  static constexpr const char* kPurpose = "tests";
  double (*cos)(double) = nullptr;
  double (*sin)(double) = nullptr;
  void find_in(LateLibrary& library) { RUNNEL_TEST_MATH(RUNNEL_LATE_FIND) }
};

TEST(LateLibrary, GivesTheFunctionsOfALibrary) {
  const Result<Math>& math = late<Math>();
  ASSERT_TRUE(math.ok()) << math.status().text();
  EXPECT_EQ(math->cos(0.5), std::cos(0.5));
  EXPECT_EQ(math->sin(0.5), std::sin(0.5));
  EXPECT_EQ(&late<Math>(), &math) << "opened once";
}

TEST(LateLibrary, NamesALibraryThatIsMissing) {
  const LateLibrary library("libnone-such.so.7", "tests");
  EXPECT_EQ(library.status().code(), Code::not_found);
  EXPECT_TRUE(std::string(library.status().text())
                  .starts_with("libnone-such.so.7, which is needed for tests, cannot be opened: "))
      << library.status().text();
}

TEST(LateLibrary, NamesAFunctionThatIsMissing) {
  LateLibrary library("libm.so.6", "tests");
  void (*none)() = nullptr;
  double (*cosine)(double) = nullptr;
  library.find("no_such_function", none);
  EXPECT_EQ(library.status().text(),
            "libm.so.6, which is needed for tests, has no function no_such_function");
  library.find("cos", cosine);
  EXPECT_EQ(cosine, nullptr) << "the first failure stays";
}

using Twice = int(int);

TEST(Modules, AreCalled) {
  const auto module = open_module<Twice>("test_module", "tests");
  ASSERT_TRUE(module.ok()) << module.status().text();
  EXPECT_EQ((*module)->function(21), 42);
}

TEST(Modules, OfAnotherBuildAreRefused) {
  const auto module = open_module<Twice>("module_of_another_build", "tests");
  ASSERT_EQ(module.status().code(), Code::mismatch);
  EXPECT_TRUE(std::string(module.status().text()).ends_with("found runnel of yesterday"))
      << module.status().text();
}

TEST(Modules, ThatAreNoneAreRefused) {
  const auto module = open_module<Twice>("no_module", "tests");
  EXPECT_EQ(module.status().code(), Code::mismatch) << module.status().text();
}

TEST(Modules, ThatAreMissingAreNamed) {
  const auto module = open_module<Twice>("none_such", "tests");
  ASSERT_EQ(module.status().code(), Code::not_found);
  EXPECT_TRUE(std::string(module.status().text())
                  .starts_with("none_such.so, which is needed for tests, cannot be opened: "))
      << module.status().text();
}

}  // namespace
}  // namespace runnel
