#include "tests/apps/fleet/stored.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "services/fleet/events/reader.h"
#include "services/fleet/nats/jetstream.h"

namespace runnel::apps::test {
namespace {

// A record of nats-server 2.9: length, of which the highest bit says that there are headers; sequence; time;
// length of the subject; subject; length of the headers; headers; data; checksum.
constexpr std::size_t kHead = 22, kChecksum = 8;
constexpr std::uint32_t kHasHeaders = 0x80000000;
constexpr std::uint64_t kErased = std::uint64_t{1} << 63;

template <class T>
T at(const std::string& bytes, std::size_t place) {
  T out;
  std::memcpy(&out, bytes.data() + place, sizeof out);
  return out;
}

void read_file(const std::filesystem::path& path, std::vector<Stored>& out) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  for (std::size_t begin = 0; begin + kHead + kChecksum <= bytes.size();) {
    const auto word = at<std::uint32_t>(bytes, begin);
    const std::size_t length = word & ~kHasHeaders, end = begin + length;
    if (length < kHead + kChecksum || end > bytes.size()) return;
    Stored one;
    one.sequence = at<std::uint64_t>(bytes, begin + 4);
    one.time = at<std::int64_t>(bytes, begin + 12);
    const std::size_t subject = at<std::uint16_t>(bytes, begin + 20);
    std::size_t place = begin + kHead + subject;
    if (place + 4 + kChecksum > end) return;
    one.subject = bytes.substr(begin + kHead, subject);
    if ((word & kHasHeaders) != 0) {
      const std::size_t headers = at<std::uint32_t>(bytes, place);
      place += 4;
      if (headers > end - kChecksum - place) return;
      one.headers = bytes.substr(place, headers);
      place += headers;
    }
    one.data = bytes.substr(place, end - kChecksum - place);
    if (one.sequence != 0 && (one.sequence & kErased) == 0) out.push_back(std::move(one));
    begin = end;
  }
}

std::uint64_t number_of(const Stored& one) { return fleet::event_number(fleet::headers_in(one.headers)); }

}  // namespace

std::vector<Stored> stored_messages(const std::filesystem::path& store, const std::string& stream) {
  std::vector<Stored> out;
  std::error_code none;
  for (const auto& one :
       std::filesystem::directory_iterator(store / "jetstream/$G/streams" / stream / "msgs", none))
    if (one.path().extension() == ".blk") read_file(one.path(), out);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  return out;
}

std::string near(const std::vector<Copy>& copies, const std::string& subject, std::uint64_t number) {
  std::string out;
  for (const Copy& copy : copies) {
    out += "copy of " + copy.server + ":\n";
    for (const Stored& one : copy.messages) {
      const std::uint64_t its = number_of(one);
      if (one.subject != subject || its + 2 < number || its > number + 2) continue;
      out += "  " + std::to_string(one.sequence) + " at " + std::to_string(one.time);
      for (const auto& [name, value] : fleet::headers_in(one.headers))
        out.append(", ") += name + ": " + value;
      out += "\n    " + one.data + '\n';
    }
  }
  return out;
}

std::string compared(const std::vector<Copy>& copies) {
  std::string out;
  for (const Copy& copy : copies) {
    std::map<std::string, std::set<std::uint64_t>> numbers;
    std::size_t doubled = 0, lacks = 0;
    for (const Stored& one : copy.messages)
      if (!numbers[one.subject].insert(number_of(one)).second) ++doubled;
    for (const auto& [subject, its] : numbers) lacks += *its.rbegin() - its.size();
    out += (out.empty() ? "" : "; ") + copy.server + " has " + std::to_string(copy.messages.size()) +
           " messages, " + std::to_string(doubled) + " twice, lacks " + std::to_string(lacks);
  }
  return out;
}

}  // namespace runnel::apps::test
