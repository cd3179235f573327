//! `quintet serve`.

mod socket_folder;

use crate::connection::{ClusterArguments, identified, link_config, refused, space_config};
use crate::descriptors;
use crate::interrupt::on_interrupt;
use crate::metrics::Part;
use crate::output::tell;
use crate::telemetry::TelemetryArguments;
use clap::Args;
use quintet::{Error, LinkAddress, Recorder, ServeConfig, Server};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::channel;

#[derive(Args)]
#[command(
    after_help = "Every kind of link but tls: is for processes of this user on this machine. tls: is for whoever has an identity of the same cluster, on any machine: the setting cluster.identity (QUINTET_IDENTITY) names this one's.\n\nExamples:\n  quintet serve --listen unix:/run/user/1000/q.sock --listen tcp:127.0.0.1:7400\n  QUINTET_IDENTITY=lab quintet serve --listen tls:0.0.0.0:7400\n  quintet serve --max-bytes 1000000 --record space.rec\n  quintet serve --metrics 127.0.0.1:9464"
)]
pub(crate) struct Arguments {
    /// Serve here: shm:PATH, unix:PATH, tcp:HOST:PORT, tls:HOST:PORT, or a path; several times for several; else at the setting space.address
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<LinkAddress>,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Record everything the space is given and does, for `quintet replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Bytes of tuples it holds; else the setting space.max_bytes
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,
    #[command(flatten)]
    telemetry: TelemetryArguments,
    /// Say where it serves as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let cluster = arguments.cluster.load()?;
    descriptors::raise();
    let (_log, metrics) = arguments.telemetry.start(&cluster.settings)?;
    let (interrupted, interrupts) = channel();
    on_interrupt(move |signal| {
        // It fails when the command is over.
        let _ = interrupted.send(signal);
    })?;
    let mut space = space_config(&cluster.settings);
    space.max_bytes = arguments.max_bytes.unwrap_or(space.max_bytes);
    let recorder = recorder(arguments.record.as_deref())?;
    let chosen = !arguments.listen.is_empty() || cluster.has_chosen_address();
    let listen = if arguments.listen.is_empty() {
        vec![cluster.address_to_serve()?]
    } else {
        arguments.listen.clone()
    };
    for address in &listen {
        socket_folder::prepare(address, chosen)?;
    }
    let listen: Vec<LinkAddress> =
        listen.into_iter().map(|address| identified(address, &cluster.settings)).collect::<Result<_, _>>()?;
    let link = link_config(&cluster.settings);
    let config = ServeConfig {
        cluster: cluster.number,
        space,
        link,
        recorder: recorder.clone(),
        ..ServeConfig::default()
    };
    let server = Server::start_at(&listen, &config)?;
    let url = metrics.url();
    metrics.answer(vec![Part::space(server.meter())])?;
    announce(server.addresses(), cluster.number, url.as_deref(), arguments.json);
    // The sender lives as long as the process.
    let _ = interrupts.recv();
    server.stop()?;
    finish(recorder.as_ref())?;
    Ok(ExitCode::SUCCESS)
}

/// Begins a recording if one is asked for.
pub(crate) fn recorder(path: Option<&Path>) -> Result<Option<Recorder>, Error> {
    path.map(Recorder::create).transpose().map_err(refused("begin the recording"))
}

/// Ends a recording if there is one.
pub(crate) fn finish(recorder: Option<&Recorder>) -> Result<(), Error> {
    recorder.map_or(Ok(()), Recorder::finish).map_err(refused("write the recording"))
}

fn announce(addresses: &[LinkAddress], cluster: u128, metrics: Option<&str>, as_json: bool) {
    let addresses: Vec<String> = addresses.iter().map(LinkAddress::to_string).collect();
    let line = if as_json {
        let mut said =
            json!({"addresses": addresses, "cluster": cluster.to_string(), "process": std::process::id()});
        metrics.iter().for_each(|url| said["metrics"] = json!(url));
        said.to_string()
    } else {
        format!("serving at {} (cluster {cluster}); ctrl-C ends it", addresses.join(" and "))
    };
    if !as_json {
        metrics.iter().for_each(|url| tell(format!("metrics at {url}")));
    }
    // Nobody may be reading; the space serves all the same.
    let _ = writeln!(std::io::stdout(), "{line}");
}
