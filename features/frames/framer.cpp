#include "features/frames/framer.h"

namespace runnel::features {

template <class Grid>
Status FramerOf<Grid>::init(const FrameGrid& grid,
                            Memory& memory) noexcept requires std::is_same_v<Grid, AnyGrid> {
  constexpr std::int64_t kMax = std::int64_t{1} << 24;
  if (grid.length < 1 || grid.length > kMax || grid.shift < 1 || grid.shift > kMax) {
    return Status(Code::invalid_argument) << "frames of " << grid.length << " samples each " << grid.shift
                                          << " samples: expected 1 to " << kMax << " for both";
  }
  if (grid.size != 0 && (grid.size < grid.length || grid.size > kMax)) {
    return Status(Code::invalid_argument) << "frames of " << grid.length << " samples in " << grid.size
                                          << " points: expected at least as many points";
  }
  grid_.value = grid;
  return init(memory);
}

template class FramerOf<AnyGrid>;

}  // namespace runnel::features
