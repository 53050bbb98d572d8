// Writes a sound file, named NAME.part until it is complete.
#pragma once

#include <sndfile.h>

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/host/output_file.h"
#include "base/status.h"

namespace runnel::pipeline {

class SoundFile {
 public:
  SoundFile() = default;
  SoundFile(const SoundFile&) = delete;
  SoundFile& operator=(const SoundFile&) = delete;
  // Deletes the file if it was not completed.
  ~SoundFile();

  // `container`: wav or flac; `encoding`: int16, int24, or float32 (wav only). Integers saturate. Errors:
  // io_error, unsupported.
  Status create(const std::filesystem::path& path, int rate, int channels, std::string_view container,
                std::string_view encoding);
  // Appends interleaved samples.
  Status write(const float* samples, std::int64_t frames);
  // Closes and renames the file.
  Status complete();
  [[nodiscard]] bool is_open() const noexcept { return sound_ != nullptr; }

 private:
  [[nodiscard]] Status refused(const char* reason) const;

  std::filesystem::path path_;
  OutputFile file_;
  SNDFILE* sound_ = nullptr;
};

}  // namespace runnel::pipeline
