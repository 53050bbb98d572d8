#include <gst/gst.h>
#include <gtest/gtest.h>

#include "tests/bridges/gstreamer/own_gstreamer.h"

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  runnel::bridges::test::use_own_gstreamer();
  gst_init(&count, &arguments);
  return RUN_ALL_TESTS();
}
