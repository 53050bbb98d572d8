// A great many damaged recordings and texts of graphs (many_mutations.h).
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <span>
#include <string>

#include "tests/robustness/feed.h"
#include "tests/robustness/many_mutations.h"
#include "tests/robustness/originals.h"
#include "tests/robustness/structure/recordings.h"

namespace runnel::test {
namespace {

// The file lives in memory and is opened by its name there.
class RecordingInMemory {
 public:
  RecordingInMemory()
      : file_(memfd_create("recording", 0)), path_("/proc/self/fd/" + std::to_string(file_)) {}
  ~RecordingInMemory() { close(file_); }
  RecordingInMemory(const RecordingInMemory&) = delete;
  RecordingInMemory& operator=(const RecordingInMemory&) = delete;

  Status feed(const Bytes& bytes) const {
    EXPECT_EQ(ftruncate(file_, 0), 0);
    EXPECT_EQ(pwrite(file_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    const Status lenient = feed_recording(path_, "truncated=accept nan=zero");
    EXPECT_TRUE(lenient.ok() || !lenient.text().empty());
    return feed_recording(path_);
  }

 private:
  int file_;
  std::string path_;
};

TEST(ManyRecordingMutations, EveryOneIsReadOrRefused) {
  const RecordingInMemory memory;
  const auto feed = [&](const Bytes& bytes) { return memory.feed(bytes); };
  std::vector<Subject> all;
  for (const Recording& recording : recordings())
    all.push_back({recording.name, recording.file, feed, change_chunks});
  mutate_many(all, 20000, 15);
}

TEST(ManyGraphMutations, EveryOneIsUsedOrRefused) {
  const auto feed = [](const Bytes& bytes) {
    return feed_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  std::vector<Subject> all;
  for (const std::string& text : graph_texts()) {
    const auto bytes = std::as_bytes(std::span(text));
    all.push_back(
        {"graph " + std::to_string(all.size()), {bytes.begin(), bytes.end()}, feed, change_graph_text});
  }
  mutate_many(all, 20000, 15);
}

}  // namespace
}  // namespace runnel::test
