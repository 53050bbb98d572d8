// Encrypted model files: only whole, unchanged files open, with their key.
#include "inference/host/encrypted_model.h"

#include <gtest/gtest.h>

#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using Bytes = std::vector<std::byte>;

#define NEEDS_CRYPTO() \
  if (!crypto::available()) GTEST_SKIP() << "SKIPPED: this build has no mbedTLS"

const crypto::Key& good_key() {
  static const crypto::Key key = std::move(crypto::Key::from_hex("00112233445566778899aabbccddeeff")).value();
  return key;
}

Bytes plain_model() {
  test::GraphBuilder builder;
  builder.output(builder.relu(builder.input({1, 4, 2})));
  auto written = compiler::write_model(builder.graph());
  EXPECT_TRUE(written.ok()) << written.status().text();
  return written.ok() ? written->bytes : Bytes();
}
std::string refusal(std::span<const std::byte> file, const crypto::Key* key = &good_key()) {
  const auto model = OwnedModel::from_bytes(file, {}, key);
  return model.ok() ? "accepted" : std::string(model.status().text());
}

TEST(EncryptedModel, RoundTrip) {
  NEEDS_CRYPTO();
  const Bytes plain = plain_model();
  const auto file = encrypt_model(plain, good_key());
  ASSERT_TRUE(file.ok()) << file.status().text();
  EXPECT_EQ(file->size(), plain.size() + kEncryptedHeaderBytes);
  EXPECT_TRUE(is_encrypted_model(*file));
  EXPECT_FALSE(is_encrypted_model(plain));
  // Nothing of the model is left in it.
  EXPECT_EQ(std::search(file->begin(), file->end(), plain.begin(), plain.begin() + 16), file->end());
  const auto model = OwnedModel::from_bytes(*file, {}, &good_key());
  ASSERT_TRUE(model.ok()) << model.status().text();
  const auto opened = (*model)->model().bytes();
  EXPECT_EQ(Bytes(opened.begin(), opened.end()), plain);
}

TEST(EncryptedModel, NoTwoFilesAreAlike) {
  NEEDS_CRYPTO();
  const Bytes plain = plain_model();
  const Bytes first = *encrypt_model(plain, good_key()), second = *encrypt_model(plain, good_key());
  EXPECT_NE(Bytes(first.begin() + 16, first.begin() + 28), Bytes(second.begin() + 16, second.begin() + 28));
  EXPECT_NE(Bytes(first.begin() + 48, first.end()), Bytes(second.begin() + 48, second.end()));
}

TEST(EncryptedModel, EveryFlippedByteIsNoticed) {
  NEEDS_CRYPTO();
  const Bytes file = *encrypt_model(plain_model(), good_key());
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int mask : {0x01, 0x80, 0xFF}) {
      Bytes damaged = file;
      damaged[at] ^= static_cast<std::byte>(mask);
      ASSERT_NE(refusal(damaged), "accepted") << at;
      if (at < 4) continue;  // another magic is another kind of file
      Bytes plain(file.size() - kEncryptedHeaderBytes, std::byte{0x55});
      const Bytes untouched = plain, zero(plain.size());
      ASSERT_FALSE(decrypt_model(damaged, &good_key(), plain).ok()) << at;
      ASSERT_TRUE(plain == untouched || plain == zero)
          << at << ": something that was not authentic was given out";
    }
  }
}

TEST(EncryptedModel, EveryTruncationAndExtensionIsNoticed) {
  NEEDS_CRYPTO();
  Bytes file = *encrypt_model(plain_model(), good_key());
  for (std::size_t size = 0; size < file.size(); ++size)
    ASSERT_NE(refusal(std::span(file).first(size)), "accepted") << size;
  file.push_back(std::byte{0});
  EXPECT_NE(refusal(file).find("bytes announced"), std::string::npos) << refusal(file);
}

TEST(EncryptedModel, WrongKeyNoKey) {
  NEEDS_CRYPTO();
  const Bytes file = *encrypt_model(plain_model(), good_key());
  const crypto::Key other = std::move(crypto::Key::from_hex("00112233445566778899aabbccddeefe")).value();
  EXPECT_NE(refusal(file, &other).find("another key, or a changed file"), std::string::npos)
      << refusal(file, &other);
  EXPECT_NE(refusal(file, nullptr).find("there is no key"), std::string::npos) << refusal(file, nullptr);
}

TEST(EncryptedModel, AnotherVersionIsRefused) {
  NEEDS_CRYPTO();
  Bytes file = *encrypt_model(plain_model(), good_key());
  file[4] = std::byte{2};
  EXPECT_NE(refusal(file).find("version 2, this reader knows 1"), std::string::npos) << refusal(file);
}

TEST(EncryptedModel, RefusedByWhatOnlyReadsPlainOnes) {
  NEEDS_CRYPTO();
  const Bytes file = *encrypt_model(plain_model(), good_key());
  HeapMemory memory;
  auto* copy = static_cast<std::byte*>(memory.allocate(file.size(), 64));
  std::copy(file.begin(), file.end(), copy);
  const auto model = Model::open({copy, file.size()});
  EXPECT_EQ(model.status().code(), Code::unsupported);
  EXPECT_NE(model.status().text().find("an encrypted model file (RNLE)"), std::string::npos)
      << model.status().text();
}

TEST(EncryptedModel, WithoutMbedTlsItIsRefused) {
  if (crypto::available()) GTEST_SKIP() << "SKIPPED: this build has mbedTLS";
  EXPECT_EQ(encrypt_model(plain_model(), good_key()).status().code(), Code::unsupported);
}

}  // namespace
}  // namespace runnel
