// A trace that is shown while it is imported: opened at its first lanes, followed, finished in
// place, cancelled and failing without leaving anything half open.
#include "app/desktop/pages/recording_page.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "storage/model/rank_facts.h"
#include "tests/app/desktop/window_fixture.h"

#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <atomic>
#include <chrono>
#include <thread>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// An import that goes on by a window of the trace for each pass that it has, once it can be read.
class Gate {
public:
    ~Gate() { open(); }
    ImportCache::Importer importer() {
        return [this](const std::vector<std::string>& inputs,
                      const interchange::ImportOptions& asked) {
            interchange::ImportOptions options = asked;
            options.strict = m_strict;
            std::atomic<bool> isReadable = false;
            options.readable = [&](const std::string& part) {
                isReadable = true;
                asked.readable(part);
            };
            options.progress = [&](double share) {
                while (isReadable && asked.progress(share) && !pass())
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                return asked.progress(share);
            };
            return interchange::importTraces(inputs, options);
        };
    }
    void let(int windows) { m_passes += windows; }
    void open() { m_passes = 1 << 20; }
    void refuseRejected() { m_strict = true; }

private:
    bool pass() {
        int passes = m_passes;
        while (passes > 0)
            if (m_passes.compare_exchange_weak(passes, passes - 1)) return true;
        return false;
    }
    std::atomic<int> m_passes = 0;
    std::atomic<bool> m_strict = false;
};

/// So long that it is read in many windows; `front` and `back` are events.
void writeLongTrace(const QString& path, const QByteArray& front = {}, const QByteArray& back = {},
                    const QByteArray& behind = {}) {
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("{\"traceEvents\":[" + front);
    QByteArray events;
    for (int i = 0; i < 300'000; ++i)
        events += R"({"ph":"X","cat":"cpu_op","name":"op )" + QByteArray::number(i % 50) +
                  R"(","pid":9,"tid":1,"ts":)" + QByteArray::number(1000 + 10 * i) +
                  R"(,"dur":8,"args":{"size":)" + QByteArray::number(i) + "}},";
    file.write(events + back +
               R"({"ph":"X","cat":"cpu_op","name":"last","pid":9,"tid":1,"ts":3001000,"dur":1}]})");
    if (!behind.isEmpty()) {
        file.seek(file.size() - 1);
        file.write(behind + "}");
    }
}

class ImportingTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_window->loader().setImporter(m_gate.importer());
    }
    void TearDown() override {
        m_gate.open();
        m_window.reset();
    }
    [[nodiscard]] QString at(const QString& name) const { return m_folder.filePath(name); }
    [[nodiscard]] RecordingPtr recording() const { return m_window->loader().recording(); }
    [[nodiscard]] bool isShown() const {
        return recording() && recording()->isImporting() && recording()->analysed;
    }
    const PageFrame& frame(const QString& id) {
        return qobject_cast<RecordingPage*>(m_window->page(id))->frame();
    }
    [[nodiscard]] QString label(const QString& accessible) const {
        for (const QLabel* each : m_window->findChildren<QLabel*>())
            if (each->accessibleName() == accessible) return each->text();
        return {};
    }
    [[nodiscard]] QPushButton* cancel() const {
        for (QPushButton* each : m_window->findChildren<QPushButton*>())
            if (each->accessibleName() == u"Cancel the work in the background"_s) return each;
        return nullptr;
    }
    /// Files of the cache.
    [[nodiscard]] QStringList kept() const { return QDir(at(u"imports"_s)).entryList(QDir::Files); }
    void show(const QString& name = u"trace.json"_s) {
        m_window->openFile(at(name));
        ASSERT_TRUE(QTest::qWaitFor([this] { return isShown(); }, 20'000));
    }
    void finish() {
        m_gate.open();
        ASSERT_TRUE(QTest::qWaitFor([this] { return recording() && recording()->summary.complete; },
                                    20'000));
        settle();
    }
    void keepPictures(const QString& name) {
        if (qEnvironmentVariable("SHARDSCOPE_TEST_PICTURES").isEmpty()) return;
        const QString before = m_window->currentPage();
        for (const QString& page : {u"overview"_s, u"timeline"_s, u"memory"_s})
            for (const bool dark : {false, true}) {
                m_window->useTheme(dark);
                m_window->resize(dark ? QSize(1024, 640) : QSize(1600, 1000));
                m_window->showPage(page);
                QTest::qWait(500);
                keepPicture(u"%1-%2%3"_s.arg(name, page, dark ? u"-dark"_s : QString()));
            }
        m_window->useTheme(false);
        m_window->showPage(before);
    }
    Gate m_gate;
};

TEST_F(ImportingTest, ATraceIsOpenedAtItsFirstLanesAndGrows) {
    writeLongTrace(at(u"trace.json"_s));
    show();
    EXPECT_FALSE(recording()->summary.complete);
    EXPECT_FALSE(recording()->summary.lanes.empty());
    EXPECT_EQ(m_window->currentPage(), u"overview"_s);
    EXPECT_EQ(frame(u"overview"_s).state(), PageFrame::State::kFull);
    EXPECT_TRUE(frame(u"overview"_s).banner().contains(u"is being imported"_s))
        << frame(u"overview"_s).banner().toStdString();
    EXPECT_FALSE(frame(u"overview"_s).banner().contains(u"lost"_s));
    const auto* job = m_window->findChild<QProgressBar*>();
    ASSERT_NE(job, nullptr);
    EXPECT_TRUE(frame(u"overview"_s).banner().contains(u" %1\u2009%"_s.arg(job->value())))
        << frame(u"overview"_s).banner().toStdString() << ", not " << job->value();
    EXPECT_TRUE(label(u"Facts of the recording"_s).endsWith(u"importing"_s))
        << label(u"Facts of the recording"_s).toStdString();
    EXPECT_TRUE(frame(u"overview"_s).headline().contains(u"so far"_s))
        << frame(u"overview"_s).headline().toStdString();
    m_window->showPage(u"memory"_s);
    EXPECT_EQ(frame(u"memory"_s).state(), PageFrame::State::kNothing);
    bool saysWhen = false;
    for (const QLabel* each : m_window->page(u"memory"_s)->findChildren<QLabel*>())
        saysWhen |= each->text().contains(u"at the end of the import"_s);
    EXPECT_TRUE(saysWhen);
    m_window->showPage(u"overview"_s);
    EXPECT_TRUE(cancel()->isVisible());
    EXPECT_TRUE(m_window->windowTitle().startsWith(u"trace.json"_s));
    EXPECT_TRUE(recording()->report.running);
    keepPictures(u"importing"_s);
    const std::uint64_t before = recording()->summary.events.total();
    const auto hasGrown = [&] { return isShown() && recording()->summary.events.total() > before; };
    for (int window = 0; window < 3 && !hasGrown(); ++window) {
        m_gate.let(1);
        static_cast<void>(QTest::qWaitFor(hasGrown, 4'000));  // it looks every two seconds
    }
    EXPECT_TRUE(hasGrown());
    EXPECT_TRUE(isShown());
}

TEST_F(ImportingTest, TheFinishedRecordingComesInPlace) {
    writeLongTrace(at(u"trace.json"_s));
    m_window->showPage(u"timeline"_s);
    show();
    m_window->showPage(u"timeline"_s);
    auto* canvas = m_window->page(u"timeline"_s)->findChild<TimelineCanvas*>();
    const TimeRange zoomed{{1'000'000}, {2'000'000}};
    canvas->setView(zoomed);
    m_window->selection().selectRange({{1'200'000}, {1'500'000}});
    QSignalSpy sketched(&m_window->loader(), &RecordingLoader::sketched);
    QSignalSpy failed(&m_window->loader(), &RecordingLoader::questionFailed);
    finish();
    EXPECT_FALSE(recording()->isImporting());
    EXPECT_EQ(recording()->summary.events.spans, 300'001U);
    EXPECT_EQ(recording()->address(), at(u"trace.json"_s));
    EXPECT_EQ(recording()->importFacts.front().second, at(u"trace.json"_s));
    EXPECT_TRUE(sketched.isEmpty()) << "it was not opened anew";
    EXPECT_TRUE(failed.isEmpty());
    EXPECT_EQ(m_window->currentPage(), u"timeline"_s);
    EXPECT_EQ(canvas->view(), zoomed);
    EXPECT_EQ(m_window->selection().current().range, (TimeRange{{1'200'000}, {1'500'000}}));
    EXPECT_FALSE(frame(u"timeline"_s).banner().contains(u"imported"_s));
    EXPECT_FALSE(cancel()->isVisible());
    EXPECT_FALSE(label(u"Facts of the recording"_s).contains(u"importing"_s));
    EXPECT_EQ(kept().size(), 2) << kept().join(u' ').toStdString();
    // pictures come from the finished file: one of its last events is found
    bool found = false;
    Topic last(m_window->loader(), Urgency::kPicture);
    last.ask(
        [](auto& reader, const OpenRecording& open, const auto&) {
            return reader.spans(open.summary.lanes.front().rank, open.summary.lanes.front().lane,
                                {{2'999'999'000}, {3'000'100'000}});
        },
        [&](const std::vector<SpanEvent>& spans) { found = !spans.empty(); });
    settle();
    EXPECT_TRUE(found);
}

TEST_F(ImportingTest, WhatComesBeforeTimeZeroTakesTheSelectionAlong) {
    writeLongTrace(at(u"trace.json"_s), {},
                   R"({"ph":"X","cat":"cpu_op","name":"early","pid":9,"tid":1,"ts":500,"dur":1},)");
    m_window->showPage(u"timeline"_s);
    show();
    m_window->showPage(u"timeline"_s);
    auto* canvas = m_window->page(u"timeline"_s)->findChild<TimelineCanvas*>();
    canvas->setView({{1'000'000}, {2'000'000}});
    m_window->selection().selectRange({{1'200'000}, {1'500'000}});
    QSignalSpy sketched(&m_window->loader(), &RecordingLoader::sketched);
    finish();
    EXPECT_TRUE(sketched.isEmpty());
    EXPECT_EQ(m_window->selection().current().range, (TimeRange{{1'700'000}, {2'000'000}}));
    EXPECT_EQ(canvas->view(), (TimeRange{{1'500'000}, {2'500'000}}));
}

TEST_F(ImportingTest, OneThatTurnsOutToBeOfAnotherRankIsOpenedAnew) {
    writeLongTrace(at(u"trace.json"_s), {}, {}, R"(,"distributedInfo":{"rank":5,"world_size":8})");
    show();
    EXPECT_EQ(recording()->summary.ranks.front().rank, RankId{0});
    m_window->selection().selectRanks({RankId{0}});
    finish();
    EXPECT_EQ(recording()->summary.ranks.front().rank, RankId{5});
    EXPECT_TRUE(m_window->selection().current().isEverything());
    EXPECT_EQ(kept().size(), 2) << kept().join(u' ').toStdString();
}

TEST_F(ImportingTest, CancelledNothingIsOpenAndNothingIsLeft) {
    writeLongTrace(at(u"trace.json"_s));
    show();
    QTest::mouseClick(cancel(), Qt::LeftButton);
    EXPECT_EQ(recording(), nullptr);
    EXPECT_EQ(m_window->currentPage(), u"start"_s);
    EXPECT_EQ(label(u"Under the pointer"_s), u"Cancelled; nothing was imported"_s);
    EXPECT_EQ(frame(u"overview"_s).state(), PageFrame::State::kEmpty);
    EXPECT_EQ(m_window->windowTitle(), u"Shardscope"_s);
    EXPECT_TRUE(QTest::qWaitFor([this] { return kept().isEmpty(); }, 20'000))
        << kept().join(u' ').toStdString();
    settle();
    EXPECT_EQ(recording(), nullptr);
}

TEST_F(ImportingTest, CancelledWhatWasOpenBeforeComesBack) {
    openSample();
    const QString before = recording()->path;
    writeLongTrace(at(u"trace.json"_s));
    show();
    m_window->showPage(u"memory"_s);
    QSignalSpy cancelled(&m_window->loader(), &RecordingLoader::openCancelled);
    QTest::mouseClick(cancel(), Qt::LeftButton);
    ASSERT_TRUE(cancelled.wait(20'000));
    settle();
    ASSERT_NE(recording(), nullptr);
    EXPECT_EQ(recording()->path, before);
    EXPECT_EQ(m_window->currentPage(), u"memory"_s);
    EXPECT_EQ(frame(u"memory"_s).state(), PageFrame::State::kFull);
    EXPECT_FALSE(cancel()->isVisible());
    EXPECT_EQ(label(u"Under the pointer"_s), u"Cancelled; nothing was imported"_s);
}

TEST_F(ImportingTest, OneThatFailsAtItsEndSaysSoOnTheStartPage) {
    m_gate.refuseRejected();
    writeLongTrace(at(u"trace.json"_s), {}, R"({"ph":"X"},)");
    show();
    QSignalSpy failed(&m_window->loader(), &RecordingLoader::openFailed);
    m_gate.open();
    ASSERT_TRUE(failed.wait(20'000));
    const QString message = failed.front().at(1).toString();
    EXPECT_TRUE(message.contains(u"its partial results were removed"_s)) << message.toStdString();
    EXPECT_TRUE(message.contains(u"were rejected"_s)) << message.toStdString();
    settle();
    EXPECT_EQ(recording(), nullptr);
    EXPECT_EQ(m_window->currentPage(), u"start"_s);
    EXPECT_TRUE(kept().isEmpty());
    EXPECT_FALSE(cancel()->isVisible());
    keepPicture(u"importing-failed"_s);
}

TEST_F(ImportingTest, OneThatFailsGivesBackWhatWasOpenBefore) {
    openSample();
    const QString before = recording()->path;
    m_gate.refuseRejected();
    writeLongTrace(at(u"trace.json"_s), {}, R"({"ph":"X"},)");
    show();
    QSignalSpy failed(&m_window->loader(), &RecordingLoader::openFailed);
    m_gate.open();
    ASSERT_TRUE(failed.wait(20'000));
    settle();
    ASSERT_NE(recording(), nullptr);
    EXPECT_EQ(recording()->path, before);
    EXPECT_EQ(frame(u"overview"_s).state(), PageFrame::State::kFull);
    EXPECT_TRUE(label(u"Under the pointer"_s).contains(u"the previous recording stays open"_s));
    keepPicture(u"importing-failed-before"_s);
}

TEST_F(ImportingTest, AnotherRecordingIsOpenedAtOnceAndEndsIt) {
    const QString sample = writeSample();
    writeLongTrace(at(u"trace.json"_s));
    show();
    m_window->openFile(sample);
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return recording() && recording()->path == sample; }, 20'000));
    settle();
    EXPECT_EQ(recording()->path, sample);
    EXPECT_FALSE(cancel()->isVisible());
    EXPECT_TRUE(QTest::qWaitFor([this] { return kept().isEmpty(); }, 20'000));
}

TEST_F(ImportingTest, AWrongFileMeanwhileChangesNothing) {
    writeLongTrace(at(u"trace.json"_s));
    show();
    QFile wrong(at(u"wrong.json"_s));
    ASSERT_TRUE(wrong.open(QIODevice::WriteOnly));
    wrong.write("no trace at all");
    wrong.close();
    QSignalSpy failed(&m_window->loader(), &RecordingLoader::openFailed);
    m_window->openFile(at(u"wrong.json"_s));
    ASSERT_TRUE(failed.wait(20'000));
    EXPECT_TRUE(isShown());
    EXPECT_TRUE(cancel()->isVisible());
    finish();
    EXPECT_EQ(recording()->address(), at(u"trace.json"_s));
}

TEST_F(ImportingTest, AnotherTraceWaitsForItsEnd) {
    writeLongTrace(at(u"trace.json"_s));
    writeLongTrace(at(u"other.json"_s), R"({"ph":"M"},)");
    show();
    m_window->openFile(at(u"other.json"_s));
    m_gate.let(1);
    QTest::qWait(50);
    EXPECT_TRUE(isShown());
    EXPECT_EQ(recording()->address(), at(u"trace.json"_s));
    m_gate.open();
    ASSERT_TRUE(QTest::qWaitFor(
        [this] {
            return recording() && recording()->summary.complete &&
                   recording()->address() == at(u"other.json"_s);
        },
        20'000));
    settle();
    EXPECT_EQ(kept().size(), 4) << "both are in the cache";
}

TEST_F(ImportingTest, AWindowThatIsClosedMeanwhileLeavesNothing) {
    writeLongTrace(at(u"trace.json"_s));
    show();
    m_window.reset();
    EXPECT_TRUE(kept().isEmpty()) << kept().join(u' ').toStdString();
}

}  // namespace
}  // namespace shardscope::desktop
