// Pages of a recorded program: each says a figure or why there is none, and none takes it for a
// trace of another tool.
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/pages.h"
#include "tests/app/desktop/window_fixture.h"
#include "tests/support/program_recording.h"

#include <gmock/gmock.h>

#include <QAbstractItemView>
#include <QLabel>
#include <QRegularExpression>
#include <set>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using ::testing::HasSubstr;

class ProgramPagesTest : public WindowTest {
protected:
    void open(const test::ProgramOptions& options) {
        const QString path = m_folder.filePath(u"program.sscope"_s);
        const auto written = test::writeProgramRecording(path.toStdString(), options);
        ASSERT_TRUE(written) << (written ? "" : written.error().message);
        QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
        m_window->openFile(path);
        ASSERT_TRUE(opened.wait(60'000));
        settle();
    }
    /// What is read and heard on a page.
    QString textOf(const QString& id) {
        m_window->showPage(id);
        settle();
        QStringList texts;
        Page* page = m_window->page(id);
        for (const QLabel* label : page->findChildren<QLabel*>())
            if (label->isVisible()) texts << label->text();
        for (const QWidget* widget : page->findChildren<QWidget*>())
            if (widget->isVisible())
                texts << widget->accessibleName() << widget->accessibleDescription();
        texts.removeAll(QString());
        return texts.join(u'\n');
    }
    void checkPages() {
        EXPECT_FALSE(m_window->loader().recording()->bounds().empty());
        static const QRegularExpression figureOrReason(
            u"\\d|unknown|not recorded|no |none|nothing"_s,
            QRegularExpression::CaseInsensitiveOption);
        for (const char* id : {"overview", "timeline", "operators", "communication", "memory",
                               "efficiency", "training", "problems", "compare", "dashboard"}) {
            const QString text = textOf(QString::fromLatin1(id));
            EXPECT_TRUE(text.contains(figureOrReason)) << id << ": " << text.toStdString();
            EXPECT_FALSE(text.contains(u"import"_s, Qt::CaseInsensitive))
                << id << ": " << text.toStdString();
            EXPECT_FALSE(text.contains(u"this trace"_s)) << id << ": " << text.toStdString();
            EXPECT_FALSE(text.contains(u"0.000000000"_s)) << id << ": " << text.toStdString();
        }
    }
};

TEST_F(ProgramPagesTest, OfOneWithoutRanksSayThatNoneLoadedPyTorch) {
    open({.command = "job.sh", .ranks = 0});
    checkPages();
    EXPECT_THAT(textOf(u"memory"_s).toStdString(), HasSubstr("to load PyTorch"));
    EXPECT_THAT(textOf(u"communication"_s).toStdString(), HasSubstr("to load PyTorch"));
}

TEST_F(ProgramPagesTest, OfOneWithoutStepsSayHowToMarkThem) {
    open({.ranks = 1, .steps = 0, .parameters = 0});
    checkPages();
    const std::string overview = textOf(u"overview"_s).toStdString();
    EXPECT_THAT(overview, HasSubstr("shardscope.step()"));
    EXPECT_THAT(overview, HasSubstr("shardscope.model(model)"));
}

TEST_F(ProgramPagesTest, RecordedAtLevelStepsNameTheLevelThatHasMore) {
    open({.capture = CaptureLevel::kSteps});
    checkPages();
    EXPECT_THAT(textOf(u"communication"_s).toStdString(), HasSubstr("--capture light"));
    EXPECT_THAT(textOf(u"memory"_s).toStdString(), HasSubstr("--capture full"));
    EXPECT_THAT(textOf(u"operators"_s).toStdString(), HasSubstr("--capture full"));
}

TEST_F(ProgramPagesTest, WithPhasesSayWhatItWasBlockedIn) {
    open({});
    checkPages();
    const std::string overview = textOf(u"overview"_s).toStdString();
    EXPECT_THAT(overview, HasSubstr("blocked in communication"));
    EXPECT_THAT(overview, HasSubstr("all-reduce, as data parallelism (DDP) does"));
    EXPECT_THAT(textOf(u"training"_s).toStdString(), HasSubstr("shardscope.metric(\"loss\""));
}

}  // namespace
}  // namespace shardscope::desktop
