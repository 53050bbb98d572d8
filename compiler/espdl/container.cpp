#include "compiler/espdl/container.h"

#include <cstring>
#include <limits>
#include <string_view>

#include "base/checked.h"
#include "compiler/espdl/espdl_generated.h"

namespace runnel::compiler {
namespace {

std::uint32_t read_u32(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(bytes[offset + i]) << (8 * i);
  return value;
}

}  // namespace

Result<EspdlPayload> EspdlPayload::open(std::span<const std::byte> file) {
  if (file.size() < 4) return Status(Code::invalid_data) << "file of " << file.size() << " bytes, expected at least 12 for a header";
  const std::string_view magic(reinterpret_cast<const char*>(file.data()), 4);
  if (magic == "PDL1" || magic == "PDL2" || magic == "PDL3") {
    return Status(Code::unsupported) << "the file is a package of several models (" << magic
                                     << "), expected one model (EDL1 or EDL2): unpack it first";
  }
  if (magic != "EDL1" && magic != "EDL2") return Status(Code::invalid_data, "offset 0: not an .espdl file, expected the magic EDL1 or EDL2");
  const std::size_t header = magic == "EDL1" ? 12 : 16;
  if (file.size() < header) {
    return Status(Code::invalid_data) << "file of " << file.size() << " bytes, expected at least " << header << " for the header of " << magic;
  }
  const std::uint32_t mode = read_u32(file, 4);
  const std::uint32_t length = read_u32(file, 8);
  if (mode == 1) {
    return Status(Code::unsupported, "offset 4: the model is encrypted (mode 1), expected a plain one (mode 0): export it without encryption");
  }
  if (mode != 0) return Status(Code::invalid_data) << "offset 4: mode " << mode << ", expected 0 (plain)";
  if (length > file.size() - header) {
    return Status(Code::invalid_data) << "offset 8: payload of " << length << " bytes announced, the file has " << file.size() - header
                                      << " behind the header";
  }
  constexpr std::uint32_t kLargest = std::numeric_limits<std::int32_t>::max();   // FlatBuffers' own limit
  if (length < 8 || length > kLargest) {
    return Status(Code::invalid_data) << "offset 8: payload of " << length << " bytes, expected 8 to " << kLargest;
  }

  EspdlPayload payload;
  payload.blocks_.resize((length + sizeof(Block) - 1) / sizeof(Block));
  std::memcpy(payload.blocks_.data(), file.data() + header, length);
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(payload.blocks_.data()), length);
  if (!verifier.VerifyBuffer<espdl::Model>(nullptr)) {
    return Status(Code::invalid_data) << "offset " << header << ": the payload is not a well-formed FlatBuffer of an .espdl model";
  }
  return payload;
}

const espdl::Model& EspdlPayload::model() const { return *flatbuffers::GetRoot<espdl::Model>(blocks_.data()); }

}  // namespace runnel::compiler
