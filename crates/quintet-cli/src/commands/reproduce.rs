//! `quintet reproduce`.

mod what_if;

use crate::output::{first, print};
use crate::whole_file;
use clap::{ArgGroup, Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use quintet::Error;
use quintet_reproduce::{Start, thomas_1991};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
#[command(
    group = ArgGroup::new("what").required(true),
    after_help = "--simulated compares cell by cell: what is printed, ours, and what the naive predictor has, which copies the row that was fitted. It says of each whether its row was fitted or predicted, and if it is set aside, because the paper contradicts it, why. Counts are given twice: without the cells set aside, and of every cell, with those as missed. --parameters adds the inferred parameters: how much changes if one is a tenth less or more, and how many cells move by more than a twentieth of their tolerance. --starts 8 fits them anew from eight starts, as it was done for the values in use, and tells what each came to and how far they are from each other: the least sum of squares over the fitted cells is chosen, whatever it predicts.\n--what-if answers the questions that the study left open, with the same fitted model: several clients, several compute heads, the DRIVER model, today's machines and network. It says of each row what bounds it, of each difference whether it is significant, and of each finding whether it is the same without the model's one factor that is not understood.\nA terminal shows how far it is; all questions with three seeds take a minute or two on two processors.\ndocs/reproductions/ tells what each study found.\n\nExample:\n  quintet reproduce thomas-1991 --simulated\n  quintet reproduce thomas-1991 --simulated --parameters\n  quintet reproduce thomas-1991 --simulated --starts 8\n  quintet reproduce thomas-1991 --simulated --json\n  quintet reproduce thomas-1991 --simulated --html thomas-1991.html\n  quintet reproduce thomas-1991 --what-if\n  quintet reproduce thomas-1991 --what-if --question today --json\n  quintet reproduce thomas-1991 --what-if --seeds 5 --html what-if.html"
)]
pub(crate) struct Arguments {
    /// Which study
    #[arg(value_enum)]
    study: Study,
    /// The study's simulated tables, by simulation
    #[arg(long, group = "what")]
    simulated: bool,
    /// The questions that the study left open, by simulation
    #[arg(long, group = "what")]
    what_if: bool,
    /// With --simulated: the inferred parameters as well, and what rests on each; takes half a minute
    #[arg(long, conflicts_with = "what_if")]
    parameters: bool,
    /// With --simulated: fit the inferred parameters anew from so many starts; takes a minute or more for each
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "what_if", value_parser = clap::value_parser!(u64).range(0..=1000))]
    starts: u64,
    /// With --what-if: this question only; may be given several times [default: all]
    #[arg(long, value_enum, value_name = "QUESTION", conflicts_with = "simulated")]
    question: Vec<what_if::Asked>,
    /// Over how many seeds ours are means
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Write a page for a browser, too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print a JSON object a cell (--what-if: a row), one a line, and one that sums them up
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Study {
    /// A vector processor served over Ethernet and FDDI: tables 6.2 to 6.7
    #[value(name = "thomas-1991")]
    Thomas1991,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let Study::Thomas1991 = arguments.study;
    if arguments.what_if {
        return what_if::run(arguments);
    }
    let mut report = thomas_1991::reproduce(arguments.seeds);
    if arguments.parameters {
        report.parameters = thomas_1991::sensitivities(&report);
    }
    report.starts = fits(arguments);
    let text = match arguments.json {
        true => report.objects().iter().map(|object| format!("{object}\n")).collect(),
        false => report.to_string(),
    };
    show(&text, arguments.html.as_deref(), || report.html())
}

/// The fits that were asked for; a terminal shows how far they are.
fn fits(arguments: &Arguments) -> Vec<Start> {
    let bar = ProgressBar::new(arguments.starts);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} starts, {eta} left");
    bar.set_style(style.expect("the template is well-formed"));
    bar.enable_steady_tick(Duration::from_millis(500));
    let fit = |number| {
        let start = thomas_1991::fit(number, arguments.seeds);
        bar.inc(1);
        start
    };
    let starts = (0..arguments.starts).map(fit).collect();
    bar.finish_and_clear();
    starts
}

/// Prints the results before it writes the page, so that no page's failure loses them.
///
/// # Errors
/// Standard output takes no more; the page cannot be written.
fn show(text: &str, file: Option<&Path>, page: impl FnOnce() -> String) -> Result<ExitCode, Error> {
    let shown = print(text).map(drop);
    let written = file.map_or(Ok(()), |file| {
        whole_file::write(file, |to| {
            to.write_all(page().as_bytes()).map_err(|error| whole_file::refused(file, &error))
        })
    });
    first([shown, written].into_iter().filter_map(Result::err))?;
    Ok(ExitCode::SUCCESS)
}
