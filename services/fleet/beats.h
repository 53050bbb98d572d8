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
  // A beat as it comes back from the exchange. Whether living() is another one now.
  bool heard(std::string_view worker, Kind kind);
  // All that live, in alphabetical order. Without this one until its first beat has come back.
  [[nodiscard]] std::vector<std::string> living() const;
  [[nodiscard]] bool lives(std::string_view worker) const;
  // Workers that left, or have been gone for long, since the last call: nobody needs their last beats.
  std::vector<std::string> take_gone() { return std::exchange(gone_, {}); }

 private:
  std::string own_;
  std::uint64_t missed_;
  std::uint64_t clock_ = 0;                                 // own beats heard
  std::map<std::string, std::uint64_t, std::less<>> last_;  // time of each worker's last beat
  std::vector<std::string> gone_;
};

}  // namespace runnel::fleet
