// A WebSocket that is a client of a server of streams.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "services/net/web_socket.h"
#include "services/serve/server.h"

namespace runnel::serve {

// The first message is the greeting, a JSON object; then each binary message is samples, and
// {"type":"end"}, an empty binary message or a closing frame ends the stream. Each line of the server is a
// text. While the server takes nothing, the WebSocket is not read.
class StreamSocket final : public net::SocketPeer {
 public:
  // Connects; the HTTP request has shown the token already. `ended`: called when the connection is over. Null
  // with a sentence where the server cannot be reached.
  static std::unique_ptr<StreamSocket> open(Server& server, std::function<void()> ended,
                                            std::string& refusal);
  ~StreamSocket() override;
  StreamSocket(const StreamSocket&) = delete;
  StreamSocket& operator=(const StreamSocket&) = delete;

  [[nodiscard]] Interest interest() const override;
  [[nodiscard]] bool takes_messages() const override { return pending_.empty(); }
  void heard(bool is_text, std::string_view message, net::SocketOut& out) override;
  void work(net::SocketOut& out) override;

 private:
  StreamSocket(int fd, std::function<void()> ended) : fd_(fd), ended_(std::move(ended)) {}
  void pass_on(std::string_view message);
  bool write_some();

  int fd_;
  std::function<void()> ended_;
  bool greeted_ = false;
  bool answers_wait_ = false;  // the client has enough unsent
  std::string pending_;        // for the server
  std::string line_;           // of the server, incomplete
  bool failed_ = false;        // the last line was an error
};

}  // namespace runnel::serve
