#include "app/desktop/widgets/theme.h"

#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/pages/timeline/tracks/column_strip.h"
#include "app/desktop/pages/timeline/tracks/minimap.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/chart_plot.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/heat_map.h"
#include "app/desktop/widgets/pictures/stacked_area.h"
#include "tests/app/desktop/window_fixture.h"

#include <gtest/gtest.h>

#include <QImage>
#include <QLabel>
#include <QMap>
#include <QRegularExpression>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

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

/// Pictures are painted from left to right in languages that are not read so, too.
TEST(RightToLeft, LeavesPicturesAsTheyAre) {
    const auto picturesOf = [](Qt::LayoutDirection direction) {
        QWidget window;
        window.setLayoutDirection(direction);
        std::vector<QImage> pictures;
        Legend legend(&window);
        legend.setEntries({{u"compute"_s, Meaning::kCompute}, {u"waiting"_s, Meaning::kWaiting}});
        ChartPanel chart(&window);
        chart.setTitles(u"Loss"_s, u"nats"_s, u"step"_s);
        LineSeries line;
        line.name = u"training"_s;
        line.points = {{0, 4}, {1, 3}, {2, 2}};
        chart.setSeries({line});
        for (QWidget* each : {static_cast<QWidget*>(&legend), static_cast<QWidget*>(&chart)}) {
            each->resize(400, 160);
            pictures.push_back(each->grab().toImage());
        }
        return pictures;
    };
    EXPECT_EQ(picturesOf(Qt::LeftToRight), picturesOf(Qt::RightToLeft));
}

/// A selected row or word has a colour of its own wherever its ground is set.
TEST(Theme, WhatIsSelectedReadsOnItsGround) {
    for (const Theme* theme : kThemes) {
        int grounds = 0;
        const auto rules = rulesOf(themeStyleSheet(*theme));
        for (const Rule& rule : rules) {
            const QString ground = valueFor(rules, rule, u"selection-background-color"_s);
            if (ground.isEmpty()) continue;
            const QString colour = valueFor(rules, rule, u"selection-color"_s);
            ASSERT_FALSE(colour.isEmpty()) << rule.type.toStdString();
            EXPECT_GE(contrast(QColor(colour), QColor(ground)), kTextContrast)
                << rule.type.toStdString() << (theme->dark ? ", dark" : ", light");
            ++grounds;
        }
        EXPECT_GT(grounds, 4);
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

TEST(ApplicationStyle, TakesNoNameForHtml) {
    QWidget window;
    QLabel label(u"<b>one</b><img src=\"file:///etc/hostname\">"_s, &window);
    window.grab();
    EXPECT_EQ(label.textFormat(), Qt::PlainText);
    QToolTip::showText({}, u"<b>two</b>"_s, &window);
    const auto shown = QApplication::topLevelWidgets();
    const auto tip = std::find_if(shown.begin(), shown.end(),
                                  [](const QWidget* each) { return each->inherits("QTipLabel"); });
    ASSERT_NE(tip, shown.end());
    EXPECT_EQ(qobject_cast<QLabel*>(*tip)->textFormat(), Qt::PlainText);
    QToolTip::hideText();
}

TEST(ApplicationStyle, BreaksLinesOfTooltips) {
    QWidget window;
    const QString text =
        u"Bytes in live blocks of the rank's tensor allocator (of its device, on a GPU) and in "
        "communication buffers, at that moment.\nshort"_s;
    for (const QString& each : {text, text + u" too, although it is the same label"_s}) {
        QToolTip::showText({5, 5}, each, &window);
        const auto shown = QApplication::topLevelWidgets();
        const auto tip = std::find_if(shown.begin(), shown.end(), [](const QWidget* one) {
            return one->inherits("QTipLabel") && one->isVisible();
        });
        ASSERT_NE(tip, shown.end());
        QTest::qWait(1);
        EXPECT_LE((*tip)->width(), 520);
        EXPECT_GE((*tip)->width(), (*tip)->sizeHint().width());
        EXPECT_GE((*tip)->height(), (*tip)->sizeHint().height());
        const QString said = qobject_cast<QLabel*>(*tip)->text();
        EXPECT_GE(said.count(u'\n'), 2);
        EXPECT_EQ(QString(said).replace(u'\n', u' '), QString(each).replace(u'\n', u' '));
        QToolTip::hideText();
    }
}

// The window on screens that are scaled: ctest runs these at QT_SCALE_FACTOR 1, 1.5 and 2.

class ScaleTest : public WindowTest {
protected:
    [[nodiscard]] double ratio() const { return m_window->devicePixelRatioF(); }
};

TEST_F(ScaleTest, PicturesAreAsFineAsTheScreen) {
    if (const double asked = qEnvironmentVariable("QT_SCALE_FACTOR").toDouble(); asked > 0) {
        EXPECT_DOUBLE_EQ(ratio(), asked);
    }
    openSample();
    for (const QString& id : {u"overview"_s, u"timeline"_s, u"memory"_s}) {
        m_window->showPage(id);
        settle();
        const QImage picture = m_window->grab().toImage();
        EXPECT_EQ(picture.size(), (QSizeF(m_window->size()) * ratio()).toSize());
    }
}

/// How often the colour changes from one pixel of the screen to the next, along a row of a picture.
int changesAlong(const QImage& image, int y, int from, int to) {
    int changes = 0;
    for (int x = from + 1; x < to; ++x)
        if (image.pixel(x, y) != image.pixel(x - 1, y)) ++changes;
    return changes;
}

TEST_F(ScaleTest, AHeatMapHasACellAPixelOfTheScreen) {
    HeatMap map;
    map.setTitles(u"step"_s, u"rank"_s, u"share"_s);
    map.resize(500, 100);
    const int columns = static_cast<int>(std::lround(map.plot().width() * ratio()));
    HeatData data;
    data.rows = {u"rank 0"_s};
    data.maximum = 1;
    for (int i = 0; i < columns; ++i) {
        data.columns.push_back(QString::number(i));
        data.values.push_back(i % 2 == 0 ? 0.0F : 1.0F);
    }
    map.setMap(std::move(data));
    map.resize(500, map.height());
    const QImage picture = map.grab().toImage();
    const QRectF plot = map.plot();
    const int y = static_cast<int>(plot.center().y() * ratio());
    const int left = static_cast<int>(plot.left() * ratio());
    EXPECT_GE(changesAlong(picture, y, left, left + columns), columns - 3);
}

TEST_F(ScaleTest, BandsOverTimeHaveAColumnAPixelOfTheScreen) {
    StackedArea area;
    area.resize(500, 200);
    const int columns = area.plotWidth();
    EXPECT_GE(columns, static_cast<int>(400 * ratio()));
    AreaBand band{u"parameters"_s, Meaning::kCompute, {}};
    for (int i = 0; i < columns; ++i) band.values.push_back(i % 2 == 0 ? 0 : 1000);
    area.setBands({band}, {{0}, {1'000'000'000}}, 1000);
    const QImage picture = area.grab().toImage();
    const int y = static_cast<int>(100 * ratio());
    EXPECT_GE(
        changesAlong(picture, y, static_cast<int>(80 * ratio()), static_cast<int>(400 * ratio())),
        static_cast<int>(320 * ratio()) - 8);
}

TEST(ScaleStrip, ColumnsAreThoseOfTheScreen) {
    for (const double fine : {1.0, 1.5, 2.0}) {
        ColumnStrip strip(100, ColumnStrip::Mix::kDominant, fine);
        const int columns = static_cast<int>(100 * fine);
        for (int i = 0; i < columns; i += 2)
            strip.add(i / fine, (i + 1) / fine, 1, qRgb(255, 0, 0));
        QImage image(columns, static_cast<int>(10 * fine), QImage::Format_RGB32);
        image.setDevicePixelRatio(fine);
        image.fill(Qt::white);
        QPainter painter(&image);
        strip.paint(painter, QRectF(0, 0, 100, 10));
        painter.end();
        EXPECT_EQ(strip.width(), 100);
        EXPECT_GE(changesAlong(image, 5, 0, columns), columns - 2) << fine;
        EXPECT_EQ(image.pixelColor(0, 5), QColor(255, 0, 0));
    }
}

class ScaledTimelineTest : public ScaleTest {
protected:
    void SetUp() override {
        ScaleTest::SetUp();
        m_window->showPage(u"timeline"_s);
        openSample();
        m_page = qobject_cast<TimelinePage*>(m_window->page(u"timeline"_s));
        m_canvas = &m_page->canvas();
        settle();
    }
    TimelinePage* m_page = nullptr;
    TimelineCanvas* m_canvas = nullptr;
};

/// What is painted at a pixel is what a click there finds.
TEST_F(ScaledTimelineTest, AClickFindsTheSliceThatIsSeenThere) {
    const QImage picture = m_canvas->viewport()->grab().toImage();
    const Theme& theme = Theme::of(m_canvas);
    int seen = 0, same = 0;
    std::optional<TimelineHit> clicked;
    QPoint at;
    for (int y = 0; y < picture.height(); ++y) {
        for (int x = static_cast<int>(kLabelWidth * ratio()) + 1; x < picture.width(); ++x) {
            const QPointF place((x + 0.5) / ratio(), (y + 0.5) / ratio());
            const auto hit = m_canvas->hitAt(place);
            if (!hit || hit->role != LaneRole::kCommunication || hit->slice.count != 1 ||
                hit->slice.operation != CollectiveOp::kReduceScatter)
                continue;
            ++seen;
            if (picture.pixelColor(x, y) != theme.fill(Meaning::kReduction).colour) continue;
            ++same;
            const auto here = m_canvas->hitAt(place.toPoint());
            if (!here || here->slice != hit->slice) continue;  // a click comes by whole pixels
            clicked = hit;
            at = place.toPoint();
        }
    }
    ASSERT_GT(seen, 100);
    EXPECT_GT(same, seen / 4) << "the rest is hatched, has an edge or a name on it";
    ASSERT_TRUE(clicked);
    QTest::mouseClick(m_canvas->viewport(), Qt::LeftButton, Qt::NoModifier, at);
    settle();
    ASSERT_TRUE(m_canvas->selectedSlice());
    EXPECT_TRUE(m_canvas->selectedSlice()->slice == clicked->slice);
}

TEST_F(ScaledTimelineTest, TheMinimapIsAsFineAsTheScreen) {
    auto* map = m_page->findChild<Minimap*>();
    auto density = std::make_shared<MinimapDensity>();
    map->setPlot(100, 400);
    const int pixels = static_cast<int>(400 * ratio());
    for (int i = 0; i < pixels; ++i) density->compute.push_back(i % 2 == 0 ? 0.0F : 1.0F);
    density->communication.assign(density->compute.size(), 0.0F);
    density->rest.assign(density->compute.size(), 0.0F);
    map->setDensity(density);
    map->setView(m_window->loader().recording()->bounds());
    const QImage picture = map->grab().toImage();
    EXPECT_GE(changesAlong(picture, static_cast<int>(20 * ratio()), static_cast<int>(110 * ratio()),
                           static_cast<int>(490 * ratio())),
              static_cast<int>(380 * ratio()) - 8);
}

}  // namespace
}  // namespace shardscope::desktop
