// Programs of firmware/ in QEMU.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "tests/support/data.h"

namespace runnel::test {

inline constexpr const char* kM3 = "mps2-an385";  // no floating-point unit
inline constexpr const char* kM4F = "mps2-an386";
inline constexpr const char* kM7F = "mps2-an500";
inline constexpr const char* kM55 = "mps3-an547";

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}
inline void write_file(const std::filesystem::path& path, const std::vector<std::byte>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// An image's messages and exit status.
struct ImageOutput {
  std::string said;
  int exit_code = -1;
  // The number after a word; -1 when it is missing.
  [[nodiscard]] long number(const std::string& name) const {
    const std::size_t at = said.find(name + " ");
    return at == std::string::npos ? -1 : std::atol(said.c_str() + at + name.size() + 1);
  }
};
inline ImageOutput run_image(const std::string& board, const std::string& image,
                             const std::vector<std::string>& words) {
  std::string semihosting = "enable=on,target=native,arg=" + image;
  for (const std::string& word : words) semihosting += ",arg=" + word;
  const std::filesystem::path elf =
      std::filesystem::path(std::getenv("RUNNEL_FIRMWARE")) / board / "firmware" / (image + ".elf");
  const Output output = run_program({"qemu-system-arm", "-M", board, "-nographic", "-monitor", "none",
                                     "-serial", "none", "-icount", "shift=6,align=off,sleep=off",
                                     "-semihosting-config", semihosting, "-kernel", elf.string()});
  return {output.out + output.err, output.exit_code};
}

inline bool without_images() { return std::getenv("RUNNEL_FIRMWARE") == nullptr; }

}  // namespace runnel::test

#define RUNNEL_NEEDS_IMAGES()           \
  RUNNEL_NEEDS_DATA();                  \
  if (::runnel::test::without_images()) \
  GTEST_SKIP() << "SKIPPED WITHOUT IMAGES: run scripts/firmware_tests.sh"
