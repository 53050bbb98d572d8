#include "services/fleet/graphs/library.h"

#include <algorithm>
#include <utility>

#include "services/fleet/entry.h"

namespace runnel::fleet {
namespace {

constexpr std::chrono::milliseconds kAgain{5000}, kAgainSoon{200};

}  // namespace

Library::Library(Exchange& exchange, Runner& own, std::string bucket, MakeRunner make)
    : exchange_(exchange), own_(own), bucket_(std::move(bucket)), make_(std::move(make)) {}

Runner* Library::find(std::uint32_t identity) {
  if (identity == own_.identity()) return &own_;
  if (!make_) return nullptr;
  return books_[identity].runner.get();
}

std::size_t Library::size() const {
  return 1 + static_cast<std::size_t>(std::count_if(
                 books_.begin(), books_.end(), [](const auto& one) { return one.second.runner != nullptr; }));
}

bool Library::coming(std::uint32_t identity) const {
  const auto at = books_.find(identity);
  return at != books_.end() && at->second.runner == nullptr && !at->second.failed;
}

void Library::ask(Book& book, std::uint64_t request) {
  book.under_way = true;
  book.request = request;
}

void Library::work(std::chrono::nanoseconds now) {
  now_ = now;
  for (auto& [identity, book] : books_) {
    if (book.runner != nullptr || book.under_way || now < book.again) continue;
    book.failed = false;
    go_on(identity, book);
  }
}

// The next thing that is missing: the record, or a part of a model.
void Library::go_on(std::uint32_t identity, Book& book) {
  if (!book.has_record) return ask(book, exchange_.last(record_subject(bucket_, identity)));
  for (std::size_t i = 0; i < book.record.models.size(); ++i) {
    const GraphRecord::Blob& blob = book.record.models[i];
    const std::vector<std::byte>& model = book.models[i];
    if (model.size() < blob.bytes)
      return ask(book, exchange_.last(part_subject(bucket_, blob, model.size() / GraphRecord::kPart)));
    if (sha256_of(model) != blob.sha256) {
      book.has_record = false;
      return fail(identity, book, "a model whose checksum is not that of its name");
    }
  }
  auto made = make_(book.record, std::exchange(book.models, {}));
  if (!made.ok()) {
    book.has_record = false;
    return fail(identity, book, std::string(made.status().text()));
  }
  if ((*made)->identity() != identity) {
    book.has_record = false;
    return fail(identity, book,
                "made by runnel " + book.record.version +
                    ", it is another graph here: " + digits_of((*made)->identity()));
  }
  book.runner = *std::move(made);
}

Status Library::read(std::uint32_t identity, Book& book, const Answer& answer) {
  if (!answer.message) return Status(Code::not_found, "it is not in the bucket");
  const std::vector<std::byte>& data = answer.message->data;
  if (!book.has_record) {
    const auto record = read_graph_record({reinterpret_cast<const char*>(data.data()), data.size()});
    if (!record.ok()) return record.status();
    if (record->identity != identity)
      return Status(Code::invalid_data, "its record is that of another graph");
    book.record = *record;
    book.models.assign(record->models.size(), {});
    book.has_record = true;
    return {};
  }
  for (std::size_t i = 0; i < book.models.size(); ++i) {
    const std::uint64_t missing = book.record.models[i].bytes - book.models[i].size();
    if (missing == 0) continue;
    if (data.size() != std::min<std::uint64_t>(missing, GraphRecord::kPart)) {
      book.has_record = false;
      return Status(Code::invalid_data) << "a part of a model of " << data.size() << " bytes, expected "
                                        << std::min<std::uint64_t>(missing, GraphRecord::kPart);
    }
    book.models[i].insert(book.models[i].end(), data.begin(), data.end());
    return {};
  }
  return {};
}

bool Library::answered(const Answer& answer) {
  const auto at = std::find_if(books_.begin(), books_.end(), [&](const auto& one) {
    return one.second.under_way && one.second.request == answer.request;
  });
  if (at == books_.end()) return false;
  Book& book = at->second;
  book.under_way = false;
  if (answer.outcome != Answer::Outcome::done)
    book.again = now_ + kAgainSoon;
  else if (const Status status = read(at->first, book, answer); !status.ok())
    fail(at->first, book, std::string(status.text()));
  else
    go_on(at->first, book);
  return true;
}

void Library::fail(std::uint32_t identity, Book& book, std::string why) {
  book.failed = true;
  book.again = now_ + kAgain;
  if (!std::exchange(book.told, true))
    news_.push_back("graph " + digits_of(identity) + " cannot be run here: " + why);
}

void Library::keep(const std::set<std::uint32_t>& used) {
  std::erase_if(books_, [&](const auto& one) { return !used.contains(one.first) && !one.second.under_way; });
}

}  // namespace runnel::fleet
