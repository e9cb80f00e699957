// Checkpoints: a folder for each, written by all ranks at once, readable at any number of ranks
// and strategy.
//
//   DIR/step-00000040/manifest.json          what it is, and every file's size and checksum
//                     rank-00000.safetensors  what rank 0 answered for: runs of elements
//   DIR/partial-step-00000060/writer.json     being written, by which process; not a checkpoint
//
// A run of elements is a 1-dimensional fp32 tensor "KIND/PARAMETER/BEGIN", KIND one of
// parameter, first_moment, second_moment. All runs of a kind and parameter together are the whole
// parameter in its flat order. Each run's CRC-32 lies in the file's metadata under its name.
//
// Order of writing: rank 0 makes the partial folder; every rank writes its file and brings it to
// the disk; rank 0, once all have, writes the manifest, renames the folder and only then removes
// old ones. So whatever is called step-* is whole, whenever a process is killed.
//
// DIR may hold folders of others. Only two kinds are ever removed: checkpoints, which a manifest of
// ours marks, and partial folders whose writer is dead. A writer locks its mark as long as it
// lives; where the file system has no locks, its process number is looked for on its host.
#pragma once

#include "engine/checkpoint/safetensors.h"
#include "engine/run/config/run_config.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"
#include "storage/model/words.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::checkpoint {

enum class StateKind : std::uint8_t { kParameter, kFirstMoment, kSecondMoment };
constexpr auto wordsOf(StateKind) {
    return wordList<Word<StateKind>>({{StateKind::kParameter, "parameter"},
                                      {StateKind::kFirstMoment, "first_moment"},
                                      {StateKind::kSecondMoment, "second_moment"}});
}

/// What there is besides parameters and moments.
struct Manifest {
    std::int32_t nextStep = 0;  ///< the first step that a resumed run takes
    std::int64_t updates = 0;   ///< of the optimizer
    double lossScale = 1;       ///< fp16
    std::int32_t finiteSteps = 0;
    std::int32_t ranks = 1;
    run::RunConfig config;
    std::map<std::string, std::vector<std::int64_t>> parameters;  ///< shapes by name
};

/// A run of elements; `values` stay alive until they are written.
struct Run {
    StateKind kind = StateKind::kParameter;
    std::string parameter;
    std::int64_t begin = 0;
    std::span<const float> values;
};

/// Whether checkpoints can be written to `folder`, by writing something; it is made where it is
/// missing. kUsage with a sentence. Before a run trains its first step. A warning about partial
/// folders there that are not known to be of a run and stay; empty: there are none.
Result<std::string> tryFolder(const std::string& folder);

/// A checkpoint from prepare() to commit(): its folder, with the mark that this process has locked.
/// Otherwise removed with it; what cannot be removed stays. Of one thread.
class Partial {
public:
    Partial(Partial&&) noexcept = default;
    Partial& operator=(Partial&&) = delete;
    ~Partial();

private:
    friend Result<Partial> prepare(const std::string& folder, std::int32_t nextStep);
    friend Result<std::string> commit(Partial partial, const Manifest& manifest, std::int32_t keep);
    Partial(std::string folder, std::string path, FileDescriptor mark)
        : m_folder(std::move(folder)), m_path(std::move(path)), m_mark(std::move(mark)) {}

    std::string m_folder;
    std::string m_path;
    FileDescriptor m_mark;  ///< holds the lock
    bool m_whole = false;   ///< it has its name
};

/// Steps of writing one; `folder` holds the run's checkpoints. See the order above: prepare and
/// commit are rank 0's, and a barrier stands between each two. Refused (kFailure) where another
/// run is writing this step's, or its name is that of a folder of others.
Result<Partial> prepare(const std::string& folder, std::int32_t nextStep);
Result<void> writeRank(const std::string& folder, std::int32_t nextStep, int rank,
                       const std::vector<Run>& runs);
/// Keeps the newest `keep`. Returns the checkpoint's path.
Result<std::string> commit(Partial partial, const Manifest& manifest, std::int32_t keep);

class Checkpoint {
public:
    /// `path`: a checkpoint, or a folder of them, of which the newest whole one is taken. Sizes
    /// and headers of all files are checked, runs when they are read (kUnreadable).
    static Result<Checkpoint> open(const std::string& path);

    [[nodiscard]] const std::string& path() const { return m_path; }
    [[nodiscard]] const Manifest& manifest() const { return m_manifest; }

    /// Elements [begin, begin + out.size()) of a parameter's flat order. An element that no file
    /// holds, or a run that its checksum does not fit, is an error.
    Result<void> read(StateKind kind, const std::string& parameter, std::int64_t begin,
                      std::span<float> out) const;

private:
    struct Source {
        std::int64_t begin = 0;
        std::int64_t count = 0;
        std::size_t file = 0;
        const TensorInfo* tensor = nullptr;
        mutable bool checked = false;
    };

    Result<void> openFile(const std::string& name, std::uint64_t bytes, std::uint32_t header);
    Result<void> check(const Source& source) const;

    std::string m_path;
    Manifest m_manifest;
    std::vector<std::shared_ptr<const SafetensorsFile>> m_files;
    std::map<std::pair<StateKind, std::string>, std::vector<Source>> m_sources;  ///< by begin
};

/// What a run that goes on from it starts with, before anything is said anew: all but the recording
/// that was written and the weights that it began with.
[[nodiscard]] run::RunConfig settingsToGoOn(const Manifest& manifest);

/// Why a checkpoint cannot continue as `config`, in words; nothing when it can. Ranks, strategy,
/// precision and everything about recording may differ, the model may not.
[[nodiscard]] std::optional<std::string> mismatch(const Manifest& manifest,
                                                  const run::ModelConfig& model);

}  // namespace shardscope::checkpoint
