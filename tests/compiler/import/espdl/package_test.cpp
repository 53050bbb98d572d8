// Packages of several models, and encrypted models.
#include "compiler/espdl/package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/host/crypto.h"
#include "compiler/import/espdl/importer.h"
#include "tests/compiler/import/espdl/package_builder.h"
#include "tests/compiler/import/espdl/tiny_model.h"

namespace runnel::compiler {
namespace {

using Bytes = std::vector<std::byte>;
using test::make_package;
using test::put_u32;
using test::seal_package;
using testing::HasSubstr;

#define NEEDS_CRYPTO() \
  if (!crypto::available()) GTEST_SKIP() << "SKIPPED: this build has no mbedTLS"

crypto::Key key_of(const char* digits) { return std::move(crypto::Key::from_hex(digits)).value(); }
const crypto::Key& good_key() {
  static const crypto::Key key = key_of("00112233445566778899aabbccddeeff");
  return key;
}

// The tiny convolution with a name of its own in its metadata, so that members can be told apart.
Bytes model_called(const std::string& name, const std::string& magic = "EDL2") {
  test::TinyModel model = test::tiny_conv();
  model.metadata = {{"called", name}};
  return model.file(magic);
}
std::string called(const Result<EspdlImport>& imported) {
  if (!imported.ok()) return "refused: " + std::string(imported.status().text());
  return imported->graph.metadata.at(0).second;
}

std::vector<std::string> kinds() {
  std::vector<std::string> all = {"PDL1", "PDL2"};
  if (crypto::available()) all.emplace_back("PDL3");
  return all;
}
Bytes two_models(const std::string& kind) {
  const std::string magic = kind == "PDL1" ? "EDL1" : "EDL2";
  return make_package(
      kind, {{"front.espdl", model_called("front", magic)}, {"back.espdl", model_called("back", magic)}});
}
std::string refusal(const Bytes& package) {
  const auto read = read_espdl_package(package);
  return read.ok() ? "accepted" : std::string(read.status().text());
}
std::size_t entries_of(const std::string& kind) { return kind == "PDL3" ? 60 : 8; }

TEST(EspdlPackage, MembersByNameAndByIndex) {
  for (const std::string& kind : kinds()) {
    const Bytes package = two_models(kind);
    EXPECT_EQ(called(import_espdl(package, {.member = "front.espdl"})), "front") << kind;
    EXPECT_EQ(called(import_espdl(package, {.member = "back.espdl"})), "back") << kind;
    EXPECT_EQ(called(import_espdl(package, {.member = "0"})), "front") << kind;
    EXPECT_EQ(called(import_espdl(package, {.member = "1"})), "back") << kind;
  }
}

TEST(EspdlPackage, SeveralModelsNeedAChoice) {
  for (const std::string& kind : kinds()) {
    const Bytes package = two_models(kind);
    for (const char* member : {"", "2", "-1", "0x0", "front", "back.espdl "}) {
      const auto imported = import_espdl(package, {.member = member});
      ASSERT_FALSE(imported.ok()) << kind << member;
      EXPECT_THAT(std::string(imported.status().text()), HasSubstr("0 \"front.espdl\", 1 \"back.espdl\""));
    }
  }
}

TEST(EspdlPackage, OneModelNeedsNone) {
  for (const std::string& kind : kinds()) {
    const std::string magic = kind == "PDL1" ? "EDL1" : "EDL2";
    EXPECT_EQ(called(import_espdl(make_package(kind, {{"only", model_called("only", magic)}}))), "only")
        << kind;
  }
}

TEST(EspdlPackage, ANameGoesInFrontOfAnIndex) {
  const Bytes package = make_package("PDL2", {{"1", model_called("first")},
                                              {"0", model_called("second")},
                                              {"twice", model_called("a")},
                                              {"twice", model_called("b")}});
  EXPECT_EQ(called(import_espdl(package, {.member = "1"})), "first");
  EXPECT_EQ(called(import_espdl(package, {.member = "0"})), "second");
  EXPECT_EQ(called(import_espdl(package, {.member = "3"})), "b");
  EXPECT_THAT(called(import_espdl(package, {.member = "twice"})),
              HasSubstr("several members are called \"twice\""));
}

TEST(EspdlPackage, AMemberOfAFileThatIsNoPackage) {
  const auto imported = import_espdl(test::tiny_conv().file(), {.member = "0"});
  EXPECT_EQ(imported.status().code(), Code::invalid_argument);
  EXPECT_THAT(called(imported), HasSubstr("not a package"));
}

TEST(EspdlPackage, WhatIsSaidAboutIt) {
  for (const std::string& kind : kinds()) {
    const auto package = read_espdl_package(two_models(kind));
    ASSERT_TRUE(package.ok()) << package.status().text();
    EXPECT_EQ(package->kind, kind);
    EXPECT_EQ(package->version, kind == "PDL3" ? "1.2.3" : "");
    ASSERT_EQ(package->members.size(), 2u);
    EXPECT_EQ(package->members[1].name, "back.espdl");
    EXPECT_EQ(package->members[1].bytes.size(),
              model_called("back", kind == "PDL1" ? "EDL1" : "EDL2").size());
    EXPECT_FALSE(package->members[1].encrypted);
  }
}

TEST(EspdlPackage, EveryTruncationIsRefused) {
  for (const std::string& kind : kinds()) {
    const Bytes package = two_models(kind);
    const auto whole = read_espdl_package(package);
    ASSERT_TRUE(whole.ok());
    // What pads the last member may be missing, where no size says that it is there.
    const std::size_t needed =
        kind == "PDL3" ? package.size() : whole->members[1].offset + whole->members[1].bytes.size();
    for (std::size_t size = 4; size < needed; ++size) {
      const auto read = read_espdl_package(std::span(package).first(size));
      ASSERT_FALSE(read.ok()) << kind << ' ' << size;
      ASSERT_EQ(read.status().code(), Code::invalid_data);
    }
  }
}

// Names are copied before it is known whether they lie in each other.
TEST(EspdlPackage, OneNameForThousandsOfMembersIsRefusedEarly) {
  const Bytes member = model_called("one");
  constexpr std::size_t kCount = 3000, kName = 4000, kEntry = 12;
  const std::size_t entries = 8, name = entries + kCount * kEntry, data = name + kName;
  Bytes package(data);
  std::memcpy(package.data(), "PDL2", 4);
  put_u32(package, 4, kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    put_u32(package, entries + i * kEntry, static_cast<std::uint32_t>(data));
    put_u32(package, entries + i * kEntry + 4, static_cast<std::uint32_t>(name));
    put_u32(package, entries + i * kEntry + 8, kName);
  }
  package.insert(package.end(), member.begin(), member.end());
  EXPECT_THAT(refusal(package), HasSubstr("have more bytes than the file"));
}

TEST(EspdlPackage, BytesBehindItAreIgnored) {
  for (const std::string& kind : kinds()) {
    Bytes package = two_models(kind);
    package.resize(package.size() + 100, std::byte{0xFF});
    EXPECT_EQ(refusal(package), "accepted") << kind;
  }
}

// One field after the other set to what it must not be; a PDL3 is sealed again, so that not only its checksum
// finds it.
TEST(EspdlPackage, EveryFieldIsChecked) {
  for (const std::string& kind : kinds()) {
    const Bytes good = two_models(kind);
    const std::size_t entries = entries_of(kind), behind = entries + 24;
    const auto with = [&](std::size_t offset, std::uint32_t value) {
      Bytes package = good;
      put_u32(package, offset, value);
      seal_package(package);
      return refusal(package);
    };
    EXPECT_THAT(with(0, 0x394C4450), HasSubstr("expected the magic")) << kind;  // PDL9
    EXPECT_THAT(with(entries - 4, 0), HasSubstr("0 members announced"));
    EXPECT_THAT(with(entries - 4, 0xFFFFFFFF), HasSubstr("4294967295 members announced"));
    EXPECT_THAT(with(entries - 4, 0x15555556), HasSubstr("members announced"));  // times 12 is 8, in 32 bits
    for (const std::uint32_t offset : {std::uint32_t{0}, static_cast<std::uint32_t>(behind - 1),
                                       static_cast<std::uint32_t>(good.size()), 0xFFFFFFF0u}) {
      EXPECT_THAT(with(entries, offset), HasSubstr("member 0 at " + std::to_string(offset))) << kind;
      EXPECT_THAT(with(entries + 4, offset), HasSubstr("the name of member 0 at " + std::to_string(offset)))
          << kind;
    }
    EXPECT_THAT(with(entries + 8, 0), HasSubstr("a name of 0 bytes"));
    EXPECT_THAT(with(entries + 8, 0xFFFFFFFF), HasSubstr("a name of 4294967295 bytes"));
    EXPECT_THAT(with(entries + 8, 60), HasSubstr("lies in"));  // over the next name
    const auto read = read_espdl_package(good);
    const std::size_t first = read->members[0].offset, second = read->members[1].offset;
    EXPECT_THAT(with(entries + 12, static_cast<std::uint32_t>(first)),
                HasSubstr("lies in"));  // two entries, one model
    EXPECT_THAT(with(entries + 4, static_cast<std::uint32_t>(second)),
                HasSubstr("lies in"));  // a name in a model
    EXPECT_THAT(with(entries, static_cast<std::uint32_t>(first + 4)),
                HasSubstr("expected the magic EDL1 or EDL2"));
    EXPECT_THAT(with(first, 0), HasSubstr("expected the magic EDL1 or EDL2"));
    EXPECT_THAT(with(second + 4, 7),
                HasSubstr("member 1 \"back.espdl\" at " + std::to_string(second) + ": offset 4: mode 7"));
    EXPECT_THAT(with(first + 8, 0xFFFFFFFF), HasSubstr("payload of 4294967295 bytes"));
    EXPECT_THAT(with(first + 8, static_cast<std::uint32_t>(second - first)),
                HasSubstr("lies in"));  // reaches into the next one
  }
}

TEST(EspdlPackage, ThirdKindIsSealed) {
  NEEDS_CRYPTO();
  const Bytes good = two_models("PDL3");
  // Any byte, the digest's included; only the magic and the version's and size's own checks come before the
  // checksum.
  for (std::size_t at = 4; at < good.size(); ++at) {
    Bytes package = good;
    package[at] ^= std::byte{0x40};
    ASSERT_NE(refusal(package), "accepted") << at;
  }
  Bytes package = good;
  package[good.size() - 1] ^= std::byte{1};
  EXPECT_THAT(refusal(package), HasSubstr("the SHA-256 does not fit"));
  for (const std::uint32_t size : {0u, 59u, static_cast<std::uint32_t>(good.size() + 1), 0xFFFFFFFFu}) {
    package = good;
    put_u32(package, 20, size);
    EXPECT_THAT(refusal(package),
                HasSubstr("offset 20: a package of " + std::to_string(size) + " bytes announced"));
  }
  package = good;
  std::memset(package.data() + 4, 'v', 16);
  seal_package(package);
  EXPECT_THAT(refusal(package), HasSubstr("more than 15 characters"));
  EXPECT_THAT(refusal(make_package("PDL3", {{"old", model_called("old", "EDL1")}})),
              HasSubstr("is EDL1, expected EDL2 in a PDL3"));
}

TEST(EspdlPackage, ThirdKindNeedsMbedTls) {
  if (crypto::available()) GTEST_SKIP() << "SKIPPED: this build has mbedTLS";
  const auto read = read_espdl_package(two_models("PDL3"));
  EXPECT_EQ(read.status().code(), Code::unsupported);
  EXPECT_THAT(std::string(read.status().text()), HasSubstr("checksum of a PDL3 package cannot be checked"));
}

TEST(EncryptedEspdl, WithItsKey) {
  NEEDS_CRYPTO();
  for (const char* magic : {"EDL1", "EDL2"}) {
    const Bytes file = test::encrypted_espdl(model_called("secret", magic), good_key());
    EXPECT_EQ(called(import_espdl(file, {.key = good_key()})), "secret") << magic;
  }
}

// The stream of AES-128 in counter mode from the block 0x10, 0x11, .. 0x1F, computed with another
// implementation (OpenSSL).
TEST(EncryptedEspdl, KeyStreamIsThatOfTheExporter) {
  NEEDS_CRYPTO();
  const Bytes plain = model_called("secret"), file = test::encrypted_espdl(plain, good_key());
  const unsigned char stream[] = {0xe3, 0xbc, 0x2c, 0x7d, 0x8e, 0xc9, 0xf4, 0x62, 0x13, 0x8b,
                                  0x84, 0x53, 0xa9, 0x40, 0x3f, 0x5d, 0xfd, 0x06, 0x91, 0xf5,
                                  0xc0, 0x3d, 0xcb, 0xee, 0xbc, 0x9b, 0x7c, 0xc9, 0xb0, 0x7e,
                                  0x54, 0x7c, 0x7b, 0x59, 0x69, 0x70, 0x7a, 0x8d, 0x90, 0xa7};
  for (std::size_t i = 0; i < sizeof stream; ++i)
    EXPECT_EQ(file[16 + i] ^ plain[16 + i], static_cast<std::byte>(stream[i])) << i;
}

TEST(EncryptedEspdl, WrongKeysAreSaidToBeWrong) {
  NEEDS_CRYPTO();
  const Bytes file = test::encrypted_espdl(model_called("secret"), good_key());
  for (int i = 0; i < 2000; ++i) {
    std::array<std::byte, crypto::Key::kBytes> bytes{};
    for (std::size_t k = 0; k < bytes.size(); ++k)
      bytes[k] = static_cast<std::byte>((i * 31 + static_cast<int>(k) * 7) ^ (i >> 3));
    const auto imported = import_espdl(file, {.key = crypto::Key(bytes)});
    ASSERT_FALSE(imported.ok());
    ASSERT_EQ(imported.status().code(), Code::invalid_data);
    ASSERT_THAT(called(imported), HasSubstr("wrong key"));
  }
}

TEST(EncryptedEspdl, WithoutKey) {
  const auto imported = import_espdl(test::encrypted_espdl(model_called("secret"), good_key()));
  EXPECT_EQ(imported.status().code(), Code::invalid_argument);
  EXPECT_THAT(called(imported), HasSubstr("encrypted (mode 1), and there is no key"));
}

TEST(EncryptedEspdl, AKeyIsNotUsedForPlainFiles) {
  EXPECT_EQ(called(import_espdl(model_called("plain"), {.key = good_key()})), "plain");
}

TEST(EncryptedEspdl, MembersOfAPackage) {
  NEEDS_CRYPTO();
  for (const char* kind : {"PDL2", "PDL3"}) {
    const Bytes package =
        make_package(kind, {{"open", model_called("open")},
                            {"locked", test::encrypted_espdl(model_called("locked"), good_key())}});
    const auto read = read_espdl_package(package);
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_FALSE(read->members[0].encrypted);
    EXPECT_TRUE(read->members[1].encrypted);
    EXPECT_EQ(called(import_espdl(package, {.member = "open"})), "open");
    EXPECT_EQ(called(import_espdl(package, {.member = "locked", .key = good_key()})), "locked");
    EXPECT_THAT(called(import_espdl(package, {.member = "locked"})), HasSubstr("there is no key"));
    EXPECT_THAT(called(import_espdl(package,
                                    {.member = "locked", .key = key_of("ff112233445566778899aabbccddeeff")})),
                HasSubstr("wrong key"));
  }
}

}  // namespace
}  // namespace runnel::compiler
