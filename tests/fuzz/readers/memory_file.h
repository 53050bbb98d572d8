// A file in memory, for what reads files by their name: nothing is written to a disk, however many inputs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace runnel::fuzz {

class MemoryFile {
 public:
  // `ending`: of its name (".csv"), which some readers look at.
  explicit MemoryFile(std::string_view ending = {});
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Its content from now on; returns its path.
  const std::string& with(std::span<const std::byte> bytes);
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // What is in it now.
  [[nodiscard]] std::string content() const;

 private:
  [[nodiscard]] std::string folder() const;

  int file_ = -1;
  std::string path_;
};

}  // namespace runnel::fuzz
