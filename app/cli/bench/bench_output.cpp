#include "app/cli/bench/bench_output.h"

#include "app/cli/answers/answer_text.h"
#include "storage/interchange/output_kind.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/file/output_file.h"
#include "storage/recording/read/recording_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMark = "<!-- made by shardscope bench -->";
using questions::Cell;
using questions::Figure;
using questions::Unit;

/// "libtorch 2.11.0, onednn ..." of {"torch":"2.11.0"}.
std::string librariesText(const std::string& json) {
    const Json libraries = Json::parse(json, nullptr, false);
    std::string text;
    if (!libraries.is_object()) return text;
    for (const auto& [name, version] : libraries.items())
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                            version.is_string() ? version.get<std::string>() : version.dump());
    return text;
}

std::string devicesText(const RecordingSummary& summary) {
    std::set<std::string> names;
    for (const DeviceFacts& device : summary.devices) names.insert(device.name);
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::string jsonOf(const BenchDocument& document) {
    // The keys of an answer are those of `analyze`; only whose they are differs.
    const Json answer = Json::parse(questions::toJson({document.result.answer}));
    Json json = {{"schema", "shardscope.bench/1"}, {"bench", document.kind->key}};
    for (const auto& [key, value] : answer.items())
        if (key != "schema" && key != "question") json[key] = value;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string markdownOf(const BenchDocument& document) {
    return fmt::format("{}\n# {}\n\n{}\n\n", kMark, document.kind->title,
                       document.kind->definition) +
           answerMarkdown(document.result.answer);
}

/// Of Markdown and pictures: by it those of an earlier bench are known.
bool hasMark(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    // Of a picture it is the second line.
    for (int i = 0; i < 2 && std::getline(file, line); ++i)
        if (line == kMark) return true;
    return false;
}

constexpr storage::Replaceable kTables{"a table of a bench", hasMark};
constexpr storage::Replaceable kPicture{"a picture of a bench", hasMark};

struct BenchFile {
    const char* name;
    BenchFormat format;
    storage::Replaceable replaces;
};
constexpr std::array kFiles{BenchFile{"bench.md", BenchFormat::kMarkdown, kTables},
                            BenchFile{"bench.csv", BenchFormat::kCsv, interchange::kCsvFile},
                            BenchFile{"bench.json", BenchFormat::kJson, interchange::kReportFile}};

/// In the folder of a bench those of an earlier one are replaced unasked, as recordings are used
/// again.
storage::OutputRequest outputOf(const std::string& folder, const std::string& name,
                                const storage::Replaceable& replaces) {
    return {(std::filesystem::path(folder) / name).string(), true, replaces};
}

}  // namespace

Result<std::vector<Figure>> machineOf(const std::string& recording) {
    auto reader = storage::openRecording(recording, 1);
    if (!reader) return failure(reader);
    const auto summary = (*reader)->summary();
    if (!summary) return failure(summary);
    std::vector<Figure> figures;
    const auto add = [&](const char* key, const char* title, const Cell& value,
                         Unit unit = Unit::kNone) {
        const std::string* text = value.text();
        if (text == nullptr || !text->empty()) figures.push_back({{key, title, unit}, value});
    };
    std::string names;
    for (const HostFacts& host : summary->hosts) names += (names.empty() ? "" : ", ") + host.name;
    add("host", "host", names);
    if (!summary->hosts.empty()) {
        const HostFacts& host = summary->hosts.front();
        add("cpu", "processor", host.cpu);
        add("cores", "cores", std::int64_t{host.cores});
        add("memory_bytes", "memory", host.memory.count, Unit::kBytes);
    }
    add("devices", "devices", devicesText(*summary));
    add("program", "program", summary->run.product);
    add("libraries", "libraries", librariesText(summary->run.librariesJson));
    return figures;
}

questions::Table tableOf(const std::vector<RunResult>& runs) {
    questions::Table table{"runs",
                           "Runs",
                           {{"name", "run"},
                            {"recordings", "recordings", Unit::kCount,
                             "Repetitions that are there: files of this name with a number."},
                            {"missing", "missing", Unit::kNone, "", questions::Shown::kWhereAny}},
                           {}};
    for (const RunResult& result : runs)
        table.rows.push_back({result.run.name, static_cast<std::int64_t>(result.recordings.size()),
                              result.missing.empty() ? Cell() : Cell(result.missing)});
    return table;
}

std::string textOf(const BenchDocument& document, BenchFormat format, bool explain) {
    switch (format) {
        case BenchFormat::kMarkdown:
            return markdownOf(document);
        case BenchFormat::kCsv:
            return questions::toCsv({document.result.answer});
        case BenchFormat::kJson:
            return jsonOf(document);
        case BenchFormat::kText:
            break;
    }
    std::string text = answerText(document.result.answer, 0);
    if (explain)
        text += fmt::format("\n{}\n{}", document.kind->definition,
                            columnDefinitions(document.result.answer));
    return text;
}

Result<void> checkFiles(const std::string& folder) {
    std::error_code error;
    if (!std::filesystem::exists(folder, error)) return {};
    for (const BenchFile& file : kFiles)
        if (auto fine = storage::settleOutput(outputOf(folder, file.name, file.replaces)); !fine)
            return failure(fine);
    return {};
}

Result<void> writeFiles(const BenchDocument& document, const std::string& folder) {
    for (const BenchFile& file : kFiles)
        if (auto done = storage::writeOutput(outputOf(folder, file.name, file.replaces),
                                             textOf(document, file.format, true));
            !done)
            return done;
    for (const Plot& plot : document.result.pictures) {
        std::string picture = toSvg(plot);
        picture.insert(picture.find('\n') + 1, std::string(kMark) + '\n');
        auto done = storage::writeOutput(outputOf(folder, plot.file + ".svg", kPicture), picture);
        if (!done) return done;
    }
    return {};
}

}  // namespace shardscope::cli
