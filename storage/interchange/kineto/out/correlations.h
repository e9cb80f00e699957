// Which correlations one end of the arrows from calls to kernels has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardscope::interchange::kineto_out {

/// A set in 8 bytes each. Beyond kMost (128 MB) arrows are drawn without asking for the other end.
class Correlations {
public:
    static constexpr std::size_t kMost = std::size_t{16} << 20;

    void add(std::uint64_t value) {
        if (m_values.size() < kMost)
            m_values.push_back(value);
        else
            m_full = true;
    }
    /// Before has() and after the last add().
    void finish() {
        std::sort(m_values.begin(), m_values.end());
        m_values.erase(std::unique(m_values.begin(), m_values.end()), m_values.end());
    }
    [[nodiscard]] bool has(std::uint64_t value) const {
        return m_full || std::binary_search(m_values.begin(), m_values.end(), value);
    }

private:
    std::vector<std::uint64_t> m_values;
    bool m_full = false;
};

}  // namespace shardscope::interchange::kineto_out
