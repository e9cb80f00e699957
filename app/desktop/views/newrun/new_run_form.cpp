// The fields of the New run form; new_run_page.cpp is what they do.
#include "app/desktop/models/format.h"
#include "app/desktop/views/newrun/bound_field.h"
#include "app/desktop/views/newrun/fold_section.h"
#include "app/desktop/views/newrun/new_run_page.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QFileDialog>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using Choices = BoundField::Choices;

/// Words that people use themselves.
Choices sameNames(const QStringList& words) {
    Choices names;
    for (const QString& word : words) names.emplace_back(word, word);
    return names;
}

Choices modelNames() {
    Choices names;
    for (const control::ModelConfig& model : control::modelPresets())
        names.emplace_back(fromUtf8(model.name), fromUtf8(model.name));
    names.emplace_back(u"custom"_s, u"custom"_s);
    return names;
}

Choices strategyNames() {
    Choices names;
    for (const control::Strategy strategy : kAll<control::Strategy>)
        names.emplace_back(QString::fromLatin1(toWord(strategy)), strategyName(strategy));
    return names;
}

/// Of fields that are one of a few words; none: the field is something else.
Choices choicesOf(std::string_view key) {
    static const std::map<std::string_view, Choices> kChoices = {
        {"model.name", modelNames()},
        {"model.norm", {{u"layernorm"_s, u"LayerNorm"_s}, {u"rmsnorm"_s, u"RMSNorm"_s}}},
        {"model.position", {{u"learned"_s, u"learned"_s}, {u"rope"_s, u"RoPE"_s}}},
        {"model.ffn", {{u"gelu"_s, u"GELU"_s}, {u"swiglu"_s, u"SwiGLU"_s}}},
        {"strategy", strategyNames()},
        {"compress",
         {{u"none"_s, u"none"_s}, {u"bf16"_s, u"bf16, lossy"_s}, {u"topk"_s, u"top-k, lossy"_s}}},
        {"transport",
         {{u"auto"_s, u"auto"_s},
          {u"shared-memory"_s, u"shared memory"_s},
          {u"gloo"_s, u"Gloo"_s}}},
        {"offload", sameNames({u"none"_s, u"optimizer"_s, u"gradients"_s})},
        {"device", {{u"cpu"_s, u"CPU"_s}, {u"cuda"_s, u"CUDA GPU"_s}}},
        {"precision", sameNames({u"fp32"_s, u"tf32"_s, u"bf16"_s, u"fp16"_s})},
        {"reduce", sameNames({u"fp32"_s, u"bf16"_s})},
        {"schedule", sameNames({u"cosine"_s, u"linear"_s, u"constant"_s})},
        {"capture", sameNames({u"full"_s, u"light"_s, u"steps"_s, u"off"_s})},
        {"device_capture",
         sameNames({u"auto"_s, u"never"_s, u"idle"_s, u"kernels"_s, u"launches"_s, u"full"_s})}};
    const auto found = kChoices.find(key);
    return found != kChoices.end() ? found->second : Choices();
}

}  // namespace

FoldSection* NewRunPage::addSection(QWidget* form, const QString& title, bool open) {
    auto* section = new FoldSection(title, open, form);
    form->layout()->addWidget(section);
    m_sections.push_back(section);
    return section;
}

BoundField* NewRunPage::add(FoldSection* section, std::string_view key, int span) {
    auto* field = new BoundField(key, section, choicesOf(key));
    connect(field, &BoundField::changed, this, &NewRunPage::refresh);
    section->addField(field, span);
    m_fields.push_back(field);
    return field;
}

void NewRunPage::addChooser(BoundField* path, bool folder, const QString& title) {
    path->addButton(folder ? tr("Folder…") : tr("File…"), title, [this, path, folder, title] {
        auto* dialog = new QFileDialog(this, title);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setFileMode(folder ? QFileDialog::Directory : QFileDialog::ExistingFile);
        connect(dialog, &QFileDialog::fileSelected, qobject_cast<QLineEdit*>(path->input()),
                &QLineEdit::setText);
        dialog->open();
    });
}

void NewRunPage::addModel(QWidget* form) {
    FoldSection* model = addSection(form, tr("Model"), true);
    BoundField* size = add(model, "model.name");
    connect(qobject_cast<QComboBox*>(size->input()), &QComboBox::activated, this,
            &NewRunPage::choosePreset);
    for (const char* key :
         {"model.layers", "model.heads", "model.hidden", "model.context", "model.vocabulary"})
        add(model, key);
    FoldSection* parts = addSection(form, tr("Parts of the model"), false);
    for (const char* key : {"model.norm", "model.position", "model.ffn", "model.ffn_width"})
        add(parts, key);
    add(parts, "model.tie_head", 2);
}

void NewRunPage::addStrategy(QWidget* form) {
    FoldSection* strategy = addSection(form, tr("Strategy"), true);
    BoundField* which = add(strategy, "strategy");
    connect(qobject_cast<QComboBox*>(which->input()), &QComboBox::activated, this,
            &NewRunPage::chooseStrategy);
    for (const char* key : {"ranks", "threads", "batch", "accumulate", "recompute_every",
                            "prefetch", "bucket_mb", "shard_ranks"})
        add(strategy, key);
    FoldSection* communication = addSection(form, tr("Communication"), false);
    for (const char* key : {"compress", "kept_fraction", "reshard_after_forward", "transport",
                            "interface", "keep_gathered", "link_gb_per_s", "link_latency_us",
                            "keep_gradients", "collective_timeout", "vocabulary_pieces"})
        add(communication, key);
}

void NewRunPage::addPrecision(QWidget* form) {
    FoldSection* section = addSection(form, tr("Precision and device"), true);
    for (const char* key : {"device", "share_device", "offload", "precision", "reduce",
                            "loss_scale", "precision_report"})
        add(section, key);
}

void NewRunPage::addData(QWidget* form) {
    FoldSection* section = addSection(form, tr("Data"), true);
    BoundField* source = add(section, "data", FoldSection::kColumns);
    addChooser(source, false, tr("Choose a text file or token file"));
    addChooser(source, true, tr("Choose a folder of text files"));
    BoundField* tokenizer = add(section, "tokenizer", FoldSection::kColumns);
    addChooser(tokenizer, false, tr("Choose a tokenizer's file"));
    addChooser(tokenizer, true, tr("Choose a tokenizer's folder"));
}

void NewRunPage::addTraining(QWidget* form) {
    FoldSection* training = addSection(form, tr("Training"), true);
    for (const char* key :
         {"steps", "learning_rate", "schedule", "warmup_steps", "minimum_learning_rate", "seed",
          "clip", "weight_decay", "decay_embeddings", "decay_vectors"})
        add(training, key);
    FoldSection* validation = addSection(form, tr("Validation and samples"), false);
    for (const char* key :
         {"evaluate_every", "evaluate_batches", "held_back", "sample", "prompt", "temperature"})
        add(validation, key);
}

void NewRunPage::addCheckpoints(QWidget* form) {
    FoldSection* section = addSection(form, tr("Checkpoints"), false);
    addChooser(add(section, "checkpoint", FoldSection::kColumns), true,
               tr("Choose a folder for checkpoints"));
    add(section, "checkpoint_every");
    add(section, "keep_checkpoints");
    BoundField* resume = add(section, "resume", FoldSection::kColumns);
    addChooser(resume, true, tr("Choose a checkpoint to go on from"));
    m_takeSettings = resume->addButton(tr("Take its settings"),
                                       tr("Fill the form with the checkpoint's settings"),
                                       [this] { takeCheckpoint(); });
    addChooser(add(section, "weights", FoldSection::kColumns), false,
               tr("Choose a safetensors file"));
}

void NewRunPage::addRecording(QWidget* form) {
    FoldSection* section = addSection(form, tr("Recording"), true);
    BoundField* output = add(section, "output", FoldSection::kColumns);
    connect(qobject_cast<QLineEdit*>(output->input()), &QLineEdit::textEdited, this, [this] {
        m_outputEdited = true;
        refresh();
    });
    add(section, "capture");
    add(section, "device_capture");
    add(section, "calibrate");
    add(section, "alternate_capture");
    add(section, "max_size");
    add(section, "max_rate");
    add(section, "capture_steps");
    add(section, "capture_every");
    add(section, "capture_slow");
}

QWidget* NewRunPage::buildForm(QWidget* parent) {
    auto* form = new QWidget(parent);
    auto* layout = new QVBoxLayout(form);
    layout->setContentsMargins(0, 0, kGap, 0);
    layout->setSpacing(kGap);
    addModel(form);
    addStrategy(form);
    addPrecision(form);
    addData(form);
    addTraining(form);
    addCheckpoints(form);
    addRecording(form);
    layout->addStretch();
    return form;
}

}  // namespace shardscope::desktop
