// Every folder of product code is a room. A room is small, and its headers are its own unless rooms.txt makes
// them public.
//
// A file may include the headers of its own room, of the rooms around it, and of the rooms directly inside
// its own (so that a folder can put together what its subfolders hold). Every other include crosses a wall
// and needs a line `HEADER READERS` in rooms.txt, which is ordered by header. READERS is
//   library  any file below the same top-level folder
//   tree     any file of product code
//   users    like tree, and programs outside of the tree, as examples/ and tests/install/project are
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/architecture/source_tree.h"

namespace runnel::test {

inline constexpr std::size_t kLargestRoom = 30;  // files of a folder, those of its subfolders not counted
inline constexpr const char* kRoomsFile = "tests/architecture/rooms.txt";

// What is wrong with the rooms of the tree below `root`, ordered by file and line.
std::vector<Fault> check_rooms(const std::filesystem::path& root);

// rooms.txt as today's includes need it: no line too few, none too many; comments and the headers of users
// stay.
std::string needed_rooms(const std::filesystem::path& root);

}  // namespace runnel::test
