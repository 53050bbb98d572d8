// Tables of numbers as calibration data: which columns count, and what a line holds.
#include "compiler/quantize/calibrate/table_clips.h"

#include <gmock/gmock.h>

#include <fstream>

#include "compiler/quantize/calibrate/clip_files.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class TableClips : public testing::Test {
 protected:
  TableClips() {
    input_.name = "feats";
    input_.dtype = DType::float32;
    input_.shape = {1, 2, 3};  // two channels, three frames
  }
  fs::path text(const std::string& content) const {
    std::ofstream(folder_.path() / "t.csv", std::ios::binary) << content;
    return folder_.path() / "t.csv";
  }
  // All clips, one after the other.
  std::vector<float> values(const fs::path& path, const TableOptions& options = {}) {
    notes_.clear();
    const auto clips = open_clip_files({path}, input_, options, &notes_);
    EXPECT_TRUE(clips.ok()) << clips.status().text();
    std::vector<float> all;
    for (std::size_t i = 0; clips.ok() && i < (*clips)->size(); ++i) {
      Clip clip;
      EXPECT_TRUE((*clips)->read(i, clip).ok());
      all.insert(all.end(), clip[0].begin(), clip[0].end());
    }
    return all;
  }
  std::string refusal(const fs::path& path, const TableOptions& options = {}) const {
    const auto clips = open_clip_files({path}, input_, options);
    EXPECT_FALSE(clips.ok());
    return std::string(clips.status().text());
  }
  TemporaryFolder folder_;
  compiler::Tensor input_;
  std::vector<std::string> notes_;
};

// A table of sensors has a line for each time; networks of PyTorch take channels first.
TEST_F(TableClips, FramesAreTurnedIntoChannelsAndThatIsSaid) {
  input_.shape = {1, 2, 3};
  EXPECT_THAT(values(text("ax,ay\n1,4\n2,5\n3,6\n7,10\n8,11\n9,12\n"), {.columns = {}, .time_axis = 2}),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0],
              HasSubstr("columns ax, ay; a line is a frame of 2 values, 3 lines are a clip, turned "
                        "into the layout of input feats"));
  input_.shape = {1, 3, 2};
  EXPECT_THAT(values(text("1,4\n2,5\n3,6\n"), {.columns = {}, .time_axis = 1}),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(notes_.at(0), HasSubstr("2 columns; a line is a frame of 2 values"));
}

TEST_F(TableClips, ColumnsByName) {
  const fs::path table = text("window,t,ax,ay,label\n0,0,1,4,9\n0,1,2,5,9\n0,2,3,6,9\n");
  EXPECT_THAT(values(table, {.columns = {"ax", "ay"}, .time_axis = 2}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(values(table, {.columns = {"ay", "ax"}, .time_axis = 2}), ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(refusal(table, {.columns = {"ax", "az"}}),
              HasSubstr("no column \"az\", expected one of window, t, ax, ay, label; did you mean ax?"));
  EXPECT_THAT(refusal(table, {.columns = {"ax", "ax"}}), HasSubstr("column \"ax\" more than once"));
  // Text in a column that is not used does not matter.
  EXPECT_THAT(
      values(text("when,ax,ay\nmon,1,4\ntue,2,5\nwed,3,6\n"), {.columns = {"ax", "ay"}, .time_axis = 2}),
      ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(TableClips, ColumnsByNumberWhereThereAreNoNames) {
  const fs::path table = text("0,1,4\n1,2,5\n2,3,6\n");
  EXPECT_THAT(values(table, {.columns = {"2", "3"}, .time_axis = 2}), ElementsAre(1, 2, 3, 4, 5, 6));
  for (const char* wrong : {"0", "4", "x", "2x", ""})
    EXPECT_THAT(refusal(table, {.columns = {wrong}}), HasSubstr("expected a number from 1 to 3")) << wrong;
}

// 8192 lines of nine columns happen to hold as many numbers as 96 clips.
TEST_F(TableClips, ColumnsThatAreNoDataAreRefusedEvenIfTheNumbersAddUp) {
  const std::string why =
      refusal(text("window,ax,ay,label\n0,1,4,9\n0,2,5,9\n0,3,6,9\n"), {.columns = {}, .time_axis = 2});
  EXPECT_THAT(why, HasSubstr("4 columns (window, ax, ay, label), expected 6 (a line is a clip) or 3"));
  EXPECT_THAT(why, HasSubstr("2 (a line is a frame of 2 values, 3 lines are a clip)"));
  EXPECT_THAT(why, HasSubstr("--columns names those that are data"));
}

TEST_F(TableClips, ASquareMustBeSaid) {
  input_.shape = {1, 2, 2};
  const fs::path table = text("1,2\n3,4\n");
  EXPECT_THAT(refusal(table, {.columns = {}, .time_axis = 2}),
              HasSubstr("expected --rows channel or --rows frame"));
  EXPECT_THAT(values(table, {.columns = {}, .row = TableRow::frame, .time_axis = 2}),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(values(table, {.columns = {}, .row = TableRow::channel, .time_axis = 2}),
              ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(notes_.empty()) << "it was said";
  EXPECT_THAT(values(table, {.columns = {}, .row = TableRow::frame, .time_axis = 1}),
              ElementsAre(1, 2, 3, 4));
}

TEST_F(TableClips, ClipsAndSingleValues) {
  EXPECT_THAT(values(text("1 2 3 4 5 6\n7\t8 9 10 11 12\n")),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_THAT(values(text("v\n1\n2\n3\n4\n5\n6\n")), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(refusal(text("1,2,3\n4,5,6\n"), {.columns = {}, .row = TableRow::clip}),
              HasSubstr("3 columns, expected 6"));
}

TEST_F(TableClips, BrokenTablesAreRefusedByTheirLine) {
  EXPECT_THAT(refusal(text("ax,ay\n1,2\n3\n5,6\n")), HasSubstr("line 3: 1 numbers, expected 2"));
  EXPECT_THAT(refusal(text("ax,ay,az\n1,2\n")),
              HasSubstr("line 2: 2 numbers, expected 3 as the heading names"));
  EXPECT_THAT(refusal(text("1,2\n3,x\n")), HasSubstr("line 2: \"x\" is no number"));
  EXPECT_THAT(refusal(text("ax,ay\n")), HasSubstr("0 numbers"));
  EXPECT_THAT(refusal(text("ax,ay\n1,2\n3,4\n"), {.columns = {}, .time_axis = 2}),
              HasSubstr("2 lines, expected a multiple of 3"));
}

}  // namespace
}  // namespace runnel::test
