#include "tests/compiler/import/espdl/package_builder.h"

#include <algorithm>
#include <cstring>

#include "base/host/crypto.h"

namespace runnel::test {
namespace {

constexpr std::size_t kSizeAt = 20, kDigestAt = 24, kCountAt = 56;  // PDL3

void put_text(std::vector<std::byte>& to, std::size_t offset, const std::string& text) {
  std::memcpy(to.data() + offset, text.data(), text.size());
}

}  // namespace

void put_u32(std::vector<std::byte>& to, std::size_t offset, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) to.at(offset + i) = static_cast<std::byte>(value >> (8 * i));
}

std::vector<std::byte> make_package(
    const std::string& kind, const std::vector<std::pair<std::string, std::vector<std::byte>>>& members,
    const std::string& version) {
  const bool aligned = kind != "PDL1", third = kind == "PDL3";
  const auto rounded = [&](std::size_t size) { return aligned ? (size + 15) / 16 * 16 : size; };
  const std::size_t count_at = third ? kCountAt : 4;
  std::size_t name_at = count_at + 4 + 12 * members.size(), names = 0, size = 0;
  for (const auto& member : members) {
    names += member.first.size();
    size += rounded(member.second.size());
  }
  std::size_t data_at = rounded(name_at + names);
  std::vector<std::byte> package(data_at + size);
  put_text(package, 0, kind);
  put_u32(package, count_at, static_cast<std::uint32_t>(members.size()));
  std::size_t entry = count_at + 4;
  for (const auto& [name, file] : members) {
    put_u32(package, entry, static_cast<std::uint32_t>(data_at));
    put_u32(package, entry + 4, static_cast<std::uint32_t>(name_at));
    put_u32(package, entry + 8, static_cast<std::uint32_t>(name.size()));
    put_text(package, name_at, name);
    std::copy(file.begin(), file.end(), package.begin() + static_cast<std::ptrdiff_t>(data_at));
    entry += 12;
    name_at += name.size();
    data_at += rounded(file.size());
  }
  if (third) {
    put_text(package, 4, version);
    put_u32(package, kSizeAt, static_cast<std::uint32_t>(package.size()));
    seal_package(package);
  }
  return package;
}

bool seal_package(std::vector<std::byte>& package) {
  if (package.size() < kCountAt + 4 || std::memcmp(package.data(), "PDL3", 4) != 0) return false;
  std::uint32_t size = 0;
  std::memcpy(&size, package.data() + kSizeAt, 4);
  if (size > package.size() || size < kCountAt) return false;
  std::fill_n(package.begin() + kDigestAt, 32, std::byte{0});
  const auto digest = crypto::sha256({std::span(package).first(size)});
  if (!digest.ok()) return false;
  std::copy(digest->begin(), digest->end(), package.begin() + kDigestAt);
  return true;
}

std::vector<std::byte> encrypted_espdl(std::vector<std::byte> file, const crypto::Key& key) {
  crypto::Counter counter{};
  for (std::size_t i = 0; i < counter.size(); ++i) counter[i] = static_cast<std::byte>(0x10 + i);
  const std::size_t header = std::memcmp(file.data(), "EDL1", 4) == 0 ? 12 : 16;
  static_cast<void>(crypto::aes_ctr(key, counter, std::span(file).subspan(header)));
  file[4] = std::byte{1};
  return file;
}

}  // namespace runnel::test
