#include "services/batch/queue/merge_queue.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/host/output_file.h"
#include "services/batch/journal.h"
#include "services/batch/rows.h"

namespace runnel::batch {
namespace {

namespace fs = std::filesystem;

struct Output {
  fs::path path;  // as the call named it
  std::ifstream in;
};

struct Candidate {
  std::int64_t index = 0, at = 0, length = 0;
  std::uint32_t crc = 0, output = 0;
  Counts counts;
  std::string line, key;
  [[nodiscard]] bool good() const { return counts.code == Code::ok; }
};

// The same order for any order of the outputs: good ones first.
bool before(const Candidate& a, const Candidate& b) {
  if (a.index != b.index) return a.index < b.index;
  if (a.good() != b.good()) return a.good();
  if (a.crc != b.crc) return a.crc < b.crc;
  if (a.line != b.line) return a.line < b.line;
  return a.output < b.output;
}

bool is_keyed(OutputFormat format) {
  return is_transcript(format) || format == OutputFormat::ark || is_folder(format);
}

class Merger {
 public:
  Status read(std::span<const fs::path> paths) {
    for (const fs::path& path : paths) RUNNEL_TRY(read(path));
    std::sort(all_.begin(), all_.end(), before);
    return complete();
  }

  Result<Merged> write(const std::function<Status(std::string_view)>& write, const WriteIndex& index) {
    RUNNEL_TRY(choose());
    const std::string begin = head_.format == OutputFormat::npy ? rows_.header(bytes_) : head_.prefix;
    RUNNEL_TRY(write(begin));
    Totals totals;
    std::int64_t at = static_cast<std::int64_t>(begin.size());
    std::string records;
    for (const Candidate* const one : chosen_) {
      RUNNEL_TRY(read_records(*one, records));
      RUNNEL_TRY(write(records));
      if (!is_lines(head_.format) && index) RUNNEL_TRY(index(head_.format, one->line, at));
      at += one->length;
      totals.add(one->counts);
    }
    if (is_lines(head_.format)) RUNNEL_TRY(write(summary_line(totals, head_.timing)));
    return Merged{totals, head_.timing};
  }

 private:
  Status read(const fs::path& path) {
    std::error_code error;
    const bool whole = !fs::exists(OutputFile::partial(path), error);
    const fs::path file = whole ? path : OutputFile::partial(path);
    if (!fs::exists(file, error))
      return Status(Code::not_found) << path.string() << ": there is no such file";
    RUNNEL_ASSIGN(JournalReader journal, JournalReader::open(journal_path(path)));
    const JournalHead& head = journal.head();
    if (outputs_.empty()) head_ = head;
    const std::string first = outputs_.empty() ? path.string() : outputs_[0].path.string();
    if (head.queue != head_.queue)
      return Status(Code::mismatch) << path.string() << ": is of "
                                    << (head.queue.empty() ? "a list of recordings" : "queue " + head.queue)
                                    << ", " << first << " of queue " << head_.queue;
    if (head.call != head_.call || head.prefix != head_.prefix || head.format != head_.format ||
        head.timing != head_.timing)
      return Status(Code::mismatch) << path.string() << ": is of another call than " << first
                                    << " (model or options)";
    const std::uintmax_t size = fs::file_size(file, error);
    const auto number = static_cast<std::uint32_t>(outputs_.size());
    outputs_.push_back({path, std::ifstream(file, std::ios::binary)});
    for (JournalEntry entry; journal.next(entry);) {
      // Of an output whose worker died the last records may be missing: they were never acknowledged.
      if (entry.at < 0 || entry.length < 0 || error ||
          static_cast<std::uintmax_t>(entry.at) + static_cast<std::uintmax_t>(entry.length) > size) {
        if (whole) return Status(Code::invalid_data) << path.string() << ": is shorter than its journal says";
        break;
      }
      Candidate one{entry.index, entry.at, entry.length, entry.crc, number, entry.counts, entry.line, {}};
      if (is_keyed(head.format)) {
        RUNNEL_ASSIGN(const Recording recording, parse_listed(entry.recording));
        one.key = recording.key();
      }
      all_.push_back(std::move(one));
    }
    total_ = std::max(total_, journal.total());
    return {};
  }

  // Every place of the queue must be there.
  [[nodiscard]] Status complete() const {
    if (total_ < 0)
      return Status(Code::not_found) << "queue " << head_.queue
                                     << ": none of these workers saw its end: work until it is empty first";
    std::int64_t next = 0, missing = 0;
    std::string names;
    const auto skip_to = [&](std::int64_t index) {
      for (; next < index; ++next, ++missing)
        if (names.size() < 100) names += (names.empty() ? "" : ", ") + std::to_string(next + 1);
    };
    for (const Candidate& one : all_) {
      if (one.index < 0 || one.index >= total_) continue;
      skip_to(one.index);
      next = one.index + 1;
    }
    skip_to(total_);
    if (missing == 0) return {};
    return Status(Code::not_found) << missing << " of " << total_ << " recordings of queue " << head_.queue
                                   << " are in none of these outputs, by their place in the queue: " << names
                                   << (names.size() < 100 ? "" : " ...");
  }

  // One candidate for each place.
  Status choose() {
    std::unordered_map<std::string, std::int64_t> keys;
    rows_ = Rows(head_.format);
    for (std::size_t i = 0; i < all_.size();) {
      const Candidate& one = all_[i];
      std::size_t end = i + 1;
      for (; end < all_.size() && all_[end].index == one.index; ++end) {
        const Candidate& other = all_[end];
        if (one.good() && other.good() && (one.crc != other.crc || one.length != other.length)) {
          return Status(Code::mismatch)
                 << outputs_[one.output].path.string() << " and " << outputs_[other.output].path.string()
                 << ": different results of recording " << one.index + 1
                 << " of the queue: was another file in its place?";
        }
      }
      i = end;
      if (one.index < 0 || one.index >= total_) continue;  // enqueued since
      if (!rows_.fits(one.line)) {
        return Status(Code::mismatch)
               << outputs_[one.output].path.string() << ": recording " << one.index + 1
               << " of the queue has rows that are not of " << rows_.shape().values << " values of "
               << name_of(rows_.shape().dtype) << ", as those before them";
      }
      if (!one.key.empty() && one.good()) {
        const auto [other, added] = keys.emplace(one.key, one.index);
        if (!added)
          return Status(Code::mismatch) << "recordings " << other->second + 1 << " and " << one.index + 1
                                        << " of the queue would both become " << one.key;
      }
      bytes_ += one.length;
      chosen_.push_back(&one);
    }
    return {};
  }

  Status read_records(const Candidate& one, std::string& records) {
    Output& output = outputs_[one.output];
    records.resize(static_cast<std::size_t>(one.length));
    output.in.clear();
    output.in.seekg(one.at);
    if (!output.in.read(records.data(), one.length) || crc32c(std::as_bytes(std::span(records))) != one.crc)
      return Status(Code::invalid_data)
             << output.path.string() << ": has changed since its journal was written (recording "
             << one.index + 1 << " of the queue)";
    return {};
  }

  std::vector<Output> outputs_;
  std::vector<Candidate> all_;
  std::vector<const Candidate*> chosen_;
  JournalHead head_;
  Rows rows_;
  std::int64_t total_ = -1, bytes_ = 0;
};

}  // namespace

bool is_of_queue(const fs::path& output) {
  std::error_code error;
  if (!fs::exists(journal_path(output), error)) return false;
  const Result<JournalReader> journal = JournalReader::open(journal_path(output));
  return journal.ok() && !journal->head().queue.empty();
}

Result<Merged> merge_queue(std::span<const fs::path> outputs,
                           const std::function<Status(std::string_view)>& write, const WriteIndex& index) {
  Merger merger;
  RUNNEL_TRY(merger.read(outputs));
  return merger.write(write, index);
}

}  // namespace runnel::batch
