#include "app/desktop/pages/timeline/details/slice_panel.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/detail_list.h"
#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QStringList>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope::desktop {
namespace {

constexpr int kPitch = 28;
constexpr int kNameWidth = 56;
constexpr int kArgumentName = 104;
constexpr std::size_t kMostWays = 16;
constexpr int kWayWidth = 34;  ///< characters

}  // namespace

ArrivalBars::ArrivalBars(QWidget* parent) : QWidget(parent) {}

void ArrivalBars::setBars(std::vector<ArrivalBar> bars, Meaning meaning) {
    m_bars = std::move(bars);
    m_meaning = meaning;
    setFixedHeight(static_cast<int>(m_bars.size()) * kPitch + 20);
    QStringList words;
    for (const ArrivalBar& bar : m_bars) {
        words << tr("rank %1 waited %2")
                     .arg(QString::number(bar.rank.value),
                          formatDuration(bar.lastArrival - bar.arrival));
    }
    setAccessibleName(words.join(QStringLiteral(", ")));
    update();
}

void ArrivalBars::paintEvent(QPaintEvent*) {
    if (m_bars.empty()) return;
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    TimeRange range{m_bars.front().arrival, m_bars.front().end};
    for (const ArrivalBar& bar : m_bars) {
        range.begin = std::min(range.begin, bar.arrival);
        range.end = std::max(range.end, bar.end);
    }
    const TimeScale scale{range, static_cast<double>(width() - kNameWidth)};
    const Fill moving = theme.fill(m_meaning);
    Fill waiting = moving;
    waiting.hatched = true;
    for (std::size_t i = 0; i < m_bars.size(); ++i) {
        const ArrivalBar& bar = m_bars[i];
        const double y = static_cast<double>(i) * kPitch;
        painter.setFont(textFont(kSmallPixels, bar.selected ? QFont::DemiBold : QFont::Normal));
        painter.setPen(bar.selected ? theme.text : theme.quietText);
        drawTabular(painter, QRectF(0, y, kNameWidth, kPitch - 8), Qt::AlignLeft,
                    tr("rank %1").arg(bar.rank.value));
        const double from = kNameWidth + scale.x(bar.arrival);
        const double split = kNameWidth + scale.x(bar.lastArrival);
        const double end = kNameWidth + scale.x(bar.end);
        paintFill(painter, QRectF(QPointF(from, y + 2), QPointF(split, y + kPitch - 8)), waiting,
                  theme);
        paintFill(painter, QRectF(QPointF(split, y + 2), QPointF(end, y + kPitch - 8)), moving,
                  theme);
    }
    painter.setFont(textFont(kSmallPixels - 1));
    painter.setPen(theme.quietText);
    const double y = static_cast<double>(m_bars.size()) * kPitch;
    drawTabular(painter, QRectF(kNameWidth, y, width() - kNameWidth, 16), Qt::AlignLeft,
                tr("first arrival"));
    drawTabular(painter, QRectF(kNameWidth, y, width() - kNameWidth, 16), Qt::AlignRight,
                QStringLiteral("+") + formatDuration(range.duration()));
}

SlicePanel::SlicePanel(QWidget* parent)
    : Panel(parent),
      m_title(sectionLabel({}, this)),
      m_link(new QPushButton(this)),
      m_ways(new QWidget(this)),
      m_code(codeLabel({}, this)),
      m_rows(new DetailList(this)),
      m_argumentsTitle(sectionLabel(tr("Arguments"), this)),
      m_arguments(new DetailList(this)),
      m_arrivalsTitle(sectionLabel(tr("Arrivals"), this)),
      m_arrivals(new ArrivalBars(this)),
      m_hint(quietLabel({}, this)) {
    m_link->setProperty("link", true);
    m_link->setAccessibleName(tr("Go to the linked event"));
    connect(m_link, &QPushButton::clicked, this, &SlicePanel::linkFollowed);
    m_code->setAccessibleName(tr("Whole name of the kernel"));
    m_code->setTextFormat(Qt::PlainText);
    m_code->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_title->setWordWrap(true);
    m_title->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_arguments->setWraps(true, kArgumentName);
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->viewport()->setAutoFillBackground(false);
    auto* content = new QWidget(scroll);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 4, 2, 4);
    outer->addWidget(scroll);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(16, 8, 12, 8);
    layout->setSpacing(kGap);
    layout->addWidget(m_title);
    layout->addWidget(m_link, 0, Qt::AlignLeft);
    layout->addWidget(m_arrivalsTitle);
    layout->addWidget(m_arrivals);
    layout->addWidget(m_rows);
    layout->addWidget(m_ways);
    layout->addWidget(m_code);
    layout->addWidget(m_argumentsTitle);
    layout->addWidget(m_arguments);
    layout->addSpacing(kGap);
    layout->addWidget(m_hint);
    layout->addStretch();
    scroll->setWidget(content);
    content->setAutoFillBackground(false);
    showNothing();
}

void SlicePanel::showDetails(const SliceDetails& details) {
    // Inter draws 192x192 as a product; names of kernels are code
    m_title->setFont(details.code.isEmpty() ? textFont(kTextPixels, QFont::DemiBold)
                                            : codeFont(kSmallPixels));
    m_title->setText(breakable(details.title));
    m_code->setText(breakable(details.code));
    m_code->setVisible(!details.code.isEmpty());
    m_link->hide();
    showWays({});
    m_rows->setRows(details.rows);
    m_rows->show();
    m_arguments->setRows(details.arguments);
    m_arguments->setVisible(!details.arguments.empty());
    m_argumentsTitle->setVisible(!details.arguments.empty());
    const bool collective = !details.arrivals.empty();
    m_arrivalsTitle->setVisible(collective);
    m_arrivals->setVisible(collective);
    if (collective) m_arrivals->setBars(details.arrivals, details.meaning);
    m_hint->setText(collective
                        ? tr("N  same collective on the next rank\n.  ,  next and previous on this "
                             "lane\nHatched: waiting for the last rank")
                        : tr(".  ,  next and previous on this lane\nZ  zoom to it · Esc  clear"));
}

void SlicePanel::showLinks(const LinkTexts& texts) {
    auto rows = m_rows->rows();
    rows.insert(rows.end(), texts.rows.begin(), texts.rows.end());
    m_rows->setRows(std::move(rows));
    m_link->setText(texts.action);
    m_link->setAccessibleName(texts.action);
    m_link->setVisible(!texts.action.isEmpty());
    if (!texts.action.isEmpty()) {
        m_hint->setText(
            tr("[  ]  from a kernel to its launch, and back\n.  ,  next and previous on "
               "this lane\nZ  zoom to it · Esc  clear"));
    }
}

void SlicePanel::showWays(const std::vector<QString>& texts) {
    delete m_ways->layout();
    // one of them may have been clicked, and leads here
    for (QWidget* old : m_ways->findChildren<QWidget*>(Qt::FindDirectChildrenOnly)) {
        old->hide();
        old->deleteLater();
    }
    m_ways->setVisible(!texts.empty());
    auto* layout = new QVBoxLayout(m_ways);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    for (std::size_t i = 0; i < std::min(texts.size(), kMostWays); ++i) {
        const QString& text = texts[i];
        auto* button = new QPushButton(m_ways);
        button->setProperty("link", true);
        button->setText(text.size() <= kWayWidth ? text : text.left(kWayWidth - 1) + u'…');
        button->setToolTip(text);
        button->setAccessibleName(tr("Go to %1").arg(text));
        connect(button, &QPushButton::clicked, this,
                [this, i] { Q_EMIT wayChosen(static_cast<int>(i)); });
        layout->addWidget(button, 0, Qt::AlignLeft);
    }
    if (texts.size() > kMostWays)
        layout->addWidget(quietLabel(tr("and %1 more").arg(texts.size() - kMostWays), m_ways));
}

void SlicePanel::showNothing() {
    m_link->hide();
    showWays({});
    m_code->hide();
    m_title->setFont(textFont(kTextPixels, QFont::DemiBold));
    m_title->setText(tr("Nothing selected"));
    m_rows->setRows({});
    m_rows->hide();
    m_arguments->hide();
    m_argumentsTitle->hide();
    m_arrivalsTitle->hide();
    m_arrivals->hide();
    m_hint->setText(tr(
        "Click an event for its details. Drag to select a range; the table below then adds it "
        "up.\n\n"
        "W  S  zoom\nA  D  move\nCtrl+wheel  zoom at the pointer\nShift+drag  move\nF  whole run\n"
        "Z  zoom to the selection\nM  mark, and measure between marks\n?  all keys"));
}

using namespace Qt::StringLiterals;

QString sliceText(const SliceDetails& details) {
    QStringList lines{details.title};
    if (!details.code.isEmpty()) lines << details.code;
    for (const auto& [name, value] : details.rows) lines << name + u'\t' + value;
    for (const auto& [name, value] : details.arguments) lines << name + u'\t' + value;
    return lines.join(u'\n');
}

QString sliceJson(const LaneFacts& lane, const SliceView& slice) {
    QJsonObject object{{u"name"_s, slice.name},
                       {u"rank"_s, static_cast<qint64>(lane.rank.value)},
                       {u"lane"_s, fromUtf8(lane.name)},
                       {u"start_ns"_s, static_cast<qint64>(slice.range.begin.ns)},
                       {u"duration_ns"_s, static_cast<qint64>(slice.range.duration().ns)}};
    if (slice.step != kNoStep) object.insert(u"step"_s, static_cast<qint64>(slice.step.value));
    if (slice.count > 1) {
        object.insert(u"events"_s, static_cast<qint64>(slice.count));
        object.insert(u"busy_ns"_s, static_cast<qint64>(slice.busy.ns));
    }
    if (slice.correlation != 0)
        object.insert(u"correlation"_s, static_cast<qint64>(slice.correlation));
    const QJsonObject arguments = QJsonDocument::fromJson(slice.arguments.toUtf8()).object();
    if (!arguments.isEmpty())
        object.insert(u"arguments"_s, arguments);
    else if (!slice.arguments.isEmpty())
        object.insert(u"arguments"_s, slice.arguments);
    return QString::fromUtf8(QJsonDocument(object).toJson());
}

QMenu* makeSliceMenu(QWidget* parent, const SliceDetails& details, const LaneFacts& lane,
                     const SliceView& slice, const SliceActions& actions) {
    auto* menu = new QMenu(parent);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto copies = [](const QString& text) {
        return [text] { QApplication::clipboard()->setText(text); };
    };
    menu->addAction(QObject::tr("Zoom to it"), parent, actions.zoom);
    menu->addAction(QObject::tr("Select its time"), parent, actions.selectTime);
    menu->addAction(QObject::tr("Find all of this name"), parent, actions.find);
    menu->addAction(QObject::tr("Filter the table to this name"), parent, actions.filterTable);
    menu->addSeparator();
    menu->addAction(QObject::tr("Copy name"), parent, copies(slice.name));
    menu->addAction(QObject::tr("Copy details"), parent, copies(sliceText(details)));
    menu->addAction(QObject::tr("Copy details as JSON"), parent, copies(sliceJson(lane, slice)));
    return menu;
}

}  // namespace shardscope::desktop
