// Some samples of one run of a stream, as a sender keeps them until a server has stored them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/fleet/chunk.h"

namespace runnel::fleet {

struct Piece {
  Chunk chunk;
  std::vector<std::byte> data;  // chunk.samples frames

  [[nodiscard]] std::int64_t next() const noexcept { return chunk.first + chunk.samples; }
};

}  // namespace runnel::fleet
