#include "pipeline/nodes/host/table/csv_reader.h"

#include <algorithm>
#include <filesystem>
#include <span>

namespace runnel::pipeline {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 16;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Every "" as one quote.
std::string without_doubled_quotes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    plain += text[i];
    if (text[i] == '"') ++i;
  }
  return plain;
}

}  // namespace

char guess_separator(std::string_view line, bool decimal_comma) {
  char best = ' ';
  std::ptrdiff_t most = 0;
  for (const char candidate : {'\t', ';', ','}) {
    if (candidate == ',' && decimal_comma) continue;
    const std::ptrdiff_t count = std::count(line.begin(), line.end(), candidate);
    if (count > most) {
      most = count;
      best = candidate;
    }
  }
  return best;
}

Status CsvReader::bad() const {
  Status status(Code::invalid_data);
  status << path_ << ", line " << line_number_;
  if (!cells_.empty()) status << ", column " << cells_.size() + 1;
  return std::move(status) << ": ";
}

void CsvReader::open(ByteInput& input) {
  path_ = input.name();
  input_ = &input;
}

Status CsvReader::open(const std::string& path) {
  path_ = path;
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return Status(Code::not_found) << path << ": there is no such file";
  if (std::filesystem::is_directory(path, error))
    return Status(Code::invalid_argument) << path << ": is a folder, expected a table";
  in_ = std::ifstream(path, std::ios::binary);
  if (!in_) return Status(Code::io_error) << path << ": cannot be opened";
  buffer_.clear();
  at_ = 0;
  line_number_ = 0;
  again_ = false;
  return {};
}

Result<bool> CsvReader::read_more() {
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  std::size_t count = 0;
  if (input_ != nullptr) {
    RUNNEL_ASSIGN(count, input_->read(std::as_writable_bytes(std::span(buffer_).subspan(before))));
  } else {
    in_.read(buffer_.data() + before, static_cast<std::streamsize>(kReadBytes));
    count = static_cast<std::size_t>(in_.gcount());
    if (in_.bad()) return Status(Code::io_error) << path_ << ": cannot be read after line " << line_number_;
  }
  buffer_.resize(before + count);
  return count > 0;
}

Result<bool> CsvReader::ready() {
  while (input_ != nullptr && !again_ && buffer_.find('\n', at_) == std::string::npos) {
    if (buffer_.size() - at_ > kLongestLine || !input_->ready()) return false;
    RUNNEL_ASSIGN(const bool more, read_more());
    if (!more) return true;
  }
  return true;
}

Result<bool> CsvReader::read_line() {
  line_.clear();
  cells_.clear();
  for (;;) {
    if (at_ == buffer_.size()) {
      RUNNEL_ASSIGN(const bool more, read_more());
      if (!more) {
        // A row that was incomplete when the stream was stopped is dropped.
        if (line_.empty() || (input_ != nullptr && input_->was_stopped())) return false;
        break;
      }
    }
    const std::size_t newline = buffer_.find('\n', at_);
    const std::size_t end = std::min(newline, buffer_.size());
    if (line_.size() + (end - at_) > kLongestLine) {
      ++line_number_;
      return bad() << "more than " << kLongestLine << " bytes without a line end, expected a row of a table";
    }
    line_.append(buffer_, at_, end - at_);
    at_ = end;
    if (newline == std::string::npos) continue;
    ++at_;
    break;
  }
  ++line_number_;
  if (line_number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  return true;
}

Status CsvReader::skip(std::int64_t lines) {
  for (; lines > 0; --lines) RUNNEL_TRY(read_line().status());
  return {};
}

Status CsvReader::split() {
  cells_.clear();
  unquoted_.clear();
  std::string_view rest = line_;
  if (separator_ == ' ') rest = trimmed(rest);
  for (;;) {
    std::string_view cell;
    const std::size_t start = std::min(rest.find_first_not_of(" "), rest.size());
    if (start < rest.size() && rest[start] == '"') {
      std::size_t end = rest.find('"', start + 1);
      while (end != std::string_view::npos && end + 1 < rest.size() && rest[end + 1] == '"')
        end = rest.find('"', end + 2);  // "" is a quote
      if (end == std::string_view::npos) return bad() << "the quote is not closed, expected another \"";
      cell = rest.substr(start + 1, end - start - 1);
      if (cell.find('"') != std::string_view::npos)
        cell = unquoted_.emplace_back(without_doubled_quotes(cell));
      rest.remove_prefix(end + 1);
      const std::size_t stop = std::min(rest.find(separator_), rest.size());
      if (!trimmed(rest.substr(0, stop)).empty()) {
        return bad() << "expected the separator after the quote, found '"
                     << rest.substr(0, std::min<std::size_t>(stop, 20)) << '\'';
      }
      rest.remove_prefix(stop);
    } else {
      const std::size_t stop = std::min(rest.find(separator_), rest.size());
      cell = trimmed(rest.substr(0, stop));
      rest.remove_prefix(stop);
    }
    cells_.push_back(cell);
    if (rest.empty()) return {};
    rest.remove_prefix(1);
    if (separator_ == ' ') rest = trimmed(rest);
  }
}

Result<bool> CsvReader::next() {
  if (again_) {
    again_ = false;
    RUNNEL_TRY(split());
    return true;
  }
  for (;;) {
    RUNNEL_ASSIGN(const bool more, read_line());
    if (!more) return false;
    const std::string_view text = trimmed(line_);
    if (text.empty() || text.front() == '#') continue;
    RUNNEL_TRY(split());
    return true;
  }
}

}  // namespace runnel::pipeline
