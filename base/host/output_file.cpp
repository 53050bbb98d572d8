#include "base/host/output_file.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <utility>

namespace runnel {
namespace fs = std::filesystem;
namespace {

// Names of the partial files of this process, for remove_unfinished_files().
enum class Place : int { free, filling, taken };

struct Entry {
  std::atomic<Place> place{Place::free};
  char path[PATH_MAX];
};

// More files than a verb writes at once.
constinit std::array<Entry, 64> entries{};

// Where the table is full or the name too long, -1, and the file would stay.
int note_unfinished(const fs::path& name) noexcept {
  const std::string& path = name.native();
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Place expected = Place::free;
    if (!entries[i].place.compare_exchange_strong(expected, Place::filling)) continue;
    std::memcpy(entries[i].path, path.c_str(), path.size() + 1);
    entries[i].place.store(Place::taken);
    return static_cast<int>(i);
  }
  return -1;
}

void forget_unfinished(int place) noexcept {
  if (place >= 0) entries[static_cast<std::size_t>(place)].place.store(Place::free);
}

// /dev/stdout, a pipe: nothing that a finished file can replace.
bool is_device(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      place_(std::move(other.place_)),
      file_(std::exchange(other.file_, nullptr)),
      unfinished_(std::exchange(other.unfinished_, -1)) {}
OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(place_, other.place_);
  std::swap(file_, other.file_);
  std::swap(unfinished_, other.unfinished_);
  return *this;
}
OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  remove();
  forget_unfinished(unfinished_);
}

void OutputFile::remove() const noexcept {
  std::error_code ignored;
  if (is_partial()) fs::remove(place_, ignored);
}

fs::path OutputFile::partial(const fs::path& path) {
  fs::path name = path;
  if (!is_device(path)) name += ".part";
  return name;
}

Status OutputFile::failed(std::string_view what) const {
  return Status(Code::io_error) << path_.string() << ": cannot " << what << ": " << std::strerror(errno);
}

Status OutputFile::check_is_file(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status there = fs::status(path, ignored);
  if (!fs::exists(there) || fs::is_regular_file(there)) return {};
  const char* const kind = fs::is_directory(there) ? "folder"
                           : fs::is_fifo(there)    ? "FIFO"
                           : fs::is_socket(there)  ? "socket"
                                                   : "device";
  return Status(Code::io_error) << path.string() << ": cannot create: it is a " << kind;
}

Result<OutputFile> OutputFile::create(const fs::path& path) {
  OutputFile file;
  file.path_ = path;
  std::error_code ignored;
  // Writes the target of a link instead of replacing the link.
  if (fs::is_symlink(path, ignored) && fs::is_regular_file(path, ignored))
    file.path_ = fs::canonical(path, ignored);
  if (fs::is_directory(path, ignored))
    return Status(Code::io_error) << path.string() << ": cannot create: it is a folder";
  file.place_ = partial(file.path_);
  file.file_ = std::fopen(file.place_.c_str(), "wb");
  if (file.file_ == nullptr) return file.failed("create");
  // Nothing between these allocates: where memory ends, what is noted is removed.
  if (file.is_partial()) file.unfinished_ = note_unfinished(file.place_);
  return file;
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  if (bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size()) return {};
  return failed("write");
}

Status OutputFile::write_at(long position, std::span<const std::byte> bytes) {
  const long end = std::ftell(file_);
  if (end < 0 || std::fseek(file_, position, SEEK_SET) != 0) return failed("seek");
  RUNNEL_TRY(write(bytes));
  return std::fseek(file_, end, SEEK_SET) == 0 ? Status() : failed("seek");
}

Status OutputFile::commit() {
  const Status status = finish();
  forget_unfinished(std::exchange(unfinished_, -1));
  return status;
}

Status OutputFile::finish() {
  std::FILE* const file = std::exchange(file_, nullptr);
  if (std::fflush(file) != 0 || std::ferror(file) != 0) {
    const Status status = failed("write");
    std::fclose(file);
    remove();
    return status;
  }
  if (std::fclose(file) != 0) {
    const Status status = failed("close");
    remove();
    return status;
  }
  if (!is_partial()) return {};
  std::error_code error;
  fs::rename(place_, path_, error);
  if (error) {
    const std::string reason = error.message();
    remove();
    return Status(Code::io_error) << path_.string() << ": cannot rename into place: " << reason;
  }
  return {};
}

void remove_unfinished_files() noexcept {
  for (Entry& entry : entries) {
    if (entry.place.load() == Place::taken) ::unlink(entry.path);
  }
}

Status write_file(const fs::path& path, std::span<const std::byte> bytes) {
  RUNNEL_ASSIGN(OutputFile file, OutputFile::create(path));
  RUNNEL_TRY(file.write(bytes));
  return file.commit();
}

}  // namespace runnel
