#include "tests/services/fleet/nats/nats_server.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

extern char** environ;

namespace runnel::fleet::test {

std::unique_ptr<NatsServer> NatsServer::start(std::string& why, const std::string& more,
                                              const std::string& store) {
  if (::access("/usr/sbin/nats-server", X_OK) != 0 && ::access("/usr/bin/nats-server", X_OK) != 0) {
    why = "nats-server is not installed (Debian package nats-server)";
    return nullptr;
  }
  std::unique_ptr<NatsServer> server(new NatsServer);
  std::ofstream(server->folder_.path() / "server.conf")
      << "listen: \"127.0.0.1:-1\"\njetstream {store_dir: \"" << (server->folder_.path() / "store").string()
      << "\" " << store << "}\nports_file_dir: \"" << server->folder_.path().string()
      << "\"\nmax_payload: 2MB\n"
      << more;
  if (!server->run()) {
    std::ifstream log(server->folder_.path() / "server.log");
    why = "nats-server does not start: " + std::string(std::istreambuf_iterator<char>(log), {});
    return nullptr;
  }
  return server;
}

NatsServer::~NatsServer() { kill(); }

std::string NatsServer::log() const {
  std::ifstream file(folder_.path() / "server.log");
  return {std::istreambuf_iterator<char>(file), {}};
}

void NatsServer::kill() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

void NatsServer::stop() const { ::kill(process_, SIGSTOP); }
void NatsServer::go_on() const { ::kill(process_, SIGCONT); }

bool NatsServer::restart() {
  kill();
  return run();
}

// The port is chosen by the server at its first start, and written into a file.
bool NatsServer::run() {
  const std::filesystem::path folder = folder_.path();
  const std::string configuration = (folder / "server.conf").string(), log = (folder / "server.log").string(),
                    port = std::to_string(port_);
  std::vector<const char*> words = {"nats-server", "-c", configuration.c_str(), "-l", log.c_str()};
  if (port_ != 0) words.insert(words.end(), {"-p", port.c_str()});
  words.push_back(nullptr);
  for (const auto& one : std::filesystem::directory_iterator(folder))
    if (one.path().extension() == ".ports") std::filesystem::remove(one.path());
  const char* const path =
      ::access("/usr/sbin/nats-server", X_OK) == 0 ? "/usr/sbin/nats-server" : "/usr/bin/nats-server";
  if (::posix_spawn(&process_, path, nullptr, nullptr, const_cast<char**>(words.data()), environ) != 0)
    return false;
  for (int i = 0; i < 1000; ++i) {
    for (const auto& one : std::filesystem::directory_iterator(folder)) {
      if (one.path().extension() != ".ports") continue;
      std::ifstream file(one.path());
      const std::string text(std::istreambuf_iterator<char>(file), {});
      // "nats": ["nats://127.0.0.1:4222"], or tls://
      const std::string host = "://127.0.0.1:";
      const std::size_t list = text.find("\"nats\""),
                        at = list == std::string::npos ? list : text.find(host, list);
      if (at == std::string::npos) continue;
      port_ = std::atoi(text.c_str() + at + host.size());
      if (port_ > 0) return true;
    }
    if (::waitpid(process_, nullptr, WNOHANG) != 0) {
      process_ = -1;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace runnel::fleet::test
