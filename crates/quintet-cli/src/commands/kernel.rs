//! `quintet kernel`.

use crate::connection::ClusterArguments;
use crate::descriptors;
use crate::interrupt::on_interrupt;
use crate::metrics::Part;
use crate::output::tell;
use crate::telemetry::TelemetryArguments;
use clap::Args;
use quintet::{Error, Kernel, KernelConfig, Lab, LinkAddress, LinkConfig, SHORTEST_LEASE, SpaceAddress};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often is looked whether somebody has asked to end, and between two tries to reach a server that has gone.
const LOOK: Duration = Duration::from_millis(100);
/// How often is looked whether a space is whole again of which one manager has gone.
const LOOK_AT_SPACE: Duration = Duration::from_secs(1);

#[derive(Args)]
#[command(
    after_help = "Programs on this machine name the kernel's address as that of the space (QUINTET_SPACE, --space), and need not know that it is a kernel. The server then has one connection to this machine, however many they are. What is asked and answered costs one hop more: ask directly where the server is not short of connections. quintet reproduce linda-lan measures both.\n\nIf the server ends, the kernel's clients are told as if they had asked it directly, and the kernel looks for the server for link.resume_window_ms before it ends: clients of a logged space go on when it is back. Of a space with several managers, in one process or in processes of their own, the kernel has one connection to each, and listens beside its address for the others: at PATH.1 or the next port, and so on. A replicated space is asked without a kernel.\n\nExamples:\n  quintet kernel --space tls:big:7400 --listen /run/user/1000/quintet-kernel\n  QUINTET_SPACE=/run/user/1000/quintet-kernel python3 worker.py\n  quintet kernel --space quintet://lab --listen unix:/tmp/k.sock --metrics 127.0.0.1:9465"
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
    let relaying = Relaying { space, config, interrupted };
    let mut kernel = relaying.start(&arguments.listen)?;
    let url = metrics.url();
    let meter = Arc::new(Mutex::new(kernel.meter()));
    metrics.answer(vec![Part::kernel(Arc::clone(&meter))])?;
    announce(&kernel, &relaying.space, url.as_deref(), arguments.json);
    // A port that the system gave stays the same.
    let listen = kernel.addresses().to_vec();
    while !relaying.is_interrupted() {
        let Some(gone) = kernel.wait(Some(LOOK)) else { continue };
        tell(gone.text());
        relaying.wait_for_others(&kernel);
        kernel.stop();
        match relaying.again(&listen) {
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

/// For what kernels are made here, one after the other, until somebody asks to end.
struct Relaying {
    space: SpaceAddress,
    config: KernelConfig,
    interrupted: Arc<AtomicBool>,
}

impl Relaying {
    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    fn start(&self, listen: &[LinkAddress]) -> Result<Kernel, Error> {
        Kernel::start(listen, self.space.clone(), &self.config)
    }

    /// Of several managers one has gone, and the others tell programs which one, through the kernel: until the last of them has gone as well, or the space is
    /// whole, because only the kernel was cut off, say.
    fn wait_for_others(&self, kernel: &Kernel) {
        let mut looked = Instant::now();
        while kernel.is_asking() && !self.is_interrupted() {
            kernel.wait(Some(LOOK)).iter().for_each(|gone| tell(gone.text()));
            if looked.elapsed() >= LOOK_AT_SPACE {
                if self.is_whole() {
                    return;
                }
                looked = Instant::now();
            }
        }
        // The last ones may have gone together.
        while let Some(gone) = kernel.wait(Some(LOOK)) {
            tell(gone.text());
        }
    }

    /// Whether a program can ask the space.
    fn is_whole(&self) -> bool {
        let KernelConfig { cluster, link, .. } = self.config;
        Lab::connect_with(self.space.clone(), cluster, SHORTEST_LEASE, link).map(|lab| lab.close()).is_ok()
    }

    /// Another kernel at the same addresses, once the server is back: an error if it does not come back in time, none if somebody asks to end.
    fn again(&self, listen: &[LinkAddress]) -> Option<Result<Kernel, Error>> {
        let (window, begun, mut has_said) = (self.config.link.resume_window, Instant::now(), false);
        loop {
            if self.is_interrupted() {
                return None;
            }
            match self.start(listen) {
                Err(_) if begun.elapsed() < window => {
                    if !std::mem::replace(&mut has_said, true) {
                        tell(format!("the server is looked for again for {} s", window.as_secs_f64()));
                    }
                    std::thread::sleep(LOOK);
                }
                made => return Some(made),
            }
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
