#include "npu/payload.h"

namespace runnel::npu {
namespace {

constexpr std::uint32_t kCop1 = 0x31504f43, kCop2 = 0x32504f43;
enum Action : std::uint32_t { optimizer_config = 1, command_stream = 2, nothing = 5 };

}  // namespace

Result<Payload> read_payload(std::span<const std::byte> bytes) noexcept {
  const auto fail = [](std::size_t word) {
    return Status(Code::invalid_data) << "payload, word " << word << ": ";
  };
  if (bytes.size() < 4 || bytes.size() % 4 != 0)
    return Status(Code::invalid_data) << "payload: " << bytes.size() << " bytes, expected words of 4 bytes";
  const Words words(bytes);
  if (words[0] == kCop2)
    return Status(Code::unsupported) << "payload: begins with COP2; only COP1 is known here";
  if (words[0] != kCop1) return fail(0) << words[0] << ", expected COP1";
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
