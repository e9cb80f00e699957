#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/checkpoint_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace shardscope::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// A file as the manifest describes it: the header's checksum, since the header holds those of
/// the data.
Result<Json> describe(const std::string& folder, const std::string& name) {
    const auto file = SafetensorsFile::open(folder + "/" + name);
    if (!file) return failure(file);
    return Json{
        {"name", name}, {"bytes", (*file)->size()}, {"header_crc32", (*file)->headerChecksum()}};
}

Result<Json> manifestJson(const std::string& folder, const Manifest& manifest) {
    Json files = Json::array();
    for (int rank = 0; rank < manifest.ranks; ++rank) {
        auto file = describe(folder, rankFileName(rank));
        if (!file) return failure(file);
        files.push_back(std::move(*file));
    }
    return Json{{"schema", kSchema},
                {"next_step", manifest.nextStep},
                {"updates", manifest.updates},
                {"loss_scale", manifest.lossScale},
                {"finite_steps", manifest.finiteSteps},
                {"ranks", manifest.ranks},
                {"config", Json::parse(run::toJson(manifest.config))},
                {"parameters", manifest.parameters},
                {"files", std::move(files)}};
}

Result<void> writeText(const std::string& path, const std::string& text) {
    auto file = DurableFile::create(path);
    if (!file) return failure(file);
    if (auto done = file->write(std::as_bytes(std::span(text))); !done) return done;
    return file->close();
}

/// Whatever is called step-* is whole, also when this is killed half-way.
void remove(const std::string& checkpoint) {
    std::error_code error;
    const std::string going = goingPath(checkpoint);
    fs::rename(checkpoint, going, error);
    if (!error) removeOurs(going);
}

}  // namespace

Result<std::string> tryFolder(const std::string& folder) {
    const auto refused = [&](const std::string& why) {
        return failure(ErrorCode::kUsage,
                       fmt::format("no checkpoint can be written to {}: {}; name another folder "
                                   "with --checkpoint",
                                   folder, why));
    };
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return refused(error.message());
    // Removed by itself unless it is closed as whole.
    auto trial = DurableFile::create(fmt::format("{}/.trial-{}", folder, ::getpid()));
    if (!trial) return refused(trial.error().message);
    const std::array<std::byte, 4096> some{};
    if (auto written = trial->write(some); !written) return refused(written.error().message);
    return removeDeadAndNameOthers(folder);
}

Result<void> writeRank(const std::string& folder, std::int32_t nextStep, int rank,
                       const std::vector<Run>& runs) {
    const std::string partial = partialPath(folder, nextStep);
    if (std::error_code error; !fs::is_directory(partial, error)) {
        return failure(ErrorCode::kFailure,
                       fmt::format("rank {} does not find {}, which rank 0 has made: ranks on "
                                   "several hosts need a checkpoint folder that all of them share",
                                   rank, partial));
    }
    std::vector<TensorToWrite> tensors;
    Metadata metadata;
    for (const Run& run : runs) {
        const std::string name =
            fmt::format("{}/{}/{}", toWord(run.kind), run.parameter, run.begin);
        tensors.push_back({name, {static_cast<std::int64_t>(run.values.size())}, run.values});
        metadata[name] = fmt::format("{:08x}", checksum(std::as_bytes(run.values)));
    }
    return writeSafetensors(partial + "/" + rankFileName(rank), tensors, metadata);
}

Result<std::string> commit(Partial partial, const Manifest& manifest, std::int32_t keep) {
    const std::string whole = checkpointPath(partial.m_folder, manifest.nextStep);
    auto json = manifestJson(partial.m_path, manifest);
    if (!json) return failure(json);
    if (auto done = writeText(partial.m_path + "/" + kManifestName, json->dump(1)); !done)
        return failure(done);
    if (auto done = syncFolder(partial.m_path); !done) return failure(done);
    // Of the same step there may be one from before the run was resumed.
    if (isCheckpoint(whole)) remove(whole);
    std::error_code error;
    fs::rename(partial.m_path, whole, error);
    if (error)
        return failure(ErrorCode::kFailure, fmt::format("the checkpoint {} cannot be named {}: {}",
                                                        partial.m_path, whole, error.message()));
    partial.m_whole = true;
    fs::remove(whole + "/" + kMarkName, error);
    if (auto done = syncFolder(partial.m_folder); !done) return failure(done);
    std::vector<std::string> all = wholeCheckpoints(partial.m_folder);
    std::erase_if(all, [](const std::string& path) { return !isCheckpoint(path); });
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i)
        if (all[i] != whole) remove(all[i]);
    return whole;
}

}  // namespace shardscope::checkpoint
