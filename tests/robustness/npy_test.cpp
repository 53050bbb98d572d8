// Damaged .npy files.
#include "base/host/npy.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/mutate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

TEST(DamagedNpy, TruncationsAndMutations) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.npy";
  const std::array<std::int64_t, 3> shape = {2, 5, 3};
  std::vector<std::byte> data(30 * sizeof(float));
  ASSERT_TRUE(write_npy(path, DType::float32, shape, data).ok());
  const std::vector<std::byte> file = read_file(path);
  ASSERT_TRUE(read_npy(path).ok());
  const auto feed = [&](std::span<const std::byte> bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const auto array = read_npy(path);
    if (array.ok()) {
      std::size_t bytes_of_shape = size_of(array->dtype);
      for (const std::int64_t dim : array->shape) bytes_of_shape *= static_cast<std::size_t>(dim);
      EXPECT_EQ(array->data.size(), bytes_of_shape);
    }
    return array.status();
  };
  for (std::size_t size = 0; size < file.size(); ++size)
    ASSERT_TRUE(failed_with_a_sentence(feed(std::span(file).first(size)))) << size;
  Mutator mutator(file, 41);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) refused += failed_with_a_sentence(feed(mutator.next())) ? 1 : 0;
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 5000);
}

}  // namespace
}  // namespace runnel::test
