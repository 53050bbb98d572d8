// Files that are complete or absent, and paths that no file may replace.
#include "base/host/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/data.h"

namespace runnel {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(OutputFile, IsThereWhenItIsComplete) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "a";
  {
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file.ok()) << file.status().text();
    ASSERT_TRUE(file->write("half").ok());
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder.path())) << "nothing is left of what was not committed";
  ASSERT_TRUE(write_file(path, bytes_of("whole")).ok());
  EXPECT_EQ(content(path), "whole");
  EXPECT_FALSE(write_file(folder.path(), bytes_of("x")).ok()) << "a folder";
  EXPECT_FALSE(write_file(folder.path() / "none" / "a", bytes_of("x")).ok()) << "no folder";
}

TEST(OutputFile, PipesStayPipes) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content(path); });
  const Status written = write_file(path, bytes_of("through"));
  reader.join();
  EXPECT_TRUE(written.ok()) << written.text();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(path));
  EXPECT_FALSE(fs::exists(folder.path() / "pipe.part"));
}

TEST(OutputFile, FullDevicesAreAnErrorAndLinksStayLinks) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "SKIPPED: no /dev/full";
  const test::TemporaryFolder folder;
  const fs::path full = folder.path() / "full", link = folder.path() / "link", file = folder.path() / "file";
  fs::create_symlink("/dev/full", full);
  const Status written = write_file(full, bytes_of("x"));
  EXPECT_NE(written.text().find("No space left"), std::string_view::npos) << written.text();
  EXPECT_TRUE(fs::is_symlink(full));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  ASSERT_TRUE(write_file(file, bytes_of("before")).ok());
  fs::create_symlink(file, link);
  ASSERT_TRUE(write_file(link, bytes_of("behind")).ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(content(file), "behind");
}

// What a program does that has to end at once.
TEST(OutputFile, UnfinishedFilesAreRemovedAndFinishedOnesStay) {
  const test::TemporaryFolder folder;
  const fs::path whole = folder.path() / "whole", half = folder.path() / "half";
  ASSERT_TRUE(write_file(whole, bytes_of("abc")).ok());
  std::vector<OutputFile> open;
  // More than the table of names has room for.
  for (int i = 0; i < 100; ++i) {
    auto one = OutputFile::create(half.string() + std::to_string(i));
    ASSERT_TRUE(one.ok()) << one.status().text();
    open.push_back(std::move(one).value());
  }
  remove_unfinished_files();
  EXPECT_TRUE(fs::exists(whole));
  int left = 0;
  for (int i = 0; i < 100; ++i) left += fs::exists(half.string() + std::to_string(i) + ".part") ? 1 : 0;
  EXPECT_EQ(left, 100 - 64);
  // Those that a destructor has removed have given their places to others.
  open.clear();
  auto next = OutputFile::create(half);
  ASSERT_TRUE(next.ok()) << next.status().text();
  remove_unfinished_files();
  EXPECT_FALSE(fs::exists(half.string() + ".part"));
}

}  // namespace
}  // namespace runnel
