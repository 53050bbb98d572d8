// Names of files to be written.
#include "base/host/output_name.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/data.h"

namespace runnel {
namespace {

TEST(OutputName, AnEndingThatPromisesAnotherFormatIsRefused) {
  EXPECT_EQ(std::string(check_output_name("out/a.pte", {".rnl", ".espdl"}).text()),
            "out/a.pte: .pte is not what is written here, expected .rnl or .espdl");
  EXPECT_FALSE(check_output_name("a.WAV", {".npy"}).ok()) << "in either size of letters";
  EXPECT_FALSE(check_output_name("a.png", {}).ok()) << "a folder is written";
}

TEST(OutputName, OtherNamesPass) {
  for (const char* name : {"a.npy", "a.NPY", "a", "", "-", "/dev/null", "a.b", "v1.0", ".npy"})
    EXPECT_TRUE(check_output_name(name, {".npy"}).ok()) << name;
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "old.wav");
  EXPECT_TRUE(check_output_name(folder.path() / "old.wav", {}).ok()) << "a folder that is there";
  EXPECT_TRUE(check_output_name("folder", {}).ok());
}

}  // namespace
}  // namespace runnel
