//! Rust source without what the compiler does not run: comments, the insides of literals, tests.

/// The source with every comment and every character inside a string or character literal blanked out. Lines stay where they are.
pub(crate) fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = literal_or_comment(rest, code.chars().next_back());
        match length {
            0 => {
                code.push(first);
                rest = &rest[first.len_utf8()..];
            }
            length => {
                code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
                rest = &rest[length..];
            }
        }
    }
    code
}

/// Bytes of the comment or literal that `rest` begins with; 0 if it begins with neither.
fn literal_or_comment(rest: &str, before: Option<char>) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    let inside_a_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with('r') && !inside_a_word {
        return raw_string(&rest[1..]).map_or(0, |length| length + 1);
    }
    match rest.as_bytes()[0] {
        b'"' => quoted(rest, b'"').unwrap_or(rest.len()),
        b'\'' => character(rest),
        _ => 0,
    }
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    let bytes = rest.as_bytes();
    while at < bytes.len() {
        match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Bytes of a raw string without its `r`, if it is one.
fn raw_string(rest: &str) -> Option<usize> {
    let hashes = rest.bytes().take_while(|byte| *byte == b'#').count();
    let body = rest[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&end).map_or(rest.len(), |at| hashes + 1 + at + end.len()))
}

/// Bytes up to and including the closing quote.
fn quoted(rest: &str, quote: u8) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// A character literal; 0 for a lifetime.
fn character(rest: &str) -> usize {
    let mut inside = rest[1..].chars();
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => quoted(rest, b'\'').unwrap_or(rest.len()),
        (Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 0,
    }
}

/// Blanks every item under `#[cfg(test)]`, from code without comments and literals.
pub(crate) fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let (mut kept, mut rest) = (String::new(), code);
    while let Some(at) = rest.find(MARK) {
        let (before, item) = rest.split_at(at);
        kept.push_str(before);
        let length = item_length(item);
        kept.extend(item[..length].chars().filter(|c| *c == '\n'));
        rest = &item[length..];
    }
    kept + rest
}

/// Bytes up to the end of an item: its semicolon, or the brace that closes it.
fn item_length(item: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in item.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

/// Whether `word` occurs in `line` and is not part of a longer one. A `word` may be a path.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank() {
        let source = "a // unsafe\n/* x /* unsafe */ y */ b \"unsafe \\\" unsafe\" r#\"unsafe\"# '\"' 'a c";
        let code = code_only(source);
        assert_eq!(code.len(), source.len());
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "b", "'a", "c"]);
        assert_eq!(code.lines().count(), 2);
    }

    #[test]
    fn tests_are_left_out_and_what_follows_them_is_not() {
        let code = "a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\nmod more {\n fn f() {}\n}\nc";
        assert_eq!(without_tests(code), "a\n\n\nb\n\n\n\n\nc");
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("unsafe {", "unsafe"));
        assert!(!has_word("forbid(unsafe_code)", "unsafe"));
        assert!(has_word("use std::net::TcpStream", "std::net"));
    }
}
