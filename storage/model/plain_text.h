// Text of other processes, hosts and files, made fit for a terminal.
//
// A terminal obeys control characters: ESC ] 0 ; sets its title, CSI moves its cursor, a carriage
// return lets one line pass for another. Names in traces, messages of ranks and agents and what
// other hosts say may hold them, by accident or by intent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardscope {

/// Bytes of the character at the front of `text`, which is not empty; 0: it is a control character
/// (C0, DEL or C1, newline and tab among them, and those of Unicode that reorder or end a line), a
/// value that is never a character, or not UTF-8.
[[nodiscard]] std::size_t plainCharacter(std::string_view text);

/// Lines of text: of each control character but newline and tab, and of what is not UTF-8, each
/// byte is spelled, `\x1b`, so that two texts stay two. Other text stays as it is.
[[nodiscard]] std::string printable(std::string text);

/// The same as one line: newline, carriage return and tab become blanks.
[[nodiscard]] std::string printableLine(std::string text);

/// printable() text of several lines within lines of ours: those after the first are indented, so
/// that none passes for one of ours.
[[nodiscard]] std::string quotedLines(std::string text);

/// A whole document for a terminal whose cells are made printable already; JSON keeps its meaning:
/// what is left of control characters becomes `\u001b`. Line ends stay, "\r\n" too.
[[nodiscard]] std::string printableDocument(std::string text);

/// A field of CSV as RFC 4180 has it, quoted where needed; but for "\r\n" as printable().
[[nodiscard]] std::string csvField(std::string text);

/// A name as one line of Markdown: nothing in it is markup, HTML or the end of a cell. An
/// underscore within a word is none, nor is an asterisk between blanks.
[[nodiscard]] std::string markdownText(std::string text);
/// The same of a sentence, in which what stands in backquotes stays code.
[[nodiscard]] std::string markdownSentence(std::string text);

// Bytes that may be no UTF-8, as file names may, in text that must be: JSON.
//
// A byte that belongs to no character becomes the private character U+10FE00 + byte. No standard
// assigns those; where a name has one of them nevertheless its bytes are written in the same way,
// so that the way back always gives what was there.

[[nodiscard]] bool isUtf8(std::string_view bytes);
[[nodiscard]] std::string utf8OfBytes(std::string_view bytes);
[[nodiscard]] std::string bytesOfUtf8(std::string_view text);

/// "_Z3addi" -> "add(int)"; what is not mangled, or cannot be demangled, unchanged; so are
/// very long ones, and those that may stand for far more than they are.
[[nodiscard]] std::string demangled(std::string_view mangled);

}  // namespace shardscope
