// A small HTTP server on a free port of this machine, with the ways of failing that a download meets.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace runnel::models::test {

class FileServer {
 public:
  FileServer();
  ~FileServer();
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;

  [[nodiscard]] std::string address() const;  // "http://127.0.0.1:PORT"
  void give(const std::string& path, std::string content);
  // Closes each connection after so many bytes of a file; negative: never.
  void break_after(long bytes) { break_after_ = bytes; }
  // Answers with the whole file also where a part is asked for.
  void no_ranges() { ranges_ = false; }
  [[nodiscard]] int requests() const { return requests_; }
  // The header Range of the last request; empty: none.
  [[nodiscard]] std::string last_range();

 private:
  void serve();
  void answer(int client);

  int listener_ = -1, port_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::string> files_;
  std::string last_range_;
  std::atomic<long> break_after_{-1};
  std::atomic<bool> ranges_{true}, stop_{false};
  std::atomic<int> requests_{0};
  std::thread thread_;
};

}  // namespace runnel::models::test
