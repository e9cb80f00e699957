// Inputs that Qt has none of: numbers as people write them, and texts with line ends. GUI thread.
#pragma once

#include <QDoubleSpinBox>
#include <QString>

namespace shardscope::desktop {

/// "0.0006", "6e-05": as short as it is exact enough to type again.
[[nodiscard]] QString realText(double value);

/// A number of any size, not below 0, written with or without an exponent.
class RealBox : public QDoubleSpinBox {
    Q_OBJECT

public:
    explicit RealBox(QWidget* parent);
    [[nodiscard]] QString textFromValue(double value) const override;
    [[nodiscard]] double valueFromText(const QString& text) const override;
    [[nodiscard]] QValidator::State validate(QString& text, int& position) const override;
};

/// Line ends, tabs and backslashes as \n, \t and \\, and back.
[[nodiscard]] QString escaped(const QString& text);
[[nodiscard]] QString unescaped(const QString& text);

/// The wheel scrolls the page over an input that does not have the focus, instead of changing it.
void guardFromWheel(QWidget* input);

}  // namespace shardscope::desktop
