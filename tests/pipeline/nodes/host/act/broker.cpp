#include "tests/pipeline/nodes/host/act/broker.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include "pipeline/host/live/socket.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {

namespace fs = std::filesystem;

std::string broker_program() {
  for (const char* path : {"/usr/sbin/mosquitto", "/usr/bin/mosquitto", "/usr/local/sbin/mosquitto"}) {
    if (fs::exists(path)) return path;
  }
  return {};
}

std::string free_port() {
  const auto socket = listen_at(*SocketAddress::parse("tcp:127.0.0.1:0"));
  const std::string address = local_address(*socket);
  return address.substr(address.rfind(':') + 1);
}

Broker::Broker(const fs::path& folder) : folder_(folder), port_(free_port()) {
  fs::create_directories(folder / "data");
  std::ofstream(folder / "mosquitto.conf")
      << "per_listener_settings true\nlistener " << port_
      << " 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location "
      << (folder / "data").string()
      << "/\nautosave_on_changes true\nautosave_interval 1\nlog_dest none\nuser root\n";
}

std::string Broker::also_guarded(const std::string& password) {
  const auto tool = [](const std::vector<std::string>& call) {
    const auto said = runnel::test::run_program(call);
    EXPECT_EQ(said.exit_code, 0) << call[0] << ": " << said.err;
  };
  const std::string key = folder_ / "key.pem", users = folder_ / "users";
  tool({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker",
        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate()});
  tool({"mosquitto_passwd", "-b", "-c", users, "ears", password});
  const std::string port = free_port();
  std::ofstream(folder_ / "mosquitto.conf", std::ios::app)
      << "listener " << port << " 127.0.0.1\nallow_anonymous false\npassword_file " << users << "\ncertfile "
      << certificate() << "\nkeyfile " << key << "\n";
  return port;
}

void Broker::start() {
  child_ = fork();
  if (child_ == 0) {
    const std::string configuration = (folder_ / "mosquitto.conf").string();
    execl(broker_program().c_str(), "mosquitto", "-c", configuration.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  for (int i = 0; i < 1500; ++i) {
    if (connect_to(*SocketAddress::parse("tcp:127.0.0.1:" + port_), 1000).ok()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FAIL() << "the broker does not answer";
}

void Broker::kill_it() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  child_ = -1;
}

}  // namespace runnel::pipeline::test
