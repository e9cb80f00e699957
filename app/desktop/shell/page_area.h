// Where the pages of the window are: one of them in the middle, and those that the user took out of
// it docked beside it or in separate windows. GUI thread; owns the pages.
#pragma once

#include "app/desktop/models/page_layout.h"
#include "app/desktop/pages/page.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QMap>

class QStackedWidget;

namespace shardscope::desktop {

class PageDock;
class PlainArea;

class PageArea : public QMainWindow {
    Q_OBJECT

public:
    explicit PageArea(QWidget* parent = nullptr);
    ~PageArea() override;

    /// Takes it; into the middle.
    void addPage(const QString& id, const QString& name, Page* page);
    /// Null: there is no such page.
    [[nodiscard]] Page* page(const QString& id) const { return m_pages.value(id).page; }
    /// Brings it to the front, wherever it is.
    void showPage(const QString& id);
    /// The page that the user was on last; empty before the first.
    [[nodiscard]] const QString& current() const { return m_current; }
    /// Whether the user can see it now.
    [[nodiscard]] bool isSeen(const QString& id) const;
    [[nodiscard]] QStringList seen() const;

    /// Pages out of the middle, in the order of pages.
    [[nodiscard]] QStringList apart() const;
    [[nodiscard]] PagePlace placeOf(const QString& id) const;
    /// `share` of the room, where it is docked. The last page of the middle stays there.
    void move(const QString& id, PagePlace place, double share = 0.4);
    void putAllBack();
    /// Docked pages stand below each other in windows that are too narrow for two beside each
    /// other.
    void apply(const LayoutPreset& preset);
    [[nodiscard]] PageLayout pageLayout() const;
    /// Pages that there are no more are left out.
    void apply(const PageLayout& layout);

    /// Those of pages: the program ends once no window is left.
    void hideWindows();

    /// What is open, for the titles of windows.
    void setRecordingName(const QString& name);

Q_SIGNALS:
    /// Another page is current: it was shown, or the keyboard focus went to it.
    void currentChanged(const QString& id);
    /// Pages were taken out, or put back.
    void moved();

private:
    struct Entry {
        QString name;
        Page* page = nullptr;
        PageDock* dock = nullptr;  ///< null: it is in the middle
    };

    void followFocus(QWidget* now);
    /// Alone in the window pages take what there is; beside each other they scroll rather than be
    /// squeezed.
    void giveRoom();
    void setCurrent(const QString& id);
    void takeOut(const QString& id);
    void putBack(const QString& id);
    [[nodiscard]] QString middle() const;

    PlainArea* m_room;
    QStackedWidget* m_middle;
    QMap<QString, Entry> m_pages;
    QStringList m_order, m_recent;  ///< of the middle: as added; last seen at the end
    QString m_current, m_recording;
};

// A page out of the middle: docked beside it, or a separate window, under a bar with its name.
// GUI thread.

class PageDock : public QDockWidget {
    Q_OBJECT

public:
    /// Takes the page. `id`: under which layouts keep it.
    PageDock(const QString& id, const QString& name, QWidget* page, QWidget* parent = nullptr);
    [[nodiscard]] const QString& id() const { return m_id; }
    /// Gives the page up; it has no parent then.
    QWidget* release();
    /// Of the window that it is: which recording it shows.
    void setRecordingName(const QString& name);

Q_SIGNALS:
    /// The user wants the page in the middle again.
    void returnRequested(const QString& id);

protected:
    void closeEvent(QCloseEvent* event) override;
    bool focusNextPrevChild(bool next) override;

private:
    void chooseBar();

    QString m_id, m_name, m_recording;
    QWidget *m_page, *m_bar;
};

}  // namespace shardscope::desktop
