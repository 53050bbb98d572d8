// The tables of a search as constants of a program.
#pragma once

#include <string>

#include "decoding/search_tables.h"

namespace runnel::decoding {

// C++ that defines `constexpr decoding::SearchTables NAME`, in a namespace within runnel.
std::string search_tables_source(const SearchTables& tables, const std::string& name);

}  // namespace runnel::decoding
