// Pages and views by the digit row, whatever the layout prints on it.
#include "app/desktop/pages/pages.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/key_places.h"
#include "tests/app/desktop/window_fixture.h"

#include <QAbstractSpinBox>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr quint32 kDigit1 = 10;  ///< evdev's code of the key right of "^" or "`", and 8

/// Of AZERTY's digit row, from the left.
constexpr Qt::Key kAzerty[] = {Qt::Key_Ampersand,  Qt::Key_Eacute,     Qt::Key_QuoteDbl,
                               Qt::Key_Apostrophe, Qt::Key_ParenLeft,  Qt::Key_Minus,
                               Qt::Key_Egrave,     Qt::Key_Underscore, Qt::Key_Ccedilla};

class DigitKeysTest : public WindowTest {
protected:
    /// As a keyboard's press arrives: offered, then looked up by key, then delivered.
    void press(int key, quint32 scanCode, Qt::KeyboardModifiers held = Qt::NoModifier) {
        QWidget* to =
            QApplication::focusWidget() != nullptr ? QApplication::focusWidget() : m_window.get();
        const QString text = key < 0x100 && held == Qt::NoModifier ? QString(QChar(key)) : u""_s;
        QKeyEvent offered(QEvent::ShortcutOverride, key, held, scanCode, 0, 0, text);
        offered.ignore();
        QApplication::sendEvent(to, &offered);
        if (!offered.isAccepted() && qt_sendShortcutOverrideEvent(to, 0, key, held, text)) return;
        QKeyEvent pressed(QEvent::KeyPress, key, held, scanCode, 0, 0, text);
        QApplication::sendEvent(to, &pressed);
    }

    [[nodiscard]] QAction* action(const QString& id) const {
        QAction* found = m_window->commands().find(id);
        EXPECT_NE(found, nullptr) << id.toStdString();
        return found;
    }

    /// How often each of a series of commands ran since it was made.
    struct Counted {
        std::vector<std::unique_ptr<QSignalSpy>> spies;
        [[nodiscard]] std::vector<int> counts() const {
            std::vector<int> all;
            for (const auto& spy : spies) all.push_back(static_cast<int>(spy->size()));
            return all;
        }
    };
    [[nodiscard]] Counted watch(const QStringList& ids) const {
        Counted counted;
        for (const QString& id : ids)
            counted.spies.push_back(std::make_unique<QSignalSpy>(action(id), &QAction::triggered));
        return counted;
    }
    [[nodiscard]] QStringList pageCommands() const {
        QStringList ids;
        for (const QString& page : pageIds().mid(0, 9)) ids << u"page."_s + page;
        return ids;
    }
    [[nodiscard]] static QStringList viewCommands(const QString& what) {
        QStringList ids;
        for (int digit = 1; digit <= 9; ++digit) ids << u"view.%1.%2"_s.arg(what).arg(digit);
        return ids;
    }
    static std::vector<int> onlyAt(int place) {
        std::vector<int> expected(9, 0);
        expected[static_cast<std::size_t>(place)] = 1;
        return expected;
    }
};

TEST_F(DigitKeysTest, OnAzertyTheRowLeadsToPagesByPlace) {
    for (int i = 0; i < 9; ++i) {
        m_window->showPage(u"problems"_s);
        const Counted pages = watch(pageCommands());
        press(kAzerty[i], kDigit1 + static_cast<quint32>(i));
        EXPECT_EQ(pages.counts(), onlyAt(i)) << i;
        EXPECT_EQ(m_window->currentPage(), pageIds()[i]);
    }
}

TEST_F(DigitKeysTest, OnAzertyViewsAreRecalledAndStoredByPlace) {
    for (int i = 0; i < 9; ++i) {
        const auto scanCode = kDigit1 + static_cast<quint32>(i);
        const Counted recalled = watch(viewCommands(u"recall"_s));
        const Counted stored = watch(viewCommands(u"store"_s));
        press(kAzerty[i], scanCode, Qt::ControlModifier);
        EXPECT_EQ(recalled.counts(), onlyAt(i));
        EXPECT_EQ(stored.counts(), std::vector<int>(9, 0));
        // with Shift the row gives digits
        press(Qt::Key_1 + i, scanCode, Qt::ControlModifier | Qt::ShiftModifier);
        EXPECT_EQ(stored.counts(), onlyAt(i));
        EXPECT_EQ(recalled.counts(), onlyAt(i)) << "not both";
    }
}

TEST_F(DigitKeysTest, OnQwertyEachRunsOnceByItsKey) {
    constexpr Qt::Key kShifted[] = {Qt::Key_Exclam,    Qt::Key_At,       Qt::Key_NumberSign,
                                    Qt::Key_Dollar,    Qt::Key_Percent,  Qt::Key_AsciiCircum,
                                    Qt::Key_Ampersand, Qt::Key_Asterisk, Qt::Key_ParenLeft};
    for (int i = 0; i < 9; ++i) {
        const auto scanCode = kDigit1 + static_cast<quint32>(i);
        m_window->showPage(u"problems"_s);
        const Counted pages = watch(pageCommands());
        const Counted recalled = watch(viewCommands(u"recall"_s));
        const Counted stored = watch(viewCommands(u"store"_s));
        press(Qt::Key_1 + i, scanCode);
        press(Qt::Key_1 + i, scanCode, Qt::ControlModifier);
        press(kShifted[i], scanCode, Qt::ControlModifier | Qt::ShiftModifier);
        press(kShifted[i], scanCode, Qt::ShiftModifier);
        EXPECT_EQ(pages.counts(), onlyAt(i));
        EXPECT_EQ(recalled.counts(), onlyAt(i));
        EXPECT_EQ(stored.counts(), onlyAt(i));
    }
}

TEST_F(DigitKeysTest, KeysOfAnUnknownPlaceCountByWhatTheyAre) {
    const Counted pages = watch(pageCommands());
    press(Qt::Key_Ampersand, 0);
    EXPECT_EQ(pages.counts(), std::vector<int>(9, 0));
    press(Qt::Key_3, 0);
    EXPECT_EQ(pages.counts(), onlyAt(2));
    const Counted keypad = watch(pageCommands());
    press(Qt::Key_5, 84, Qt::KeypadModifier);
    EXPECT_EQ(keypad.counts(), onlyAt(4));
}

TEST_F(DigitKeysTest, WhatIsTypedIntoATextFieldIsText) {
    m_window->showPage(u"newrun"_s);
    QLineEdit* field = nullptr;
    for (auto* each : m_window->page(u"newrun"_s)->findChildren<QLineEdit*>())
        if (each->isVisible() && each->focusProxy() == nullptr &&
            !each->inherits("QExpandingLineEdit") &&
            qobject_cast<QAbstractSpinBox*>(each->parentWidget()) == nullptr)
            field = each;
    ASSERT_NE(field, nullptr);
    field->setFocus();
    ASSERT_EQ(QApplication::focusWidget(), field);
    field->clear();
    const Counted pages = watch(pageCommands());
    const Counted recalled = watch(viewCommands(u"recall"_s));
    press(Qt::Key_Ampersand, kDigit1);
    press(Qt::Key_Ampersand, kDigit1, Qt::ControlModifier);
    EXPECT_EQ(field->text(), u"&"_s);
    EXPECT_EQ(pages.counts(), std::vector<int>(9, 0));
    EXPECT_EQ(recalled.counts(), std::vector<int>(9, 0));
}

TEST_F(DigitKeysTest, AFloatingPanelHasTheKeysOfItsWindowAndADialogNone) {
    QWidget panel(m_window.get(), Qt::Tool), dialog(m_window.get(), Qt::Dialog);
    for (QWidget* each : {&panel, &dialog}) {
        each->setFocusPolicy(Qt::StrongFocus);
        each->show();
        each->activateWindow();
        each->setFocus();
        ASSERT_TRUE(QTest::qWaitFor([&] { return QApplication::focusWidget() == each; }, 5'000));
        const Counted pages = watch(pageCommands());
        press(Qt::Key_Ampersand, kDigit1);
        EXPECT_EQ(pages.counts(), each == &panel ? onlyAt(0) : std::vector<int>(9, 0));
    }
}

TEST_F(DigitKeysTest, AChartKeepsItsMinusAndATableSearchesNothing) {
    openSample();
    m_window->showPage(u"training"_s);
    settle();
    auto* chart = m_window->page(u"training"_s)->findChild<ChartPanel*>();
    ASSERT_NE(chart, nullptr);
    chart->setFocus();
    press(Qt::Key_Minus, kDigit1 + 5);
    EXPECT_EQ(m_window->currentPage(), u"training"_s) << "Minus zooms";
    press(Qt::Key_Egrave, kDigit1 + 6);
    EXPECT_EQ(m_window->currentPage(), pageIds()[6]);
}

TEST(KeyPlaces, AreThoseOfAUsKeyboard) {
    EXPECT_EQ(keyAtPlace(10), Qt::Key_1);
    EXPECT_EQ(keyAtPlace(18), Qt::Key_9);
    EXPECT_EQ(keyAtPlace(19), std::nullopt);
    EXPECT_EQ(keyAtPlace(9), std::nullopt);
    EXPECT_EQ(keyAtPlace(0), std::nullopt);
    EXPECT_EQ(keyAtPlace(24), std::nullopt);
    EXPECT_EQ(keyOfBlock(Qt::Key_Z, 25), Qt::Key_W) << "AZERTY";
    EXPECT_EQ(keyOfBlock(Qt::Key_W, 52), Qt::Key_unknown);
    EXPECT_EQ(keyOfBlock(Qt::Key_W, 0), Qt::Key_W);
    EXPECT_EQ(keyOfBlock(Qt::Key_Ampersand, 10), Qt::Key_Ampersand) << "no letter";
}

}  // namespace
}  // namespace shardscope::desktop
