//! `quintet kernel`.

use crate::connection::ClusterArguments;
use crate::descriptors;
use crate::interrupt::on_interrupt;
use crate::metrics::Part;
use crate::output::tell;
use crate::telemetry::TelemetryArguments;
use clap::Args;
use quintet::{Error, Kernel, KernelConfig, LinkAddress, LinkConfig, SpaceAddress};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often is looked whether somebody has asked to end, and between two tries to reach a server that has gone.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Args)]
#[command(
    after_help = "Programs on this machine name the kernel's address as that of the space (QUINTET_SPACE, --space), and need not know that it is a kernel. The server then has one connection to this machine, however many they are. What is asked and answered costs one hop more: ask directly where the server is not short of connections. quintet reproduce linda-lan measures both.\n\nIf the server ends, the kernel's clients are told as if they had asked it directly, and the kernel looks for the server for link.resume_window_ms before it ends: clients of a logged space go on when it is back. A replicated space is asked without a kernel, and so is one whose managers are processes of their own.\n\nExamples:\n  quintet kernel --space tls:big:7400 --listen /run/user/1000/quintet-kernel\n  QUINTET_SPACE=/run/user/1000/quintet-kernel python3 worker.py\n  quintet kernel --space quintet://lab --listen unix:/tmp/k.sock --metrics 127.0.0.1:9465"
)]
pub(crate) struct Arguments {
    /// The space whose kernel this is: quintet://CLUSTER, shm:PATH, unix:PATH, tcp:HOST:PORT, tls:HOST:PORT, or a path; else the setting space.address
    #[arg(long, value_name = "ADDRESS", value_parser = parse_space)]
    space: Option<SpaceAddress>,
    /// Where programs of this machine find it: shm:PATH, unix:PATH, tcp:127.0.0.1:PORT, or a path; several times for several
    #[arg(long, value_name = "ADDRESS", required = true)]
    listen: Vec<LinkAddress>,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    telemetry: TelemetryArguments,
    /// Say where it listens as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_space(text: &str) -> Result<SpaceAddress, String> {
    text.parse().map_err(|error: Error| error.text().to_owned())
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let cluster = arguments.cluster.load()?;
    descriptors::raise();
    let (_log, metrics) = arguments.telemetry.start(&cluster.settings)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&interrupted);
    on_interrupt(move |_| noted.store(true, Ordering::Release))?;
    let space = cluster.identified(arguments.space.clone().map_or_else(|| cluster.address(), Ok)?)?;
    let link = LinkConfig::from_settings(&cluster.settings)?;
    let config = KernelConfig { cluster: cluster.number, link, ..KernelConfig::default() };
    let mut kernel = Kernel::start(&arguments.listen, space.clone(), &config)?;
    let url = metrics.url();
    let meter = Arc::new(Mutex::new(kernel.meter()));
    metrics.answer(vec![Part::kernel(Arc::clone(&meter))])?;
    announce(&kernel, &space, url.as_deref(), arguments.json);
    // A port that the system gave stays the same.
    let listen = kernel.addresses().to_vec();
    while !interrupted.load(Ordering::Acquire) {
        let Some(gone) = kernel.wait(Some(LOOK)) else { continue };
        tell(format!("{}; it is looked for again for {} s", gone.text(), link.resume_window.as_secs_f64()));
        kernel.stop();
        match again(&listen, &space, &config, &interrupted) {
            Some(Ok(found)) => kernel = found,
            Some(Err(why)) => {
                tell(format!("it does not begin anew: {why}"));
                return Err(gone);
            }
            None => return Ok(ExitCode::SUCCESS),
        }
        *meter.lock().unwrap_or_else(PoisonError::into_inner) = kernel.meter();
        tell("the server is there again");
    }
    kernel.stop();
    Ok(ExitCode::SUCCESS)
}

/// Another kernel at the same addresses, once the server is back: an error if it does not come back in time, none if somebody asks to end.
fn again(
    listen: &[LinkAddress],
    space: &SpaceAddress,
    config: &KernelConfig,
    interrupted: &AtomicBool,
) -> Option<Result<Kernel, Error>> {
    let begun = Instant::now();
    loop {
        if interrupted.load(Ordering::Acquire) {
            return None;
        }
        match Kernel::start(listen, space.clone(), config) {
            Err(_) if begun.elapsed() < config.link.resume_window => std::thread::sleep(LOOK),
            made => return Some(made),
        }
    }
}

fn announce(kernel: &Kernel, space: &SpaceAddress, metrics: Option<&str>, as_json: bool) {
    let addresses: Vec<String> = kernel.addresses().iter().map(LinkAddress::to_string).collect();
    let line = if as_json {
        let mut said =
            json!({"addresses": addresses, "space": space.to_string(), "process": std::process::id()});
        metrics.iter().for_each(|url| said["metrics"] = json!(url));
        said.to_string()
    } else {
        format!("the kernel of {space} at {}; ctrl-C ends it", addresses.join(" and "))
    };
    if !as_json {
        metrics.iter().for_each(|url| tell(format!("metrics at {url}")));
    }
    // Nobody may be reading; it serves all the same.
    let _ = writeln!(std::io::stdout(), "{line}");
}
