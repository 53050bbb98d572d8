#include "services/serve/capacity.h"

namespace runnel::serve {

void Capacity::update() noexcept {
  // With less sound than this a single interruption would look like the cost of streams.
  constexpr double kLeastSound = 0.2;
  constexpr double kKept = 0.8;
  if (sound_ >= kLeastSound) cost_ = busy_ / sound_;
  busy_ *= kKept;
  sound_ *= kKept;
}

}  // namespace runnel::serve
