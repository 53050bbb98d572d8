// The runners of a worker: the one with which it was started, and those that it makes of graphs in the
// exchange (graph_record.h), one after another, when they are looked for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "services/fleet/exchange.h"
#include "services/fleet/graphs/graph_record.h"
#include "services/fleet/runner.h"

namespace runnel::fleet {

// Of a record and the bytes of its models, whose checksums are right. Called in the worker's thread.
using MakeRunner = std::function<Result<std::unique_ptr<Runner>>(const GraphRecord& record,
                                                                 std::vector<std::vector<std::byte>> models)>;

class Library final : public Runners {
 public:
  // `exchange` and `own` outlive it. Without `make` there is only `own`.
  Library(Exchange& exchange, Runner& own, std::string bucket, MakeRunner make);

  Runner* find(std::uint32_t identity) override;
  // Whether graphs are made at all.
  [[nodiscard]] bool makes() const noexcept { return make_ != nullptr; }
  // Graphs that it has.
  [[nodiscard]] std::size_t size() const;
  // Whether it is on its way, or there was no time yet to look for it.
  [[nodiscard]] bool coming(std::uint32_t identity) const;
  // True: the answer was its own.
  bool answered(const Answer& answer);
  // Asks for what was looked for; failures are tried again after a while.
  void work(std::chrono::nanoseconds now);
  // Forgets all others.
  void keep(const std::set<std::uint32_t>& used);
  // Sentences since the last call.
  std::vector<std::string> take_news() { return std::exchange(news_, {}); }

 private:
  struct Book {
    std::unique_ptr<Runner> runner;
    bool under_way = false, failed = false, told = false;  // failed: not for want of an answer
    std::uint64_t request = 0;
    std::chrono::nanoseconds again{0};
    GraphRecord record;
    std::vector<std::vector<std::byte>> models;
    bool has_record = false;
  };
  void ask(Book& book, std::uint64_t request);
  void go_on(std::uint32_t identity, Book& book);
  void fail(std::uint32_t identity, Book& book, std::string why);
  Status read(std::uint32_t identity, Book& book, const Answer& answer);

  Exchange& exchange_;
  Runner& own_;
  std::string bucket_;
  MakeRunner make_;
  std::chrono::nanoseconds now_{0};
  std::map<std::uint32_t, Book> books_;
  std::vector<std::string> news_;
};

}  // namespace runnel::fleet
