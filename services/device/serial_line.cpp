#include "services/device/serial_line.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace runnel::device {
namespace {

constexpr std::size_t kKept = 512;  // of a line

struct Rate {
  int baud;
  speed_t speed;
};
constexpr Rate kRates[] = {{1200, B1200},       {2400, B2400},       {4800, B4800},      {9600, B9600},
                           {19200, B19200},     {38400, B38400},     {57600, B57600},    {115200, B115200},
                           {230400, B230400},   {460800, B460800},   {921600, B921600},  {1000000, B1000000},
                           {1500000, B1500000}, {2000000, B2000000}, {3000000, B3000000}};

Status failed(const std::string& path) {
  return Status(Code::io_error) << path << ": " << std::strerror(errno);
}

}  // namespace

bool is_serial_line(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISCHR(facts.st_mode)) return false;
  const int file = ::open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;
  const bool terminal = ::isatty(file) == 1;
  ::close(file);
  return terminal;
}

Result<SerialLine> SerialLine::open(const std::string& path, int baud) {
  const auto* const rate =
      std::find_if(std::begin(kRates), std::end(kRates), [&](const Rate& one) { return one.baud == baud; });
  if (rate == std::end(kRates))
    return Status(Code::invalid_argument)
           << "--baud " << baud << ": expected a usual rate from 1200 to 3000000, such as 115200";
  const int file = ::open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return failed(path);
  SerialLine line(file);
  termios settings{};
  if (::tcgetattr(file, &settings) != 0) return failed(path);
  ::cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  settings.c_cflag &= ~static_cast<tcflag_t>(CSTOPB | CRTSCTS);
  ::cfsetispeed(&settings, rate->speed);
  ::cfsetospeed(&settings, rate->speed);
  if (::tcsetattr(file, TCSANOW, &settings) != 0) return failed(path);
  return line;
}

SerialLine::SerialLine(SerialLine&& other) noexcept
    : file_(std::exchange(other.file_, -1)), closed_(other.closed_), waiting_(std::move(other.waiting_)) {}

SerialLine& SerialLine::operator=(SerialLine&& other) noexcept {
  std::swap(file_, other.file_);
  closed_ = other.closed_;
  waiting_ = std::move(other.waiting_);
  return *this;
}

SerialLine::~SerialLine() {
  if (file_ >= 0) ::close(file_);
}

Result<bool> SerialLine::read(std::string& line, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    if (const std::size_t end = waiting_.find('\n'); end != std::string::npos) {
      line = waiting_.substr(0, std::min(end, kKept));
      waiting_.erase(0, end + 1);
      return true;
    }
    // The end of an endless line is all that is needed of it.
    if (waiting_.size() > kKept) waiting_.resize(kKept);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || closed_) return false;
    pollfd wait{file_, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::min<long long>(left.count(), 1000)));
    if (ready < 0 && errno != EINTR) return Status(Code::io_error) << std::strerror(errno);
    if (ready <= 0) continue;
    char bytes[1024];
    const ssize_t got = ::read(file_, bytes, sizeof bytes);
    if (got > 0) waiting_.append(bytes, static_cast<std::size_t>(got));
    // The other end is gone: 0, or EIO of a pseudo-terminal.
    if (got == 0 || (got < 0 && errno == EIO)) closed_ = true;
    if (got < 0 && errno != EIO && errno != EAGAIN && errno != EINTR)
      return Status(Code::io_error) << std::strerror(errno);
  }
}

}  // namespace runnel::device
