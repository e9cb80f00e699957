#include "app/desktop/pages/choose_recordings.h"

#include "app/desktop/loading/import_cache.h"

#include <QFileDialog>
#include <QObject>

namespace shardscope::desktop {

void chooseRecordings(QWidget* parent, const QString& title,
                      const std::function<void(const QStringList&)>& take) {
    auto* dialog = new QFileDialog(parent, title);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->setNameFilters({QObject::tr("Recordings and traces (%1)").arg(openableEndings()),
                            QObject::tr("All files (*)")});
    QObject::connect(dialog, &QFileDialog::filesSelected, parent, take);
    dialog->open();
}

}  // namespace shardscope::desktop
