#include "pipeline/nodes/host/output_file.h"

#include <cerrno>
#include <cstring>

namespace runnel::pipeline {

Status OutputFile::refused(const char* what) const {
  return Status(Code::io_error) << name_ << ": cannot " << what << ": " << std::strerror(errno);
}

Status OutputFile::open(std::string_view name, bool open_stream) {
  discard();
  name_ = name;
  const std::string part = name_ + ".part";
  stream_ = std::fopen(part.c_str(), "wb");
  if (stream_ == nullptr) return refused("create it");
  part_ = part;
  if (!open_stream) {
    std::fclose(stream_);
    stream_ = nullptr;
  }
  return {};
}

Status OutputFile::write(const void* data, std::size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, stream_) != bytes) return refused("write");
  return {};
}

Status OutputFile::seek(long position) {
  if (std::fseek(stream_, position, SEEK_SET) != 0) return refused("seek");
  return {};
}

Status OutputFile::commit() {
  if (stream_ != nullptr) {
    std::FILE* stream = stream_;
    stream_ = nullptr;
    if (std::fclose(stream) != 0) return refused("write");
  }
  if (std::rename(part_.c_str(), name_.c_str()) != 0) return refused("rename it to its final name");
  part_.clear();
  return {};
}

void OutputFile::discard() noexcept {
  if (stream_ != nullptr) std::fclose(stream_);
  stream_ = nullptr;
  if (!part_.empty()) std::remove(part_.c_str());
  part_.clear();
}

}  // namespace runnel::pipeline
