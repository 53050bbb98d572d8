// Packages of .espdl models and encrypted models, made in memory as their makers make them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/host/key.h"

namespace runnel::test {

// Members with their names, as PDL1, PDL2 or PDL3 (with `version`); PDL3 is sealed.
std::vector<std::byte> make_package(
    const std::string& kind, const std::vector<std::pair<std::string, std::vector<std::byte>>>& members,
    const std::string& version = "1.2.3");
// Brings the checksum of a PDL3 up to date with a change, so that what lies after it is reached; others stay
// as they are. False when the size in its header does not allow it.
bool seal_package(std::vector<std::byte>& package);

// An EDL1 or EDL2 file with its payload encrypted, mode 1.
std::vector<std::byte> encrypted_espdl(std::vector<std::byte> file, const crypto::Key& key);

void put_u32(std::vector<std::byte>& to, std::size_t offset, std::uint32_t value);

}  // namespace runnel::test
