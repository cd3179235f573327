//! How a testbed is made, and removed with everything that is of it.

use super::folders::{self, Folders};
use super::machine::{Machine, is_outside};
use super::namespaces::{self, namespaces_refused};
use super::network::hardware_address;
use super::plan::Plan;
use super::process::{ProcessName, boot};
use super::request::Request;
use super::state::{MAX_TESTBEDS, MachineState, Mode, SUBNET_BITS, State, address};
use super::switch::Switch;
use super::{Testbed, TestbedError};
use rustix::process::geteuid;
use std::fs::{File, remove_dir_all};
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

/// What the process that carries packets says when something is wrong.
const SWITCH_LOG: &str = "switch.log";

/// Makes a testbed. With a command for its switch it stays; without one it is this process', which is its switch as well.
///
/// # Errors
/// See [`Testbed::up`].
pub(super) fn make(plan: &Plan, switch: Option<Command>) -> Result<Testbed, TestbedError> {
    plan.check()?;
    is_outside()?;
    let stays = switch.is_some();
    // From here on, whatever is not finished is removed when it is dropped.
    let (mode, refused) = mode(plan)?;
    let mut testbed = Testbed { state: claim(plan, mode)?, switch: None, is_owned: true, refused };
    for machine in testbed.machines() {
        machine.make_folders()?;
    }
    if testbed.state.mode == Mode::Namespaces {
        join_machines(&mut testbed, switch)?;
    }
    if stays {
        testbed.state.owner = None;
    }
    testbed.state.write()?;
    testbed.is_owned = !stays;
    Ok(testbed)
}

/// Makes the namespaces and the network between them.
fn join_machines(testbed: &mut Testbed, switch: Option<Command>) -> Result<(), TestbedError> {
    // Those of a testbed of this name whose folder was removed. Nobody has them any more: this one has the name.
    remove_namespaces(&testbed.state)?;
    namespaces::add(&namespace_names(&testbed.state))?;
    match switch {
        Some(command) => testbed.state.switch = Some(start_switch(&testbed.state, command)?),
        None => testbed.switch = Some(be_switch(&testbed.state)?),
    }
    (0..testbed.state.machines.len()).try_for_each(|machine| configure(&testbed.state, machine))
}

/// Carries packets in a thread of this process.
fn be_switch(state: &State) -> Result<JoinHandle<()>, TestbedError> {
    let mut switch = Switch::open(state.clone())?;
    let thread = thread::Builder::new().name(format!("switch of {}", state.name)).spawn(move || {
        // It fails only if the system has no memory for it; whoever asks it learns that it has ended.
        let _ = switch.run();
    });
    thread.map_err(TestbedError::system("start a thread for the switch"))
}

/// What stands for machines, and why there are no namespaces if that is the reason.
fn mode(plan: &Plan) -> Result<(Mode, Option<String>), TestbedError> {
    let missing = || if plan.mode == Some(Mode::Loopback) { None } else { namespaces_refused() };
    match (plan.mode, missing()) {
        (Some(Mode::Namespaces), Some(why)) => Err(TestbedError::NotAllowed { why }),
        (Some(mode), _) => Ok((mode, None)),
        (None, None) => Ok((Mode::Namespaces, None)),
        (None, why) => Ok((Mode::Loopback, why)),
    }
}

/// Takes the name and a subnet, as this process': should it be killed, the rest is removed by the next one.
fn claim(plan: &Plan, mode: Mode) -> Result<State, TestbedError> {
    let folders = Folders::lock()?;
    let others = remove_dead(&folders)?;
    let folder = folders.of(&plan.name);
    if folder.symlink_metadata().is_ok() {
        return Err(TestbedError::Exists { name: plan.name.clone() });
    }
    let is_free = |subnet: &u8| !others.iter().any(|other| other.subnet == *subnet);
    let full = || {
        TestbedError::BadValue(format!(
            "{MAX_TESTBEDS} testbeds are up: remove some with `quintet testbed down`"
        ))
    };
    // Users begin at different ones: addresses of the loopback are everybody's.
    let first = geteuid().as_raw() % u32::from(MAX_TESTBEDS);
    let subnets = (0..MAX_TESTBEDS).map(|next| ((first + u32::from(next)) % u32::from(MAX_TESTBEDS)) as u8);
    let subnet = subnets.into_iter().find(is_free).ok_or_else(full)?;
    let machine = |(number, name): (usize, &String)| MachineState {
        name: name.clone(),
        address: address(mode, subnet, number),
        bits: SUBNET_BITS,
    };
    let state = State {
        name: plan.name.clone(),
        folder: folder.clone(),
        mode,
        subnet,
        boot: boot(),
        seed: plan.seed,
        packet_bytes: plan.packet_bytes,
        machines: plan.machines.iter().enumerate().map(machine).collect(),
        owner: ProcessName::of(std::process::id()),
        switch: None,
    };
    folders::make(&folder)?;
    state.write().inspect_err(|_| drop(remove_dir_all(&folder)))?;
    Ok(state)
}

/// Starts the process that carries packets, and waits until it does.
fn start_switch(state: &State, mut command: Command) -> Result<ProcessName, TestbedError> {
    let doing = "start the switch";
    let log = state.folder.join(SWITCH_LOG);
    let said = File::create(&log).map_err(TestbedError::system(doing))?;
    command.arg(&state.folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(said).current_dir("/");
    let mut process = command.spawn().map_err(TestbedError::system(doing))?;
    let mut line = String::new();
    let read = process.stdout.take().map(|output| BufReader::new(output).read_line(&mut line));
    match (read, ProcessName::of(process.id())) {
        (Some(Ok(1..)), Some(name)) => Ok(name),
        _ => {
            // It says nothing any more: should it be there, nobody needs it.
            let _ = (process.kill(), process.wait());
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            Err(TestbedError::system(doing)(said.lines().next().unwrap_or("it ended without a word")))
        }
    }
}

/// Gives a machine's device its address.
///
/// # Errors
/// The system refused.
pub(super) fn configure(state: &State, machine: usize) -> Result<(), TestbedError> {
    let MachineState { address, bits, .. } = &state.machines[machine];
    let namespace = state.namespace_name(&state.machines[machine]);
    namespaces::configure(
        &namespace,
        hardware_address(state.subnet, machine),
        (*address, *bits),
        state.packet_bytes,
    )
}

fn namespace_names(state: &State) -> Vec<String> {
    state.machines.iter().map(|machine| state.namespace_name(machine)).collect()
}

/// Removes the testbeds that nobody has any more. Those that are left.
fn remove_dead(folders: &Folders) -> Result<Vec<State>, TestbedError> {
    let mut left = Vec::new();
    for (folder, state) in folders.all()? {
        match state {
            // What does not go keeps its subnet; whoever removes testbeds by name is told why.
            Ok(state) if state.is_dead() && remove(&state).is_ok() => {}
            Ok(state) => left.push(state),
            // Whoever made the folder was killed before there was anything to write down.
            Err(TestbedError::NotUp { .. }) => remove_folder(&folder)?,
            // Another testbed's damage does not keep this one from being made.
            Err(_) => {}
        }
    }
    Ok(left)
}

/// See [`Testbed::down_by_name`].
pub(super) fn remove_by_name(name: &str) -> Result<(), TestbedError> {
    is_outside()?;
    let folders = Folders::lock()?;
    let state = State::read(&folders.of(name));
    // After this one is known to have been there: of what is dead it may be one.
    let left = remove_dead(&folders)?;
    let state = state?;
    match state.owner.filter(|_| !state.is_dead()) {
        Some(owner) => Err(TestbedError::Owned { testbed: state.name, process: owner.number }),
        None if left.contains(&state) => remove(&state),
        None => Ok(()),
    }
}

/// See [`Testbed::down_all`].
pub(super) fn remove_all() -> Result<(Vec<String>, Vec<String>), TestbedError> {
    is_outside()?;
    let folders = Folders::lock()?;
    let (mut removed, mut stay) = (Vec::new(), Vec::new());
    for (folder, state) in folders.all()? {
        match state {
            Ok(state) if state.owner.is_some() && !state.is_dead() => stay.push(state.name),
            Ok(state) => {
                remove(&state)?;
                removed.push(state.name);
            }
            Err(TestbedError::NotUp { name }) => {
                remove_folder(&folder)?;
                removed.push(name);
            }
            Err(error) => return Err(error),
        }
    }
    Ok((removed, stay))
}

/// Removes everything that is of a testbed, its folder last: what is left after an error is found again.
///
/// # Errors
/// A process does not end, or the system refused.
pub(super) fn remove(state: &State) -> Result<(), TestbedError> {
    // After a start of the kernel nothing but the folder is left, and its processes' numbers are others'.
    if state.boot == boot() {
        end_processes(state)?;
        stop_switch(state)?;
        if state.mode == Mode::Namespaces {
            namespaces::remove(&namespace_names(state))?;
        }
    }
    remove_folder(&state.folder)
}

fn remove_namespaces(state: &State) -> Result<(), TestbedError> {
    end_processes(state)?;
    namespaces::remove(&namespace_names(state))
}

fn end_processes(state: &State) -> Result<(), TestbedError> {
    // A namespace that is gone has no processes that could be found.
    let marks = state.machines.iter().filter_map(|machine| Machine::new(state, machine).mark().ok());
    marks.into_iter().try_for_each(|mark| mark.kill())
}

fn stop_switch(state: &State) -> Result<(), TestbedError> {
    let testbed = Testbed { state: state.clone(), switch: None, is_owned: false, refused: None };
    match (state.mode, state.switch) {
        (Mode::Loopback, _) => Ok(()),
        // It is a thread of a process, which may have ended.
        (_, None) => match testbed.ask(&Request::Stop) {
            Err(TestbedError::SwitchEnded { .. }) => Ok(()),
            asked => asked.map(drop),
        },
        (_, Some(process)) => process.kill(),
    }
}

fn remove_folder(folder: &Path) -> Result<(), TestbedError> {
    match remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(TestbedError::system(format!("remove {}", folder.display()))(error))
        }
        _ => Ok(()),
    }
}
