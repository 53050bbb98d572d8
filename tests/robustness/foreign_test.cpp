// Damaged .onnx and .tflite files.
#include "tests/robustness/foreign.h"

#include <gtest/gtest.h>

#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/mutate.h"

namespace runnel::test {
namespace {

void endures(const ForeignFile& file, int mutations, std::uint64_t seed) {
  SCOPED_TRACE(file.name);
  const Status whole = feed_foreign(file.bytes);
  EXPECT_TRUE(whole.ok()) << whole.text();
  int refused = 0;
  for (std::size_t size = 0; size < file.bytes.size(); ++size)
    refused += failed_with_a_sentence(feed_foreign(std::span(file.bytes).first(size))) ? 1 : 0;
  EXPECT_GT(refused, static_cast<int>(file.bytes.size()) / 2);
  Mutator mutator(file.bytes, seed);
  refused = 0;
  for (int i = 0; i < mutations; ++i) refused += failed_with_a_sentence(feed_foreign(mutator.next())) ? 1 : 0;
  EXPECT_GT(refused, mutations / 50);
  EXPECT_LT(refused, mutations);
}

TEST(DamagedOnnx, IsReadOrRefused) {
  for (const ForeignFile& file : onnx_originals()) endures(file, 2000, 21);
}
TEST(DamagedTflite, IsReadOrRefused) {
  for (const ForeignFile& file : tflite_originals()) endures(file, 2000, 22);
}

}  // namespace
}  // namespace runnel::test
