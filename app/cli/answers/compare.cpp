// `shardscope compare`: a run against its baseline, with a verdict and a gate; or how runs scale.
#include "profiler/questions/compare.h"

#include "app/cli/answers/answer_text.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/open_recording.h"
#include "app/cli/options.h"
#include "app/cli/record/part_words.h"
#include "profiler/questions/scaling.h"
#include "storage/model/input_file.h"
#include "storage/model/run_label.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <memory>
#include <system_error>
#include <utility>

namespace shardscope::cli {
namespace {

/// Exit status: a rule was broken.
constexpr int kGateBroken = 6;
/// No rule was broken, and some could not be judged.
constexpr int kGateUnknown = 7;

struct CompareArguments {
    std::vector<std::string> recordings;
    std::string sshCommand = RecordingPlace{}.sshCommand;
    std::string gate, steps;
    std::vector<std::uint32_t> ranks;
    bool scaling = false, anyway = false, allowUnknown = false, json = false, csv = false,
         all = false;
};

std::string placeIn(const std::string& path, const toml::source_region& where) {
    return fmt::format("{}:{}:{}", path, where.begin.line, where.begin.column);
}

/// rules = ["throughput.tokens_per_s >= -2%"]
Result<std::vector<analysis::GateRule>> readGate(const std::string& path) {
    std::vector<analysis::GateRule> rules;
    if (path.empty()) return rules;
    const auto written = readInput(path);
    if (!written) return failure(ErrorCode::kUsage, "the rules " + written.error().message);
    toml::table file;
    try {
        file = toml::parse(*written, path);
    } catch (const toml::parse_error& error) {
        return failure(ErrorCode::kUsage,
                       fmt::format("{}: {}", placeIn(path, error.source()), error.description()));
    }
    for (const auto& [key, node] : file)
        if (key.str() != "rules")
            return failure(ErrorCode::kUsage,
                           fmt::format("{}: unknown key '{}': expected is rules, a list of texts",
                                       placeIn(path, key.source()), key.str()));
    const toml::array* list = file["rules"].as_array();
    if (list == nullptr || list->empty())
        return failure(
            ErrorCode::kUsage,
            fmt::format("{} has no rules; write rules = [\"step.time_ns <= +2%\"]", path));
    for (const toml::node& each : *list) {
        const auto text = each.value<std::string>();
        const auto rule = analysis::parseGateRule(text.value_or(""));
        if (!rule) return failure(rule, placeIn(path, each.source()));
        rules.push_back(*rule);
    }
    return rules;
}

/// Which is the first run and which the second: by their names where all have one of their own, by
/// their files else.
void nameRuns(const std::vector<std::string>& files, questions::Compared& compared) {
    std::vector<RunLabel> labels;
    for (const questions::ComparedSide& side : compared.sides)
        labels.push_back(labelIn(side.summary.facts));
    std::vector<std::string> names = distinctNames(labels);
    if (names.empty()) names = files;
    const std::string second = std::exchange(names.back(), {});
    names.pop_back();
    compared.answer.sentences.insert(
        compared.answer.sentences.begin(),
        fmt::format("First: {}; second: {}.", fmt::join(names, ", "), second));
}

/// Likewise of runs that are shown by how many ranks they have.
Result<void> nameRuns(std::vector<questions::ScaledRecording>& runs) {
    std::vector<RunLabel> labels;
    for (const questions::ScaledRecording& run : runs) {
        const auto summary = run.reader->summary();
        if (!summary) return failure(summary);
        labels.push_back(labelIn(summary->facts));
    }
    const std::vector<std::string> names = distinctNames(labels);
    for (std::size_t i = 0; i < names.size(); ++i) runs[i].name = names[i];
    return {};
}

Result<questions::Compared> compare(const CompareArguments& arguments) {
    if (arguments.recordings.size() < 2)
        return failure(
            ErrorCode::kUsage,
            arguments.scaling
                ? "compare --scaling takes two recordings or more, one of them of one rank"
                : "compare takes two recordings or more: baselines, and last the run");
    auto rules = readGate(arguments.gate);
    if (!rules) return failure(rules);
    auto selection = parseSelection({}, arguments.steps, arguments.ranks);
    if (!selection) return failure(selection);
    std::vector<OpenedRecording> opened;
    std::vector<storage::RecordingReader*> readers;
    std::vector<questions::ScaledRecording> scaled;
    for (const std::string& path : arguments.recordings) {
        auto reader = openAnyRecording({path, arguments.sshCommand});
        if (!reader) return failure(reader);
        opened.push_back(std::move(*reader));
        readers.push_back(opened.back().reader.get());
        scaled.push_back({path, readers.back()});
    }
    if (arguments.scaling) {
        if (auto named = nameRuns(scaled); !named) return failure(named);
        auto answer = questions::scalingOfRecordings(scaled, arguments.anyway);
        if (!answer) return failure(answer);
        return questions::Compared{std::move(*answer), {}, {}, {}};
    }
    auto compared = questions::compareRecordings(
        readers, {arguments.anyway, std::move(*rules), std::move(*selection)});
    if (compared) nameRuns(arguments.recordings, *compared);
    return compared;
}

int run(const CompareArguments& arguments) {
    const auto compared = compare(arguments);
    if (!compared) {
        tellError(compared.error().message);
        return exitStatus(compared.error());
    }
    int status = 0;
    if (arguments.json) {
        status = printLast(questions::toJson({compared->answer}) + '\n');
    } else if (arguments.csv) {
        status = printLast(questions::toCsv({compared->answer}));
    } else {
        const std::string text = answerText(compared->answer, arguments.all ? 0 : kMostRows);
        const auto columns = terminalColumns(STDOUT_FILENO);
        status = printLast(columns ? wrapped(text, *columns) : text);
    }
    if (status != 0 || !compared->gate) return status;
    if (*compared->gate == analysis::GateState::kBroken) return kGateBroken;
    const bool unknown = *compared->gate == analysis::GateState::kUnknown;
    return unknown && !arguments.allowUnknown ? kGateUnknown : 0;
}

}  // namespace

Command addCompare(CLI::App& root) {
    auto arguments = std::make_shared<CompareArguments>();
    CLI::App* app = addVerb(root, "compare", "compare a run with its baseline");
    setFooter(*app,
              "With --gate the exit status is 0 when all rules are kept, 6 when one is broken, 7 "
              "when\nnone is and one could not be judged: too few steps, noise, cores taken by "
              "others, other\nkernels. A file of rules:\n"
              "  rules = [\"throughput.tokens_per_s >= -2%\", \"memory.peak_bytes <= +1%\"]\n\n"
              "Examples:\n  shardscope compare main.sscope branch.sscope --gate rules.toml\n"
              "  shardscope compare main.sscope branch.sscope --steps 10-40 --ranks 0,1\n"
              "  shardscope compare --scaling one.sscope two.sscope four.sscope");
    addOption(*app, "recordings", arguments->recordings,
              "baselines, and last the run; each may be ssh://HOST/PATH")
        .required();
    const Option gate = addOption(*app, "--gate", arguments->gate, "TOML file of rules to keep");
    gate.takes("FILE");
    addFlag(*app, "--allow-unknown", arguments->allowUnknown,
            "exit status 0 where no rule is broken and some could not be judged")
        .needs(gate);
    const Option steps = addSteps(*app, arguments->steps);
    const Option ranks = addRanks(*app, arguments->ranks);
    addFlag(*app, "--scaling", arguments->scaling,
            "how throughput grows with ranks, from a measured run of one rank on")
        .excludes(gate)
        .excludes(steps)
        .excludes(ranks);
    addFlag(*app, "--anyway", arguments->anyway, "compare runs of different models anyway");
    addFlag(*app, "--all", arguments->all, "all rows of long tables");
    const Option json = addFlag(*app, "--json", arguments->json,
                                "print one JSON document, schema shardscope.analyze/1");
    addFlag(*app, "--csv", arguments->csv, "print tables as CSV").excludes(json);
    addSshCommand(*app, arguments->sshCommand);
    return {app, [arguments] { return run(*arguments); }};
}

}  // namespace shardscope::cli
