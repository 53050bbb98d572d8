#include "base/host/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tests/support/data.h"

namespace runnel {
namespace {

TEST(Npy, RoundTripsShapesAndTypes) {
  const test::TemporaryFolder folder;
  const std::vector<std::vector<std::int64_t>> shapes = {{}, {3}, {2, 3}, {1, 0, 4}};
  for (const auto& shape : shapes) {
    for (const DType dtype : {DType::float32, DType::int8, DType::int16, DType::int64}) {
      std::size_t count = size_of(dtype);
      for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
      std::vector<std::byte> data(count);
      for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<std::byte>(i * 7);
      const auto path = folder.path() / "a.npy";
      ASSERT_TRUE(write_npy(path, dtype, shape, data).ok());
      const auto read = read_npy(path);
      ASSERT_TRUE(read.ok()) << read.status().text();
      EXPECT_EQ(read->dtype, dtype);
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->data, data);
    }
  }
}

TEST(Npy, RefusesEveryTruncation) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "a.npy";
  const std::vector<std::byte> data(24, std::byte{1});
  ASSERT_TRUE(write_npy(path, DType::float32, std::vector<std::int64_t>{2, 3}, data).ok());
  const auto bytes = test::read_file(path);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
    EXPECT_FALSE(read_npy(path).ok()) << size;
  }
}

TEST(Npy, HeadersCanBeOverwrittenByLongerOnes) {
  const std::string first = npy_header(DType::float32, std::vector<std::int64_t>{0, 40}, 128);
  const std::string last = npy_header(DType::float32, std::vector<std::int64_t>{123456789012, 40}, 128);
  EXPECT_EQ(first.size(), 128u);
  EXPECT_EQ(last.size(), 128u);
}

}  // namespace
}  // namespace runnel
