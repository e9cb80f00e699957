// The manual page of the window: every option and every key, from the same tables.

#include "app/desktop/pages/pages.h"
#include "app/desktop/shell/app_options.h"
#include "tests/app/desktop/window_fixture.h"

namespace shardscope::desktop {
namespace {

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
