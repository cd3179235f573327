//! Every command line of `quintet` in the documents is one that it understands.

use crate::CommandLine;
use clap::Parser;
use std::fs;
use std::path::{Path, PathBuf};

/// What ends a command in a line of a shell.
const SEPARATORS: [&str; 8] = ["&&", "||", ";", "|", "&", "done", "do", "then"];

#[test]
fn every_command_in_the_documents_is_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for page in pages(&root) {
        let text = fs::read_to_string(&page).expect("a document is text");
        for (number, line) in shell_lines(&text) {
            for command in commands(line) {
                count += 1;
                if let Err(error) = CommandLine::try_parse_from(&command)
                    && error.use_stderr()
                {
                    panic!("{}:{number}: {}\n{error}", page.display(), command.join(" "));
                }
            }
        }
    }
    assert!(count > 80, "commands were looked for in the wrong place: {count} found");
}

fn pages(root: &Path) -> Vec<PathBuf> {
    let of_folder = |folder: &str| {
        let entries = fs::read_dir(root.join(folder)).expect("it is a folder of the repository");
        entries.map(|entry| entry.expect("it can be listed").path()).collect::<Vec<_>>()
    };
    let mut pages =
        [of_folder("docs"), of_folder("docs/reproductions"), of_folder("crates/quintet-cli")].concat();
    pages.push(root.join("README.md"));
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages
}

/// The lines of blocks for a shell, with their numbers.
fn shell_lines(text: &str) -> Vec<(usize, &str)> {
    let mut language = None;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            language = if language.is_some() { None } else { info.split(' ').next() };
        } else if matches!(language, Some("sh" | "console")) {
            found.push((index + 1, line));
        }
    }
    found
}

/// The commands of `quintet` in a line, those among them that another command starts.
fn commands(line: &str) -> Vec<Vec<String>> {
    let words = words(line);
    let begins = |index: usize| {
        let before = index.checked_sub(1).map(|before| words[before].as_str());
        words[index] == "quintet"
            && before.is_none_or(|before| {
                SEPARATORS.contains(&before)
                    || matches!(before, "--" | "until" | "env")
                    || before.contains('=')
            })
    };
    let ends = |word: &String| SEPARATORS.contains(&word.as_str()) || word.contains('>');
    let from = (0..words.len()).filter(|index| begins(*index));
    from.map(|index| words[index..].iter().take_while(|word| !ends(word)).cloned().collect()).collect()
}

/// The words of a line, without its comment. What is quoted, or in `$(...)`, stays together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut depth) = (Vec::new(), String::new(), None, 0);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '#') if word.is_empty() => break,
            (None, ' ' | ';') if depth == 0 => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                words.extend((letter == ';').then(|| ";".to_owned()));
            }
            _ => {
                depth += i32::from(letter == '(') - i32::from(letter == ')');
                word.push(letter);
            }
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[test]
fn commands_are_found_in_lines() {
    let found = |line: &str| commands(line).iter().map(|words| words.join(" ")).collect::<Vec<_>>();
    assert_eq!(found("quintet init lab && quintet up   # on a"), ["quintet init lab", "quintet up"]);
    assert_eq!(found("A=b quintet status >/dev/null 2>&1; sleep 1"), ["quintet status"]);
    assert_eq!(
        found("on b -- quintet join lab@a \"$(token x)\" --name 'b c'"),
        ["quintet join lab@a $(token x) --name b c"]
    );
    assert_eq!(
        found("quintet testbed exec a -- quintet status &"),
        ["quintet testbed exec a -- quintet status", "quintet status"]
    );
    assert_eq!(found("echo quintet; man quintet"), [""; 0]);
}
