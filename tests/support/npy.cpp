#include "tests/support/npy.h"

#include <cstring>

#include "tests/support/data.h"

namespace runnel::test {
namespace {

// The text after 'key': in the header's Python dictionary.
std::string value_of(const std::string& header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "':");
  return at == std::string::npos ? std::string() : header.substr(at + key.size() + 3);
}

}  // namespace

void Npy::copy_to(void* to, std::size_t size) const {
  if (size != bytes.size())
    ADD_FAILURE() << ".npy: " << bytes.size() << " bytes are not a whole number of the asked type";
  if (size > 0) std::memcpy(to, bytes.data(), std::min(size, bytes.size()));
}

Npy read_npy(const std::filesystem::path& path) {
  const std::vector<std::byte> file = read_file(path);
  Npy npy;
  const auto* text = reinterpret_cast<const char*>(file.data());
  if (file.size() < 12 || std::memcmp(text, "\x93NUMPY", 6) != 0) {
    ADD_FAILURE() << path << " is not a .npy file";
    return npy;
  }
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(text[i]));
  };
  const bool long_header = byte(6) >= 2;
  const std::size_t start = long_header ? 12 : 10;
  const std::size_t length = byte(8) | byte(9) << 8 | (long_header ? byte(10) << 16 | byte(11) << 24 : 0);
  if (start + length > file.size()) {
    ADD_FAILURE() << path << " ends in its header";
    return npy;
  }
  const std::string header(text + start, length);
  const std::string descr = value_of(header, "descr"), order = value_of(header, "fortran_order"),
                    shape = value_of(header, "shape");
  const std::size_t quote = descr.find('\'');
  npy.dtype = descr.substr(quote + 1, descr.find('\'', quote + 1) - quote - 1);
  if (order.find("False") > 2 || npy.dtype.starts_with('>'))
    ADD_FAILURE() << path << " is not C-ordered little-endian";
  std::size_t number = 0;
  bool digits = false;
  for (const char c : shape) {
    if (c >= '0' && c <= '9') {
      number = number * 10 + static_cast<std::size_t>(c - '0');
      digits = true;
    } else {
      if (digits) npy.shape.push_back(number);
      number = 0;
      digits = false;
      if (c == ')') break;
    }
  }
  npy.bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(start + length), file.end());
  return npy;
}

}  // namespace runnel::test
