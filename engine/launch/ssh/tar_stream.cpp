#include "engine/launch/ssh/tar_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace shardscope::launch {
namespace {

// POSIX.1-1988 ustar: blocks of 512 bytes, numbers in octal text, two empty blocks at the end.
constexpr std::size_t kBlock = 512;
constexpr std::size_t kPiece = 256 * 1024;

std::int64_t inBlocks(std::int64_t size) {
    const auto block = static_cast<std::int64_t>(kBlock);
    return (size + block - 1) / block * block;
}

std::string header(const std::string& name, std::int64_t size, bool executable) {
    std::string block(kBlock, '\0');
    const auto put = [&block](std::size_t at, const std::string& text) {
        std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(at));
    };
    put(0, name.substr(0, 100));
    put(100, executable ? "0000700" : "0000600");
    put(108, "0000000");
    put(116, "0000000");
    put(124, fmt::format("{:011o}", size));
    put(136, fmt::format("{:011o}", 0));
    put(148, "        ");
    put(156, "0");
    put(257, "ustar");
    put(263, "00");
    unsigned sum = 0;
    for (const char each : block) sum += static_cast<unsigned char>(each);
    put(148, fmt::format("{:06o}", sum));
    block[154] = '\0';
    return block;
}

void fillUp(std::string& buffer, std::int64_t size) {
    buffer.append(static_cast<std::size_t>(inBlocks(size) - size), '\0');
}

}  // namespace

TarStream::TarStream(const Package& package) : m_package(package), m_sums(package.sums()) {}

Bytes TarStream::size() const {
    const auto block = static_cast<std::int64_t>(kBlock);
    std::int64_t size = 3 * block + inBlocks(static_cast<std::int64_t>(m_sums.size()));
    for (const PackageFile& file : m_package.files) size += block + inBlocks(file.size.count);
    return Bytes{size};
}

Result<std::string_view> TarStream::next() {
    m_buffer.clear();
    if (!m_begun) {
        m_begun = true;
        const auto size = static_cast<std::int64_t>(m_sums.size());
        m_buffer = header(kSumsFile, size, false) + m_sums;
        fillUp(m_buffer, size);
    } else if (m_file.valid()) {
        if (auto done = read(); !done) return failure(done);
    } else if (m_index < m_package.files.size()) {
        if (auto opened = open(m_package.files[m_index++]); !opened) return failure(opened);
    } else if (!m_ended) {
        m_ended = true;
        m_buffer.assign(2 * kBlock, '\0');
    }
    return std::string_view(m_buffer);
}

Result<void> TarStream::open(const PackageFile& file) {
    m_file = FileDescriptor(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!m_file.valid())
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} cannot be read: {}", file.path, std::strerror(errno)));
    m_left = file.size.count;
    m_buffer = header(file.name, m_left, file.name.starts_with("bin/"));
    if (m_left == 0) m_file.reset();
    return {};
}

Result<void> TarStream::read() {
    const auto piece = static_cast<std::size_t>(std::min<std::int64_t>(m_left, kPiece));
    m_buffer.resize(piece);
    const ssize_t count = ::read(m_file.get(), m_buffer.data(), piece);
    if (count <= 0)
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} changed while it was sent; start again",
                                   m_package.files[m_index - 1].path));
    m_buffer.resize(static_cast<std::size_t>(count));
    m_left -= count;
    if (m_left > 0) return {};
    fillUp(m_buffer, m_package.files[m_index - 1].size.count);
    m_file.reset();
    return {};
}

}  // namespace shardscope::launch
