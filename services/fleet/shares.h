// The share of one worker, as share_out() gives it, kept up to date while owners come and go. share_out() is
// the definition and looks at every stream; here the cost is that of what is out of balance: a fleet in which
// all have their share costs the number of its workers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace runnel::fleet {

// Not thread-safe.
class Shares {
 public:
  using Id = std::uint32_t;

  explicit Shares(std::string own);

  // A stream without an owner; its name stays where it is until it is removed. Numbers of streams that were
  // removed are given again.
  Id add(std::string_view name);
  void remove(Id stream);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // "": nobody.
  void set_owner(Id stream, std::string_view worker);
  [[nodiscard]] const std::string& owner(Id stream) const noexcept {
    return owners_[items_[stream].owner].name;
  }
  [[nodiscard]] std::size_t streams_of(std::string_view worker) const {
    const auto at = numbers_.find(worker);
    return at == numbers_.end() ? 0 : owners_[at->second].streams.size();
  }
  [[nodiscard]] std::string_view name(Id stream) const noexcept { return items_[stream].name; }

  // The streams that this worker should have while these live: all of them, in no order. `living`: in
  // alphabetical order, each once.
  [[nodiscard]] std::vector<Id> share(const std::vector<std::string>& living);

 private:
  struct Item {
    std::string_view name;
    std::uint32_t owner = 0, place = 0;  // in owners_, and there
    std::uint64_t rank = 0;              // hash of stream and owner: those with small ones are given away
  };
  struct Owner {
    std::string name;
    std::vector<Id> streams;
  };
  std::uint32_t number_of(std::string_view worker);
  void take_out(const Item& item);
  void put_in(Id stream, std::uint32_t owner);

  std::string own_;
  std::vector<Item> items_;
  std::vector<Id> free_;
  std::vector<Owner> owners_;  // the first is nobody
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::size_t size_ = 0;
};

}  // namespace runnel::fleet
