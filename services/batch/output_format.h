// The formats of a run's output.
//
//     jsonl   JSON lines: records, then the summary
//     csv     a header line, then rows
//     npy     one array, [rows of all recordings, values]
//     ark     a Kaldi archive, a float matrix per recording, with a table of positions OUT.scp
//     files   a folder with an .npy file per recording; the output itself is FOLDER.index.jsonl, JSON lines
//     srt     the same with subtitles (SubRip), of decoders of speech
//     vtt     the same, WebVTT
//     ctm     a line per word: KEY 1 START DURATION WORD CONFIDENCE, of decoders of speech
//     txt     a line per recording: KEY and its words
//
// csv, npy, ark, ctm and txt have no room for failures and the summary: with them comes OUT.index.jsonl, one
// line per recording.
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

enum class OutputFormat : std::uint8_t { jsonl, csv, npy, ark, files, srt, vtt, ctm, txt };

std::string_view name_of(OutputFormat format);
bool parse_format(std::string_view name, OutputFormat& format);
// By file name extension; jsonl for unknown ones, and for .txt, which may be anything.
OutputFormat format_of_name(const std::filesystem::path& path);
// Error: invalid_argument for a name that promises another format (base/host/output_name.h).
Status check_name(const std::filesystem::path& path, OutputFormat format);
// Whether there is a folder with a file per recording.
constexpr bool is_folder(OutputFormat format) {
  return format == OutputFormat::files || format == OutputFormat::srt || format == OutputFormat::vtt;
}
// Whether records are JSON lines, so that they include errors and the summary.
constexpr bool is_lines(OutputFormat format) { return format == OutputFormat::jsonl || is_folder(format); }
// Whether records are text without JSON, which may go to stdout too.
constexpr bool is_text(OutputFormat format) {
  return format == OutputFormat::csv || format == OutputFormat::ctm || format == OutputFormat::txt;
}
// Whether it holds what decoders of speech have heard, and nothing else.
constexpr bool is_transcript(OutputFormat format) { return format >= OutputFormat::srt; }
// The extension of the files in its folder, ".npy".
std::string extension_of(OutputFormat format);

std::filesystem::path index_path(const std::filesystem::path& output);
// "a.ark" -> "a.scp".
std::filesystem::path scp_path(const std::filesystem::path& output);

// Size and type of the rows of an array.
struct RowShape {
  DType dtype = DType::none;
  std::int64_t values = 0;
  [[nodiscard]] std::int64_t bytes() const { return values * static_cast<std::int64_t>(size_of(dtype)); }
  friend bool operator==(const RowShape&, const RowShape&) = default;
};

// The line of the index for an array, without its position.
std::string array_line(std::string_view source, std::string_view key, std::int64_t rows,
                       const RowShape& shape, double rows_per_second);
// The shape in such a line; nullopt for other lines.
std::optional<RowShape> shape_in(std::string_view line);

// Of constant length: it is rewritten when the number of rows is known.
std::string array_header(const RowShape& shape, std::int64_t rows);

// Writes OUT.index.jsonl and OUT.scp: complete after commit(), absent without.
class IndexFiles {
 public:
  static Result<IndexFiles> create(const std::filesystem::path& output, OutputFormat format);
  // Call in the order of the output; `at`: position of the recording's records, in bytes.
  Status add(std::string_view line, std::int64_t at);
  Status commit(const Totals& totals, bool timing);

 private:
  std::string output_;
  OutputFormat format_ = OutputFormat::csv;
  OutputFile lines_, table_;
  std::int64_t rows_ = 0;
};

}  // namespace runnel::batch
