//! `quintet reproduce`.

mod isotach;
mod linda_lan;
mod what_if;

use crate::chart::{self, Line, Point};
use crate::output::{first, print};
use crate::whole_file;
use clap::{ArgGroup, Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use quintet::{Code, Error};
use quintet_reproduce::linda_lan::DrawnLine;
use quintet_reproduce::{Start, thomas_1991};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

pub(crate) use linda_lan::SideArguments;

#[derive(Args)]
#[command(
    group = ArgGroup::new("what").required(true),
    after_help = "--simulated compares cell by cell: what is printed, ours, and what the naive predictor has, which copies the row that was fitted. It says of each whether its row was fitted or predicted, and if it is set aside, because the paper contradicts it, why. Counts are given twice: without the cells set aside, and of every cell, with those as missed. --parameters adds the inferred parameters: how much changes if one is a tenth less or more, and how many cells move by more than a twentieth of their tolerance. --starts 8 fits them anew from eight starts, as it was done for the values in use, and tells what each came to and how far they are from each other: the least sum of squares over the fitted cells is chosen, whatever it predicts.\n--what-if answers the questions that the study left open, with the same fitted model: several clients, several compute heads, the DRIVER model, today's machines and network. It says of each row what bounds it, of each difference whether it is significant, and of each finding whether it is the same without the model's one factor that is not understood.\nA terminal shows how far it is; all questions with three seeds take a minute or two on two processors.\ndocs/reproductions/ tells what each study found.\n\nlinda-lan --live runs the experiment of the Linda-LAN report here: jmatrix (dimensions 10 to 50 with 5 workers, 1 to 16 workers at dimension 10) and jblock (10,000 blocks of 32 to 320,000 bytes), each process by itself, over TCP on this machine and over TLS on two of a testbed, with two packets a message and with one in turn. It tells medians and quartiles, jblock's line, what an operation costs in time, processor and waits, and how far one packet is faster, beside what is printed. Two machines take root (quintet testbed). --quick takes some seconds. --kernels measures instead what kernels (quintet kernel) do to jmatrix at dimension 20, with 1 to 64 processes and one kernel a machine. --one-processor keeps the processes of a machine on one processor, as a DEC 5000 had.\nlinda-lan --simulated has the same figures from a model of two DEC 5000, each parameter with where it is from; L-Kernels against direct connections for 1 to 64 processes; and workers until more are slower.\n\nisotach-1.0 --simulated has the figures of the study of the Isotach prototype: this project's isochrons, agreed and safe, and its plain messages on a model of the study's machines, fitted to what is printed of the messages below them alone, beside what is printed of the prototype, which is another protocol. And what is beyond the paper: up to 10,000 hosts and 625 switches of today, a host that is slow, links that vary, wires that lose frames. It takes a minute or two; --quick, with fewer packets and hosts, some seconds.\nisotach-1.0 --live runs the study's experiments here, as quintet bench isotach does: members of isonets, each a process, over shared memory and over TCP on this machine; round trips and streams of isochrons and of plain messages, isochrons of 1 to 16 messages, a receiver with 4 senders, what a send costs, a read of another's variable, and plain messages while others send isochrons. Each printed value stands beside the median of ours with quartiles, and why they differ. Runs take turns, and ratios are taken within a turn.\n\nExample:\n  quintet reproduce thomas-1991 --simulated\n  quintet reproduce thomas-1991 --simulated --parameters\n  quintet reproduce thomas-1991 --simulated --starts 8\n  quintet reproduce thomas-1991 --simulated --json\n  quintet reproduce thomas-1991 --simulated --html thomas-1991.html\n  quintet reproduce thomas-1991 --what-if\n  quintet reproduce thomas-1991 --what-if --question today --json\n  quintet reproduce thomas-1991 --what-if --seeds 5 --html what-if.html\n  quintet reproduce linda-lan --live --html report.html\n  quintet reproduce linda-lan --live --quick --machines 1 --json\n  quintet reproduce linda-lan --live --one-processor\n  quintet reproduce linda-lan --live --kernels --machines 1\n  quintet reproduce linda-lan --simulated --html simulated.html\n  quintet reproduce isotach-1.0 --simulated --html isotach.html\n  quintet reproduce isotach-1.0 --simulated --quick --json\n  quintet reproduce isotach-1.0 --live --html live.html\n  quintet reproduce isotach-1.0 --live --quick --json"
)]
pub(crate) struct Arguments {
    /// Which study
    #[arg(value_enum)]
    study: Study,
    /// The study's tables or figures, by simulation
    #[arg(long, group = "what")]
    simulated: bool,
    /// The questions that the study left open, by simulation
    #[arg(long, group = "what")]
    what_if: bool,
    /// The study's experiment, run on this machine
    #[arg(long, group = "what")]
    live: bool,
    /// With --live, and of isotach-1.0 with --simulated: few and small runs, in some seconds
    #[arg(long, conflicts_with = "what_if")]
    quick: bool,
    /// With --live: how many turns there are, each with every run [default: linda-lan 10, isotach-1.0 9; with --quick 2]
    #[arg(long, value_name = "N", requires = "live", conflicts_with_all = ["simulated", "what_if"], value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: Option<u32>,
    /// With linda-lan --live: on one machine or on two [default: on both, if there may be two]
    #[arg(long, value_name = "N", requires = "live", conflicts_with_all = ["simulated", "what_if"], value_parser = clap::value_parser!(u8).range(1..=2))]
    machines: Option<u8>,
    /// With linda-lan --live: the paper's open question instead: jmatrix through kernels and by direct connections, with 1 to 64 processes, and through kernels with two packets a message
    #[arg(long, requires = "live", conflicts_with_all = ["simulated", "what_if"])]
    kernels: bool,
    /// With linda-lan --live: each machine has one processor, as the paper's had: all its processes stay on that
    #[arg(long, requires = "live", conflicts_with_all = ["simulated", "what_if"])]
    one_processor: bool,
    /// With linda-lan --live: write a table of all runs, too
    #[arg(long, value_name = "FILE", requires = "live", conflicts_with_all = ["simulated", "what_if", "kernels"])]
    csv: Option<PathBuf>,
    /// With --simulated: the inferred parameters as well, and what rests on each; takes half a minute
    #[arg(long, conflicts_with_all = ["what_if", "live"])]
    parameters: bool,
    /// With --simulated: fit the inferred parameters anew from so many starts; takes a minute or more for each
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["what_if", "live"], value_parser = clap::value_parser!(u64).range(0..=1000))]
    starts: u64,
    /// With --what-if: this question only; may be given several times [default: all]
    #[arg(long, value_enum, value_name = "QUESTION", conflicts_with_all = ["simulated", "live"])]
    question: Vec<what_if::Asked>,
    /// With --simulated and --what-if: over how many seeds ours are means
    #[arg(long, default_value_t = 3, value_name = "N", conflicts_with = "live", value_parser = clap::value_parser!(u64).range(1..=1000))]
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
    /// One packet against two in Linda-LAN: figures 5.1 to 5.6
    #[value(name = "linda-lan")]
    LindaLan,
    /// Isochrons on the machines of Isotach 1.0: figures 5.3 to 5.13
    #[value(name = "isotach-1.0")]
    Isotach10,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    match (arguments.study, arguments.live) {
        (Study::Isotach10, true) if arguments.is_of_linda_lan() => Err(not_there(
            "isotach-1.0 --live has neither --machines nor --kernels nor --one-processor nor --csv: all its members are on this machine",
        )),
        (Study::Isotach10, true) => isotach::live(arguments),
        (Study::Isotach10, false) if arguments.is_of_thomas() => Err(not_there(
            "isotach-1.0 has --live and --simulated, with neither --what-if nor --parameters nor --starts: its parameters stand in every report",
        )),
        (Study::Isotach10, false) => isotach::simulated(arguments),
        (Study::LindaLan | Study::Thomas1991, false) if arguments.quick => Err(not_there(
            "--quick is of --live, and of isotach-1.0 --simulated: what is simulated of this study has no shorter form",
        )),
        (Study::LindaLan, true) if arguments.kernels => linda_lan::kernels::live(arguments),
        (Study::LindaLan, true) => linda_lan::live(arguments),
        (Study::Thomas1991, false) if arguments.what_if => what_if::run(arguments),
        (Study::Thomas1991, false) => simulated(arguments),
        (Study::LindaLan, false) if arguments.is_of_thomas() => Err(not_there(
            "linda-lan has --live and --simulated, with neither --what-if nor --parameters nor --starts: its parameters stand in every report",
        )),
        (Study::LindaLan, false) => linda_lan::simulated(arguments),
        (Study::Thomas1991, true) => {
            Err(not_there("thomas-1991 is simulated only: --simulated or --what-if"))
        }
    }
}

impl Arguments {
    /// Whether something is asked for that only the study of Thomas has.
    fn is_of_thomas(&self) -> bool {
        self.what_if || self.parameters || self.starts > 0
    }

    /// Whether something is asked for that only the live study of Linda-LAN has.
    fn is_of_linda_lan(&self) -> bool {
        self.machines.is_some() || self.kernels || self.one_processor || self.csv.is_some()
    }
}

/// A way that a study does not have.
fn not_there(text: &str) -> Error {
    Error::new(Code::BadValue, text)
}

/// The tables of Thomas 1991.
fn simulated(arguments: &Arguments) -> Result<ExitCode, Error> {
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

/// Lines as an SVG element.
fn draw(title: &str, across: &str, up: &str, lines: &[DrawnLine]) -> String {
    let line = |(name, points): &DrawnLine| Line {
        name: name.clone(),
        points: points.iter().map(|&(x, mean, half_width)| Point { x, mean, half_width }).collect(),
    };
    chart::draw(title, across, up, &lines.iter().map(line).collect::<Vec<Line>>())
}
