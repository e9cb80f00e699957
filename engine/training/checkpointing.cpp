#include "engine/training/checkpointing.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <array>
#include <deque>
#include <optional>
#include <utility>

namespace shardscope::training {
namespace {

using checkpoint::StateKind;

/// Of one piece, in the order of kAll<StateKind>.
std::array<at::Tensor, 3> tensorsOf(const parallel::StatePiece& piece) {
    return {piece.values, piece.firstMoment, piece.secondMoment};
}

/// This rank's outcome if it failed, else the news that another one did.
Result<void> together(const Result<void>& own, comm::Communicator& communicator) {
    std::array<double, 1> failed{own ? 0.0 : communicator.rank() + 1.0};
    communicator.allReduceSmall(failed, comm::Reduction::kMax, {Cause::kStart}).wait();
    if (!own || failed[0] == 0) return own;
    return failure(ErrorCode::kRank, fmt::format("rank {} failed at this checkpoint",
                                                 static_cast<int>(failed[0]) - 1));
}

Result<void> writePieces(const run::RunConfig& config, std::int32_t nextStep,
                         parallel::Partitioning& partitioning, int rank) {
    std::deque<at::Tensor> kept;  // host copies of what lies on a device
    std::vector<checkpoint::Run> runs;
    partitioning.visitPieces(parallel::Pieces::kAnswered, [&](const parallel::StatePiece& piece) {
        const auto tensors = tensorsOf(piece);
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            const at::Tensor& host = kept.emplace_back(tensors[i].cpu().contiguous());
            runs.push_back(
                {kAll<checkpoint::StateKind>[i],
                 piece.parameter.name,
                 piece.begin,
                 {host.const_data_ptr<float>(), static_cast<std::size_t>(host.numel())}});
        }
    });
    return checkpoint::writeRank(config.checkpoint, nextStep, rank, runs);
}

checkpoint::Manifest manifestOf(const run::RunConfig& config, const Progress& progress,
                                gpt::Gpt& model) {
    checkpoint::Manifest manifest;
    manifest.nextStep = progress.nextStep;
    manifest.updates = progress.updates;
    manifest.lossScale = progress.lossScale.value;
    manifest.finiteSteps = progress.lossScale.finiteSteps;
    manifest.ranks = config.ranks;
    manifest.config = config;
    for (const gpt::Unit& unit : model.units())
        for (const kernels::Parameter& p : unit.parameters)
            manifest.parameters[p.name] = p.wholeShape();
    return manifest;
}

Result<void> readPiece(const checkpoint::Checkpoint& from, const parallel::StatePiece& piece) {
    std::vector<float> values(static_cast<std::size_t>(piece.values.numel()));
    const auto tensors = tensorsOf(piece);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        auto read =
            from.read(kAll<checkpoint::StateKind>[i], piece.parameter.name, piece.begin, values);
        if (!read) return read;
        tensors[i].copy_(at::from_blob(values.data(), {piece.values.numel()}));
    }
    return {};
}

}  // namespace

Result<std::string> writeCheckpoint(const run::RunConfig& config, const Progress& progress,
                                    gpt::Gpt& model, parallel::Partitioning& partitioning,
                                    comm::Communicator& communicator) {
    const int rank = communicator.rank();
    Result<void> done;
    std::optional<checkpoint::Partial> partial;  // rank 0's; removed unless it becomes whole
    if (rank == 0) {
        auto prepared = checkpoint::prepare(config.checkpoint, progress.nextStep);
        if (prepared)
            partial.emplace(std::move(*prepared));
        else
            done = failure(prepared);
    }
    done = together(done, communicator);
    if (!done) return failure(done);
    done = together(writePieces(config, progress.nextStep, partitioning, rank), communicator);
    std::string path;
    if (done && rank == 0) {
        auto committed = checkpoint::commit(
            std::move(*partial), manifestOf(config, progress, model), config.keepCheckpoints);
        if (committed) path = *committed;
        done = committed ? Result<void>() : Result<void>(failure(committed));
    }
    // Together in any case: a failed write is known to all already.
    done = together(done, communicator);
    if (!done) return failure(done);
    return path;
}

Result<Progress> readCheckpoint(const checkpoint::Checkpoint& checkpoint,
                                parallel::Partitioning& partitioning,
                                comm::Communicator& communicator) {
    Result<void> done;
    partitioning.visitPieces(parallel::Pieces::kHeld, [&](const parallel::StatePiece& piece) {
        if (done) done = readPiece(checkpoint, piece);
    });
    done = together(done, communicator);
    if (!done) return failure(done);
    partitioning.piecesChanged();
    const checkpoint::Manifest& manifest = checkpoint.manifest();
    return Progress{
        manifest.nextStep, manifest.updates, {manifest.lossScale, manifest.finiteSteps}};
}

}  // namespace shardscope::training
