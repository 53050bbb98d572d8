// The fuzzers' seeds and kept findings (tests/corpus/KIND): each is read or refused. RUNNEL_CORPUS in the
// environment names a folder with more of them, in KIND, as scripts/fuzz.sh grows it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "compiler/import/onnx/importer.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;

void replay(const char* kind, std::size_t least,
            const std::function<Status(const fs::path&, const std::vector<std::byte>&)>& feed) {
  std::vector<fs::path> files;
  const auto add = [&](const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  };
  add(fs::path(RUNNEL_SOURCE_FOLDER) / "tests/corpus" / kind);
  const char* const more = std::getenv("RUNNEL_CORPUS");
  if (more != nullptr && fs::is_directory(fs::path(more) / kind)) add(fs::path(more) / kind);
  std::sort(files.begin(), files.end());
  EXPECT_GE(files.size(), least);
  int read = 0, refused = 0;
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    ++(failed_with_a_sentence(feed(file, read_file(file))) ? refused : read);
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

TEST(Corpus, Models) {
  replay("model", 4, [](const fs::path&, const auto& bytes) { return feed_model(bytes, false); });
}
TEST(Corpus, Espdl) {
  replay("espdl", 4, [](const fs::path&, const auto& bytes) { return feed_espdl(bytes); });
}
TEST(Corpus, Tflite) {
  replay("tflite", 4, [](const fs::path&, const auto& bytes) { return feed_foreign(bytes); });
}
TEST(Corpus, Pte) {
  replay("pte", 4, [](const fs::path&, const auto& bytes) { return feed_foreign(bytes); });
}
TEST(Corpus, Onnx) {
  if (!compiler::have_onnx()) GTEST_SKIP() << "SKIPPED: this build reads no .onnx files";
  replay("onnx", 4, [](const fs::path&, const auto& bytes) { return feed_foreign(bytes); });
}
TEST(Corpus, Recordings) {
  replay("recording", 4, [](const fs::path& path, const auto&) {
    static_cast<void>(failed_with_a_sentence(feed_recording(path, "truncated=accept nan=zero")));
    return feed_recording(path);
  });
}
TEST(Corpus, Graphs) {
  replay("graph", 4, [](const fs::path&, const auto& bytes) {
    return feed_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
}

// A program that is not built is not run: scripts take their list from the build.
TEST(Corpus, EveryFuzzerIsBuilt) {
  const fs::path folder = fs::path(RUNNEL_SOURCE_FOLDER) / "tests/fuzz";
  const std::vector<std::byte> bytes = read_file(folder / "CMakeLists.txt");
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  int fuzzers = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::size_t end = name.find("_fuzzer.cpp");
    // The program of all readers/, which have lists of their own.
    if (end == std::string::npos || name == "reader_fuzzer.cpp") continue;
    ++fuzzers;
    // As a word of a list, or a target of its own.
    bool named = text.find(name.substr(0, end) + "_fuzzer") != std::string::npos;
    for (const char* const after : {" ", ")"})
      named = named || text.find(" " + name.substr(0, end) + after) != std::string::npos;
    EXPECT_TRUE(named) << name << " is in no list of tests/fuzz/CMakeLists.txt";
  }
  EXPECT_GE(fuzzers, 14);
}

}  // namespace
}  // namespace runnel::test
