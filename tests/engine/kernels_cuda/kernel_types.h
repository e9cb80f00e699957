// What the tests of our CUDA kernels share: types as a kernel takes them, and operands anywhere.
#pragma once

#include "tests/support/cuda_emulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace shardscope::kernels {

inline std::vector<float> randomValues(std::int64_t n, unsigned seed, float low = -1,
                                       float high = 1) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> distribution(low, high);
    std::vector<float> values(static_cast<std::size_t>(n));
    for (float& value : values) value = distribution(generator);
    return values;
}

/// n elements whose first lies `shift` elements behind an address of 16 bytes' multiple.
template <class T>
class Shifted {
public:
    Shifted(const std::vector<T>& values, std::size_t shift)
        : m_storage(values.size() + shift + 16 / sizeof(T)), m_size(values.size()) {
        auto address = reinterpret_cast<std::uintptr_t>(m_storage.data());
        m_begin = (16 - address % 16) % 16 / sizeof(T) + shift;
        std::copy(values.begin(), values.end(), data());
    }
    T* data() { return m_storage.data() + m_begin; }
    std::span<const T> values() { return {data(), m_size}; }

private:
    std::vector<T> m_storage;
    std::size_t m_begin = 0;
    std::size_t m_size;
};

/// What a type holds of them.
template <class T>
std::vector<T> as(const std::vector<float>& values) {
    std::vector<T> result;
    for (float value : values) result.push_back(device::fromFloat<T>(value));
    return result;
}

/// As a kernel takes it, and what rounding to it may cost: relative, and where it holds no less.
template <class T>
struct Type;
template <>
struct Type<float> {
    static constexpr DataType kIs = DataType::kFloat32;
    static constexpr double kRelative = 4e-6, kLeast = 0;
    static constexpr const char* kName = "fp32";
};
template <>
struct Type<__nv_bfloat16> {
    static constexpr DataType kIs = DataType::kBFloat16;
    static constexpr double kRelative = 0x1p-8, kLeast = 0;
    static constexpr const char* kName = "bf16";
};
template <>
struct Type<__half> {
    static constexpr DataType kIs = DataType::kFloat16;
    static constexpr double kRelative = 0x1p-10, kLeast = 0x1p-25;
    static constexpr const char* kName = "fp16";
};

template <class T>
std::vector<double> inDouble(std::span<const T> values) {
    std::vector<double> result;
    for (const T value : values) result.push_back(static_cast<double>(device::toFloat(value)));
    return result;
}

using Types = ::testing::Types<float, __nv_bfloat16, __half>;
class TypeNames {
public:
    template <class T>
    static std::string GetName(int) {
        return Type<T>::kName;
    }
};

/// A device's block sizes instead of the emulation's small ones, as long as this lives.
class DeviceLimits {
public:
    explicit DeviceLimits(device::LaunchLimits limits) : m_before(testing::emulatedLimits()) {
        testing::emulatedLimits() = limits;
    }
    ~DeviceLimits() { testing::emulatedLimits() = m_before; }
    DeviceLimits(const DeviceLimits&) = delete;
    DeviceLimits& operator=(const DeviceLimits&) = delete;

private:
    device::LaunchLimits m_before;
};

}  // namespace shardscope::kernels
