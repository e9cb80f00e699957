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
    for (const QChar c : text) {
        broken += c;
        if (kJoints.contains(c)) broken += kMayBreak;
    }
    return broken;
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
