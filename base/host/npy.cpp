#include "base/host/npy.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/host/output_file.h"

namespace runnel {
namespace {

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"<f4", DType::float32}, {"|i1", DType::int8},    {"|u1", DType::uint8},
    {"<i2", DType::int16},   {"<u2", DType::uint16},  {"<i4", DType::int32},
    {"<i8", DType::int64},   {"|b1", DType::boolean}, {"<f8", DType::float64}};

// The text of a key's value in the header's dictionary, up to `end`.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key,
                                         std::string_view end) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = header.substr(at + key.size());
  while (!rest.empty() && (rest[0] == ' ' || rest[0] == ':')) rest.remove_prefix(1);
  const std::size_t stop = rest.find(end);
  if (stop == std::string_view::npos) return std::nullopt;
  return rest.substr(0, stop);
}

bool parse_shape(std::string_view text, std::vector<std::int64_t>& shape) {
  std::int64_t value = -1;
  for (const char letter : text) {
    if (letter >= '0' && letter <= '9') {
      if (value > (std::int64_t{1} << 48)) return false;
      value = (value < 0 ? 0 : value) * 10 + (letter - '0');
    } else if (letter == ',') {
      if (value < 0) return false;
      shape.push_back(value);
      value = -1;
    } else if (letter != ' ') {
      return false;
    }
  }
  if (value >= 0) shape.push_back(value);
  return true;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view bytes, std::uint64_t total,
                                   const std::filesystem::path& path) {
  const auto bad = [&] { return Status(Code::invalid_data) << path.string() << ": "; };
  if (bytes.size() < 12 || bytes.substr(0, 6) != "\x93NUMPY") return bad() << "not a .npy file";
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at]));
  };
  const std::size_t version = byte(6), start = version == 1 ? 10 : 12;
  if (version < 1 || version > 3) return bad() << "format version " << version << ", expected 1 to 3";
  const std::size_t length =
      version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (!range_inside(start, length, total))
    return bad() << "a header of " << length << " bytes in a file of " << total;
  if (!range_inside(start, length, bytes.size()))
    return bad() << "a header of " << length << " bytes, expected at most " << bytes.size() - start;
  const std::string_view text = bytes.substr(start, length);
  const auto descr = value_of(text, "'descr'", ",");
  const auto order = value_of(text, "'fortran_order'", ",");
  const auto shape = value_of(text, "'shape'", ")");
  if (!descr || descr->size() < 2 || !order || !shape || shape->empty() || shape->front() != '(')
    return bad() << "a header that cannot be understood";
  const std::string_view name = descr->substr(1, descr->size() - 2);
  NpyHeader header;
  for (const auto& [known, type] : kTypes) {
    if (known == name) header.dtype = type;
  }
  if (header.dtype == DType::none)
    return bad() << "element type " << name << ", expected a little-endian float or integer";
  if (order->find("True") != std::string_view::npos) return bad() << "Fortran order, expected C order";
  if (!parse_shape(shape->substr(1), header.shape)) return bad() << "a shape that cannot be understood";
  auto expected = static_cast<std::int64_t>(size_of(header.dtype));
  for (const std::int64_t dim : header.shape) {
    if (!checked_mul(expected, dim, expected)) return bad() << "a shape that is too large";
  }
  header.data_offset = start + length;
  header.data_bytes = static_cast<std::uint64_t>(expected);
  if (header.data_bytes != total - header.data_offset)
    return bad() << total - header.data_offset << " bytes of data, expected " << expected;
  return header;
}

Result<NpyArray> read_npy(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status(Code::not_found) << path.string() << ": cannot be opened";
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  RUNNEL_ASSIGN(NpyHeader header, parse_npy_header(bytes, bytes.size(), path));
  NpyArray array{header.dtype, std::move(header.shape), {}};
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data() + header.data_offset);
  array.data.assign(first, first + header.data_bytes);
  return array;
}

std::string npy_header(DType dtype, std::span<const std::int64_t> shape, std::size_t reserve) {
  std::string_view descr;
  for (const auto& [text, type] : kTypes) {
    if (type == dtype) descr = text;
  }
  std::string dict = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t dim : shape) dict += std::to_string(dim) + ",";
  if (shape.size() > 1) dict.pop_back();
  dict += "), }";
  const std::size_t total = std::max((10 + dict.size() + 1 + 63) / 64 * 64, reserve);
  dict.append(total - 10 - dict.size() - 1, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

Status write_npy(const std::filesystem::path& path, DType dtype, std::span<const std::int64_t> shape,
                 std::span<const std::byte> data) {
  RUNNEL_ASSIGN(OutputFile file, OutputFile::create(path));
  RUNNEL_TRY(file.write(npy_header(dtype, shape)));
  RUNNEL_TRY(file.write(data));
  return file.commit();
}

}  // namespace runnel
