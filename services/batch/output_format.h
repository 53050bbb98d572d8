// What the output of a run is made of.
//
//     jsonl   JSON lines: records, then the summary
//     csv     a header line, then rows
//     npy     one array, [rows of all recordings, values]
//     ark     an archive of Kaldi, a float matrix for each recording, with a table OUT.scp of its places
//     files   a folder with an .npy file for each recording; the output itself is FOLDER.index.jsonl, JSON
//     lines
//
// The formats in the middle have no room for what failed and for the summary: beside them lies
// OUT.index.jsonl, with a line for each recording.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/host/output_file.h"
#include "base/status.h"
#include "services/batch/outcome.h"

namespace runnel::batch {

enum class OutputFormat : std::uint8_t { jsonl, csv, npy, ark, files };

std::string_view name_of(OutputFormat format);
bool parse_format(std::string_view name, OutputFormat& format);
// By the end of a file's name; jsonl when it says nothing.
OutputFormat format_of_name(const std::filesystem::path& path);
// Whether records are JSON lines, so that errors and the summary stand among them.
constexpr bool is_lines(OutputFormat format) {
  return format == OutputFormat::jsonl || format == OutputFormat::files;
}

std::filesystem::path index_path(const std::filesystem::path& output);
// "a.ark" -> "a.scp".
std::filesystem::path scp_path(const std::filesystem::path& output);

// What the rows of an array are.
struct RowShape {
  DType dtype = DType::none;
  std::int64_t values = 0;
  [[nodiscard]] std::int64_t bytes() const { return values * static_cast<std::int64_t>(size_of(dtype)); }
  friend bool operator==(const RowShape&, const RowShape&) = default;
};

// The line of the index for an array, without its place.
std::string array_line(std::string_view source, std::string_view key, std::int64_t rows,
                       const RowShape& shape, double rows_per_second);
// The shape in such a line; nothing in a line of another kind.
std::optional<RowShape> shape_in(std::string_view line);

// Always as long, whatever it says: it is written again when the rows are counted.
std::string array_header(const RowShape& shape, std::int64_t rows);

// OUT.index.jsonl and OUT.scp while they are written: complete with commit(), absent without.
class IndexFiles {
 public:
  static Result<IndexFiles> create(const std::filesystem::path& output, OutputFormat format);
  // In the order of the output; `at`: where the recording's records begin, in bytes.
  Status add(std::string_view line, std::int64_t at);
  Status commit(const Totals& totals, bool timing);

 private:
  std::string output_;
  OutputFormat format_ = OutputFormat::csv;
  OutputFile lines_, table_;
  std::int64_t rows_ = 0;
};

}  // namespace runnel::batch
