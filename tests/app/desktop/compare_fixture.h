// A window with its Compare page, and recordings to compare with.
#pragma once

#include "app/desktop/pages/compare/compare_page.h"
#include "tests/app/desktop/window_fixture.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QString>
#include <QTest>

namespace shardscope::desktop {

/// As it is typed: no thin spaces, no signs that keyboards lack, no places to break a line.
inline QString plain(QString text) {
    return text.replace(u'\u2009', u' ').replace(u'\u2212', u'-').remove(u'\u200B');
}

class CompareFixture : public WindowTest {
protected:
    [[nodiscard]] ComparePage& page() {
        return *qobject_cast<ComparePage*>(m_window->page(page_ids::kCompare));
    }
    QString other(const test::SampleOptions& options = {},
                  const QString& name = QStringLiteral("other.sscope")) {
        const QString path = m_folder.filePath(name);
        const auto written = test::writeSampleRecording(path.toStdString(), options);
        EXPECT_TRUE(written) << (written ? "" : written.error().message);
        return path;
    }
    void comparedWith(const QString& path) {
        m_window->showPage(page_ids::kCompare);
        m_window->compared().add(path);
        wait();
    }
    void wait() {
        ASSERT_TRUE(QTest::qWaitFor([this] { return !page().isReading(); }, 20'000));
        QTest::qWait(1);  // an answer may have asked for more
        ASSERT_TRUE(QTest::qWaitFor([this] { return !page().isReading(); }, 20'000));
    }
    [[nodiscard]] static bool saysIn(const QWidget& part, const QString& text) {
        for (const auto* label : part.findChildren<QLabel*>())
            if (label->isVisible() && plain(label->text()).contains(text)) return true;
        return false;
    }
    [[nodiscard]] bool says(const QString& text) { return saysIn(page(), text); }
};

}  // namespace shardscope::desktop
