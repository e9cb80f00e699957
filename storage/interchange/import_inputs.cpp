#include "storage/interchange/import_inputs.h"

#include "storage/interchange/formats.h"
#include "storage/recording/file/output_file.h"
#include "storage/recording/file/part_files.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <set>
#include <utility>

namespace shardscope::interchange {
namespace {

namespace fs = std::filesystem;

bool endsLikeATrace(const std::string& name) {
    for (const Format& format : formats())
        for (const char* ending : format.endings)
            if (name.ends_with(ending)) return true;
    return false;
}

/// Files of profilers that are refused with the way to convert them.
bool isConverted(const std::string& name) {
    return name.ends_with(".xplane.pb") || name.ends_with(".nsys-rep");
}

/// What a folder holds beside traces does not keep them from being read.
bool isOther(const fs::path& file) {
    const auto format = recogniseTrace(file.string());
    return !format || ((*format)->isOne != nullptr && !(*format)->isOne(file.string()));
}

/// Files of a folder, and of those in it, that may be traces, by name; others into `left`.
Result<std::vector<std::string>> filesIn(const std::string& folder,
                                         std::vector<std::string>& left) {
    constexpr int kDeepest = 8;
    std::vector<fs::path> files;
    std::string converted;
    std::error_code error;
    const auto options = fs::directory_options::skip_permission_denied;
    for (auto at = fs::recursive_directory_iterator(folder, options, error);
         !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
        if (at.depth() >= kDeepest) at.disable_recursion_pending();
        if (!at->is_regular_file(error)) continue;
        if (endsLikeATrace(at->path().filename().string())) files.push_back(at->path());
        if (isConverted(at->path().filename().string())) converted = at->path().string();
    }
    if (error)
        return failure(ErrorCode::kUnreadable, "cannot list " + folder + ": " + error.message());
    std::sort(files.begin(), files.end());
    std::vector<std::string> traces;
    for (const fs::path& file : files) {
        // JAX writes its trace a second time under this name.
        const bool again = file.filename() == "perfetto_trace.json.gz" &&
                           std::any_of(files.begin(), files.end(), [&](const fs::path& other) {
                               return other.parent_path() == file.parent_path() &&
                                      other.string().ends_with(".trace.json.gz");
                           });
        (again || (files.size() > 1 && isOther(file)) ? left : traces).push_back(file.string());
    }
    if (traces.empty() && !converted.empty())
        if (const auto format = recogniseTrace(converted); !format) return failure(format);
    if (traces.empty())
        return failure(ErrorCode::kUnreadable, folder + " holds no traces (" + readEndings() + ")");
    return traces;
}

}  // namespace

Result<std::vector<Input>> collectInputs(const std::vector<std::string>& paths,
                                         std::vector<std::string>& left) {
    if (paths.empty()) return failure(ErrorCode::kUsage, "no trace to import was named");
    std::vector<Input> inputs;
    const auto add = [&](const std::string& path) {
        inputs.push_back({path, path == "-" ? "standard input" : path});
    };
    for (const std::string& path : paths) {
        std::error_code ignored;
        if (!fs::is_directory(path, ignored)) {
            add(path);
            continue;
        }
        auto files = filesIn(path, left);
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

Result<std::vector<StreamCopy>> copyStreams(std::vector<Input>& inputs,
                                            const ImportOptions& options) {
    std::vector<StreamCopy> copies;
    for (Input& input : inputs) {
        if (!StreamCopy::isStream(input.path)) continue;
        // Check the output before waiting for the end of a pipe.
        auto writable = storage::OutputFile::reserve({options.output, options.overwrite});
        if (!writable) return failure(writable);
        auto copy = StreamCopy::of(
            input.path,
            storage::partName(options.output, "part") + "-in" + std::to_string(copies.size()),
            [&] { return !options.progress || options.progress(0); },
            {options.pipePatience, options.waits});
        if (!copy) return failure(copy);
        input.path = copy->file();
        copies.push_back(std::move(*copy));
    }
    return copies;
}

std::vector<RankId> ranksByName(const std::vector<Input>& inputs) {
    std::vector<RankId> ranks;
    std::set<std::uint32_t> seen;
    for (const Input& input : inputs) {
        std::string name = fs::path(input.title).filename().string();
        std::size_t at = name.rfind("rank");
        if (at == std::string::npos) return {};
        at = name.find_first_not_of("_-. ", at + 4);
        std::uint32_t rank = 0;
        if (at == std::string::npos) return {};
        const auto read = std::from_chars(name.data() + at, name.data() + name.size(), rank);
        if (read.ec != std::errc{} || rank >= kMostRanks || !seen.insert(rank).second) return {};
        ranks.push_back({rank});
    }
    return ranks;
}

std::vector<std::optional<std::size_t>> continuedInputs(const std::vector<InputProcess>& inputs) {
    std::vector<std::optional<std::size_t>> continued(inputs.size());
    const auto isApart = [](const InputProcess& a, const InputProcess& b) {
        return a.span && b.span &&
               (a.span->lastNs <= b.span->firstNs || b.span->lastNs <= a.span->firstNs);
    };
    for (std::size_t i = 1; i < inputs.size(); ++i)
        for (std::size_t first = 0; first < i && !continued[i]; ++first) {
            if (continued[first] || inputs[first].process != inputs[i].process ||
                inputs[i].process.empty() || inputs[first].stated != inputs[i].stated)
                continue;
            bool apart = isApart(inputs[first], inputs[i]);
            for (std::size_t other = first + 1; other < i; ++other)
                if (continued[other] == first) apart = apart && isApart(inputs[other], inputs[i]);
            if (apart) continued[i] = first;
        }
    return continued;
}

std::string leftOutText(const std::vector<std::string>& files) {
    constexpr std::size_t kMostNamed = 4;
    std::string names;
    for (std::size_t i = 0; i < std::min(kMostNamed, files.size()); ++i)
        names += (i == 0 ? "" : ", ") + fs::path(files[i]).filename().string();
    if (files.size() > kMostNamed)
        names += " and " + std::to_string(files.size() - kMostNamed) + " more";
    return "left out of the folder, as not traces or written twice: " + names;
}

}  // namespace shardscope::interchange
