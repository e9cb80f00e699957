#include "app/desktop/pages/memory/memory_frame.h"

namespace shardscope::desktop {

double MemoryColumns::total(std::size_t column) const {
    double sum = 0;
    for (const auto& category : categories) sum += category[column];
    return sum;
}

}  // namespace shardscope::desktop
