//! The note of a file: a section of its own in the object, which the link reads and leaves out of the program.

use crate::note::Note;
use crate::object::SECTION;

/// What has the assembler write it.
pub(super) fn section(note: &Note) -> String {
    let lines: String =
        note.lines().iter().map(|line| format!("\n    \".ascii \\\"{}\\\"\\n\"", quoted(line))).collect();
    format!(
        "\n/* What quintet clc looks at when it links. */\n#ifdef __ELF__\n__asm__(\n    \".pushsection {SECTION},\\\"e\\\",%progbits\\n\"{lines}\n    \".popsection\");\n#endif\n"
    )
}

/// A text as the assembler reads it in a text of C: what either would take for something else is a number.
fn quoted(text: &str) -> String {
    let quote = |byte: u8| match byte {
        // Two question marks begin a trigraph.
        b'"' | b'\\' | b'?' => format!("\\\\{byte:03o}"),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\\\{byte:03o}"),
    };
    text.bytes().map(quote).collect()
}
