// The boards do trap unaligned accesses, which the other tests rely on.
#include <gtest/gtest.h>

#include "tests/firmware/image.h"

namespace runnel {
namespace {

using namespace test;

TEST(Firmware, UnalignedAccessesEndTheRun) {
  if (without_images()) GTEST_SKIP() << "SKIPPED WITHOUT IMAGES: run scripts/firmware_tests.sh";
  for (const char* board : {kM3, kM4F, kM7F, kM55}) {
    const ImageOutput trapped = run_image(board, "traps_image", {});
    EXPECT_EQ(trapped.exit_code, 99) << board << ": " << trapped.said;
    EXPECT_NE(trapped.said.find("FAULT AT 0x"), std::string::npos) << board << ": " << trapped.said;
    EXPECT_EQ(run_image(board, "traps_image", {"without"}).exit_code, 0) << board;
  }
}

}  // namespace
}  // namespace runnel
