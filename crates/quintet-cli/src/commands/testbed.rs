//! `quintet testbed`: several machines on this one.
//!
//! What is done is done by the crate `quintet-testbed`, which tests use as well; here it is asked for and shown.
//!
//! | file | holds |
//! | --- | --- |
//! | `testbed.rs` | what each command does: read this first |
//! | `testbed/arguments.rs` | the arguments |
//! | `testbed/values.rs` | times, shares, rates and sizes as they are written |
//! | `testbed/show.rs` | how a testbed is, for people and for programs |

mod arguments;
mod show;
mod values;

pub(crate) use arguments::Arguments;
pub(crate) use values::{share, time};

use crate::connection::refused as system_refused;
use crate::output::{print, print_json, print_line, tell};
use arguments::{
    Command, DownArguments, ExecArguments, LineArguments, NameArguments, ShowArguments, UpArguments,
};
use quintet::{Code, Error};
use quintet_testbed::{Mode, Plan, Testbed, TestbedError, run_switch};
use serde_json::json;
use std::io::stdout;
use std::os::unix::process::CommandExt;
use std::process::{self, ExitCode};

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    match &arguments.command {
        Command::Up(up) => make(up),
        Command::Exec(exec) => Err(become_command(exec)),
        Command::Cut(cut) => on_lines(&cut.lines, |testbed| testbed.cut(&cut.lines.lines())),
        Command::Slow(slow) => {
            on_lines(&slow.lines, |testbed| testbed.slow(&slow.lines.lines(), slow.delay, slow.jitter))
        }
        Command::Lose(lose) => on_lines(&lose.lines, |testbed| testbed.lose(&lose.lines.lines(), lose.loss)),
        Command::Reorder(reorder) => on_lines(&reorder.lines, |testbed| {
            testbed.reorder(&reorder.lines.lines(), reorder.part, reorder.by)
        }),
        Command::Rate(rate) => {
            on_lines(&rate.lines, |testbed| testbed.limit(&rate.lines.lines(), rate.rate, rate.queue))
        }
        Command::Heal(heal) => on(&heal.testbed, |testbed| testbed.heal(&heal.lines())),
        Command::Show(show) => print_report(show),
        Command::Freeze(freeze) => on(&freeze.testbed, |testbed| testbed.freeze(&freeze.machine)),
        Command::Thaw(thaw) => on(&thaw.testbed, |testbed| testbed.thaw(&thaw.machine)),
        Command::Kill(kill) => on(&kill.testbed, |testbed| testbed.kill(&kill.machine)),
        Command::Readdress(readdress) => on(&readdress.testbed, |testbed| {
            let (address, bits) = readdress.address;
            testbed.readdress(&readdress.machine, address, bits)
        }),
        Command::Down(down) => remove(down),
        Command::Switch(switch) => {
            run_switch(&switch.folder, stdout()).map_err(refused)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn make(up: &UpArguments) -> Result<ExitCode, Error> {
    let plan = Plan {
        mode: up.loopback.then_some(Mode::Loopback),
        seed: up.seed,
        packet_bytes: up.packet_bytes,
        ..Plan::new(&up.testbed.name, &up.machines)
    };
    let this = std::env::current_exe().map_err(system_refused("find this program"))?;
    let mut switch = process::Command::new(this);
    switch.args(["testbed", "switch"]);
    let testbed = Testbed::start(&plan, switch).map_err(refused)?;
    if let Some(why) = testbed.refused() {
        tell(format!(
            "no network namespaces here: {why}\nthe machines are addresses of the loopback: their lines cannot be cut, slowed or made lossy"
        ));
    }
    if up.json {
        print_line(show::made(&testbed))?;
    } else {
        print(&introduction(&testbed))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Which machines there are, and how to run something on one.
fn introduction(testbed: &Testbed) -> String {
    let machines = testbed.machines();
    let lines = machines.iter().map(|machine| format!("{:<12} {}\n", machine.name(), machine.address()));
    let name = match testbed.name() {
        "testbed" => String::new(),
        name => format!(" --name {name}"),
    };
    let first = machines.first().map_or("MACHINE", |machine| machine.name());
    let lines: String = lines.collect();
    format!(
        "{lines}\nrun a command on one: quintet testbed exec{name} {first} -- COMMAND\nremove them:          quintet testbed down{name}\n"
    )
}

/// Returns only if it failed.
fn become_command(exec: &ExecArguments) -> Error {
    let [program, rest @ ..] = &exec.command[..] else {
        return Error::new(Code::BadValue, "no program is named");
    };
    let machine = Testbed::open(&exec.testbed.name).and_then(|testbed| testbed.machine(&exec.machine));
    match machine.and_then(|machine| machine.command(program)) {
        Err(error) => refused(error),
        Ok(mut command) => {
            let error = command.args(rest).exec();
            let entered = command.get_program().display().to_string();
            Error::new(Code::Resource, format!("{entered} cannot be started: {error}"))
        }
    }
}

/// Does something to a testbed.
fn on(
    testbed: &NameArguments,
    act: impl FnOnce(&mut Testbed) -> Result<(), TestbedError>,
) -> Result<ExitCode, Error> {
    let mut testbed = Testbed::open(&testbed.name).map_err(refused)?;
    act(&mut testbed).map_err(refused)?;
    Ok(ExitCode::SUCCESS)
}

fn on_lines(
    lines: &LineArguments,
    act: impl FnOnce(&mut Testbed) -> Result<(), TestbedError>,
) -> Result<ExitCode, Error> {
    on(&lines.testbed, act)
}

fn print_report(arguments: &ShowArguments) -> Result<ExitCode, Error> {
    let testbed = Testbed::open(&arguments.testbed.name).map_err(refused)?;
    let report = testbed.report().map_err(refused)?;
    if arguments.json {
        print_json(&show::as_json(&testbed, &report))?;
    } else {
        print(&show::as_table(&testbed, &report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn remove(arguments: &DownArguments) -> Result<ExitCode, Error> {
    let name = &arguments.testbed.name;
    let (removed, left) = if arguments.all {
        Testbed::down_all().map_err(refused)?
    } else {
        Testbed::down_by_name(name).map_err(refused)?;
        (vec![name.clone()], Vec::new())
    };
    if arguments.json {
        print_json(&json!({"removed": removed, "left": left}))?;
    } else if removed.is_empty() {
        print_line("there is no testbed")?;
    } else {
        print_line(format_args!("removed, with all that ran there: {}", removed.join(", ")))?;
    }
    if !left.is_empty() {
        tell(format!("left to the running programs that they belong to: {}", left.join(", ")));
    }
    Ok(ExitCode::SUCCESS)
}

fn refused(error: TestbedError) -> Error {
    Error::new(error.code(), error.to_string())
}
