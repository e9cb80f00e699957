// Has the pages of some tables read before they are asked for, many at once: a long run's rows lie
// all over its file, and reading them one by one waits for a disk at each page.
//
// Knows as much of SQLite's format as that takes (https://sqlite.org/fileformat2.html). Nothing
// depends on it: a page that it takes for another is read in vain.
#pragma once

#include "storage/sqlite/connection.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace shardscope::storage {

/// Where the rows of a table or index lie.
struct TreePlace {
    int file = -1;
    std::size_t pageBytes = 0;
    std::int64_t root = 0;
};
/// Its leaf pages, in order of their rows. `fetch` hears of each level of the tree before it is
/// looked at, of the leaves at last. What cannot be a tree has none.
[[nodiscard]] std::vector<std::int64_t> leavesOf(
    const TreePlace& place, const std::function<void(const std::vector<std::int64_t>&)>& fetch);

class ReadAhead {
public:
    /// `names` of tables and indexes, the first needed first; those that are not there are left
    /// out. Of a file without a log. Reads in a thread of its own, which ends with this.
    void start(Connection& connection, const std::vector<const char*>& names);

private:
    std::jthread m_thread;
};

}  // namespace shardscope::storage
