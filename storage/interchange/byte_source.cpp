#include "storage/interchange/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace shardscope::interchange {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::size_t kBlocksAhead = 4;
/// Traces compress 10 to 60 times; deflate cannot do more than 1032.
constexpr std::uint64_t kBombRatio = 400;
constexpr std::uint64_t kBombBytes = std::uint64_t{64} << 20;
constexpr int kGzipWindow = 15 + 16;

/// Inflates on the caller's thread.
class Inflater {
public:
    Inflater(std::unique_ptr<ByteSource> from, std::string title, CutGzip cut)
        : m_from(std::move(from)), m_title(std::move(title)), m_cut(cut), m_input(kBlockBytes / 4) {
        m_ready = inflateInit2(&m_stream, kGzipWindow) == Z_OK;
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    ~Inflater() { inflateEnd(&m_stream); }

    /// Fills `into`, or less at the end.
    Result<std::size_t> fill(std::span<char> into) {
        if (!m_ready) return failure(ErrorCode::kFailure, "zlib cannot be started");
        m_stream.next_out = reinterpret_cast<Bytef*>(into.data());
        m_stream.avail_out = static_cast<uInt>(into.size());
        while (m_stream.avail_out > 0) {
            auto more = step();
            if (!more) return failure(more);
            if (!*more) break;
        }
        const std::size_t count = into.size() - m_stream.avail_out;
        m_produced += count;
        if (m_produced > kBombBytes && m_produced / kBombRatio > m_consumed)
            return bad("inflates to more than " + std::to_string(kBombRatio) +
                       " times its size, which no trace does: it is a zip bomb");
        return count;
    }
    [[nodiscard]] double share() const { return m_from->share(); }
    [[nodiscard]] const std::string& fault() const { return m_fault; }

private:
    [[nodiscard]] tl::unexpected<Error> bad(const std::string& what) const {
        return failure(ErrorCode::kUnreadable, m_title + " " + what);
    }
    /// false: the end.
    Result<bool> step() {
        if (m_stream.avail_in == 0) {
            auto got = m_from->read(m_input);
            if (!got) return failure(got);
            if (*got == 0) {
                if (m_betweenMembers) return false;
                m_fault = "is truncated gzip: its end is missing, copy it again";
                if (m_cut == CutGzip::kSalvaged) return false;
                return bad(m_fault);
            }
            m_consumed += *got;
            m_stream.next_in = reinterpret_cast<Bytef*>(m_input.data());
            m_stream.avail_in = static_cast<uInt>(*got);
        }
        if (m_betweenMembers && m_produced + m_stream.total_out > 0) {
            // What follows a member is another one, or padding that gunzip ignores as well.
            if (*m_stream.next_in != 0x1f) return skipPadding();
            if (inflateReset(&m_stream) != Z_OK) return bad("is damaged gzip");
        }
        m_betweenMembers = false;
        const int code = inflate(&m_stream, Z_NO_FLUSH);
        if (code == Z_STREAM_END) {
            m_betweenMembers = true;
            return true;
        }
        if (code != Z_OK && code != Z_BUF_ERROR)
            return bad("is damaged gzip (" +
                       std::string(m_stream.msg == nullptr ? "no reason" : m_stream.msg) + ")");
        return true;
    }
    Result<bool> skipPadding() {
        const Bytef* begin = m_stream.next_in;
        if (std::any_of(begin, begin + m_stream.avail_in, [](Bytef byte) { return byte != 0; }))
            m_fault = "has something behind its gzip data that is none, which was left out";
        if (!m_fault.empty() && m_cut == CutGzip::kRefused)
            return bad("has something behind its gzip data that is none: cut it off there");
        m_stream.avail_in = 0;
        return true;
    }

    std::unique_ptr<ByteSource> m_from;
    std::string m_title;
    std::string m_fault;
    CutGzip m_cut;
    std::vector<char> m_input;
    z_stream m_stream{};
    bool m_ready = false;
    bool m_betweenMembers = false;
    std::uint64_t m_produced = 0;
    std::uint64_t m_consumed = 0;
};

class GzipSource : public ByteSource {
public:
    GzipSource(std::unique_ptr<ByteSource> compressed, const std::string& title, CutGzip cut)
        : m_inflater(std::move(compressed), title, cut),
          m_thread([this](const std::stop_token& stop) { work(stop); }) {}
    GzipSource(const GzipSource&) = delete;
    GzipSource& operator=(const GzipSource&) = delete;
    ~GzipSource() override {
        {
            const std::lock_guard lock(m_mutex);
            m_thread.request_stop();
        }
        m_wake.notify_all();
    }

    Result<std::size_t> read(std::span<char> into) override {
        if (m_at == m_block.size()) {
            if (auto next = nextBlock(); !next) return failure(next);
            if (m_block.empty()) return std::size_t{0};
        }
        const std::size_t count = std::min(into.size(), m_block.size() - m_at);
        std::copy_n(m_block.begin() + static_cast<std::ptrdiff_t>(m_at), count, into.begin());
        m_at += count;
        return count;
    }
    [[nodiscard]] double share() const override { return m_inflater.share(); }
    [[nodiscard]] std::string fault() const override {
        const std::lock_guard lock(m_mutex);
        return m_ended ? m_inflater.fault() : std::string();
    }

private:
    using Block = std::vector<char>;

    Result<void> nextBlock() {
        std::unique_lock lock(m_mutex);
        m_wake.wait(lock, [&] { return !m_blocks.empty() || m_ended; });
        m_block.clear();
        m_at = 0;
        if (m_blocks.empty()) {
            if (!m_status) return m_status;
            return {};
        }
        m_block = std::move(m_blocks.front());
        m_blocks.pop_front();
        lock.unlock();
        m_wake.notify_all();
        return {};
    }
    /// false: nothing more is wanted, or there is no more.
    bool produce(const std::stop_token& stop) {
        Block block(kBlockBytes);
        auto count = m_inflater.fill(block);
        std::unique_lock lock(m_mutex);
        if (!count) m_status = failure(count);
        if (!count || *count == 0) return false;
        block.resize(*count);
        m_wake.wait(lock, [&] { return m_blocks.size() < kBlocksAhead || stop.stop_requested(); });
        if (stop.stop_requested()) return false;
        m_blocks.push_back(std::move(block));
        return true;
    }
    void work(const std::stop_token& stop) {
        while (produce(stop)) m_wake.notify_all();
        {
            const std::lock_guard lock(m_mutex);
            m_ended = true;
        }
        m_wake.notify_all();
    }

    Inflater m_inflater;
    mutable std::mutex m_mutex;
    std::condition_variable m_wake;
    std::deque<Block> m_blocks;  ///< this and the next two are guarded
    bool m_ended = false;
    Result<void> m_status;
    Block m_block;
    std::size_t m_at = 0;
    std::jthread m_thread;  ///< last: ends before what it uses
};

/// Several gzip members after one another are one stream. `title` is for messages.
std::unique_ptr<ByteSource> gzipSource(std::unique_ptr<ByteSource> compressed,
                                       const std::string& title, CutGzip cut) {
    return std::make_unique<GzipSource>(std::move(compressed), title, cut);
}

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
        const ssize_t count = ::read(m_descriptor, into.data(), into.size());
        if (count < 0) {
            // A writer that is silent is waited for until the user interrupts.
            if (errno == EINTR)
                return failure(ErrorCode::kCancelled, "reading " + m_path + " was interrupted");
            return failure(ErrorCode::kUnreadable,
                           "cannot read " + m_path + ": " + std::strerror(errno));
        }
        m_read += static_cast<std::uint64_t>(count);
        return static_cast<std::size_t>(count);
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
