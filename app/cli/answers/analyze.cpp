// `shardscope analyze`: questions about a recording, answered one by one.
#include "app/cli/answers/answer_text.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/kept_text.h"
#include "app/cli/open_recording.h"
#include "app/cli/options.h"
#include "app/cli/record/part_words.h"
#include "engine/run/config/near_miss.h"
#include "profiler/questions/question.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace shardscope::cli {
namespace {

struct AnalyzeOptions {
    RecordingPlace place;
    std::vector<std::string> questions;
    std::string range, steps;
    std::vector<std::uint32_t> ranks;
    std::vector<std::string> faster;
    std::string mode = "exact", by;
    std::size_t top = 0;
    bool keepLastStep = false, perStep = false;
    bool json = false, csv = false, explain = false, all = false, fresh = false;
};

std::vector<std::string> questionKeys() {
    std::vector<std::string> keys;
    for (const questions::Question& each : questions::allQuestions()) keys.emplace_back(each.key);
    return keys;
}

Result<std::vector<const questions::Question*>> questionsOf(const std::vector<std::string>& names) {
    std::vector<const questions::Question*> wanted;
    for (const std::string& name : names) {
        const questions::Question* question = questions::findQuestion(name);
        if (question == nullptr)
            return failure(ErrorCode::kUsage, fmt::format("there is no question '{}'{}", name,
                                                          run::suggestion(name, questionKeys())));
        wanted.push_back(question);
    }
    return wanted;
}

using Wanted = std::vector<const questions::Question*>;

struct Answered {
    std::vector<questions::Answer> answers;
    bool lasting = false;  ///< of a finished recording
};

Result<Answered> answersTo(const Wanted& wanted, const AnalyzeOptions& options) {
    const auto selection = parseSelection(options.range, options.steps, options.ranks);
    if (!selection) return failure(selection);
    const auto faster = parseSpeedUps(options.faster);
    if (!faster) return failure(faster);
    const auto reader = openAnyRecording(options.place);
    if (!reader) return failure(reader);
    const auto whole = (*reader)->summary();
    if (!whole) return failure(whole);
    const auto summary = selection->of(*whole);
    if (!summary) return failure(summary);
    const questions::Asked asked{**reader,
                                 *summary,
                                 *selection,
                                 *fromWord<questions::Mode>(options.mode),
                                 options.keepLastStep,
                                 options.perStep,
                                 fromWord<questions::Order>(options.by),
                                 options.top,
                                 options.explain,
                                 *faster};
    Answered answered{{}, whole->complete};
    for (const questions::Question* question : wanted) {
        auto answer = questions::answerTo(*question, asked);
        if (!answer) return failure(answer);
        answered.answers.push_back(std::move(*answer));
    }
    return answered;
}

std::string textOf(const Wanted& wanted, const std::vector<questions::Answer>& answers,
                   const AnalyzeOptions& options) {
    std::string text;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (i > 0) text += '\n';
        text += options.explain ? explanation(*wanted[i], answers[i])
                                : fmt::format("{}\n", wanted[i]->title);
        text += '\n' + answerText(answers[i], options.all || options.top > 0 ? 0 : kMostRows);
    }
    return text;
}

Result<Computed> computed(const AnalyzeOptions& options) {
    const auto wanted = questionsOf(options.questions);
    if (!wanted) return failure(wanted);
    const auto answered = answersTo(*wanted, options);
    if (!answered) return failure(answered);
    const auto& answers = answered->answers;
    return Computed{options.json  ? questions::toJson(answers) + '\n'
                    : options.csv ? questions::toCsv(answers)
                                  : textOf(*wanted, answers, options),
                    answered->lasting};
}

/// All that an answer depends on beside the recording.
std::string questionText(const AnalyzeOptions& options) {
    return fmt::format(
        "analyze {} --range '{}' --steps '{}' --ranks '{}' --faster '{}' --mode {} --by '{}' "
        "--top {}{}{}{}{}{}{}",
        fmt::join(options.questions, "\n"), options.range, options.steps,
        fmt::join(options.ranks, ","), fmt::join(options.faster, "\n"), options.mode, options.by,
        options.top, options.keepLastStep ? " --keep-last-step" : "",
        options.perStep ? " --per-step" : "", options.explain ? " --explain" : "",
        options.all ? " --all" : "", options.json ? " --json" : "", options.csv ? " --csv" : "");
}

/// kUsage where what was given says nothing to what is asked.
Result<void> checkFaster(const AnalyzeOptions& options) {
    const auto& asked = options.questions;
    const bool plays = std::any_of(asked.begin(), asked.end(), [](const std::string& each) {
        return each == "bounds" || each == "what-if";
    });
    if (options.faster.empty() || plays) return {};
    return failure(
        ErrorCode::kUsage,
        "--faster applies to the questions 'bounds' and 'what-if' only; ask one of them");
}

int run(const AnalyzeOptions& options) {
    if (const auto fits = checkFaster(options); !fits)
        return tellFailure(options.place, fits.error());
    const auto text = keptText(options.place, questionText(options), options.fresh,
                               [&] { return computed(options); });
    if (!text) return tellFailure(options.place, text.error());
    const auto columns =
        options.json || options.csv ? std::nullopt : terminalColumns(STDOUT_FILENO);
    return printLast(columns ? wrapped(*text, *columns) : *text);
}

}  // namespace

Command addAnalyze(CLI::App& root) {
    auto options = std::make_shared<AnalyzeOptions>();
    CLI::App* app = addVerb(root, "analyze", "answer questions about a recording");
    setFooter(*app, "Questions:\n" + questionList() +
                        "\nExample:\n  shardscope analyze run.sscope breakdown --steps 3-5 --json");
    addOption(*app, "recording", options->place.path, "recording to analyse, or ssh://HOST/PATH")
        .required();
    addOption(*app, "question", options->questions, "one or more of those below")
        .offers("QUESTION", questionKeys())
        .required();
    addOption(*app, "--range", options->range, "BEGIN:END in seconds, or with a unit");
    addSteps(*app, options->steps);
    addRanks(*app, options->ranks);
    addOption(*app, "--mode", options->mode,
              "breakdown: exact, or as HolisticTraceAnalysis (HTA) counts")
        .oneOf(wordVector<questions::Mode>())
        .showsDefault();
    addFlag(*app, "--keep-last-step", options->keepLastStep,
            "--mode hta: count the last of several steps, which HTA leaves out");
    addFlag(*app, "--per-step", options->perStep, "tables by step as well");
    addOption(*app, "--by", options->by, "work, flame: sort by " + listOfWords<questions::Order>())
        .oneOf(wordVector<questions::Order>());
    addOption(*app, "--top", options->top, "work, flame: the first so many rows of each table")
        .within(1, 1'000'000'000);
    addOption(*app, "--faster", options->faster,
              "bounds, what-if: replay steps with \"link\", \"rank N\" or a name X times as "
              "fast; repeat it to combine several")
        .takes("WHAT=X")
        .oneEach();
    addFlag(*app, "--explain", options->explain, "say how each figure is defined");
    addFlag(*app, "--all", options->all, "all rows of long tables");
    const Option json = addFlag(*app, "--json", options->json,
                                "print one JSON document, schema shardscope.analyze/1");
    addFlag(*app, "--csv", options->csv, "print tables as CSV").excludes(json);
    addFresh(*app, options->fresh);
    addSshCommand(*app, options->place.sshCommand);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
