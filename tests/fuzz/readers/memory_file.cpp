#include "tests/fuzz/readers/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "tests/fuzz/readers/reader.h"

namespace runnel::fuzz {

MemoryFile::MemoryFile(std::string_view ending) : file_(memfd_create("input", MFD_CLOEXEC)) {
  insist(file_ >= 0, "no file in memory");
  // A link with the name, in a folder of its own.
  std::string folder = (std::filesystem::temp_directory_path() / "runnel-input-XXXXXX").string();
  insist(mkdtemp(folder.data()) != nullptr, "no temporary folder");
  path_ = folder + "/input" + std::string(ending);
  std::error_code error;
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(file_), path_, error);
  insist(!error, "no link to a file in memory");
}

MemoryFile::~MemoryFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder(), ignored);
  close(file_);
}

std::string MemoryFile::folder() const { return std::filesystem::path(path_).parent_path().string(); }

const std::string& MemoryFile::with(std::span<const std::byte> bytes) {
  const bool written = ftruncate(file_, 0) == 0 &&
                       pwrite(file_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  insist(written, "a file in memory cannot be written");
  return path_;
}

std::string MemoryFile::content() const {
  std::string text;
  char some[4096];
  for (ssize_t count = 0; (count = pread(file_, some, sizeof some, static_cast<off_t>(text.size()))) > 0;)
    text.append(some, static_cast<std::size_t>(count));
  return text;
}

}  // namespace runnel::fuzz
