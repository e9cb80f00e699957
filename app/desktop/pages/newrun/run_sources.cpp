#include "app/desktop/pages/newrun/run_sources.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/gpt2_names.h"
#include "engine/run/config/run_settings.h"
#include "engine/tokens/corpus.h"
#include "engine/tokens/tokenizer.h"

#include <fmt/format.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QMetaObject>
#include <QObject>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using run::RunConfig;

constexpr qint64 kLookedAt = 64 * 1024;

/// Only what the files are looked at for: other fields do not ask again.
RunConfig relevant(const RunConfig& config) {
    RunConfig part;
    part.model = config.model;
    part.data = config.data;
    part.tokenizer = config.tokenizer;
    part.heldBack = config.heldBack;
    part.evaluateEvery = config.evaluateEvery;
    part.steps = config.steps;
    part.checkpoint = config.checkpoint;
    part.resume = config.resume;
    part.weights = config.weights;
    return part;
}

/// Nothing is read but the front of a file.
bool isQuick(const RunConfig& config) {
    return config.tokenizer == tokens::kBytes && config.resume.empty() && config.weights.empty();
}

/// One looking: fills `m_facts` field by field.
class Look {
public:
    explicit Look(const RunConfig& config) : m_config(config) {}

    SourceFacts take() {
        tokenizer();
        data();
        checkpoint();
        resume();
        weights();
        return std::move(m_facts);
    }

private:
    void problem(const char* key, const QString& sentence) { m_facts.problems[key] = sentence; }
    void problem(const char* key, const Error& error) {
        problem(key, inFormWords(fromUtf8(error.message)));
    }
    void note(const char* key, const QString& words) { m_facts.notes[key] = words; }

    void tokenizer() {
        if (m_config.tokenizer == tokens::kBytes)
            return note("tokenizer", QObject::tr("every byte is a token"));
        if (m_config.tokenizer.empty())
            return problem("tokenizer", QObject::tr("Name a tokenizer, or write bytes."));
        const auto read = tokens::readTokenizer(m_config.tokenizer);
        if (!read) return problem("tokenizer", read.error());
        const auto size = static_cast<std::int64_t>(read->size());
        note("tokenizer", QObject::tr("%1 tokens").arg(formatCount(size)));
        if (size <= m_config.model.vocabulary) return;
        problem(
            "model.vocabulary",
            QObject::tr(
                "The tokenizer has %1 tokens, the model a vocabulary of %2; give the model %1 or "
                "more.")
                .arg(formatCount(size), formatCount(m_config.model.vocabulary)));
    }

    void data() {
        if (m_config.data.empty())
            return note("data", run::holdsBytes(m_config.model)
                                    ? QObject::tr("the project's own source tree")
                                    : QObject::tr("random tokens: the vocabulary holds no text"));
        if (m_config.data == tokens::kSynthetic) return note("data", QObject::tr("random tokens"));
        const QString path = fromUtf8(m_config.data);
        const QFileInfo info(path);
        if (!info.exists())
            return problem("data",
                           QObject::tr("There is no %1; name a text file or folder.").arg(path));
        if (!info.isReadable())
            return problem("data",
                           QObject::tr("%1 cannot be read; check its permissions.").arg(path));
        if (tokens::isTokenData(m_config.data)) return tokenFiles();
        if (info.isDir()) {
            const auto files = QDir(path).entryList(QDir::Files | QDir::Readable);
            return note("data", QObject::tr("folder, %1 at its top level")
                                    .arg(formatCounted(files.size(), "file")));
        }
        textFile(path, info.size());
    }

    void tokenFiles() {
        RunConfig files = m_config;
        files.tokenizer = tokens::kBytes;  // looked at above
        if (const auto checked = tokens::checkCorpus(files); !checked)
            return problem("data", checked.error());
        note("data", QObject::tr("token files"));
    }

    void textFile(const QString& path, qint64 size) {
        if (size == 0)
            return problem("data",
                           QObject::tr("%1 is empty; name a text file or folder.").arg(path));
        QFile file(path);
        if (file.open(QIODevice::ReadOnly) && file.read(kLookedAt).contains('\0'))
            return problem(
                "data", QObject::tr("%1 is binary (it has zero bytes); name a text file or folder, "
                                    "or a token file named .bin.")
                            .arg(path));
        const bool bytes = m_config.tokenizer == tokens::kBytes;
        note("data", (bytes ? QObject::tr("%1, read as bytes") : QObject::tr("%1 of text"))
                         .arg(formatBytes({size})));
    }

    /// The folder itself is made by the run.
    void checkpoint() {
        if (m_config.checkpoint.empty()) return note("checkpoint", QObject::tr("none are written"));
        const QString path = fromUtf8(m_config.checkpoint);
        QFileInfo info(path);
        if (info.isDir() && info.isWritable()) return note("checkpoint", QObject::tr("is there"));
        if (info.exists())
            return problem(
                "checkpoint",
                (info.isDir() ? QObject::tr("%1 cannot be written to; name another folder.")
                              : QObject::tr("%1 is a file; name a folder."))
                    .arg(path));
        while (!info.exists() && info.absolutePath() != info.absoluteFilePath())
            info = QFileInfo(info.absolutePath());
        if (!info.isDir() || !info.isWritable())
            return problem("checkpoint",
                           QObject::tr("The folder %1 cannot be made in %2; name another one.")
                               .arg(path, info.absoluteFilePath()));
        note("checkpoint", QObject::tr("will be made"));
    }

    void resume() {
        if (m_config.resume.empty()) return note("resume", QObject::tr("starts anew"));
        const auto from = checkpoint::Checkpoint::open(m_config.resume);
        if (!from) return problem("resume", from.error());
        const checkpoint::Manifest& manifest = from->manifest();
        m_facts.resumed = checkpoint::settingsToGoOn(manifest);
        note("resume", QObject::tr("%1 of %2 steps done, model %3")
                           .arg(formatCount(manifest.nextStep))
                           .arg(formatCount(manifest.config.steps))
                           .arg(fromUtf8(manifest.config.model.name)));
        if (const auto wrong = checkpoint::mismatch(manifest, m_config.model))
            return problem(
                "resume", QObject::tr("This does not continue: %1. Take the checkpoint's settings, "
                                      "or name another.")
                              .arg(fromUtf8(*wrong)));
        if (manifest.nextStep >= m_config.steps)
            return problem("steps", QObject::tr("The checkpoint has done %1 already; give more.")
                                        .arg(formatCounted(manifest.nextStep, "step")));
        if (!m_config.weights.empty())
            problem("weights",
                    QObject::tr("A checkpoint brings its own weights; empty this field, or start "
                                "anew."));
    }

    void weights() {
        if (m_config.weights.empty())
            return note("weights", QObject::tr("random ones, by the seed"));
        if (const auto opened = checkpoint::Weights::open(m_config.weights, m_config.model);
            !opened)
            return problem("weights", opened.error());
        note("weights", QObject::tr("safetensors file"));
    }

    const RunConfig& m_config;
    SourceFacts m_facts;
};

}  // namespace

SourceFacts lookAtSources(const RunConfig& config) {
    return Look(config).take();
}

RunSources::RunSources(QObject* parent) : QObject(parent) {
    m_pool.setMaxThreadCount(1);
}

RunSources::~RunSources() {
    m_pool.clear();
    m_pool.waitForDone();
}

const SourceFacts* RunSources::of(const RunConfig& config) {
    const RunConfig part = relevant(config);
    if (m_stale || !(part == m_asked)) {
        m_asked = part;
        m_known.reset();
        m_stale = false;
        if (isQuick(part)) {
            m_known = lookAtSources(part);
        } else if (!m_looking) {
            look(part);
        }
    }
    return m_known ? &*m_known : nullptr;
}

void RunSources::forget() {
    m_stale = true;
}

void RunSources::look(const RunConfig& config) {
    m_looking = true;
    m_pool.start([this, config] {
        SourceFacts facts = lookAtSources(config);
        // Dropped by Qt when this is gone; the destructor waits for the thread.
        QMetaObject::invokeMethod(
            this,
            [this, config, facts = std::move(facts)]() mutable {
                m_looking = false;
                if (m_known) return;  // what was asked since was quick
                if (!(config == m_asked)) return look(m_asked);
                m_known = std::move(facts);
                Q_EMIT changed();
            },
            Qt::QueuedConnection);
    });
}

}  // namespace shardscope::desktop
