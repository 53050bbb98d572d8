// The fuzzers' seeds and kept findings (tests/corpus/KIND): each is read or refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

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
  for (const auto& entry : fs::directory_iterator(fs::path(RUNNEL_SOURCE_FOLDER) / "tests/corpus" / kind))
    files.push_back(entry.path());
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

}  // namespace
}  // namespace runnel::test
