// SHA-256 against FIPS 180's examples, the library of hosts, and itself in pieces.
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/host/crypto.h"

namespace runnel {
namespace {

std::string hex(const Sha256Digest& digest) {
  std::string out;
  for (const std::uint8_t byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}
std::span<const std::byte> letters(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256(letters("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256(letters("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(letters(std::string(1000000, 'a')))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, EveryLengthInPiecesIsThatOfTheWhole) {
  std::vector<std::byte> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::span<const std::byte> all(bytes.data(), length);
    const Sha256Digest whole = sha256(all);
    for (const std::size_t piece : {1, 3, 63, 64, 65}) {
      Sha256 hash;
      for (std::size_t at = 0; at < length; at += piece)
        hash.add(all.subspan(at, std::min(piece, length - at)));
      ASSERT_EQ(hash.finish(), whole) << length << " in pieces of " << piece;
    }
    if (!crypto::available()) continue;
    const auto other = crypto::sha256({all});
    ASSERT_TRUE(other.ok());
    ASSERT_EQ(std::memcmp(other->data(), whole.data(), whole.size()), 0) << length;
  }
}

}  // namespace
}  // namespace runnel
