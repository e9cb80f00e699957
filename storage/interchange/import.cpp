// Files and folders into one recording: which files, which reader, whose ranks.
#include "storage/interchange/import.h"

#include "storage/interchange/import_recordings.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

namespace shardscope::interchange {
namespace {

namespace fs = std::filesystem;

/// What one file is read as. A second round knows what the first one found.
struct Input {
    std::string path;
    RankId rank;
    std::optional<std::int64_t> clockBaseNs;
    bool rankKnown = false;  ///< else files before it may have had several ranks
};

bool endsLikeATrace(const std::string& name) {
    for (const char* ending :
         {".json", ".json.gz", ".pickle", ".folded", ".sqlite", ".pftrace", ".sscope"})
        if (name.ends_with(ending)) return true;
    return false;
}

/// Files of a folder that may be traces, by name.
Result<std::vector<std::string>> filesIn(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.is_regular_file(error) && endsLikeATrace(entry.path().filename().string()))
            files.push_back(entry.path().string());
    if (error)
        return failure(ErrorCode::kUnreadable, "cannot list " + folder + ": " + error.message());
    if (files.empty())
        return failure(
            ErrorCode::kUnreadable,
            folder +
                " holds no traces (*.json, *.json.gz, *.pickle, *.folded, *.sqlite, *.pftrace, "
                "*.sscope)");
    std::sort(files.begin(), files.end());
    return files;
}

Result<std::vector<Input>> collectInputs(const std::vector<std::string>& paths) {
    if (paths.empty()) return failure(ErrorCode::kUsage, "no trace to import was named");
    std::vector<Input> inputs;
    const auto add = [&](const std::string& path) {
        inputs.push_back({path, {static_cast<std::uint32_t>(inputs.size())}, std::nullopt, false});
    };
    for (const std::string& path : paths) {
        std::error_code ignored;
        if (!fs::is_directory(path, ignored)) {
            add(path);
            continue;
        }
        auto files = filesIn(path);
        if (!files) return failure(files);
        for (const std::string& file : *files) add(file);
    }
    return inputs;
}

Result<void> refuseOverwritingInputs(const std::vector<Input>& inputs, const std::string& output) {
    std::error_code ignored;
    for (const Input& input : inputs)
        if (fs::equivalent(input.path, output, ignored))
            return failure(ErrorCode::kUsage,
                           output + " is the input as well: choose another --output");
    return {};
}

std::string randomId() {
    constexpr const char* kHex = "0123456789abcdef";
    std::random_device random;
    std::string id;
    while (id.size() < 32) id += kHex[random() & 15u];
    return id;
}

Result<ReaderResult> readAny(const ReaderRequest& request) {
    // Standard input cannot be looked at twice; it is JSON, or the reader says so.
    auto format = request.path == "-" ? Result<TraceFormat>(TraceFormat::kKineto)
                                      : recogniseTrace(request.path);
    if (!format) return failure(format);
    if (*format == TraceFormat::kKineto) return readKineto(request);
    if (*format == TraceFormat::kMemorySnapshot) return readMemorySnapshot(request);
    if (*format == TraceFormat::kFolded) return readFolded(request);
    if (*format == TraceFormat::kNsysSqlite) return readNsysSqlite(request);
    if (*format == TraceFormat::kPerfetto) return readPerfetto(request);
    return failure(ErrorCode::kUnreadable,
                   request.path + " is " + toWord(*format) + ", which cannot be imported");
}

/// Our own recordings are copied, not translated: all of them, or none. An input that cannot be
/// recognised is left to its reader, which says why.
Result<bool> areRecordings(const std::vector<Input>& inputs) {
    std::size_t recordings = 0;
    for (const Input& input : inputs) {
        if (input.path == "-") continue;
        const auto format = recogniseTrace(input.path);
        if (format && *format == TraceFormat::kRecording) ++recordings;
    }
    if (recordings != 0 && recordings != inputs.size())
        return failure(ErrorCode::kUsage,
                       "recordings and traces of other tools cannot be joined: import the traces "
                       "first, then join the recordings");
    return recordings != 0;
}

/// Everything of one go over all inputs.
class Import {
public:
    Import(std::vector<Input>& inputs, const ImportOptions& options)
        : m_inputs(&inputs), m_options(&options) {}

    /// false: the files said things at their end that m_inputs now has; go again.
    Result<bool> run();
    [[nodiscard]] const ImportAccount& account() const { return m_account; }

private:
    Result<void> read(std::size_t index);
    Result<void> addRank(RankId rank, const std::string& path);
    [[nodiscard]] bool report(std::size_t index, double share) const;
    Result<void> finish();
    [[nodiscard]] std::string sourceText() const;

    std::vector<Input>* m_inputs;
    const ImportOptions* m_options;
    std::optional<TraceBuilder> m_builder;
    ImportAccount m_account;
    RunFacts m_run;
    Timestamp m_ended;
    std::optional<std::int64_t> m_zeroNs;
    std::optional<std::int64_t> m_clockBaseNs;
    std::map<RankId, std::string> m_ranks;
    std::string m_configs;
    bool m_wholeRun = false;
    bool m_readAgain = false;
    std::uint32_t m_extraRanks = 0;  ///< of files with several
};

bool Import::report(std::size_t index, double share) const {
    if (!m_options->progress) return true;
    return m_options->progress((static_cast<double>(index) + share) /
                               static_cast<double>(m_inputs->size()));
}

Result<void> Import::addRank(RankId rank, const std::string& path) {
    const auto [at, added] = m_ranks.emplace(rank, path);
    if (added) return {};
    return failure(ErrorCode::kUnreadable, at->second + " and " + path + " are both of rank " +
                                               std::to_string(rank.value) +
                                               ": import traces of one run and one file a rank");
}

Result<void> Import::read(std::size_t index) {
    Input& input = (*m_inputs)[index];
    if (!input.rankKnown) input.rank.value += m_extraRanks;
    ReaderRequest request{input.path, &*m_builder,
                          input.rank, input.clockBaseNs ? input.clockBaseNs : m_clockBaseNs,
                          m_zeroNs,   [&](double share) { return report(index, share); }};
    auto result = readAny(request);
    if (!result) return failure(result);
    for (std::uint32_t i = 0; i < result->ranks; ++i)
        if (auto added = addRank({result->rank.value + i}, input.path); !added) return added;
    m_extraRanks += result->ranks - 1;
    m_readAgain = m_readAgain || result->readAgain;
    input.rank = result->rank;
    input.rankKnown = true;
    input.clockBaseNs = result->clockBaseNs;
    if (!m_zeroNs) {
        m_zeroNs = result->zeroNs;
        m_clockBaseNs = result->clockBaseNs;
        m_run = result->run;
    }
    m_run.worldSize = std::max(m_run.worldSize, result->run.worldSize);
    m_ended = std::max(m_ended, result->ended);
    m_wholeRun = result->wholeRun && m_inputs->size() == 1;
    m_configs += (m_configs.empty() ? "" : ",") + result->run.configJson;
    m_account.add(result->account);
    return {};
}

Result<void> Import::finish() {
    m_run.worldSize = std::max(m_run.worldSize, static_cast<std::int32_t>(m_ranks.size()));
    m_run.configJson = m_wholeRun ? m_configs : "{\"traces\":[" + m_configs + "]}";
    if (m_options->strict && m_account.rejected() > 0)
        return failure(ErrorCode::kUnreadable, std::to_string(m_account.rejected()) +
                                                   " events were rejected (the first reason: " +
                                                   m_account.rejections.begin()->first +
                                                   "), which --strict does not allow");
    if (m_account.rejected() > 0)
        m_builder->addDiagnostic(
            {Severity::kWarning,
             "events-rejected",
             std::to_string(m_account.rejected()) + " of " + std::to_string(m_account.read) +
                 " events of the imported trace could not be read (" +
                 m_account.rejections.begin()->first + ")",
             "the rest is complete; import with --strict to refuse such traces",
             std::nullopt,
             {},
             static_cast<std::int64_t>(m_account.rejected())});
    m_builder->addDiagnostic({Severity::kNote, "imported", sourceText(), "", std::nullopt, {}, 1});
    return m_builder->finish(m_run, m_ended);
}

/// What the recording says of where it comes from; folders are nobody's business.
std::string Import::sourceText() const {
    std::string names;
    constexpr std::size_t kMostNamed = 4;
    for (std::size_t i = 0; i < std::min(kMostNamed, m_inputs->size()); ++i)
        names += (i == 0 ? "" : ", ") + fs::path((*m_inputs)[i].path).filename().string();
    if (m_inputs->size() > kMostNamed)
        names += " and " + std::to_string(m_inputs->size() - kMostNamed) + " more";
    return "imported from " + names + ": of " + std::to_string(m_account.read) + " events " +
           std::to_string(m_account.kept) + " were kept, " + std::to_string(m_account.repaired) +
           " of them repaired";
}

Result<bool> Import::run() {
    m_run.id = randomId();
    m_run.product = "shardscope import";
    auto builder = TraceBuilder::create(m_options->output, m_run, m_options->overwrite);
    if (!builder) return failure(builder);
    m_builder.emplace(std::move(*builder));
    const std::string id = m_run.id;
    for (std::size_t i = 0; i < m_inputs->size(); ++i)
        if (auto done = read(i); !done) return failure(done);
    m_run.id = id;
    m_run.product = "shardscope import";
    if (m_readAgain) return false;
    if (auto done = finish(); !done) return failure(done);
    return true;
}

}  // namespace

Result<ImportAccount> importTraces(const std::vector<std::string>& paths,
                                   const ImportOptions& options) {
    auto inputs = collectInputs(paths);
    if (!inputs) return failure(inputs);
    if (auto fine = refuseOverwritingInputs(*inputs, options.output); !fine) return failure(fine);
    auto own = areRecordings(*inputs);
    if (!own) return failure(own);
    if (*own) {
        std::vector<std::string> recordings;
        for (const Input& input : *inputs) recordings.push_back(input.path);
        return importRecordings(recordings, randomId(), options);
    }
    // Once more at most: the second round knows what files say only at their end.
    constexpr int kRounds = 2;
    for (int round = 0; round < kRounds; ++round) {
        Import import(*inputs, options);
        auto done = import.run();
        if (!done) return failure(done);
        if (*done) return import.account();
        for (const Input& input : *inputs)
            if (input.path == "-")
                return failure(ErrorCode::kUnreadable,
                               "standard input says only at its end which rank it is of, and "
                               "cannot be read twice: import it from a file");
    }
    return failure(ErrorCode::kUnreadable, "the traces changed while they were read");
}

}  // namespace shardscope::interchange
