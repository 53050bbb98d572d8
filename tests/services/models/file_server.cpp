#include "tests/services/models/file_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace runnel::models::test {

FileServer::FileServer() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&place), size) != 0 || listen(listener_, 8) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size) != 0)
    throw std::runtime_error("no port for a server");
  port_ = ntohs(place.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FileServer::~FileServer() {
  stop_ = true;
  shutdown(listener_, SHUT_RDWR);  // wakes accept()
  thread_.join();
  close(listener_);
}

std::string FileServer::address() const { return "http://127.0.0.1:" + std::to_string(port_); }

void FileServer::give(const std::string& path, std::string content) {
  const std::lock_guard lock(mutex_);
  files_[path] = std::move(content);
}

std::string FileServer::last_range() {
  const std::lock_guard lock(mutex_);
  return last_range_;
}

void FileServer::serve() {
  while (!stop_) {
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) continue;
    answer(client);
    close(client);
  }
}

void FileServer::answer(int client) {
  std::string request;
  char piece[2048];
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t count = recv(client, piece, sizeof piece, 0);
    if (count <= 0) return;
    request.append(piece, static_cast<std::size_t>(count));
  }
  ++requests_;
  const std::size_t from = request.find(' ') + 1;
  const std::string path = request.substr(from, request.find(' ', from) - from);
  std::string range;
  if (const std::size_t at = request.find("Range: "); at != std::string::npos)
    range = request.substr(at + 7, request.find("\r\n", at) - at - 7);
  std::string content, status = "200 OK", headers;
  {
    const std::lock_guard lock(mutex_);
    last_range_ = range;
    const auto found = files_.find(path);
    if (found == files_.end())
      status = "404 Not Found";
    else
      content = found->second;
  }
  if (status.starts_with("200") && ranges_ && range.starts_with("bytes=")) {
    const std::size_t start = std::strtoul(range.c_str() + 6, nullptr, 10);
    const std::string size = std::to_string(content.size());
    if (start >= content.size()) {
      status = "416 Range Not Satisfiable";
      headers = "Content-Range: bytes */" + size + "\r\n";
      content.clear();
    } else {
      status = "206 Partial Content";
      headers = "Content-Range: bytes " + std::to_string(start) + "-" + std::to_string(content.size() - 1) +
                "/" + size + "\r\n";
      content.erase(0, start);
    }
  }
  std::string answer = "HTTP/1.1 " + status +
                       "\r\nConnection: close\r\nContent-Length: " + std::to_string(content.size()) + "\r\n" +
                       headers + "\r\n";
  const long most = break_after_;
  if (most >= 0) content.resize(std::min(content.size(), static_cast<std::size_t>(most)));
  answer += content;
  for (std::string_view rest = answer; !rest.empty();) {
    const ssize_t count = send(client, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace runnel::models::test
