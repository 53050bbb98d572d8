// Damaged and foreign files are refused with a sentence, never followed.
#include "compiler/espdl/container.h"

#include <gtest/gtest.h>

#include <string>

#include "compiler/import/espdl/importer.h"
#include "tests/compiler/import/espdl/tiny_model.h"

namespace runnel::compiler {
namespace {

using Bytes = std::vector<std::byte>;

std::string refusal(const Bytes& bytes) {
  const auto result = import_espdl(bytes);
  return result.ok() ? "accepted" : std::string(result.status().text());
}

TEST(EspdlContainer, BothHeadersAreRead) {
  for (const char* magic : {"EDL1", "EDL2"}) {
    const auto imported = import_espdl(test::tiny_conv().file(magic));
    ASSERT_TRUE(imported.ok()) << magic << ": " << imported.status().text();
    EXPECT_EQ(imported->graph.nodes.size(), 1u);
  }
}

TEST(EspdlContainer, BytesBehindThePayloadAreIgnored) {
  Bytes bytes = test::tiny_conv().file();
  bytes.resize(bytes.size() + 7);
  EXPECT_EQ(refusal(bytes), "accepted");
}

TEST(EspdlContainer, EveryTruncationIsRefused) {
  for (const char* magic : {"EDL1", "EDL2"}) {
    const Bytes bytes = test::tiny_conv().file(magic);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto result = import_espdl({bytes.data(), size});
      ASSERT_FALSE(result.ok()) << size << " of " << bytes.size() << " bytes";
      EXPECT_EQ(result.status().code(), Code::invalid_data) << size;
    }
  }
}

TEST(EspdlContainer, TruncatedPayloadsWithAMatchingLengthAreRefused) {
  const Bytes bytes = test::tiny_conv().file();
  // The last bytes may be padding.
  for (std::size_t size = 16; size + 4 <= bytes.size(); ++size) {
    Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    for (std::size_t i = 0; i < 4; ++i) cut[8 + i] = static_cast<std::byte>((size - 16) >> (8 * i));
    EXPECT_FALSE(import_espdl(cut).ok()) << size;
  }
}

// Whatever a flipped byte does, the answer is a graph or a sentence.
TEST(EspdlContainer, FlippedBytesAreSurvived) {
  const Bytes bytes = test::tiny_conv().file();
  int refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int mask : {0x01, 0x80, 0xFF}) {
      Bytes damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(mask);
      const auto result = import_espdl(damaged);
      if (result.ok()) continue;
      ++refused;
      EXPECT_FALSE(result.status().text().empty()) << at;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(EspdlContainer, OtherKindsOfFilesAreNamed) {
  Bytes bytes = test::tiny_conv().file();
  Bytes encrypted = bytes;
  encrypted[4] = std::byte{1};
  EXPECT_NE(refusal(encrypted).find("encrypted"), std::string::npos) << refusal(encrypted);
  EXPECT_EQ(import_espdl(encrypted).status().code(), Code::invalid_argument);
  Bytes mode = bytes;
  mode[4] = std::byte{2};
  EXPECT_NE(refusal(mode).find("mode 2"), std::string::npos) << refusal(mode);
  Bytes package = bytes;
  package[0] = std::byte{'P'};
  const auto opened = EspdlPayload::open(package);
  EXPECT_EQ(opened.status().code(), Code::unsupported);
  EXPECT_NE(opened.status().text().find("a package of several models"), std::string::npos)
      << opened.status().text();
  Bytes foreign = bytes;
  foreign[3] = std::byte{'9'};
  EXPECT_NE(refusal(foreign).find("EDL1 or EDL2"), std::string::npos) << refusal(foreign);
}

}  // namespace
}  // namespace runnel::compiler
