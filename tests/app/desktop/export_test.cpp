// Ctrl+E: what each page offers, what is written of it, and how that ends.
#include "app/desktop/loading/file_saver.h"
#include "app/desktop/models/write_file.h"
#include "app/desktop/pages/pages.h"
#include "app/desktop/pages/problems/problems_page.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/shell/export_dialog.h"
#include "app/desktop/widgets/data_table.h"
#include "storage/interchange/formats.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/verify/verify_recording.h"
#include "tests/app/desktop/small_trace.h"
#include "tests/app/desktop/window_fixture.h"
#include "tests/support/csv_rows.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <QComboBox>
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QFileDialog>
#include <QImage>
#include <QLabel>
#include <QListWidget>
#include <QProcess>
#include <QProgressBar>
#include <QPushButton>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using test::parseCsv;
using Rows = test::CsvRows;

std::string contentOf(const QString& path) {
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << path.toStdString();
    return file.readAll().toStdString();
}

/// A format as the command line names it, and its table.
struct Asked {
    std::string format, view;
};

/// In the order in which they are offered.
std::vector<Asked> allAsked() {
    std::vector<Asked> asked;
    for (const interchange::Format& format : interchange::formats()) {
        if (format.write == nullptr) continue;
        if (format.views.empty()) asked.push_back({format.name, {}});
        for (const auto& view : format.views) asked.push_back({format.name, view.name});
    }
    return asked;
}

/// Beside which nothing may be left.
QStringList filesIn(const QString& folder) {
    QStringList names;
    for (QDirIterator each(folder, QDir::AllEntries | QDir::NoDotAndDotDot,
                           QDirIterator::Subdirectories);
         each.hasNext();)
        names << each.next().mid(folder.size() + 1);
    names.sort();
    return names;
}

SaveProgress unwatched() {
    return {[](double) { return true; }, {}};
}

class ExportTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        ASSERT_TRUE(QDir(m_folder.path()).mkpath(u"out"_s));
    }
    [[nodiscard]] QString at(const QString& name) const {
        return m_folder.filePath(u"out/"_s + name);
    }
    [[nodiscard]] QStringList written() const { return filesIn(m_folder.filePath(u"out"_s)); }
    [[nodiscard]] RecordingPtr recording() const { return m_window->loader().recording(); }
    FileSaver& saver() { return *m_window->findChild<FileSaver*>(); }

    ExportDialog& open() {
        m_window->commands().find(u"export"_s)->trigger();
        return *m_window->findChild<ExportDialog*>();
    }
    static QListWidget& listOf(const ExportDialog& dialog) {
        return *dialog.findChild<QListWidget*>();
    }
    static QPushButton& saveOf(const ExportDialog& dialog) {
        for (QPushButton* each : dialog.findChildren<QPushButton*>())
            if (each->isDefault()) return *each;
        throw std::out_of_range("no default button");
    }
    /// Fails where there is no row that begins so.
    static void choose(ExportDialog& dialog, const QString& name) {
        const auto found = listOf(dialog).findItems(name, Qt::MatchStartsWith);
        ASSERT_FALSE(found.isEmpty()) << name.toStdString();
        listOf(dialog).setCurrentItem(found.front());
    }
    /// Through the dialogs; what the status line says at the end.
    QStringList save(const QString& name, const QString& path) {
        ExportDialog& dialog = open();
        choose(dialog, name);
        QSignalSpy ended(&saver(), &FileSaver::ended);
        saveOf(dialog).click();
        auto* file = dialog.findChild<QFileDialog*>();
        if (file == nullptr) return {u"no dialog for a file"_s};
        Q_EMIT file->fileSelected(path);
        EXPECT_TRUE(!ended.isEmpty() || ended.wait(20'000));
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        return ended.isEmpty() ? QStringList() : ended.front().front().toStringList();
    }
    [[nodiscard]] QLabel* status() const {
        for (QLabel* each : m_window->findChildren<QLabel*>())
            if (each->accessibleName() == u"Under the pointer"_s) return each;
        return nullptr;
    }
    std::vector<SaveOffer> offersOf(const QString& page) {
        m_window->showPage(page);
        settle();
        return pageOffers(*m_window->page(page), u"run"_s, page);
    }
    std::vector<SaveOffer> recordingOffersNow(const Selection& selection = {}) {
        return recordingOffers(recording(), selection, m_window->loader().access());
    }
    /// `shardscope export` of the open recording.
    void exportByCommand(const Asked& asked, const QStringList& part, const QString& path) {
        QStringList arguments{u"export"_s,   recording()->path,
                              u"--format"_s, QString::fromStdString(asked.format),
                              u"-o"_s,       path};
        if (!asked.view.empty()) arguments << u"--view"_s << QString::fromStdString(asked.view);
        QProcess program;
        program.start(QStringLiteral(SHARDSCOPE_PROGRAM), arguments + part);
        ASSERT_TRUE(program.waitForFinished(60'000));
        ASSERT_EQ(program.exitCode(), 0) << program.readAllStandardError().toStdString();
        m_commandSaid = QString::fromUtf8(program.readAllStandardOutput());
    }
    /// A file, or all of a folder. Databases hold when they were made: their contents as text.
    std::string essence(const QString& path, const std::string& format) {
        if (QFileInfo(path).isDir()) {
            std::string all;
            for (const QString& name : filesIn(path))
                all += name.toStdString() + contentOf(path + u'/' + name);
            return all;
        }
        if (format != "sscope") return contentOf(path);
        const auto reader = storage::openRecording(path.toStdString());
        EXPECT_TRUE(reader);
        interchange::ExportOptions options;
        options.output = (path + u".pftrace"_s).toStdString();
        EXPECT_TRUE(interchange::findFormat("perfetto")->write(**reader, options));
        return contentOf(path + u".pftrace"_s);
    }
    void expectAsTheCommandLine(const Selection& selection, const QStringList& part) {
        const auto offers = recordingOffersNow(selection);
        const auto asked = allAsked();
        ASSERT_EQ(offers.size(), asked.size());
        for (std::size_t i = 0; i < asked.size(); ++i) {
            SCOPED_TRACE(asked[i].format + " " + asked[i].view);
            if (!offers[i].refusal.isEmpty()) continue;
            const QString name = QString::number(i);
            const QString ending = offers[i].ending.isEmpty() ? QString() : u'.' + offers[i].ending;
            const QString mine = at(name + u"-window"_s + ending);
            const QString theirs = at(name + u"-command"_s + ending);
            const auto account = offers[i].job(mine)(unwatched());
            ASSERT_TRUE(account) << account.error().message;
            exportByCommand(asked[i], part, theirs);
            EXPECT_TRUE(essence(mine, asked[i].format) == essence(theirs, asked[i].format));
            // told as the command line tells it
            for (const std::string& note : account->notes)
                EXPECT_THAT(m_commandSaid.toStdString(), HasSubstr(note));
            const auto notes = static_cast<std::size_t>(m_commandSaid.count(u"\nnote "_s));
            EXPECT_EQ(account->notes.size(), notes);
        }
    }

    QString m_commandSaid;
};

TEST_F(ExportTest, AllOfARecordingIsWhatTheCommandLineWrites) {
    openSample({.gpu = true});
    expectAsTheCommandLine({}, {});
}

TEST_F(ExportTest, SelectedStepsAndRanksAreWhatTheCommandLineWrites) {
    openSample();
    Selection selection;
    selection.steps = StepSpan{{3}, {5}};
    expectAsTheCommandLine(selection, {u"--steps"_s, u"3-5"_s});
    selection.ranks = {RankId{1}};
    ASSERT_TRUE(QDir(m_folder.filePath(u"out"_s)).removeRecursively());
    ASSERT_TRUE(QDir(m_folder.path()).mkpath(u"out"_s));
    expectAsTheCommandLine(selection, {u"--steps"_s, u"3-5"_s, u"--ranks"_s, u"1"_s});
}

TEST_F(ExportTest, ASelectedStretchOfTimeIsWhatTheCommandLineWrites) {
    openSample();
    const TimeRange all = recording()->bounds();
    Selection selection;
    selection.range =
        TimeRange{{all.begin.ns + all.duration().ns / 3}, {all.begin.ns + all.duration().ns / 2}};
    expectAsTheCommandLine(
        selection,
        {u"--range"_s, u"%1ns:%2ns"_s.arg(selection.range->begin.ns).arg(selection.range->end.ns)});
}

TEST_F(ExportTest, SavesTheSelectedPartThroughTheDialogs) {
    openSample();
    m_window->selection().selectSteps({{3}, {5}});
    settle();
    ExportDialog& dialog = open();
    keepDialog(dialog, u"export"_s);
    choose(dialog, u"Shardscope recording"_s);
    saveOf(dialog).click();
    auto* file = dialog.findChild<QFileDialog*>();
    ASSERT_NE(file, nullptr);
    EXPECT_THAT(file->selectedFiles().front().toStdString(), EndsWith("/sample-steps-3-5.sscope"));
    EXPECT_EQ(file->defaultSuffix(), u"sscope"_s);
    file->reject();
    dialog.reject();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);

    const QString path = at(u"part.sscope"_s);
    const QStringList told = save(u"Shardscope recording"_s, path);
    ASSERT_FALSE(told.isEmpty());
    EXPECT_TRUE(told.front().startsWith(u"Wrote "_s + path)) << told.front().toStdString();
    EXPECT_TRUE(told.front().endsWith(u" events"_s)) << told.front().toStdString();
    EXPECT_TRUE(status()->text().startsWith(told.front()));
    keepPicture(u"export-told"_s);
    EXPECT_EQ(written(), QStringList{u"part.sscope"_s});
    const auto found = storage::verifyRecording(path.toStdString());
    EXPECT_TRUE(found && found->sound());
    const auto reader = storage::openRecording(path.toStdString());
    ASSERT_TRUE(reader);
    EXPECT_EQ((*reader)->summary()->steps.front().step.value, 3);
    EXPECT_EQ((*reader)->summary()->steps.back().step.value, 5);
}

TEST_F(ExportTest, TheSelectionOrAllOfItAsOneChooses) {
    openSample();
    EXPECT_FALSE(open().findChild<QComboBox*>()->isEnabled()) << "nothing is selected";
    m_window->findChild<ExportDialog*>()->reject();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    m_window->selection().selectRanks({RankId{1}});
    settle();
    ExportDialog& dialog = open();
    auto* scope = dialog.findChild<QComboBox*>();
    ASSERT_TRUE(scope->isEnabled());
    EXPECT_THAT(scope->currentText().toStdString(), HasSubstr("rank 1"));
    choose(dialog, u"PyTorch profiler (Kineto) trace"_s);
    const int row = listOf(dialog).currentRow();
    scope->setCurrentIndex(1);
    EXPECT_EQ(listOf(dialog).currentRow(), row);
    // both ranks: a folder
    saveOf(dialog).click();
    auto* file = dialog.findChild<QFileDialog*>();
    ASSERT_NE(file, nullptr);
    EXPECT_THAT(file->selectedFiles().front().toStdString(), EndsWith("/sample-kineto"));
}

TEST_F(ExportTest, SeveralFilesAreToldByTheirFolder) {
    openSample();
    const QStringList told = save(u"PyTorch profiler (Kineto) trace"_s, at(u"traces"_s));
    ASSERT_FALSE(told.isEmpty());
    EXPECT_TRUE(told.front().startsWith(u"Wrote 2 files into "_s + at(u"traces"_s)))
        << told.front().toStdString();
    EXPECT_EQ(written(),
              (QStringList{u"traces"_s, u"traces/rank0.json.gz"_s, u"traces/rank1.json.gz"_s}));
}

/// As programs read it: a hyphen for a minus, plain spaces.
std::string plain(QString text) {
    text.replace(QChar(0x2212), u'-');
    return text.replace(QChar(0x2009), u' ').toStdString();
}

TEST_F(ExportTest, TablesAreWholeAndInTheOrderOfTheView) {
    openSample();
    m_window->showPage(page_ids::kOverview);
    settle();
    DataTable* table = nullptr;
    for (DataTable* each : m_window->page(page_ids::kOverview)->findChildren<DataTable*>())
        if (each->accessibleName() == u"Parts of a step"_s) table = each;
    ASSERT_NE(table, nullptr);
    TableModel& model = *table->table();
    for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
        model.sort(1, order);
        const QString path = at(u"parts.csv"_s);
        EXPECT_EQ(save(u"Parts of a step"_s, path).value(0), u"Wrote "_s + path);
        const Rows rows = parseCsv(contentOf(path));
        ASSERT_EQ(rows.size(), static_cast<std::size_t>(model.allRows()) + 1);
        for (std::size_t row = 1; row < rows.size(); ++row) {
            ASSERT_EQ(rows[row].size(), static_cast<std::size_t>(model.columnCount()));
            for (int column = 0; column < model.columnCount(); ++column)
                EXPECT_EQ(rows[row][static_cast<std::size_t>(column)],
                          plain(model.cellText(model.index(static_cast<int>(row) - 1, column))));
        }
    }
}

TEST_F(ExportTest, CellsOfEveryKindComeBackFromCsv) {
    DataTable table(u"Words"_s);
    const std::vector<std::string> words{"plain",     "a,b", "say \"so\"", "two\r\nlines",
                                         "one\nline", "",    "µs – Ж"};
    TableRows rows;
    for (const std::string& text : words)
        rows.push_back({TableCell::ofText(QString::fromStdString(text)),
                        TableCell::of(Duration{123'456'789'012'345})});
    TableColumn word, time;
    word.title = u"a \"word\""_s;
    time.title = u"time"_s;
    time.numeric = true;
    table.setTable({word, time}, rows);
    const Rows back =
        parseCsv(table.table()->toText(TableModel::TextFormat::kCsv).toUtf8().toStdString());
    ASSERT_EQ(back.size(), words.size() + 1);
    EXPECT_EQ(back.front(), (std::vector<std::string>{"a \"word\"", "time [ns]"}));
    for (std::size_t i = 0; i < words.size(); ++i)
        EXPECT_EQ(back[i + 1], (std::vector<std::string>{words[i], "123456789012345"}));
}

TEST_F(ExportTest, RowsThatAFilterHidesAreSaidToBeMissing) {
    openSample();
    m_window->showPage(page_ids::kOverview);
    settle();
    for (DataTable* each : m_window->page(page_ids::kOverview)->findChildren<DataTable*>())
        if (each->accessibleName() == u"Parts of a step"_s) each->table()->setFilter(u"forward"_s);
    for (const SaveOffer& offer : pageOffers(*m_window->page(page_ids::kOverview), u"run"_s, {}))
        if (offer.name.startsWith(u"Parts of a step"_s)) {
            EXPECT_THAT(offer.what.toStdString(), HasSubstr("those that pass the filter"));
        }
}

TEST_F(ExportTest, EveryPageOffersItsPictureItsTablesAndTheRecording) {
    openSample();
    // a page: how many tables it shows at least of this recording
    const std::map<QString, std::size_t> tables{
        {page_ids::kOverview, 1},      {page_ids::kTimeline, 1},  {page_ids::kMemory, 2},
        {page_ids::kCommunication, 3}, {page_ids::kOperators, 1}, {page_ids::kEfficiency, 1},
        {page_ids::kProblems, 1},      {page_ids::kDashboard, 0}};
    for (const PageEntry& entry : allPages()) {
        SCOPED_TRACE(entry.id.toStdString());
        if (entry.id == page_ids::kTimeline) {
            m_window->showPage(entry.id);
            auto& timeline = *qobject_cast<TimelinePage*>(m_window->page(entry.id));
            QTest::keyClick(&timeline.canvas(), Qt::Key_B);  // its tables are folded at first
            settle();
        }
        const auto offers = offersOf(entry.id);
        std::set<QString> names;
        std::size_t found = 0;
        for (const SaveOffer& offer : offers) {
            EXPECT_FALSE(offer.name.isEmpty());
            EXPECT_TRUE(names.insert(offer.name).second) << "twice " << offer.name.toStdString();
            if (!offer.refusal.isEmpty()) continue;
            EXPECT_FALSE(offer.what.isEmpty()) << offer.name.toStdString();
            EXPECT_THAT(offer.stem.toStdString(), StartsWith("run-" + entry.id.toStdString()));
            const SaveJob job = offer.job(at(offer.stem + u'.' + offer.ending));
            ASSERT_TRUE(job) << offer.name.toStdString();
            const auto account = job(unwatched());
            ASSERT_TRUE(account) << account.error().message;
            if (offer.name.endsWith(u"(CSV)"_s) && offer.name != u"Problems (CSV)"_s) {
                ++found;
                EXPECT_GT(
                    parseCsv(contentOf(QString::fromStdString(account->files.front()))).size(), 1U);
            }
        }
        for (const char* picture : {"PNG", "SVG", "PDF"})
            EXPECT_EQ(names.count(u"Picture (%1)"_s.arg(QLatin1String(picture))), 1U);
        if (tables.count(entry.id) > 0) {
            EXPECT_GE(found, tables.at(entry.id));
        }
    }
    for (const SaveOffer& offer : recordingOffersNow())
        EXPECT_TRUE(offer.refusal.isEmpty() ||
                    offer.refusal.startsWith(u"the recording has no "_s));
}

TEST_F(ExportTest, WithoutARecordingOnlyThePageCanBeSaved) {
    for (const PageEntry& entry : allPages()) {
        SCOPED_TRACE(entry.id.toStdString());
        for (const SaveOffer& offer : offersOf(entry.id))
            EXPECT_EQ(offer.refusal.isEmpty(), offer.name.startsWith(u"Picture"_s))
                << offer.name.toStdString();
    }
    for (const SaveOffer& offer : recordingOffersNow())
        EXPECT_EQ(offer.refusal, u"no recording is open"_s);
    ExportDialog& dialog = open();
    EXPECT_TRUE(saveOf(dialog).isEnabled());
    choose(dialog, u"Perfetto trace"_s);
    EXPECT_FALSE(saveOf(dialog).isEnabled());
    bool told = false;
    for (const QLabel* label : dialog.findChildren<QLabel*>())
        told = told || label->text() == u"Cannot be saved: no recording is open"_s;
    EXPECT_TRUE(told);
    QTest::keyClick(&listOf(dialog), Qt::Key_Return);
    EXPECT_EQ(dialog.findChild<QFileDialog*>(), nullptr);
    keepDialog(dialog, u"export-nothing"_s);
}

TEST_F(ExportTest, OfATraceWhatItDoesNotHoldIsRefusedInWords) {
    const QString path = m_folder.filePath(u"small.pt.trace.json"_s);
    writeSmallTrace(path.toStdString());
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(path);
    ASSERT_TRUE(opened.wait(10'000));
    settle();
    EXPECT_EQ(savedName(recording()), u"small.pt.trace"_s);
    EXPECT_EQ(savedFolder(recording()), m_folder.path());
    std::set<QString> refused;
    for (const SaveOffer& offer : recordingOffersNow()) {
        if (offer.refusal.isEmpty()) {
            const auto account = offer.job(at(offer.stem + u'.' + offer.ending))(unwatched());
            EXPECT_TRUE(account) << account.error().message;
        } else {
            refused.insert(offer.name);
        }
    }
    EXPECT_TRUE(refused.contains(u"PyTorch memory snapshot"_s));
    EXPECT_TRUE(refused.contains(u"Memory events (CSV)"_s));
    EXPECT_TRUE(refused.contains(u"Counters (CSV)"_s));
    EXPECT_FALSE(refused.contains(u"Kernels (CSV)"_s));
}

TEST_F(ExportTest, WhatIsBeingImportedWaits) {
    openSample();
    auto importing = std::make_shared<OpenRecording>(*recording());
    importing->part = importing->path + u".part"_s;
    for (const SaveOffer& offer : recordingOffers(importing, {}, {}))
        EXPECT_THAT(offer.refusal.toStdString(), HasSubstr("still being imported"));
}

TEST_F(ExportTest, ARecordingThatIsNotFinishedIsReadAsItIs) {
    openSample({.finalise = false});
    expectAsTheCommandLine({}, {});
}

TEST_F(ExportTest, HowFarItIsIsOfThePartThatIsWritten) {
    openSample();
    Selection selection;
    selection.steps = StepSpan{{3}, {4}};
    selection.ranks = {RankId{1}};
    for (const SaveOffer& offer : recordingOffersNow(selection)) {
        if (offer.name != u"Perfetto trace"_s && offer.name != u"Speedscope file"_s) continue;
        double last = 0;
        const auto tell = [&](double share) {
            EXPECT_GE(share, last) << offer.name.toStdString();
            EXPECT_LE(share, 1) << offer.name.toStdString();
            last = share;
            return true;
        };
        ASSERT_TRUE(offer.job(at(offer.stem + u'.' + offer.ending))({tell, {}}));
        EXPECT_GT(last, 0.6) << offer.name.toStdString();
    }
}

TEST_F(ExportTest, CancellingLeavesNothing) {
    openSample({.gpu = true});
    for (const SaveOffer& offer : recordingOffersNow()) {
        if (!offer.refusal.isEmpty()) continue;
        SCOPED_TRACE(offer.name.toStdString());
        const QString path = at(offer.stem + u'.' + offer.ending);
        const auto account = offer.job(path)({[](double) { return false; }, {}});
        ASSERT_FALSE(account);
        EXPECT_EQ(account.error().code, ErrorCode::kCancelled) << account.error().message;
        EXPECT_THAT(written(), IsEmpty());
        storage::Generations generations;
        const storage::Generation wanted = generations.next();
        generations.supersede();
        const auto late = offer.job(path)({[](double) { return true; }, wanted});
        ASSERT_FALSE(late);
        EXPECT_EQ(late.error().code, ErrorCode::kCancelled) << late.error().message;
        EXPECT_THAT(written(), IsEmpty());
    }
}

TEST_F(ExportTest, ErrorsSayWhatIsWrongAndLeaveNothing) {
    openSample();
    for (const SaveOffer& offer : recordingOffersNow()) {
        if (!offer.refusal.isEmpty()) continue;
        const auto account =
            offer.job(m_folder.filePath(u"no/such/x."_s + offer.ending))(unwatched());
        ASSERT_FALSE(account) << offer.name.toStdString();
        EXPECT_THAT(account.error().message, HasSubstr("cannot write"));
        EXPECT_EQ(account.error().message.find("--"), std::string::npos)
            << account.error().message << " is of the command line";
    }
    const QStringList told = save(u"Picture (SVG)"_s, m_folder.filePath(u"no/such/x.svg"_s));
    ASSERT_EQ(told.size(), 1);
    EXPECT_THAT(told.front().toStdString(), HasSubstr("does not exist, make it first"));
    EXPECT_EQ(status()->text(), told.front());
    EXPECT_FALSE(QDir(m_folder.filePath(u"no"_s)).exists());
}

TEST_F(ExportTest, NeverReplacesWhatItReadsOrWhatIsNoneOfItsKind) {
    openSample();
    const std::string before = contentOf(recording()->path);
    for (const SaveOffer& offer : recordingOffersNow()) {
        if (offer.refusal.isEmpty()) {
            EXPECT_FALSE(offer.job(recording()->path)(unwatched())) << offer.name.toStdString();
        }
    }
    for (const PageEntry& entry : allPages())
        for (const SaveOffer& offer : offersOf(entry.id))
            if (offer.refusal.isEmpty()) {
                EXPECT_FALSE(offer.job(recording()->path)(unwatched())) << offer.name.toStdString();
            }
    EXPECT_TRUE(contentOf(recording()->path) == before);
    // what it wrote itself before, it replaces: the file dialog has asked
    for (int i = 0; i < 2; ++i)
        EXPECT_TRUE(save(u"Perfetto trace"_s, at(u"a.pftrace"_s)).value(0).startsWith(u"Wrote"_s));
}

/// A job that goes on until it is let, and sees whether it is still wanted.
class Held {
public:
    SaveJob job() {
        return [this](const SaveProgress& progress) -> Result<interchange::ExportAccount> {
            m_began = true;
            while (!m_isLet && progress.tell(0.4))
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (!progress.tell(1)) return failure(ErrorCode::kCancelled, "");
            return interchange::ExportAccount{12'345, {"/some/file"}, {"no colours"}};
        };
    }
    void let() { m_isLet = true; }
    [[nodiscard]] bool began() const { return m_began; }

private:
    std::atomic<bool> m_began = false, m_isLet = false;
};

TEST_F(ExportTest, ShowsHowFarItIsAndCanBeCancelled) {
    openSample();
    Held held;
    saver().save(held.job());
    auto* progress = m_window->findChild<QProgressBar*>();
    ASSERT_TRUE(QTest::qWaitFor([&] { return progress->value() == 40; }, 10'000));
    EXPECT_TRUE(progress->isVisible());
    EXPECT_THAT(progress->text().toStdString(), StartsWith("Saving"));
    keepPicture(u"export-saving"_s);
    QPushButton* cancel = nullptr;
    for (QPushButton* each : m_window->findChildren<QPushButton*>())
        if (each->accessibleName() == u"Cancel the work in the background"_s) cancel = each;
    ASSERT_NE(cancel, nullptr);
    QSignalSpy ended(&saver(), &FileSaver::ended);
    cancel->click();
    ASSERT_TRUE(!ended.isEmpty() || ended.wait(10'000));
    EXPECT_EQ(status()->text(), u"Cancelled; nothing was written"_s);
    EXPECT_FALSE(progress->isVisible());
    EXPECT_FALSE(saver().isGoing());
    // and the next is not cancelled with it
    held.let();
    saver().save(held.job());
    ASSERT_TRUE(ended.wait(10'000));
    EXPECT_EQ(status()->text(), u"Wrote /some/file: 12,345 events; no colours"_s);
    EXPECT_EQ(status()->toolTip(), u"Wrote /some/file: 12,345 events\nno colours"_s);
}

TEST_F(ExportTest, WhatIsSaidOfARecordingThatGrowsDoesNotHideHowItEnded) {
    openSample();
    Held held;
    held.let();
    QSignalSpy ended(&saver(), &FileSaver::ended);
    saver().save(held.job());
    ASSERT_TRUE(ended.wait(10'000));
    Q_EMIT m_window->loader().grown(recording());
    EXPECT_THAT(status()->text().toStdString(), StartsWith("Wrote"));
    Q_EMIT m_window->loader().questionFailed(u"it cannot be told"_s);
    EXPECT_EQ(status()->text(), u"it cannot be told"_s);
}

TEST_F(ExportTest, SeveralAreWrittenOneAfterTheOther) {
    Held first, second;
    QSignalSpy ended(&saver(), &FileSaver::ended);
    saver().save(first.job());
    saver().save(second.job());
    ASSERT_TRUE(QTest::qWaitFor([&] { return first.began(); }, 10'000));
    EXPECT_FALSE(second.began());
    first.let();
    ASSERT_TRUE(QTest::qWaitFor([&] { return second.began(); }, 10'000));
    EXPECT_TRUE(saver().isGoing());
    second.let();
    ASSERT_TRUE(QTest::qWaitFor([&] { return ended.size() == 2; }, 10'000));
    EXPECT_FALSE(saver().isGoing());
}

TEST_F(ExportTest, ClosingTheWindowMeanwhileLeavesNothingHalfWritten) {
    openSample({.steps = 60});
    for (const SaveOffer& offer : recordingOffersNow())
        if (offer.refusal.isEmpty()) saver().save(offer.job(at(offer.stem + u'.' + offer.ending)));
    m_window->close();
    m_window.reset();
    for (const QString& name : written())
        EXPECT_FALSE(name.contains(u"part"_s)) << name.toStdString();
    if (const QString whole = at(u"sample-copy.sscope"_s); QFile::exists(whole)) {
        const auto found = storage::verifyRecording(whole.toStdString());
        EXPECT_TRUE(found && found->sound());
    }
}

TEST_F(ExportTest, TheWindowClosesOnceWhatIsBeingSavedIsWhole) {
    openSample();
    Held held;
    saver().save(held.job());
    ASSERT_TRUE(QTest::qWaitFor([&] { return held.began(); }, 10'000));
    EXPECT_FALSE(m_window->close());
    EXPECT_TRUE(m_window->isVisible());
    EXPECT_THAT(status()->text().toStdString(), HasSubstr("Close again to cancel"));
    held.let();
    EXPECT_TRUE(QTest::qWaitFor([&] { return !m_window->isVisible(); }, 10'000));
}

TEST_F(ExportTest, ClosingASecondTimeCancelsWhatIsBeingSaved) {
    openSample();
    Held held;
    saver().save(held.job());
    EXPECT_FALSE(m_window->close());
    EXPECT_TRUE(m_window->close());
    EXPECT_FALSE(m_window->isVisible());
}

TEST_F(ExportTest, APictureHoldsAllOfThePageAndSaysOfWhatItIs) {
    openSample();
    m_window->resize(1000, 600);
    m_window->showPage(page_ids::kOverview);
    settle();
    Page* page = m_window->page(page_ids::kOverview);
    const DrawnPicture drawn = page->drawn({}, false);
    EXPECT_EQ(drawn.size.width(), page->width());
    EXPECT_GT(drawn.size.height(), page->height()) << "what one would scroll to as well";
    EXPECT_THAT(drawn.title.toStdString(), HasSubstr("sample"));
    EXPECT_THAT(drawn.title.toStdString(), HasSubstr("ranks all"));
    const QString path = at(u"whole.png"_s);
    ASSERT_TRUE(writePicture(drawn, path, papers().constFirst(), false));
    const QImage picture(path);
    const QRgb ground = picture.pixel(1, picture.height() - 1);
    int drawnBelow = 0;
    for (int y = page->height() + 40; y < picture.height(); ++y)
        for (int x = 0; x < picture.width(); x += 3) drawnBelow += picture.pixel(x, y) != ground;
    EXPECT_GT(drawnBelow, 100);
    if (const QString folder = qEnvironmentVariable("SHARDSCOPE_TEST_PICTURES"); !folder.isEmpty())
        picture.save(folder + u"/export-whole.png"_s);
}

/// The dialog that named them has asked; but not about these.
TEST_F(ExportTest, ASavedTextReplacesNoOtherKindOfFile) {
    const QString victim = at(u"victim.md"_s), link = at(u"link.csv"_s), fifo = at(u"fifo.csv"_s);
    ASSERT_TRUE(writeText(victim, "precious"));
    ASSERT_TRUE(QFile::link(victim, link));
    ASSERT_EQ(::mkfifo(fifo.toLocal8Bit().constData(), 0600), 0);
    EXPECT_FALSE(writeText(link, "a,b"));
    EXPECT_FALSE(writeText(fifo, "a,b"));
    EXPECT_FALSE(writeText(u"/dev/null"_s, "a,b"));
    QFile file(victim);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_EQ(file.readAll(), "precious");
    EXPECT_TRUE(writeText(victim, "other")) << "a regular file is replaced";
}

TEST_F(ExportTest, APageThatGoesTakesItsOffersWithIt) {
    openSample();
    auto offers = offersOf(page_ids::kOverview);
    m_window.reset();
    EXPECT_FALSE(offers.front().job(at(u"x.png"_s)));
    EXPECT_THAT(written(), IsEmpty());
}

TEST_F(ExportTest, KeysChooseAndClose) {
    openSample();
    QTest::keyClick(m_window.get(), Qt::Key_E, Qt::ControlModifier);
    auto* dialog = m_window->findChild<ExportDialog*>();
    ASSERT_NE(dialog, nullptr);
    QListWidget& list = listOf(*dialog);
    EXPECT_EQ(list.currentItem()->text(), u"Picture (PNG)"_s);
    // from row to row over the headings
    for (int i = 0; i < list.count(); ++i) {
        QTest::keyClick(&list, Qt::Key_Down);
        EXPECT_TRUE(list.currentItem()->flags().testFlag(Qt::ItemIsEnabled));
    }
    EXPECT_EQ(list.currentRow(), list.count() - 1) << "the last";
    QTest::keyClick(&list, Qt::Key_Home);
    QTest::keyClick(&list, Qt::Key_Down);
    for (int i = 0; i < list.count(); ++i) {
        const QListWidgetItem& item = *list.item(i);
        if (item.flags().testFlag(Qt::ItemIsEnabled)) {
            EXPECT_THAT(item.data(Qt::AccessibleTextRole).toString().toStdString(),
                        StartsWith(item.text().toStdString() + ". "));
        }
    }
    QTest::keyClick(&list, Qt::Key_Return);
    auto* file = dialog->findChild<QFileDialog*>();
    ASSERT_NE(file, nullptr);
    QTest::keyClick(file, Qt::Key_Escape);
    EXPECT_TRUE(dialog->isVisible()) << "back to the list";
    QTest::keyClick(dialog, Qt::Key_Escape);
    EXPECT_FALSE(dialog->isVisible());
}

TEST_F(ExportTest, EveryPageCanBeKeptAsItIsSeen) {
    openSample();
    for (const PageEntry& entry : allPages())
        for (const SaveOffer& offer : offersOf(entry.id)) {
            if (offer.name != u"Picture (SVG)"_s) continue;
            const QString path = at(entry.id + u".svg"_s);
            ASSERT_TRUE(offer.job(path)(unwatched()));
            EXPECT_THAT(contentOf(path), HasSubstr("<text")) << entry.id.toStdString();
        }
}

TEST_F(ExportTest, APictureIsWrittenBehindTheWindow) {
    openSample();
    const QString path = at(u"kept.png"_s);
    EXPECT_EQ(save(u"Picture (PNG)"_s, path), QStringList{u"Wrote "_s + path});
    EXPECT_FALSE(QImage(path).isNull());
}

TEST_F(ExportTest, TheProblemsPageOpensTheSameDialog) {
    openSample({.dropGathersOfStep = 4});
    m_window->showPage(page_ids::kProblems);
    settle();
    Q_EMIT m_window->page(page_ids::kProblems)->exportRequested();
    ASSERT_NE(m_window->findChild<ExportDialog*>(), nullptr);
    keepDialog(*m_window->findChild<ExportDialog*>(), u"export-problems"_s);
    m_window->findChild<ExportDialog*>()->reject();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    const QString path = at(u"problems.md"_s);
    EXPECT_EQ(save(u"Problems (Markdown)"_s, path), QStringList{u"Wrote "_s + path});
    const auto& page = *qobject_cast<ProblemsPage*>(m_window->page(page_ids::kProblems));
    EXPECT_EQ(contentOf(path), page.texts().front().text.toStdString());
    EXPECT_THAT(save(u"Problems (CSV)"_s, at(u"problems.txt"_s)).value(0).toStdString(),
                HasSubstr("a name that ends in .csv"));
}

}  // namespace
}  // namespace shardscope::desktop
