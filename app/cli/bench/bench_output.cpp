#include "app/cli/bench/bench_output.h"

#include "app/cli/answer_text.h"
#include "storage/recording/read/recording_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;
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
    return fmt::format("# {}\n\n{}\n\n", document.kind->title, document.kind->definition) +
           answerMarkdown(document.result.answer);
}

Result<void> write(const std::string& path, const std::string& text) {
    errno = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (file) return {};
    return failure(ErrorCode::kFailure, fmt::format("{} cannot be written: {}", path,
                                                    std::strerror(errno != 0 ? errno : EIO)));
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

Result<void> writeFiles(const BenchDocument& document, const std::string& folder) {
    const auto in = [&](const std::string& name) {
        return (std::filesystem::path(folder) / name).string();
    };
    for (const auto& [name, format] :
         {std::pair("bench.md", BenchFormat::kMarkdown), std::pair("bench.csv", BenchFormat::kCsv),
          std::pair("bench.json", BenchFormat::kJson)})
        if (auto done = write(in(name), textOf(document, format, true)); !done) return done;
    for (const Plot& plot : document.result.pictures)
        if (auto done = write(in(plot.file + ".svg"), toSvg(plot)); !done) return done;
    return {};
}

}  // namespace shardscope::cli
