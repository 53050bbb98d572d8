// Reads the inputs of score.h.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "services/score/score.h"

namespace runnel::pipeline {
namespace {

using Json = nlohmann::json;

Result<std::string> read_text(const std::filesystem::path& path) {
  std::error_code ignored;
  std::ifstream in(path, std::ios::binary);
  // Not devices, which may never end.
  if (!in || std::filesystem::is_directory(path, ignored) ||
      std::filesystem::is_character_file(path, ignored))
    return Status(Code::not_found) << path.string() << ": cannot be opened as a file";
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return Status(Code::io_error) << path.string() << ": cannot be read";
  return text;
}

Status at_line(const std::filesystem::path& path, std::size_t line, std::string_view what) {
  return Status(Code::invalid_data) << path.string() << ": line " << line << ": " << what;
}

// Splits into lines without their ends; an empty rest after the last newline is not a line.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

bool is_text(const Json& object, const char* key) { return object.contains(key) && object[key].is_string(); }
bool is_number(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_number();
}

// Fields of one line; a field in quotes may hold commas, and quotes written twice.
std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

bool parse_seconds(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(value);
}

Result<Truth> from_csv(const std::filesystem::path& path, std::string_view text,
                       std::string_view label_column) {
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.empty())
    return Status(Code::invalid_data)
           << path.string() << ": is empty, expected CSV with a header line, or JSON";
  const std::vector<std::string> header = csv_fields(lines[0]);
  const auto column = [&](std::string_view name) {
    return std::find(header.begin(), header.end(), name) - header.begin();
  };
  const auto columns = static_cast<std::ptrdiff_t>(header.size());
  const auto file = column("file"), label = column(label_column), start = column("start"),
             end = column("end");
  for (const auto& [at, name] : {std::pair(file, std::string_view("file")), std::pair(label, label_column)}) {
    if (at < columns) continue;
    Status status(Code::invalid_data);
    status << path.string() << ": no column '" << name << "' in the header line";
    Suggestion nearest(name);
    for (const std::string& known : header) nearest.consider(known);
    if (!nearest.best().empty()) status << ", did you mean '" << nearest.best() << "'?";
    return status;
  }
  Truth truth;
  truth.spans = start < columns && end < columns;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string> fields = csv_fields(lines[i]);
    if (fields.size() != header.size()) {
      return at_line(path, i + 1,
                     std::to_string(fields.size()) + " fields, expected " + std::to_string(header.size()) +
                         " as in the header line");
    }
    TruthRow row{fields[static_cast<std::size_t>(file)], fields[static_cast<std::size_t>(label)], 0, 0};
    if (truth.spans &&
        (!parse_seconds(fields[static_cast<std::size_t>(start)], row.start) ||
         !parse_seconds(fields[static_cast<std::size_t>(end)], row.end) || row.end < row.start)) {
      return at_line(path, i + 1, "start and end are not seconds in this order");
    }
    truth.rows.push_back(std::move(row));
  }
  if (truth.rows.empty())
    return Status(Code::invalid_data) << path.string() << ": nothing after the header line";
  return truth;
}

// FILE<tab>TEXT, and more columns that nobody reads.
Result<Truth> from_table(const std::filesystem::path& path, std::string_view text) {
  Truth truth;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || tab == 0)
      return at_line(path, number, "expected a file, a tab and its text, as in the first line");
    std::string_view words = line.substr(tab + 1);
    words = words.substr(0, words.find('\t'));
    truth.rows.push_back({std::string(line.substr(0, tab)), std::string(words), 0, 0});
  }
  return truth;
}

// Of a result's words: the score of a decision for all of them.
double least_confidence(const Json& record) {
  double least = 1;
  if (!record.contains("words") || !record["words"].is_array()) return least;
  for (const Json& word : record["words"])
    if (word.is_object() && is_number(word, "confidence"))
      least = std::min(least, word["confidence"].get<double>());
  return least;
}

Result<Truth> from_json(const std::filesystem::path& path, std::string_view text,
                        std::string_view label_column) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Status(Code::invalid_data) << path.string() << ": not valid JSON";
  if (!json.is_object() || !json.contains("events") || !json["events"].is_array()) {
    return Status(Code::invalid_data) << path.string() << ": expected an object with a list \"events\"";
  }
  const std::string key(label_column);
  Truth truth;
  truth.spans = true;
  for (const Json& event : json["events"]) {
    if (!event.is_object() || !is_text(event, key.c_str()) || !is_number(event, "start") ||
        !is_number(event, "end")) {
      return Status(Code::invalid_data)
             << path.string() << ": event " << truth.rows.size() << ": expected a text \"" << key
             << "\" and numbers \"start\" and \"end\"";
    }
    truth.rows.push_back({is_text(event, "file") ? event["file"].get<std::string>() : "",
                          event[key].get<std::string>(), event["start"].get<double>(),
                          event["end"].get<double>()});
  }
  return truth;
}

}  // namespace

Result<RunRecords> read_records(const std::filesystem::path& path) {
  RUNNEL_ASSIGN(const std::string text, read_text(path));
  RunRecords records;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (line.empty()) continue;
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.is_object() || !is_text(json, "type"))
      return at_line(path, number, "not a record: expected a JSON object with a \"type\"");
    const std::string type = json["type"].get<std::string>();
    if (type == "event") {
      if (!is_text(json, "source") || !is_text(json, "label") || !is_number(json, "score") ||
          !is_number(json, "start") || !is_number(json, "end")) {
        return at_line(path, number, "an event needs source, label, score, start and end");
      }
      records.events.push_back({json["source"].get<std::string>(), json["label"].get<std::string>(),
                                json["score"].get<double>(), json["start"].get<double>(),
                                json["end"].get<double>()});
    } else if (type == "final") {
      if (!is_text(json, "source") || !is_text(json, "text") || !is_number(json, "start") ||
          !is_number(json, "end"))
        return at_line(path, number, "a final result needs source, text, start and end");
      records.events.push_back({json["source"].get<std::string>(), json["text"].get<std::string>(),
                                least_confidence(json), json["start"].get<double>(),
                                json["end"].get<double>()});
    } else if (type == "summary") {
      if (is_number(json, "audio_seconds")) records.audio_seconds += json["audio_seconds"].get<double>();
    } else if (type == "error") {
      ++records.failures;
    }
  }
  if (number == 0)
    return Status(Code::invalid_data) << path.string() << ": is empty, expected the records of a run";
  return records;
}

Result<Truth> read_truth(const std::filesystem::path& path, std::string_view label_column) {
  RUNNEL_ASSIGN(const std::string text, read_text(path));
  if (text.substr(0, text.find('\n')).find('\t') != std::string::npos) return from_table(path, text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{' ? from_json(path, text, label_column)
                                                          : from_csv(path, text, label_column);
}

}  // namespace runnel::pipeline
