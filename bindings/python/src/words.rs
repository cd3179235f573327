//! Types in Python's words: tuples are described in the words of Rust, which a space shares with all its clients.

/// A description of tuples, templates or signatures, with the types as Python names them: `?i64` becomes `int`, `f32[2]`
/// becomes `float32[2]`. What stands in quotation marks stays.
pub(crate) fn in_python(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => quoted_len(rest),
            '?' if word_len(&rest[1..]) > 0 => {
                rest = &rest[1..];
                continue;
            }
            _ => word_len(rest).max(first.len_utf8()),
        };
        let (part, after) = rest.split_at(len);
        said.push_str(name(part, after.starts_with('[')));
        rest = after;
    }
    said
}

/// Bytes of the text in quotation marks with which this begins.
fn quoted_len(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, char) in text.char_indices().skip(1) {
        match char {
            '"' if !is_escaped => return index + 1,
            _ => is_escaped = char == '\\' && !is_escaped,
        }
    }
    text.len()
}

/// Bytes of the word with which this begins.
fn word_len(text: &str) -> usize {
    text.find(|char: char| !char.is_ascii_alphanumeric()).unwrap_or(text.len())
}

/// Python's name for a type, or the word itself.
fn name(word: &str, is_of_array: bool) -> &str {
    match word {
        "i64" if is_of_array => "int64",
        "f64" if is_of_array => "float64",
        "i64" => "int",
        "f64" => "float",
        "i8" => "int8",
        "i16" => "int16",
        "i32" => "int32",
        "u8" => "uint8",
        "u16" => "uint16",
        "u32" => "uint32",
        "u64" => "uint64",
        "f32" => "float32",
        "text" => "str",
        "binary" => "bytes",
        "true" => "True",
        "false" => "False",
        other => other,
    }
}
