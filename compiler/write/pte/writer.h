// Writes compiled graphs as ExecuTorch programs (.pte): each segment is a call of the delegate EthosUBackend,
// whose payload is a Vela stream (npu/host/vela_stream.h), with portable kernels between.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

struct WrittenPte {
  std::vector<std::byte> bytes;
  std::size_t memory = 0;  // bytes planned for all tensors; scratch memories of segments are apart
};

// `graph`: compiled with borders_in_scratch (compiler/npu/options.h). Errors: unsupported naming an operator
// that ExecuTorch has no kernel of, or a segment with fast scratch memory or tensors of more than six axes,
// which such a payload cannot state.
Result<WrittenPte> write_pte(const Graph& graph);

}  // namespace runnel::compiler
