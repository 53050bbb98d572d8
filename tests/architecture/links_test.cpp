#include "tests/architecture/links.h"

#include <gtest/gtest.h>

#include "tests/architecture/planted_tree.h"

namespace runnel::test {
namespace {

TEST(Links, ThePagesOfTheProjectReferToWhatExists) {
  for (const Fault& fault : check_links(RUNNEL_SOURCE_FOLDER)) ADD_FAILURE() << fault.message();
}

class LinksTest : public PlantedTree {
 protected:
  LinksTest() {
    plant("README.md", "# Runnel\n\n## Three doors, `or more`\n");
    plant("kernels/conv/conv.h", "");
    plant("docs/speed.md", "# Speed\n\n## Serving: 64 streams\n## Serving: 64 streams\n");
  }
  // All faults of one page below docs/, one a line.
  std::string faults(const std::string& text) {
    plant("docs/page.md", text);
    std::string all;
    for (const Fault& fault : check_links(root())) all += fault.message() + "\n";
    return all;
  }
};

TEST_F(LinksTest, AcceptsWhatExists) {
  EXPECT_EQ(
      faults("[up](../README.md) [door](../README.md#three-doors-or-more) [self](#page) # Page\n# Page\n"
             "[s](speed.md#serving-64-streams-1) [code](../kernels/conv/) [w](https://example.org/x.md)\n"
             "`kernels/conv/conv.h`, `conv/conv.h`, `conv.h`, `kernels/`, `out.csv`, `a/b.wav`\n"),
      "");
}

TEST_F(LinksTest, LeavesOutCodeAndPlaceholders) {
  EXPECT_EQ(faults("```\n[x](nowhere.md) `kernels/none.h`\n```\n    [x](nowhere.md)\n"
                   "`models/NAME/model.rnl` `docs/*.md` `kernels/X/x.h` `inference/model_generated.h`\n"),
            "");
}

TEST_F(LinksTest, AcceptsAFileThatThePageMakes) {
  EXPECT_EQ(faults("as `main.cpp` shows\n```cpp file=main.cpp\nint main() {}\n```\n"), "");
  EXPECT_NE(faults("as `main.cpp` shows\n```cpp\nint main() {}\n```\n"), "");
}

TEST_F(LinksTest, RefusesALinkThatLeadsNowhere) {
  EXPECT_EQ(faults("\n[x](fast.md)\n"),
            "docs/page.md:2: the link to fast.md leads nowhere: there is no docs/fast.md\n");
}

TEST_F(LinksTest, RefusesAnAnchorWithoutItsHeading) {
  EXPECT_EQ(
      faults("[x](speed.md#serving)\n"),
      "docs/page.md:1: the link to speed.md#serving leads nowhere: docs/speed.md has no such heading\n");
}

TEST_F(LinksTest, RefusesAPathThatDoesNotExist) {
  EXPECT_EQ(faults("as `kernels/conv.h` says\n"),
            "docs/page.md:1: names kernels/conv.h, which does not exist\n");
  EXPECT_EQ(faults("in `kernels/pool/`\n"), "docs/page.md:1: names kernels/pool/, which does not exist\n");
}

TEST_F(LinksTest, RefusesASourceThatNoFolderHas) {
  EXPECT_EQ(faults("see `conv_plan.h`\n"),
            "docs/page.md:1: names conv_plan.h, but the tree has no file of that name\n");
  EXPECT_EQ(faults("see `onv.h`\n"), "docs/page.md:1: names onv.h, but the tree has no file of that name\n");
}

}  // namespace
}  // namespace runnel::test
