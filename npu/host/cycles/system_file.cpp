#include "npu/host/cycles/system_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/from_chars.h"

namespace runnel::npu {
namespace {

constexpr std::string_view kSystem = "System_Config.", kMode = "Memory_Mode.";
constexpr std::size_t kMostLines = 10000;

struct Memory {
  std::string_view name;
  MemoryArea area;
};
constexpr Memory kMemories[] = {{"Sram", MemoryArea::sram},
                                {"Dram", MemoryArea::dram},
                                {"OnChipFlash", MemoryArea::on_chip_flash},
                                {"OffChipFlash", MemoryArea::off_chip_flash}};

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

struct Entry {
  std::string_view value;
  std::size_t line = 0;
  mutable bool used = false;
};
struct Section {
  std::size_t line = 0;
  std::map<std::string_view, Entry> entries;
};

Status at(std::size_t line) { return Status(Code::invalid_data) << "line " << line << ": "; }

class Reader {
 public:
  explicit Reader(const Section& section) : section_(section) {}

  [[nodiscard]] bool has(std::string_view key) const { return section_.entries.contains(key); }
  Result<std::string_view> text(std::string_view key) const {
    const auto found = section_.entries.find(key);
    if (found == section_.entries.end()) return at(section_.line) << "the section has no " << key;
    found->second.used = true;
    return found->second.value;
  }
  Result<double> number(std::string_view key, double low, double high) const {
    RUNNEL_ASSIGN(const std::string_view value, text(key));
    double number = 0;
    const auto [end, error] = from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number >= low && number <= high)
      return number;
    Status status = at(section_.entries.at(key).line);
    status << key << " is \"" << value << "\", expected ";
    if (low > 0 && low < 1)
      status << "a positive number up to ";
    else
      status << static_cast<std::int64_t>(low) << " to ";
    return status << static_cast<std::int64_t>(high);
  }
  Result<int> integer(std::string_view key, int low, int high, std::optional<int> otherwise = {}) const {
    if (otherwise && !has(key)) return *otherwise;
    RUNNEL_ASSIGN(const double value, number(key, low, high));
    if (value != std::floor(value)) return at(section_.entries.at(key).line) << key << " is no whole number";
    return static_cast<int>(value);
  }
  Status all_used() const {
    for (const auto& [key, entry] : section_.entries) {
      if (!entry.used) return at(entry.line) << "unknown or unneeded setting \"" << key << '"';
    }
    return {};
  }

 private:
  const Section& section_;
};

Result<MemoryTiming> timing_of(const Reader& reader, std::string_view memory) {
  const auto key = [&](const char* what) { return std::string(memory) + what; };
  constexpr int kMostBurst = 4096, kMostLatency = 1'000'000, kMostPorts = 16, kMostRequests = 1024;
  MemoryTiming out;
  RUNNEL_ASSIGN(out.clock_scale, reader.number(key("_clock_scale"), 1.0 / 4096, 64));
  RUNNEL_ASSIGN(out.burst, reader.integer(key("_burst_length"), 1, kMostBurst));
  RUNNEL_ASSIGN(out.read_latency, reader.integer(key("_read_latency"), 0, kMostLatency));
  RUNNEL_ASSIGN(out.write_latency, reader.integer(key("_write_latency"), 0, kMostLatency, out.read_latency));
  RUNNEL_ASSIGN(out.ports, reader.integer(key("_ports"), 1, kMostPorts, 1));
  RUNNEL_ASSIGN(out.reads, reader.integer(key("_max_reads"), 1, kMostRequests, 8));
  RUNNEL_ASSIGN(out.writes, reader.integer(key("_max_writes"), 0, kMostRequests, out.reads));
  return out;
}

// "Axi0" is the port of the SRAM, "Axi1" that of the second memory.
Result<bool> outside(const Reader& reader, std::string_view key, std::size_t line) {
  RUNNEL_ASSIGN(const std::string_view port, reader.text(key));
  if (port == "Axi0") return false;
  if (port == "Axi1") return true;
  return at(line) << key << " is \"" << port << "\", expected Axi0 or Axi1";
}

}  // namespace

Status SystemFile::read(std::string_view given) {
  // The text is kept: names and values are parts of it.
  const std::string_view text = names_.emplace_back(given);
  std::vector<std::pair<std::string_view, Section>> sections;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    if (++line > kMostLines) return at(line) << "more than " << kMostLines << " lines";
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view row = text.substr(begin, end - begin);
    begin = end + 1;
    row = trimmed(row.substr(0, std::min(row.find(';'), row.find('#'))));
    if (row.empty()) continue;
    if (row.front() == '[') {
      if (row.back() != ']') return at(line) << "a section without ]";
      const std::string_view name = trimmed(row.substr(1, row.size() - 2));
      const bool known = (name.starts_with(kSystem) && name.size() > kSystem.size()) ||
                         (name.starts_with(kMode) && name.size() > kMode.size());
      if (!known)
        return at(line) << "section \"" << name << "\", expected System_Config.NAME or Memory_Mode.NAME";
      for (const auto& [other, section] : sections) {
        if (other == name) return at(line) << "section \"" << name << "\" for the second time";
      }
      sections.push_back({name, {line, {}}});
      continue;
    }
    const std::size_t equals = row.find('=');
    if (equals == std::string_view::npos || sections.empty())
      return at(line) << '"' << row << "\", expected " << (sections.empty() ? "[SECTION]" : "NAME = VALUE");
    const std::string_view key = trimmed(row.substr(0, equals));
    if (!sections.back().second.entries.try_emplace(key, Entry{trimmed(row.substr(equals + 1)), line}).second)
      return at(line) << '"' << key << "\" for the second time";
  }
  // A section takes the settings that it does not have from an earlier one.
  for (std::size_t i = 0; i < sections.size(); ++i) {
    auto& entries = sections[i].second.entries;
    const auto inherited = entries.find("inherit");
    if (inherited == entries.end()) continue;
    const auto from = std::find_if(sections.begin(), sections.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const auto& other) { return other.first == inherited->second.value; });
    if (from == sections.begin() + static_cast<std::ptrdiff_t>(i))
      return at(inherited->second.line)
             << "inherits from \"" << inherited->second.value << "\", expected an earlier section";
    entries.erase(inherited);
    entries.insert(from->second.entries.begin(), from->second.entries.end());
  }
  for (const auto& [name, section] : sections) {
    const Reader reader(section);
    if (name.starts_with(kSystem)) {
      SystemConfiguration system{};
      system.name = name.substr(kSystem.size());
      RUNNEL_ASSIGN(system.clock, reader.number("core_clock", 1e3, 1e11));
      RUNNEL_ASSIGN(const std::string_view first, reader.text("axi0_port"));
      if (first != "Sram") return at(section.line) << "axi0_port is \"" << first << "\", expected Sram";
      RUNNEL_ASSIGN(const std::string_view second, reader.text("axi1_port"));
      RUNNEL_ASSIGN(system.sram, timing_of(reader, "Sram"));
      system.second = MemoryArea::internal;
      for (const Memory& memory : kMemories) {
        if (memory.name == second && memory.area != MemoryArea::sram) system.second = memory.area;
      }
      if (system.second == MemoryArea::internal)
        return at(section.line) << "axi1_port is \"" << second
                                << "\", expected Dram, OnChipFlash or OffChipFlash";
      RUNNEL_ASSIGN(system.other, timing_of(reader, second));
      RUNNEL_TRY(reader.all_used());
      systems_.push_back(system);
      continue;
    }
    MemoryMode mode{};
    mode.name = name.substr(kMode.size());
    RUNNEL_ASSIGN(mode.constants_outside, outside(reader, "const_mem_area", section.line));
    RUNNEL_ASSIGN(mode.arena_outside, outside(reader, "arena_mem_area", section.line));
    RUNNEL_ASSIGN(const bool cache_outside, outside(reader, "cache_mem_area", section.line));
    if (cache_outside) return at(section.line) << "cache_mem_area is Axi1, expected Axi0";
    constexpr int kMostCache = 1 << 30;
    const char* const size = reader.has("arena_cache_size") ? "arena_cache_size" : "cache_size";
    const std::optional<int> none = mode.arena_outside ? std::optional<int>() : std::optional<int>(0);
    RUNNEL_ASSIGN(mode.cache, reader.integer(size, 0, kMostCache, none));
    RUNNEL_TRY(reader.all_used());
    modes_.push_back(mode);
  }
  return {};
}

Result<const SystemConfiguration*> SystemFile::find_system(std::string_view name) const {
  for (const SystemConfiguration& system : systems_) {
    if (name.empty() ? systems_.size() == 1 : system.name == name) return &system;
  }
  Status status(Code::not_found);
  status << (name.empty() ? "the file has several system configurations, expected FILE:NAME with one of"
                          : "no system configuration of that name, expected one of");
  if (systems_.empty()) return Status(Code::not_found) << "the file has no section [System_Config.NAME]";
  for (const SystemConfiguration& system : systems_) status << ' ' << system.name;
  return status;
}

const MemoryMode* SystemFile::find_mode(std::string_view name) const {
  for (const MemoryMode& mode : modes_) {
    if (mode.name == name) return &mode;
  }
  return nullptr;
}

}  // namespace runnel::npu
