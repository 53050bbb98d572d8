// A great many damaged .onnx and .tflite files (many_mutations.h).
#include <gtest/gtest.h>

#include <chrono>

#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/foreign.h"
#include "tests/robustness/many_mutations.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<Subject> subjects(const std::vector<ForeignFile>& small, const char* public_file) {
  const auto feed = [](const Bytes& bytes) { return feed_foreign(bytes); };
  std::vector<Subject> all;
  for (const ForeignFile& file : small) {
    const ChangeStructure change = file.is_onnx() ? change_protobuf : change_tflite;
    all.push_back({file.name, file.bytes, feed, change});
    if (file.name == "attention.onnx")
      all.push_back({"attention.onnx, windowed", file.bytes,
                     [](const Bytes& bytes) { return feed_attention(bytes); }, change});
  }
  if (!data_folder().empty() && !small.empty())
    all.push_back({public_file, read_file(data_folder() / public_file), feed,
                   small.front().is_onnx() ? change_protobuf : change_tflite});
  return all;
}

// Every truncation of the small files, and as many of the public one as time allows.
void cut_everywhere(const std::vector<Subject>& all) {
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t seconds = mutation_setting("RUNNEL_MUTATION_SECONDS", 420);
  for (const Subject& subject : all) {
    std::size_t refused = 0, size = 0;
    for (; size < subject.file.size(); ++size) {
      if (std::chrono::steady_clock::now() - start > std::chrono::seconds(seconds)) break;
      refused += failed_with_a_sentence(subject.feed(
                     Bytes(subject.file.begin(), subject.file.begin() + static_cast<std::ptrdiff_t>(size))))
                     ? 1
                     : 0;
    }
    std::printf("%s: %zu of %zu cuts, %zu refused\n", subject.name.c_str(), size, subject.file.size(),
                refused);
    EXPECT_GE(refused, size / 2) << subject.name;
  }
}

TEST(ManyOnnxMutations, EveryOneIsReadOrRefused) {
  const auto all = subjects(onnx_originals(), "peers/M2_u8.onnx");
  if (all.empty()) GTEST_SKIP() << "SKIPPED: a build without ONNX";
  mutate_many(all);
}
TEST(ManyOnnxMutations, EveryTruncationIsReadOrRefused) {
  cut_everywhere(subjects(onnx_originals(), "peers/M2_u8.onnx"));
}

TEST(ManyTfliteMutations, EveryOneIsReadOrRefused) {
  mutate_many(subjects(tflite_originals(), "models/tflm/micro_speech_quantized.tflite"));
}
TEST(ManyTfliteMutations, EveryTruncationIsReadOrRefused) {
  cut_everywhere(subjects(tflite_originals(), "models/tflm/micro_speech_quantized.tflite"));
}

}  // namespace
}  // namespace runnel::test
