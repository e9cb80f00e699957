#include "app/desktop/pages/run_fields/bound_field.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>
#include <iterator>
#include <limits>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kMost = 1e12;
constexpr int kDigits = 15;

}  // namespace

using run::OptionValue;
using run::RunConfig;

namespace {

constexpr int kInputHeight = 30;  // as the style sheet makes the others

}  // namespace

BoundField::BoundField(const run::RunOption& option, QWidget* parent)
    : QWidget(parent), m_option(option) {
    if (option.choices != nullptr) m_choices = option.choices();
    const OptionValue usual = m_option.get(RunConfig());
    if (!m_choices.empty()) {
        makeChoice();
    } else if (std::holds_alternative<bool>(usual)) {
        makeSwitch();
    } else if (std::holds_alternative<std::int64_t>(usual)) {
        makeWhole();
    } else if (std::holds_alternative<double>(usual)) {
        makeReal();
    } else {
        makeText();
    }
    m_input->setObjectName(QString::fromLatin1(m_option.key));
    m_input->setAccessibleName(labelOf(m_option));
    m_input->setAccessibleDescription(helpOf(m_option));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    auto* label = quietLabel(labelOf(m_option), this);
    label->setBuddy(m_input);
    layout->addWidget(label);
    m_row = new QHBoxLayout;
    m_row->setSpacing(kGapSmall);
    m_row->addWidget(m_input, 1);
    layout->addLayout(m_row);
    m_below = quietLabel({}, this);
    m_below->setFont(textFont(kSmallPixels - 1));
    m_below->setMinimumHeight(16);
    layout->addWidget(m_below);
    layout->addStretch();
    m_note = optionText(m_option.note);
    showBelow();
}

void BoundField::makeChoice() {
    auto* box = new QComboBox(this);
    for (const run::OptionChoice& choice : m_choices)
        box->addItem(optionText(choice.name), fromUtf8(choice.word));
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(6);
    m_read = [box] { return OptionValue(box->currentData().toString().toStdString()); };
    m_show = [box](const OptionValue& value) {
        // A word that is not a choice ("my model") is what the last one stands for.
        const int at = box->findData(fromUtf8(std::get<std::string>(value)));
        box->setCurrentIndex(at >= 0 ? at : box->count() - 1);
    };
    connect(box, &QComboBox::currentIndexChanged, this, &BoundField::changed);
    m_input = box;
}

void BoundField::makeWhole() {
    auto* box = new QSpinBox(this);
    // Not narrower than the field: what is wrong is said, and never changed in silence.
    box->setRange(0, std::numeric_limits<int>::max());
    box->setButtonSymbols(QAbstractSpinBox::NoButtons);
    box->setGroupSeparatorShown(key() != "seed");
    m_read = [box] { return OptionValue(std::int64_t{box->value()}); };
    m_show = [box](const OptionValue& value) {
        const auto most = std::int64_t{std::numeric_limits<int>::max()};
        box->setValue(
            static_cast<int>(std::clamp<std::int64_t>(std::get<std::int64_t>(value), 0, most)));
    };
    connect(box, &QSpinBox::valueChanged, this, &BoundField::changed);
    m_input = box;
}

void BoundField::makeReal() {
    auto* box = new RealBox(this);
    m_read = [box] { return OptionValue(box->value()); };
    m_show = [box](const OptionValue& value) { box->setValue(std::get<double>(value)); };
    connect(box, &QDoubleSpinBox::valueChanged, this, &BoundField::changed);
    m_input = box;
}

void BoundField::makeText() {
    auto* edit = new QLineEdit(this);
    if (m_option.text == run::OptionText::kEscaped) {
        m_read = [edit] { return OptionValue(unescaped(edit->text()).toStdString()); };
        m_show = [edit](const OptionValue& value) {
            edit->setText(escaped(fromUtf8(std::get<std::string>(value))));
        };
    } else {
        m_read = [edit] { return OptionValue(edit->text().trimmed().toStdString()); };
        m_show = [edit](const OptionValue& value) {
            edit->setText(fromUtf8(std::get<std::string>(value)));
        };
    }
    connect(edit, &QLineEdit::textChanged, this, &BoundField::changed);
    m_input = edit;
}

void BoundField::makeSwitch() {
    auto* box = new QCheckBox(tr("yes"), this);  // the name above can wrap, this cannot
    box->setFont(textFont(kSmallPixels));
    box->setMinimumHeight(kInputHeight);
    m_read = [box] { return OptionValue(box->isChecked()); };
    m_show = [box](const OptionValue& value) { box->setChecked(std::get<bool>(value)); };
    connect(box, &QCheckBox::toggled, this, &BoundField::changed);
    m_input = box;
}

void BoundField::fill(const RunConfig& config) {
    const QSignalBlocker quiet(m_input);
    m_filled = m_option.get(config);
    m_show(m_filled);
    m_shown = m_read();
}

void BoundField::apply(RunConfig& config) const {
    const OptionValue value = m_read();
    // Of the field's own type and within its range: it is never refused.
    static_cast<void>(m_option.set(config, value == m_shown ? m_filled : value));
}

void BoundField::setNote(const QString& note) {
    m_note = note;
    showBelow();
}

void BoundField::setWhyNot(const QString& reason) {
    m_whyNot = reason;
    m_input->setEnabled(reason.isEmpty());
    showBelow();
}

void BoundField::setProblem(const QString& sentence, bool marked) {
    m_problem = sentence;
    showBelow();
    if (m_input->property("invalid").toBool() == marked) return;
    m_input->setProperty("invalid", marked);
    m_input->style()->unpolish(m_input);
    m_input->style()->polish(m_input);
}

QString BoundField::below() const {
    if (!m_problem.isEmpty()) return m_problem;
    return m_whyNot.isEmpty() ? m_note : m_whyNot;
}

void BoundField::showBelow() {
    const bool wrong = !m_problem.isEmpty();
    m_below->setText(below());
    m_below->setForegroundRole(wrong ? QPalette::BrightText : QPalette::PlaceholderText);
    m_input->setToolTip(m_whyNot.isEmpty() ? helpOf(m_option)
                                           : u"%1 (%2)"_s.arg(helpOf(m_option), m_whyNot));
}

bool BoundField::isUsual(const RunConfig& config) const {
    return m_option.get(config) == m_option.get(RunConfig());
}

QString BoundField::summary(const RunConfig& config) const {
    const OptionValue value = m_option.get(config);
    if (const auto* on = std::get_if<bool>(&value))
        return *on ? nameOf(m_option) : u"%1: no"_s.arg(nameOf(m_option));
    if (const auto* word = std::get_if<std::string>(&value)) {
        const QString plain = fromUtf8(*word);
        for (const run::OptionChoice& choice : m_choices)
            if (choice.word == *word)
                return u"%1 %2"_s.arg(nameOf(m_option), optionText(choice.name));
        return u"%1 %2"_s.arg(nameOf(m_option), escaped(plain));
    }
    const QString number = std::holds_alternative<double>(value)
                               ? realText(std::get<double>(value))
                               : formatCount(std::get<std::int64_t>(value));
    return u"%1 %2 %3"_s.arg(nameOf(m_option), number, optionText(m_option.unit)).trimmed();
}

QPushButton* BoundField::addButton(const QString& name, const QString& accessibleName,
                                   const std::function<void()>& clicked) {
    auto* button = new QPushButton(name, this);
    button->setAccessibleName(accessibleName);
    connect(button, &QPushButton::clicked, this, clicked);
    m_row->addWidget(button);
    return button;
}

QString realText(double value) {
    return QString::number(value, 'g', 10);
}

RealBox::RealBox(QWidget* parent) : QDoubleSpinBox(parent) {
    setDecimals(kDigits);
    setRange(0, kMost);
    setButtonSymbols(QAbstractSpinBox::NoButtons);
    setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
}

QString RealBox::textFromValue(double value) const {
    return realText(value);
}

double RealBox::valueFromText(const QString& text) const {
    return text.trimmed().toDouble();
}

QValidator::State RealBox::validate(QString& text, int&) const {
    static const QRegularExpression kBeginning(u"^\\d*\\.?\\d*([eE][+-]?\\d*)?$"_s);
    bool whole = false;
    const double value = text.trimmed().toDouble(&whole);
    if (whole && value >= minimum() && value <= maximum()) return QValidator::Acceptable;
    return kBeginning.match(text.trimmed()).hasMatch() ? QValidator::Intermediate
                                                       : QValidator::Invalid;
}

QString escaped(const QString& text) {
    QString line = text;
    line.replace(u'\\', u"\\\\"_s);
    line.replace(u'\n', u"\\n"_s);
    return line.replace(u'\t', u"\\t"_s);
}

QString unescaped(const QString& text) {
    QString plain;
    for (qsizetype i = 0; i < text.size(); ++i) {
        if (text[i] != u'\\' || i + 1 == text.size()) {
            plain += text[i];
            continue;
        }
        const QChar next = text[++i];
        if (next == u'n') {
            plain += u'\n';
        } else if (next == u't') {
            plain += u'\t';
        } else {
            if (next != u'\\') plain += u'\\';
            plain += next;
        }
    }
    return plain;
}

}  // namespace shardscope::desktop
