#include "services/fleet/shares.h"

#include <algorithm>
#include <utility>

#include "services/fleet/share_out.h"

namespace runnel::fleet {

Shares::Shares(std::string own) : own_(std::move(own)), owners_(1) { numbers_.emplace(std::string(), 0); }

std::uint32_t Shares::number_of(std::string_view worker) {
  if (const auto at = numbers_.find(worker); at != numbers_.end()) return at->second;
  // The place of a worker that has nothing any more.
  for (std::uint32_t i = 1; i < owners_.size(); ++i) {
    if (!owners_[i].streams.empty()) continue;
    numbers_.erase(owners_[i].name);
    owners_[i].name = worker;
    numbers_.emplace(std::string(worker), i);
    return i;
  }
  owners_.push_back({std::string(worker), {}});
  const auto number = static_cast<std::uint32_t>(owners_.size() - 1);
  numbers_.emplace(std::string(worker), number);
  return number;
}

void Shares::take_out(const Item& item) {
  std::vector<Id>& streams = owners_[item.owner].streams;
  streams[item.place] = streams.back();
  items_[streams.back()].place = item.place;
  streams.pop_back();
}

void Shares::put_in(Id stream, std::uint32_t owner) {
  Item& item = items_[stream];
  item.owner = owner;
  item.place = static_cast<std::uint32_t>(owners_[owner].streams.size());
  item.rank = owner == 0 ? 0 : hash_of(item.name, owners_[owner].name);
  owners_[owner].streams.push_back(stream);
}

Shares::Id Shares::add(std::string_view name) {
  Id out = static_cast<Id>(items_.size());
  if (free_.empty()) {
    items_.emplace_back();
  } else {
    out = free_.back();
    free_.pop_back();
  }
  items_[out].name = name;
  put_in(out, 0);
  ++size_;
  return out;
}

void Shares::remove(Id stream) {
  take_out(items_[stream]);
  items_[stream] = {};
  free_.push_back(stream);
  --size_;
}

void Shares::set_owner(Id stream, std::string_view worker) {
  if (owner(stream) == worker) return;
  take_out(items_[stream]);
  // Only now, as the place of the one before may be free.
  put_in(stream, number_of(worker));
}

std::vector<Shares::Id> Shares::share(const std::vector<std::string>& living) {
  if (living.empty()) return {};
  static const std::vector<Id> none;
  struct Share {
    const std::string* worker;
    const std::vector<Id>* streams;
    std::size_t count = 0, most = 0;
  };
  std::vector<Share> shares;
  std::vector<char> lives(owners_.size(), 0);
  for (const std::string& worker : living) {
    const auto at = numbers_.find(worker);
    if (at != numbers_.end()) lives[at->second] = 1;
    const std::vector<Id>* const streams = at == numbers_.end() ? &none : &owners_[at->second].streams;
    shares.push_back({&worker, streams, streams->size()});
  }
  std::vector<Id> homeless;
  for (std::size_t i = 0; i < owners_.size(); ++i)
    if (lives[i] == 0) homeless.insert(homeless.end(), owners_[i].streams.begin(), owners_[i].streams.end());

  std::vector<Share*> by_load;
  for (Share& share : shares) by_load.push_back(&share);
  std::stable_sort(by_load.begin(), by_load.end(),
                   [](const Share* a, const Share* b) { return a->count > b->count; });
  const std::size_t each = size_ / shares.size(), left = size_ % shares.size();
  for (std::size_t i = 0; i < by_load.size(); ++i) by_load[i]->most = each + (i < left ? 1 : 0);

  std::vector<Id> out;
  const auto kept_before = [&](Id a, Id b) {
    const Item &x = items_[a], &y = items_[b];
    return x.rank != y.rank ? x.rank > y.rank : x.name < y.name;
  };
  for (Share& share : shares) {
    const bool own = *share.worker == own_;
    if (share.count <= share.most) {
      if (own) out = *share.streams;
      continue;
    }
    std::vector<Id> its = *share.streams;
    const auto cut = its.begin() + static_cast<std::ptrdiff_t>(share.most);
    std::nth_element(its.begin(), cut, its.end(), kept_before);
    homeless.insert(homeless.end(), cut, its.end());
    its.erase(cut, its.end());
    share.count = share.most;
    if (own) out = std::move(its);
  }
  std::sort(homeless.begin(), homeless.end(), [&](Id a, Id b) { return items_[a].name < items_[b].name; });
  std::size_t next = 0;
  for (const Id stream : homeless) {
    while (shares[next].count >= shares[next].most) next = (next + 1) % shares.size();
    ++shares[next].count;
    if (*shares[next].worker == own_) out.push_back(stream);
    next = (next + 1) % shares.size();
  }
  return out;
}

}  // namespace runnel::fleet
