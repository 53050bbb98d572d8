// From an .espdl model as plain data (source.h) to the bytes of a file: the inverse of read_model.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/host/key.h"
#include "base/status.h"
#include "compiler/espdl/source.h"

namespace runnel::compiler::espdl_source {

// An EDL2 file. Every value and every test tensor carries its shape and exponents, weights and other
// constants are padded with zeros to whole elements of 16 bytes, at 16-byte aligned places. `key`: encrypts
// what lies after the header (mode 1); null: plain.
// The result is deterministic. Errors: unsupported without mbedTLS for a key; invalid_argument for more than
// 2 GiB.
Result<std::vector<std::byte>> serialize(const Model& model, const crypto::Key* key = nullptr);

}  // namespace runnel::compiler::espdl_source
