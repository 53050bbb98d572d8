#include "tests/bridges/pipewire/own_pipewire.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace runnel::bridges::test {
namespace fs = std::filesystem;
namespace {

// own.conf with cycles of half a second.
std::string configuration(bool freewheels) {
  std::string text = text_in(RUNNEL_OWN_PIPEWIRE);
  for (const auto& [name, value] : {std::pair<std::string, std::string>{"@QUANTUM@", "8192"},
                                    {"@FREEWHEEL@", freewheels ? "true" : "false"}}) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name))
      text.replace(at, name.size(), value);
  }
  return text;
}

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

std::string pw_link(const std::vector<std::string>& arguments, int& code) {
  std::vector<std::string> call = {RUNNEL_PW_LINK};
  call.insert(call.end(), arguments.begin(), arguments.end());
  const runnel::test::Output output = runnel::test::run_program(call, 30);
  code = output.exit_code;
  return output.out;
}

}  // namespace

OwnPipeWire::OwnPipeWire(bool freewheels) {
  std::ofstream(folder() / "own.conf") << configuration(freewheels);
  set("XDG_RUNTIME_DIR", folder().string());
  set("PIPEWIRE_RUNTIME_DIR", folder().string());
  set("PIPEWIRE_PROPS",
      "{ adapter.auto-port-config = { mode = dsp monitor = false control = false position = preserve } }");
  for (const char* name : {"DBUS_SESSION_BUS_ADDRESS", "PIPEWIRE_REMOTE", "PIPEWIRE_NODE", "PIPEWIRE_DEBUG"})
    unsetenv(name);
  start();
}

void OwnPipeWire::start() {
  fs::remove(folder() / "pipewire-0");
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
