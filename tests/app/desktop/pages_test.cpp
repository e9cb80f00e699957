// The list of pages, and what the window makes of it.
#include "app/desktop/pages/pages.h"

#include "tests/app/desktop/window_fixture.h"

#include <QFile>
#include <set>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

class PagesTest : public WindowTest {};

TEST_F(PagesTest, EachHasAnIdANameAndAnIconOfItsOwn) {
    std::set<QString> ids, icons, names;
    for (const PageEntry& entry : allPages()) {
        EXPECT_TRUE(ids.insert(entry.id).second) << entry.id.toStdString();
        EXPECT_TRUE(icons.insert(entry.icon).second) << entry.icon.toStdString();
        EXPECT_TRUE(names.insert(entry.name).second) << entry.name.toStdString();
        EXPECT_TRUE(QFile::exists(u":/icons/%1.svg"_s.arg(entry.icon)))
            << entry.icon.toStdString() << " is in resources/resources.qrc";
    }
}

TEST_F(PagesTest, TheWindowHasThemAllUnderKeysAndNames) {
    int number = 1;
    for (const PageEntry& entry : allPages()) {
        Page* page = m_window->page(entry.id);
        ASSERT_NE(page, nullptr) << entry.id.toStdString();
        EXPECT_EQ(page->accessibleName(), entry.name);
        QAction* key = m_window->commands().find(u"page."_s + entry.id);
        ASSERT_NE(key, nullptr);
        const int digit = number++;
        EXPECT_EQ(key->shortcut(),
                  digit <= kPageKeys ? QKeySequence(QString::number(digit)) : QKeySequence());
        key->trigger();
        EXPECT_EQ(m_window->currentPage(), entry.id);
    }
    EXPECT_EQ(m_window->page(u"nowhere"_s), nullptr);
}

TEST_F(PagesTest, PagesLeadToEachOther) {
    Page* start = m_window->page(page_ids::kStart);
    for (const PageEntry& entry : allPages()) {
        Q_EMIT start->pageRequested(entry.id);
        EXPECT_EQ(m_window->currentPage(), entry.id);
    }
    Q_EMIT start->pageRequested(u"nowhere"_s);
    EXPECT_EQ(m_window->currentPage(), allPages().back().id) << "there is no such page";
}

TEST_F(PagesTest, KeysOfAPageStandOnTheSheetUnderItsName) {
    for (const PageEntry& entry : allPages()) {
        for (const Page::KeyNote& note : m_window->page(entry.id)->keyNotes()) {
            bool found = false;
            for (const Command& command : m_window->commands().all())
                found = found || (command.group == entry.name && command.keys == note.keys &&
                                  command.name == note.name);
            EXPECT_TRUE(found) << note.keys.toStdString();
        }
    }
}

}  // namespace
}  // namespace shardscope::desktop
