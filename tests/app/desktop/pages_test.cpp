// The list of pages, and what the window makes of it.
#include "app/desktop/pages/pages.h"

#include "app/desktop/shell/app_options.h"
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

// The manual page of the window: every option and every key, from the same tables.

using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

class DesktopHelp : public WindowTest {};

TEST_F(DesktopHelp, HasEveryOption) {
    const manual::Program help = desktopHelp(m_window->commands());
    ASSERT_THAT(help.itself.groups, SizeIs(1));
    const auto& options = help.itself.groups[0].options;
    ASSERT_EQ(options.size(), static_cast<std::size_t>(optionList().size()));
    for (const manual::Option& option : options) {
        EXPECT_FALSE(option.description.empty());
        if (option.names == std::vector<std::string>{"--page"}) {
            EXPECT_EQ(option.argument.words.size(), allPages().size());
        }
    }
}

TEST_F(DesktopHelp, HasEveryKeyOfTheSheet) {
    const manual::Program help = desktopHelp(m_window->commands());
    std::vector<std::string> lines;
    for (const manual::Section& section : help.itself.sections)
        lines.insert(lines.end(), section.lines.begin(), section.lines.end());
    for (const Command& command : m_window->commands().all()) {
        if (command.keys.isEmpty() || command.inSeries) continue;
        EXPECT_THAT(lines, Contains(testing::AllOf(testing::StartsWith(command.keys.toStdString()),
                                                   testing::EndsWith(command.name.toStdString()))));
    }
}

TEST_F(DesktopHelp, PagesBeyondTheNinthHaveNoDigit) {
    int digits = 0;
    for (const Command& command : m_window->commands().all())
        if (command.id.startsWith(QLatin1String("page.")) && !command.keys.isEmpty()) {
            EXPECT_EQ(command.keys, QString::number(++digits));
        }
    EXPECT_EQ(digits, std::min<int>(kPageKeys, static_cast<int>(allPages().size())));
}

}  // namespace
}  // namespace shardscope::desktop
