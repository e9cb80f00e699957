#include "app/desktop/pages/run_fields/run_option_texts.h"

#include "app/desktop/models/format.h"
#include "engine/run/config/run_rules.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <string>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using run::RunOption;

bool isWordCharacter(QChar c) {
    return c.isLetterOrNumber() || c == u'-' || c == u'_';
}

/// Where `word` stands by itself in `text`; -1: nowhere.
qsizetype findWord(const QString& text, const QString& word, qsizetype from) {
    for (qsizetype at = text.indexOf(word, from); at >= 0; at = text.indexOf(word, at + 1)) {
        const qsizetype end = at + word.size();
        const bool whole = (at == 0 || !isWordCharacter(text[at - 1])) &&
                           (end == text.size() || !isWordCharacter(text[end]));
        if (whole) return at;
    }
    return -1;
}

QString quoted(const RunOption& option) {
    return u"“%1”"_s.arg(*option.name != '\0' ? nameOf(option) : fromUtf8(option.key));
}

}  // namespace

QString optionText(std::string_view words) {
    return words.empty() ? QString()
                         : QCoreApplication::translate("RunOption", std::string(words).c_str());
}

QString nameOf(const RunOption& option) {
    return optionText(option.name);
}

QString labelOf(const RunOption& option) {
    return *option.unit == '\0' ? nameOf(option)
                                : u"%1, %2"_s.arg(nameOf(option), optionText(option.unit));
}

QString helpOf(const RunOption& option) {
    QString sentence = optionText(option.help) + u'.';
    sentence[0] = sentence[0].toUpper();
    return sentence;
}

std::optional<OptionMatch> matchOf(const RunOption& option, const QString& text) {
    const QString key = fromUtf8(option.key);
    const QStringList names{nameOf(option), fromUtf8(option.flag), fromUtf8(option.flag).mid(2),
                            key, key.section(u'.', -1)};
    const auto any = [&](auto has) { return std::any_of(names.begin(), names.end(), has); };
    if (any([&](const QString& each) { return each.startsWith(text, Qt::CaseInsensitive); }))
        return OptionMatch::kBegins;
    if (any([&](const QString& each) { return each.contains(text, Qt::CaseInsensitive); }))
        return OptionMatch::kHolds;
    if (helpOf(option).contains(text, Qt::CaseInsensitive)) return OptionMatch::kSpeaks;
    return std::nullopt;
}

QString withFormNames(const QString& said) {
    QString words = fromUtf8(run::spelled(
        said.toStdString(), [](const RunOption& option) { return quoted(option).toStdString(); }));
    for (const RunOption& option : run::runOptions()) {
        const QString flag = fromUtf8(option.flag);
        if (flag.isEmpty() || *option.name == '\0') continue;
        for (qsizetype at = findWord(words, flag, 0); at >= 0; at = findWord(words, flag, at))
            words.replace(at, flag.size(), quoted(option));
    }
    return words;
}

QString inFormWords(const QString& sentence) {
    const QString words = withFormNames(sentence);
    return words.isEmpty() || words.endsWith(u'.') ? words : words + u'.';
}

}  // namespace shardscope::desktop
