// A part of a recording as a recording of its own.
#include "storage/interchange/export.h"
#include "storage/interchange/formats.h"
#include "storage/interchange/recording/recording_copy.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/file/output_file.h"

#include <algorithm>

namespace shardscope::interchange {
namespace {

using storage::RecordingReader;
using storage::RecordingWriter;

Result<void> notePart(RecordingWriter& writer, const CopyScope& scope) {
    if (!scope.cut && scope.ranks.empty()) return {};
    return writer.addDiagnostic(
        {Severity::kNote, kPartOfRecording,
         "this recording is a part of a longer one: from " +
             std::to_string(scope.range.begin.seconds()) + " s to " +
             std::to_string(scope.range.end.seconds()) + " s" +
             (scope.ranks.empty() ? std::string()
                                  : ", " + std::to_string(scope.ranks.size()) + " of its ranks"),
         "Open the whole recording for what lies outside.", std::nullopt, scope.range.begin, 1});
}

Result<ExportAccount> writePart(RecordingReader& reader, const RecordingSummary& all,
                                RecordingWriter& writer, const ExportOptions& options) {
    const TimeRange whole{all.bounds.begin, {all.bounds.end.ns + 1}};
    CopyScope scope;
    scope.range = options.range ? options.range->intersection(whole) : whole;
    scope.cut = scope.range != whole;
    scope.ranks = options.ranks;
    scope.progress = options.progress;
    SharedFacts shared;
    RecordingCopy copy(reader, all, writer, shared, scope);
    auto done = copy.copy();
    if (done) done = notePart(writer, scope);
    if (!done) return failure(done);
    ExportAccount account;
    if (copy.synthetic() > 0)
        account.notes.push_back(
            std::to_string(copy.synthetic()) +
            " blocks were alive before the part: they are allocated at its beginning, marked "
            "\"(alive before the part)\"");
    const RunStatus status =
        all.run.status == RunStatus::kRecording ? RunStatus::kStopped : all.run.status;
    done = writer.finalise(status, std::min(scope.range.end, all.run.ended));
    if (!done) return failure(done);
    account.events = writer.events().total();
    return account;
}

Result<void> checkScope(const RecordingSummary& summary, const ExportOptions& options) {
    for (const RankId rank : options.ranks) {
        const auto is = [&](const RankFacts& facts) { return facts.rank == rank; };
        if (std::none_of(summary.ranks.begin(), summary.ranks.end(), is))
            return failure(ErrorCode::kUsage,
                           "the recording has no rank " + std::to_string(rank.value) + ": it has " +
                               std::to_string(summary.ranks.size()) + " ranks, counted from 0");
    }
    const TimeRange whole{summary.bounds.begin, {summary.bounds.end.ns + 1}};
    if (options.range && options.range->intersection(whole).empty())
        return failure(
            ErrorCode::kUsage,
            "nothing was recorded between " + std::to_string(options.range->begin.seconds()) +
                " s and " + std::to_string(options.range->end.seconds()) +
                " s: the recording reaches from " + std::to_string(whole.begin.seconds()) +
                " s to " + std::to_string(whole.end.seconds()) + " s");
    return {};
}

/// SQLite, with the recording's application id in its header.
bool isRecording(std::string_view front) {
    constexpr std::size_t kApplicationId = 68;
    return front.starts_with(std::string_view("SQLite format 3\0", 16)) && front.size() > 72 &&
           front.substr(kApplicationId, 4) == "SScp";
}

}  // namespace

Result<ExportAccount> exportRecording(RecordingReader& reader, const ExportOptions& options) {
    auto summary = reader.summary();
    if (!summary) return failure(summary);
    if (auto good = checkScope(*summary, options); !good) return failure(good);
    auto file = storage::OutputFile::reserve(outputOf(options, storage::kRecording));
    if (!file) return failure(file);
    auto account = [&]() -> Result<ExportAccount> {
        auto writer = RecordingWriter::create(file->part(), summary->run, true);
        if (!writer) return failure(writer);
        return writePart(reader, *summary, *writer, options);
    }();
    if (!account) return file->failed(account.error());
    if (auto moved = file->commit(); !moved) return failure(moved);
    account->files.push_back(options.output);
    return account;
}

Format recordingFormat() {
    return {.name = "sscope",
            .file = "a Shardscope recording",
            .reads = "recordings of this program, joined into one",
            .endings = {".sscope"},
            .looksLike = isRecording,
            .writes = "a recording of its own, whole or of the part",
            .ending = ".sscope",
            .write = exportRecording};
}

}  // namespace shardscope::interchange
