#include "base/host/sealed_state.h"

#include <algorithm>

#include "base/crc32c.h"

namespace runnel {
namespace {

struct Header {
  char magic[8] = {};
  std::uint32_t identity = 0;
  std::uint64_t bytes = 0;  // of the state
  std::uint32_t crc = 0;    // of all bytes but these
  static constexpr std::size_t kUnderChecksum = kSealBytes - 4;

  void state(StateArchive& archive) noexcept {
    archive.values(std::span<char>(magic));
    archive.value(identity);
    archive.value(bytes);
    archive.value(crc);
  }
};

std::uint32_t checksum(std::span<const std::byte> all) noexcept {
  return crc32c(all.subspan(kSealBytes), crc32c(all.first(Header::kUnderChecksum)));
}

}  // namespace

void seal(std::span<std::byte> all, const Seal& with) noexcept {
  Header header;
  std::copy_n(with.magic.begin(), std::min(with.magic.size(), sizeof header.magic), header.magic);
  header.identity = with.identity;
  header.bytes = all.size() - kSealBytes;
  const auto write = [&] {
    StateArchive archive = StateArchive::saving(all.first(kSealBytes));
    header.state(archive);
  };
  write();
  header.crc = checksum(all);
  write();
}

Status check_seal(std::span<const std::byte> all, const Seal& expected) noexcept {
  if (all.size() < kSealBytes)
    return Status(Code::invalid_data) << all.size() << " saved bytes, expected at least " << kSealBytes;
  Header header;
  StateArchive archive = StateArchive::restoring(all.first(kSealBytes));
  header.state(archive);
  if (std::string_view(header.magic, sizeof header.magic) != expected.magic)
    return Status(Code::invalid_data, "bytes that this version did not save");
  if (header.identity != expected.identity)
    return Status(Code::mismatch, "saved with another program or another version of the library");
  if (const std::size_t found = all.size() - kSealBytes; header.bytes != found)
    return Status(Code::mismatch) << "saved bytes of another size: " << found << " after the first "
                                  << kSealBytes << ", expected " << header.bytes;
  if (header.crc != checksum(all))
    return Status(Code::invalid_data, "saved bytes are damaged: their checksum differs");
  return {};
}

}  // namespace runnel
