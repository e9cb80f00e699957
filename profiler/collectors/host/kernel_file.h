// A small file of the kernel, held open and read again and again. Internal to collectors/host.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

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

}  // namespace shardscope::collectors
