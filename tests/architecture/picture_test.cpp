#include "tests/architecture/picture.h"

#include <gtest/gtest.h>

#include "tests/architecture/planted_tree.h"

namespace runnel::test {
namespace {

TEST(Picture, ThePictureOfTheProjectIsTrue) {
  for (const Fault& fault : check_picture(RUNNEL_SOURCE_FOLDER)) ADD_FAILURE() << fault.message();
}

class PictureTest : public PlantedTree {
 protected:
  PictureTest() {
    plant("base/status.h", "");
    plant("kernels/conv.cpp", "#include \"base/status.h\"\n");
    plant("apps/main.cpp", "#include \"base/status.h\"\n#include \"kernels/conv.h\"\n#include <vector>\n");
  }
  void draw(const std::string& arrows) {
    plant(kPicturePage, "# Architecture\n\n```mermaid\nflowchart TD\n" + arrows +
                            "  classDef device fill:#fff\n```\n\n```mermaid\nflowchart LR\n  a --> b\n```\n");
  }
  // All faults, one a line.
  [[nodiscard]] std::string faults() const {
    std::string text;
    for (const Fault& fault : check_picture(root())) text += fault.message() + "\n";
    return text;
  }
};

TEST_F(PictureTest, AcceptsWhatIsTrueWithAndWithoutTheShortArrow) {
  draw("  apps[\"apps<br/>verbs\"]:::host --> kernels[\"kernels\"]:::device\n  kernels --> base:::device\n");
  EXPECT_EQ(faults(), "");
  draw("  apps:::host --> kernels:::device\n  kernels --> base:::device\n  apps --> base\n");
  EXPECT_EQ(faults(), "");
}

TEST_F(PictureTest, RefusesAnArrowThatNoIncludeStandsFor) {
  draw("  apps:::host --> kernels:::device\n  kernels --> base:::device\n  base --> kernels\n");
  EXPECT_EQ(
      faults(),
      "docs/architecture.md:7: draws base --> kernels, but nothing in base/ includes kernels/; remove the "
      "arrow\n");
}

TEST_F(PictureTest, RefusesAnIncludeThatIsNotDrawn) {
  draw("  apps:::host --> base:::device\n  kernels:::device --> base\n");
  EXPECT_EQ(faults(),
            "docs/architecture.md:3: apps/main.cpp includes kernels/conv.h, but no arrows lead from apps to "
            "kernels; "
            "draw apps --> kernels\n");
}

TEST_F(PictureTest, RefusesAFolderThatIsNotDrawn) {
  plant("embed/runnel.cpp", "");
  draw("  apps:::host --> kernels:::device\n  kernels --> base:::device\n");
  EXPECT_EQ(faults(), "docs/architecture.md:3: the folder embed/ is not drawn\n");
}

TEST_F(PictureTest, RefusesDeviceCodeDrawnAsHost) {
  draw("  apps:::host --> kernels:::host\n  kernels --> base:::device\n");
  EXPECT_EQ(faults(), "docs/architecture.md:3: kernels is drawn as \"host\", but is device code\n");
}

}  // namespace
}  // namespace runnel::test
