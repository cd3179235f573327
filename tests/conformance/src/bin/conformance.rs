//! Plays the text: the front ends that are named, on every placement. Prints a table; its exit status says whether everything held.

use clap::Parser;
use quintet_conformance::behaviours;
use quintet_conformance::cluster::Cluster;
use quintet_conformance::driver::FrontEnd;
use quintet_conformance::placement::{Embedded, Link, Placement, Served};
use quintet_conformance::player::Player;
use quintet_conformance::table::{Cell, play, table};
use std::path::PathBuf;
use std::process::ExitCode;

/// What a tuple space does, in one text: plays it with the drivers of front ends, on every placement.
#[derive(Parser)]
struct Arguments {
    /// A front end: its name and its driver's command, `python=.venv/bin/python,tests/conformance/drivers/python_sync.py`.
    #[arg(long = "driver", value_name = "NAME=COMMAND", required = true, value_parser = front_end)]
    drivers: Vec<FrontEnd>,
    /// Plays each behaviour once more with clients of different front ends: the first client has the first, and so on.
    #[arg(long)]
    mixed: bool,
    /// The command `quintet`, for the space of a cluster; without it that placement is left out.
    #[arg(long, value_name = "PATH")]
    quintet: Option<PathBuf>,
    /// Only behaviours in whose file's name or heading this text is.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Only placements in whose name this text is.
    #[arg(long, value_name = "TEXT", default_value = "")]
    on: String,
}

fn front_end(text: &str) -> Result<FrontEnd, String> {
    let (name, command) = text.split_once('=').ok_or("expected NAME=COMMAND")?;
    Ok(FrontEnd { name: name.to_owned(), command: command.split(',').map(PathBuf::from).collect() })
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(cells) => {
            print!("{}", table(&cells));
            if cells.iter().all(Cell::is_good) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(text) => {
            eprintln!("conformance: {text}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<Vec<Cell>, String> {
    let mut behaviours = behaviours()?;
    let only = &arguments.only;
    behaviours.retain(|behaviour| behaviour.file.contains(only) || behaviour.name.contains(only));
    if behaviours.is_empty() {
        return Err(format!("no behaviour has {only:?} in its name"));
    }
    let mut rows: Vec<(String, Vec<FrontEnd>)> =
        arguments.drivers.iter().map(|driver| (driver.name.clone(), vec![driver.clone()])).collect();
    if arguments.mixed {
        rows.push(("mixed".to_owned(), arguments.drivers.clone()));
    }
    let mut cells = Vec::new();
    for (mut placement, variables) in placements(arguments)? {
        for (name, front_ends) in &rows {
            // In one process there is one front end.
            if front_ends.len() > 1 && placement.name() == "embedded" {
                continue;
            }
            let mut player = Player::new(front_ends, &variables);
            let cell = play(name, &mut player, placement.as_mut(), &behaviours, &|failure| {
                eprintln!("{name}: {failure}");
            });
            eprintln!("{} {}: {:.1} s", cell.front_end, cell.placement, cell.took.as_secs_f64());
            cells.push(cell);
        }
    }
    Ok(cells)
}

/// A placement, and what drivers find in their environment there.
type Prepared = (Box<dyn Placement>, Vec<(String, PathBuf)>);

fn placements(arguments: &Arguments) -> Result<Vec<Prepared>, String> {
    let mut placements: Vec<Prepared> = vec![(Box::new(Embedded), Vec::new())];
    for link in [Link::SharedMemory, Link::Unix, Link::Tcp, Link::Tls, Link::Kernel, Link::Recorded] {
        let mut served = Served::over(link)?;
        let variables = served.variables()?;
        placements.push((Box::new(served), variables));
    }
    if let Some(quintet) = arguments.quintet.as_ref().filter(|_| "cluster".contains(&arguments.on)) {
        placements.push((Box::new(Cluster::found(quintet)?), Vec::new()));
    }
    placements.retain(|(placement, _)| placement.name().contains(&arguments.on));
    Ok(placements)
}
