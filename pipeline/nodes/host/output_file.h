// Files that are never half there: written as NAME.part and renamed when they are complete.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/status.h"

namespace runnel::pipeline {

class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Removes what was not committed.
  ~OutputFile() { discard(); }

  // Creates NAME.part. `open_stream` false: only reserves the name, somebody else writes the file.
  Status open(std::string_view name, bool open_stream = true);
  Status write(const void* data, std::size_t bytes);
  // Back to an absolute position, to complete a header.
  Status seek(long position);
  // Closes and renames; from here on the file is what it claims to be.
  Status commit();
  void discard() noexcept;

  [[nodiscard]] const std::string& part() const noexcept { return part_; }
  [[nodiscard]] bool is_open() const noexcept { return !part_.empty(); }

 private:
  Status refused(const char* what) const;

  std::string name_, part_;
  std::FILE* stream_ = nullptr;
};

}  // namespace runnel::pipeline
