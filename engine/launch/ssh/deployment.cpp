#include "engine/launch/ssh/deployment.h"

#include "engine/launch/ssh/host_look.h"
#include "engine/launch/ssh/remote_status.h"
#include "engine/launch/ssh/shell_quoting.h"
#include "engine/launch/ssh/token.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace shardscope::launch {
namespace {

/// Of one turn of the loop, so that one host does not starve the others.
constexpr std::int64_t kTurnBytes = 4 << 20;

/// What was left by those that were cut off, and programs that nobody has started for a day but
/// the last three. By time alone: on a network file system no process can be asked for.
constexpr const char* kTidy =
    "{ cd \"$s\" && find . -maxdepth 1 -name '.new-*' -mtime +0 -exec rm -rf '{}' +; n=0; "
    "for u in $(ls -td [0-9a-f]*/.used); do n=$((n+1)); "
    "[ $n -gt 3 ] && [ -n \"$(find \"$u\" -mtime +0)\" ] && rm -rf \"${u%/.used}\"; "
    "done; } 2>/dev/null; ";

/// Sums of much data take long: that it goes on is to be heard.
constexpr const char* kBusy = "( while sleep 5 >/dev/null 2>&1; do echo busy; done ) & a=$!; ";

/// $d is where it is going to be, $f where it is unpacked.
std::string placeLine(const Package& package, PackageKind kind) {
    const std::string proof = shellWord(package.files.front().name);
    const std::string changed =
        kind != PackageKind::kData
            ? ""
            : fmt::format(
                  "if [ -e \"$d\" ] && ! ( same \"$d\" ); then rm -rf \"$d{0}\"; "
                  "mv \"$d\" \"$d{0}\"; fi; ",
                  kChangedFolder);
    // What lacks its first file is in the way. Whoever was faster has put the same there; mv then
    // moves ours into theirs, where it is removed.
    return "cd /; " + changed + "if [ -e \"$d\" ] && [ ! -e \"$d\"/" + proof +
           " ]; then mv \"$d\" \"$f.old\"; rm -rf \"$f.old\"; fi; [ -e \"$d\"/" + proof +
           " ] || mv \"$f\" \"$d\" || " + exitWith(RemoteStatus::kNotUnpacked) +
           "; rm -rf \"$d/${f##*/}\"; ";
}

}  // namespace

std::string deploymentLine(const SshHost& host, const Token& token, const Package& package,
                           PackageKind kind) {
    const std::string folder = shellWord(package.folder);
    return "LC_ALL=C; export LC_ALL; umask 077; " + folderWords(host) + "s=$b/shardscope; d=$s/" +
           folder + "; f=$s/.new-" + folder + "-$$-$(uname -n); " +
           "mkdir -p \"$s\" && mkdir \"$f\" || " + exitWith(RemoteStatus::kNoFolder) + "; " +
           sameContents() + kBusy +
           "trap 'kill $a 2>/dev/null; rm -rf \"$f\"' EXIT; trap 'exit 129' HUP INT TERM PIPE; " +
           token.printing() + "; cd \"$f\" && tar xof - || " +
           exitWith(RemoteStatus::kNotUnpacked) + "; sha256sum -c " + kSumsFile +
           " >/dev/null && : >.used || " + exitWith(RemoteStatus::kSumsDiffer) + "; " +
           (kind == PackageKind::kProgram ? programCheck() : "") + placeLine(package, kind) +
           kTidy + "exit 0";
}

Result<Deployment> Deployment::start(const SshOptions& options, const SshHost& host,
                                     const SshMaster& master, const Package& package,
                                     PackageKind kind) {
    const Token token;
    auto session =
        SshSession::start(options, host, master, token, deploymentLine(host, token, package, kind));
    if (!session) return failure(session);
    return Deployment(std::move(*session), package);
}

void Deployment::addPolls(std::vector<pollfd>& polls) {
    m_session.addPolls(polls);
    const FileDescriptor& input = m_session.child().input;
    if (m_session.hasBegun() && input.valid()) polls.push_back({input.get(), POLLOUT, 0});
}

void Deployment::turn() {
    m_session.turn(true);
    if (m_session.hasBegun()) write();
}

bool Deployment::refill() {
    const auto piece = m_stream.next();
    if (!piece) {
        // Without an end of the stream: what has arrived is not taken for all.
        m_failure = piece.error();
        return false;
    }
    m_piece = *piece;
    m_written = 0;
    return !m_piece.empty();
}

void Deployment::write() {
    FileDescriptor& input = m_session.child().input;
    for (std::int64_t written = 0; input.valid() && written < kTurnBytes;) {
        if (m_written == m_piece.size() && !refill()) {
            if (!m_failure) input.reset();
            return;
        }
        const ssize_t count =
            ::write(input.get(), m_piece.data() + m_written, m_piece.size() - m_written);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count < 0) {
            input.reset();  // they have stopped reading, and are about to say why
            return;
        }
        m_session.noteProgress();
        m_written += static_cast<std::size_t>(count);
        m_sent += Bytes{count};
        written += count;
    }
}

Result<void> Deployment::outcome(const SshHost& host, const std::string& folder) {
    if (m_failure) return tl::unexpected<Error>(*m_failure);
    if (m_session.endedWith(0) && m_sent == size()) return {};
    return tl::unexpected<Error>(remoteError(host, folder, m_session, "sending the program to"));
}

}  // namespace shardscope::launch
