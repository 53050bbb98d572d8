#include "npu/payload.h"

namespace runnel::npu {
namespace {

constexpr std::uint32_t kCop1 = 0x31504f43, kCop2 = 0x32504f43;
enum Action : std::uint32_t { optimizer_config = 1, command_stream = 2, nothing = 5 };

// COP2: a head, and one entry with metadata and the command stream. Offsets in bytes.
Result<Payload> read_cop2(std::span<const std::byte> bytes) noexcept {
  constexpr std::uint32_t kMetadata = 0x4d554556;  // "VEUM"
  constexpr std::uint32_t kVersion = 1;            // 1.0: the minor version in the upper half
  constexpr std::size_t kHead = 16, kEntryHead = 8, kLeast = 32;
  enum Word : std::size_t {
    version = 1,
    length,
    length_high,
    type,
    entry_length,
    metadata_length,
    metadata,
    metadata_version,
    metadata_size,
    config,
    id
  };
  const Words words(bytes);
  const auto fail = [](std::size_t word) {
    return Status(Code::invalid_data) << "payload, word " << word << ": ";
  };
  if (bytes.size() < kHead + kEntryHead + 4 + kLeast)
    return Status(Code::invalid_data)
           << "payload: " << bytes.size() << " bytes, expected at least " << kHead + kEntryHead + 4 + kLeast;
  if (words[version] != kVersion)
    return Status(Code::unsupported) << "payload, word 1: COP2 of version " << (words[version] & 0xffff)
                                     << '.' << (words[version] >> 16) << ", expected 1.0";
  const std::uint64_t follows = std::uint64_t{words[length_high]} << 32 | words[length];
  if (follows != bytes.size() - kHead)
    return fail(length) << follows << " bytes follow, expected " << bytes.size() - kHead;
  if (words[type] != 1) return fail(type) << "an entry of type " << words[type] << ", expected 1";
  const std::size_t entry = words[entry_length], rest = bytes.size() - kHead - kEntryHead;
  if (entry != rest) return fail(entry_length) << "an entry of " << entry << " bytes, expected " << rest;
  const std::size_t about = words[metadata_length];
  if (about < kLeast || about > rest - 4 || about % 4 != 0)
    return fail(metadata_length) << "metadata of " << about << " bytes, expected a multiple of 4 from "
                                 << kLeast << " to " << rest - 4;
  if (words[metadata] != kMetadata) return fail(metadata) << words[metadata] << ", expected VEUM";
  if (words[metadata_version] != kVersion || words[metadata_size] != 20)
    return Status(Code::unsupported) << "payload, word " << std::size_t{metadata_version}
                                     << ": metadata of another version than 1.0";
  Payload payload;
  payload.config = words[config];
  payload.id = words[id];
  payload.first_command = (kHead + kEntryHead + 4 + about) / 4;
  payload.commands = words.part(payload.first_command, words.size() - payload.first_command);
  return payload;
}

}  // namespace

Result<Payload> read_payload(std::span<const std::byte> bytes) noexcept {
  const auto fail = [](std::size_t word) {
    return Status(Code::invalid_data) << "payload, word " << word << ": ";
  };
  if (bytes.size() < 4 || bytes.size() % 4 != 0)
    return Status(Code::invalid_data) << "payload: " << bytes.size() << " bytes, expected words of 4 bytes";
  const Words words(bytes);
  if (words[0] == kCop2) return read_cop2(bytes);
  if (words[0] != kCop1) return fail(0) << words[0] << ", expected COP1 or COP2";
  Payload payload;
  bool configured = false, commanded = false;
  for (std::size_t at = 1; at < words.size();) {
    const std::uint32_t tag = words[at];
    const std::size_t left = words.size() - at - 1;
    switch (tag & 0xff) {
      case optimizer_config:
        if (configured) return fail(at) << "a second configuration";
        if (left < 2) return fail(at) << left << " words left, expected 2 for the configuration";
        payload.config = words[at + 1];
        payload.id = words[at + 2];
        configured = true;
        at += 3;
        break;
      case command_stream: {
        if (commanded) return fail(at) << "a second command stream";
        const std::size_t length = std::size_t{tag >> 8 & 0xff} << 16 | tag >> 16;
        if (length > left)
          return fail(at) << "a command stream of " << length << " words, but " << left << " are left";
        payload.commands = words.part(at + 1, length);
        payload.first_command = at + 1;
        commanded = true;
        at += 1 + length;
        break;
      }
      case nothing:
        ++at;
        break;
      default:
        return fail(at) << "action " << (tag & 0xff)
                        << ", expected 1 (configuration), 2 (command stream) or 5 (nothing)";
    }
  }
  if (!configured || !commanded)
    return Status(Code::invalid_data) << "payload: no " << (configured ? "command stream" : "configuration");
  return payload;
}

}  // namespace runnel::npu
