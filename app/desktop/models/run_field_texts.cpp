#include "app/desktop/models/run_field_texts.h"

#include "app/desktop/models/format.h"
#include "engine/control/run_fields.h"

#include <algorithm>
#include <map>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

std::vector<RunFieldText> modelTexts() {
    return {
        {"model.name", u"Size"_s, {}, {}, u"Sets layers, heads, hidden, context and vocabulary."_s},
        {"model.layers",
         u"Layers"_s,
         {},
         u"transformer blocks"_s,
         u"How many transformer blocks the model has, one after the other."_s},
        {"model.heads",
         u"Heads"_s,
         {},
         u"in each block"_s,
         u"How many parts attention works in; divides the hidden size."_s},
        {"model.hidden",
         u"Hidden"_s,
         {},
         u"a multiple of heads"_s,
         u"How many numbers stand for a token between the blocks."_s},
        {"model.context",
         u"Context"_s,
         u"tokens"_s,
         {},
         u"How many tokens the model sees at once: the length of a sequence."_s},
        {"model.vocabulary", u"Vocabulary"_s, u"tokens"_s, u"256: bytes"_s,
         u"How many kinds of tokens there are; at least as many as the tokenizer has."_s},
        {"model.norm",
         u"Norm"_s,
         {},
         {},
         u"LayerNorm takes the mean away, divides by the spread and has a bias; RMSNorm only "
         u"divides by the root of the mean square."_s},
        {"model.position",
         u"Positions"_s,
         {},
         {},
         u"Learned: a vector for every place, added to the token. RoPE: queries and keys are "
         u"turned by an angle that grows with the place."_s},
        {"model.ffn",
         u"Feed-forward"_s,
         {},
         {},
         u"GELU: two products with GELU between. SwiGLU: a third product, through SiLU, gates "
         u"the first."_s},
        {"model.ffn_width",
         u"Feed-forward width"_s,
         {},
         u"0: 4 × hidden"_s,
         u"How many numbers the feed-forward part works with inside."_s},
        {"model.tie_head",
         u"Head shares the token table"_s,
         {},
         {},
         u"The head multiplies by the token embedding; otherwise it has a matrix of its own."_s}};
}

std::vector<RunFieldText> strategyTexts() {
    return {
        {"strategy",
         u"Strategy"_s,
         {},
         {},
         u"What each rank keeps whole, and what is communicated when."_s},
        {"ranks", u"Ranks"_s, {}, {}, u"How many processes train together."_s},
        {"threads", u"Threads per rank"_s, {}, u"0: usable cores / ranks"_s,
         u"Number of compute threads per rank."_s},
        {"batch",
         u"Micro-batch"_s,
         u"sequences"_s,
         {},
         u"How many sequences a rank computes at once."_s},
        {"accumulate", u"Accumulate"_s, u"micro-steps"_s, u"of a step"_s,
         u"How many micro-batches add up their gradients before the parameters change."_s},
        {"recompute_every", u"Recompute every"_s, u"blocks"_s, u"0: keep activations"_s,
         u"Every N-th block keeps its input only and runs forward again in backward: less "
         u"memory, more work."_s},
        {"prefetch", u"Prefetch"_s, u"blocks"_s, u"gathered ahead"_s,
         u"How many blocks are gathered before they are needed."_s},
        {"bucket_mb", u"Bucket"_s, u"MB"_s, u"of gradients a sum"_s,
         u"Gradients are summed over ranks as soon as this many are complete."_s},
        {"shard_ranks",
         u"Ranks of a group"_s,
         {},
         u"share one copy of the state"_s,
         u"ZeRO-3 goes on inside groups of this many ranks; it divides the number of ranks."_s}};
}

std::vector<RunFieldText> communicationTexts() {
    return {
        {"reshard_after_forward",
         u"Free blocks after forward"_s,
         {},
         {},
         u"Gathered parameters are freed after forward and gathered again for backward."_s},
        {"keep_gathered",
         u"Keep blocks over micro-steps"_s,
         {},
         {},
         u"Blocks are gathered once a step and stay until the last micro-step; gradients too."_s},
        {"keep_gradients",
         u"Keep gradients over micro-steps"_s,
         {},
         {},
         u"Gradients stay whole and are reduced in the last micro-step only."_s},
        {"compress",
         u"Compress gradients"_s,
         {},
         {},
         u"Sends less than the gradients are. Lossy: what is left out is added to the next "
         u"step's."_s},
        {"kept_fraction",
         u"Kept by top-k"_s,
         u"share"_s,
         {},
         u"The share of the gradients, the largest, that top-k sends."_s},
        {"vocabulary_pieces",
         u"Pieces of the vocabulary"_s,
         {},
         u"0: by its size"_s,
         u"Token table and head are gathered in so many pieces: less memory at the peak."_s},
        {"transport", u"Transport"_s, {}, {}, u"How ranks on CPUs reach each other."_s},
        {"interface",
         u"Network interface"_s,
         {},
         {},
         u"The interface's name or address that Gloo listens on."_s},
        {"link_gb_per_s", u"Modelled link"_s, u"GB/s"_s, u"0: no model"_s,
         u"Collectives take as long as over a link of this speed; such times are labelled "
         u"modelled."_s},
        {"link_latency_us",
         u"Its latency"_s,
         u"µs"_s,
         {},
         u"What every message takes besides over the modelled link."_s},
        {"collective_timeout",
         u"Hung after"_s,
         u"s"_s,
         {},
         u"A collective that runs longer ends the run and names the rank that is missing."_s}};
}

std::vector<RunFieldText> precisionTexts() {
    return {
        {"device", u"Device"_s, {}, {}, u"What ranks compute on."_s},
        {"share_device",
         u"Let ranks share a GPU"_s,
         {},
         {},
         u"More ranks than GPUs: works, but says nothing of speed."_s},
        {"offload",
         u"Offload"_s,
         {},
         u"to host memory"_s,
         u"Keeps the optimizer's state, or also this rank's gradients, in host memory, where the "
         u"update then runs."_s},
        {"precision",
         u"Precision"_s,
         {},
         u"of parameters and products"_s,
         u"bf16 and fp16 compute in 16 bits and keep master weights and moments in fp32; fp16 "
         u"scales the loss."_s},
        {"reduce",
         u"Reduce gradients in"_s,
         {},
         u"sums over ranks"_s,
         u"The type in which gradients are sent and summed over ranks."_s},
        {"loss_scale",
         u"Loss scale"_s,
         {},
         u"at the start"_s,
         u"fp16 multiplies the loss by it; halved when a gradient overflows, doubled after 2,000 "
         u"steps without."_s},
        {"precision_report",
         u"Report the types of tensors"_s,
         {},
         {},
         u"Lists in the log which types parameters, activations and gradients really had."_s}};
}

std::vector<RunFieldText> dataTexts() {
    return {
        {"data",
         u"Data"_s,
         {},
         {},
         u"A text file, a folder of them, a token file (.bin), or the word synthetic for random "
         u"tokens."_s},
        {"tokenizer",
         u"Tokenizer"_s,
         {},
         {},
         u"The word bytes, or a byte-level BPE: its folder, its tokenizer.json or its "
         u"vocabulary file."_s}};
}

std::vector<RunFieldText> trainingTexts() {
    return {
        {"steps", u"Steps"_s, {}, {}, u"How many times the parameters change."_s},
        {"learning_rate",
         u"Learning rate"_s,
         {},
         u"the largest"_s,
         u"How far a step goes at most; reached at the end of the warm-up."_s},
        {"schedule", u"Schedule"_s, {}, {}, u"What the learning rate does after the warm-up."_s},
        {"warmup_steps", u"Warm-up"_s, u"steps"_s, u"rising to the largest"_s,
         u"The learning rate grows in a line from nothing over these steps."_s},
        {"minimum_learning_rate",
         u"Last learning rate"_s,
         {},
         u"where the schedule ends"_s,
         u"What the learning rate has come down to at the last step."_s},
        {"weight_decay",
         u"Weight decay"_s,
         {},
         {},
         u"Draws parameters towards nothing at every step, as AdamW does."_s},
        {"clip",
         u"Clip gradient norm"_s,
         {},
         u"0: never"_s,
         u"Gradients of a larger norm are scaled down to it."_s},
        {"seed", u"Seed"_s, {}, {}, u"Of the first weights and the choice of batches."_s},
        {"decay_embeddings",
         u"Decay embeddings"_s,
         {},
         {},
         u"Weight decay on the tables of tokens and positions too."_s},
        {"decay_vectors",
         u"Decay norms"_s,
         {},
         {},
         u"Weight decay on the weights and biases of norms too."_s}};
}

std::vector<RunFieldText> validationTexts() {
    return {
        {"evaluate_every", u"Validate every"_s, u"steps"_s, u"0: never"_s,
         u"After so many steps the loss on the held back data is measured."_s},
        {"evaluate_batches",
         u"Validation"_s,
         u"batches a rank"_s,
         {},
         u"How much of the held back data a validation pass looks at."_s},
        {"held_back", u"Held back"_s, u"share"_s, u"of the data"_s,
         u"The end of the data that is not trained on but used for validation."_s},
        {"sample", u"Sample"_s, u"tokens"_s, u"0: none"_s,
         u"After each validation pass the model writes so many tokens into the log."_s},
        {"prompt", u"Prompt"_s, {}, u"\\n: a new line"_s, u"What the model's text starts with."_s},
        {"temperature",
         u"Temperature"_s,
         {},
         u"0: the likeliest"_s,
         u"How freely the model chooses its next token."_s}};
}

std::vector<RunFieldText> checkpointTexts() {
    return {
        {"checkpoint",
         u"Write checkpoints to"_s,
         {},
         {},
         u"A folder for checkpoints of this run; they continue at any number of ranks."_s},
        {"checkpoint_every", u"Checkpoint every"_s, u"steps"_s, u"0: at the end only"_s,
         u"How many steps lie between checkpoints."_s},
        {"keep_checkpoints", u"Keep"_s, u"checkpoints"_s, u"the newest"_s,
         u"Older ones are removed once a new one is whole."_s},
        {"resume",
         u"Resume from"_s,
         {},
         {},
         u"A checkpoint, or a folder of them, of which the newest is taken; the model has to be "
         u"the same."_s},
        {"weights",
         u"Start from weights"_s,
         {},
         {},
         u"A safetensors file with GPT-2's names or this program's."_s}};
}

std::vector<RunFieldText> recordingTexts() {
    return {{"capture", u"Capture"_s, {}, {}, u"How much of the run is recorded."_s},
            {"device_capture",
             u"Capture on the device"_s,
             {},
             {},
             u"How much of what GPUs do is recorded."_s},
            {"alternate_capture",
             u"Every other step only"_s,
             {},
             {},
             u"Records every other step, so that the cost of recording can be measured."_s},
            {"capture_steps",
             u"Detail of steps"_s,
             {},
             u"empty: all; or like 10-20,500-520"_s,
             u"Only these steps are traced in detail; of others times and metrics are kept."_s},
            {"capture_every",
             u"Detail of every"_s,
             u"steps"_s,
             u"0: all"_s,
             u"Only every N-th step is traced in detail."_s},
            {"capture_slow",
             u"Detail of slow steps"_s,
             u"x median"_s,
             u"0: of all steps"_s,
             u"Keeps detail only of steps that take so many times the median, and beside them."_s},
            {"max_size",
             u"Largest recording"_s,
             {},
             u"empty: no limit; or like 2GB"_s,
             u"When the file nears it the oldest steps lose detail; steps and metrics stay."_s},
            {"max_rate",
             u"Largest growth"_s,
             {},
             u"empty: no limit; or like 2MB/s"_s,
             u"The same for the average growth of the file."_s},
            {"calibrate",
             u"Measure the peak first"_s,
             {},
             {},
             u"Times matrix products before the first step: what MFU is a share of."_s},
            {"output",
             u"Save the recording as"_s,
             {},
             {},
             u"Everything the run does goes into this one file."_s}};
}

bool isWordCharacter(QChar c) {
    return c.isLetterOrNumber() || c == u'-' || c == u'_';
}

/// Where `word` stands by itself in `text`; -1: nowhere.
qsizetype findWord(const QString& text, const QString& word, qsizetype from = 0) {
    for (qsizetype at = text.indexOf(word, from); at >= 0; at = text.indexOf(word, at + 1)) {
        const qsizetype end = at + word.size();
        const bool whole = (at == 0 || !isWordCharacter(text[at - 1])) &&
                           (end == text.size() || !isWordCharacter(text[end]));
        if (whole) return at;
    }
    return -1;
}

QString flagOf(const RunFieldText& text) {
    const control::RunField* field = control::findRunField(text.key);
    return field != nullptr ? QString::fromLatin1(field->flag) : QString();
}

/// "bucket-mb is 0; ...": a limit's sentence begins with the flag without its dashes.
bool beginsWithFlag(const QString& sentence, const QString& flag) {
    return sentence.startsWith(flag.mid(2) + u" is "_s);
}

}  // namespace

QString RunFieldText::label() const {
    return unit.isEmpty() ? name : u"%1, %2"_s.arg(name, unit);
}

const std::vector<RunFieldText>& runFieldTexts() {
    static const std::vector<RunFieldText> kTexts = [] {
        std::vector<RunFieldText> all;
        for (const auto& part :
             {modelTexts(), strategyTexts(), communicationTexts(), precisionTexts(), dataTexts(),
              trainingTexts(), validationTexts(), checkpointTexts(), recordingTexts()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return kTexts;
}

const RunFieldText* findRunFieldText(std::string_view key) {
    const auto& all = runFieldTexts();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const RunFieldText& text) { return key == text.key; });
    return found != all.end() ? &*found : nullptr;
}

QString inFormWords(const QString& sentence) {
    QString words = sentence;
    for (const RunFieldText& text : runFieldTexts()) {
        const QString flag = flagOf(text);
        if (flag.isEmpty()) continue;
        const QString quoted = u"“%1”"_s.arg(text.name);
        if (beginsWithFlag(words, flag)) words.replace(0, flag.size() - 2, quoted);
        for (qsizetype at = findWord(words, flag); at >= 0; at = findWord(words, flag, at))
            words.replace(at, flag.size(), quoted);
    }
    return words.isEmpty() || words.endsWith(u'.') ? words : words + u'.';
}

std::vector<std::string_view> fieldsNamedIn(const QString& sentence) {
    std::multimap<qsizetype, std::string_view> found;
    for (const RunFieldText& text : runFieldTexts()) {
        const QString flag = flagOf(text);
        if (flag.isEmpty()) continue;
        const qsizetype at = beginsWithFlag(sentence, flag) ? 0 : findWord(sentence, flag);
        if (at >= 0) found.emplace(at, text.key);
    }
    std::vector<std::string_view> keys;
    for (const auto& [at, key] : found) keys.push_back(key);
    return keys;
}

}  // namespace shardscope::desktop
