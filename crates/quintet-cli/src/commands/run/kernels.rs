//! `--kernels`: a kernel a machine, through which the processes of the job there ask its space.

use super::launch::{Launch, link_variables};
use super::machine::Machine;
use quintet::{Error, Kernel, KernelConfig, LinkAddress, LinkConfig};
use quintet_launch::{Program, Start};
use std::path::Path;
use std::sync::Arc;
use std::thread;

/// Where that of another machine listens, in the job's folder there.
const PLACE: &str = "quintet-kernel";

/// Starts that of this machine, between the space at this address and the processes here.
///
/// # Errors
/// As [`Kernel::start`].
pub(super) fn here(
    space: LinkAddress,
    cluster: u128,
    link: LinkConfig,
    folder: &Path,
) -> Result<Kernel, Error> {
    let config = KernelConfig { cluster, link, ..KernelConfig::default() };
    Kernel::start(&[LinkAddress::SharedMemory(folder.join("kernel"))], space, &config)
}

/// Starts those of the other machines that start workers, on all of them at a time.
///
/// # Errors
/// One of them cannot be started, or does not reach the space.
pub(super) fn elsewhere(launch: &Launch) -> Result<(), Error> {
    let machines: Vec<&Arc<Machine>> =
        launch.hosts.machines().filter(|machine| machine.left_out().is_none()).collect();
    thread::scope(|scope| {
        let begin = |machine| scope.spawn(move || Machine::begin_kernel(machine, start(launch), PLACE));
        let begun: Vec<_> = machines.into_iter().map(begin).collect();
        begun.into_iter().try_for_each(|kernel| kernel.join().expect("it does not panic"))
    })
}

/// What the agent of a machine is asked to start.
fn start(launch: &Launch) -> Start {
    let (space, listen) = (launch.address_elsewhere.to_string(), format!("shm:{PLACE}"));
    let words = ["kernel".to_owned(), "--space".to_owned(), space, "--listen".to_owned(), listen];
    // No argument: those can be read by every user of the machine.
    let cluster = ("QUINTET_CLUSTER".to_owned(), launch.cluster.to_string());
    let variables = link_variables(&launch.link).into_iter().chain([cluster]);
    Start {
        arguments: words.map(String::into_bytes).to_vec(),
        environment: variables.map(|(name, value)| (name.into_bytes(), value.into_bytes())).collect(),
        ..Start::new("kernel", Program::Path(b"quintet".to_vec()))
    }
}
