// The window in a language whose texts are longer: nothing of ours is left in English, and nothing
// is cut off without a way to read all of it.
#include "app/desktop/models/training_figures.h"
#include "app/desktop/pages/pages.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/rank_facts.h"
#include "tests/app/desktop/pseudo_language.h"
#include "tests/app/desktop/window_fixture.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QHash>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSet>
#include <QTabBar>
#include <QToolButton>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

class PseudoTranslationTest : public WindowTest {
protected:
    void SetUp() override {
        QApplication::installTranslator(&m_language);
        WindowTest::SetUp();
    }
    void TearDown() override {
        m_window.reset();
        QApplication::removeTranslator(&m_language);
    }
    void showAndSettle(const QString& page) {
        m_window->showPage(page);
        settle();
        ASSERT_TRUE(QTest::qWaitFor([this] { return m_window->isIdle(); }, 10'000));
        QTest::qWait(1);
    }
    void open(bool onDevices) {
        test::SampleOptions options;
        options.gpu = onDevices;
        openSample(options);
    }
    /// Of the page that is seen.
    void expectNothingCutOff(const QString& id) const;
    template <class Widget>
    [[nodiscard]] std::vector<Widget*> seen() const {
        std::vector<Widget*> found;
        for (auto* each : m_window->findChildren<Widget*>())
            if (each->isVisible() && !each->size().isEmpty()) found.push_back(each);
        return found;
    }

    PseudoLanguage m_language;
};

bool isOurs(const QString& text) {
    return text.contains(kOpens);
}

std::string where(const QString& page, const QWidget* widget, const QString& text) {
    return u"%1: %2 \"%3\", %4x%5"_s
        .arg(page, QString::fromLatin1(widget->metaObject()->className()), text)
        .arg(widget->width())
        .arg(widget->height())
        .toStdString();
}

/// Whole in a tooltip: of the widget, or of what it lies in.
bool isSaidElsewhere(const QWidget* widget, const QString& text) {
    const QString core = text.mid(text.indexOf(kOpens)).left(12);
    return widget->toolTip().contains(core);
}

void PseudoTranslationTest::expectNothingCutOff(const QString& id) const {
    for (const QLabel* label : seen<QLabel>()) {
        if (label->text().isEmpty() || isSaidElsewhere(label, label->text())) continue;
        // the status line's hover text gives way to all else
        if (label->sizePolicy().horizontalPolicy() == QSizePolicy::Ignored) continue;
        const int high =
            label->wordWrap() ? label->heightForWidth(label->width()) : label->sizeHint().height();
        EXPECT_LE(high, label->height() + 1) << where(id, label, label->text());
        if (!label->wordWrap()) {
            EXPECT_LE(label->sizeHint().width(), label->width() + 1)
                << where(id, label, label->text());
        }
    }
    for (const QPushButton* button : seen<QPushButton>()) {
        if (isSaidElsewhere(button, button->text())) continue;
        EXPECT_LE(button->sizeHint().width(), button->width() + 1)
            << where(id, button, button->text());
    }
    for (const QToolButton* button : seen<QToolButton>()) {
        if (button->toolButtonStyle() == Qt::ToolButtonIconOnly ||
            isSaidElsewhere(button, button->text()))
            continue;
        EXPECT_LE(button->sizeHint().width(), button->width() + 1)
            << where(id, button, button->text());
    }
    // more tabs than fit are scrolled to; none is narrower than its text
    for (const QTabBar* tabs : seen<QTabBar>())
        for (int i = 0; i < tabs->count(); ++i)
            EXPECT_LE(tabs->fontMetrics().horizontalAdvance(tabs->tabText(i)),
                      tabs->tabRect(i).width() + 1)
                << where(id, tabs, tabs->tabText(i));
}

TEST_F(PseudoTranslationTest, NothingIsCutOff) {
    for (const bool onDevices : {false, true}) {
        open(onDevices);
        for (const QString& id : pageIds()) {
            showAndSettle(id);
            expectNothingCutOff(id);
        }
    }
}

TEST_F(PseudoTranslationTest, ColumnsSayTheirWholeTitle) {
    open(true);
    for (const QString& id : pageIds()) {
        showAndSettle(id);
        for (const DataTable* table : seen<DataTable>()) {
            const QHeaderView* header = table->horizontalHeader();
            for (int i = 0; i < header->count(); ++i) {
                const QString title = table->model()->headerData(i, Qt::Horizontal).toString();
                const QString tip =
                    table->model()->headerData(i, Qt::Horizontal, Qt::ToolTipRole).toString();
                const bool fits = QFontMetrics(header->font()).horizontalAdvance(title) + 16 <=
                                  header->sectionSize(i);
                EXPECT_TRUE(fits || tip.contains(title)) << where(id, table, title);
            }
        }
    }
}

/// Digits, and what is written with them: units, signs, ratios.
bool isFigure(const QString& text) {
    static const QRegularExpression words(u"[A-Za-z]{5,}"_s), digits(u"[0-9–-]"_s);
    return !text.contains(words) && text.contains(digits);
}

/// What is no text of ours: figures, names that the recording has, and what is set in the fixed
/// font (commands, files, names of kernels).
class Data {
public:
    explicit Data(const OpenRecording& recording) : m_names{recording.path, recording.label()} {
        for (const LaneFacts& lane : recording.summary.lanes)
            m_names << QString::fromStdString(lane.name);
        for (const RankFacts& rank : recording.summary.ranks)
            m_names << QString::fromStdString(rank.device);
        m_names << u"step"_s << u"ms"_s;  // of the statement on the SQL page
    }
    [[nodiscard]] bool holds(const QWidget* widget, const QString& text) const {
        return text.isEmpty() || isFigure(text) || m_names.contains(text) ||
               widget->font().family() == codeFont(kTextPixels).family();
    }

private:
    QSet<QString> m_names;
};

/// Sentences of models, made of the figures of a recording, are English yet: labels that said
/// something else before it was opened. Buttons, headers, tabs and choices are ours in any case.
TEST_F(PseudoTranslationTest, AllThatWeSayPassesThroughTr) {
    for (const QString& id : pageIds()) showAndSettle(id);
    QHash<const QLabel*, QString> before;
    for (const auto* label : m_window->findChildren<QLabel*>()) before[label] = label->text();
    open(true);
    const Data data(*m_window->loader().recording());
    for (const QString& id : pageIds()) {
        showAndSettle(id);
        const auto expectOurs = [&](const QWidget* widget, const QString& text) {
            EXPECT_TRUE(isOurs(text) || data.holds(widget, text)) << where(id, widget, text);
        };
        for (const QLabel* label : seen<QLabel>())
            if (before.value(label) == label->text()) expectOurs(label, label->text());
        for (const QAbstractButton* button : seen<QAbstractButton>())
            expectOurs(button, button->text());
        for (const QLineEdit* edit : seen<QLineEdit>()) expectOurs(edit, edit->placeholderText());
        for (const QComboBox* choice : seen<QComboBox>()) {
            // the command line's words are names, and so are ways to count FLOPs
            const QString word = choice->currentData().toString();
            if (word != choice->currentText() && variantName(word) != choice->currentText())
                expectOurs(choice, choice->currentText());
        }
        for (const QTabBar* tabs : seen<QTabBar>())
            for (int i = 0; i < tabs->count(); ++i) expectOurs(tabs, tabs->tabText(i));
        for (const DataTable* table : seen<DataTable>())
            for (int i = 0; i < table->model()->columnCount(); ++i)
                expectOurs(table, table->model()->headerData(i, Qt::Horizontal).toString());
    }
}

TEST(PseudoLanguage, LengthensAndMarksEveryText) {
    const PseudoLanguage language;
    const QString text = language.translate("", "Open %1 <b>or close</b>");
    EXPECT_TRUE(isOurs(text));
    EXPECT_TRUE(text.endsWith(kCloses));
    EXPECT_TRUE(text.contains(u"%1 <b>"_s)) << text.toStdString();
    EXPECT_GE(text.size(), 23 * 14 / 10);
}

}  // namespace
}  // namespace shardscope::desktop
