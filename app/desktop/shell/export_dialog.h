// What can be saved now, as a list to choose from, and then a name for it. Arrows and Enter choose,
// Esc closes; what cannot be saved is listed with the reason. GUI thread; never waits.
#pragma once

#include "app/desktop/loading/file_saver.h"
#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/pages/page.h"

#include <QDialog>
#include <QObject>
#include <QString>
#include <vector>

class QComboBox;
class QLabel;
class QListWidget;
class QPushButton;

namespace shardscope::desktop {

/// Part of a recording that can be saved, and what of it.
struct SaveScope {
    QString name;  ///< "What is selected: steps 3–5"
    std::vector<SaveOffer> offers;
};

class ExportDialog : public QDialog {
    Q_OBJECT

public:
    /// `scopes`: at least one; of the first the list begins. `folder`: where files go unless
    /// another is chosen.
    ExportDialog(std::vector<SaveOffer> ofPage, std::vector<SaveScope> scopes, QString folder,
                 QWidget* parent = nullptr);

Q_SIGNALS:
    /// Once, then it closes.
    void chosen(const shardscope::desktop::SaveOffer& offer, const QString& path);

private:
    void buildUp();
    void list();
    void listGroup(const QString& title, const std::vector<SaveOffer>& offers);
    void present();
    [[nodiscard]] const SaveOffer* current() const;
    [[nodiscard]] const SaveScope& scope() const;
    void chooseFile();

    std::vector<SaveOffer> m_ofPage;
    std::vector<SaveScope> m_scopes;
    QString m_folder;
    QComboBox* m_scope = nullptr;
    QListWidget* m_list = nullptr;
    std::vector<const SaveOffer*> m_listed;  ///< by row; null: a heading
    QLabel* m_state = nullptr;
    QPushButton* m_save = nullptr;
};

// Saves what a page shows, and the recording that it is of: offers what there is, and writes what
// is chosen behind the window. GUI thread.

class PageExport : public QObject {
    Q_OBJECT

public:
    /// Both outlive it.
    PageExport(RecordingLoader& loader, const SelectionModel& selection, QObject* parent = nullptr);

    /// Lets the user choose of what there is, and a file. `id`: of the page.
    ExportDialog* open(Page& page, const QString& id);
    [[nodiscard]] FileSaver& saver() { return m_saver; }

private:
    void take(const SaveOffer& offer, const QString& path);

    RecordingLoader& m_loader;
    const SelectionModel& m_selection;
    QString m_folder;  ///< chosen last; empty: none was
    FileSaver m_saver{this};
};

/// The page as a picture in every kind of file, its tables that can be seen, its texts.
/// `recording`, `id`: of the page; what names of files begin with.
[[nodiscard]] std::vector<SaveOffer> pageOffers(Page& page, const QString& recording,
                                                const QString& id);

}  // namespace shardscope::desktop
