// All that a Wyoming server offers, by the names that clients use.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/wyoming/offer.h"

namespace runnel::wyoming {

class Catalogue {
 public:
  // A word that clients can wait for.
  struct Word {
    std::string name;  // its label; MODEL/LABEL where several models have it
    std::size_t offer = 0;
    std::string label;
  };

  // `language`: of all models, e.g. "en". Errors: those of Offer::make; invalid_argument for none, and for
  // two models of one name.
  static Result<Catalogue> make(const std::vector<OfferSettings>& settings,
                                const pipeline::GraphOptions& graph, std::size_t streams,
                                std::string language);

  [[nodiscard]] std::vector<std::unique_ptr<Offer>>& offers() noexcept { return offers_; }
  [[nodiscard]] const std::vector<Word>& words() const noexcept { return words_; }
  // The words that a client means by a name: a word's own, MODEL/LABEL, or a model's for all of its labels.
  [[nodiscard]] std::vector<const Word*> words_named(std::string_view name) const;
  // The first model of this use, or the one of this name; null: there is none.
  [[nodiscard]] Offer* first(Use use, std::string_view name = {}) const noexcept;
  // "en" serves "en-GB", too.
  [[nodiscard]] bool speaks(std::string_view language) const noexcept;
  // The message that answers `describe`.
  [[nodiscard]] const std::string& info() const noexcept { return info_; }
  // After a change of an offer's use.
  void look_again();

 private:
  std::vector<std::unique_ptr<Offer>> offers_;
  std::vector<Word> words_;
  std::string language_, info_;
};

}  // namespace runnel::wyoming
