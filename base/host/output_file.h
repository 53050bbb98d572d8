// Files that are complete or absent: written as NAME.part, renamed at the end.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/status.h"

namespace runnel {

class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Removes the partial file unless it was committed.
  ~OutputFile();

  // Creates NAME.part; devices and pipes stay what they are and are written directly. Errors name the file
  // and the reason.
  static Result<OutputFile> create(const std::filesystem::path& path);
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text.data(), text.size()))); }
  // Overwrites at a position that was written before (headers that are known last).
  Status write_at(long position, std::span<const std::byte> bytes);
  // Flushes, closes and renames to the final name.
  Status commit();

  // What is being written: the partial file, or the device or pipe itself. For libraries that open files
  // themselves.
  [[nodiscard]] std::filesystem::path place() const { return partial(path_); }
  // The name of a partial file; of devices and pipes their own.
  [[nodiscard]] static std::filesystem::path partial(const std::filesystem::path& path);
  // That nothing but a file has this name, for those who write a file in several goes. Error: io_error.
  static Status check_is_file(const std::filesystem::path& path);

 private:
  Status failed(std::string_view what) const;
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

// All at once.
Status write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace runnel
