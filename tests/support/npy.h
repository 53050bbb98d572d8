// NumPy's .npy files, for oracles.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace runnel::test {

struct Npy {
  std::vector<std::size_t> shape;
  std::string dtype;             // as in the file: "<f4", "<u2", "|i1", ...
  std::vector<std::byte> bytes;  // C order

  // The values as T; a test failure and an empty result when the sizes do not fit.
  template <class T>
  [[nodiscard]] std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    copy_to(values.data(), values.size() * sizeof(T));
    return values;
  }

 private:
  void copy_to(void* to, std::size_t size) const;
};

// A test failure and an empty result when the file is missing or not little-endian C-ordered .npy.
Npy read_npy(const std::filesystem::path& path);

}  // namespace runnel::test
