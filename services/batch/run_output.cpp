#include "services/batch/run_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "base/host/output_file.h"

namespace runnel::batch {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kSyncEvery(5);
constexpr std::size_t kLinesAtOnce = std::size_t{1} << 15;

std::uint32_t crc_of(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

// A new name is on disk only after its folder is synchronized.
void sync_folder(const fs::path& file) {
  const fs::path folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

AppendFile::AppendFile(AppendFile&& other) noexcept
    : name_(std::move(other.name_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}
AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(file_, other.file_);
  std::swap(size_, other.size_);
  return *this;
}
AppendFile::~AppendFile() { close(); }

void AppendFile::close() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

Status AppendFile::failed(std::string_view what) const {
  return Status(Code::io_error) << name_ << ": cannot " << what << ": " << std::strerror(errno);
}

Result<AppendFile> AppendFile::open(const fs::path& path, std::string_view name) {
  AppendFile file;
  file.name_ = name;
  file.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file.file_ < 0) return file.failed("create");
  struct stat found = {};
  if (fstat(file.file_, &found) != 0) return file.failed("look at");
  if (!S_ISREG(found.st_mode)) return Status(Code::io_error) << name << ": cannot create: expected a file";
  file.size_ = found.st_size;
  return file;
}

Status AppendFile::lock() {
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return {};
  // Some network file systems have no locks; then other runs are not locked out.
  return errno == EWOULDBLOCK ? Status(Code::io_error) << name_ << ": another run is writing it" : Status();
}

Status AppendFile::truncate(std::int64_t bytes) {
  if (ftruncate(file_, bytes) != 0) return failed("truncate");
  size_ = bytes;
  return {};
}

Status AppendFile::append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file_, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("write");
    size_ += count;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status AppendFile::overwrite(std::string_view text) {
  // With O_APPEND every write goes to the end of the file, so open it once more.
  const std::string self = "/proc/self/fd/" + std::to_string(file_);
  const int file = ::open(self.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return failed("open");
  const ssize_t count = ::pwrite(file, text.data(), text.size(), 0);
  const Status status = count == static_cast<ssize_t>(text.size()) ? Status() : failed("write");
  ::close(file);
  return status;
}

Status AppendFile::sync_all() { return syncfs(file_) == 0 ? Status() : failed("write"); }

Status AppendFile::sync() { return fdatasync(file_) == 0 ? Status() : failed("write"); }

Result<RunOutput> RunOutput::create(const fs::path& output, const JournalHead& head, Recordings recordings) {
  RUNNEL_TRY(OutputFile::check_is_file(output));
  RunOutput run;
  run.output_ = output;
  run.recordings_ = std::move(recordings);
  run.head_ = head;
  run.rows_ = Rows(head.format);
  RUNNEL_ASSIGN(run.journal_, AppendFile::open(journal_path(output), output.string()));
  RUNNEL_TRY(run.journal_.lock());
  RUNNEL_TRY(run.journal_.truncate(0));
  RUNNEL_ASSIGN(run.part_, AppendFile::open(OutputFile::partial(output), output.string()));
  RUNNEL_TRY(run.part_.truncate(0));
  RUNNEL_TRY(run.part_.append(head.prefix));
  std::string lines = to_line(head);
  for (const Recording& recording : run.recordings_) {
    lines += sealed(to_line(recording));
    if (lines.size() < kLinesAtOnce) continue;
    RUNNEL_TRY(run.journal_.append(lines));
    lines.clear();
  }
  RUNNEL_TRY(run.journal_.append(lines));
  RUNNEL_TRY(run.sync());
  return run;
}

// Takes over the entries whose records exist, in order.
Status RunOutput::verify(JournalReader& reader, std::int64_t& journal_bytes) {
  const std::int64_t list_bytes = reader.sound_bytes();
  journal_bytes = list_bytes;
  std::error_code error;
  const bool part = fs::exists(OutputFile::partial(output_), error);
  std::ifstream in(part ? OutputFile::partial(output_) : output_, std::ios::binary);
  std::string prefix(reader.head().prefix.size(), '\0');
  // The header of an array gets its number of rows at the end.
  const bool begun = in.read(prefix.data(), static_cast<std::streamsize>(prefix.size())) &&
                     (prefix == reader.head().prefix ||
                      (head_.format == OutputFormat::npy && prefix.starts_with("\x93NUMPY")));
  std::int64_t at = static_cast<std::int64_t>(prefix.size());
  const std::uintmax_t size = begun ? fs::file_size(part ? OutputFile::partial(output_) : output_, error) : 0;
  const std::int64_t bytes = error ? 0 : static_cast<std::int64_t>(size);
  JournalEntry entry;
  std::string records;
  while (begun && done_ < recordings_.size() && reader.next(entry)) {
    const Recording recording = recordings_[done_];
    if (entry.index != recording.index || entry.at != at || entry.length < 0 || entry.length > bytes - at)
      break;
    records.resize(static_cast<std::size_t>(entry.length));
    if (!in.read(records.data(), entry.length) || crc_of(records) != entry.crc) break;
    if (!rows_.fits(entry.line) || (is_folder(head_.format) && !has_files(records))) break;
    if (const Status now = check_file(recording); now.code() == Code::mismatch)
      changed_.push_back(recording.path);
    at += entry.length;
    totals_.add(entry.counts);
    ++done_;
    journal_bytes = reader.sound_bytes();
  }
  if (!part && done_ == recordings_.size()) {
    // Renamed already, although the journal may not say so.
    complete_ = !reader.next(entry) && bytes == at + static_cast<std::int64_t>(ending().size());
    if (complete_ && reader.end() >= 0) return {};
    if (complete_) RUNNEL_TRY(journal_.truncate(journal_bytes));
    if (complete_) return journal_.append(end_line(bytes));
  }
  if (!part) {  // the file with this name is from another run
    done_ = 0;
    totals_ = {};
    rows_ = Rows(head_.format);
    changed_.clear();
    journal_bytes = list_bytes;
    at = 0;
  }
  RUNNEL_ASSIGN(part_, AppendFile::open(OutputFile::partial(output_), output_.string()));
  RUNNEL_TRY(part_.truncate(at));
  return {};
}

Result<RunOutput> RunOutput::resume(const fs::path& output, std::uint32_t call, const Shard& shard) {
  RunOutput run;
  run.output_ = output;
  std::error_code error;
  const fs::path path = journal_path(output);
  if (!fs::exists(path, error)) return Status(Code::not_found) << path.string() << ": there is no such file";
  RUNNEL_ASSIGN(run.journal_, AppendFile::open(path, output.string()));
  RUNNEL_TRY(run.journal_.lock());
  RUNNEL_ASSIGN(JournalReader reader, JournalReader::open(path));
  if (reader.head().call != call) {
    return Status(Code::mismatch) << path.string()
                                  << ": is of a run with another model, other inputs or other options; "
                                     "without --resume a new run starts";
  }
  if (reader.head().shard.index != shard.index || reader.head().shard.count != shard.count) {
    return Status(Code::mismatch) << path.string() << ": is of shard " << reader.head().shard.index << "/"
                                  << reader.head().shard.count << ", expected " << shard.index << "/"
                                  << shard.count;
  }
  run.recordings_ = std::move(reader.recordings());
  run.head_ = reader.head();
  run.rows_ = Rows(run.head_.format);
  std::int64_t journal_bytes = 0;
  RUNNEL_TRY(run.verify(reader, journal_bytes));
  if (run.complete_) return run;
  RUNNEL_TRY(run.journal_.truncate(journal_bytes));
  if (run.part_.size() == 0) RUNNEL_TRY(run.part_.append(reader.head().prefix));
  return run;
}

bool RunOutput::has_files(std::string_view records) const {
  while (!records.empty()) {
    const std::string_view line = records.substr(0, records.find('\n'));
    records.remove_prefix(std::min(line.size() + 1, records.size()));
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("file") || !object.contains("bytes")) continue;
    std::error_code error;
    const auto bytes = fs::file_size(output_.parent_path() / object.value("file", ""), error);
    if (error || bytes != object.value("bytes", std::uintmax_t{0})) return false;
  }
  return true;
}

std::string RunOutput::ending() const {
  return is_lines(head_.format) ? summary_line(totals_, head_.timing) : std::string();
}

// The number of rows is known only now.
Status RunOutput::write_header() {
  const std::int64_t bytes = part_.size() - static_cast<std::int64_t>(head_.prefix.size());
  return part_.overwrite(rows_.header(bytes));
}

Status RunOutput::write_index() {
  RUNNEL_ASSIGN(JournalReader reader, JournalReader::open(journal_path(output_)));
  RUNNEL_ASSIGN(IndexFiles index, IndexFiles::create(output_, head_.format));
  for (JournalEntry entry; reader.next(entry);) RUNNEL_TRY(index.add(entry.line, entry.at));
  return index.commit(totals_, head_.timing);
}

Status RunOutput::append(Outcome outcome) {
  rows_.settle(outcome, recordings_[done_]);
  const JournalEntry entry{.index = recordings_[done_].index,
                           .at = part_.size(),
                           .length = static_cast<std::int64_t>(outcome.records.size()),
                           .crc = crc_of(outcome.records),
                           .counts = outcome.counts,
                           .line = outcome.index};
  RUNNEL_TRY(part_.append(outcome.records));
  RUNNEL_TRY(journal_.append(to_line(entry)));
  totals_.add(outcome);
  ++done_;
  return std::chrono::steady_clock::now() - synced_ > kSyncEvery ? sync() : Status();
}

Status RunOutput::sync() {
  // Synchronize files before the journal names them.
  if (is_folder(head_.format)) RUNNEL_TRY(part_.sync_all());
  RUNNEL_TRY(part_.sync());
  RUNNEL_TRY(journal_.sync());
  synced_ = std::chrono::steady_clock::now();
  return {};
}

Status RunOutput::finish() {
  RUNNEL_TRY(part_.append(ending()));
  if (head_.format == OutputFormat::npy) RUNNEL_TRY(write_header());
  RUNNEL_TRY(sync());
  if (!is_lines(head_.format)) RUNNEL_TRY(write_index());
  const std::int64_t bytes = part_.size();
  part_.close();
  std::error_code error;
  fs::rename(OutputFile::partial(output_), output_, error);
  if (error)
    return Status(Code::io_error) << output_.string() << ": cannot rename into place: " << error.message();
  sync_folder(output_);
  complete_ = true;
  RUNNEL_TRY(journal_.append(end_line(bytes)));
  return journal_.sync();
}

}  // namespace runnel::batch
