#include "services/fleet/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "services/fleet/share_out.h"

namespace runnel::fleet {
namespace {

// Whatever comes and goes: the share of each worker is that of share_out().
TEST(Shares, AreThoseOfShareOut) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::vector<std::string> workers = {"a", "b", "c", "d", "host-1", "host-12", "x"};
    std::vector<std::string> living;
    std::map<std::string, Shares> shares;
    for (const std::string& worker : workers) shares.emplace(worker, worker);
    Owners owners;
    std::map<std::string, std::map<std::string, Shares::Id>> ids;  // by stream and worker
    int streams = 0;
    for (int step = 0; step < 80; ++step) {
      const auto drawn = [&] {
        auto at = owners.begin();
        std::advance(at, random() % owners.size());
        return at;
      };
      const std::uint32_t what = random() % 10;
      if (what < 4 || owners.empty()) {
        for (std::uint32_t i = random() % 9; i > 0; --i) {
          const auto at = owners.emplace("audio.s" + std::to_string(++streams), "").first;
          for (auto& [worker, its] : shares) ids[at->first][worker] = its.add(at->first);
        }
      } else if (what < 8) {
        // Somebody takes a stream, in most cases whom share_out() wants.
        const auto at = drawn();
        const Owners wanted = share_out(owners, living);
        const std::string owner = random() % 3 != 0 && wanted.contains(at->first) ? wanted.at(at->first)
                                  : random() % 4 == 0                             ? std::string()
                                                      : workers[random() % workers.size()];
        at->second = owner;
        for (auto& [worker, its] : shares) its.set_owner(ids[at->first][worker], owner);
      } else if (what == 8) {
        const auto at = drawn();
        for (auto& [worker, its] : shares) its.remove(ids[at->first][worker]);
        ids.erase(at->first);
        owners.erase(at);
      } else {
        living.clear();
        for (const std::string& worker : workers)
          if (random() % 3 != 0) living.push_back(worker);
      }
      const Owners expected = share_out(owners, living);
      for (auto& [worker, its] : shares) {
        std::set<std::string> mine, wanted;
        for (const Shares::Id id : its.share(living)) mine.emplace(its.name(id));
        for (const auto& [stream, owner] : expected)
          if (owner == worker) wanted.insert(stream);
        ASSERT_EQ(mine, wanted) << worker << ", step " << step;
        ASSERT_EQ(its.size(), owners.size());
        for (const auto& [stream, owner] : owners) ASSERT_EQ(its.owner(ids[stream][worker]), owner);
      }
    }
  }
}

}  // namespace
}  // namespace runnel::fleet
