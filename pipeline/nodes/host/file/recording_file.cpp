#include "pipeline/nodes/host/file/recording_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace runnel::pipeline {

SF_VIRTUAL_IO RecordingFile::calls() noexcept {
  SF_VIRTUAL_IO calls{};
  calls.get_filelen = [](void* self) -> sf_count_t {
    struct stat found {};
    return ::fstat(static_cast<RecordingFile*>(self)->descriptor_, &found) == 0 ? found.st_size : -1;
  };
  calls.seek = [](sf_count_t offset, int whence, void* self) -> sf_count_t {
    return ::lseek(static_cast<RecordingFile*>(self)->descriptor_, offset, whence);
  };
  // Less than asked for only at the end of the file, or where it cannot be read.
  calls.read = [](void* to, sf_count_t count, void* self) -> sf_count_t {
    auto& input = *static_cast<RecordingFile*>(self);
    sf_count_t done = 0;
    while (done < count) {
      const ssize_t now =
          ::read(input.descriptor_, static_cast<char*>(to) + done, static_cast<std::size_t>(count - done));
      if (now < 0 && errno == EINTR) continue;
      if (now < 0 && input.error_ == 0) input.error_ = errno;
      if (now <= 0) break;
      done += now;
    }
    return done;
  };
  calls.write = [](const void*, sf_count_t, void*) -> sf_count_t { return 0; };
  calls.tell = [](void* self) -> sf_count_t {
    return ::lseek(static_cast<RecordingFile*>(self)->descriptor_, 0, SEEK_CUR);
  };
  return calls;
}

SNDFILE* RecordingFile::open(const std::string& name, SF_INFO& info) noexcept {
  close();
  struct stat found {};
  // Pipes and devices are the library's own: what it may do with them depends on the format.
  if (::stat(name.c_str(), &found) == 0 && S_ISREG(found.st_mode))
    descriptor_ = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) return sound_ = sf_open(name.c_str(), SFM_READ, &info);
  SF_VIRTUAL_IO own = calls();
  sound_ = sf_open_virtual(&own, SFM_READ, &info, this);
  return sound_;
}

void RecordingFile::close() noexcept {
  if (sound_ != nullptr) sf_close(sound_);
  if (descriptor_ >= 0) ::close(descriptor_);
  sound_ = nullptr;
  descriptor_ = -1;
  error_ = 0;
}

}  // namespace runnel::pipeline
