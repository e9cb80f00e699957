#include "app/cli/open_recording.h"

#include "app/cli/console.h"
#include "engine/launch/process.h"
#include "storage/recording/remote/remote_address.h"
#include "storage/recording/remote/remote_reader.h"
#include "storage/recording/remote/serving_child.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace shardscope::cli {
namespace remote = storage::remote;

Result<std::unique_ptr<storage::RecordingReader>> openAnyRecording(const RecordingPlace& place) {
    if (!remote::isRemote(place.path)) return storage::openRecording(place.path);
    const auto address = remote::parseAddress(place.path);
    if (!address) return failure(address);
    // How much of something has been sent is not a line each time.
    const auto notice = [told = std::string()](const std::string& text) mutable {
        const std::string what = text.substr(0, text.find(": "));
        if (what == std::exchange(told, what) || ::isatty(STDERR_FILENO) != 1) return;
        tell(fmt::format("{}\n", what));
    };
    auto session =
        remote::startServing({launch::ownProgram(), place.sshCommand}, address->target, {}, notice);
    if (!session) return failure(session);
    return remote::RemoteReader::open(std::move(*session), address->path);
}

Result<void> requireFile(const RecordingPlace& place, const std::string& what) {
    if (!remote::isRemote(place.path)) return {};
    const auto address = remote::parseAddress(place.path);
    if (!address) return failure(address);
    return failure(ErrorCode::kUsage,
                   fmt::format("{} reads the file itself, which {} is not; run it there: ssh {} "
                               "shardscope ...",
                               what, place.path, address->target));
}

}  // namespace shardscope::cli
