#include "services/device/report.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <span>
#include <system_error>
#include <utility>

#include "base/crc32c.h"

namespace runnel::device {
namespace {

constexpr std::string_view kMark = "@runnel ";
constexpr std::size_t kLongest = 256, kChecksum = 10;  // " #" and eight digits
constexpr std::size_t kMostStages = 64, kMostOperators = 1 << 16;

Status damaged(std::string_view what) { return Status(Code::invalid_data, what); }

template <class Integer>
bool read_number(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Eight small digits, as the device writes them: a damaged bit must not give the same number.
bool read_hex(std::string_view text, std::uint32_t& value) {
  if (text.size() != 8 || text.find_first_not_of("0123456789abcdef") != std::string_view::npos) return false;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return true;
}

// Reads "KEY=VALUE KEY=VALUE", all keys in their order.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  Status text(std::string_view key, std::string& value) {
    RUNNEL_ASSIGN(const std::string_view found, next(key));
    value = found;
    return {};
  }
  // The last field: everything that follows.
  Status all(std::string_view key, std::string& value) {
    const std::string start = std::string(key) + "=";
    if (rest_.substr(0, start.size()) != start) return missing(key);
    value = rest_.substr(start.size());
    rest_ = {};
    return {};
  }
  Status hex(std::string_view key, std::uint32_t& value) {
    RUNNEL_ASSIGN(const std::string_view found, next(key));
    if (read_hex(found, value)) return {};
    return Status(Code::invalid_data) << key << "=" << found << ", expected eight hexadecimal digits";
  }
  Status numbers(std::initializer_list<std::pair<std::string_view, std::uint64_t*>> fields) {
    for (const auto& [key, value] : fields) {
      RUNNEL_ASSIGN(const std::string_view found, next(key));
      if (!read_number(found, *value))
        return Status(Code::invalid_data) << key << "=" << found << ", expected a number below 2^64";
    }
    return {};
  }
  Status end() const {
    if (rest_.empty()) return {};
    return Status(Code::invalid_data) << "\"" << rest_ << "\" after the last field";
  }

 private:
  static Status missing(std::string_view key) {
    return Status(Code::invalid_data) << "the field " << key << " is missing or out of order";
  }
  Result<std::string_view> next(std::string_view key) {
    const std::size_t space = std::min(rest_.find(' '), rest_.size());
    const std::string_view field = rest_.substr(0, space);
    rest_.remove_prefix(std::min(space + 1, rest_.size()));
    if (field.size() <= key.size() || field.substr(0, key.size()) != key || field[key.size()] != '=')
      return missing(key);
    return field.substr(key.size() + 1);
  }

  std::string_view rest_;
};

// In the order of a report. `many`: any number of lines; `optional`: none or one.
struct Kind {
  std::string_view name;
  bool many = false, optional = false;
};
constexpr Kind kKinds[] = {{"begin"},  {"stage", true},      {"operator", true},
                           {"time"},   {"memory"},           {"stack", false, true},
                           {"stream"}, {"npu", false, true}, {"end"}};

// Whether a line of kind `next` may follow one of kind `last`.
bool follows(int last, int next) {
  if (next == last) return kKinds[next].many;
  if (next < last) return false;
  for (int between = last + 1; between < next; ++between)
    if (!kKinds[between].optional) return false;
  return true;
}

Status read_stage(Fields& fields, Report& report) {
  StageTime one;
  std::uint64_t index = 0;
  RUNNEL_TRY(fields.numbers({{"index", &index}}));
  RUNNEL_TRY(fields.text("name", one.name));
  RUNNEL_TRY(fields.numbers({{"calls", &one.calls}, {"cycles", &one.cycles}, {"most", &one.most}}));
  if (index != report.stages.size())
    return Status(Code::invalid_data) << "node " << index << ", expected " << report.stages.size();
  if (index >= kMostStages) return Status(Code::invalid_data) << "more than " << kMostStages << " nodes";
  report.stages.push_back(std::move(one));
  return {};
}

Status read_operator(Fields& fields, Report& report) {
  OperatorTime one;
  RUNNEL_TRY(fields.numbers({{"first", &one.first},
                             {"count", &one.count},
                             {"runs", &one.runs},
                             {"cycles", &one.cycles},
                             {"most", &one.most}}));
  const std::uint64_t expected =
      report.operators.empty() ? 0 : report.operators.back().first + report.operators.back().count;
  if (one.first != expected)
    return Status(Code::invalid_data) << "operator " << one.first << ", expected " << expected;
  if (one.count < 1 || one.count > kMostOperators || one.first + one.count > kMostOperators)
    return Status(Code::invalid_data) << one.count << " operators from " << one.first << " on, expected 1 to "
                                      << kMostOperators << " in all";
  report.operators.push_back(one);
  return {};
}

Status read_fields(std::string_view kind, Fields& fields, Report& out) {
  if (kind == "stage") return read_stage(fields, out);
  if (kind == "operator") return read_operator(fields, out);
  if (kind == "time")
    return fields.numbers({{"steps", &out.steps},
                           {"cycles", &out.cycles},
                           {"most", &out.most},
                           {"late", &out.late},
                           {"behind", &out.behind}});
  if (kind == "memory")
    return fields.numbers({{"used", &out.memory_used},
                           {"planned", &out.memory_planned},
                           {"fast", &out.fast_used},
                           {"fast_planned", &out.fast_planned},
                           {"arena", &out.arena},
                           {"scratch", &out.scratch},
                           {"state", &out.state}});
  if (kind == "stack") return fields.numbers({{"used", &out.stack_used.emplace()}});
  if (kind == "stream")
    return fields.numbers({{"samples", &out.samples},
                           {"lost", &out.lost},
                           {"gated", &out.gated},
                           {"gaps", &out.gaps},
                           {"events", &out.events},
                           {"dropped", &out.dropped},
                           {"overruns", &out.overruns}});
  Npu& npu = out.npu.emplace();
  return fields.numbers({{"runs", &npu.runs},
                         {"failures", &npu.failures},
                         {"cycles", &npu.cycles},
                         {"near_read", &npu.near_read},
                         {"near_written", &npu.near_written},
                         {"far_read", &npu.far_read},
                         {"far_written", &npu.far_written}});
}

// The line without mark, version and checksum, which are right.
Result<std::string_view> checked(std::string_view text) {
  if (text.size() > kLongest)
    return Status(Code::invalid_data) << text.size() << " bytes, expected at most " << kLongest;
  for (const char letter : text) {
    if (letter < ' ' || letter > '~') return damaged("a byte that is no printable character");
  }
  const std::size_t from = kMark.size(), space = text.find(' ', from);
  int version = 0;
  if (space == std::string_view::npos || !read_number(text.substr(from, space - from), version))
    return damaged("no version after \"@runnel\"");
  if (version != kReportVersion)
    return Status(Code::unsupported) << "lines of version " << version << ", expected " << kReportVersion;
  std::uint32_t sum = 0;
  if (text.size() < space + 1 + kChecksum || text.substr(text.size() - kChecksum, 2) != " #" ||
      !read_hex(text.substr(text.size() - kChecksum + 2), sum))
    return damaged("no checksum at the end (# and eight digits): the line is cut");
  const std::string_view body = text.substr(0, text.size() - kChecksum);
  if (crc32c(std::as_bytes(std::span(body))) != sum)
    return damaged("the checksum differs: the line is damaged");
  return body.substr(space + 1);
}

}  // namespace

Status ReportReader::begin(std::string_view text) {
  if (inside_)
    return Status(Code::invalid_data) << "a report begins, and that of line " << begun_at_ << " has no end";
  Fields fields(text);
  Report started;
  RUNNEL_TRY(fields.text("program", started.program));
  RUNNEL_TRY(fields.hex("model", started.model_sum));
  RUNNEL_TRY(fields.text("target", started.target));
  RUNNEL_TRY(fields.numbers(
      {{"hz", &started.hz}, {"rate", &started.rate}, {"hop", &started.hop}, {"block", &started.block}}));
  RUNNEL_TRY(fields.end());
  current_ = std::move(started);
  begun_at_ = number_;
  lines_ = 1;
  stage_ = 0;
  inside_ = true;
  joins_ = false;
  return {};
}

Status ReportReader::finish(std::string_view text) {
  Fields fields(text);
  std::uint64_t lines = 0;
  RUNNEL_TRY(fields.numbers({{"lines", &lines}}));
  RUNNEL_TRY(fields.end());
  if (lines != lines_)
    return Status(Code::invalid_data) << lines_ << " lines of the report arrived, " << lines << " were sent";
  inside_ = false;
  report_ = std::move(current_);
  current_ = {};
  return {};
}

Status ReportReader::accept(std::string_view kind, std::string_view text) {
  if (kind == "test") {
    Fields fields(text);
    SelfTest test;
    RUNNEL_TRY(fields.text("program", test.program));
    RUNNEL_TRY(fields.numbers({{"code", &test.code}}));
    RUNNEL_TRY(fields.all("said", test.said));
    self_test_ = std::move(test);
    return {};
  }
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& one) { return one.name == kind; });
  if (found == std::end(kKinds)) return Status(Code::invalid_data) << "an unknown kind \"" << kind << "\"";
  const int index = static_cast<int>(found - kKinds);
  if (index == 0) return begin(text);
  if (!inside_) {
    if (joins_) return {};
    return Status(Code::invalid_data) << "a line of kind " << kind << " before a report begins";
  }
  if (!follows(stage_, index))
    return Status(Code::invalid_data)
           << "a line of kind " << kind << " after one of kind " << kKinds[stage_].name;
  stage_ = index;
  ++lines_;
  if (kind == "end") return finish(text);
  Fields fields(text);
  RUNNEL_TRY(read_fields(kind, fields, current_));
  return fields.end();
}

Status ReportReader::line(std::string_view text) {
  ++number_;
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (!text.starts_with(kMark)) return {};
  const auto read = [&]() -> Status {
    const auto body = checked(text);
    // What was missed of the first line of a connection.
    if (!body.ok() && joins_ && !inside_ && number_ == 1) return {};
    if (!body.ok()) return body.status();
    const std::size_t space = std::min(body->find(' '), body->size());
    return accept(body->substr(0, space), body->substr(std::min(space + 1, body->size())));
  };
  const Status status = read();
  if (status.ok()) return status;
  return Status(status.code()) << "line " << number_ << ": " << status.text();
}

Status ReportReader::end() const {
  if (inside_)
    return Status(Code::invalid_data) << "the report of line " << begun_at_ << " stops before its end";
  if (report_) return {};
  return Status(Code::not_found, "no report of a device: no line begins with \"@runnel 1 begin\"");
}

}  // namespace runnel::device
