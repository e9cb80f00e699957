#include "app/desktop/pages/run_fields/field_inputs.h"

#include <QEvent>
#include <QRegularExpression>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kMost = 1e12;
constexpr int kDigits = 15;

class WheelGuard : public QObject {
public:
    explicit WheelGuard(QWidget* input) : QObject(input), m_input(input) {}

    bool eventFilter(QObject* object, QEvent* event) override {
        if (event->type() != QEvent::Wheel || m_input->hasFocus())
            return QObject::eventFilter(object, event);
        event->ignore();  // goes on to the page
        return true;
    }

private:
    QWidget* m_input;
};

}  // namespace

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

void guardFromWheel(QWidget* input) {
    input->setFocusPolicy(Qt::StrongFocus);
    input->installEventFilter(new WheelGuard(input));
}

}  // namespace shardscope::desktop
