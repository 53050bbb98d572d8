// Every node that a graph of the library may have is saved, or says why it cannot be.
#include "library/states.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "library/nodes.h"
#include "pipeline/nodes/host/graph_state.h"

namespace runnel::library::test {
namespace {

TEST(States, EveryNodeOfTheLibraryHasARow) {
  std::set<std::string> unsaved;
  for (const pipeline::NodeType* const type : library_nodes()) {
    const pipeline::NodeState* const row = pipeline::state_of(*type, own_states());
    ASSERT_NE(row, nullptr) << type->name << " has no row: add it to pipeline/nodes/states.cpp, or to "
                            << "pipeline/nodes/host/states.cpp";
    EXPECT_EQ(row->run == nullptr, !row->obstacle.empty()) << type->name << " must be saved or say why not";
    if (row->run == nullptr) unsaved.emplace(type->name);
  }
  EXPECT_EQ(unsaved, std::set<std::string>())
      << "nodes that cannot be saved; if that is meant, name them here";
}

}  // namespace
}  // namespace runnel::library::test
