#include "engine/worker/failure_sentences.h"

#include "engine/run/theory/theory.h"
#include "profiler/collectors/allocator/recording_allocator.h"
#include "storage/model/rank_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace shardscope::worker {
namespace {

std::string mebibytes(Bytes size) {
    return fmt::format("{:.1f} MiB", size.mebibytes());
}

/// The three that hold most, largest first.
std::string holders(const collectors::OutOfMemory& outOfMemory) {
    std::array<std::size_t, kMemoryCategoryCount> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return outOfMemory.byCategory[a] > outOfMemory.byCategory[b];
    });
    std::string text;
    for (std::size_t i = 0; i < 3; ++i) {
        const Bytes size = outOfMemory.byCategory[order[i]];
        if (size.count == 0) break;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                            toWord(static_cast<MemoryCategory>(order[i])), mebibytes(size));
    }
    return text.empty() ? "nothing" : text;
}

Diagnostic warning(const char* code, std::string message, const char* remedy, std::uint64_t count) {
    return {Severity::kWarning,
            code,
            std::move(message),
            remedy,
            std::nullopt,
            {},
            static_cast<std::int64_t>(count)};
}

std::string layerWord(const training::StepPosition& place) {
    if (place.phase == Phase::kHead) return "the head";
    if (place.layer == kRootLayer) return "the embedding";
    return fmt::format("block {}", place.layer.value);
}

std::string placeWord(const training::StepPosition& place) {
    if (place.phase == Phase::kNone) return "before the first step";
    if (place.layer == kNoLayer) return toWord(place.phase);
    return fmt::format("{} of {}", toWord(place.phase), layerWord(place));
}

}  // namespace

std::string outOfMemoryText(const collectors::OutOfMemory& outOfMemory, const DeviceFacts& device) {
    const std::string free =
        outOfMemory.free.count < 0 ? "" : fmt::format(", {} free", mebibytes(outOfMemory.free));
    return fmt::format(
        "{} has no memory for another {} ({}): {} in tensors ({}), {} reserved, {} waiting for a "
        "stream{} of {}; lower --batch, use --precision bf16, or more ranks",
        device.name, mebibytes(outOfMemory.asked), toWord(outOfMemory.wanted.category),
        mebibytes(outOfMemory.allocated), holders(outOfMemory), mebibytes(outOfMemory.reserved),
        mebibytes(outOfMemory.pending), free, mebibytes(device.memory));
}

Diagnostic sharedDeviceWarning(const DeviceFacts& device) {
    return warning(
        "shared-device",
        fmt::format("shared device: {} ranks use one {}; their kernels take turns, so no "
                    "time in this recording says how fast the run would be on a device each",
                    device.sharedBy, device.name),
        "Use one GPU per rank for figures of speed.", 1);
}

Diagnostic noTelemetryNote(const std::string& why) {
    Diagnostic note;
    note.code = "no-device-telemetry";
    note.message = "power, clocks and links of the device are not recorded: " + why;
    note.remedy = "Look at nvidia-smi.";
    return note;
}

std::vector<Diagnostic> lossDiagnostics(const capture::DeviceCounts& counts) {
    std::vector<Diagnostic> list;
    if (counts.dropped > 0) {
        list.push_back(warning(
            "device-records-dropped",
            fmt::format(
                "CUPTI dropped {} records because its buffers were full: kernels are missing",
                counts.dropped),
            "Record fewer steps, or with --device-capture kernels.", counts.dropped));
    }
    if (counts.untimed > 0) {
        list.push_back(
            warning("device-records-untimed",
                    fmt::format("{} kernels came without times and are left out", counts.untimed),
                    "Record with --device-capture kernels.", counts.untimed));
    }
    if (counts.reversed + counts.unknown > 0) {
        list.push_back(warning(
            "device-records-invalid",
            fmt::format("{} records ended before they started, {} were of an unknown kind; they "
                        "are left out",
                        counts.reversed, counts.unknown),
            "Use the CUPTI that this build was made for (`shardscope doctor`).",
            counts.reversed + counts.unknown));
    }
    // Of graphs it is not known how many there should be.
    const std::uint64_t launched = counts.launches - std::min(counts.launches, counts.captured);
    const std::uint64_t traced = counts.kernels - std::min(counts.kernels, counts.replayed);
    if (traced < launched) {
        list.push_back(warning(
            "kernels-missing",
            fmt::format("{} kernels were launched, {} were traced", launched, traced),
            "Figures from kernels are too low; those from phases are not.", launched - traced));
    }
    return list;
}

std::string countsText(const capture::DeviceCounts& counts,
                       const collectors::NcclJoinCounts& joined) {
    const std::string graphs =
        counts.replayed == 0 ? "" : fmt::format(" ({} of graphs)", counts.replayed);
    return fmt::format(
        "{} kernels traced{}, {} launched, {} with their operator; {} collectives joined with "
        "their kernel, {} timed by device events",
        counts.kernels, graphs, counts.launches - std::min(counts.launches, counts.captured),
        counts.attributed, joined.joined, joined.unjoined + joined.withoutEvents);
}

std::string notFiniteSentence(const training::StepResult& result,
                              const training::StepPosition& place, bool known) {
    std::string where = "; all outputs are finite, but not its gradients";
    if (known)
        where = fmt::format("; the first output that is not finite is that of {} in micro-step {}",
                            layerWord(place), place.microStep);
    const std::string what =
        std::isfinite(result.loss)
            ? fmt::format("the gradient norm became {} (loss {})", result.gradientNorm, result.loss)
            : fmt::format("the loss became {} (gradient norm {})", result.loss,
                          result.gradientNorm);
    return fmt::format("{} in step {}{}; lower the learning rate or raise the warm-up", what,
                       place.step, where);
}

std::optional<std::string> outOfMemorySentence(const run::RunConfig& config,
                                               const training::StepPosition& place) {
    const auto failed = collectors::takeAllocationFailure();
    if (!failed) return std::nullopt;
    const auto theory = theory::memoryTheory(config);
    std::string table;
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        const std::int64_t bytes = theory[static_cast<std::size_t>(i)].count;
        if (bytes == 0) continue;
        table += fmt::format("\n  {:<22} {:>10.1f} MB", toWord(static_cast<MemoryCategory>(i)),
                             static_cast<double>(bytes) * 1e-6);
    }
    return fmt::format(
        "out of memory: {} bytes for {} ({}) could not be allocated; lower --batch, raise "
        "--recompute-every or shard over more ranks. By theory a rank needs at its peak{}\n"
        "  {:<22} {:>10.1f} MB",
        failed->bytes, toWord(failed->use.category),
        failed->use.owner != nullptr ? std::string(failed->use.owner) : placeWord(place), table,
        "together", static_cast<double>(theory::total(theory).count) * 1e-6);
}

}  // namespace shardscope::worker
