// What says whom to trust: lists of keys, signatures beside files.
#include "services/trust/trust.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "embed/partition/image_header.h"
#include "services/trust/signature_file.h"
#include "tests/fuzz/readers/reader.h"

namespace runnel::fuzz {
namespace {

Status feed_key_list(std::span<const std::byte> bytes) {
  RUNNEL_ASSIGN(const trust::TrustedKeys keys, trust::parse_key_list(text_of(bytes)));
  for (const trust::TrustedKey& key : keys.keys) insist(!key.name.empty(), "a key without a name");
  return {};
}

constexpr std::array<std::uint8_t, crypto::SigningKey::kBytes> kSeed = {7};

const std::string& content() {
  static const std::string text = [] {
    std::string made(300, '\0');
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<char>(i * 7);
    return made;
  }();
  return text;
}

// The signature and what was signed, by a key that is known here alone.
std::string signed_content() {
  const crypto::SigningKey key{std::span(kSeed)};
  const auto header = trust::sign_content(bytes_of(content()), "digits", 3, key);
  if (!header.ok()) return {};
  return std::string(text_of(*header)) + content();
}

trust::Trust trust_of_key() {
  const crypto::SigningKey key{std::span(kSeed)};
  trust::TrustedKeys keys;
  trust::TrustedKey one;
  one.name = "maker";
  if (const auto open = crypto::public_key(key); open.ok()) one.key = *open;
  keys.keys.push_back(one);
  keys.lowest_of_model["digits"] = 2;
  return trust::Trust(keys);
}

// The first 256 bytes are a signature, the others what it should be of. Whatever is taken is what was signed.
Status feed_signature(std::span<const std::byte> bytes) {
  static const trust::Trust trust = trust_of_key();
  static const std::string whole = signed_content();
  const std::size_t head = std::min<std::size_t>(bytes.size(), embed::kImageHeaderBytes);
  static_cast<void>(trust.check_image(bytes, "digits.rnl"));
  if (head == embed::kImageHeaderBytes) {
    const auto header = embed::read_image_header(bytes.first<embed::kImageHeaderBytes>());
    if (header.ok()) {
      const embed::ImageHeaderBytes again = embed::write_image_header(*header);
      insist(std::ranges::equal(again, bytes.first(head)), "a header that is another one when it is written");
    }
  }
  RUNNEL_TRY(trust.check(bytes.subspan(head), bytes.first(head), "digits.rnl").status());
  insist(
      text_of(bytes.subspan(head)) == content() &&
          text_of(bytes.first(embed::kSignedBytes)) == std::string_view(whole).substr(0, embed::kSignedBytes),
      "something was taken that nobody signed");
  return {};
}

}  // namespace

std::vector<Reader> trust_readers() {
  const std::string key(64, 'a');
  std::vector<Reader> all = {
      {"key_list",
       feed_key_list,
       {"[key.maker]\npublic = \"" + key + "\"\nlowest_version = 3\n\n[key.lost]\npublic = \"" + key +
        "\"\nrevoked = \"2026-10-01, on a stolen laptop\"\n[model.digits]\nlowest_version = 7\n"}}};
  // Builds without libsodium know no signatures.
  if (std::string whole = signed_content(); !whole.empty())
    all.push_back({"signature", feed_signature, {std::move(whole)}});
  return all;
}

}  // namespace runnel::fuzz
