// What a stretch of work would ask of a GPU, launches and bytes, by this rule.
//
// A launch is a kernel of ours, or an operator of LibTorch that reaches its CUDA backend and is
// neither a view nor an allocation. A product is one, whatever cuBLAS does inside; flash attention
// one forward and three backward, as LibTorch 2.11's source has it.
//
// Elementwise bytes are those of the tensors that such a launch reads and writes, each once, in
// caches or not; products and attention have none. Of a table that is looked up in, or added to by
// rows, they are those of the rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace shardscope::test {

struct DeviceTally {
    struct Line {
        std::int64_t launches = 0;
        std::int64_t bytes = 0;  ///< 0 for products and attention
    };
    std::map<std::string, Line> lines;  ///< by operator or kernel

    void add(const std::string& name, std::int64_t launches, std::int64_t bytes);
    [[nodiscard]] Line total() const;
    /// A line each, for who reads a failure.
    [[nodiscard]] std::string text() const;
};

}  // namespace shardscope::test
