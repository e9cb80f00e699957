// A side that serves, on a thread of the test's, and a session with it.
#pragma once

#include "storage/recording/remote/remote_reader.h"
#include "storage/recording/remote/serve.h"
#include "tests/support/result_matchers.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace shardscope::storage::remote {

/// {ours, the other side's}
inline std::array<int, 2> streamPair() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return ends;
}

inline Result<std::unique_ptr<RemoteSession>> sessionOver(int fd, const Generation& wanted = {}) {
    return RemoteSession::begin(FrameStream(fd, fd), nullptr, "the test's connection", wanted);
}

class ServedHere {
public:
    explicit ServedHere(const ServeOptions& options = {}) {
        const auto ends = streamPair();
        m_thread = std::thread(
            [this, options, fd = ends[1]] { m_outcome = serve(fd, ::dup(fd), options); });
        auto begun = sessionOver(ends[0]);
        EXPECT_THAT(begun, test::IsOk());
        if (begun) session = std::move(*begun);
    }
    ServedHere(const ServedHere&) = delete;
    ServedHere& operator=(const ServedHere&) = delete;
    ~ServedHere() {
        session.reset();
        m_thread.join();
        EXPECT_THAT(m_outcome, test::IsOk());
    }

    std::unique_ptr<RecordingReader> open(const std::string& path) {
        auto reader = RemoteReader::open(session, path);
        EXPECT_THAT(reader, test::IsOk());
        return reader ? std::move(*reader) : nullptr;
    }

    /// Readers that are open keep it, and must go first.
    std::shared_ptr<RemoteSession> session;

private:
    Result<void> m_outcome;
    std::thread m_thread;
};

}  // namespace shardscope::storage::remote
