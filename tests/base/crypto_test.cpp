// The ciphers against published vectors, and keys from their sources.
#include "base/host/crypto.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/data.h"

namespace runnel::crypto {
namespace {

using Bytes = std::vector<std::byte>;

Bytes from_hex(const std::string& digits) {
  Bytes bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}
template <std::size_t size>
std::array<std::byte, size> array_of(const std::string& digits) {
  std::array<std::byte, size> out{};
  const Bytes bytes = from_hex(digits);
  std::copy_n(bytes.begin(), size, out.begin());
  return out;
}
Key key_of(const std::string& digits) { return std::move(Key::from_hex(digits)).value(); }
std::span<const std::byte> letters(const char* text) {
  return std::as_bytes(std::span(text, std::strlen(text)));
}

#define NEEDS_CRYPTO() \
  if (!available()) GTEST_SKIP() << "SKIPPED: this build has no mbedTLS"

// FIPS 180-2, "abc".
TEST(Crypto, Sha256OfPieces) {
  NEEDS_CRYPTO();
  const auto expected = array_of<32>("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(*sha256({letters("abc")}), expected);
  EXPECT_EQ(*sha256({letters("a"), {}, letters("bc")}), expected);
  EXPECT_NE(*sha256({letters("abd")}), expected);
}

// NIST SP 800-38A, F.5.1 (the first counter block ends in FF, so that counting carries over).
TEST(Crypto, CounterModeBothWays) {
  NEEDS_CRYPTO();
  const Key key = key_of("2b7e151628aed2a6abf7158809cf4f3c");
  const Counter counter = array_of<16>("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  const Bytes plain = from_hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
  Bytes data = plain;
  ASSERT_TRUE(aes_ctr(key, counter, data).ok());
  EXPECT_EQ(data, from_hex("874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"));
  ASSERT_TRUE(aes_ctr(key, counter, data).ok());
  EXPECT_EQ(data, plain);
}

// Test case 4 of the GCM specification: associated data, and a length that is no multiple of 16.
TEST(Crypto, GcmOfThePublishedCase) {
  NEEDS_CRYPTO();
  const Key key = key_of("feffe9928665731c6d6a8f9467308308");
  const Nonce nonce = array_of<12>("cafebabefacedbaddecaf888");
  const Bytes associated = from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
  const Bytes plain = from_hex(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aed"
      "f5aa0de657ba637b39");
  Bytes data = plain;
  const auto tag = gcm_encrypt(key, nonce, associated, data);
  ASSERT_TRUE(tag.ok()) << tag.status().text();
  EXPECT_EQ(*tag, array_of<16>("5bc94fbc3221a5db94fae95ae7121a47"));
  EXPECT_EQ(data, from_hex("42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7"
                           "d8f6a5aac84aa051ba30b396a0aac973d58e091"));
  ASSERT_TRUE(gcm_decrypt(key, nonce, associated, data, *tag).ok());
  EXPECT_EQ(data, plain);
}

TEST(Crypto, UnauthenticDataIsWiped) {
  NEEDS_CRYPTO();
  const Key key = key_of("feffe9928665731c6d6a8f9467308308");
  const Nonce nonce{};
  Bytes data(40, std::byte{7});
  Tag tag = *gcm_encrypt(key, nonce, {}, data);
  tag[15] ^= std::byte{1};
  const Status status = gcm_decrypt(key, nonce, {}, data, tag);
  EXPECT_EQ(status.code(), Code::invalid_data);
  EXPECT_EQ(data, Bytes(40));
}

TEST(Crypto, NoncesAreFresh) {
  NEEDS_CRYPTO();
  const auto first = fresh_nonce(), second = fresh_nonce();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_NE(*first, Nonce{});
}

TEST(Crypto, WithoutMbedTlsEverythingIsRefused) {
  if (available()) GTEST_SKIP() << "SKIPPED: this build has mbedTLS";
  const Key key = key_of("feffe9928665731c6d6a8f9467308308");
  Bytes data(4);
  EXPECT_EQ(sha256({}).status().code(), Code::unsupported);
  EXPECT_EQ(aes_ctr(key, {}, data).code(), Code::unsupported);
  EXPECT_EQ(fresh_nonce().status().code(), Code::unsupported);
  EXPECT_EQ(gcm_encrypt(key, {}, {}, data).status().code(), Code::unsupported);
  EXPECT_EQ(gcm_decrypt(key, {}, {}, data, {}).code(), Code::unsupported);
}

class KeyFile : public testing::Test {
 protected:
  Result<Key> read(const std::string& contents) const {
    std::ofstream(path_, std::ios::binary) << contents;
    return Key::from_file(path_);
  }
  runnel::test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "key";
};

TEST_F(KeyFile, RawBytesOrDigits) {
  const Bytes expected = from_hex("000102030405060708090a0b0c0d0eff");
  const auto same = [&](const Result<Key>& key) {
    return key.ok() && std::equal(expected.begin(), expected.end(), key->bytes().begin());
  };
  EXPECT_TRUE(same(read(std::string(reinterpret_cast<const char*>(expected.data()), 16))));
  EXPECT_TRUE(same(read("000102030405060708090a0b0c0d0eff")));
  EXPECT_TRUE(same(read("000102030405060708090A0B0C0D0EFF\r\n")));
}

// Messages name the file and never its contents.
TEST_F(KeyFile, AnythingElseIsRefused) {
  for (const char* contents :
       {"", "deadbeef", "000102030405060708090a0b0c0d0e", "000102030405060708090a0b0c0d0egg",
        "000102030405060708090a0b0c0d0eff00",
        "a key in words that is far too long to be one: 000102030405060708090a0b0c0d0eff"}) {
    const auto key = read(contents);
    ASSERT_FALSE(key.ok()) << contents;
    EXPECT_EQ(key.status().code(), Code::invalid_data);
    EXPECT_NE(key.status().text().find(path_.string()), std::string::npos);
    if (*contents != '\0') {
      EXPECT_EQ(key.status().text().find(contents), std::string::npos) << contents;
    }
  }
  EXPECT_EQ(Key::from_file(folder_.path() / "none").status().code(), Code::not_found);
}

TEST(KeyFromTheEnvironment, DigitsOrNothing) {
  ::unsetenv("RUNNEL_TEST_KEY");
  EXPECT_FALSE(Key::from_environment("RUNNEL_TEST_KEY")->has_value());
  ::setenv("RUNNEL_TEST_KEY", "000102030405060708090a0b0c0d0eff", 1);
  ASSERT_TRUE(Key::from_environment("RUNNEL_TEST_KEY")->has_value());
  EXPECT_EQ((*Key::from_environment("RUNNEL_TEST_KEY"))->bytes()[15], std::byte{0xFF});
  ::setenv("RUNNEL_TEST_KEY", "0001", 1);
  const auto bad = Key::from_environment("RUNNEL_TEST_KEY");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().text().find("RUNNEL_TEST_KEY"), std::string::npos);
  ::unsetenv("RUNNEL_TEST_KEY");
}

}  // namespace
}  // namespace runnel::crypto
