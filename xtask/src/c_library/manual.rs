//! Manual pages, in the macros of man(7).

use super::header::Declaration;
use std::fmt::Write;

/// What stands at the end of every page.
const SEE_ALSO: &str = ".SH SEE ALSO\n.BR quintet (3)\n";

/// The page of an area: its text is the module documentation of `source`.
///
/// # Errors
/// The documentation does not begin with `NAME - what it is`.
pub(super) fn page(name: &str, source: &str, declarations: &[&Declaration]) -> Result<String, String> {
    let text: Vec<&str> = source
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let text = text.join("\n");
    let (first, description) = text.split_once("\n\n").unwrap_or((&text, ""));
    let summary = first.strip_prefix(name).and_then(|rest| rest.strip_prefix(" - "));
    let summary = summary.ok_or_else(|| {
        format!("{name}: its documentation begins with {first:?}, and not with {name} - ...")
    })?;
    let functions: Vec<&&Declaration> = declarations.iter().filter(|one| one.is_function()).collect();
    let names: Vec<&str> = functions.iter().map(|one| &*one.name).collect();
    let mut page = format!(
        ".\\\" Written by `cargo xtask docs` from bindings/c/src; edit that.\n.TH {} 3 \"\" \"quintet {}\" \"Library functions\"\n.nh\n",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION")
    );
    let _ = write!(page, ".SH NAME\n{}, {} \\- {}\n", name, names.join(", "), escaped(summary));
    page.push_str(".SH SYNOPSIS\n.nf\n.B #include <quintet.h>\n.PP\n");
    for declaration in declarations {
        page.push_str(&code(&without_comments(&declaration.code)));
        page.push_str(".PP\n");
    }
    page.push_str(".fi\n.SH DESCRIPTION\n");
    page.push_str(&prose(description));
    for function in functions {
        let _ = write!(page, ".SS {}()\n{}", function.name, prose(&function.comment));
    }
    page.push_str(SEE_ALSO);
    Ok(page)
}

/// A declaration without the comments of its parts; those of a struct become what stands behind a part.
fn without_comments(code: &str) -> String {
    let mut kept = Vec::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "/**" {
            let words: Vec<&str> = lines
                .by_ref()
                .take_while(|line| line.trim() != "*/")
                .map(|line| line.trim().trim_start_matches("* "))
                .collect();
            kept.push(format!("    /* {} */", words.join(" ")));
        } else {
            kept.push(line.to_owned());
        }
    }
    kept.join("\n")
}

/// Paragraphs with `code`, *emphasis*, **strong words** and blocks of code between three backticks.
fn prose(text: &str) -> String {
    let mut page = String::new();
    for (index, part) in text.split("```").enumerate() {
        if index % 2 == 1 {
            // Behind the first backticks stands the language.
            let (_, lines) = part.split_once('\n').unwrap_or_default();
            let _ = write!(page, ".PP\n.in +4n\n.EX\n{}.EE\n.in\n", code(lines.trim_end()));
            continue;
        }
        for paragraph in part.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
            page.push_str(".PP\n");
            for line in paragraph.lines() {
                let _ = writeln!(page, "{}", guarded(&marked(&escaped(line))));
            }
        }
    }
    page
}

/// Lines as they are.
fn code(text: &str) -> String {
    text.lines().map(|line| guarded(&escaped(line)) + "\n").collect()
}

/// Characters that mean something in a manual page.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// A line that would be a macro.
fn guarded(line: &str) -> String {
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() }
}

/// The marks of Markdown as fonts.
fn marked(line: &str) -> String {
    let mut page = String::new();
    for (index, part) in line.split('`').enumerate() {
        if index % 2 == 1 {
            let _ = write!(page, "\\fB{part}\\fR");
        } else {
            let strong = alternating(part, "**", "\\fB");
            page.push_str(&alternating(&strong, "*", "\\fI"));
        }
    }
    page
}

fn alternating(text: &str, mark: &str, font: &str) -> String {
    let parts: Vec<&str> = text.split(mark).collect();
    if parts.len().is_multiple_of(2) {
        return text.to_owned();
    }
    let set = |(index, part): (usize, &&str)| {
        if index % 2 == 1 { format!("{font}{part}\\fR") } else { (*part).to_owned() }
    };
    parts.iter().enumerate().map(set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_sections_of_every_manual_page() {
        let function = Declaration {
            name: "area_do".to_owned(),
            comment: "Does `it`, *once*.\n\nFails with 1*2-3.".to_owned(),
            code: "int area_do(void);".to_owned(),
        };
        let source =
            "//! area - an area\n//!\n//! What it is.\n//!\n//! ```c\n//! .a \\n;\n//! ```\nuse x;\n";
        let page = page("area", source, &[&function]).expect("it begins with its name");
        assert!(page.contains(".SH NAME\narea, area_do \\- an area\n"), "{page}");
        assert!(
            page.contains(".SH SYNOPSIS\n.nf\n.B #include <quintet.h>\n.PP\nint area_do(void);\n.PP\n.fi\n")
        );
        assert!(
            page.contains(".SH DESCRIPTION\n.PP\nWhat it is.\n.PP\n.in +4n\n.EX\n\\&.a \\en;\n.EE\n.in\n")
        );
        assert!(
            page.contains(".SS area_do()\n.PP\nDoes \\fBit\\fR, \\fIonce\\fR.\n.PP\nFails with 1*2\\-3.\n")
        );
        assert!(super::page("other", source, &[]).is_err(), "another name");
    }
}
