// Copies of rows that do not fit into the near caches.
#pragma once

#include <cstddef>

namespace shardscope::comm {

/// memcpy. Large rows are stored past the caches: a line that is to be overwritten whole need not
/// be read first, and what compute has in the caches stays there.
void copyRow(void* to, const void* from, std::size_t bytes);

}  // namespace shardscope::comm
