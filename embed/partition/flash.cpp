#include "embed/partition/flash.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "embed/partition/profile.h"

namespace runnel::embed {

Status read_flash(const runnel_flash& flash, std::uint32_t at, std::span<std::byte> to) noexcept {
  return call_back(
      [&] { return flash.read(flash.user, at, to.data(), static_cast<std::uint32_t>(to.size())); },
      "reading flash", at);
}

Status erase_block(const runnel_flash& flash, std::uint32_t at) noexcept {
  return call_back([&] { return flash.erase(flash.user, at); }, "erasing flash", at);
}

Status program_flash(const runnel_flash& flash, std::uint32_t at, std::span<const std::byte> bytes) noexcept {
  std::array<std::byte, kFlashPage> page, back;
  const std::size_t unit = flash.program_bytes, size = (bytes.size() + unit - 1) / unit * unit;
  page.fill(std::byte{0xFF});
  std::copy(bytes.begin(), bytes.end(), page.begin());
  RUNNEL_TRY(
      call_back([&] { return flash.program(flash.user, at, page.data(), static_cast<std::uint32_t>(size)); },
                "programming flash", at));
  RUNNEL_TRY(read_flash(flash, at, std::span(back).first(size)));
  if (std::memcmp(page.data(), back.data(), size) != 0)
    return Status(Code::io_error) << "programming flash at " << at << ": other bytes are read back";
  return {};
}

}  // namespace runnel::embed
