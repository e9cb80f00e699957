#include "app/desktop/widgets/theme.h"

#include "app/desktop/widgets/chart_plot.h"

#include <gtest/gtest.h>

#include <QMap>
#include <QRegularExpression>
#include <set>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

struct Named {
    const char* name;
    QColor colour;
};

/// All of a theme: one more member does not compile until it stands here.
struct Members {
    explicit Members(const Theme& theme) {
        const auto& [dark, window, panel, hairline, text, quietText, accent, good, bad, warning,
                     field, neutral, fills] = theme;
        grounds = {{"window", window}, {"panel", panel}, {"field", field}, {"neutral", neutral}};
        texts = {{"text", text}, {"quiet", quietText}, {"accent", accent},
                 {"good", good}, {"bad", bad},         {"warning", warning}};
        EXPECT_NE(hairline, window) << "separates, and carries nothing";
        EXPECT_EQ(dark, window.lightnessF() < 0.5F);
        EXPECT_EQ(fills.size(), kMeanings);
    }
    std::vector<Named> grounds, texts;
};

const Theme* const kThemes[] = {&Theme::light(), &Theme::darkTheme()};

TEST(Theme, ContrastIsThatOfTheStandard) {
    EXPECT_NEAR(contrast(Qt::white, Qt::black), 21, 1e-9);
    EXPECT_NEAR(contrast(QColor(0x77, 0x77, 0x77), Qt::white), 4.48, 0.01);
}

TEST(Theme, EveryTextReadsOnEveryGround) {
    for (const Theme* theme : kThemes) {
        const Members members(*theme);
        for (const Named& text : members.texts)
            for (const Named& ground : members.grounds)
                EXPECT_GE(contrast(text.colour, ground.colour), kTextContrast)
                    << text.name << " on " << ground.name << (theme->dark ? ", dark" : ", light");
    }
}

TEST(Theme, PaletteTextReadsAlsoWhereItIsDisabled) {
    using Role = QPalette::ColorRole;
    constexpr std::pair<Role, Role> kPairs[] = {{Role::WindowText, Role::Window},
                                                {Role::Text, Role::Base},
                                                {Role::Text, Role::AlternateBase},
                                                {Role::ButtonText, Role::Button},
                                                {Role::ToolTipText, Role::ToolTipBase},
                                                {Role::PlaceholderText, Role::Base},
                                                {Role::Link, Role::Window},
                                                {Role::HighlightedText, Role::Highlight}};
    for (const Theme* theme : kThemes) {
        const QPalette palette = theme->palette();
        for (const auto group : {QPalette::Active, QPalette::Inactive, QPalette::Disabled})
            for (const auto& [text, ground] : kPairs)
                EXPECT_GE(contrast(palette.color(group, text), palette.color(group, ground)),
                          kTextContrast)
                    << group << ' ' << text << " on " << ground;
    }
}

/// What a name may be painted with: six shades.
std::vector<QColor> shadesOf(const QColor& base) {
    std::vector<QColor> shades;
    std::set<QRgb> seen;
    for (int i = 0; i < 64; ++i) {
        const QColor shade = shadeFor(base, QString::number(i));
        if (seen.insert(shade.rgb()).second) shades.push_back(shade);
    }
    return shades;
}

TEST(Theme, LabelsReadOnEveryMeaningAndItsShades) {
    for (const Theme* theme : kThemes) {
        for (std::size_t i = 1; i < kMeanings; ++i) {
            const Fill& fill = theme->fill(static_cast<Meaning>(i));
            ASSERT_TRUE(fill.colour.isValid()) << i;
            std::vector<QColor> colours = shadesOf(fill.colour);
            EXPECT_GT(colours.size(), 3U) << i;
            colours.push_back(fill.colour);
            for (const QColor& colour : colours)
                EXPECT_GE(contrast(Theme::textOn(colour), colour), kTextContrast) << i;
        }
    }
}

TEST(Theme, LabelsReadOnAnyColourAtAll) {
    for (int grey = 0; grey < 256; ++grey) {
        const QColor ground(grey, grey, grey);
        EXPECT_GE(contrast(Theme::textOn(ground), ground), kTextContrast) << grey;
    }
}

TEST(Theme, EveryMarkOrItsEdgeStandsOutFromItsGround) {
    for (const Theme* theme : kThemes) {
        for (std::size_t i = 1; i < kMeanings; ++i) {
            const auto meaning = static_cast<Meaning>(i);
            for (const QColor& ground : {theme->window, theme->panel}) {
                EXPECT_GE(contrast(theme->fill(meaning).line(), ground), kMarkContrast) << i;
                EXPECT_GE(contrast(lineColour(*theme, meaning), ground), kMarkContrast) << i;
                for (const QColor& shade : shadesOf(theme->fill(meaning).colour)) {
                    const QColor edge = theme->edgeOf(shade);
                    EXPECT_GE(contrast(edge.isValid() ? edge : shade, ground), kMarkContrast) << i;
                }
            }
        }
        EXPECT_GE(contrast(lineColour(*theme, Meaning::kCompute), theme->neutral), kMarkContrast)
            << "the arc of a gauge on its track";
    }
    EXPECT_TRUE(Theme::light().fill(Meaning::kOptimizer).edge.isValid()) << "yellow on white";
    EXPECT_FALSE(Theme::light().fill(Meaning::kCompute).edge.isValid());
}

/// A rule of the style sheet: "QPushButton[primary="true"]:hover" and what it sets.
struct Rule {
    QString type;
    QSet<QString> conditions;  ///< attributes, states and parts
    QMap<QString, QString> sets;

    [[nodiscard]] bool appliesTo(const Rule& other) const {
        return type == other.type && other.conditions.contains(conditions);
    }
};

std::vector<Rule> rulesOf(const QString& sheet) {
    static const QRegularExpression block(u"([^{}]+)\\{([^{}]*)\\}"_s);
    static const QRegularExpression condition(u"\\[[^\\]]*\\]|::?[a-z-]+"_s);
    std::vector<Rule> rules;
    for (const auto& found : block.globalMatch(sheet)) {
        QMap<QString, QString> sets;
        for (const QString& each : found.captured(2).split(u';', Qt::SkipEmptyParts))
            sets.insert(each.section(u':', 0, 0).trimmed(), each.section(u':', 1).trimmed());
        for (const QString& selector : found.captured(1).split(u',')) {
            Rule rule{selector.trimmed(), {}, sets};
            for (const auto& each : condition.globalMatch(rule.type))
                rule.conditions.insert(each.captured(0));
            rule.type.remove(condition);
            rules.push_back(rule);
        }
    }
    return rules;
}

/// What a rule's widget shows, with what less special rules set: later and more special ones win.
QString valueFor(const std::vector<Rule>& rules, const Rule& shown, const QString& property) {
    QString value;
    qsizetype special = -1;
    for (const Rule& rule : rules) {
        if (!rule.appliesTo(shown) || !rule.sets.contains(property)) continue;
        if (rule.conditions.size() < special) continue;
        special = rule.conditions.size();
        value = rule.sets.value(property);
    }
    return value;
}

TEST(Theme, EveryTextOfTheStyleSheetReadsOnItsGround) {
    for (const Theme* theme : kThemes) {
        const auto rules = rulesOf(themeStyleSheet(*theme));
        int texts = 0;
        for (const Rule& rule : rules) {
            QString colour = valueFor(rules, rule, u"color"_s);
            if (colour.isEmpty()) colour = theme->text.name();
            const QString set = valueFor(rules, rule, u"background"_s);
            std::vector<QColor> grounds{theme->window, theme->panel};
            if (!set.isEmpty() && set != u"transparent"_s) grounds = {QColor(set)};
            for (const QColor& ground : grounds) {
                ASSERT_TRUE(QColor(colour).isValid() && ground.isValid())
                    << rule.type.toStdString() << ' ' << colour.toStdString() << ' '
                    << set.toStdString();
                if (rule.conditions.contains(u"::handle"_s) ||
                    rule.conditions.contains(u"::indicator"_s) ||
                    rule.conditions.contains(u"::separator"_s))
                    continue;  // has no text
                EXPECT_GE(contrast(QColor(colour), ground), kTextContrast)
                    << rule.type.toStdString() << ' '
                    << QStringList(rule.conditions.values()).join(u' ').toStdString()
                    << (theme->dark ? ", dark" : ", light");
                ++texts;
            }
        }
        EXPECT_GT(texts, 30);
    }
}

TEST(Theme, WhatHasTheFocusStandsOut) {
    for (const Theme* theme : kThemes) {
        int rings = 0;
        for (const Rule& rule : rulesOf(themeStyleSheet(*theme))) {
            const QString border = rule.sets.value(u"border"_s);
            if (!rule.conditions.contains(u":focus"_s) || border.isEmpty()) continue;
            for (const QColor& ground : {theme->window, theme->panel})
                EXPECT_GE(contrast(QColor(border.section(u' ', -1)), ground), kMarkContrast)
                    << rule.type.toStdString();
            ++rings;
        }
        EXPECT_GT(rings, 5);
    }
}

TEST(Theme, ShadesOfANameNeverChange) {
    const QColor base = Theme::light().fill(Meaning::kCompute).colour;
    EXPECT_EQ(shadeFor(base, u"aten::mm"_s), shadeFor(base, u"aten::mm"_s));
    EXPECT_EQ(shadeFor(base, u"aten::mm"_s).hslHue(), base.hslHue());
}

}  // namespace
}  // namespace shardscope::desktop
