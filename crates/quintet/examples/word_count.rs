//! Counts the words of a folder's files: one task a file, and workers that lease tasks.
//!
//! `cargo run --release -p quintet --example word_count -- [FOLDER] [WORKERS]`: threads are the workers, everything is in this process.
//! `quintet run -n 4 target/release/examples/word_count [FOLDER]`: the workers are processes. Afterwards the counts are compared with
//! those of `sort | uniq -c`.

use quintet::{Job, Lab, Space, template, tuple};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

type Counts = BTreeMap<String, i64>;
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "/usr/share/common-licenses".to_owned());
    let threads = arguments.next().and_then(|number| number.parse().ok()).unwrap_or(4);
    match run(Path::new(&folder), threads) {
        Ok(None) => {}
        Ok(Some(words)) => {
            println!("main job: ok, {words} different words, the same counts as sort | uniq -c")
        }
        Err(error) => {
            println!("main job: FAILED, {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The master gives the number of words. A worker gives none; `threads` are the workers of a master without others.
fn run(folder: &Path, threads: u32) -> Outcome<Option<usize>> {
    let (job, lab) = (Job::from_environment()?, Lab::from_environment()?);
    if job.rank.is_some() {
        work(&lab.space())?;
        return Ok(None);
    }
    let files = files(folder)?;
    let threads = if job.workers == 0 { threads } else { 0 };
    let counts = count_words(&lab, &files, job.workers, threads)?;
    let mut most: Vec<(&String, &i64)> = counts.iter().collect();
    most.sort_by_key(|(word, count)| (-**count, *word));
    most.iter().take(10).for_each(|(word, count)| println!("{count:>8} {word}"));
    compare(&counts, &count_with_shell(&files)?)?;
    Ok(Some(counts.len()))
}

/// Regular files, links left out: they would be counted twice.
fn files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// The master: tasks go out, counts come back. Then every worker is told to stop.
fn count_words(lab: &Lab, files: &[PathBuf], processes: u32, threads: u32) -> Outcome<Counts> {
    let threads: Vec<_> = (0..threads)
        .map(|_| {
            let space = lab.space();
            thread::spawn(move || work(&space))
        })
        .collect();
    let space = lab.space();
    for file in files {
        space.out(tuple!["file", file.display().to_string()])?;
    }
    let mut counts = Counts::new();
    for _ in files {
        // A row holds all words of a file, one a line, with their counts beside them.
        let row = space.take(&template!["counts", ?str, ?quintet::ArrayOf<i64, 1>])?.into_values();
        let [_, words, numbers] = row.try_into().map_err(|_| "a row of three fields")?;
        let numbers =
            quintet::Array::try_from(numbers)?.elements::<i64>().ok_or("counts are whole numbers")?;
        for (word, number) in String::try_from(words)?.lines().zip(numbers) {
            *counts.entry(word.to_owned()).or_default() += number;
        }
    }
    for _ in 0..processes as usize + threads.len() {
        space.out(tuple!["file", ""])?;
    }
    threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a worker panicked")?)?;
    Ok(counts)
}

/// A worker: takes a file at a time, under a lease, until it takes the empty name.
fn work(space: &Space) -> Outcome<()> {
    loop {
        let lease = space.lease(&template!["file", ?str], None)?;
        let path = String::try_from(lease.tuple()[1].clone())?;
        if path.is_empty() {
            return Ok(lease.acknowledge(&[])?);
        }
        let mut counts = Counts::new();
        for word in words(&std::fs::read(path)?) {
            *counts.entry(word).or_default() += 1;
        }
        let (words, numbers): (Vec<String>, Vec<i64>) = counts.into_iter().unzip();
        let numbers = quintet::Array::from_elements(&[numbers.len() as u64], &numbers)?;
        // The task goes and its result comes at one instant.
        lease.acknowledge(&[tuple!["counts", words.join("\n"), numbers]])?;
    }
}

/// Runs of letters of the alphabet, in lower case.
fn words(text: &[u8]) -> impl Iterator<Item = String> + '_ {
    let runs = text.split(|byte| !byte.is_ascii_alphabetic()).filter(|run| !run.is_empty());
    runs.map(|run| String::from_utf8_lossy(run).to_ascii_lowercase())
}

/// The same with the programs that every system has.
fn count_with_shell(files: &[PathBuf]) -> Outcome<Counts> {
    let pipeline = "cat \"$@\" | tr -cs A-Za-z '\\n' | tr A-Z a-z | grep . | sort | uniq -c";
    let output = Command::new("sh").args(["-c", pipeline, "sh"]).args(files).env("LC_ALL", "C").output()?;
    let lines = String::from_utf8(output.stdout)?;
    let count = |line: &str| {
        let (number, word) = line.trim().split_once(' ')?;
        Some((word.to_owned(), number.parse().ok()?))
    };
    lines.lines().map(|line| count(line).ok_or_else(|| format!("not a count: {line}").into())).collect()
}

fn compare(ours: &Counts, theirs: &Counts) -> Outcome<()> {
    match ours.iter().find(|(word, count)| theirs.get(*word) != Some(count)) {
        Some((word, count)) => Err(format!("{word}: {count} here, {:?} there", theirs.get(word)).into()),
        None if ours.is_empty() || ours.len() != theirs.len() => {
            Err(format!("{} words here, {} there", ours.len(), theirs.len()).into())
        }
        None => Ok(()),
    }
}
