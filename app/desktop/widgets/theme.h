// Colours, fonts and spacing of the window, light and dark. Values only: a widget asks for the
// theme that goes with the application's palette, so a changed palette is all it takes to switch.
#pragma once

#include "app/desktop/models/meaning.h"

#include <QBrush>
#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>
#include <array>

class QStyle;
class QWidget;

namespace shardscope::desktop {

/// How a meaning is painted: a colour, and a second mark for readers who cannot distinguish
/// colours.
struct Fill {
    QColor colour;
    bool hatched = false;  ///< waiting for a peer
    QColor edge = {};      ///< around it, and its lines, where the colour is close to the ground

    /// Reads on window and panel.
    [[nodiscard]] const QColor& line() const { return edge.isValid() ? edge : colour; }
};

/// Of WCAG 2, 1 to 21: text needs 4.5, large text and marks that carry data need 3.
[[nodiscard]] double contrast(const QColor& a, const QColor& b);
inline constexpr double kTextContrast = 4.5;
inline constexpr double kMarkContrast = 3;

struct Theme {
    bool dark = false;
    QColor window, panel, hairline, text, quietText, accent, good, bad, warning;
    QColor field;    ///< background of inputs and code
    QColor neutral;  ///< idle time, skeletons
    std::array<Fill, kMeanings> fills;

    [[nodiscard]] const Fill& fill(Meaning meaning) const {
        return fills[static_cast<std::size_t>(meaning)];
    }
    /// What goes around `colour` where it is too close to window or panel to stand out;
    /// invalid: it is not.
    [[nodiscard]] QColor edgeOf(const QColor& colour) const;
    /// Black or white, whichever reads better on `background`.
    [[nodiscard]] static QColor textOn(const QColor& background);
    [[nodiscard]] static const Theme& light();
    [[nodiscard]] static const Theme& darkTheme();
    [[nodiscard]] static const Theme& of(const QPalette& palette);
    [[nodiscard]] static const Theme& of(const QWidget* widget);
    [[nodiscard]] QPalette palette() const;
};

/// Spacing on the 4-px grid.
inline constexpr int kGapSmall = 4;
inline constexpr int kGap = 8;
inline constexpr int kGapGroup = 16;
inline constexpr int kGapPage = 24;
inline constexpr int kCornerRadius = 4;

/// Inter where installed, else the system's sans serif. Sizes in pixels.
[[nodiscard]] QFont textFont(int pixels, QFont::Weight weight = QFont::Normal);
[[nodiscard]] QFont codeFont(int pixels);
inline constexpr int kTextPixels = 13;
inline constexpr int kSmallPixels = 12;
inline constexpr int kHeadlinePixels = 18;
inline constexpr int kValuePixels = 24;

/// A shade of `base` that stays the same for a name in every recording.
[[nodiscard]] QColor shadeFor(const QColor& base, const QString& name);

/// Of the application, which takes it over. No text of labels and tool tips is taken for HTML:
/// names of files and of what is in them may hold anything.
[[nodiscard]] QStyle* applicationStyle();

// The style sheet of standard controls: flat fields and buttons in the theme's colours.

[[nodiscard]] QString themeStyleSheet(const Theme& theme);
/// Palette and style sheet of the application, and of all that is there.
void applyTheme(const Theme& theme);

}  // namespace shardscope::desktop
