#include "app/cli/open_recording.h"

#include "app/cli/console.h"
#include "engine/launch/process.h"
#include "engine/launch/ssh/login_shell.h"
#include "storage/recording/file/writer_lock.h"
#include "storage/recording/remote/remote_address.h"
#include "storage/recording/remote/remote_reader.h"
#include "storage/recording/remote/remote_session.h"
#include "storage/sqlite/sqlite_error.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace shardscope::cli {
namespace remote = storage::remote;
namespace {

std::string plainName(const remote::RemoteAddress& address) {
    return address.path.substr(address.path.rfind('/') + 1);
}

std::string fileName(const remote::RemoteAddress& address) {
    return launch::typedWord(plainName(address));
}

/// For a shell of this machine: puts a copy of the file into the current folder.
std::string fetchCommand(const RecordingPlace& place, const remote::RemoteAddress& address) {
    // The home is its shell's to find.
    const std::string path = address.path.starts_with("~/")
                                 ? "~/" + launch::shellWord(address.path.substr(2))
                                 : launch::shellWord(address.path);
    return fmt::format("{} {} {} > {}", place.sshCommand.empty() ? "ssh" : place.sshCommand,
                       address.target, launch::typedWord("cat " + path), fileName(address));
}

}  // namespace

Result<OpenedRecording> openAnyRecording(const RecordingPlace& place) {
    if (!remote::isRemote(place.path)) {
        // Asked while this process has it not open.
        const bool beingWritten = storage::isBeingWritten(place.path);
        auto reader = storage::openRecording(place.path);
        if (!reader) return failure(reader);
        return OpenedRecording{std::move(*reader), beingWritten};
    }
    const auto address = remote::parseAddress(place.path);
    if (!address) return failure(address);
    // Progress in bytes does not get a line each time.
    const auto notice = [last = std::string()](const std::string& text) mutable {
        const std::string what = text.substr(0, text.find(": "));
        if (what == std::exchange(last, what) || ::isatty(STDERR_FILENO) != 1) return;
        tellLine(what);
    };
    auto session =
        remote::startServing({launch::ownProgram(), place.sshCommand}, address->target, {}, notice);
    if (!session) return failure(session);
    auto reader = remote::RemoteReader::open(std::move(*session), address->path);
    if (!reader) return failure(reader);
    const bool beingWritten = (*reader)->wasBeingWritten();
    return OpenedRecording{std::move(*reader), beingWritten};
}

Result<void> requireFile(const RecordingPlace& place, const std::string& what,
                         const std::string& more) {
    if (!remote::isRemote(place.path)) return {};
    const auto address = remote::parseAddress(place.path);
    if (!address) return failure(address);
    return failure(
        ErrorCode::kUsage,
        fmt::format("{} needs the file itself, which is on {}; copy it and run it here: {} && "
                    "shardscope {} {}{}",
                    what, address->target, fetchCommand(place, *address), what, fileName(*address),
                    more));
}

int tellFailure(const RecordingPlace& place, const Error& error) {
    std::string text = error.message;
    const auto address = remote::parseAddress(place.path);
    // The program that helps is on no search path there.
    if (const std::size_t at = text.find("`shardscope repair "); address && at != text.npos) {
        text.replace(
            at, text.find('`', at + 1) + 1 - at,
            fmt::format("a copy of the file here: `{} && {}", fetchCommand(place, *address),
                        storage::repairCommand(plainName(*address)).substr(1)));
    }
    tellError(text);
    return exitStatus(error);
}

}  // namespace shardscope::cli
