// The same work for each rank, on as many threads as the machine has cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace shardscope::analysis {

/// Calls `work(place)` for each place below `count`, several at a time and in no order; returns
/// when all are done. What one call writes no other may touch.
template <class Work>
void forEachRank(std::size_t count, const Work& work) {
    std::atomic<std::size_t> next{0};
    const auto go = [&] {
        for (std::size_t place = next++; place < count; place = next++) work(place);
    };
    std::vector<std::jthread> helpers;
    const std::size_t threads =
        std::min<std::size_t>(count, std::max(1U, std::thread::hardware_concurrency()));
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(go);
    go();
}

}  // namespace shardscope::analysis
