// Files of a stored decision are found beside the model.
#include "services/listen/stored_files.h"

#include <gtest/gtest.h>

#include <fstream>

namespace runnel::listen {
namespace {

namespace fs = std::filesystem;

class StoredFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "stored files";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(folder_ / "words.txt") << "one\n";
  }
  fs::path folder_;
};

TEST_F(StoredFiles, AreThoseBesideTheModel) {
  EXPECT_EQ(files_beside("ctc mode=beam lexicon=words.txt", folder_ / "m.rnl"),
            "ctc mode=beam lexicon=\"" + (folder_ / "words.txt").string() + "\"");
}

TEST_F(StoredFiles, StayAsTheyAreWhereNoneIsBeside) {
  const fs::path model = folder_ / "m.rnl";
  for (const std::string text : {"ctc mode=beam lexicon=other.txt", "ctc lexicon=/words.txt",
                                 "detect threshold=0.5", "ctc grammar=", "not ! ! a graph"})
    EXPECT_EQ(files_beside(text, model), text);
  EXPECT_EQ(files_beside("ctc lexicon=words.txt", "m.rnl"), "ctc lexicon=words.txt");
}

}  // namespace
}  // namespace runnel::listen
