// Files that ask for too much get what a small file may have, or what the call says.
#include "tests/apps/hostile_files.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdint>

namespace runnel::apps::test {
namespace {

using testing::HasSubstr;

struct Cost {
  double seconds = 0;
  std::int64_t mebibytes = 0;
};
Cost cost_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss / 1024};
}

TEST_F(HostileFiles, SmallOnesTakeLittle) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "SKIPPED: sanitizers take more of everything, and have limits of their own";
#endif
  for (const std::string& path : all()) {
    const std::vector<std::vector<std::string>> calls = {
        {"import", path, "-o", file("out.rnl")}, {"inspect", path}, {"check", path}};
    for (const std::vector<std::string>& arguments : calls) {
      SCOPED_TRACE(arguments[0] + " " + path);
      const Cost before = cost_of_children();
      const Output output = call(arguments);
      const Cost after = cost_of_children();
      EXPECT_LT(output.exit_code, 126) << output.err;
      if (output.exit_code != 0) {
        EXPECT_THAT(output.err, HasSubstr("runnel: "));
      }
      EXPECT_THAT(output.err, testing::Not(HasSubstr("a fault of this program")));
      EXPECT_LE(after.seconds - before.seconds, 12);
      // The limit, and what the program and its libraries are.
      EXPECT_LE(after.mebibytes, 1024 + 128);
    }
  }
}

TEST_F(HostileFiles, LimitsOfTheCallHold) {
#ifndef RUNNEL_HAVE_ONNX
  GTEST_SKIP() << "SKIPPED: this build reads no .onnx files";
#endif
  const std::string constants = written("constants.onnx", large_constants(2)),
                    products = written("products.onnx", large_products(64));
  refusal({"import", constants, "-o", file("out.rnl"), "--max-memory", "200"}, "--max-memory sets it");
  refusal({"check", products, "--max-memory", "0", "--max-seconds", "1"},
          "products.onnx: stopped after 1 s of processor time (--max-seconds sets it)");
  refusal({"quantize", constants, "--calib", file("none"), "-o", file("out.rnl"), "--max-memory", "200"},
          "constants.onnx");
}

}  // namespace
}  // namespace runnel::apps::test
