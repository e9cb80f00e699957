// Labels of the three sizes the pages use. GUI thread.
#pragma once

#include <QLabel>

namespace shardscope::desktop {

/// 18 px, demibold: a page's answer.
[[nodiscard]] QLabel* headlineLabel(const QString& text, QWidget* parent);
/// 13 px, demibold: what a block shows.
[[nodiscard]] QLabel* sectionLabel(const QString& text, QWidget* parent);
/// 12 px in the quiet colour; wraps.
[[nodiscard]] QLabel* quietLabel(const QString& text, QWidget* parent);
/// `text` with places where a line may break in long words, as names of kernels and files are; not
/// within numbers. Not for text that can be copied.
[[nodiscard]] QString breakable(const QString& text);
/// `text` whose ranges of numbers, "0–39", stay on one line, by word joiners, which are
/// not seen.
[[nodiscard]] QString unbroken(const QString& text);
[[nodiscard]] QLabel* codeLabel(const QString& text, QWidget* parent);
/// A hairline across.
[[nodiscard]] QWidget* hairline(QWidget* parent);

}  // namespace shardscope::desktop
