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

  // Creates NAME.part; devices and pipes are written directly. Errors name the file and the reason.
  static Result<OutputFile> create(const std::filesystem::path& path);
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text.data(), text.size()))); }
  // Overwrites bytes already written (for headers that are known last).
  Status write_at(long position, std::span<const std::byte> bytes);
  // Flushes, closes and renames to the final name.
  Status commit();

  // The path being written: the partial file, or the device or pipe itself. For libraries that
  // open files themselves.
  [[nodiscard]] const std::filesystem::path& place() const { return place_; }
  // The name of the partial file; for devices and pipes, their own name.
  [[nodiscard]] static std::filesystem::path partial(const std::filesystem::path& path);
  // Checks that this name is free or a regular file, for callers that write a file in several
  // passes. Error: io_error.
  static Status check_is_file(const std::filesystem::path& path);

 private:
  Status failed(std::string_view what) const;
  Status finish();
  // A partial file; a device stays.
  void remove() const noexcept;
  [[nodiscard]] bool is_partial() const noexcept { return place_ != path_; }

  std::filesystem::path path_, place_;
  std::FILE* file_ = nullptr;
  int unfinished_ = -1;  // place of the partial file in the table of remove_unfinished_files()
};

// Removes the partial files of this process, for signal handlers and the end of a process in which nothing
// else is sure to work: allocates nothing, takes no lock.
void remove_unfinished_files() noexcept;

// Writes a whole file.
Status write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace runnel
