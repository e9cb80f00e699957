// One field of RunConfig on the New run page: its label, the input that its type asks for, and
// a line below. GUI thread.
#pragma once

#include "engine/run/config/run_option.h"

#include <QDoubleSpinBox>
#include <QString>
#include <QWidget>
#include <functional>
#include <utility>
#include <vector>

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace shardscope::desktop {

class BoundField : public QWidget {
    Q_OBJECT

public:
    /// A list to choose from, whole numbers, numbers, texts and switches: by what the option takes.
    BoundField(const run::RunOption& option, QWidget* parent);

    [[nodiscard]] std::string_view key() const { return m_option.key; }
    [[nodiscard]] const run::RunOption& option() const { return m_option; }
    [[nodiscard]] QWidget* input() const { return m_input; }

    /// Shows the field of `config`, without changed().
    void fill(const run::RunConfig& config);
    /// Writes what is shown; what a person did not touch comes out as it was filled in, though the
    /// input can show less of it.
    void apply(run::RunConfig& config) const;

    /// What stands below while nothing is wrong.
    void setNote(const QString& note);
    /// Why the field does not apply, which switches it off; empty: it does.
    void setWhyNot(const QString& reason);
    /// A sentence below in the colour of errors; empty: nothing is wrong. `marked` alone draws the
    /// edge: the sentence stands at another field.
    void setProblem(const QString& sentence, bool marked);
    [[nodiscard]] QString problem() const { return m_problem; }
    /// What stands below: the problem, else why not, else the note.
    [[nodiscard]] QString below() const;
    /// Whether it has its default value.
    [[nodiscard]] bool isUsual(const run::RunConfig& config) const;
    /// "Norm RMSNorm", as a folded section sums up what is not as usual.
    [[nodiscard]] QString summary(const run::RunConfig& config) const;

    /// A button beside the input.
    QPushButton* addButton(const QString& name, const QString& accessibleName,
                           const std::function<void()>& clicked);

Q_SIGNALS:
    void changed();

private:
    void makeChoice();
    void makeWhole();
    void makeReal();
    void makeText();
    void makeSwitch();
    void showBelow();

    const run::RunOption& m_option;
    std::vector<run::OptionChoice> m_choices;
    QWidget* m_input = nullptr;
    QHBoxLayout* m_row = nullptr;
    QLabel* m_below = nullptr;
    QString m_note, m_whyNot, m_problem;
    std::function<run::OptionValue()> m_read;
    std::function<void(const run::OptionValue&)> m_show;
    run::OptionValue m_filled, m_shown;  ///< as given, and as the input then read
};

// Inputs that Qt has none of: numbers as people write them, and texts with line ends. GUI thread.

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

}  // namespace shardscope::desktop
