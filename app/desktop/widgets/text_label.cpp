#include "app/desktop/widgets/text_label.h"

#include "app/desktop/widgets/theme.h"

#include <QPainter>

namespace shardscope::desktop {
namespace {

class Hairline : public QWidget {
public:
    explicit Hairline(QWidget* parent) : QWidget(parent) { setFixedHeight(1); }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter(this).fillRect(rect(), Theme::of(this).hairline);
    }
};

bool isWithinNumber(const QString& text, qsizetype at) {
    return at > 0 && at + 1 < text.size() && text[at - 1].isDigit() && text[at + 1].isDigit();
}

}  // namespace

QLabel* headlineLabel(const QString& text, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setFont(textFont(kHeadlinePixels, QFont::DemiBold));
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

QLabel* sectionLabel(const QString& text, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setFont(textFont(kTextPixels, QFont::DemiBold));
    return label;
}

QLabel* quietLabel(const QString& text, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setForegroundRole(QPalette::PlaceholderText);  // the palette's quiet colour
    label->setFont(textFont(kSmallPixels));
    label->setWordWrap(true);
    return label;
}

QString breakable(const QString& text) {
    static constexpr QChar kMayBreak{u'\u200B'};
    static constexpr QStringView kJoints{u"_:,<(/-"};
    QString broken;
    for (qsizetype i = 0; i < text.size(); ++i) {
        broken += text[i];
        if (kJoints.contains(text[i]) && !isWithinNumber(text, i)) broken += kMayBreak;
    }
    return broken;
}

QString unbroken(const QString& text) {
    static constexpr QChar kStays{u'\u2060'}, kTo{u'\u2013'};
    QString whole;
    for (qsizetype i = 0; i < text.size(); ++i) {
        whole += text[i];
        if (text[i] == kTo && isWithinNumber(text, i)) whole += kStays;
    }
    return whole;
}

QLabel* codeLabel(const QString& text, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setFont(codeFont(kSmallPixels));
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
}

QWidget* hairline(QWidget* parent) {
    return new Hairline(parent);
}

}  // namespace shardscope::desktop
