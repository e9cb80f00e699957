#include "app/desktop/shell/app_options.h"

#include "app/desktop/models/page_layout.h"
#include "app/desktop/pages/pages.h"
#include "app/desktop/widgets/picture_file.h"
#include "app/manual/sheet_words.h"
#include "storage/recording/remote/remote_address.h"

#include <QCommandLineParser>
#include <QCoreApplication>
#include <QFile>
#include <QLoggingCategory>
#include <QStringList>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

void print(const QString& text) {
    std::fputs(text.toLocal8Bit().constData(), stdout);
}

Result<QSize> parseSize(const QString& text) {
    const QStringList parts = text.split(u'x');
    bool okWidth = false;
    bool okHeight = false;
    const QSize size =
        parts.size() == 2 ? QSize(parts[0].toInt(&okWidth), parts[1].toInt(&okHeight)) : QSize();
    if (!okWidth || !okHeight || size.width() < 320 || size.height() < 240 ||
        size.width() > 16384 || size.height() > 16384) {
        return failure(ErrorCode::kUsage,
                       "--size " + text.toStdString() +
                           " is not WIDTHxHEIGHT between 320x240 and 16384x16384, e.g. 1600x1000.");
    }
    return size;
}

void declare(QCommandLineParser& parser) {
    parser.setApplicationDescription(u"%1."_s.arg(QLatin1String(kPurpose)));
    parser.addPositionalArgument(u"FILE"_s, QLatin1String(kWhatToOpen), u"[FILE...]"_s);
    parser.addOptions(optionList());
}

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

QList<QCommandLineOption> optionList() {
    return {
        {u"compare"_s, u"Another recording, or a trace, to compare with; may be given again."_s,
         u"FILE"_s},
        {u"page"_s, u"Page to show: %1."_s.arg(pageIds().join(u", "_s)), u"NAME"_s},
        {u"layout"_s, u"Pages beside each other: %1."_s.arg(layoutPresetIds().join(u", "_s)),
         u"NAME"_s},
        {u"screenshot"_s, u"Write the page to OUT.png and exit; needs no display."_s, u"OUT.png"_s},
        {u"dashboard"_s,
         u"Write the dashboard to OUT (.png, .svg or .pdf) and exit; needs no display."_s,
         u"OUT"_s},
        {{u"f"_s, u"force"_s},
         u"Replace the picture that --screenshot or --dashboard names, if it is one of its kind."_s},
        {u"paper"_s, u"Of a dashboard: %1."_s.arg(papers().join(u", "_s)), u"NAME"_s},
        {u"size"_s, u"Size of the window, e.g. 1600x1000."_s, u"WxH"_s},
        {u"ssh-command"_s, u"The ssh command that reaches the host of ssh://HOST/PATH."_s,
         u"WORDS"_s},
        {u"theme"_s, u"light or dark."_s, u"NAME"_s},
        {{u"h"_s, u"help"_s}, u"Show this help."_s},
        {{u"v"_s, u"version"_s}, u"Show the version."_s}};
}

Result<std::optional<AppOptions>> parseOptions(const QStringList& arguments) {
    QCommandLineParser parser;
    declare(parser);
    if (!parser.parse(arguments)) {
        return failure(ErrorCode::kUsage,
                       parser.errorText().toStdString() + " See shardscope-desktop --help.");
    }
    if (parser.isSet(u"help"_s)) {
        print(parser.helpText() + u"\nExample:\n  %1\n"_s.arg(QLatin1String(kExample)));
        return std::optional<AppOptions>();
    }
    if (parser.isSet(u"version"_s)) {
        print(u"shardscope-desktop %1, Qt %2\n"_s.arg(QCoreApplication::applicationVersion(),
                                                      QLatin1String(qVersion())));
        return std::optional<AppOptions>();
    }
    AppOptions options;
    options.files = parser.positionalArguments();
    if (options.files.size() > 1 &&
        std::any_of(options.files.begin(), options.files.end(), [](const QString& file) {
            return storage::remote::isRemote(file.toStdString());
        }))
        return failure(ErrorCode::kUsage,
                       "One recording of another host at a time: several FILEs are traces of this "
                       "machine, one per rank.");
    options.sshCommand = parser.value(u"ssh-command"_s);
    options.compared = parser.values(u"compare"_s);
    options.page = parser.value(u"page"_s);
    if (!options.compared.isEmpty() && options.page.isEmpty()) options.page = page_ids::kCompare;
    if (!options.page.isEmpty() && !pageIds().contains(options.page)) {
        return failure(ErrorCode::kUsage, "There is no page " + options.page.toStdString() +
                                              "; pages are " +
                                              pageIds().join(u", "_s).toStdString() + ".");
    }
    options.layout = parser.value(u"layout"_s);
    if (!options.layout.isEmpty() && layoutPreset(options.layout) == nullptr)
        return failure(ErrorCode::kUsage, "There is no layout " + options.layout.toStdString() +
                                              "; layouts are " +
                                              layoutPresetIds().join(u", "_s).toStdString() + ".");
    options.screenshot = parser.value(u"screenshot"_s);
    if (!options.screenshot.isEmpty() &&
        !options.screenshot.endsWith(u".png"_s, Qt::CaseInsensitive))
        return failure(ErrorCode::kUsage, "--screenshot " + options.screenshot.toStdString() +
                                              ": pictures are written as PNG; give the file a name "
                                              "that ends in .png.");
    options.dashboard = parser.value(u"dashboard"_s);
    options.force = parser.isSet(u"force"_s);
    if (parser.isSet(u"paper"_s)) options.paper = parser.value(u"paper"_s);
    if (!options.dashboard.isEmpty())
        if (auto checked = checkPictureFile(options.dashboard, options.paper); !checked)
            return failure(checked);
    if (parser.isSet(u"size"_s)) {
        const auto size = parseSize(parser.value(u"size"_s));
        if (!size) return failure(size);
        options.size = *size;
        options.sizeGiven = true;
    }
    if (parser.isSet(u"theme"_s)) {
        const QString theme = parser.value(u"theme"_s);
        if (theme != u"light"_s && theme != u"dark"_s) {
            return failure(ErrorCode::kUsage,
                           "--theme " + theme.toStdString() + " is neither light nor dark.");
        }
        options.dark = theme == u"dark"_s;
    }
    return std::optional<AppOptions>(options);
}

void choosePlatform(int argc, char** argv) {
    if (qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) return;
    bool hidden =
        qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
    for (int i = 1; i < argc; ++i) {
        for (const char* each : {"--screenshot", "-screenshot", "--dashboard", "-dashboard"})
            hidden = hidden || std::strncmp(argv[i], each, std::strlen(each)) == 0;
    }
    if (!hidden) return;
    qputenv("QT_QPA_PLATFORM", "offscreen");
    // silences what this platform cannot do and the user does not see
    QLoggingCategory::setFilterRules(u"default.warning=false"_s);
}

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
