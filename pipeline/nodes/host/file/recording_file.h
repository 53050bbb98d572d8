// A recording as libsndfile reads it. The library takes parts of a header that cannot be read for zeros; here
// a failed read is kept.
#pragma once

#include <sndfile.h>

#include <string>

namespace runnel::pipeline {

// Used by one thread.
class RecordingFile {
 public:
  RecordingFile() = default;
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;
  ~RecordingFile() { close(); }

  // As sf_open() for reading, of files of any kind; null where the library refuses it. Closes an earlier one.
  SNDFILE* open(const std::string& name, SF_INFO& info) noexcept;
  void close() noexcept;
  // Null: not open.
  [[nodiscard]] SNDFILE* file() const noexcept { return sound_; }
  // errno of the first read or seek of a regular file that failed; 0: none.
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  static SF_VIRTUAL_IO calls() noexcept;

  SNDFILE* sound_ = nullptr;
  int descriptor_ = -1;
  int error_ = 0;
};

}  // namespace runnel::pipeline
