// Saves what a page shows, and the recording that it is of: offers what there is, and writes what
// is chosen behind the window. GUI thread.
#pragma once

#include "app/desktop/loading/file_saver.h"
#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/pages/page.h"

#include <QObject>
#include <QString>
#include <vector>

namespace shardscope::desktop {

class ExportDialog;

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
