#include "engine/launch/ssh/deployment.h"

#include "engine/launch/ssh/host_look.h"
#include "engine/launch/ssh/login_shell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace shardscope::launch {
namespace {

/// Of one turn of the loop, so that one host does not starve the others.
constexpr std::int64_t kTurnBytes = 4 << 20;

/// What was left by those that were cut off, damaged programs, and programs that were not started
/// for a day but the last three. By time alone: on a network file system no process can be asked
/// for.
constexpr const char* kTidy =
    "{ cd \"$s\" && find . -maxdepth 1 -name '.new-*' -mtime +0 -exec rm -rf '{}' +; n=0; "
    "for u in $(ls -td [0-9a-f]*/.used); do n=$((n+1)); "
    "[ $n -gt 3 ] && [ -n \"$(find \"$u\" -mtime +0)\" ] && rm -rf \"${u%/.used}\"; "
    "done; } 2>/dev/null; ";

/// Sums of much data take long: that it goes on is to be heard.
constexpr const char* kBusy = "( while sleep 5 >/dev/null 2>&1; do echo busy; done ) & a=$!; ";

/// What is there and is not what was sent.
std::string moveAwayLine(PackageKind kind) {
    switch (kind) {
        case PackageKind::kLibTorch:
            return {};
        case PackageKind::kData:
            return fmt::format(
                "if [ -e \"$d\" ] && ! ( same \"$d\" ); then rm -rf \"$d{0}\"; "
                "mv \"$d\" \"$d{0}\"; fi; ",
                kChangedFolder);
        case PackageKind::kProgram:
            break;
    }
    // A run may be using it: it is removed a day later. Hosts that share the folder mend it once:
    // the next one finds another folder of that name than the one that it looked at.
    return "i=$(ls -di \"$d\" 2>/dev/null); if [ -n \"$i\" ] && ! ( whole \"$d\" ) && "
           "[ \"$i\" = \"$(ls -di \"$d\" 2>/dev/null)\" ]; then mv \"$d\" \"$f.damaged\" && "
           "touch \"$f.damaged\"; fi; ";
}

/// $d is where it is going to be, $f where it is unpacked.
std::string placeLine(const Package& package, PackageKind kind) {
    const std::string proof = "[ -e \"$d\"/" + shellWord(package.files.front().name) + " ]";
    const std::string inPlace = kind == PackageKind::kProgram ? "( whole \"$d\" )" : proof;
    // What lacks its first file is in the way. Hosts that share the folder do this at the same
    // time: where a faster one has put the same there, mv moves ours into theirs, and it is taken
    // back; where one has moved theirs away in between, mv fails. Then it is tried again.
    return "cd /; n=0; while :; do " + moveAwayLine(kind) + "if [ -e \"$d\" ] && ! " + proof +
           "; then mv \"$d\" \"$f.old\"; rm -rf \"$f.old\"; fi; " + proof +
           " || mv \"$f\" \"$d\"; [ ! -d \"$d/${f##*/}\" ] || mv \"$d/${f##*/}\" \"$f\"; " +
           inPlace + " && break; n=$((n+1)); [ $n -lt 4 ] || " +
           exitWith(RemoteStatus::kNotUnpacked) + "; sleep 1; done; ";
}

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

std::string deploymentLine(const SshHost& host, const Token& token, const Package& package,
                           PackageKind kind) {
    const std::string folder = shellWord(package.folder);
    return "LC_ALL=C; export LC_ALL; umask 077; " + folderWords(host) + "s=$b/shardscope; d=$s/" +
           folder + "; f=$s/.new-" + folder + "-$$-$(uname -n); " +
           "mkdir -p \"$s\" && mkdir \"$f\" || " + exitWith(RemoteStatus::kNoFolder) + "; " +
           sameContents() + wholePackage() + kBusy +
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
