// Random walks over the window: whatever one does in whatever order, it neither crashes nor stops
// answering. A few of them here; SHARDSCOPE_WALKS sets how many, for a run under a sanitizer.
#include "app/desktop/pages/compare/compare_page.h"
#include "app/desktop/pages/compare/step_timelines.h"
#include "app/desktop/pages/pages.h"
#include "app/desktop/pages/sql/sql_page.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "tests/app/desktop/double_click.h"
#include "tests/app/desktop/growing_recording.h"
#include "tests/app/desktop/small_trace.h"
#include "tests/app/desktop/window_fixture.h"

#include <signal.h>

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QPointer>
#include <QTimer>
#include <QWheelEvent>
#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kStepsOfAWalk = 60;

int walks() {
    bool isSet = false;
    const int wanted = qEnvironmentVariableIntValue("SHARDSCOPE_WALKS", &isSet);
    return isSet ? wanted : 4;
}

class Walk : public WindowTest {
protected:
    void SetUp() override {
        ASSERT_NO_FATAL_FAILURE(WindowTest::SetUp());
        m_window->setRecorder(QStringLiteral(SHARDSCOPE_FAKE_RECORDER));
    }
    void TearDown() override {
        m_window->session().kill();
        EXPECT_TRUE(QTest::qWaitFor([this] { return !m_window->session().isGoing(); }, 20'000));
    }

    int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(m_random); }
    template <class T>
    const T& one(const std::vector<T>& of) {
        return of[static_cast<std::size_t>(pick(static_cast<int>(of.size())))];
    }
    bool chance(double share) { return std::bernoulli_distribution(share)(m_random); }

    /// A file of one of many kinds, made once.
    QString file() {
        const int kind = pick(9);
        const QString path = m_folder.filePath(
            u"%1.%2"_s.arg(kind).arg(kind == 0 ? u"pt.trace.json"_s : u"sscope"_s));
        if (QFile::exists(path)) return path;
        if (kind == 0) {
            writeSmallTrace(path.toStdString());
            return path;
        }
        test::SampleOptions options;
        if (kind == 1) options.ranks = 1, options.steps = 3;
        if (kind == 2) options.ranks = 20, options.steps = 3;
        if (kind == 3) options.gpu = true;
        if (kind == 4) options.finalise = false;
        if (kind == 5) options.memory = false, options.operators = false;
        if (kind == 6) options.dropped = 70, options.dropGathersOfStep = 4;
        if (kind == 7) options.ranks = 4, options.ranksPerHost = 2;
        EXPECT_TRUE(test::writeSampleRecording(path.toStdString(), options));
        if (kind == 8) QFile::resize(path, QFile(path).size() / 2);
        return path;
    }
    QPoint placeIn(const QWidget& widget) {
        return {pick(std::max(1, widget.width())), pick(std::max(1, widget.height()))};
    }
    /// The window, or that of a page which has its own.
    QWidget* anyWindow() {
        std::vector<QWidget*> windows{m_window.get()};
        for (const QString& id : m_window->area().apart())
            if (QWidget* of = m_window->page(id)->window(); of != m_window.get())
                windows.push_back(of);
        return chance(0.7) ? windows.front() : one(windows);
    }
    /// A widget that is seen; the deepest at a random place.
    QWidget* widget() {
        QWidget* window = anyWindow();
        QWidget* found = window->childAt(placeIn(*window));
        return found != nullptr ? found : window;
    }

    void click() {
        QWidget* at = widget();
        // neither starts a process nor asks the system for a file
        for (const QWidget* of = at; of != nullptr; of = of->parentWidget())
            if (const auto* button = qobject_cast<const QAbstractButton*>(of))
                if (leadsOutside(*button)) return;
        const QPoint place = placeIn(*at);
        const auto button = chance(0.1) ? Qt::MiddleButton : Qt::LeftButton;
        if (chance(0.15))
            doubleClick(at, place, button);
        else
            QTest::mouseClick(at, button, chance(0.2) ? Qt::ShiftModifier : Qt::NoModifier, place);
    }
    static bool leadsOutside(const QAbstractButton& button) {
        const QString text = (button.text() + button.toolTip()).toLower();
        for (const char* word : {"open", "start", "run", "import", "host", "sample", "folder",
                                 "save", "locate", "kill", "stop"})
            if (text.contains(QLatin1StringView(word))) return true;
        return false;
    }
    void drag() {
        QPointer<QWidget> at = widget();
        const auto keys = chance(0.3) ? Qt::ShiftModifier : Qt::NoModifier;
        QTest::mousePress(at, Qt::LeftButton, keys, placeIn(*at));
        if (at) QTest::mouseMove(at, placeIn(*at));
        if (at) QTest::mouseRelease(at, Qt::LeftButton, keys, placeIn(*at));
    }
    void wheel() {
        QWidget* at = widget();
        const QPointF place = placeIn(*at);
        const QPoint turn(0, chance(0.5) ? 120 : -120);
        QWheelEvent event(place, at->mapToGlobal(place), {}, turn, Qt::NoButton,
                          chance(0.6) ? Qt::ControlModifier : Qt::NoModifier, Qt::NoScrollPhase,
                          false);
        QApplication::sendEvent(at, &event);
    }
    /// Where keys go: what has the focus, if it is the window's.
    QWidget* typedInto() {
        QWidget* focus = QApplication::focusWidget();
        return focus != nullptr && m_window->isAncestorOf(focus) ? focus : m_window.get();
    }
    void key() { press(*typedInto()); }
    void press(QWidget& into) {
        static const std::vector<Qt::Key> keys{Qt::Key_W,           Qt::Key_A,
                                               Qt::Key_S,           Qt::Key_D,
                                               Qt::Key_F,           Qt::Key_Z,
                                               Qt::Key_Period,      Qt::Key_Comma,
                                               Qt::Key_N,           Qt::Key_J,
                                               Qt::Key_B,           Qt::Key_Question,
                                               Qt::Key_BracketLeft, Qt::Key_BracketRight,
                                               Qt::Key_M,           Qt::Key_E,
                                               Qt::Key_T,           Qt::Key_K,
                                               Qt::Key_P,           Qt::Key_H,
                                               Qt::Key_R,           Qt::Key_C,
                                               Qt::Key_Escape,      Qt::Key_Tab,
                                               Qt::Key_Return,      Qt::Key_Up,
                                               Qt::Key_Down,        Qt::Key_Left,
                                               Qt::Key_Right,       Qt::Key_F3,
                                               Qt::Key_Slash,       Qt::Key_1,
                                               Qt::Key_5,           Qt::Key_9,
                                               Qt::Key_PageUp,      Qt::Key_PageDown,
                                               Qt::Key_Backspace,   Qt::Key_Home,
                                               Qt::Key_End,         Qt::Key_Delete,
                                               Qt::Key_Space};
        QTest::keyClick(&into, one(keys), chance(0.25) ? Qt::ShiftModifier : Qt::NoModifier);
    }
    void chord() {
        static const std::vector<QString> keys{
            u"Alt+Left"_s, u"Alt+Right"_s, u"Ctrl+T"_s, u"Ctrl+Backspace"_s, u"Ctrl+F"_s,
            u"Ctrl+C"_s, u"Ctrl+P"_s, u"Alt+Up"_s, u"Alt+Down"_s, u"Ctrl+E"_s, u"F5"_s, u"F6"_s,
            u"F7"_s, u"F8"_s, u"F9"_s, u"Alt+F9"_s, u"F10"_s,
            // from step to step, from the slowest on
            u"Ctrl+PgDown"_s, u"Ctrl+PgUp"_s, u"Ctrl+Shift+PgDown"_s, u"Ctrl+Shift+PgUp"_s,
            u"Ctrl+Up"_s, u"Ctrl+Down"_s, u"Ctrl+Left"_s, u"Ctrl+Right"_s, u"Ctrl+Return"_s,
            u"Ctrl+Space"_s, u"Ctrl+Shift+P"_s, u"Ctrl+1"_s, u"Ctrl+Shift+1"_s};
        QTest::keySequence(typedInto(), QKeySequence(one(keys)));
    }
    void menu() {
        QWidget* at = widget();
        const QPoint place = placeIn(*at);
        QContextMenuEvent event(QContextMenuEvent::Mouse, place, at->mapToGlobal(place));
        QApplication::sendEvent(at, &event);
        auto* opened = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        if (opened == nullptr) return;
        const auto entries = opened->actions();
        QPointer<QMenu> still = opened;
        if (!entries.isEmpty()) {
            QAction* entry = entries[pick(static_cast<int>(entries.size()))];
            if (entry->menu() == nullptr && entry->isEnabled()) entry->trigger();
        }
        if (still) still->close();
    }
    void text() {
        QWidget* focus = QApplication::focusWidget();
        if (qobject_cast<QLineEdit*>(focus) == nullptr &&
            qobject_cast<SqlEditor*>(focus) == nullptr)
            return;
        static const std::vector<QString> words{u"aten"_s, u"rank 1"_s, u"("_s, u"step"_s, u""_s};
        QTest::keyClicks(focus, one(words));
    }
    void choose() {
        const auto boxes = m_window->findChildren<QComboBox*>();
        std::vector<QComboBox*> seen;
        for (QComboBox* box : boxes)
            if (box->isVisible() && box->count() > 0) seen.push_back(box);
        if (!seen.empty()) {
            QComboBox* box = one(seen);
            box->setCurrentIndex(pick(box->count()));
        }
    }
    void select() {
        const RecordingPtr recording = m_window->loader().recording();
        if (!recording) return;
        Selection wanted;
        const TimeRange bounds = recording->bounds();
        if (chance(0.5) && bounds.duration().ns > 2) {
            std::uniform_int_distribution<std::int64_t> at(bounds.begin.ns, bounds.end.ns);
            const auto [begin, end] = std::minmax({at(m_random), at(m_random)});
            wanted.range = TimeRange{{begin}, {end}};
        } else if (chance(0.5)) {
            const int first = pick(12);
            wanted.steps = StepSpan{{first}, {first + pick(5)}};
        }
        if (chance(0.4)) wanted.ranks = {{static_cast<std::uint32_t>(pick(4))}};
        m_window->selection().select(wanted);
    }
    void resize() { m_window->resize(700 + pick(1300), 500 + pick(700)); }
    void page() {
        const auto& pages = allPages();
        m_window->showPage(
            pages[static_cast<std::size_t>(pick(static_cast<int>(pages.size())))].id);
    }
    /// Some page to some place.
    void place() {
        static const std::vector<PagePlace> places{PagePlace::kMiddle, PagePlace::kRight,
                                                   PagePlace::kBelow, PagePlace::kWindow};
        const auto& pages = allPages();
        const QString id = pages[static_cast<std::size_t>(pick(static_cast<int>(pages.size())))].id;
        m_window->area().move(id, one(places), 0.1 + 0.1 * pick(8));
    }
    /// Kept, and taken up again where everything is elsewhere.
    void layOut() {
        if (!m_layout || chance(0.5))
            m_layout = m_window->area().pageLayout();
        else
            m_window->area().apply(*m_layout);
    }
    /// One of the palette, which has those of every page.
    void command() {
        static const QStringList outside{u"open"_s, u"open.folder"_s, u"open.remote"_s, u"quit"_s};
        std::vector<QAction*> able;
        for (const Command& each : m_window->commands().all())
            if (each.action != nullptr && each.action->isEnabled() && !outside.contains(each.id))
                able.push_back(each.action);
        one(able)->trigger();
    }
    /// Statements that are right, wrong, long, or not asked for to the end.
    void ask() {
        static const std::vector<QString> statements{
            u"SELECT a FROM nowhere"_s,
            u"DELETE FROM steps"_s,
            u"SELECT"_s,
            u"SELECT step, max(end_ns - start_ns) AS ns FROM steps GROUP BY step"_s,
            u"SELECT * FROM operators WHERE start_ns >= :begin_ns AND start_ns < :end_ns"_s,
            u"SELECT 1, NULL, 'ä', x'00', 1e308 * 10, -9223372036854775808"_s,
            u"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) "
            "SELECT i, i % 7 AS rest FROM n"_s};
        m_window->showPage(page_ids::kSql);
        auto& page = *qobject_cast<SqlPage*>(m_window->page(page_ids::kSql));
        if (const Queries examples = exampleQueries(); chance(0.4))
            page.editor().setPlainText(
                std::next(examples.begin(), pick(static_cast<int>(examples.size())))->second);
        else
            page.editor().setPlainText(one(statements));
        page.run();
    }
    /// With others, also of other work; their steps on one axis.
    void compare() {
        if (chance(0.1)) return m_window->compared().set({});
        if (m_window->compared().files().size() < 3 && chance(0.5))
            m_window->compared().add(file());
        m_window->showPage(page_ids::kCompare);
        if (chance(0.5)) waitForAnswers();
        auto& page = *qobject_cast<ComparePage*>(m_window->page(page_ids::kCompare));
        auto& steps = *page.findChild<StepTimelines*>();
        if (chance(0.2)) page.swap();
        if (!steps.isVisible()) return;
        for (int i = pick(6); i > 0; --i) {
            if (chance(0.3))
                steps.turn(chance(0.5));
            else
                press(steps.canvas(chance(0.5)));
        }
    }
    /// A recording that is written while it is looked at, and followed; or its end.
    void grow() {
        if (m_growing && chance(0.3)) {
            m_growing->finish();
            m_growing.reset();
        } else if (m_growing) {
            m_growing->write();
        } else {
            const QString path = m_folder.filePath(u"growing%1.sscope"_s.arg(m_grown++));
            m_growing.emplace(path.toStdString());
            m_window->openFile(path);
        }
        m_window->loader().lookNow();
    }
    /// Of a recorder that trains nothing: begun, ended, let go.
    void run() {
        RecorderSession& session = m_window->session();
        if (!session.isGoing()) {
            static const std::vector<std::string> ways{"steps", "endless", "endless", "fail",
                                                       "garbage"};
            run::RunConfig config;
            config.data = one(ways);
            config.output =
                (chance(0.6) ? file() : m_folder.filePath(u"none.sscope"_s)).toStdString();
            return m_window->startRun(config);
        }
        const int way = pick(4);
        if (way == 0) session.stop();
        if (way == 1) session.kill();
        if (way == 2) session.capture(chance(0.5) ? u"full"_s : QString());
        if (way == 3) letGo();
    }
    void letGo() {
        RecorderSession& session = m_window->session();
        if (!session.canDetach()) return session.kill();
        const auto recorder = static_cast<pid_t>(session.processId());
        session.detach();
        ::kill(recorder, SIGKILL);  // it would go on
    }
    /// The window closes, whatever it is at, and another one opens.
    void renew() {
        const auto recorder = static_cast<pid_t>(m_window->session().processId());
        const QString answer = chance(0.5) ? u"Let it go on"_s : u"Stop the run"_s;
        m_window->close();
        for (const auto* question : m_window->findChildren<QMessageBox*>())
            for (QAbstractButton* each : question->buttons())
                if (question->isVisible() && each->text().remove(u'&') == answer) each->click();
        const bool isLetGo = recorder > 0 && m_window->session().processId() == 0;
        m_window.reset();
        if (isLetGo) ::kill(recorder, SIGKILL);
        SetUp();
    }
    /// That each question is answered: of the loader, and of each page that is seen.
    void waitForAnswers() {
        if (QTest::qWaitFor([this] { return m_window->isIdle(); }, 120'000)) return;
        ADD_FAILURE() << "no answer, loader idle: " << m_window->loader().isIdle();
        for (const QString& id : m_window->area().seen())
            if (m_window->page(id)->isReading()) ADD_FAILURE() << id.toStdString() << " reads";
    }
    void step() {
        using Way = void (Walk::*)();
        static const std::vector<std::pair<Way, int>> ways{
            {&Walk::click, 10}, {&Walk::drag, 6},    {&Walk::wheel, 6}, {&Walk::key, 12},
            {&Walk::chord, 6},  {&Walk::menu, 3},    {&Walk::text, 3},  {&Walk::choose, 2},
            {&Walk::select, 3}, {&Walk::resize, 1},  {&Walk::page, 6},  {&Walk::place, 2},
            {&Walk::layOut, 1}, {&Walk::command, 4}, {&Walk::ask, 2},   {&Walk::compare, 3},
            {&Walk::grow, 2},   {&Walk::run, 2}};
        int all = 0;
        for (const auto& [way, weight] : ways) all += weight;
        int place = pick(all);
        for (const auto& [way, weight] : ways) {
            if (place < weight) return (this->*way)();
            place -= weight;
        }
    }

    std::mt19937 m_random;
    std::optional<PageLayout> m_layout;
    std::optional<GrowingRecording> m_growing;
    int m_grown = 0;
};

TEST_F(Walk, NeverEndsBadly) {
    // some menus and dialogs have an event loop of their own
    QTimer closer;
    QObject::connect(&closer, &QTimer::timeout, [] {
        if (QWidget* popup = QApplication::activePopupWidget()) popup->close();
        if (QWidget* modal = QApplication::activeModalWidget()) modal->close();
    });
    closer.start(20);
    const int first = qEnvironmentVariableIntValue("SHARDSCOPE_FIRST_WALK");
    for (int walk = first; walk < first + walks(); ++walk) {
        SCOPED_TRACE("walk " + std::to_string(walk));
        m_random.seed(static_cast<unsigned>(walk));
        RecordProperty("walk", walk);
        if (qEnvironmentVariableIsSet("SHARDSCOPE_WALKS")) std::fprintf(stderr, "walk %d\n", walk);
        if (chance(0.3)) renew();
        m_window->openFile(file());
        if (chance(0.7)) settle();
        for (int i = 0; i < kStepsOfAWalk; ++i) {
            step();
            if (chance(0.3)) QTest::qWait(pick(30));
            if (chance(0.03)) m_window->openFile(file());  // while another may be on its way
        }
        // it still answers
        settle();
        for (const PageEntry& entry : allPages()) {
            m_window->showPage(entry.id);
            EXPECT_EQ(m_window->currentPage(), entry.id);
            waitForAnswers();
        }
        settle();
        EXPECT_FALSE(m_window->grab().isNull());
    }
}

}  // namespace
}  // namespace shardscope::desktop
