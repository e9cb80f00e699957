// Puts a package on a host: sent through a session, unpacked beside its place, checked there, and
// moved into place in one step. Interrupted at any time it leaves nothing; two at the same time do
// not hurt each other. Of program packages the last three are kept, and all that were used within
// a day.
//
// Used from one poll loop; nothing here waits.
#pragma once

#include "engine/launch/ssh/payload.h"
#include "engine/launch/ssh/ssh_master.h"
#include "engine/launch/ssh/ssh_options.h"
#include "engine/launch/ssh/ssh_session.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <poll.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::launch {

// A package as the bytes of a tar archive, made while it is read.

class TarStream {
public:
    /// The package outlives it.
    explicit TarStream(const Package& package);

    /// The next piece, valid until the next call; empty: that was all. An error when a file has
    /// changed since it was packaged.
    Result<std::string_view> next();

    /// Of all that there is.
    [[nodiscard]] Bytes size() const;

private:
    Result<void> open(const PackageFile& file);
    Result<void> read();

    const Package& m_package;
    std::string m_sums;
    std::string m_buffer;
    FileDescriptor m_file;
    std::size_t m_index = 0;  ///< of the next file
    std::int64_t m_left = 0;  ///< of the open one
    bool m_begun = false;
    bool m_ended = false;
};

enum class PackageKind { kProgram, kLibTorch, kData };

/// Ends the name of the folder that data which was changed there is moved to.
inline constexpr const char* kChangedFolder = ".changed";

class Deployment {
public:
    /// The package outlives it. A program is run there once before it is put in place; data takes
    /// the place of what is not the same.
    static Result<Deployment> start(const SshOptions& options, const SshHost& host,
                                    const SshMaster& master, const Package& package,
                                    PackageKind kind);

    void addPolls(std::vector<pollfd>& polls);
    void turn();

    [[nodiscard]] bool isDone() { return m_failure || m_session.hasEnded(); }
    /// Once it is done. `folder` is the host's, for sentences.
    Result<void> outcome(const SshHost& host, const std::string& folder);

    [[nodiscard]] Bytes sent() const { return m_sent; }
    [[nodiscard]] Bytes size() const { return m_stream.size(); }
    SshSession& session() { return m_session; }

private:
    Deployment(SshSession session, const Package& package)
        : m_session(std::move(session)), m_stream(package) {}

    void write();
    bool refill();

    SshSession m_session;
    TarStream m_stream;
    std::string m_piece;  ///< what is written next
    std::size_t m_written = 0;
    Bytes m_sent{};
    std::optional<Error> m_failure;  ///< of ours
};

/// The line that takes a package in; see above.
[[nodiscard]] std::string deploymentLine(const SshHost& host, const Token& token,
                                         const Package& package, PackageKind kind);

}  // namespace shardscope::launch
