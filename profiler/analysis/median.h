// The median, as everything here means it.
#pragma once

#include "storage/model/units.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace shardscope::analysis {

/// Of an unordered, non-empty list; the mean of the middle two when even.
template <class T>
[[nodiscard]] T medianOf(std::vector<T> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

[[nodiscard]] inline Duration medianOf(std::vector<Duration> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    const Duration below = *std::max_element(values.begin(), middle);
    return {below.ns + (*middle - below).ns / 2};
}

}  // namespace shardscope::analysis
