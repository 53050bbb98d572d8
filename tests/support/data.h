// Test data, temporary folders and programs under test.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace runnel::test {

// The folder named by RUNNEL_TEST_DATA, or an empty path when it does not exist.
std::filesystem::path data_folder();

// A whole file; a test failure and an empty result when it cannot be read.
std::vector<std::byte> read_file(const std::filesystem::path& path);

// A fresh folder for this test, removed by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Output and exit code of a program.
struct Output {
  std::string out, err;
  int exit_code = -1;
};

// Runs a program (no shell) with a time limit; the exit code is 128 + signal when a signal ended it.
Output run_program(const std::vector<std::string>& arguments, int seconds = 120);

// The runnel program under test (RUNNEL_PROGRAM).
std::string program();

}  // namespace runnel::test

// First line of a test that cannot run without the shared test data. With RUNNEL_TEST_DATA_REQUIRED=1
// it fails instead.
#define RUNNEL_NEEDS_DATA()                                                        \
  do {                                                                             \
    if (::runnel::test::data_folder().empty()) {                                   \
      if (std::getenv("RUNNEL_TEST_DATA_REQUIRED") != nullptr)                     \
        FAIL() << "RUNNEL_TEST_DATA is required but not there";                    \
      GTEST_SKIP() << "SKIPPED WITHOUT TEST DATA: set RUNNEL_TEST_DATA to run it"; \
    }                                                                              \
  } while (false)
