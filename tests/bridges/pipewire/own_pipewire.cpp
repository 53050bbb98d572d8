#include "tests/bridges/pipewire/own_pipewire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace runnel::bridges::test {
namespace fs = std::filesystem;
namespace {

constexpr const char* kConfiguration = R"(
context.properties = {
    core.daemon = true
    core.name   = pipewire-0
    default.clock.rate = 16000
    default.clock.allowed-rates = [ 16000 ]
    default.clock.quantum = 8192
    default.clock.min-quantum = 8192
    default.clock.max-quantum = 8192
    support.dbus = false
    mem.allow-mlock = false
}
context.spa-libs = {
    audio.convert.* = audioconvert/libspa-audioconvert
    support.*       = support/libspa-support
}
context.modules = [
    { name = libpipewire-module-protocol-native }
    { name = libpipewire-module-metadata }
    { name = libpipewire-module-spa-node-factory }
    { name = libpipewire-module-client-node }
    { name = libpipewire-module-access }
    { name = libpipewire-module-adapter }
    { name = libpipewire-module-link-factory }
]
context.objects = [
    { factory = metadata args = { metadata.name = default } }
    { factory = spa-node-factory
      args = { factory.name = support.node.driver node.name = Dummy-Driver node.group = pipewire.dummy priority.driver = 20000 } }
    { factory = adapter
      args = { factory.name = support.null-audio-sink node.name = room node.description = "A room" media.class = Audio/Sink
               audio.position = [ MONO ] } }
]
)";

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

std::string pw_link(const std::vector<std::string>& arguments, int& code) {
  std::vector<std::string> call = {RUNNEL_PW_LINK};
  call.insert(call.end(), arguments.begin(), arguments.end());
  const runnel::test::Output output = runnel::test::run_program(call, 30);
  code = output.exit_code;
  return output.out;
}

}  // namespace

bool soon(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

std::string text_in(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Beside::Beside(const std::vector<std::string>& call, const fs::path& out, const fs::path& err) {
  std::vector<char*> arguments;
  for (const std::string& word : call) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  process_ = fork();
  if (process_ != 0) return;
  for (const auto& [file, number] : {std::pair(&out, 1), std::pair(&err, 2)}) {
    const int opened = open(file->c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(opened, number);
  }
  execv(arguments[0], arguments.data());
  _exit(127);
}

Beside::~Beside() {
  if (!runs()) return;
  ::kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Beside::signal(int number) const {
  if (process_ > 0) ::kill(process_, number);
}

bool Beside::runs() {
  int status = 0;
  if (process_ <= 0 || waitpid(process_, &status, WNOHANG) == 0) return process_ > 0;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  process_ = -1;
  return false;
}

int Beside::wait() {
  EXPECT_TRUE(soon([this] { return !runs(); }));
  return code_;
}

OwnPipeWire::OwnPipeWire() {
  std::ofstream(folder() / "own.conf") << kConfiguration;
  set("XDG_RUNTIME_DIR", folder().string());
  set("PIPEWIRE_RUNTIME_DIR", folder().string());
  set("PIPEWIRE_PROPS",
      "{ adapter.auto-port-config = { mode = dsp monitor = false control = false position = preserve } }");
  for (const char* name : {"DBUS_SESSION_BUS_ADDRESS", "PIPEWIRE_REMOTE", "PIPEWIRE_NODE", "PIPEWIRE_DEBUG"})
    unsetenv(name);
  daemon_ = std::make_unique<Beside>(
      std::vector<std::string>{RUNNEL_PIPEWIRE_DAEMON, "-c", (folder() / "own.conf").string()},
      folder() / "daemon.out", folder() / "daemon.err");
}

bool OwnPipeWire::started() {
  return soon([this] {
           int code = 1;
           if (!daemon_->runs() || !fs::exists(folder() / "pipewire-0")) return !daemon_->runs();
           pw_link({"-io"}, code);
           return code == 0;
         }) &&
         daemon_->runs();
}

void OwnPipeWire::kill() {
  daemon_->signal(SIGKILL);
  daemon_->wait();
}

std::string OwnPipeWire::ports(const std::string& options) {
  int code = 0;
  return pw_link({options}, code);
}

bool OwnPipeWire::link(const std::string& from, const std::string& to) {
  return soon([&] {
    const std::string all = ports();
    if (all.find(from) == std::string::npos || all.find(to) == std::string::npos) return false;
    int code = 1;
    pw_link({from, to}, code);
    return code == 0;
  });
}

bool OwnPipeWire::unlink(const std::string& from, const std::string& to) {
  int code = 1;
  pw_link({"-d", from, to}, code);
  return code == 0;
}

}  // namespace runnel::bridges::test
