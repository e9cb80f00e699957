#include "app/desktop/shell/desktop_help.h"

#include "app/desktop/models/page_layout.h"
#include "app/desktop/pages/pages.h"
#include "app/desktop/shell/app_options.h"
#include "app/manual/sheet_words.h"

#include <QCoreApplication>
#include <QStringList>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kKeyColumns = 28;

std::vector<std::string> wordsOf(const QString& option) {
    std::vector<std::string> words;
    if (option == u"theme"_s) words.assign(manual::kThemes.begin(), manual::kThemes.end());
    if (option == u"paper"_s) words.assign(manual::kPapers.begin(), manual::kPapers.end());
    if (option == u"layout"_s)
        for (const QString& id : layoutPresetIds()) words.push_back(id.toStdString());
    if (option == u"page"_s)
        for (const QString& id : pageIds()) words.push_back(id.toStdString());
    return words;
}

manual::Option described(const QCommandLineOption& option) {
    manual::Option made;
    for (const QString& name : option.names())
        made.names.push_back(((name.size() > 1 ? u"--"_s : u"-"_s) + name).toStdString());
    made.description = option.description().toStdString();
    made.argument = {option.valueName().toStdString(), wordsOf(option.names().constLast())};
    return made;
}

/// A section for each group of commands that have keys, in the key sheet's order.
std::vector<manual::Section> keySections(const Commands& commands) {
    std::vector<manual::Section> sections;
    QString group;
    for (const Command& command : commands.all()) {
        if (command.keys.isEmpty() || command.inSeries) continue;
        if (command.group != group || sections.empty()) {
            group = command.group;
            sections.push_back({"Keys: " + group.toStdString(), {}});
        }
        sections.back().lines.push_back(
            (command.keys.leftJustified(kKeyColumns) + command.name).toStdString());
    }
    return sections;
}

}  // namespace

manual::Program desktopHelp(const Commands& commands) {
    manual::Program program{
        "shardscope-desktop",
        (u"shardscope-desktop "_s + QCoreApplication::applicationVersion()).toStdString(),
        {},
        {}};
    manual::Verb& itself = program.itself;
    itself.summary = kPurpose;
    itself.positionals = {{{}, {"FILE", {}}, kWhatToOpen, false, true}};
    itself.groups.emplace_back();
    for (const QCommandLineOption& option : optionList())
        itself.groups.back().options.push_back(described(option));
    itself.sections = keySections(commands);
    itself.sections.push_back({"Example", {kExample}});
    return program;
}

}  // namespace shardscope::desktop
