// Recordings of our own into one of the current format: a copy of one, or several that were
// recorded a rank each.
#include "storage/interchange/clock_groups.h"
#include "storage/interchange/import.h"
#include "storage/interchange/recording/recording_copy.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/file/output_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>

namespace shardscope::interchange {
namespace {

using storage::RecordingReader;
using storage::RecordingWriter;

struct Input {
    std::string path;
    std::unique_ptr<RecordingReader> reader;
    RecordingSummary summary;
};

Result<Input> openInput(const std::string& path) {
    auto reader = storage::openRecording(path);
    if (!reader) return failure(reader);
    auto summary = (*reader)->summary();
    if (!summary) return failure(summary);
    return Input{path, std::move(*reader), std::move(*summary)};
}

Result<void> checkRanks(const std::vector<Input>& inputs) {
    std::map<RankId, std::string> owners;
    for (const Input& input : inputs) {
        for (const RankFacts& rank : input.summary.ranks) {
            const auto [at, added] = owners.emplace(rank.rank, input.path);
            if (!added)
                return failure(ErrorCode::kUnreadable,
                               at->second + " and " + input.path + " are both of rank " +
                                   std::to_string(rank.rank.value) +
                                   ": recordings can be joined whose ranks differ");
        }
    }
    return {};
}

/// The run of the output: the first input's, of as many ranks as there are.
RunFacts runOf(const std::vector<Input>& inputs, const std::string& freshId) {
    RunFacts run = inputs.front().summary.run;
    std::size_t ranks = 0;
    for (const Input& input : inputs) {
        if (input.summary.run.id != inputs.front().summary.run.id) run.id = freshId;
        ranks += input.summary.ranks.size();
        run.worldSize = std::max(run.worldSize, input.summary.run.worldSize);
    }
    run.worldSize = std::max(run.worldSize, static_cast<std::int32_t>(ranks));
    return run;
}

/// From an input's clock to that of the first: both count from a moment of the wall clock.
Duration shiftOf(const RunFacts& run, const RunFacts& first) {
    if (run.startedUnixNs == 0 || first.startedUnixNs == 0) return {};
    return {run.startedUnixNs - first.startedUnixNs};
}

/// Parts of one run have one clock, whatever lies between them.
ClockGroups clocksOf(const std::vector<Input>& inputs) {
    std::vector<std::optional<InputSpan>> spans;
    bool oneRun = true;
    for (const Input& input : inputs) {
        const RunFacts& run = input.summary.run;
        oneRun &= run.id == inputs.front().summary.run.id;
        spans.emplace_back();
        if (run.startedUnixNs != 0)
            spans.back() = InputSpan{run.startedUnixNs + input.summary.bounds.begin.ns,
                                     run.startedUnixNs + input.summary.bounds.end.ns, true};
    }
    return oneRun ? ClockGroups() : clockGroups(spans);
}

/// Where the clocks share no start: to the start of its own, but of the first input's.
Duration ownShiftOf(const RecordingSummary& input, std::optional<std::int64_t> zero) {
    if (!zero) return {-input.bounds.begin.ns};
    return {input.run.startedUnixNs - *zero};
}

/// "1.0", from SQLite's header (storage/schema/FORMAT.md).
std::string formatOf(const std::string& path) {
    constexpr std::streamoff kUserVersion = 60;
    std::array<unsigned char, 4> bytes{};
    std::ifstream file(path, std::ios::binary);
    file.seekg(kUserVersion);
    file.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
    unsigned version = 0;
    for (const unsigned char byte : bytes) version = version << 8 | byte;
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000);
}

class Joining {
public:
    Joining(std::vector<Input>& inputs, const ImportOptions& options)
        : m_inputs(inputs), m_options(options) {}

    Result<ImportAccount> write(const std::string& path, const RunFacts& run) {
        auto writer = RecordingWriter::create(path, run, true);
        if (!writer) return failure(writer);
        SharedFacts shared;
        Timestamp ended;
        const ClockGroups clocks = clocksOf(m_inputs);
        if (auto said = sayClocks(clocks, *writer); !said) return failure(said);
        for (std::size_t i = 0; i < m_inputs.size(); ++i) {
            const RecordingSummary& input = m_inputs[i].summary;
            const Duration shift = clocks.areOne() || clocks.of[i] == clocks.of.front()
                                       ? shiftOf(input.run, m_inputs.front().summary.run)
                                       : ownShiftOf(input, clocks.zeroOf[i]);
            if (auto done = copy(i, shift, *writer, shared); !done) return failure(done);
            ended = std::max(ended, m_inputs[i].summary.run.ended + shift);
        }
        // A run that was never finalised can be no more: it ended with what is there.
        const RunStatus status =
            run.status == RunStatus::kRecording ? RunStatus::kStopped : run.status;
        if (auto done = writer->finalise(status, ended); !done) return failure(done);
        m_account.kept = writer->events().total();
        if (m_account.kept < m_account.read)
            m_account.rejections["of ranks that the recording has no row for"] =
                m_account.read - m_account.kept;
        if (m_options.strict && m_account.rejected() > 0)
            return failure(ErrorCode::kUnreadable, std::to_string(m_account.rejected()) +
                                                       " events were rejected (the first reason: " +
                                                       m_account.rejections.begin()->first +
                                                       "), which --strict does not allow");
        return m_account;
    }

private:
    Result<void> sayClocks(const ClockGroups& clocks, RecordingWriter& writer) {
        if (clocks.areOne()) return {};
        std::vector<std::string> names;
        for (const Input& input : m_inputs)
            names.push_back(std::filesystem::path(input.path).filename().string());
        const std::string sentence = clocksShareNoStart(clocks, names);
        m_account.notes.push_back(sentence);
        return writer.addDiagnostic({Severity::kWarning,
                                     kClocksUnrelated,
                                     sentence,
                                     kClocksUnrelatedAdvice,
                                     std::nullopt,
                                     {},
                                     1});
    }
    Result<void> copy(std::size_t index, Duration shift, RecordingWriter& writer,
                      SharedFacts& shared) {
        Input& input = m_inputs[index];
        const RecordingSummary& all = input.summary;
        CopyScope scope;
        scope.range = {all.bounds.begin, {all.bounds.end.ns + 1}};
        scope.shift = shift;
        scope.progress = [this, index](double share) {
            return !m_options.progress || m_options.progress((static_cast<double>(index) + share) /
                                                             static_cast<double>(m_inputs.size()));
        };
        m_account.read += all.events.total();
        m_account.notes.push_back(input.path + " has recording format " + formatOf(input.path));
        if (!all.complete)
            m_account.notes.push_back(input.path + " was never finalised: what it holds is taken");
        return RecordingCopy(*input.reader, all, writer, shared, scope).copy();
    }

    std::vector<Input>& m_inputs;
    const ImportOptions& m_options;
    ImportAccount m_account;
};

}  // namespace

Result<ImportAccount> importRecordings(const std::vector<std::string>& paths,
                                       const std::string& freshId, const ImportOptions& options) {
    std::vector<Input> inputs;
    for (const std::string& path : paths) {
        auto input = openInput(path);
        if (!input) return failure(input);
        inputs.push_back(std::move(*input));
    }
    if (auto good = checkRanks(inputs); !good) return failure(good);
    auto file = storage::OutputFile::reserve(
        {options.output, options.overwrite, storage::kRecording, paths});
    if (!file) return failure(file);
    auto account = Joining(inputs, options).write(file->part(), runOf(inputs, freshId));
    if (!account) return file->failed(account.error());
    if (auto moved = file->commit(); !moved) return failure(moved);
    return account;
}

}  // namespace shardscope::interchange
