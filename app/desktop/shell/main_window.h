// The window: composes rail, bars and pages, and connects them to loader and session. Decides
// nothing about what pages show. GUI thread; owns everything in it.
#pragma once

#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/pages/page.h"
#include "app/desktop/session/recorder_session.h"
#include "app/desktop/shell/commands.h"
#include "app/desktop/shell/export_dialog.h"
#include "app/desktop/shell/page_area.h"
#include "app/desktop/shell/user_folders.h"
#include "app/desktop/shell/view_keeper.h"
#include "app/desktop/shell/window_runs.h"

#include <QWidget>

namespace shardscope::desktop {

class ConnectionBar;
class Rail;
class StatusLine;
class TopBar;

class MainWindow : public QWidget {
    Q_OBJECT

public:
    /// `remembers`: whether opened files and geometry are written to the user's folders.
    MainWindow(const UserFolders& folders, bool remembers, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Or "ssh://HOST/PATH".
    void openFile(const QString& path);
    /// Recordings, traces of other tools, or a folder with one a rank.
    void openFiles(const QStringList& paths);
    void showPage(const QString& id);
    [[nodiscard]] QString currentPage() const { return m_area->current(); }
    /// `arguments`: what gives `config`, where they are not run::toArguments(config).
    void startRun(const run::RunConfig& config, const QStringList& arguments = {});
    void useTheme(bool dark);
    [[nodiscard]] bool isDark() const;
    /// Program to start instead of the one beside this one.
    void setRecorder(const QString& program);
    /// What reaches other hosts; empty: ssh.
    void setSshCommand(const QString& command);

    [[nodiscard]] RecordingLoader& loader() { return m_loader; }
    [[nodiscard]] SelectionModel& selection() { return m_selection; }
    [[nodiscard]] RecorderSession& session() { return m_session; }
    [[nodiscard]] ComparedFiles& compared() { return m_compared; }
    [[nodiscard]] Commands& commands() { return m_commands; }
    /// No question is open, neither of the loader nor of a page that is seen.
    [[nodiscard]] bool isIdle() const;
    /// Null: there is no such page.
    [[nodiscard]] Page* page(const QString& id) const { return m_area->page(id); }
    [[nodiscard]] PageArea& area() { return *m_area; }
    [[nodiscard]] LayoutKeeper& layouts() { return m_layouts; }

Q_SIGNALS:
    void themeChanged(bool dark);

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool focusNextPrevChild(bool next) override;

private:
    void exportShown();
    void buildPages();
    void layOut();
    void addPage(const PageEntry& entry);
    void addPageCommands();
    void addWindowCommands();
    void addStepCommands();
    void walkSteps(StepWalk walk, const QString& none);
    void addKeyNotes();
    void connectBars();
    void connectLoader();
    void connectViews();
    void connectArea();
    void presentPage(const QString& id);
    void presentCurrent(const QString& id);
    void showMenu();
    void connectExport();
    void giveAccess();
    void presentSession();
    void stopAndClose();
    void endRun(const run::RunFinished& outcome);
    void chooseFile();
    void chooseRemote();
    void chooseFolder();
    void presentRecording(const RecordingPtr& recording);
    /// For the status line.
    [[nodiscard]] static QString factsOf(const OpenRecording& recording);
    /// What starts, or what is open where nothing does.
    void presentStart();
    /// Nothing is open. `somethingComes`: or this page says why.
    void presentNothing(bool somethingComes);
    void presentFailure(const QString& path, const QString& message);
    void presentLoss(const QString& path, const QString& message, const QString& action);
    void presentGone(const QString& path, bool replaced);
    void presentSelection();
    /// What the window is of: the open recording, or the run that Live is of.
    void presentTitle();
    void nameRecording(const QString& name, const QString& address);
    /// Live is in front, and the run that it is of has no recording yet.
    [[nodiscard]] bool showsStart() const;

    QString m_recorder, m_sshCommand;
    QString m_name, m_address;  ///< of the open recording
    QString m_facts;            ///< of it; of the machine before the first
    int m_problems = 0;         ///< of it
    QString m_lost;             ///< what the bar of what can no longer be read opens again
    bool m_closing = false;     ///< once the run has stopped, or what is being saved is whole
    SelectionModel m_selection;
    RecordingLoader m_loader;
    PartLoader m_part;
    RecorderSession m_session;
    ComparedFiles m_compared;
    RunOpening m_runOpening;
    RunEnding m_ending;
    PageContext m_context;
    Commands m_commands;
    ViewKeeper m_views;
    PageArea* m_area;
    LayoutKeeper m_layouts;

    Rail* m_rail;
    TopBar* m_topBar;
    StatusLine* m_status;
    ConnectionBar* m_connection;
    PageExport m_export;  ///< last: its thread ends before the receivers of its signals
};

}  // namespace shardscope::desktop
