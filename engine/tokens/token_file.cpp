#include "engine/tokens/token_file.h"

#include "storage/model/new_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

namespace shardscope::tokens {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kHeaderNumbers = 256;
constexpr std::size_t kHeaderBytes = kHeaderNumbers * sizeof(std::int32_t);
using Header = std::array<std::int32_t, kHeaderNumbers>;

struct Kind {
    std::int32_t magic;
    std::int32_t version;
    std::size_t width;
};
constexpr Kind kKinds[] = {{20240520, 1, 2}, {20240801, 7, 4}};

tl::unexpected<Error> wrong(const std::string& path, const std::string& what) {
    return failure(ErrorCode::kUnreadable, fmt::format("the token file {} {}", path, what));
}

Result<TokenFile> withHeader(const std::string& path, MappedFile file, const Kind& kind) {
    const std::size_t size = file.bytes().size();
    Header header{};
    std::memcpy(header.data(), file.bytes().data(), std::min(size, kHeaderBytes));
    if (size >= 2 * sizeof(std::int32_t) && header[1] != kind.version) {
        return wrong(path, fmt::format("is llm.c's of version {}, Shardscope knows {}; write it "
                                       "again with shardscope tokenize",
                                       header[1], kind.version));
    }
    if (size < kHeaderBytes)
        return wrong(path, fmt::format("ends within llm.c's header of {} bytes; copy it again",
                                       kHeaderBytes));
    const std::size_t follow = size - kHeaderBytes;
    const auto count = static_cast<std::uint32_t>(header[2]);
    if (count == 0 || follow != std::size_t{count} * kind.width) {
        return wrong(path, fmt::format("announces {} tokens of {} bytes, but {} bytes follow its "
                                       "header; copy it again",
                                       count, kind.width, follow));
    }
    TokenFile tokens{std::move(file), nullptr, count, kind.width, TokenFormat::kLlmc};
    tokens.data = tokens.file.bytes().data() + kHeaderBytes;
    return tokens;
}

}  // namespace

Result<TokenFile> openTokenFile(const std::string& path) {
    auto file = MappedFile::open(path);
    if (!file) return failure(file, "the token file");
    const std::size_t size = file->bytes().size();
    std::int32_t magic = 0;
    if (size >= sizeof magic) std::memcpy(&magic, file->bytes().data(), sizeof magic);
    for (const Kind& kind : kKinds) {
        if (magic == kind.magic) return withHeader(path, std::move(*file), kind);
    }
    if (size == 0) return wrong(path, "is empty; write it again with shardscope tokenize");
    if (size % 2 != 0) {
        return wrong(path, fmt::format("has {} bytes, an odd number: neither nanoGPT's 2 bytes a "
                                       "token nor llm.c's header; copy it again",
                                       size));
    }
    TokenFile tokens{std::move(*file), nullptr, size / 2, 2, TokenFormat::kNanoGpt};
    tokens.data = tokens.file.bytes().data();
    return tokens;
}

Result<TokenFileWriter> TokenFileWriter::create(const std::string& path, TokenFormat format,
                                                std::size_t width) {
    TokenFileWriter writer;
    writer.m_path = path;
    writer.m_format = format;
    writer.m_width = width;
    // Through no link that is there already.
    const int made = openNewFile(path);
    if (made >= 0) {
        ::close(made);
        writer.m_file.open(path, std::ios::binary | std::ios::in | std::ios::out);
    }
    if (made < 0 || !writer.m_file) {
        const auto error =
            failure(ErrorCode::kUsage, fmt::format("cannot write {}: {}; choose another --output",
                                                   path, std::strerror(errno)));
        writer.m_path.clear();
        return error;
    }
    if (format == TokenFormat::kLlmc) {
        const Header empty{};
        writer.m_file.write(reinterpret_cast<const char*>(empty.data()), kHeaderBytes);
    }
    return writer;
}

TokenFileWriter::~TokenFileWriter() {
    if (m_path.empty()) return;
    m_file.close();
    std::error_code ignored;
    fs::remove(m_path, ignored);
}

tl::unexpected<Error> TokenFileWriter::failed() const {
    return failure(ErrorCode::kFailure,
                   fmt::format("cannot write {}: {}; make room, or choose another --output", m_path,
                               std::strerror(errno)));
}

Result<void> TokenFileWriter::write(std::span<const std::uint32_t> tokens) {
    m_bytes.resize(tokens.size() * m_width);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const auto narrow = static_cast<std::uint16_t>(tokens[i]);
        std::memcpy(m_bytes.data() + i * m_width,
                    m_width == 2 ? static_cast<const void*>(&narrow) : &tokens[i], m_width);
    }
    m_file.write(m_bytes.data(), static_cast<std::streamsize>(m_bytes.size()));
    if (!m_file) return failed();
    m_count += tokens.size();
    return {};
}

Result<void> TokenFileWriter::moveTail(std::size_t count, TokenFileWriter& tail) {
    constexpr std::size_t kBlock = 1 << 20;
    const std::size_t header = m_format == TokenFormat::kLlmc ? kHeaderBytes : 0;
    const std::size_t keep = m_count - count;
    m_file.seekg(static_cast<std::streamoff>(header + keep * m_width));
    for (std::size_t left = count; left > 0;) {
        const std::size_t now = std::min(left, kBlock);
        m_bytes.resize(now * m_width);
        m_file.read(m_bytes.data(), static_cast<std::streamsize>(m_bytes.size()));
        tail.m_file.write(m_bytes.data(), static_cast<std::streamsize>(m_bytes.size()));
        if (!m_file) return failed();
        if (!tail.m_file) return tail.failed();
        left -= now;
    }
    m_file.flush();
    std::error_code error;
    fs::resize_file(m_path, header + keep * m_width, error);
    if (error) return failed();
    m_count = keep;
    tail.m_count += count;
    return {};
}

Result<void> TokenFileWriter::finish() {
    if (m_format == TokenFormat::kLlmc) {
        if (m_count > std::numeric_limits<std::int32_t>::max()) {
            return failure(ErrorCode::kUsage,
                           fmt::format("{} would hold {} tokens, more than llm.c's header can "
                                       "say; give less text a file, or --format nanogpt",
                                       m_path, m_count));
        }
        const Kind& kind = m_width == 2 ? kKinds[0] : kKinds[1];
        Header header{};
        header[0] = kind.magic;
        header[1] = kind.version;
        header[2] = static_cast<std::int32_t>(m_count);
        m_file.seekp(0);
        m_file.write(reinterpret_cast<const char*>(header.data()), kHeaderBytes);
    }
    m_file.close();
    if (!m_file) return failed();
    m_path.clear();
    return {};
}

}  // namespace shardscope::tokens
