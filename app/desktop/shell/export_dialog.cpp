#include "app/desktop/shell/export_dialog.h"

#include "app/desktop/loading/file_saver.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/models/write_file.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/picture_file.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPainter>
#include <QPointer>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kRow = 44;
constexpr int kHeading = 36;
constexpr QSize kSize{680, 600};

enum Role { WhatRole = Qt::UserRole, RefusedRole };

/// A heading, or a name over a quiet line.
class OfferDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&,
                                 const QModelIndex& index) const override {
        return {0, isHeading(index) ? kHeading : kRow};
    }
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Theme& theme = Theme::of(option.widget);
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        const QRectF area = QRectF(option.rect).adjusted(12, 4, -12, -4);
        if (isHeading(index)) {
            line(*painter, area, Qt::AlignBottom, textFont(kTextPixels, QFont::DemiBold),
                 theme.text, index.data().toString());
        } else {
            ground(*painter, option, theme);
            const QColor& name = index.data(RefusedRole).toBool() ? theme.quietText : theme.text;
            line(*painter, area, Qt::AlignTop, textFont(kTextPixels), name,
                 index.data().toString());
            line(*painter, area, Qt::AlignBottom, textFont(kSmallPixels), theme.quietText,
                 index.data(WhatRole).toString());
        }
        painter->restore();
    }

private:
    static bool isHeading(const QModelIndex& index) {
        return !index.flags().testFlag(Qt::ItemIsEnabled);
    }
    static void ground(QPainter& painter, const QStyleOptionViewItem& option, const Theme& theme) {
        if (!option.state.testFlag(QStyle::State_Selected)) return;
        const bool focus = option.state.testFlag(QStyle::State_HasFocus);
        painter.setPen(focus ? QPen(theme.accent, 1) : QPen(Qt::NoPen));
        painter.setBrush(theme.neutral);
        painter.drawRoundedRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5), kCornerRadius,
                                kCornerRadius);
    }
    static void line(QPainter& painter, const QRectF& area, Qt::Alignment alignment,
                     const QFont& font, const QColor& colour, const QString& text) {
        painter.setFont(font);
        painter.setPen(colour);
        painter.drawText(area, static_cast<int>(alignment) | Qt::AlignLeft,
                         QFontMetricsF(font).elidedText(text, Qt::ElideRight, area.width()));
    }
};

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

ExportDialog::ExportDialog(std::vector<SaveOffer> ofPage, std::vector<SaveScope> scopes,
                           QString folder, QWidget* parent)
    : QDialog(parent),
      m_ofPage(std::move(ofPage)),
      m_scopes(std::move(scopes)),
      m_folder(std::move(folder)) {
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Save what is shown"));
    setAccessibleName(tr("Save what is shown"));
    resize(kSize.boundedTo(parent == nullptr ? kSize : parent->size()));
    buildUp();
    list();
    m_list->setFocus();
}

void ExportDialog::buildUp() {
    m_scope = new QComboBox(this);
    for (const SaveScope& scope : m_scopes) m_scope->addItem(scope.name);
    m_scope->setEnabled(m_scopes.size() > 1);
    m_scope->setAccessibleName(tr("How much of the recording is saved"));
    m_scope->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_list = new QListWidget(this);
    m_list->setItemDelegate(new OfferDelegate(m_list));
    m_list->setAccessibleName(tr("What can be saved"));
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_state = quietLabel({}, this);
    m_save = new QPushButton(tr("Save as…"), this);
    m_save->setProperty("primary", true);
    m_save->setDefault(true);
    auto* cancel = new QPushButton(tr("Cancel"), this);
    auto* scope = new QHBoxLayout;
    scope->setSpacing(kGap);
    scope->addWidget(new QLabel(tr("Of the recording"), this));
    scope->addWidget(m_scope, 1);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(kGap);
    buttons->addWidget(m_state, 1);
    buttons->addWidget(cancel);
    buttons->addWidget(m_save);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, kGapGroup, kGapPage, kGapGroup);
    layout->setSpacing(kGap);
    layout->addLayout(scope);
    layout->addWidget(hairline(this));
    layout->addWidget(m_list, 1);
    layout->addWidget(hairline(this));
    layout->addLayout(buttons);
    connect(m_scope, &QComboBox::currentIndexChanged, this, &ExportDialog::list);
    connect(m_list, &QListWidget::currentRowChanged, this, &ExportDialog::present);
    connect(m_list, &QListWidget::itemDoubleClicked, m_save, &QPushButton::click);
    connect(m_save, &QPushButton::clicked, this, &ExportDialog::chooseFile);
    connect(cancel, &QPushButton::clicked, this, &ExportDialog::reject);
}

const SaveScope& ExportDialog::scope() const {
    return m_scopes[static_cast<std::size_t>(std::max(0, m_scope->currentIndex()))];
}

/// The row that is chosen stays; at first it is the first that can be saved.
void ExportDialog::list() {
    const int before = m_list->currentRow();
    m_list->clear();
    m_listed.clear();
    listGroup(tr("This page"), m_ofPage);
    listGroup(tr("The recording"), scope().offers);
    const auto first = std::find_if(m_listed.begin(), m_listed.end(), [](const SaveOffer* offer) {
        return offer != nullptr && offer->refusal.isEmpty();
    });
    if (before >= 0 && before < m_list->count())
        m_list->setCurrentRow(before);
    else if (first != m_listed.end())
        m_list->setCurrentRow(static_cast<int>(first - m_listed.begin()));
    present();
}

void ExportDialog::listGroup(const QString& title, const std::vector<SaveOffer>& offers) {
    auto* heading = new QListWidgetItem(title, m_list);
    heading->setFlags(Qt::NoItemFlags);
    m_listed.push_back(nullptr);
    for (const SaveOffer& offer : offers) {
        const bool refused = !offer.refusal.isEmpty();
        const QString line = refused ? tr("Cannot be saved: %1").arg(offer.refusal) : offer.what;
        auto* item = new QListWidgetItem(offer.name, m_list);
        item->setData(WhatRole, line);
        item->setData(RefusedRole, refused);
        item->setData(Qt::AccessibleTextRole, u"%1. %2"_s.arg(offer.name, line));
        m_listed.push_back(&offer);
    }
}

const SaveOffer* ExportDialog::current() const {
    const auto row = static_cast<std::size_t>(m_list->currentRow());
    return row < m_listed.size() ? m_listed[row] : nullptr;
}

void ExportDialog::present() {
    const SaveOffer* offer = current();
    const bool can = offer != nullptr && offer->refusal.isEmpty();
    m_save->setEnabled(can);
    if (offer == nullptr)
        m_state->clear();
    else if (!can)
        m_state->setText(tr("Cannot be saved: %1").arg(offer->refusal));
    else if (offer->ending.isEmpty())
        m_state->setText(tr("A folder with a file for each rank"));
    else
        m_state->setText(tr("A .%1 file").arg(offer->ending));
}

void ExportDialog::chooseFile() {
    const SaveOffer* offer = current();
    if (offer == nullptr || !offer->refusal.isEmpty()) return;
    auto* dialog = new QFileDialog(this, tr("Save %1").arg(offer->name), m_folder);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    if (!offer->ending.isEmpty()) {
        dialog->setNameFilters({u"%1 (*.%2)"_s.arg(offer->name, offer->ending)});
        dialog->setDefaultSuffix(offer->ending);
    }
    const QString dot = offer->ending.isEmpty() ? QString() : u"."_s;
    dialog->selectFile(offer->stem + dot + offer->ending);
    connect(dialog, &QFileDialog::fileSelected, this, [this, offer = *offer](const QString& path) {
        Q_EMIT chosen(offer, path);
        accept();
    });
    dialog->open();
}

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
