// Orders of axes: what importers keep instead of moving data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace runnel::compiler {

// Order in which a tensor stores the axes of a file's value: stored axis i is axis perm[i].
using Perm = std::vector<int>;
Perm identity_perm(std::size_t rank);
Perm channels_last_perm(std::size_t rank);  // [N, C, ...] stored as [N, ..., C]
// Where each axis of the file is stored.
Perm inverse(const Perm& perm);
// The dimensions in the file's order of a tensor that stores its axes in the order of `perm`.
template <class Dim>
std::vector<Dim> unpermuted(const std::vector<std::int32_t>& shape, const Perm& perm) {
  std::vector<Dim> dims(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) dims[static_cast<std::size_t>(perm[i])] = shape[i];
  return dims;
}

}  // namespace runnel::compiler
