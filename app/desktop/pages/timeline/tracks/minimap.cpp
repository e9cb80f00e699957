#include "app/desktop/pages/timeline/tracks/minimap.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/step_facts.h"

#include <QImage>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

/// An edge is held this close to it.
constexpr double kGrip = 5;
/// Ticks of steps closer than this are not drawn.
constexpr double kClosestSteps = 5;
constexpr int kStepsAView = 4;  ///< by keys
constexpr double kTicks = 5;    ///< height of the strip of ticks below

/// Mean of the buckets that a pixel covers.
double shareAt(const std::vector<float>& buckets, std::size_t x, std::size_t pixels) {
    if (buckets.empty()) return 0;
    const std::size_t first = x * buckets.size() / pixels;
    const std::size_t end = std::max(first + 1, (x + 1) * buckets.size() / pixels);
    double sum = 0;
    for (std::size_t i = first; i < std::min(end, buckets.size()); ++i) sum += buckets[i];
    return std::min(1.0, sum / static_cast<double>(end - first));
}

double meanOf(const std::vector<float>& buckets) {
    double sum = 0;
    for (const float each : buckets) sum += each;
    return buckets.empty() ? 0 : sum / static_cast<double>(buckets.size());
}

}  // namespace

Minimap::Minimap(QWidget* parent) : QWidget(parent), m_labelWidth(kLabelWidth) {
    setFixedHeight(52);
    setLayoutDirection(Qt::LeftToRight);  // as it is painted, in every language
    setMouseTracking(true);
    setFocusPolicy(Qt::TabFocus);
    m_spoken.setName(tr("Whole run: density of compute and of time blocked in communication"));
}

void Minimap::setRecording(const RecordingPtr& recording) {
    const bool same =
        recording && m_recording && recording->summary.run.id == m_recording->summary.run.id;
    m_recording = recording;
    if (!same) m_density.reset(), m_hits.clear();
    m_steps.clear();
    if (recording)
        for (const StepFacts& step : recording->summary.steps)
            if (step.rank == recording->summary.steps.front().rank)
                m_steps.emplace_back(step.step, step.start);
    update();
}

void Minimap::setDensity(const MinimapDensityPtr& density) {
    m_density = density;
    describe();
    const QString low = density && density->isBlocked
                            ? tr("Orange from below: share blocked in collectives.")
                            : tr("Orange from below: share in which kernels of collectives ran.");
    setToolTip(tr("Blue: share of compute. %1 Grey: calibration and other work. Mean of all "
                  "ranks. Click to centre, drag to move, pull at an edge.")
                   .arg(low));
    update();
}

void Minimap::setView(TimeRange view) {
    m_view = view;
    describe();
    update();
}

/// Which part of the run is shown, and how busy the whole was.
void Minimap::describe() {
    if (!m_recording) return m_spoken.setSummary({});
    const Duration step{m_recording->bounds().duration().ns / 1000};
    QStringList words{tr("%1 to %2 of %3 is shown")
                          .arg(formatInstant(m_view.begin, step), formatInstant(m_view.end, step),
                               formatDuration(m_recording->bounds().duration()))};
    if (m_density && m_density->holdsAnything())
        words << tr("over the whole run compute %1, communication %2")
                     .arg(formatPercent(meanOf(m_density->compute)),
                          formatPercent(meanOf(m_density->communication)));
    words << tr("Left and Right move it");
    m_spoken.setSummary(words.join(QStringLiteral("; ")));
}

void Minimap::setHits(std::vector<Timestamp> hits) {
    m_hits = std::move(hits);
    update();
}

void Minimap::setPlot(int left, int width) {
    m_labelWidth = left;
    m_plotWidth = width;
    update();
}

QRectF Minimap::strip() const {
    QRectF area = QRectF(rect()).adjusted(m_labelWidth, 2, 0, -4 - kTicks);
    if (m_plotWidth > 0) area.setWidth(m_plotWidth);
    return area;
}

double Minimap::xOf(Timestamp time) const {
    return strip().left() + TimeScale{m_recording->bounds(), strip().width()}.x(time);
}

Timestamp Minimap::timeAt(double x) const {
    return TimeScale{m_recording->bounds(), strip().width()}.time(x - strip().left());
}

Minimap::Grip Minimap::gripAt(double x) const {
    if (!m_recording) return Grip::kNone;
    const double begin = xOf(m_view.begin), end = xOf(m_view.end);
    const double toBegin = std::abs(x - begin), toEnd = std::abs(x - end);
    // of a narrow frame only what is outside pulls at its edges
    const bool narrow = end - begin < 3 * kGrip;
    if (toBegin <= kGrip && toBegin <= toEnd && (!narrow || x < begin)) return Grip::kBegin;
    if (toEnd <= kGrip && (!narrow || x > end)) return Grip::kEnd;
    return Grip::kMove;
}

void Minimap::dragTo(double x) {
    if (!m_recording) return;
    const Timestamp at = timeAt(x);
    const Duration least{std::max<std::int64_t>(1, m_recording->bounds().duration().ns / 100'000)};
    if (m_grip == Grip::kBegin) {
        Q_EMIT viewRequested({std::min(at, m_view.end - least), m_view.end});
    } else if (m_grip == Grip::kEnd) {
        Q_EMIT viewRequested({m_view.begin, std::max(at, m_view.begin + least)});
    } else if (m_grip == Grip::kMove) {
        const Duration half{m_view.duration().ns / 2};
        Q_EMIT viewRequested({at - half, at + half});
    }
}

void Minimap::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    m_grip = gripAt(event->position().x());
    if (m_grip == Grip::kMove) dragTo(event->position().x());
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons().testFlag(Qt::LeftButton)) return dragTo(event->position().x());
    const Grip grip = gripAt(event->position().x());
    setCursor(grip == Grip::kBegin || grip == Grip::kEnd ? Qt::SizeHorCursor : Qt::ArrowCursor);
}

void Minimap::mouseReleaseEvent(QMouseEvent*) {
    m_grip = Grip::kNone;
}

void Minimap::keyPressEvent(QKeyEvent* event) {
    const int direction = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (direction == 0 || !m_recording) return QWidget::keyPressEvent(event);
    const Duration by{direction * m_view.duration().ns / kStepsAView};
    Q_EMIT viewRequested({m_view.begin + by, m_view.end + by});
}

void Minimap::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    update();
}

void Minimap::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    update();
}

void Minimap::paintDensity(QPainter& painter, const QRectF& area) const {
    if (!m_density) return;
    const Theme& theme = Theme::of(this);
    if (!m_density->holdsAnything()) {
        painter.setPen(theme.quietText);
        painter.drawText(area.adjusted(8, 0, -8, 0), Qt::AlignCenter,
                         tr("no phases, kernels or operators recorded"));
        return;
    }
    const struct {
        const std::vector<float>& buckets;
        QColor colour;
    } layers[] = {{m_density->rest, theme.fill(Meaning::kIdle).line()},
                  {m_density->compute, theme.fill(Meaning::kCompute).line()},
                  {m_density->communication, theme.fill(Meaning::kReduction).line()}};
    // by pixels of the screen: a strip begins anywhere between two of them
    const QSize pixels = (area.size() * painter.device()->devicePixelRatioF()).toSize();
    QImage strip(pixels.expandedTo({1, 1}), QImage::Format_ARGB32_Premultiplied);
    strip.fill(Qt::transparent);
    QPainter columns(&strip);
    for (const auto& layer : layers) {
        for (int x = 0; x < strip.width(); ++x) {
            const double share = shareAt(layer.buckets, static_cast<std::size_t>(x),
                                         static_cast<std::size_t>(strip.width()));
            const auto high = static_cast<int>(std::lround(share * strip.height()));
            columns.fillRect(QRect(x, strip.height() - high, 1, high), layer.colour);
        }
    }
    columns.end();
    painter.drawImage(area, strip);
}

/// Below the strip: those whose number is a multiple of 1, 2, 5, 10 ...
void Minimap::paintSteps(QPainter& painter, const QRectF& area) const {
    if (m_steps.size() < 2) return;
    const double pitch = (xOf(m_steps.back().second) - xOf(m_steps.front().second)) /
                         static_cast<double>(m_steps.size() - 1);
    const auto stride =
        static_cast<int>(std::max(1.0, niceStep(kClosestSteps / std::max(pitch, 1e-6), 1)));
    painter.setPen(Theme::of(this).quietText);
    for (const auto& [step, start] : m_steps) {
        if (step.value % stride != 0) continue;
        const double x = std::round(xOf(start)) + 0.5;
        painter.drawLine(QPointF(x, area.bottom() + 2), QPointF(x, area.bottom() + 2 + kTicks));
    }
}

void Minimap::paintView(QPainter& painter, const QRectF& area) const {
    const Theme& theme = Theme::of(this);
    QColor shade = theme.window;
    shade.setAlphaF(0.55F);
    const double left = xOf(m_view.begin);
    const double right = std::max(xOf(m_view.end), left + 3);
    painter.fillRect(QRectF(area.topLeft(), QPointF(left, area.bottom())), shade);
    painter.fillRect(QRectF(QPointF(right, area.top()), area.bottomRight()), shade);
    painter.setPen(QPen(theme.accent, 2));
    painter.drawRect(QRectF(QPointF(std::max(left, area.left() + 1), area.top() + 1),
                            QPointF(std::min(right, area.right() - 1), area.bottom())));
}

void Minimap::paintEvent(QPaintEvent*) {
    if (!m_recording) return;
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    const QRectF area = strip();
    painter.setFont(textFont(kSmallPixels));
    painter.setPen(theme.quietText);
    drawTabular(painter, QRectF(16, area.top(), m_labelWidth - 16, 18), Qt::AlignLeft,
                tr("whole run"));
    drawTabular(painter, QRectF(16, area.top() + 18, m_labelWidth - 16, 18), Qt::AlignLeft,
                formatDuration(m_recording->bounds().duration()));
    painter.fillRect(area, theme.panel);
    paintDensity(painter, area);
    paintSteps(painter, area);
    paintView(painter, area);
    painter.setPen(QPen(theme.bad, 1));
    double last = -1;
    for (const Timestamp hit : m_hits) {
        const double x = std::round(xOf(hit)) + 0.5;
        if (x == last) continue;
        last = x;
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.top() + 9));
    }
    if (hasFocus()) paintFocus(painter, QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme);
}

}  // namespace shardscope::desktop
