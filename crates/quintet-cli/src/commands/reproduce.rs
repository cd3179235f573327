//! `quintet reproduce`.

use clap::{Args, ValueEnum};
use quintet::Error;
use quintet_errors::Code;
use quintet_reproduce::{Report, thomas_1991};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Compares cell by cell, and says of each whether it was fitted, predicted or set aside, and why.\ndocs/reproductions/ tells what each study found.\n\nExample:\n  quintet reproduce thomas-1991 --simulated\n  quintet reproduce thomas-1991 --simulated --json\n  quintet reproduce thomas-1991 --simulated --html thomas-1991.html"
)]
pub(crate) struct Arguments {
    /// Which study
    #[arg(value_enum)]
    study: Study,
    /// The study's simulated tables, by simulation
    #[arg(long, required = true)]
    simulated: bool,
    /// Over how many seeds ours are means
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Write a page for a browser, too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print a JSON object a cell, one a line, and one that sums them up
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
    let report = thomas_1991::reproduce(arguments.seeds);
    if let Some(file) = &arguments.html {
        std::fs::write(file, report.html())
            .map_err(|error| Error::new(Code::BadFile, format!("{}: {error}", file.display())))?;
    }
    print(&report, arguments.json);
    Ok(ExitCode::SUCCESS)
}

fn print(report: &Report, json: bool) {
    if json {
        report.objects().iter().for_each(|object| println!("{object}"));
    } else {
        print!("{report}");
    }
}
