//! The header, by `cbindgen`, and what it declares.

use super::AREAS;
use std::path::Path;

/// Handles that any threads may use: they have a state of their own, and no call promises not to change it.
const HANDLES: [&str; 21] = [
    "quintet_lab",
    "quintet_space",
    "quintet_spaces",
    "quintet_lease",
    "quintet_group",
    "quintet_listing",
    "quintet_waiting",
    "quintet_clients",
    "quintet_partitions",
    "quintet_hot_keys",
    "quintet_replicas",
    "quintet_watch",
    "quintet_pending",
    "quintet_server",
    "quintet_buffer",
    "quintet_handler",
    "quintet_call",
    "quintet_evals",
    "quintet_eval",
    "quintet_isonet",
    "quintet_isochron",
];

/// Something that the header declares.
pub(super) struct Declaration {
    pub(super) name: String,
    /// Its comment, without stars.
    pub(super) comment: String,
    /// As it stands there, to the semicolon.
    pub(super) code: String,
}

impl Declaration {
    /// Whether it is a function, and not a type.
    pub(super) fn is_function(&self) -> bool {
        !self.code.starts_with("typedef")
    }
}

/// The text of `include/quintet.h`.
///
/// # Errors
/// What `cbindgen` could not read.
pub(super) fn generate(folder: &Path) -> Result<String, String> {
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"))?;
    let sources = AREAS.iter().flat_map(|area| area.sources);
    let builder = sources.fold(cbindgen::Builder::new().with_config(config), |builder, source| {
        builder.with_src(folder.join("src").join(source).with_extension("rs"))
    });
    let bindings = builder.generate().map_err(|error| format!("the C library's header: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let mut text = String::from_utf8(text).map_err(|error| error.to_string())?;
    // A shared reference of Rust is `const` in C, which would say more than is meant.
    for handle in HANDLES {
        text = text.replace(&format!("const {handle} *"), &format!("{handle} *"));
    }
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    Ok(text)
}

/// The functions and types of a header.
pub(super) fn declarations(header: &str) -> Vec<Declaration> {
    let mut found = Vec::new();
    let mut lines = header.lines();
    let mut comment = String::new();
    while let Some(line) = lines.next() {
        if line == "/**" {
            let text = lines.by_ref().take_while(|line| *line != " */");
            let text: Vec<&str> = text.map(|line| line.trim_start_matches(" *").trim_start()).collect();
            comment = text.join("\n");
        } else if line.starts_with("typedef")
            || line.starts_with(|first: char| first.is_ascii_alphabetic()) && line.contains('(')
        {
            let mut code = line.to_owned();
            while !code.ends_with(';') || code.matches('{').count() != code.matches('}').count() {
                let Some(next) = lines.next() else { break };
                code = format!("{code}\n{next}");
            }
            found.push(Declaration { name: name(&code), comment: std::mem::take(&mut comment), code });
        }
    }
    found
}

/// The name that code declares.
fn name(code: &str) -> String {
    let pointer = code.split_once("(*").map(|(_, rest)| rest);
    let place = match pointer {
        Some(rest) if code.starts_with("typedef") => rest.split(')').next(),
        _ if code.starts_with("typedef") => code.trim_end_matches(';').split([' ', '\n']).next_back(),
        _ => code.split('(').next().and_then(|before| before.split([' ', '*']).next_back()),
    };
    place.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_types_are_found_with_their_comments() {
        let header = "\
/**
 * An enumeration.
 */
typedef enum {
    /**
     * One.
     */
    A = 1,
} an_enum;

typedef bool (*a_check)(void *argument);

#ifdef __cplusplus
extern \"C\" {
#endif

/**
 * Does it.
 *
 * Fails.
 */
const char *do_it(a_lab *lab,
                  size_t count);
";
        let found = declarations(header);
        let names: Vec<(&str, bool)> = found.iter().map(|one| (&*one.name, one.is_function())).collect();
        assert_eq!(names, [("an_enum", false), ("a_check", false), ("do_it", true)]);
        assert_eq!(found[2].comment, "Does it.\n\nFails.");
        assert!(found[0].code.ends_with("} an_enum;") && found[2].code.ends_with("count);"));
    }
}
