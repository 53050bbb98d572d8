#include "services/net/web_socket_session.h"

#include <openssl/evp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "services/net/web_socket_frames.h"

namespace runnel::net {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLongestWait(250);                  // of one poll()
constexpr milliseconds kFarewell(2000);                    // for the client's answer to our closing frame
constexpr milliseconds kLinger(300);                       // for the client to close
constexpr std::size_t kMostUnsent = std::size_t{1} << 20;  // bytes, beyond which pings are not answered

class Session final : public SocketOut {
 public:
  Session(Channel& channel, const SocketRoute& route, SocketPeer& peer, int stop)
      : channel_(channel), route_(route), peer_(peer), stop_(stop), reader_(route.longest_message) {}

  void run(const std::string& begun);

  void text(std::string_view message) override {
    if (!closing_) append_frame(out_, Opcode::text, message);
  }
  void close(std::uint16_t code, std::string_view reason) override {
    if (closing_) return;
    append_frame(out_, Opcode::close, close_payload(code, reason));
    closing_ = true;
    closed_at_ = Clock::now();
  }
  [[nodiscard]] std::size_t unsent() const noexcept override { return out_.size() - sent_; }

 private:
  void take(std::span<const char> bytes);
  bool read_some();
  bool write_some();
  bool wait();
  bool keep_time();

  Channel& channel_;
  const SocketRoute& route_;
  SocketPeer& peer_;
  int stop_;
  FrameReader reader_;
  std::string held_;  // bytes that came while the peer took no messages
  std::string out_;
  std::size_t sent_ = 0;
  bool closing_ = false;        // our closing frame is in out_
  bool client_closed_ = false;  // the client's has come
  bool asked_ = false;          // a ping is under way
  Clock::time_point heard_ = Clock::now(), taken_ = heard_, closed_at_;
};

// Messages to the peer, as long as it takes them; the rest waits.
void Session::take(std::span<const char> bytes) {
  using Item = FrameReader::Item;
  while (!client_closed_) {
    if (!peer_.takes_messages() && !closing_) break;
    const Item item = reader_.next(bytes);
    if (item == Item::none) break;
    switch (item) {
      case Item::text:
      case Item::binary:
        if (!closing_) peer_.heard(item == Item::text, reader_.payload(), *this);
        break;
      case Item::ping:
        if (!closing_ && unsent() < kMostUnsent) append_frame(out_, Opcode::pong, reader_.payload());
        break;
      case Item::close:
        // Answered with its own code.
        close(reader_.code() == 1005 ? std::uint16_t{kNormal} : reader_.code(), {});
        client_closed_ = true;
        break;
      case Item::wrong:
        close(reader_.code(), reader_.fault());
        client_closed_ = true;  // nothing that follows can be understood
        break;
      default:
        break;
    }
  }
  held_.assign(bytes.data(), client_closed_ ? 0 : bytes.size());
}

bool Session::read_some() {
  std::array<char, 1U << 14U> room;  // NOLINT: filled by read()
  const long count = channel_.read(room.data(), room.size());
  if (count == Channel::kOver) return false;
  if (count == Channel::kAgain) return true;
  heard_ = Clock::now();
  asked_ = false;
  take({room.data(), static_cast<std::size_t>(count)});
  return true;
}

bool Session::write_some() {
  while (unsent() > 0) {
    const long count = channel_.write(out_.data() + sent_, unsent());
    if (count == Channel::kOver) return false;
    if (count == Channel::kAgain) break;
    sent_ += static_cast<std::size_t>(count);
    taken_ = Clock::now();
  }
  if (unsent() == 0) {
    out_.clear();
    sent_ = 0;
    taken_ = Clock::now();
  }
  return true;
}

// True: the connection goes on.
bool Session::wait() {
  // While the peer takes nothing, what came is held, and nothing more is read.
  const bool reads = !client_closed_ && held_.empty();
  const SocketPeer::Interest interest = closing_ ? SocketPeer::Interest{} : peer_.interest();
  pollfd wanted[3] = {
      {channel_.socket(),
       static_cast<short>((reads ? POLLIN : 0) | (unsent() > 0 ? POLLOUT : 0) | channel_.also()), 0},
      {interest.descriptor, interest.events, 0},
      {closing_ ? -1 : stop_, POLLIN, 0}};
  if (!(reads && channel_.has_pending())) poll(wanted, 3, static_cast<int>(kLongestWait.count()));
  if ((wanted[2].revents & POLLIN) != 0) {
    peer_.work(*this);  // its last words, with which it may close by itself
    close(kGoingAway, "the server goes away");
  }
  // Without reading, poll() would report the end again and again.
  if ((wanted[0].revents & (reads ? POLLERR : POLLERR | POLLHUP)) != 0) return false;
  if (reads && (channel_.has_pending() || (wanted[0].revents & (POLLIN | POLLHUP)) != 0) && !read_some())
    return false;
  return true;
}

// Asks a silent client, and gives up on one that is gone. True: the connection goes on.
bool Session::keep_time() {
  const auto now = Clock::now();
  if (closing_) return now - closed_at_ < kFarewell && !(client_closed_ && unsent() == 0);
  if (unsent() > 0 && now - taken_ > route_.idle) return false;
  if (!held_.empty()) return true;  // we do not listen
  if (now - heard_ > route_.idle) return false;
  if (!asked_ && now - heard_ > route_.idle / 3) {
    append_frame(out_, Opcode::ping, "still there?");
    asked_ = true;
  }
  return true;
}

void Session::run(const std::string& begun) {
  take(begun);
  do {
    if (!held_.empty() && (closing_ || peer_.takes_messages())) {
      const std::string held = std::exchange(held_, {});
      take(held);
      heard_ = Clock::now();
    }
    if (!closing_) peer_.work(*this);
    if (!write_some()) return;
  } while (keep_time() && wait());
  write_some();
  channel_.finish();
  // Closing a socket with unread bytes would make the system discard what we have said last.
  const auto end = Clock::now() + kLinger;
  std::array<char, 4096> unread{};
  while (Clock::now() < end && channel_.wait(false, kLinger) &&
         channel_.read(unread.data(), unread.size()) != Channel::kOver) {
  }
}

}  // namespace

std::string accept_of(const std::string& key) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (key.size() != 24 || !key.ends_with("==") || key.find_first_not_of(kAlphabet) != 22) return {};
  const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) return {};
  std::array<unsigned char, 64> encoded{};
  const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(size));
  return {encoded.begin(), encoded.begin() + length};
}

void run_web_socket(Channel& channel, std::string begun, const SocketRoute& route, SocketPeer& peer,
                    int stop) {
  Session(channel, route, peer, stop).run(begun);
}

}  // namespace runnel::net
