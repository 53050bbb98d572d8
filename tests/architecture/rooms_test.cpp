#include "tests/architecture/rooms.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/architecture/planted_tree.h"

namespace runnel::test {
namespace {

// RUNNEL_UPDATE_ROOMS=1 writes the list as the includes need it; what it adds is then read, line by line.
TEST(Rooms, TheProjectKeepsItsWalls) {
  if (std::getenv("RUNNEL_UPDATE_ROOMS") != nullptr) {
    const std::string text = needed_rooms(RUNNEL_SOURCE_FOLDER);
    std::ofstream(std::filesystem::path(RUNNEL_SOURCE_FOLDER) / kRoomsFile) << text;
  }
  for (const Fault& fault : check_rooms(RUNNEL_SOURCE_FOLDER)) ADD_FAILURE() << fault.message();
}

class RoomsTest : public PlantedTree {
 protected:
  void list(const std::string& lines) { plant(kRoomsFile, "# Public headers.\n" + lines); }
  // All faults, one a line.
  [[nodiscard]] std::string faults() const {
    std::string text;
    for (const Fault& fault : check_rooms(root())) text += fault.message() + "\n";
    return text;
  }
};

TEST_F(RoomsTest, ARoomReadsItselfWhatSurroundsItAndTheRoomsDirectlyInside) {
  plant("kernels/pool.cpp", "#include \"kernels/conv/conv.h\"\n#include \"kernels/pool.h\"\n");
  plant("kernels/conv/conv.cpp", "#include \"kernels/conv/conv.h\"\n");
  plant("kernels/conv/x86/avx2.cpp",
        "#include \"kernels/conv/conv_vector.h\"\n#include \"kernels/pool.h\"\n#include <vector>\n");
  EXPECT_EQ(faults(), "");
}

TEST_F(RoomsTest, RefusesAPrivateHeaderOfANeighbour) {
  plant("kernels/float32/sum.cpp", "\n#include \"kernels/conv/conv_plan.h\"\n");
  list("kernels/conv/conv.h users\n");
  plant("kernels/conv/conv.h", "");
  EXPECT_EQ(
      faults(),
      "kernels/float32/sum.cpp:2: includes \"kernels/conv/conv_plan.h\", which is private to its room; use a "
      "public header of kernels/conv/, move what kernels/float32/ needs, or, if others should depend on it, "
      "add \"kernels/conv/conv_plan.h library\" after line 2 of tests/architecture/rooms.txt\n");
  list("kernels/conv/conv.h users\nkernels/conv/conv_plan.h library\n");
  EXPECT_EQ(faults(), "");
}

TEST_F(RoomsTest, RefusesARoomTwoDoorsAway) {
  plant("kernels/rom_kernels.cpp", "#include \"kernels/conv/device/conv_device.h\"\n");
  EXPECT_NE(faults().find("add \"kernels/conv/device/conv_device.h library\" after line 0"),
            std::string::npos)
      << faults();
}

TEST_F(RoomsTest, RefusesALibrarysHeaderInAnotherLibrary) {
  plant("kernels/float32/sum.cpp", "#include \"kernels/conv/conv_plan.h\"\n");
  plant("inference/ops/conv/conv.cpp", "#include \"kernels/conv/conv_plan.h\"\n");
  list("kernels/conv/conv_plan.h library\n");
  EXPECT_EQ(
      faults(),
      "inference/ops/conv/conv.cpp:1: includes \"kernels/conv/conv_plan.h\", which is public to its library "
      "only; use a public header of kernels/conv/, move what inference/ops/conv/ needs, or, if others should "
      "depend on it, change line 2 of tests/architecture/rooms.txt to \"kernels/conv/conv_plan.h tree\"\n");
}

TEST_F(RoomsTest, RefusesAnExampleThatKnowsWhatUsersDoNot) {
  plant("inference/session.h", "");
  plant("pipeline/executor.cpp", "#include \"inference/session.h\"\n");
  plant("examples/own.cpp", "#include \"inference/session.h\"\n");
  list("inference/session.h tree\n");
  EXPECT_EQ(faults(),
            "examples/own.cpp:1: includes \"inference/session.h\", which is not public to users; use a "
            "public header "
            "of inference/, move what examples/ needs, or, if others should depend on it, change line 2 of "
            "tests/architecture/rooms.txt to \"inference/session.h users\"\n");
}

TEST_F(RoomsTest, RefusesALineThatNobodyNeeds) {
  list("kernels/conv/conv.h tree\n");
  plant("kernels/conv/conv.cpp", "#include \"kernels/conv/conv.h\"\n");
  EXPECT_EQ(faults(),
            "tests/architecture/rooms.txt:2: kernels/conv/conv.h is listed, but nothing outside of its room "
            "includes "
            "it; remove the line\n");
}

TEST_F(RoomsTest, RefusesALineThatPromisesMoreThanIsUsed) {
  list("kernels/conv/conv.h tree\n");
  plant("kernels/float32/sum.cpp", "#include \"kernels/conv/conv.h\"\n");
  EXPECT_EQ(
      faults(),
      "tests/architecture/rooms.txt:2: kernels/conv/conv.h is listed as public to the tree, but only its "
      "library includes it; change line 2 of tests/architecture/rooms.txt to \"kernels/conv/conv.h "
      "library\"\n");
}

TEST_F(RoomsTest, AHeaderForUsersHasToExistButNobodyInTheTreeHasToUseIt) {
  list("embed/node.h users\n");
  EXPECT_EQ(faults(), "tests/architecture/rooms.txt:2: embed/node.h does not exist\n");
  plant("embed/node.h", "");
  EXPECT_EQ(faults(), "");
}

TEST_F(RoomsTest, RefusesLinesItCannotRead) {
  list("b/b.h\nbase/b.h everybody\nbase/b.h users users\n");
  EXPECT_EQ(
      faults(),
      "tests/architecture/rooms.txt:2: \"b/b.h\": expected a header and one of library, tree, users\n"
      "tests/architecture/rooms.txt:3: \"base/b.h everybody\": expected a header and one of library, tree, "
      "users\n"
      "tests/architecture/rooms.txt:4: \"base/b.h users users\": expected a header and one of library, tree, "
      "users\n");
}

TEST_F(RoomsTest, RefusesLinesOutOfOrderAndTwice) {
  plant("base/a.h", "");
  plant("base/b.h", "");
  list("base/b.h users\nbase/a.h users\nbase/a.h users\n");
  EXPECT_EQ(faults(),
            "tests/architecture/rooms.txt:3: base/a.h comes after base/b.h; order the lines by "
            "header, one line each\n"
            "tests/architecture/rooms.txt:4: base/a.h comes after base/a.h; order the lines by "
            "header, one line each\n");
}

TEST_F(RoomsTest, RefusesARoomWithMoreThanThirtyFiles) {
  for (std::size_t i = 0; i < kLargestRoom; ++i) plant("kernels/conv/f" + std::to_string(i) + ".cpp", "");
  plant("kernels/conv/x86/more.cpp", "");
  plant("tests/many/a.cpp", "");
  EXPECT_EQ(faults(), "");
  plant("kernels/conv/CMakeLists.txt", "");
  EXPECT_EQ(
      faults(),
      "kernels/conv: a folder of 31 files, at most 30; move some that belong together into a subfolder\n");
}

TEST_F(RoomsTest, WritesTheListThatTheIncludesNeed) {
  plant("kernels/float32/sum.cpp", "#include \"kernels/conv/conv_plan.h\"\n");
  plant("inference/ops/conv/conv.cpp", "#include \"kernels/conv/conv.h\"\n");
  plant("embed/node.h", "");
  list("base/gone.h tree\nembed/gone.h users\nembed/node.h users\nkernels/conv/conv_plan.h tree\n");
  const std::string needed = needed_rooms(root());
  EXPECT_EQ(
      needed,
      "# Public headers.\nembed/node.h users\nkernels/conv/conv.h tree\nkernels/conv/conv_plan.h library\n");
  plant(kRoomsFile, needed);
  EXPECT_EQ(faults(), "");
}

}  // namespace
}  // namespace runnel::test
