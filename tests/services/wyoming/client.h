// A client of the Wyoming protocol that follows its description line by line, with nothing of the server's
// code.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace runnel::wyoming::test {

using Json = nlohmann::json;

struct Event {
  std::string type;
  Json data;
  std::string payload;
};

// Failures of the system and answers that are not of the protocol are failures of the test.
class Client {
 public:
  // Of 127.0.0.1.
  explicit Client(int port);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // False when the server has hung up.
  bool send_bytes(const std::string& bytes);
  bool send(const std::string& type, const Json& data = Json::object(), const std::string& payload = {});
  // As some clients do: data within the line.
  bool send_inline(const std::string& type, const Json& data, const std::string& payload = {});
  // "audio-start", the samples in chunks of `count` values, and "audio-stop".
  bool send_sound(const std::vector<std::int16_t>& samples, std::size_t count = 1024, int rate = 16000,
                  int channels = 1, std::int64_t timestamp = 0);
  void close_sending();
  // Resets the connection.
  void vanish();

  // The next event; none at the end of the connection. A failure after twenty seconds.
  std::optional<Event> receive();
  // The next event, which has this type.
  Event expect(const std::string& type);
  // All events up to and with the first of these types, or to the end of the connection.
  std::vector<Event> until(const std::vector<std::string>& types);

 private:
  bool fill();
  int fd_ = -1;
  std::string unread_;
};

// The message as bytes, with data and payload after its line.
std::string message(const std::string& type, const Json& data = Json::object(),
                    const std::string& payload = {});
std::string bytes_of(const std::vector<std::int16_t>& samples, std::size_t first, std::size_t count);
// The records of runnel in detections, as lines whose source is `source`.
std::vector<std::string> records_in(const std::vector<Event>& events, const std::string& source);

}  // namespace runnel::wyoming::test
