// The output of a run that can be resumed: records in the order of the list in OUT.part, each noted in
// OUT.journal, renamed to OUT at the end. A crash at any moment leaves complete, noted records and at most
// one partial one, which is cut off when the run resumes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/batch/journal.h"
#include "services/batch/rows.h"

namespace runnel::batch {

// An append-only file; when a call returns, the system has the data.
class AppendFile {
 public:
  AppendFile() = default;
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  // Creates it if it does not exist. `name`: for messages.
  static Result<AppendFile> open(const std::filesystem::path& path, std::string_view name);
  // Locks the file. Error: io_error when another process holds the lock.
  Status lock();
  Status truncate(std::int64_t bytes);
  Status append(std::string_view text);
  // Overwrites its first bytes.
  Status overwrite(std::string_view text);
  // Waits until it is on disk, with its entry in the folder.
  Status sync();
  Status sync_all();
  void close() noexcept;
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  [[nodiscard]] Status failed(std::string_view what) const;
  std::string name_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

class RunOutput {
 public:
  // Starts a new run; an earlier journal and OUT.part are deleted, an earlier OUT stays until finish().
  // Errors name OUT.
  static Result<RunOutput> create(const std::filesystem::path& output, const JournalHead& head,
                                  Recordings recordings);
  // Continues an earlier run: the list of recordings is that of the journal. `call` and `shard` must match
  // it. Errors: not_found without a journal, invalid_data for a journal without a complete list; mismatch for
  // another call.
  static Result<RunOutput> resume(const std::filesystem::path& output, std::uint32_t call,
                                  const Shard& shard);

  // All recordings of this shard; finished are the first `done()`.
  [[nodiscard]] const Recordings& recordings() const { return recordings_; }
  [[nodiscard]] std::size_t done() const { return done_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  // The output is complete and renamed.
  [[nodiscard]] bool complete() const { return complete_; }
  // The finished recordings whose file has changed since.
  [[nodiscard]] const std::vector<std::string>& changed() const { return changed_; }

  // The outcome of recordings()[done()]. One whose rows do not fit those before it becomes a failure.
  Status append(Outcome outcome);
  // After the last one: writes the summary, into the output or the index depending on the format, and renames
  // the output.
  Status finish();
  // Writes all appended data to disk, so that a power failure cannot lose it.
  Status sync();

 private:
  Status verify(JournalReader& reader, std::int64_t& journal_bytes);
  // Whether the files that the records name exist.
  [[nodiscard]] bool has_files(std::string_view records) const;
  [[nodiscard]] std::string ending() const;
  Status write_header();
  Status write_index();

  std::filesystem::path output_;
  JournalHead head_;
  AppendFile journal_, part_;
  Recordings recordings_;
  std::vector<std::string> changed_;
  std::size_t done_ = 0;
  Totals totals_;
  bool complete_ = false;
  Rows rows_;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace runnel::batch
