#include "app/desktop/widgets/theme.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shardscope::desktop {
namespace {

double luminance(const QColor& colour) {
    const auto linear = [](double c) {
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
           0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b) {
    const double light = std::max(luminance(a), luminance(b)) + 0.05;
    return light / (std::min(luminance(a), luminance(b)) + 0.05);
}

TEST(Theme, TextReadsOnEveryGround) {
    for (const Theme* theme : {&Theme::light(), &Theme::darkTheme()}) {
        for (const QColor& ground : {theme->window, theme->panel}) {
            EXPECT_GE(contrast(theme->text, ground), 4.5);
            EXPECT_GE(contrast(theme->quietText, ground), 4.5);
            EXPECT_GE(contrast(theme->accent, ground), 4.5);
            EXPECT_GE(contrast(theme->good, ground), 4.5);
            EXPECT_GE(contrast(theme->bad, ground), 4.5);
        }
    }
}

TEST(Theme, LabelsReadOnEveryMeaning) {
    for (int meaning = static_cast<int>(Meaning::kCompute);
         meaning < static_cast<int>(Meaning::kTheory); ++meaning) {
        const Fill fill = Theme::light().fill(static_cast<Meaning>(meaning));
        EXPECT_GE(contrast(Theme::textOn(fill.colour), fill.colour), 4.0) << meaning;
    }
}

TEST(Theme, ShadesOfANameNeverChange) {
    const QColor base = Theme::light().fill(Meaning::kCompute).colour;
    EXPECT_EQ(shadeFor(base, QStringLiteral("aten::mm")),
              shadeFor(base, QStringLiteral("aten::mm")));
    EXPECT_EQ(shadeFor(base, QStringLiteral("aten::mm")).hslHue(), base.hslHue());
}

}  // namespace
}  // namespace shardscope::desktop
