//! `quintet serve`.

mod socket_folder;

use crate::connection::{Connection, ConnectionArguments, link_config, refused, space_config};
use crate::descriptors;
use crate::interrupt::on_interrupt;
use clap::Args;
use quintet::{Error, Recorder, ServeConfig, Server};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::channel;

#[derive(Args)]
#[command(
    after_help = "Example:\n  quintet serve --socket /tmp/space --max-bytes 1000000 --record space.rec"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// Record everything the space is given and does, for `quintet replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Bytes of tuples it holds; else the setting space.max_bytes
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,
    /// Say where it serves as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let connection = arguments.connection.load()?;
    descriptors::raise();
    let (interrupted, interrupts) = channel();
    on_interrupt(move |signal| {
        // It fails when the command is over.
        let _ = interrupted.send(signal);
    })?;
    let mut space = space_config(&connection.settings);
    space.max_bytes = arguments.max_bytes.unwrap_or(space.max_bytes);
    let recorder = recorder(arguments.record.as_deref())?;
    socket_folder::prepare(&connection.socket, connection.chosen)?;
    let link = link_config(&connection.settings);
    let events = Some(quintet::to_standard_error());
    let config = ServeConfig { cluster: connection.cluster, space, link, recorder: recorder.clone(), events };
    let server = Server::start(&connection.socket, &config)?;
    announce(&connection, arguments.json);
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

fn announce(connection: &Connection, as_json: bool) {
    let Connection { socket, cluster, .. } = connection;
    let line = if as_json {
        json!({"socket": socket.display().to_string(), "cluster": cluster.to_string(), "process": std::process::id()}).to_string()
    } else {
        format!("serving at {} (cluster {cluster}); ctrl-C ends it", socket.display())
    };
    // Nobody may be reading; the space serves all the same.
    let _ = writeln!(std::io::stdout(), "{line}");
}
