// Who lives. Every worker appends a beat at regular times, and sees those of all in one order, its own too.
// It takes its own beats for its clock: another worker is gone when so many of its own have come back since
// the other's last one. A pause of the exchange, which delays all beats, therefore kills nobody.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runnel::fleet {

class Beats {
 public:
  enum class Kind : std::uint8_t {
    joining,  // it only listens yet, and is not counted
    living,
    leaving,  // its last one
  };
  // `missed`: own beats without one of another worker after which it is gone.
  Beats(std::string own, std::uint64_t missed) : own_(std::move(own)), missed_(missed) {}

  // Whether it is known who lives: what is heard first are the last beats of those who died, too. Until then
  // this worker's beats are those of one that joins; otherwise others would give it streams that it does not
  // expect yet.
  [[nodiscard]] bool joined() const;
  // A beat as it comes back from the exchange, each once. Whether living() is another one now.
  bool heard(std::string_view worker, Kind kind, std::uint64_t sequence = 0);
  // All that live, in alphabetical order. Without this one until its first beat has come back.
  [[nodiscard]] std::vector<std::string> living() const;
  [[nodiscard]] bool lives(std::string_view worker) const;
  // Workers that left, or have been gone for long, since the last call, with the sequences of their last
  // beats, which nobody needs. One that was only stopped may come back.
  struct Gone {
    std::string worker;
    std::uint64_t sequence = 0;

    friend bool operator==(const Gone&, const Gone&) = default;
  };
  std::vector<Gone> take_gone() { return std::exchange(gone_, {}); }

 private:
  std::string own_;
  std::uint64_t missed_;
  struct Last {
    std::uint64_t time = 0, sequence = 0;
  };
  std::uint64_t clock_ = 0;                        // own beats heard
  std::map<std::string, Last, std::less<>> last_;  // each worker's last beat
  std::vector<Gone> gone_;
};

}  // namespace runnel::fleet
