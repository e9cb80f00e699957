// A small file of the kernel, held open and read again and again. Internal to collectors/host.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

namespace shardscope::collectors {

class KernelFile {
public:
    explicit KernelFile(const char* path);
    ~KernelFile();
    KernelFile(const KernelFile&) = delete;
    KernelFile& operator=(const KernelFile&) = delete;

    /// Its beginning as it is now, as far as it has room; empty where there is no such file.
    [[nodiscard]] std::string_view read(std::span<char> room) const;

private:
    int m_descriptor;
};

// Whole numbers of a line of /proc. Internal to collectors/host.

/// The first `kCount`, with blanks between them; nothing where there are fewer.
template <std::size_t kCount>
[[nodiscard]] std::optional<std::array<std::int64_t, kCount>> numbersIn(std::string_view line) {
    std::array<std::int64_t, kCount> numbers{};
    for (std::int64_t& number : numbers) {
        const std::size_t begin = line.find_first_not_of(' ');
        if (begin == std::string_view::npos) return std::nullopt;
        line.remove_prefix(begin);
        const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
        if (read.ec != std::errc{}) return std::nullopt;
        line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
    }
    return numbers;
}

}  // namespace shardscope::collectors
