// The first bytes of an ExecuTorch program: where its FlatBuffer ends and where its segments begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"

namespace runnel::compiler::pte_source {

struct Layout {
  std::size_t program_bytes = 0;  // of the FlatBuffer, from byte 0
  std::size_t segment_base = 0;   // 0: no segments
  std::size_t segment_bytes = 0;  // from the base on
};

// Errors: invalid_data naming the field, when a size or offset reaches beyond the file.
Result<Layout> read_layout(std::span<const std::byte> file);

}  // namespace runnel::compiler::pte_source
