// Which keys the queries of an attention see, and what depends on the distance between the two.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"
#include "compiler/passes/stream_options.h"

namespace runnel::compiler {

// The band that a mask lets through: chunks of `chunk` queries see the keys from `left` before them to
// `right` after them; a side is absent where the clip does not show its limit.
struct AttentionBand {
  std::optional<int> left, right;
  int chunk = 1;
};

// `hidden`: [frames][frames], query by key; true where the query does not see the key. Errors: unsupported
// for a mask that is no band, naming the query.
Result<AttentionBand> band_of(const std::vector<bool>& hidden, int frames);

// What both let through; either may be absent. Errors: unsupported when a side is open, or when both have
// chunks of different lengths.
Result<AttentionWindow> window_within(const std::optional<AttentionBand>& band,
                                      const std::optional<AttentionWindow>& asked);

// Rows of a table by distance: key - query from -(left + chunk - 1) to chunk - 1 + right.
int distances_of(const AttentionWindow& window);

// One entry of `value(query, key)` for each distance, taken from all pairs of a clip of `frames` frames that
// the window and `hidden` (may be empty) let through. Errors: unsupported where pairs of one distance differ
// by more than 1e-6 of the larger one, naming two of them; where no pair of the clip has a distance.
Result<std::vector<double>> by_distance(const AttentionWindow& window, const std::vector<bool>& hidden,
                                        int frames, const std::function<double(int, int)>& value);

}  // namespace runnel::compiler
