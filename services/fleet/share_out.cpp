#include "services/fleet/share_out.h"

#include <algorithm>

namespace runnel::fleet {

std::uint64_t hash_of(std::string_view first, std::string_view second) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (const char letter : first) add(static_cast<unsigned char>(letter));
  add(0);
  for (const char letter : second) add(static_cast<unsigned char>(letter));
  // The last letters must reach all bits: names often differ only there.
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93;
  return hash ^ hash >> 32;
}

Owners share_out(const Owners& now, std::vector<std::string> workers) {
  std::sort(workers.begin(), workers.end());
  workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
  if (workers.empty()) return {};
  struct Share {
    std::string worker;
    std::vector<const std::string*> streams;
    std::size_t most = 0;
  };
  std::vector<Share> shares;
  for (const std::string& worker : workers) shares.push_back({worker, {}, 0});
  std::vector<const std::string*> homeless;
  for (const auto& [stream, owner] : now) {
    const auto at = std::lower_bound(workers.begin(), workers.end(), owner);
    if (at != workers.end() && *at == owner)
      shares[static_cast<std::size_t>(at - workers.begin())].streams.push_back(&stream);
    else
      homeless.push_back(&stream);
  }
  // The streams that are left over when all have equally many stay with those that have most.
  std::vector<Share*> by_load;
  for (Share& share : shares) by_load.push_back(&share);
  std::stable_sort(by_load.begin(), by_load.end(),
                   [](const Share* a, const Share* b) { return a->streams.size() > b->streams.size(); });
  const std::size_t each = now.size() / workers.size(), left = now.size() % workers.size();
  for (std::size_t i = 0; i < by_load.size(); ++i) by_load[i]->most = each + (i < left ? 1 : 0);
  // Which streams a worker gives away is drawn by their names: neighbours do not move together.
  for (Share& share : shares) {
    std::sort(share.streams.begin(), share.streams.end(), [&](const std::string* a, const std::string* b) {
      const std::uint64_t x = hash_of(*a, share.worker), y = hash_of(*b, share.worker);
      return x != y ? x > y : *a < *b;
    });
    while (share.streams.size() > share.most) {
      homeless.push_back(share.streams.back());
      share.streams.pop_back();
    }
  }
  std::sort(homeless.begin(), homeless.end(),
            [](const std::string* a, const std::string* b) { return *a < *b; });
  // In turn, so that a dead worker's streams are spread over all.
  std::size_t next = 0;
  for (const std::string* const stream : homeless) {
    while (shares[next % shares.size()].streams.size() >= shares[next % shares.size()].most) ++next;
    shares[next++ % shares.size()].streams.push_back(stream);
  }
  Owners out;
  for (const Share& share : shares)
    for (const std::string* const stream : share.streams) out[*stream] = share.worker;
  return out;
}

}  // namespace runnel::fleet
