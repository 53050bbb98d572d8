#include "services/batch/output_format.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/host/npy.h"
#include "base/host/output_name.h"
#include "pipeline/host/json.h"

namespace runnel::batch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using pipeline::json_string;

constexpr std::array<std::string_view, 9> kNames = {"jsonl", "csv", "npy", "ark", "files",
                                                    "srt",   "vtt", "ctm", "txt"};
// Longer than the header of any array of two dimensions.
constexpr std::size_t kHeader = 128;

constexpr DType kRowTypes[] = {DType::float32, DType::int8,  DType::uint8, DType::int16,
                               DType::uint16,  DType::int32, DType::int64, DType::float64};

}  // namespace

std::string_view name_of(OutputFormat format) { return kNames[static_cast<std::size_t>(format)]; }

bool parse_format(std::string_view name, OutputFormat& format) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] != name) continue;
    format = static_cast<OutputFormat>(i);
    return true;
  }
  return false;
}

OutputFormat format_of_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  for (const OutputFormat format : {OutputFormat::csv, OutputFormat::npy, OutputFormat::ark,
                                    OutputFormat::srt, OutputFormat::vtt, OutputFormat::ctm}) {
    if (extension == "." + std::string(name_of(format))) return format;
  }
  return OutputFormat::jsonl;
}

Status check_name(const fs::path& path, OutputFormat format) {
  // A folder may have the ending of what is in it.
  if (is_folder(format) && path.extension() != extension_of(format)) return check_output_name(path, {});
  if (format == OutputFormat::jsonl) return check_output_name(path, {".jsonl", ".ndjson"});
  return check_output_name(path, {extension_of(format)});
}

std::string extension_of(OutputFormat format) {
  return format == OutputFormat::files ? ".npy" : "." + std::string(name_of(format));
}

fs::path index_path(const fs::path& output) {
  fs::path path = output;
  path += ".index.jsonl";
  return path;
}

fs::path scp_path(const fs::path& output) {
  fs::path path = output;
  if (path.extension() == ".ark") return path.replace_extension(".scp");
  path += ".scp";
  return path;
}

std::string array_line(std::string_view source, std::string_view key, std::int64_t rows,
                       const RowShape& shape, double rows_per_second) {
  return "{\"type\":\"array\",\"source\":" + json_string(source) + ",\"key\":" + json_string(key) +
         ",\"rows\":" + std::to_string(rows) + ",\"values\":" + std::to_string(shape.values) +
         ",\"dtype\":" + json_string(name_of(shape.dtype)) +
         ",\"rows_per_second\":" + pipeline::json_number(rows_per_second, 6) + "}";
}

std::optional<RowShape> shape_in(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object() || object.value("type", "") != "array") return {};
  RowShape shape;
  const auto values = object.find("values");
  if (values != object.end() && values->is_number_integer()) shape.values = values->get<std::int64_t>();
  const std::string type = object.value("dtype", "");
  for (const DType known : kRowTypes) {
    if (name_of(known) == type) shape.dtype = known;
  }
  if (shape.values < 1 || shape.dtype == DType::none) return {};
  return shape;
}

std::string array_header(const RowShape& shape, std::int64_t rows) {
  const std::int64_t sizes[] = {rows, shape.values};
  return npy_header(shape.dtype == DType::none ? DType::float32 : shape.dtype, sizes, kHeader);
}

Result<IndexFiles> IndexFiles::create(const fs::path& output, OutputFormat format) {
  IndexFiles files;
  files.output_ = output.string();
  files.format_ = format;
  RUNNEL_ASSIGN(files.lines_, OutputFile::create(index_path(output)));
  if (format == OutputFormat::ark) {
    RUNNEL_ASSIGN(files.table_, OutputFile::create(scp_path(output)));
  }
  return files;
}

Status IndexFiles::add(std::string_view line, std::int64_t at) {
  std::string text(line);
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object() || text.empty())
    return Status(Code::invalid_data) << output_ << ": a line of its index is not a JSON object";
  if (object.value("type", "") != "error") {
    text.pop_back();
    text +=
        format_ == OutputFormat::npy ? ",\"row\":" + std::to_string(rows_) : ",\"at\":" + std::to_string(at);
    text += "}";
    rows_ += object.value("rows", std::int64_t{0});
    if (format_ == OutputFormat::ark) {
      const std::string key = object.value("key", "");
      // After the key and a space.
      RUNNEL_TRY(table_.write(key + " " + output_ + ":" +
                              std::to_string(at + static_cast<std::int64_t>(key.size()) + 1) + "\n"));
    }
  }
  return lines_.write(text + "\n");
}

Status IndexFiles::commit(const Totals& totals, bool timing) {
  RUNNEL_TRY(lines_.write(summary_line(totals, timing)));
  if (format_ == OutputFormat::ark) RUNNEL_TRY(table_.commit());
  return lines_.commit();
}

}  // namespace runnel::batch
