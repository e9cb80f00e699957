#include "storage/interchange/stream_copy.h"

#include "storage/interchange/formats.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/input_file.h"
#include "storage/model/new_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

namespace shardscope::interchange {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
/// What recogniseTrace() looks at.
constexpr std::size_t kFront = std::size_t{64} << 10;
constexpr int kPatienceMs = 100;

std::string titleOf(const std::string& path) {
    return path == "-" ? "standard input" : path;
}

class Copying {
    using Clock = std::chrono::steady_clock;

public:
    Copying(const std::string& path, const std::string& file, const std::function<bool()>& goOn,
            const PipeStall& stall)
        : m_title(titleOf(path)),
          m_file(file),
          m_goOn(goOn),
          m_stall(stall),
          // Opening a FIFO would wait for its writer.
          m_in(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                           : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
          m_out(openNewFile(file, 0600)) {}

    Result<void> run() {
        if (!m_in.valid()) return cannotRead();
        if (!m_out.valid()) return cannotWrite();
        std::vector<char> block(kBlock);
        while (true) {
            auto count = read(block);
            if (!count) return failure(count);
            if (auto written = write(block, *count); !written) return written;
            if (auto fine = look(*count == 0); !fine) return fine;
            if (*count == 0) return {};
        }
    }

private:
    /// 0 at the end.
    Result<std::size_t> read(std::vector<char>& block) {
        const auto until = Clock::now() + m_stall.patience;
        for (bool stalled = false; m_goOn();) {
            pollfd waits{m_in.get(), POLLIN, 0};
            if (poll(&waits, 1, kPatienceMs) <= 0) {
                if (stalled || Clock::now() < until) continue;
                stalled = true;
                if (auto fine = noteStall(); !fine) return failure(fine);
                continue;
            }
            const ssize_t count = ::read(m_in.get(), block.data(), block.size());
            if (count >= 0) return static_cast<std::size_t>(count);
            if (errno != EINTR && errno != EAGAIN) return cannotRead();
        }
        return failure(ErrorCode::kCancelled, "the import was stopped");
    }
    /// Without a writer there is no end of it either.
    Result<void> noteStall() {
        struct stat facts {};
        const bool pipe = fstat(m_in.get(), &facts) == 0 && S_ISFIFO(facts.st_mode);
        if (pipe && !hasWriter(m_in.get()))
            return failure(ErrorCode::kUnreadable, withoutWriter(m_title, m_stall.patience));
        if (m_stall.say)
            m_stall.say("waiting for " + m_title + ": nothing has come for " +
                        std::to_string(m_stall.patience.count()) + " s after " +
                        std::to_string(m_copied) + " bytes");
        return {};
    }
    Result<void> write(const std::vector<char>& block, std::size_t count) {
        for (std::size_t at = 0; at < count;) {
            const ssize_t done = ::write(m_out.get(), block.data() + at, count - at);
            if (done < 0 && errno != EINTR) return cannotWrite();
            at += done > 0 ? static_cast<std::size_t>(done) : 0;
        }
        m_copied += count;
        return {};
    }
    /// Do not fill the disk with what is no trace.
    Result<void> look(bool ended) {
        if (m_looked || (m_copied < kFront && !ended)) return {};
        m_looked = true;
        const auto format = recogniseTrace(m_file, m_title);
        return format ? Result<void>{} : failure(format);
    }
    [[nodiscard]] tl::unexpected<Error> cannotRead() const {
        return failure(ErrorCode::kUnreadable,
                       "cannot read " + m_title + ": " + std::strerror(errno));
    }
    [[nodiscard]] tl::unexpected<Error> cannotWrite() const {
        return failure(ErrorCode::kFailure, "cannot copy " + m_title + " to the output's folder (" +
                                                std::strerror(errno) +
                                                "): make room there, or import from a file");
    }

    std::string m_title;
    const std::string& m_file;
    const std::function<bool()>& m_goOn;
    const PipeStall& m_stall;
    FileDescriptor m_in, m_out;
    std::uint64_t m_copied = 0;
    bool m_looked = false;
};

}  // namespace

bool StreamCopy::isStream(const std::string& path) {
    if (path == "-") return true;
    struct stat facts {};
    return stat(path.c_str(), &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode));
}

Result<StreamCopy> StreamCopy::of(const std::string& path, const std::string& file,
                                  const std::function<bool()>& goOn, const PipeStall& stall) {
    StreamCopy copy(file);
    if (auto done = Copying(path, file, goOn, stall).run(); !done) return failure(done);
    return copy;
}

StreamCopy::StreamCopy(StreamCopy&& other) noexcept : m_file(std::exchange(other.m_file, {})) {}

StreamCopy& StreamCopy::operator=(StreamCopy&& other) noexcept {
    std::swap(m_file, other.m_file);
    return *this;
}

StreamCopy::~StreamCopy() {
    if (!m_file.empty()) unlink(m_file.c_str());
}

}  // namespace shardscope::interchange
