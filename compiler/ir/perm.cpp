#include "compiler/ir/perm.h"

#include <algorithm>
#include <numeric>

namespace runnel::compiler {

Perm identity_perm(std::size_t rank) {
  Perm perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

Perm channels_last_perm(std::size_t rank) {
  Perm perm = identity_perm(rank);
  if (rank > 2) std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return perm;
}

Perm inverse(const Perm& perm) {
  Perm out(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) out[static_cast<std::size_t>(perm[i])] = static_cast<int>(i);
  return out;
}

}  // namespace runnel::compiler
