// Payloads of the Ethos-U's driver, command by command: registers keep their codes, or get others of the same
// width.
#include <algorithm>
#include <cstring>

#include "npu/payload.h"
#include "tests/robustness/structure/structure.h"

namespace runnel::test {
namespace {

using Span = std::span<const std::byte>;

// One word, or two: bit 14 says so.
struct Command {
  std::uint32_t word = 0, payload = 0;
  [[nodiscard]] bool is_long() const { return (word & 0x4000) != 0; }
  [[nodiscard]] bool sets() const { return is_long() || (word & 0x3ff) >= 0x100; }
};
using Commands = std::vector<Command>;

Commands commands_of(const npu::Words& words) {
  Commands commands;
  for (std::size_t i = 0; i < words.size(); ++i) {
    Command command{words[i]};
    if (command.is_long() && i + 1 < words.size()) command.payload = words[++i];
    commands.push_back(command);
  }
  return commands;
}

void append(Bytes& to, std::uint32_t word) {
  const std::size_t at = to.size();
  to.resize(at + 4);
  std::memcpy(to.data() + at, &word, 4);
}

void put(Bytes& to, std::size_t word, std::size_t value) {
  const auto number = static_cast<std::uint32_t>(value);
  if (to.size() >= 4 * word + 4) std::memcpy(to.data() + 4 * word, &number, 4);
}

// The code of another command in this stream of the same width, or any of the registers.
std::uint32_t another_code(const Commands& from, bool is_long, Random& random) {
  for (int tries = 0; tries < 8 && !random.one_in(4); ++tries) {
    const Command& command = from[random.below(from.size())];
    if (command.is_long() == is_long) return command.word & 0x3ff;
  }
  return static_cast<std::uint32_t>(is_long            ? random.below(0xa0)
                                    : random.one_in(4) ? random.below(0x20)
                                                       : 0x100 + random.below(0x100));
}

void change(Commands& commands, const Commands& other, Random& random) {
  if (commands.empty()) return;
  const std::size_t at = random.below(commands.size());
  const auto place = commands.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random.below(14)) {
    case 0:
      commands.erase(place);
      return;
    case 1: {
      const Command copy = *place;
      commands.insert(place, copy);
      return;
    }
    case 2:
      std::swap(commands[at], random.pick(commands));
      return;
    case 3: {  // a run from elsewhere
      const std::size_t from = random.below(other.size()),
                        count = std::min(other.size() - from, 1 + random.below(40));
      const Commands run(other.begin() + static_cast<std::ptrdiff_t>(from),
                         other.begin() + static_cast<std::ptrdiff_t>(from + count));
      commands.insert(place, run.begin(), run.end());
      return;
    }
    case 4:
      place->word = (place->word & ~0x3ffU) | another_code(commands, place->is_long(), random);
      return;
    case 5: {  // a command that computes, moves or waits
      static constexpr std::uint32_t kOperations[] = {0, 1, 2, 3, 5, 6, 7, 0x10, 0x11, 0x12, 0x13};
      commands.insert(place, {random.pick(kOperations) | static_cast<std::uint32_t>(random.below(4)) << 16});
      return;
    }
    case 6:
      commands.resize(random.one_in(4) ? at : commands.size());
      return;
    default:
      break;
  }
  // A register's value; long ones have 16 bits in the first word, too.
  if (place->is_long() && !random.one_in(4)) {
    const std::size_t width = random.below(3);
    const std::uint32_t mask = width == 0 ? 0xffU : width == 1 ? 0xffffU : 0xffffffffU;
    place->payload =
        (place->payload & ~mask) | (static_cast<std::uint32_t>(random.nasty(place->payload)) & mask);
  } else {
    const auto value =
        static_cast<std::uint32_t>(random.one_in(3) ? std::uint64_t{1} << random.below(16) ^ place->word >> 16
                                                    : random.nasty(place->word >> 16));
    place->word = (place->word & 0xffffU) | value << 16;
  }
}

}  // namespace

std::optional<Bytes> change_npu_stream(Span file, Span other, Random& random) {
  const auto payload = npu::read_payload(file);
  if (!payload.ok() || payload->commands.size() > (std::size_t{1} << 18)) return std::nullopt;
  Commands commands = commands_of(payload->commands);
  Commands second;
  if (random.one_in(4)) {
    const auto from = npu::read_payload(other);
    if (from.ok()) second = commands_of(from->commands);
  }
  if (second.empty()) second = commands;
  if (second.empty()) return std::nullopt;
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) change(commands, second, random);
  Bytes words;
  for (const Command& command : commands) {
    append(words, command.word);
    if (command.is_long()) append(words, command.payload);
  }
  const std::size_t first = 4 * payload->first_command, length = 4 * payload->commands.size();
  Bytes made(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(first));
  made.insert(made.end(), words.begin(), words.end());
  made.insert(made.end(), file.begin() + static_cast<std::ptrdiff_t>(first + length), file.end());
  // Lengths: COP2 counts bytes in its head and its entry, COP1 words in the action before the stream.
  if (std::memcmp(made.data(), "COP2", 4) == 0) {
    std::size_t whole = made.size();
    if (random.one_in(40)) whole = static_cast<std::size_t>(random.nasty(whole));
    put(made, 2, whole - 16);
    put(made, 5, whole - 24);
  } else {
    std::size_t count = words.size() / 4;
    if (random.one_in(40)) count = static_cast<std::size_t>(random.nasty(count));
    put(made, payload->first_command - 1, 2 | (count >> 16 & 0xff) << 8 | (count & 0xffff) << 16);
  }
  // The configuration of another product.
  if (random.one_in(60)) put(made, 2, static_cast<std::size_t>(random.next()));
  return made;
}

}  // namespace runnel::test
