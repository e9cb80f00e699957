// Kernel names, each copied and demangled once.
//
// CUPTI's pointers may go stale when a module is unloaded and reused for another name, so
// names differ by their text. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shardscope::collectors::cupti {

struct KernelName {
    std::string full;         ///< demangled
    std::string shown;        ///< displayName(full)
    bool collective = false;  ///< one of NCCL's
};

class KernelNames {
public:
    /// The same number for the same text.
    std::uint32_t add(std::string_view mangled);
    [[nodiscard]] const KernelName& at(std::uint32_t name) const { return m_names[name]; }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> m_numbers;
    std::deque<KernelName> m_names;
};

/// Without return type, parameters and namespaces, with template arguments two levels deep:
/// "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>,
/// std::array<char*, 3ul> >(int, ...)" -> "vectorized_elementwise_kernel<4,
/// CUDAFunctor_add<float>, array<char*, 3ul> >". At most 120 characters.
[[nodiscard]] std::string displayName(std::string_view demangled);

}  // namespace shardscope::collectors::cupti
