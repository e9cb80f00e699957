#include "app/desktop/pages/newrun/run_form.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/theory_bars.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "engine/run/config/run_rules.h"
#include "engine/run/theory/theory.h"
#include "storage/model/run_label.h"
#include "storage/model/shell_word.h"

#include <QObject>
#include <QStringList>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using run::RunConfig;
using run::Strategy;

std::vector<StackedBar> memoryBars(const RunConfig& config) {
    std::vector<StackedBar> bars;
    RunConfig single = config;
    single.strategy = Strategy::kSingle;
    single.compression = run::Compression::kNone;
    single.keepGathered = single.keepGradients = false;
    single.shardRanks = single.vocabularyPieces = 0;
    single.ranks = 1;
    bars.push_back(
        theoryBar(single, QObject::tr("single × 1"), config.strategy == Strategy::kSingle));
    const bool sharded = config.strategy == Strategy::kZero3;
    if (!sharded && config.strategy != Strategy::kSingle)
        bars.push_back(theoryBar(
            config, u"%1 × %2"_s.arg(fromUtf8(toWord(config.strategy))).arg(config.ranks), true));
    std::vector<int> ranks{2, 4};
    if (sharded && config.ranks != 2 && config.ranks != 4) ranks.push_back(config.ranks);
    std::sort(ranks.begin(), ranks.end());
    for (int count : ranks) {
        RunConfig zero3 = config;
        zero3.strategy = Strategy::kZero3;
        zero3.compression = run::Compression::kNone;
        zero3.shardRanks = 0;
        zero3.ranks = count;
        bars.push_back(theoryBar(zero3, QObject::tr("ZeRO-3 × %1").arg(count),
                                 sharded && count == config.ranks));
    }
    return bars;
}

QString headlineOf(Bytes needed, const RunConfig& config, const MachineFacts& machine) {
    if (config.device == run::Device::kCuda) {
        return QObject::tr(
                   "Predicted: %1 per rank on its GPU, plus what CUDA and NCCL take; the memory "
                   "of the GPUs is unknown here.")
            .arg(formatBytes(needed));
    }
    if (!config.hosts.empty())
        return QObject::tr(
                   "Predicted: %1 per rank; the hosts' memory is checked when the run starts.")
            .arg(formatBytes(needed));
    const Bytes all{needed.count * config.ranks};
    if (machine.freeMemory.count == 0)
        return QObject::tr("Predicted: %1 per rank.").arg(formatBytes(needed));
    return (all < machine.freeMemory
                ? QObject::tr("Fits. Predicted: %1 per rank, %2 in total; %3 free.")
                : QObject::tr("Does not fit. Predicted: %1 per rank, %2 in total; only %3 free."))
        .arg(formatBytes(needed), formatBytes(all), formatBytes(machine.freeMemory));
}

/// What the run keeps at most where its start chooses the other kernel.
QString otherKernelText(const RunConfig& config) {
    const auto choices = theory::kernelChoices(config);
    if (choices.size() < 2) return {};
    return QObject::tr(
               " %1 per rank where %2 attention is the faster, which the run tries at its start.")
        .arg(formatBytes(theory::total(theory::memoryTheory(config, choices[1]))),
             QLatin1String(choices[1].attention()));
}

}  // namespace

QString choiceNote(const run::RunOption& option, const RunConfig& config) {
    if (option.choices == nullptr) return {};
    const run::OptionValue value = option.get(config);
    for (const run::OptionChoice& choice : option.choices())
        if (choice.word == std::get<std::string>(value)) return optionText(choice.note);
    return {};
}

namespace {

std::vector<std::pair<QString, QString>> trafficOf(const RunConfig& config) {
    const theory::StepContents contents = theory::stepContents(config);
    const double flops = theory::palmFlopsPerToken(config.model) *
                         static_cast<double>(theory::tokensPerStep(config));
    return {{QObject::tr("bytes moved per rank"), formatBytes(theory::trafficPerStep(config))},
            {QObject::tr("gathers"), formatCount(contents.gathers)},
            {QObject::tr("reductions"), formatCount(contents.reductions)},
            {QObject::tr("model FLOPs"), formatQuantity(flops, Unit::kFlop)},
            {QObject::tr("model state per rank"), formatBytes(theory::stateTheory(config))}};
}

/// What will make the run slow; empty: nothing that is known before it.
QString warningOf(const RunConfig& config, const MachineFacts& machine) {
    if (config.shareDevice)
        return QObject::tr(
            "Ranks that share a GPU take turns: the run works, but its times do not show "
            "the speed with a GPU per rank.");
    const bool onCpu = config.device == run::Device::kCpu;
    if (onCpu && (config.precision == run::Precision::kBFloat16 ||
                  config.precision == run::Precision::kFloat16))
        return QObject::tr(
                   "%1 is slower than fp32 on a CPU without instructions for it: "
                   "the run tries both at its start and says so.")
            .arg(fromUtf8(toWord(config.precision)));
    const std::int32_t threads = std::max(config.threads, 1);
    if (config.hosts.empty() && config.ranks * threads > machine.cores)
        return QObject::tr(
                   "%1 of %2 share %3: steps will be slower and waiting times "
                   "larger than on separate machines.")
            .arg(formatCounted(config.ranks, "rank"), formatCounted(threads, "thread"),
                 formatCounted(machine.cores, "core"));
    return {};
}

}  // namespace

RunPrediction predict(const RunConfig& config, const MachineFacts& machine,
                      const RunConfig* start) {
    RunPrediction prediction;
    const RunConfig base = start != nullptr ? *start : RunConfig();
    prediction.commandLine = fromUtf8(run::toCommandLine(config, base));
    for (const std::string& word : run::toArguments(config, base))
        prediction.arguments << fromUtf8(word);
    if (const auto problem = run::findProblem(config)) {
        prediction.problem = inFormWords(fromUtf8(problem->sentence));
        prediction.problem[0] = prediction.problem[0].toUpper();
        prediction.wrongFields = problem->options;
        prediction.headline = QObject::tr("Fix the settings above to see a prediction.");
        return prediction;
    }
    prediction.parameters =
        QObject::tr("%1 parameters").arg(formatCount(theory::parameterCount(config.model)));
    prediction.tokensPerStep =
        QObject::tr("%1 tokens per step").arg(formatCount(theory::tokensPerStep(config)));
    prediction.memory = memoryBars(config);
    prediction.legend = theoryLegend(prediction.memory);
    const Bytes needed = theory::total(theory::memoryTheory(config));
    prediction.headline = headlineOf(needed, config, machine) + otherKernelText(config);
    prediction.traffic = trafficOf(config);
    prediction.warning = warningOf(config, machine);
    return prediction;
}

QString nameProblem(const QString& name) {
    const std::string fault = name.isEmpty() ? std::string() : labelFault(name.toStdString());
    return fault.empty() ? QString() : QObject::tr("The name %1.").arg(fromUtf8(fault));
}

void addName(const QString& name, RunPrediction& prediction) {
    if (name.isEmpty()) return;
    prediction.arguments << u"--name"_s << name;
    prediction.commandLine += u" --name "_s + fromUtf8(typedWord(name.toStdString()));
}

QString wrappedCommand(const QString& commandLine) {
    constexpr qsizetype kColumns = 48;
    QStringList lines{QString()};
    const QStringList flags = commandLine.split(u" --"_s);
    for (qsizetype i = 0; i < flags.size(); ++i) {
        const QString flag = (i > 0 ? u"--"_s : QString()) + flags[i];
        if (i > 0 && lines.back().size() + flag.size() >= kColumns) {
            lines << u"    "_s + flag;
        } else {
            lines.back() += (i > 0 ? u" "_s : QString()) + flag;
        }
    }
    return lines.join(u" \\\n"_s);
}

QString suggestedRecordingName(const RunConfig& config, const QString& moment) {
    return u"%1-%2x%3-%4.sscope"_s
        .arg(fromUtf8(config.model.name), QString::fromLatin1(toWord(config.strategy)))
        .arg(config.ranks)
        .arg(moment);
}

}  // namespace shardscope::desktop
