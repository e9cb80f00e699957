#include "app/desktop/shell/page_export.h"

#include "app/desktop/models/format.h"
#include "app/desktop/widgets/picture_file.h"
#include "app/desktop/widgets/theme.h"

#include <QFileDialog>
#include <QObject>
#include <QPointer>

namespace shardscope::desktop {

QString writtenText(const DrawnPicture& drawn, const QString& path) {
    const auto written = writePicture(drawn, path, papers().constFirst());
    return written ? QObject::tr("Wrote %1").arg(path) : fromUtf8(written.error().message);
}

void exportPage(Page& page, const QString& name,
                const std::function<void(const DrawnPicture&, const QString&)>& write) {
    auto* dialog = new QFileDialog(&page, QObject::tr("Save what is shown"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    QStringList filters;
    for (const QString& format : pictureFormats())
        filters << QStringLiteral("%1 (*.%2)").arg(format.toUpper(), format);
    dialog->setNameFilters(filters);
    dialog->setDefaultSuffix(pictureFormats().constFirst());
    dialog->selectFile(name);
    // the ending goes with the kind that is chosen
    QObject::connect(dialog, &QFileDialog::filterSelected, dialog,
                     [dialog, filters](const QString& filter) {
                         dialog->setDefaultSuffix(pictureFormats().value(filters.indexOf(filter)));
                     });
    QObject::connect(
        dialog, &QFileDialog::fileSelected, &page, [&page, write](const QString& path) {
            write(page.drawn(pageSize(papers().constFirst()), Theme::of(&page).dark), path);
        });
    dialog->open();
}

}  // namespace shardscope::desktop
