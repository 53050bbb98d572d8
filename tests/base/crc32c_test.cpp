#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace runnel {
namespace {

std::vector<std::byte> bytes_of(const char* text) {
  std::vector<std::byte> bytes(std::strlen(text));
  std::memcpy(bytes.data(), text, bytes.size());
  return bytes;
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);       // the check value of the algorithm
  EXPECT_EQ(crc32c(std::vector<std::byte>(32)), 0x8A9136AAu);  // RFC 3720, B.4: 32 bytes of zeros
}

TEST(Crc32c, ContinuesFromASeed) {
  EXPECT_EQ(crc32c(bytes_of("6789"), crc32c(bytes_of("12345"))), crc32c(bytes_of("123456789")));
}

}  // namespace
}  // namespace runnel
