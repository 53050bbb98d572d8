// What one server keeps of a JetStream stream, read from its files and not by the server: each copy by
// itself, with all that is in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace runnel::apps::test {

struct Stored {
  std::uint64_t sequence = 0;
  std::int64_t time = 0;  // ns since 1970, as the leader said that proposed it
  std::string subject, headers, data;
};

// In the order of their sequences; what is damaged, or half written, ends a file.
std::vector<Stored> stored_messages(const std::filesystem::path& store, const std::string& stream);

// The messages of a stream's log of events with numbers near this one, whole, by each copy.
struct Copy {
  std::string server;
  std::vector<Stored> messages;
};
std::string near(const std::vector<Copy>& copies, const std::string& subject, std::uint64_t number);
// Of each copy: how many events it has, lacks before its last ones, and has more than once.
std::string compared(const std::vector<Copy>& copies);

}  // namespace runnel::apps::test
