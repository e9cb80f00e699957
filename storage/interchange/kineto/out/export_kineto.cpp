// A recording as PyTorch profiler traces, one a rank: docs/kineto.md.
#include "storage/interchange/formats.h"
#include "storage/interchange/kineto/out/event_writer.h"
#include "storage/interchange/kineto/out/kineto_trace.h"
#include "storage/interchange/output_kind.h"
#include "storage/model/result.h"
#include "storage/recording/file/output_file.h"
#include "storage/recording/file/part_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::interchange {
namespace {

using namespace kineto_out;
namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "rank", kEnding = ".json.gz";

tl::unexpected<Error> cannotWrite(const std::string& path, const std::string& why) {
    return failure(ErrorCode::kUsage,
                   "cannot write " + path + ": " + why + ", choose another name");
}

bool isRankFile(std::string_view name) {
    if (name.size() <= kPrefix.size() + kEnding.size() || !name.starts_with(kPrefix) ||
        !name.ends_with(kEnding))
        return false;
    name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kEnding.size());
    return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "rank3.json.gz"
std::string rankFileName(std::uint32_t rank) {
    return std::string(kPrefix).append(std::to_string(rank)).append(kEnding);
}

/// The folder an export of several ranks makes: under another name until all files are whole.
class OutputFolder {
public:
    /// kUsage when the path is a file or a symbolic link, or a folder that is not empty and
    /// `overwrite` is not set; traces in it may be replaced as storage::settleOutput() says.
    static Result<OutputFolder> reserve(const storage::OutputRequest& request);
    OutputFolder(OutputFolder&& other) noexcept;
    OutputFolder& operator=(OutputFolder&& other) noexcept;
    ~OutputFolder();  ///< removes what was not committed

    /// Where a file of this name is to be written.
    [[nodiscard]] std::string file(const std::string& name);
    /// Gives the folder its name. Into a folder that exists, files are moved one by one; traces of
    /// ranks that an earlier export left there go.
    Result<std::vector<std::string>> commit();

private:
    OutputFolder(storage::OutputRequest request, std::string path, std::string part)
        : m_request(std::move(request)), m_path(std::move(path)), m_part(std::move(part)) {}
    [[nodiscard]] bool mayReplace(const std::string& name) const;

    storage::OutputRequest m_request;
    std::string m_path;
    std::string m_part;  ///< empty once committed
    std::vector<std::string> m_names;
};

Result<OutputFolder> OutputFolder::reserve(const storage::OutputRequest& request) {
    std::error_code error;
    std::string name = request.path;
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    if (name.empty()) return failure(ErrorCode::kUsage, "no output: name a folder with --output");
    if (fs::is_symlink(name, error))
        return cannotWrite(name, "it is a symbolic link to " + fs::read_symlink(name).string() +
                                     ", and nothing is written through a link");
    if (fs::exists(name, error) && !fs::is_directory(name, error))
        return cannotWrite(name, "it is a file, and several ranks need a folder");
    if (fs::is_directory(name, error) && !fs::is_empty(name, error) && !request.overwrite)
        return failure(ErrorCode::kUsage, name +
                                              " is not empty: choose another folder, or write "
                                              "into it with --force");
    OutputFolder folder(request, name, storage::partName(name, "part"));
    fs::remove_all(folder.m_part, error);
    if (!fs::create_directory(folder.m_part, error))
        return cannotWrite(name, error ? error.message() : "its folder cannot be made");
    return folder;
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : m_request(std::move(other.m_request)),
      m_path(std::move(other.m_path)),
      m_part(std::exchange(other.m_part, {})),
      m_names(std::move(other.m_names)) {}

OutputFolder& OutputFolder::operator=(OutputFolder&& other) noexcept {
    std::swap(m_request, other.m_request);
    std::swap(m_path, other.m_path);
    std::swap(m_part, other.m_part);
    std::swap(m_names, other.m_names);
    return *this;
}

OutputFolder::~OutputFolder() {
    std::error_code ignored;
    if (!m_part.empty()) fs::remove_all(m_part, ignored);
}

std::string OutputFolder::file(const std::string& name) {
    m_names.push_back(name);
    return m_part + "/" + name;
}

bool OutputFolder::mayReplace(const std::string& name) const {
    storage::OutputRequest request = m_request;
    request.path = m_path + "/" + name;
    return storage::settleOutput(request).has_value();
}

Result<std::vector<std::string>> OutputFolder::commit() {
    std::error_code error;
    std::vector<std::string> files;
    for (const std::string& name : m_names) files.push_back(m_path + "/" + name);
    if (!fs::exists(m_path, error) || fs::is_empty(m_path, error)) {
        fs::rename(m_part, m_path, error);
        if (error) return cannotWrite(m_path, error.message());
        m_part.clear();
        return files;
    }
    for (const std::string& name : m_names) {
        storage::OutputRequest request = m_request;
        request.path = m_path + "/" + name;
        if (auto fine = storage::settleOutput(request); !fine) return failure(fine);
    }
    for (const std::string& name : m_names) {
        fs::rename(m_part + "/" + name, m_path + "/" + name, error);
        if (error) return cannotWrite(m_path + "/" + name, error.message());
    }
    std::vector<fs::path> old;
    for (const auto& entry : fs::directory_iterator(m_path, error)) {
        const std::string name = entry.path().filename().string();
        if (isRankFile(name) && std::find(m_names.begin(), m_names.end(), name) == m_names.end() &&
            mayReplace(name))
            old.push_back(entry.path());
    }
    for (const fs::path& file : old) fs::remove(file, error);
    return files;
}

bool isTraceName(const std::string& path) {
    return path.ends_with(".json") || path.ends_with(".json.gz");
}

/// Ranks of one file of the trace that they came from; mostly one.
Result<std::uint64_t> writeRanks(ExportScope& scope, const std::vector<RankId>& ranks,
                                 const std::string& path, const ExportOptions& options) {
    auto output = TextOutput::open({path, options.overwrite, kKinetoFile, options.inputs});
    if (!output) return failure(output);
    EventWriter writer(*output, options.integerMicroseconds);
    for (const RankId rank : ranks) {
        KinetoTrace trace(scope, rank);
        if (rank == ranks.front())
            writer.begin(trace.metadata());
        else
            trace.omitNames();
        if (auto done = trace.walk(writer); !done) return failure(done);
    }
    writer.end();
    if (auto done = output->finish(); !done) return failure(done);
    return writer.events();
}

Result<ExportAccount> writeFolder(ExportScope& scope, const ExportOptions& options) {
    ExportAccount account;
    auto folder = OutputFolder::reserve(outputOf(options, kKinetoFile));
    if (!folder) return failure(folder);
    for (const auto& [first, ranks] : ranksOfFiles(scope.summary().run, scope.ranks())) {
        auto events = writeRanks(scope, ranks, folder->file(rankFileName(first.value)), options);
        if (!events) return failure(events);
        account.events += *events;
    }
    auto files = folder->commit();
    if (!files) return failure(files);
    account.files = std::move(*files);
    return account;
}

bool isJson(std::string_view front) {
    const std::size_t first = front.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (front[first] == '{' || front[first] == '[');
}

}  // namespace

Result<ExportAccount> exportKineto(storage::RecordingReader& reader, const ExportOptions& options) {
    auto scope = ExportScope::of(reader, options);
    if (!scope) return failure(scope);
    if (scope->ranks().empty())
        return failure(ErrorCode::kUsage, "the recording has no ranks: nothing can be exported");
    const auto files = ranksOfFiles(scope->summary().run, scope->ranks());
    const bool several = files.size() > 1;
    if (several && isTraceName(options.output))
        return failure(ErrorCode::kUsage, "a Kineto trace holds one rank, and " + options.output +
                                              " would have to hold " +
                                              std::to_string(files.size()) +
                                              ": name a folder, or choose one with --ranks");
    if (several || !isTraceName(options.output)) return writeFolder(*scope, options);
    auto events = writeRanks(*scope, files.begin()->second, options.output, options);
    if (!events) return failure(events);
    return ExportAccount{*events, {options.output}, {}};
}

bool hasTraceEvents(const std::string& path);
Result<ReaderResult> readKineto(const ReaderRequest& request);

Format kinetoFormat() {
    return {.name = "kineto",
            .file = "a PyTorch profiler (Kineto) trace",
            .reads = "traces of PyTorch's profiler (Kineto, Chrome JSON), plain or gzip",
            .endings = {".json", ".json.gz"},
            .looksLike = isJson,
            .isOne = hasTraceEvents,
            .read = readKineto,
            .writes = "PyTorch profiler traces, one .json.gz per rank",
            .option = "--hta",
            .ending = ".json.gz",
            .filePerRank = true,
            .write = exportKineto};
}

}  // namespace shardscope::interchange
