#include "services/device/read_report.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <istream>
#include <system_error>

#include "base/host/read_line.h"
#include "services/device/serial_line.h"

namespace runnel::device {
namespace {

Status read_lines(std::istream& in, ReportReader& reader) {
  for (std::string line;;) {
    RUNNEL_ASSIGN(const bool more, read_line(in, line));
    if (!more) break;
    RUNNEL_TRY(reader.line(line));
  }
  if (in.bad()) return Status(Code::io_error, "cannot be read");
  return reader.end();
}

Status read_serial(const Source& source, ReportReader& reader) {
  RUNNEL_ASSIGN(SerialLine line, SerialLine::open(source.path, source.baud));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(source.seconds);
  for (std::string text; !reader.report();) {
    RUNNEL_ASSIGN(const bool more, line.read(text, deadline));
    if (more) {
      RUNNEL_TRY(reader.line(text));
      continue;
    }
    if (line.closed()) return Status(Code::not_found, "the line was closed before a whole report arrived");
    return Status(Code::not_found) << "no whole report in " << source.seconds << " s, at " << source.baud
                                   << " bits per second";
  }
  return {};
}

Status read(const Source& source, ReportReader& reader) {
  if (source.path == "-") return read_lines(std::cin, reader);
  if (is_serial_line(source.path)) return read_serial(source, reader);
  std::error_code error;
  if (std::filesystem::is_directory(source.path, error))
    return Status(Code::invalid_argument, "a folder, expected a file or a serial line");
  std::ifstream in(source.path, std::ios::binary);
  if (!in) return Status(Code::not_found, "cannot be opened");
  return read_lines(in, reader);
}

}  // namespace

Result<Received> read_report(const Source& source) {
  ReportReader reader(source.path != "-" && is_serial_line(source.path));
  if (const Status status = read(source, reader); !status.ok()) {
    // Failures of opening name the path themselves.
    const bool named = status.text().substr(0, source.path.size()) == source.path;
    return named ? status : status.at(source.path == "-" ? "stdin" : source.path);
  }
  return Received{*reader.report(), reader.self_test()};
}

}  // namespace runnel::device
