// The application's flash, with failures as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "embed/partition/runnel_slots.h"

namespace runnel::embed {

// Programmed and read at once, at most.
inline constexpr std::uint32_t kFlashPage = 256;

// Errors of all functions: io_error.
Status read_flash(const runnel_flash& flash, std::uint32_t at, std::span<std::byte> to) noexcept;
Status erase_block(const runnel_flash& flash, std::uint32_t at) noexcept;
// Programs and reads back. At most kFlashPage bytes; the last ones are filled with 0xFF up to a multiple of
// program_bytes.
Status program_flash(const runnel_flash& flash, std::uint32_t at, std::span<const std::byte> bytes) noexcept;

}  // namespace runnel::embed
