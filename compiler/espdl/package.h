// A package of several .espdl files in one file. All numbers are little-endian u32; offsets count from the
// start of the package.
//
//   PDL1: magic, count, count x {data offset, name offset, name length}, names without NUL, members
//   PDL2: the same, the members padded to multiples of 16
//   PDL3: magic, version as text of 16 bytes, size of the package, SHA-256 of the package with these 32 bytes
//   zero, count, ...
//
// An entry does not say how long its member is: the member's own header does.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::compiler {

struct EspdlMember {
  std::string name;
  std::size_t offset = 0;
  std::span<const std::byte>
      bytes;  // the member's header and data: a whole .espdl file, inside the package's bytes
  bool encrypted = false;
};

struct EspdlPackage {
  std::string kind;                  // PDL1, PDL2 or PDL3
  std::string version;               // of the package, as its maker wrote it; PDL3 only
  std::vector<EspdlMember> members;  // in the order of the file; at least one

  // The member of this name or, when there is none, of this index ("0" is the first). Empty: the only one.
  // Errors: not_found and invalid_argument, both of which list the members.
  [[nodiscard]] Result<const EspdlMember*> choose(std::string_view member) const;
};

bool is_espdl_package(std::span<const std::byte> file);

// Checks everything that lies before the models themselves: count, every entry, that names and members
// lie inside, after the entries and apart from each other, that members are of the kinds that the package
// may hold (PDL3: EDL2 only), and the size and the checksum of a PDL3. Bytes after the package are ignored.
// `file` must outlive the result.
// Errors: invalid_data with offset or member, expected and found; unsupported for a PDL3 in a build without
// mbedTLS.
Result<EspdlPackage> read_espdl_package(std::span<const std::byte> file);

// The model in `file` that `member` names: the file itself, or a member of the package that it is. Errors:
// those above, and invalid_argument for a member of a file that is no package.
Result<std::span<const std::byte>> espdl_member(std::span<const std::byte> file, std::string_view member);

}  // namespace runnel::compiler
