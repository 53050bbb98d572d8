#include "pipeline/host/live/iio_layout.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>

#include "base/from_chars.h"
#include "base/number_text.h"

namespace runnel::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxElements = 1024;

// The only line of a sysfs file; empty: the file does not exist.
std::string line_of(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  line.resize(std::min<std::size_t>(line.size(), 100));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
  return line;
}

Status wrong(const fs::path& path, std::string_view expected, std::string_view found) {
  return Status(Code::invalid_data) << path.string() << ": expected " << expected << ", found '" << found
                                    << '\'';
}

// The number in a file; `otherwise` if the file does not exist.
Result<double> number_of(const fs::path& path, double otherwise) {
  const std::string line = line_of(path);
  if (line.empty() && !fs::exists(path)) return otherwise;
  double value = 0;
  const auto [end, error] = runnel::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc() || end != line.data() + line.size() || !std::isfinite(value))
    return wrong(path, "a number", line);
  return value;
}

// Reads a whole number from the front of `text`.
bool take_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

Status read_format(const fs::path& path, IioElement& element) {
  const std::string line = line_of(path);
  std::string_view text = line;
  int storage = 0;
  element.big_endian = text.starts_with("be:");
  bool sound = take(text, element.big_endian ? "be:" : "le:");
  element.is_signed = text.starts_with('s');
  sound = sound && take(text, element.is_signed ? "s" : "u") && take_number(text, element.bits) &&
          take(text, "/") && take_number(text, storage);
  if (sound && text.starts_with('X'))
    return Status(Code::unsupported) << path.string() << ": '" << line
                                     << "' has several values in one element, which are not read";
  sound = sound && take(text, ">>") && take_number(text, element.shift) && text.empty();
  if (!sound) return wrong(path, "a format as le:s12/16>>4", line);
  if ((storage != 8 && storage != 16 && storage != 32 && storage != 64) || element.bits < 1 ||
      element.bits > storage || element.shift > storage - element.bits) {
    return Status(Code::unsupported) << path.string()
                                     << ": expected 8, 16, 32 or 64 bits that hold the value, found '" << line
                                     << '\'';
  }
  element.bytes = static_cast<std::size_t>(storage) / 8;
  return {};
}

// "in_accel_x" and "in_voltage2_supply" share "in_accel" and "in_voltage" with others of their kind,
// "in_voltage0-voltage1" "in_voltage-voltage" with other differences.
std::string kind_of(std::string_view name) {
  std::string kind(name.substr(0, name.find('_', name.find('_') + 1)));
  std::erase_if(kind, [](char letter) { return letter >= '0' && letter <= '9'; });
  return kind;
}

Result<double> attribute(const fs::path& device, const std::string& name, const char* what,
                         double otherwise) {
  RUNNEL_ASSIGN(const double shared, number_of(device / (kind_of(name) + what), otherwise));
  return number_of(device / (name + what), shared);
}

Status read_element(const fs::path& device, const fs::path& elements, const std::string& name,
                    IioElement& element) {
  element.name = name;
  RUNNEL_TRY(read_format(elements / (name + "_type"), element));
  const fs::path index = elements / (name + "_index");
  RUNNEL_ASSIGN(const double order, number_of(index, -1));
  if (order < 0 || order >= static_cast<double>(kMaxElements))
    return wrong(index, "a number from 0 to 1023", line_of(index));
  element.index = static_cast<std::int64_t>(order);
  if (name == "in_timestamp") return {};
  RUNNEL_ASSIGN(element.scale, attribute(device, name, "_scale", 1));
  RUNNEL_ASSIGN(element.offset, attribute(device, name, "_offset", 0));
  const double largest =
      (std::ldexp(1.0, element.bits) + std::fabs(element.offset)) * std::fabs(element.scale);
  if (largest <= static_cast<double>(std::numeric_limits<float>::max())) return {};
  return Status(Code::invalid_data) << device.string() << ": the scale and the offset of " << name
                                    << " give values up to " << shortest_text(largest).view()
                                    << ", expected such that fit into float32";
}

constexpr std::size_t aligned(std::size_t place, std::size_t to) { return (place + to - 1) / to * to; }

}  // namespace

std::int64_t IioElement::raw(std::span<const std::byte> scan) const noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    word |= static_cast<std::uint64_t>(scan[place + (big_endian ? bytes - 1 - i : i)]) << (8 * i);
  // Shifts to the top, and back with sign extension.
  word <<= 64 - bits - shift;
  return is_signed ? static_cast<std::int64_t>(word) >> (64 - bits)
                   : static_cast<std::int64_t>(word >> (64 - bits));
}

double IioElement::value(std::span<const std::byte> scan) const noexcept {
  const std::int64_t found = raw(scan);
  return ((is_signed ? static_cast<double>(found) : static_cast<double>(static_cast<std::uint64_t>(found))) +
          offset) *
         scale;
}

Result<IioLayout> read_iio_layout(const fs::path& device) {
  IioLayout layout;
  std::error_code error;
  // Kernels since 5.11 have both; the older names refer to the first buffer.
  const bool older = fs::is_directory(device / "scan_elements", error);
  const fs::path elements = device / (older ? "scan_elements" : "buffer0");
  layout.enable = device / (older ? "buffer" : "buffer0") / "enable";
  std::vector<std::string> names;
  for (fs::directory_iterator at(elements, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.size() > 3 && name.ends_with("_en") && names.size() < kMaxElements)
      names.push_back(name.substr(0, name.size() - 3));
  }
  if (names.empty())
    return Status(Code::not_found) << device.string()
                                   << ": is not an IIO device with a buffer (no files scan_elements/*_en)";
  for (const std::string& name : names) {
    const std::string enabled = line_of(elements / (name + "_en"));
    if (enabled == "0") continue;
    if (enabled != "1") return wrong(elements / (name + "_en"), "0 or 1", enabled);
    IioElement element;
    RUNNEL_TRY(read_element(device, elements, name, element));
    layout.channels.push_back(std::move(element));
  }
  std::sort(layout.channels.begin(), layout.channels.end(), [](const IioElement& a, const IioElement& b) {
    return a.index < b.index || (a.index == b.index && a.name < b.name);
  });
  // Each element is aligned to its size, and a scan to the largest size.
  std::size_t largest = 1;
  for (IioElement& element : layout.channels) {
    element.place = aligned(layout.scan_bytes, element.bytes);
    layout.scan_bytes = element.place + element.bytes;
    largest = std::max(largest, element.bytes);
  }
  layout.scan_bytes = aligned(layout.scan_bytes, largest);
  const auto time = std::find_if(layout.channels.begin(), layout.channels.end(),
                                 [](const IioElement& element) { return element.name == "in_timestamp"; });
  if (time != layout.channels.end()) {
    layout.time = std::move(*time);
    layout.channels.erase(time);
    if (layout.time.bytes != 8)
      return wrong(elements / "in_timestamp_type", "64 bits", line_of(elements / "in_timestamp_type"));
  }
  if (layout.channels.empty())
    return Status(Code::invalid_data) << device.string() << ": no element is enabled; write 1 into "
                                      << (elements / (names.front() + "_en")).string() << " or others";
  RUNNEL_ASSIGN(const double own, attribute(device, layout.channels.front().name, "_sampling_frequency", 0));
  RUNNEL_ASSIGN(layout.rate, number_of(device / "sampling_frequency", own));
  return layout;
}

}  // namespace runnel::pipeline
