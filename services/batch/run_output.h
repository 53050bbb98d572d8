// The output of a run that can be resumed: records in the order of the list in OUT.part, each noted in
// OUT.journal, renamed to OUT at the end. A crash at any moment leaves records that are whole and noted, and
// at most one after them that is cut off when the run resumes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/batch/journal.h"

namespace runnel::batch {

// A file that is appended to; what is written has reached the system when a call returns.
class AppendFile {
 public:
  AppendFile() = default;
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  // Creates it when it is not there. `name`: in messages.
  static Result<AppendFile> open(const std::filesystem::path& path, std::string_view name);
  // Keeps others that lock it out. Error: io_error when another process has it.
  Status lock();
  Status truncate(std::int64_t bytes);
  Status append(std::string_view text);
  // Its first bytes anew.
  Status overwrite(std::string_view text);
  // Until it is on the disk; all files beside it, too.
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
  // Begins afresh; an earlier journal and OUT.part go, an earlier OUT stays until finish(). Errors name OUT.
  static Result<RunOutput> create(const std::filesystem::path& output, const JournalHead& head,
                                  Recordings recordings);
  // Goes on where an earlier run ended: the list of recordings is that of the journal. `call`, `shard`: what
  // they must be. Errors: not_found without a journal, invalid_data for one in which nothing had begun;
  // mismatch when the call is another one.
  static Result<RunOutput> resume(const std::filesystem::path& output, std::uint32_t call,
                                  const Shard& shard);

  // All recordings of this shard; finished are the first `done()`.
  [[nodiscard]] const Recordings& recordings() const { return recordings_; }
  [[nodiscard]] std::size_t done() const { return done_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  // The output is under its name: nothing is left to do.
  [[nodiscard]] bool complete() const { return complete_; }
  // Of the recordings that are done, those whose file is another one by now.
  [[nodiscard]] const std::vector<std::string>& changed() const { return changed_; }

  // The outcome of recordings()[done()]. One whose rows do not fit those before it becomes a failure.
  Status append(Outcome outcome);
  // Once all are done: writes the summary, where the format has one, and the index, where it has none, and
  // gives the output its name.
  Status finish();
  // So that nothing of what was appended can be lost, also when the power fails.
  Status sync();

 private:
  Status verify(JournalReader& reader, std::int64_t& journal_bytes);
  // Whether the records are those of a run like this one so far: the arrays of an output have rows of one
  // shape.
  bool fits(const std::string& index);
  // Whether the files that the records speak of are there.
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
  RowShape shape_;  // of the rows of an array, once there was one
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace runnel::batch
