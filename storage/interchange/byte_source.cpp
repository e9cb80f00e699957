#include "storage/interchange/byte_source.h"

#include "storage/interchange/gzip_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

namespace shardscope::interchange {
namespace {

/// A file descriptor, with the bytes that were looked at to recognise gzip given again.
class FileSource : public ByteSource {
public:
    FileSource(int descriptor, std::string path, std::uint64_t size)
        : m_descriptor(descriptor), m_path(std::move(path)), m_size(size) {}
    FileSource(const FileSource&) = delete;
    FileSource& operator=(const FileSource&) = delete;
    ~FileSource() override { close(m_descriptor); }

    Result<std::size_t> read(std::span<char> into) override {
        if (!m_ahead.empty()) {
            const std::size_t count = std::min(into.size(), m_ahead.size());
            std::copy_n(m_ahead.begin(), count, into.begin());
            m_ahead.erase(m_ahead.begin(), m_ahead.begin() + static_cast<std::ptrdiff_t>(count));
            return count;
        }
        while (true) {
            const ssize_t count = ::read(m_descriptor, into.data(), into.size());
            if (count >= 0) {
                m_read += static_cast<std::uint64_t>(count);
                return static_cast<std::size_t>(count);
            }
            if (errno != EINTR)
                return failure(ErrorCode::kUnreadable,
                               "cannot read " + m_path + ": " + std::strerror(errno));
        }
    }
    [[nodiscard]] double share() const override {
        return m_size == 0 ? 0 : static_cast<double>(m_read) / static_cast<double>(m_size);
    }

    /// The first `count` bytes, or all there are; read() gives them again.
    Result<std::span<const char>> peek(std::size_t count) {
        while (m_ahead.size() < count) {
            std::vector<char> more(count - m_ahead.size());
            std::vector<char> before = std::exchange(m_ahead, {});
            auto got = read(more);
            m_ahead = std::move(before);
            if (!got) return failure(got);
            if (*got == 0) break;
            m_ahead.insert(m_ahead.end(), more.begin(),
                           more.begin() + static_cast<std::ptrdiff_t>(*got));
        }
        return std::span<const char>(m_ahead);
    }

private:
    int m_descriptor;
    std::string m_path;
    std::uint64_t m_size;
    std::atomic<std::uint64_t> m_read = 0;  ///< asked for from another thread
    std::vector<char> m_ahead;
};

Result<std::unique_ptr<FileSource>> openFile(const std::string& path, const std::string& title) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return failure(ErrorCode::kUnreadable,
                       errno == ENOENT ? title + " does not exist"
                                       : "cannot open " + title + ": " + std::strerror(errno));
    struct stat facts {};
    const bool known = fstat(descriptor, &facts) == 0;
    if (known && S_ISDIR(facts.st_mode)) {
        close(descriptor);
        return failure(ErrorCode::kUnreadable, title + " is a folder, not a trace");
    }
    return std::make_unique<FileSource>(descriptor, title,
                                        known ? static_cast<std::uint64_t>(facts.st_size) : 0);
}

}  // namespace

Result<std::unique_ptr<ByteSource>> openBytes(const std::string& path, const std::string& title,
                                              CutGzip cut) {
    auto file = openFile(path, title);
    if (!file) return failure(file);
    auto front = (*file)->peek(2);
    if (!front) return failure(front);
    const bool gzip = front->size() == 2 && (*front)[0] == '\x1f' && (*front)[1] == '\x8b';
    if (gzip) return gzipSource(std::move(*file), title, cut);
    return std::unique_ptr<ByteSource>(std::move(*file));
}

}  // namespace shardscope::interchange
