// Calibration data from files.
#include "compiler/quantize/calibrate/clip_files.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/host/npy.h"
#include "compiler/quantize/choose/evaluate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;
namespace fs = std::filesystem;

class ClipFiles : public testing::Test {
 protected:
  ClipFiles() {
    input_.name = "x";
    input_.dtype = DType::float32;
    input_.shape = {1, 2, 3};
  }
  fs::path text(const std::string& name, const std::string& content) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << content;
    return folder_.path() / name;
  }
  fs::path npy(const std::string& name, const std::vector<std::int64_t>& shape) const {
    std::vector<float> values;
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) count *= dim;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
    EXPECT_TRUE(
        write_npy(folder_.path() / name, DType::float32, shape, std::as_bytes(std::span(values))).ok());
    return folder_.path() / name;
  }
  std::string refusal(const fs::path& path) const {
    const auto clips = open_clip_files({path}, input_);
    EXPECT_FALSE(clips.ok());
    return std::string(clips.status().text());
  }
  TemporaryFolder folder_;
  compiler::Tensor input_;
};

// A number that is missing would move all after it.
TEST_F(ClipFiles, EmptyCellsAreRefusedByTheirLine) {
  EXPECT_THAT(refusal(text("a.csv", "1,2,3\n4,,6\n")), HasSubstr("line 2: an empty cell"));
  EXPECT_THAT(refusal(text("b.csv", "; 2; 3\n4; 5; 6\n")), HasSubstr("line 1: an empty cell"));
  EXPECT_THAT(refusal(text("c.csv", "name,,\n1,2,3\n4, ,6\n")), HasSubstr("line 3: an empty cell"));
  EXPECT_TRUE(open_clip_files({text("d.csv", "a,,c\n1 ,2, 3,\n4,\t5;6\r\n")}, input_).ok())
      << "the heading has one, and lines may end with a comma";
}

TEST_F(ClipFiles, ManyKindsOneAfterTheOther) {
  const fs::path one = npy("a.npy", {2, 3}), many = npy("b.npy", {4, 2, 3}),
                 csv = text("c.csv", "a,b,c\n1,2,3\n4,5,6.5\n");
  std::string raw(2 * 6 * 4, '\0');
  const float value = 7;
  std::memcpy(raw.data() + 6 * 4, &value, 4);
  const fs::path bin = text("d.f32", raw);
  const auto clips = open_clip_files({one, many, csv, bin}, input_);
  ASSERT_TRUE(clips.ok()) << clips.status().text();
  ASSERT_EQ((*clips)->size(), 1u + 4u + 1u + 2u);
  Clip clip;
  ASSERT_TRUE((*clips)->read(4, clip).ok());
  EXPECT_EQ(clip[0], (std::vector<float>{18, 19, 20, 21, 22, 23}));
  ASSERT_TRUE((*clips)->read(5, clip).ok());
  EXPECT_EQ(clip[0], (std::vector<float>{1, 2, 3, 4, 5, 6.5f}));
  ASSERT_TRUE((*clips)->read(7, clip).ok());
  EXPECT_EQ(clip[0][0], 7);
  EXPECT_THAT((*clips)->name(4), HasSubstr("b.npy clip 3"));
}

TEST_F(ClipFiles, WrongShapesAreRefusedWithNameExpectedAndFound) {
  EXPECT_THAT(refusal(npy("a.npy", {3, 2})),
              testing::AllOf(HasSubstr("a.npy"), HasSubstr("[3,2]"), HasSubstr("expected [1,2,3]")));
  EXPECT_THAT(refusal(text("a.bin", "12345")), HasSubstr("5 bytes, expected a multiple of 24"));
  EXPECT_THAT(refusal(text("empty.bin", "")), HasSubstr("0 bytes"));
  EXPECT_THAT(refusal(text("a.csv", "1,2\n3,x\n")), HasSubstr("line 2: \"x\" is no number"));
  EXPECT_THAT(refusal(text("b.csv", "1,2\n")), HasSubstr("1 lines, expected a multiple of 3"));
  EXPECT_THAT(refusal(text("b.npy", "no array")), HasSubstr("b.npy"));
}

TEST_F(ClipFiles, FoldersAreSortedAndMustHoldSomething) {
  EXPECT_THAT(std::string(list_clip_files({folder_.path().string()}).status().text()), HasSubstr("no .npy"));
  npy("b.npy", {2, 3});
  npy("a.npy", {2, 3});
  text("notes.txt", "nothing");
  const auto files = list_clip_files({folder_.path().string()});
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].filename(), "a.npy");
  text("c.npz", "PK");
  for (const auto& given : {folder_.path(), folder_.path() / "c.npz"}) {
    EXPECT_THAT(std::string(list_clip_files({given.string()}).status().text()),
                HasSubstr("c.npz: an archive of arrays; expected the .npy files in it"));
  }
  EXPECT_FALSE(list_clip_files({"/nowhere/at/all"}).ok());
  EXPECT_FALSE(list_clip_files({(folder_.path() / "notes.txt").string()}).ok());
}

TEST_F(ClipFiles, LabelsFromTablesAndLists) {
  const auto table = read_labels(text("l.csv", "file,label,label_id\na.wav,seven,7\nb.wav,one,1\n"));
  ASSERT_TRUE(table.ok()) << table.status().text();
  EXPECT_EQ(*table, (std::vector<int>{7, 1}));
  EXPECT_EQ(*read_labels(text("l.txt", "3\n0\n")), (std::vector<int>{3, 0}));
  EXPECT_THAT(std::string(read_labels(text("bad.csv", "1\nseven\n")).status().text()),
              HasSubstr("line 2: \"seven\""));
  EXPECT_FALSE(read_labels(text("none.csv", "")).ok());
  EXPECT_THAT(std::string(read_labels(text("odd.i32", "seven b")).status().text()),
              HasSubstr("7 bytes, expected a multiple of 4"));
}

}  // namespace
}  // namespace runnel::test
