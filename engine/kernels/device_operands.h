// What the larger of our device kernels take. Pointers are device memory; matrices lie row by row
// without gaps. `dtype` is fp32, bf16 or fp16, and that of every void pointer that has no type of
// its own beside it; sums are taken in fp32.
#pragma once

#include "storage/model/events.h"

#include <algorithm>
#include <cstdint>

namespace shardscope::kernels {

/// The rows' beginnings lie `stride` >= width elements apart.
struct DeviceLogits {
    DataType dtype = DataType::kFloat32;
    std::int64_t rows = 0, width = 0, stride = 0;
    void* data = nullptr;
};

/// sum = x + delta, rounded to `dtype`; value = its norm, weight and bias applied (norm_rows.h).
struct DeviceNormForward {
    DataType dtype = DataType::kFloat32;
    std::int64_t rows = 0, width = 0;
    const void* x = nullptr;       ///< (rows, width)
    const void* delta = nullptr;   ///< (rows, width); null: nothing is added, and no sum written
    const void* weight = nullptr;  ///< (width)
    const void* bias = nullptr;    ///< (width); null: none
    void* sum = nullptr;           ///< (rows, width)
    void* copy = nullptr;          ///< of `sum`; null: none
    void* value = nullptr;         ///< (rows, width)
    float* mean = nullptr;         ///< (rows); null: an RMS norm
    float* rstd = nullptr;         ///< (rows)
    std::uint32_t* tickets =
        nullptr;  ///< (normTickets(rows)), become zero for backward; null: none
};

/// Blocks of rows that sum the gradients of weight and bias for themselves. A group of them is
/// added up by the one of it that ends last, the groups by the last one of all: the same on every
/// device, and so is the result.
[[nodiscard]] constexpr std::int64_t normParts(std::int64_t rows) {
    return std::min<std::int64_t>(rows, 128);
}
inline constexpr std::int64_t kNormGroup = 16;
[[nodiscard]] constexpr std::int64_t normGroups(std::int64_t rows) {
    return (normParts(rows) + kNormGroup - 1) / kNormGroup;
}
/// Counters of who has come: one a group, one of the groups.
[[nodiscard]] constexpr std::int64_t normTickets(std::int64_t rows) {
    return normGroups(rows) + 1;
}
/// Floats that backward needs: the sums of parts and of groups, then two of each row.
[[nodiscard]] constexpr std::int64_t normWork(std::int64_t rows, std::int64_t width) {
    return 2 * (normParts(rows) + normGroups(rows)) * width + 2 * rows;
}

/// dx = skip + gradient of x from dy; and the gradients of weight and bias, in an order of their
/// own whatever the device does when.
struct DeviceNormBackward {
    DataType dtype = DataType::kFloat32;
    std::int64_t rows = 0, width = 0;
    const void* x = nullptr;           ///< (rows, width), what was normed
    const void* dy = nullptr;          ///< (rows, width), gradient of `value`
    const void* skip = nullptr;        ///< (rows, width), gradient of x by another way; null: none
    const void* weight = nullptr;      ///< (width)
    const float* mean = nullptr;       ///< (rows); null: an RMS norm
    const float* rstd = nullptr;       ///< (rows)
    void* dx = nullptr;                ///< (rows, width); none of the above
    float* work = nullptr;             ///< normWork(rows, width) floats
    std::uint32_t* tickets = nullptr;  ///< (normTickets(rows)) zeros, and zeros again afterwards
    DataType gradientType = DataType::kFloat32;  ///< fp32 or `dtype`
    void* dWeight = nullptr;                     ///< (width)
    void* dBias = nullptr;                       ///< (width); null: there is none
    bool addWeight = false;                      ///< to what is there; otherwise it is replaced
    bool addBias = false;
};

/// y = gelu(wide), or silu(gate) * wide (feed_forward.h), n elements each.
struct DeviceActivation {
    DataType dtype = DataType::kFloat32;
    std::int64_t n = 0;
    const void* gate = nullptr;  ///< null: a GELU
    const void* wide = nullptr;
    void* y = nullptr;
    void* d = nullptr;      ///< backward: gradient of y in, of `wide` out
    void* dGate = nullptr;  ///< backward, with a gate
};

/// A table's rows [firstRow, firstRow + rows), and tokens that may lie outside of them.
struct DeviceEmbedding {
    DataType dtype = DataType::kFloat32;
    std::int64_t tokens = 0, hidden = 0;
    std::int64_t firstRow = 0, rows = 0;
    const std::int64_t* ids = nullptr;  ///< (tokens)
};

/// dx is added to its tokens' rows, and to those of its positions.
struct DeviceEmbeddingGradients {
    const void* dx = nullptr;                    ///< (tokens, hidden)
    DataType gradientType = DataType::kFloat32;  ///< fp32 or dx's type
    void* table = nullptr;                       ///< (rows, hidden)
    void* positions = nullptr;  ///< (context or more, hidden); null: there are none
    std::int64_t context = 0;   ///< token i is at position i % context
};

}  // namespace shardscope::kernels
