// The outermost layer of an .espdl file: magic, mode, length, and the FlatBuffer behind them.
//
//   EDL1: magic, u32 mode, u32 length, payload at offset 12
//   EDL2: magic, u32 mode, u32 length, u32 zero, payload at offset 16
//
// All integers are little endian; `length` counts the payload. Mode 0 is plain, mode 1 encrypted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace runnel::espdl {
struct Model;
}

namespace runnel::compiler {

// The payload, copied to 16-byte aligned memory and checked by the FlatBuffers verifier: every offset in it can be followed.
class EspdlPayload {
 public:
  // Errors: invalid_data for a damaged file, unsupported for encrypted files and for packages of several models.
  static Result<EspdlPayload> open(std::span<const std::byte> file);

  // Lives as long as the payload; moving the payload keeps it valid.
  [[nodiscard]] const espdl::Model& model() const;

 private:
  struct alignas(16) Block {
    std::byte bytes[16];
  };
  std::vector<Block> blocks_;
};

}  // namespace runnel::compiler
