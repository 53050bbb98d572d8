#include "pipeline/host/live/byte_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace runnel::pipeline {
namespace {

// How often the stop flag is checked, in milliseconds.
constexpr int kWaitMilliseconds = 100;

constexpr std::pair<std::int64_t, speed_t> kSpeeds[] = {
    {1200, B1200},     {2400, B2400},       {4800, B4800},       {9600, B9600},      {19200, B19200},
    {38400, B38400},   {57600, B57600},     {115200, B115200},   {230400, B230400},  {460800, B460800},
    {921600, B921600}, {1000000, B1000000}, {2000000, B2000000}, {3000000, B3000000}};

Status set_line(int descriptor, const std::string& path, std::int64_t baud) {
  const auto* speed = std::find_if(std::begin(kSpeeds), std::end(kSpeeds),
                                   [&](const auto& known) { return known.first == baud; });
  if (speed == std::end(kSpeeds)) {
    Status status(Code::invalid_argument);
    status << "baud=" << baud << ": expected one of";
    for (const auto& known : kSpeeds) status << ' ' << known.first;
    return status;
  }
  termios line{};
  if (tcgetattr(descriptor, &line) != 0)
    return Status(Code::io_error) << path << ": cannot be set: " << std::strerror(errno);
  cfmakeraw(&line);
  line.c_cflag |= CLOCAL | CREAD;
  if (cfsetspeed(&line, speed->second) != 0 || tcsetattr(descriptor, TCSANOW, &line) != 0) {
    return Status(Code::io_error) << path << ": cannot be set to " << baud
                                  << " baud: " << std::strerror(errno);
  }
  return {};
}

}  // namespace

Status ByteInput::open(const std::string& path, std::int64_t baud) {
  name_ = path == "-" ? "standard input" : path;
  // Without O_NONBLOCK, open() would block on a FIFO without a writer, and the stop flag would go unnoticed.
  descriptor_ = Descriptor(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                       : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!descriptor_.is_open())
    return Status(errno == ENOENT ? Code::not_found : Code::io_error)
           << name_ << ": cannot be opened: " << std::strerror(errno);
  struct stat what {};
  if (fstat(descriptor_.number(), &what) != 0)
    return Status(Code::io_error) << name_ << ": cannot be opened: " << std::strerror(errno);
  if (S_ISDIR(what.st_mode)) return Status(Code::invalid_argument) << name_ << ": is a folder";
  file_ = S_ISREG(what.st_mode);
  serial_ = path != "-" && isatty(descriptor_.number()) != 0;
  return serial_ ? set_line(descriptor_.number(), path, baud) : Status();
}

void ByteInput::take(Descriptor descriptor, std::string name) {
  descriptor_ = std::move(descriptor);
  name_ = std::move(name);
}

std::int64_t ByteInput::waiting() const {
  int bytes = 0;
  return !file_ && ioctl(descriptor_.number(), FIONREAD, &bytes) == 0 ? bytes : 0;
}

bool ByteInput::ready() const {
  pollfd polled{descriptor_.number(), POLLIN, 0};
  return left_ >= 0 || poll(&polled, 1, 0) > 0;
}

bool ByteInput::wait_for(int descriptor) {
  const auto start = std::chrono::steady_clock::now();
  bool is_ready = false;
  while (!is_ready && !stopped()) {
    pollfd polled{descriptor, POLLIN, 0};
    is_ready = poll(&polled, 1, kWaitMilliseconds) > 0;
  }
  waited_ +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  return is_ready;
}

Result<std::size_t> ByteInput::read(std::span<std::byte> room) {
  for (;;) {
    if (left_ < 0 && stopped()) left_ = waiting();
    if (left_ == 0) return std::size_t{0};
    if (left_ < 0 && !wait_for(descriptor_.number())) continue;
    const std::size_t most = left_ < 0 ? room.size() : std::min(room.size(), static_cast<std::size_t>(left_));
    const ssize_t count = ::read(descriptor_.number(), room.data(), most);
    if (count < 0 && (errno == EINTR || (errno == EAGAIN && left_ < 0))) continue;
    // The other end of the pseudo terminal was closed.
    if (count < 0 && errno == EIO && serial_) return std::size_t{0};
    if (count < 0) return Status(Code::io_error) << name_ << ": cannot be read: " << std::strerror(errno);
    if (left_ > 0) left_ -= count;
    return static_cast<std::size_t>(count);
  }
}

}  // namespace runnel::pipeline
