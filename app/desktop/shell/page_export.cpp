#include "app/desktop/shell/page_export.h"

#include "app/desktop/loading/recording_offers.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/models/write_file.h"
#include "app/desktop/shell/export_dialog.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/picture_file.h"
#include "app/desktop/widgets/theme.h"

#include <QFileInfo>
#include <QPointer>
#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

Result<interchange::ExportAccount> accountOf(const Result<void>& written, const QString& path) {
    if (!written) return failure(written);
    return interchange::ExportAccount{0, {path.toStdString()}, {}};
}

SaveOffer pictureOffer(Page& page, const QString& stem, const QString& format) {
    SaveOffer offer{PageExport::tr("Picture (%1)").arg(format.toUpper()),
                    format == u"png"_s ? PageExport::tr("what the page shows, in pixels")
                                       : PageExport::tr("what the page shows, as lines and text"),
                    stem,
                    format,
                    {}};
    offer.job = [of = QPointer<Page>(&page)](const QString& path) -> SaveJob {
        if (!of) return {};
        const QString paper = papers().constFirst();
        const DrawnPicture drawn = of->drawn(pageSize(paper), Theme::of(of).dark);
        return [drawn, path, paper](const SaveProgress&) {
            return accountOf(writePicture(drawn, path, paper, true), path);
        };
    };
    return offer;
}

/// A name of another kind is not taken: it may be that of a recording.
Result<interchange::ExportAccount> saveText(const QString& text, const QString& path,
                                            const QString& ending) {
    if (QFileInfo(path).suffix() != ending)
        return failure(
            ErrorCode::kUsage,
            path.toStdString() + ": give the file a name that ends in ." + ending.toStdString());
    return accountOf(writeText(path, text.toUtf8()), path);
}

SaveJob textJob(const QString& text, const QString& path, const QString& ending) {
    return [=](const SaveProgress&) { return saveText(text, path, ending); };
}

/// "Largest owners of memory" -> "largest-owners-of-memory"
QString fileWords(const QString& title) {
    QString words;
    for (const QChar c : title.toLower())
        if (c.isLetterOrNumber())
            words += c;
        else if (!words.isEmpty() && !words.endsWith(u'-'))
            words += u'-';
    return words.endsWith(u'-') ? words.chopped(1) : words;
}

QString rowsText(const DataTable& table) {
    const int shown = table.table()->rowCount();
    const int all = table.table()->allRows();
    QString text =
        shown == 1 ? PageExport::tr("1 row") : PageExport::tr("%1 rows").arg(formatCount(shown));
    if (shown < all)
        text += PageExport::tr(" of %1, those that pass the filter").arg(formatCount(all));
    if (const QString more = table.accessibleDescription(); !more.isEmpty())
        text += u" · "_s + more;
    return text;
}

SaveOffer tableOffer(DataTable& table, const QString& stem) {
    const QString title = table.accessibleName();
    SaveOffer offer{PageExport::tr("%1 (CSV)").arg(title),
                    rowsText(table),
                    stem + u'-' + fileWords(title),
                    u"csv"_s,
                    {}};
    if (table.table()->rowCount() == 0) offer.refusal = PageExport::tr("the table has no rows");
    offer.job = [of = QPointer<DataTable>(&table)](const QString& path) -> SaveJob {
        if (!of) return {};
        return textJob(of->table()->toText(TableModel::TextFormat::kCsv), path, u"csv"_s);
    };
    return offer;
}

/// That can be seen, if need be by scrolling, from top to bottom.
std::vector<DataTable*> shownTables(const Page& page) {
    std::vector<DataTable*> tables;
    for (DataTable* each : page.findChildren<DataTable*>())
        if (each->isVisibleTo(&page)) tables.push_back(each);
    const auto place = [&](const DataTable* table) {
        const QPoint at = table->mapTo(&page, QPoint());
        return std::pair(at.y(), at.x());
    };
    std::stable_sort(tables.begin(), tables.end(),
                     [&](const auto* a, const auto* b) { return place(a) < place(b); });
    return tables;
}

}  // namespace

std::vector<SaveOffer> pageOffers(Page& page, const QString& recording, const QString& id) {
    std::vector<SaveOffer> offers;
    const QString stem = recording + u'-' + id;
    for (const QString& format : pictureFormats())
        offers.push_back(pictureOffer(page, stem, format));
    const auto tables = shownTables(page);
    for (DataTable* table : tables) offers.push_back(tableOffer(*table, stem));
    for (const Page::Text& text : page.texts()) {
        SaveOffer offer{text.name, text.what, stem, text.ending, {}};
        offer.job = [text](const QString& path) { return textJob(text.text, path, text.ending); };
        offers.push_back(std::move(offer));
    }
    if (tables.empty())
        offers.push_back({PageExport::tr("Table (CSV)"),
                          {},
                          {},
                          {},
                          PageExport::tr("this page shows no table at the moment")});
    return offers;
}

PageExport::PageExport(RecordingLoader& loader, const SelectionModel& selection, QObject* parent)
    : QObject(parent), m_loader(loader), m_selection(selection) {}

ExportDialog* PageExport::open(Page& page, const QString& id) {
    const RecordingPtr recording = m_loader.recording();
    const Selection& selection = m_selection.current();
    std::vector<SaveScope> scopes;
    if (recording && !selection.isEverything())
        scopes.push_back({tr("What is selected: %1").arg(selectionText(*recording, selection)),
                          recordingOffers(recording, selection, m_loader.access())});
    scopes.push_back({recording ? tr("All of it") : tr("No recording is open"),
                      recordingOffers(recording, {}, m_loader.access())});
    auto* dialog =
        new ExportDialog(pageOffers(page, savedName(recording), id), std::move(scopes),
                         m_folder.isEmpty() ? savedFolder(recording) : m_folder, page.window());
    connect(dialog, &ExportDialog::chosen, this, &PageExport::take);
    dialog->open();
    return dialog;
}

void PageExport::take(const SaveOffer& offer, const QString& path) {
    m_folder = QFileInfo(path).absolutePath();
    if (SaveJob job = offer.job(path)) m_saver.save(std::move(job));
}

}  // namespace shardscope::desktop
