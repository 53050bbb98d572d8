// Arrays in NumPy's .npy format, versions 1 to 3, little endian, C order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"

namespace runnel {

struct NpyArray {
  DType dtype = DType::none;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

// Errors: not a .npy file, unsupported element type or order, fewer bytes than the shape needs; all
// name the file.
Result<NpyArray> read_npy(const std::filesystem::path& path);

// The header before the data.
struct NpyHeader {
  DType dtype = DType::none;
  std::vector<std::int64_t> shape;
  std::uint64_t data_offset = 0, data_bytes = 0;  // in the file; as the shape says
};
// From the first bytes of a file of `total` bytes, named `path` in messages. Errors: those of read_npy, and a
// header longer than `bytes`.
Result<NpyHeader> parse_npy_header(std::string_view bytes, std::uint64_t total,
                                   const std::filesystem::path& path);

// The header of an array, padded to a multiple of 64 bytes. `reserve` > 0: at least that long, so that it can
// be overwritten by the header of a longer array.
std::string npy_header(DType dtype, std::span<const std::int64_t> shape, std::size_t reserve = 0);

// Writes the whole file or nothing.
Status write_npy(const std::filesystem::path& path, DType dtype, std::span<const std::int64_t> shape,
                 std::span<const std::byte> data);

}  // namespace runnel
