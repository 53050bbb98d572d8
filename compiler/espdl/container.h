// The outermost layer of an .espdl model: magic, mode, length, and the FlatBuffer after them.
//
//   EDL1: magic, u32 mode, u32 length, payload at offset 12
//   EDL2: magic, u32 mode, u32 length, u32 zero, payload at offset 16
//
// All integers are little endian; `length` counts the payload. Mode 0 is plain; mode 1 is encrypted with
// AES-128 in counter mode, the same first counter block in every file and no authentication: it hides, but
// does not protect against changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/host/key.h"
#include "base/status.h"

namespace runnel::espdl {
struct Model;
}

namespace runnel::compiler {

struct EspdlHeader {
  std::string_view magic;  // EDL1 or EDL2
  bool encrypted = false;
  std::size_t bytes = 0;   // of the header
  std::size_t length = 0;  // of the payload, all of which is there

  // Errors: invalid_data with offset, expected and found.
  static Result<EspdlHeader> read(std::span<const std::byte> file);
};

// The payload, copied to 16-byte aligned memory, decrypted, and checked by the FlatBuffers verifier: every
// offset in it can be followed.
class EspdlPayload {
 public:
  // `key`: for encrypted files; null: there is none. Not used for plain ones. Bytes after the payload are
  // ignored. Errors: invalid_data for a damaged file or a wrong key; invalid_argument for an encrypted file
  // without key; unsupported for packages of several models (see package.h), and for encrypted files in a
  // build without mbedTLS.
  static Result<EspdlPayload> open(std::span<const std::byte> file, const crypto::Key* key = nullptr);

  // Lives as long as the payload; moving the payload keeps it valid.
  [[nodiscard]] const espdl::Model& model() const;
  [[nodiscard]] std::size_t bytes() const { return blocks_.size() * sizeof(Block); }

 private:
  struct alignas(16) Block {
    std::byte bytes[16];
  };
  std::vector<Block> blocks_;
};

// An EDL2 file around a FlatBuffer; with `key` encrypted (mode 1). Errors: unsupported without mbedTLS for a
// key.
Result<std::vector<std::byte>> wrap_payload(std::span<const std::byte> payload,
                                            const crypto::Key* key = nullptr);

}  // namespace runnel::compiler
