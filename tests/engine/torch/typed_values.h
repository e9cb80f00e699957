// Elements of buffers whose type is known at run time, for what stands in for a device.
#pragma once

#include "engine/comm/reduce.h"
#include "storage/model/events.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shardscope::test {

/// Of fp64, fp32, fp16 or bf16; `from` need not be aligned.
inline double element(const void* from, DataType dtype, std::size_t i) {
    const auto at = [&](auto value) {
        std::memcpy(&value, static_cast<const std::byte*>(from) + i * sizeof value, sizeof value);
        return value;
    };
    if (dtype == DataType::kFloat64) return at(double{});
    if (dtype == DataType::kFloat32) return static_cast<double>(at(float{}));
    const std::uint16_t half = at(std::uint16_t{});
    return static_cast<double>(dtype == DataType::kFloat16 ? comm::Float16::widen(half)
                                                           : comm::BFloat16::widen(half));
}

/// Rounded to fp32 first where it is narrower than fp64.
inline void store(void* to, DataType dtype, std::size_t i, double value) {
    const auto put = [&](auto what) {
        std::memcpy(static_cast<std::byte*>(to) + i * sizeof what, &what, sizeof what);
    };
    if (dtype == DataType::kFloat64) return put(value);
    const auto narrow = static_cast<float>(value);
    if (dtype == DataType::kFloat32) return put(narrow);
    put(dtype == DataType::kFloat16 ? comm::Float16::round(narrow) : comm::BFloat16::round(narrow));
}

}  // namespace shardscope::test
