//! Plays the text: the front ends that are named, on every placement. Prints a table; its exit status says whether everything held.

use clap::Parser;
use quintet_conformance::behaviour::Behaviour;
use quintet_conformance::behaviours;
use quintet_conformance::clinda;
use quintet_conformance::cluster::Cluster;
use quintet_conformance::driver::FrontEnd;
use quintet_conformance::placement::{Embedded, Link, Placement, Served};
use quintet_conformance::player::Player;
use quintet_conformance::replicas::Replicated;
use quintet_conformance::table::{Cell, play, table};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a tuple space does, in one text: plays it with the drivers of front ends, on every placement.
#[derive(Parser)]
struct Arguments {
    /// A front end: its name and its driver's command, `python=.venv/bin/python,tests/conformance/drivers/python_sync.py`.
    #[arg(long = "driver", value_name = "NAME=COMMAND", required_unless_present = "write_clinda", value_parser = front_end)]
    drivers: Vec<FrontEnd>,
    /// The driver of C-Linda, NAME=COMMAND: plays the clients of which C-Linda can say all that they do; the first of the others plays the rest.
    #[arg(long, value_name = "NAME=COMMAND", value_parser = front_end)]
    clinda: Option<FrontEnd>,
    /// Writes the program of which the driver of C-Linda is made to this file, and plays nothing.
    #[arg(long, value_name = "FILE")]
    write_clinda: Option<PathBuf>,
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
    let arguments = Arguments::parse();
    if let Some(file) = &arguments.write_clinda {
        return write_clinda(file);
    }
    match run(&arguments) {
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

fn write_clinda(file: &Path) -> ExitCode {
    let program = behaviours().map(|behaviours| clinda::program(&behaviours));
    match program
        .and_then(|text| std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display())))
    {
        Ok(()) => ExitCode::SUCCESS,
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
    let mut rows: Vec<Row> = arguments.drivers.iter().map(Row::alone).collect();
    if arguments.mixed {
        let front_ends = arguments.drivers.clone();
        rows.push(Row { name: "mixed".to_owned(), front_ends, clinda: None });
    }
    let with_clinda =
        |clinda: &FrontEnd| Row { clinda: Some(clinda.clone()), ..Row::alone(&arguments.drivers[0]) };
    rows.extend(arguments.clinda.as_ref().map(with_clinda));
    let (mut placements, variables) = placements(arguments)?;
    // Two halves at a time: a player waits for its placement half of the time.
    let others = placements.split_off(placements.len().div_ceil(2));
    let play_all = |placements| play_all(placements, &rows, &variables, &behaviours);
    let (mut cells, others) = std::thread::scope(|scope| {
        let others = scope.spawn(|| play_all(others));
        (play_all(placements), others.join())
    });
    cells.extend(others.map_err(|_| "the players of half of the placements panicked")?);
    Ok(cells)
}

/// Has all rows that play them play these placements.
fn play_all(
    placements: Vec<Box<dyn Placement>>,
    rows: &[Row],
    variables: &[(String, PathBuf)],
    behaviours: &[Behaviour],
) -> Vec<Cell> {
    // Drivers stay from one placement to the next: to start one takes longer than most behaviours.
    let mut players: Vec<Player> = rows.iter().map(|row| row.player(variables)).collect();
    let mut cells = Vec::new();
    for mut placement in placements {
        for (row, player) in rows.iter().zip(&mut players) {
            if !row.plays(placement.name()) {
                continue;
            }
            let name = row.name();
            let cell = play(name, player, placement.as_mut(), behaviours, &|failure| {
                eprintln!("{name}: {failure}");
            });
            eprintln!("{} {}: {:.1} s", cell.front_end, cell.placement, cell.took.as_secs_f64());
            cells.push(cell);
        }
    }
    cells
}

/// A row of the table.
struct Row {
    name: String,
    front_ends: Vec<FrontEnd>,
    clinda: Option<FrontEnd>,
}

impl Row {
    fn alone(front_end: &FrontEnd) -> Row {
        Row { name: front_end.name.clone(), front_ends: vec![front_end.clone()], clinda: None }
    }

    fn name(&self) -> &str {
        self.clinda.as_ref().map_or(&self.name, |clinda| &clinda.name)
    }

    /// In one process there is one front end. A program in C-Linda ends without a word, which a cluster's machines notice after the resume window: each behaviour would wait
    /// for that before the space is empty.
    fn plays(&self, placement: &str) -> bool {
        match placement {
            "embedded" => self.front_ends.len() == 1 && self.clinda.is_none(),
            "cluster" => self.clinda.is_none(),
            _ => true,
        }
    }

    fn player(&self, variables: &[(String, PathBuf)]) -> Player {
        let player = Player::new(&self.front_ends, variables);
        match &self.clinda {
            Some(clinda) => player.with_clinda(clinda.clone()),
            None => player,
        }
    }
}

/// The placements, and what drivers find in their environment for them.
type Prepared = (Vec<Box<dyn Placement>>, Vec<(String, PathBuf)>);

const LINKS: [Link; 9] = [
    Link::SharedMemory,
    Link::Unix,
    Link::Tcp,
    Link::Tls,
    Link::Kernel,
    Link::Recorded,
    Link::Logged,
    Link::Managers,
    Link::ManagersBehindKernel,
];

fn placements(arguments: &Arguments) -> Result<Prepared, String> {
    let (mut placements, mut variables): Prepared = (vec![Box::new(Embedded)], Vec::new());
    for link in LINKS {
        let mut served = Served::over(link)?;
        variables.extend(served.variables()?);
        placements.push(Box::new(served));
    }
    placements.push(Box::new(Replicated::new()?));
    if let Some(quintet) = arguments.quintet.as_ref().filter(|_| "cluster".contains(&arguments.on)) {
        placements.push(Box::new(Cluster::found(quintet)?));
    }
    placements.retain(|placement| placement.name().contains(&arguments.on));
    Ok((placements, variables))
}
