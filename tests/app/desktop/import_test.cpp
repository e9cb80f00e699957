// Traces of other tools in the window: opened as recordings are, kept in a cache, cancelled without
// a trace, refused without closing what is open.
#include "app/desktop/loading/import_cache.h"
#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/pages/recording_page.h"
#include "storage/model/rank_facts.h"
#include "tests/app/desktop/window_fixture.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <QDir>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// One rank's operators, as the PyTorch profiler writes them.
QByteArray kineto(int rank) {
    QByteArray events;
    for (int i = 0; i < 50; ++i)
        events += QByteArray(i == 0 ? "" : ",") + R"({"ph":"X","cat":"cpu_op","name":"aten::mm",)" +
                  R"("pid":7,"tid":7,"ts":)" + QByteArray::number(1000 + 10 * i) + R"(,"dur":5})";
    return R"({"schemaVersion":1,"distributedInfo":{"rank":)" + QByteArray::number(rank) +
           R"(,"world_size":2},"traceEvents":[)" + events + "]}";
}

void write(const QString& path, const QByteArray& text) {
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
}

const ImportCache::Listener kGoOn{[](double) { return true; }};

class ImportCacheTest : public ::testing::Test {
protected:
    [[nodiscard]] QString at(const QString& name) const { return m_folder.filePath(name); }
    QTemporaryDir m_folder;
};

TEST_F(ImportCacheTest, FindsATraceAgainByItsContent) {
    write(at(u"trace.json"_s), kineto(0));
    const ImportCache cache(at(u"cache"_s));
    const auto first = cache.imported({at(u"trace.json"_s)}, kGoOn);
    ASSERT_TRUE(first) << first.error().message;
    const QDateTime made = QFileInfo(first->recording).birthTime();
    ASSERT_TRUE(QDir(m_folder.path()).mkpath(u"elsewhere"_s));
    ASSERT_TRUE(QFile::rename(at(u"trace.json"_s), at(u"elsewhere/trace.json"_s)));
    const auto again = cache.imported({at(u"elsewhere/trace.json"_s)}, kGoOn);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->recording, first->recording);
    EXPECT_EQ(QFileInfo(again->recording).birthTime(), made);
    EXPECT_EQ(again->facts.front().second, at(u"elsewhere/trace.json"_s));
    EXPECT_EQ(ImportFacts(again->facts.begin() + 1, again->facts.end()),
              ImportFacts(first->facts.begin() + 1, first->facts.end()));
    write(at(u"elsewhere/trace.json"_s), kineto(1));
    const auto other = cache.imported({at(u"elsewhere/trace.json"_s)}, kGoOn);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_NE(other->recording, first->recording);
}

TEST_F(ImportCacheTest, WaitsForNoPipe) {
    ASSERT_EQ(::mkfifo(at(u"pipe.json"_s).toStdString().c_str(), 0600), 0);
    write(at(u"trace.json"_s), kineto(0));
    const ImportCache cache(at(u"cache"_s));
    const auto refused = cache.imported({at(u"trace.json"_s), at(u"pipe.json"_s)}, kGoOn);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("is not a file"), std::string::npos);
}

TEST_F(ImportCacheTest, RemovesWhatWasNotLookedAtForLongest) {
    const ImportCache cache(at(u"cache"_s), Bytes{1});
    QStringList made;
    for (int rank = 0; rank < 3; ++rank) {
        write(at(u"trace.json"_s), kineto(rank));
        const auto imported = cache.imported({at(u"trace.json"_s)}, kGoOn);
        ASSERT_TRUE(imported) << imported.error().message;
        made << imported->recording;
    }
    EXPECT_FALSE(QFile::exists(made[0]));
    EXPECT_FALSE(QFile::exists(made[1]));
    EXPECT_TRUE(QFile::exists(made[2])) << "what is to be opened stays";
}

TEST_F(ImportCacheTest, LeavesNothingOfWhatIsCancelledOrNoTrace) {
    write(at(u"trace.json"_s), kineto(0));
    write(at(u"text.json"_s), "{\"a\":");
    const ImportCache cache(at(u"cache"_s));
    const auto cancelled = cache.imported({at(u"trace.json"_s)}, {[](double) { return false; }});
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
    EXPECT_FALSE(cache.imported({at(u"text.json"_s)}, kGoOn));
    EXPECT_TRUE(QDir(at(u"cache"_s)).entryList(QDir::Files).isEmpty());
}

class ImportTest : public WindowTest {
protected:
    const PageFrame& frame(const QString& id) {
        return qobject_cast<RecordingPage*>(m_window->page(id))->frame();
    }
    [[nodiscard]] QString at(const QString& name) const { return m_folder.filePath(name); }
};

TEST_F(ImportTest, OpensATraceAndNamesItsFile) {
    write(at(u"trace.json"_s), kineto(0));
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(at(u"trace.json"_s));
    ASSERT_TRUE(opened.wait(20'000));
    const RecordingPtr recording = m_window->loader().recording();
    EXPECT_TRUE(recording->isTrace());
    EXPECT_EQ(recording->address(), at(u"trace.json"_s));
    EXPECT_TRUE(recording->title().startsWith(u"trace.json"_s));
    EXPECT_TRUE(m_window->windowTitle().startsWith(u"trace.json"_s));
    EXPECT_EQ(recording->importFacts.front().second, at(u"trace.json"_s));
}

TEST_F(ImportTest, AFolderOfRanksIsOneRecording) {
    ASSERT_TRUE(QDir(m_folder.path()).mkpath(u"ranks"_s));
    write(at(u"ranks/rank0.json"_s), kineto(0));
    write(at(u"ranks/rank1.json"_s), kineto(1));
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(at(u"ranks"_s));
    ASSERT_TRUE(opened.wait(20'000));
    EXPECT_EQ(m_window->loader().recording()->summary.ranks.size(), 2U);
    m_window->openFiles({at(u"ranks/rank0.json"_s), at(u"ranks/rank1.json"_s)});
    ASSERT_TRUE(opened.wait(20'000));
    EXPECT_EQ(m_window->loader().recording()->summary.ranks.size(), 2U);
    EXPECT_TRUE(m_window->loader().recording()->title().contains(u"+ 1"_s));
}

TEST_F(ImportTest, AWrongFileLeavesWhatIsOpen) {
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(writeSample());
    ASSERT_TRUE(opened.wait(20'000));
    const RecordingPtr before = m_window->loader().recording();
    write(at(u"wrong.json"_s), "no trace at all");
    QSignalSpy failed(&m_window->loader(), &RecordingLoader::openFailed);
    m_window->openFile(at(u"wrong.json"_s));
    ASSERT_TRUE(failed.wait(20'000));
    EXPECT_TRUE(failed.front().at(1).toString().contains(u"is no trace"_s))
        << failed.front().at(1).toString().toStdString();
    EXPECT_EQ(m_window->loader().recording(), before);
    EXPECT_EQ(frame(u"overview"_s).state(), PageFrame::State::kFull);
    EXPECT_TRUE(m_window->windowTitle().startsWith(u"sample.sscope · "_s));
}

}  // namespace
}  // namespace shardscope::desktop
