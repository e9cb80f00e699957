#include "app/desktop/pages/newrun/program_form.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/newrun/run_form.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "engine/run/config/program_run.h"
#include "engine/run/config/run_option.h"
#include "engine/run/config/run_rules.h"
#include "storage/model/shell_word.h"

#include <regex.h>

#include <QDir>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QObject>
#include <QRegularExpression>
#include <QSettings>
#include <QStandardPaths>
#include <algorithm>
#include <variant>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr const char* kHistory = "programs/earlier";

QString asSentence(const QString& words) {
    QString sentence = words;
    if (!sentence.isEmpty()) sentence[0] = sentence[0].toUpper();
    return sentence.endsWith(u'.') ? sentence : sentence + u'.';
}

/// Empty: it can be started.
QString whyNotFound(const QString& program, const QString& folder) {
    if (!program.contains(u'/'))
        return QStandardPaths::findExecutable(program).isEmpty()
                   ? QObject::tr("No folder of PATH has a program %1; name another, or its path.")
                         .arg(program)
                   : QString();
    const QFileInfo file(QDir(folder).absoluteFilePath(program));
    if (!file.isFile())
        return QObject::tr("There is no program %1; name another.").arg(file.filePath());
    if (!file.isExecutable())
        return QObject::tr(
                   "%1 is not executable; make it so (chmod +x), or put the program "
                   "that runs it before it.")
            .arg(file.filePath());
    return {};
}

QString wrongVariable(const QString& environment) {
    static const QRegularExpression kVariable(u"^[A-Za-z_][A-Za-z0-9_]*=.*$"_s);
    const QStringList lines = environment.split(u'\n');
    for (qsizetype i = 0; i < lines.size(); ++i)
        if (!lines[i].trimmed().isEmpty() && !kVariable.match(lines[i].trimmed()).hasMatch())
            return QObject::tr("Line %1 is not a variable; write NAME=VALUE.").arg(i + 1);
    return {};
}

/// As the library in the program reads it.
QString wrongExpression(const QString& text) {
    regex_t expression;
    const int wrong = ::regcomp(&expression, text.toUtf8().constData(), REG_EXTENDED | REG_NOSUB);
    if (wrong == 0) {
        ::regfree(&expression);
        return {};
    }
    char why[128] = {};
    ::regerror(wrong, &expression, why, sizeof why);
    return QObject::tr("This is not a regular expression (%1); write one, or leave it empty.")
        .arg(QString::fromLocal8Bit(why));
}

QString wrongFolder(const QString& folder) {
    if (folder.isEmpty()) return QObject::tr("Name the folder that the program works in.");
    const QFileInfo info(folder);
    if (!info.isDir()) return QObject::tr("There is no folder %1; choose another.").arg(folder);
    return info.isExecutable()
               ? QString()
               : QObject::tr("The folder %1 cannot be entered; choose another.").arg(folder);
}

void findProblems(const ProgramSettings& settings, ProgramPlan& plan) {
    const auto note = [&plan](const char* key, const QString& sentence) {
        if (!sentence.isEmpty()) plan.problems.emplace(key, sentence);
    };
    const auto words = wordsOfLine(settings.command.toStdString());
    if (!words)
        note(program_keys::kCommand, asSentence(fromUtf8(words.error().message)));
    else if (!words->empty())
        note(program_keys::kCommand, whyNotFound(fromUtf8(words->front()), settings.folder));
    note(program_keys::kFolder, wrongFolder(settings.folder));
    note(program_keys::kEnvironment, wrongVariable(settings.environment));
    note(program_keys::kStepRange, wrongExpression(settings.stepRange));
    note(program_keys::kName, nameProblem(settings.name));
    if (settings.stacks && settings.recording.capture != CaptureLevel::kFull)
        note(program_keys::kStacks, QObject::tr("Only level full records operators, which stacks "
                                                "belong to; choose it, or leave stacks out."));
    const QString output = fromUtf8(settings.recording.output);
    if (QFileInfo::exists(output))
        note("output", QObject::tr("%1 is already there; choose another name.").arg(output));
    if (const auto wrong = run::findProblem(settings.recording))
        for (const std::string_view key : wrong->options)
            note(std::string(key).c_str(), asSentence(inFormWords(fromUtf8(wrong->sentence))));
}

QString argumentText(const run::OptionValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return fromUtf8(*text);
    if (const auto* number = std::get_if<double>(&value)) return realText(*number);
    return QString::number(std::get<std::int64_t>(value));
}

void addArguments(const ProgramSettings& settings, ProgramPlan& plan) {
    // The others are about a training of ours.
    for (const char* key :
         {"capture", "capture_steps", "capture_every", "capture_slow", "max_size", "output"}) {
        const run::RunOption& option = *run::findRunOption(key);
        const run::OptionValue value = option.get(settings.recording);
        if (value != option.get(run::RunConfig()))
            plan.arguments << QString::fromLatin1(option.flag) << argumentText(value);
    }
    if (!settings.name.isEmpty()) plan.arguments << u"--name"_s << settings.name;
    if (!settings.stepRange.isEmpty()) plan.arguments << u"--step-range"_s << settings.stepRange;
    if (settings.stacks) plan.arguments << u"--stacks"_s;
    plan.arguments << u"--folder"_s << settings.folder;
    for (const QString& line : settings.environment.split(u'\n'))
        if (!line.trimmed().isEmpty()) plan.arguments << u"--env"_s << line.trimmed();
    plan.arguments << u"--"_s << plan.words;
    plan.commandLine = u"shardscope record"_s;
    for (const QString& word : plan.arguments)
        plan.commandLine += u' ' + fromUtf8(typedWord(word.toStdString()));
}

}  // namespace

ProgramPlan planProgram(const ProgramSettings& settings) {
    ProgramPlan plan;
    findProblems(settings, plan);
    if (const auto words = wordsOfLine(settings.command.toStdString())) {
        for (const std::string& word : *words) plan.words << fromUtf8(word);
        plan.title = fromUtf8(run::programTitle(*words));
    }
    addArguments(settings, plan);
    if (!plan.problems.empty())
        plan.reason = plan.problems.begin()->second;
    else if (plan.words.isEmpty())
        plan.reason = QObject::tr("Write the command that starts the program.");
    return plan;
}

QString suggestedProgramRecording(const ProgramPlan& plan, const QString& moment) {
    static const QRegularExpression kOthers(u"[^A-Za-z0-9._]+"_s);
    QString name = plan.title.isEmpty() ? u"program"_s : plan.title;
    if (name.endsWith(u".py"_s) || name.endsWith(u".sh"_s)) name.chop(3);
    return u"%1-%2.sscope"_s.arg(name.replace(kOthers, u"-"_s).left(60), moment);
}

QString captureNoteOfProgram(CaptureLevel level) {
    switch (level) {
        case CaptureLevel::kOff:
            return QObject::tr("processes alone, with memory and processor time");
        case CaptureLevel::kSteps:
            return QObject::tr("steps and metrics; costs next to nothing");
        case CaptureLevel::kLight:
            return QObject::tr("also ranges, phases and collectives; costs little");
        case CaptureLevel::kFull:
            break;
    }
    return QObject::tr(
        "also every operator, and memory; costs most, above all where operators "
        "are short");
}

std::vector<EarlierProgram> programHistory(const QString& file) {
    std::vector<EarlierProgram> programs;
    if (file.isEmpty()) return programs;
    const QSettings settings(file, QSettings::IniFormat);
    for (const QString& text : settings.value(kHistory).toStringList()) {
        const QJsonObject object = QJsonDocument::fromJson(text.toUtf8()).object();
        EarlierProgram program{object[u"command"_s].toString(), object[u"folder"_s].toString(),
                               object[u"capture"_s].toString(), object[u"step_range"_s].toString()};
        if (!program.command.isEmpty() && programs.size() < kMostEarlierPrograms)
            programs.push_back(std::move(program));
    }
    return programs;
}

void keepProgramHistory(const QString& file, const std::vector<EarlierProgram>& programs) {
    if (file.isEmpty()) return;
    QStringList texts;
    for (const EarlierProgram& each : programs) {
        const QJsonObject object{{u"command"_s, each.command},
                                 {u"folder"_s, each.folder},
                                 {u"capture"_s, each.capture},
                                 {u"step_range"_s, each.stepRange}};
        texts << QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
    }
    QSettings(file, QSettings::IniFormat).setValue(kHistory, texts);
}

std::vector<EarlierProgram> withNewest(std::vector<EarlierProgram> programs,
                                       const EarlierProgram& newest) {
    std::erase_if(programs, [&](const EarlierProgram& each) {
        return each.command == newest.command && each.folder == newest.folder;
    });
    programs.insert(programs.begin(), newest);
    if (programs.size() > kMostEarlierPrograms) programs.resize(kMostEarlierPrograms);
    return programs;
}

}  // namespace shardscope::desktop
