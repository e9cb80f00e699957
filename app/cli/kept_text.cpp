#include "app/cli/kept_text.h"

#include "app/cli/options.h"
#include "app/cli/version.h"
#include "storage/recording/beside/kept_results.h"
#include "storage/recording/file/writer_lock.h"
#include "storage/recording/remote/remote_address.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>

namespace shardscope::cli {
namespace {

constexpr std::chrono::milliseconds kWorthKeeping{500};

/// Its version, and when it was built: of one that is being worked on the version stays.
std::string thisProgram() {
    struct stat facts {};
    if (::stat("/proc/self/exe", &facts) != 0) return productVersion();
    return fmt::format("{} of {}.{:09}", productVersion(), facts.st_mtim.tv_sec,
                       facts.st_mtim.tv_nsec);
}

}  // namespace

void addFresh(CLI::App& app, bool& fresh) {
    addFlag(app, "--fresh", fresh,
            "compute again; otherwise results that took over half a second are kept in a "
            "file beside the recording (RECORDING-results) and reused until either changes");
}

Result<std::string> keptText(const RecordingPlace& place, const std::string& question, bool fresh,
                             const std::function<Result<Computed>()>& compute) {
    const auto text = [](Result<Computed> computed) -> Result<std::string> {
        if (!computed) return failure(computed);
        return std::move(computed->text);
    };
    if (fresh || storage::remote::isRemote(place.path)) return text(compute());
    const storage::KeptResults kept(place.path, thisProgram());
    if (!storage::isBeingWritten(place.path))
        if (auto found = kept.find(question)) return std::move(*found);
    const auto begun = std::chrono::steady_clock::now();
    auto computed = compute();
    if (computed && computed->lasting && std::chrono::steady_clock::now() - begun >= kWorthKeeping)
        kept.keep(question, computed->text);
    return text(std::move(computed));
}

}  // namespace shardscope::cli
